#include "gguf_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gguf {
namespace {

constexpr double kPi = 3.14159265358979323846;

double theta(double base, uint32_t dim, size_t i) { return std::pow(base, -2.0 * static_cast<double>(i) / dim); }

} // namespace

void appendText(Bytes* bytes, const std::string& text) {
    append<uint64_t>(bytes, text.size());
    bytes->insert(bytes->end(), text.begin(), text.end());
}

File modelOf(const std::string& architecture, uint32_t head_dim) {
    File file(architecture);
    file.u32("context_length", 4096).u32("embedding_length", 4 * head_dim).u32("attention.head_count", 4);
    return file;
}

ModelEncoding read(const Bytes& bytes, const GgufRequest& request) {
    ModelEncoding model;
    std::string error;
    EXPECT_TRUE(rope::parseGguf(bytes.data(), bytes.size(), request, &model, &error)) << error;
    return model;
}

ModelEncoding read(const File& file, const GgufRequest& request) { return read(file.whole(), request); }

std::string refusal(const Bytes& bytes, const GgufRequest& request) {
    ModelEncoding model;
    std::string error;
    return rope::parseGguf(bytes.data(), bytes.size(), request, &model, &error) ? "accepted" : error;
}

std::string refusal(const File& file, const GgufRequest& request) { return refusal(file.whole(), request); }

void expectFrequencies(const ModelEncoding& model, const std::vector<double>& expected) {
    ASSERT_EQ(model.frequencies.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(model.frequencies[i], expected[i], 1e-12 * expected[i]) << "pair " << i;
}

std::vector<double> defaultFrequencies(double base, uint32_t dim, double factor) {
    std::vector<double> all(dim / 2);
    for (size_t i = 0; i < all.size(); ++i) all[i] = theta(base, dim, i) / factor;
    return all;
}

std::vector<double> dividedBy(std::vector<double> frequencies, const std::vector<float>& factors) {
    for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= static_cast<double>(factors[i]);
    return frequencies;
}

std::vector<double> yarnFrequencies(double base, uint32_t dim, double factor, double original, double fast,
                                    double slow) {
    const auto pairOf = [=](double turns) {
        return dim * std::log(original / (turns * 2 * kPi)) / (2 * std::log(base));
    };
    const double low = std::max(0.0, std::floor(pairOf(fast)));
    const double high = std::min(dim - 1.0, std::ceil(pairOf(slow)));
    std::vector<double> all(dim / 2);
    for (size_t i = 0; i < all.size(); ++i) {
        const double along = (static_cast<double>(i) - low) / std::max(0.001, high - low);
        const double kept = 1 - std::min(1.0, std::max(0.0, along));
        all[i] = theta(base, dim, i) * ((1 - kept) / factor + kept);
    }
    return all;
}

std::vector<float> someFactors(size_t count, float first) {
    std::vector<float> factors;
    for (size_t i = 0; i < count; ++i) factors.push_back(first + 0.37f * static_cast<float>(i));
    return factors;
}

} // namespace gguf
