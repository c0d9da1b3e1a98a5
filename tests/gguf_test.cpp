// Models in .gguf files: which frequencies their headers mean, and which headers are refused in which words.
#include "folder.hpp"
#include "gguf.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#ifndef _WIN32
#include <sys/stat.h>
#endif

void fuzzGguf(const uint8_t* bytes, size_t size);

namespace {

namespace fs = std::filesystem;
using rope::GgufRequest;
using rope::ModelEncoding;
using Bytes = std::vector<uint8_t>;

constexpr double kPi = 3.14159265358979323846;

template <typename T> void append(Bytes* bytes, T value) {
    const size_t at = bytes->size();
    bytes->resize(at + sizeof value);
    std::memcpy(&(*bytes)[at], &value, sizeof value);
}

void appendText(Bytes* bytes, const std::string& text) {
    append<uint64_t>(bytes, text.size());
    bytes->insert(bytes->end(), text.begin(), text.end());
}

// Writes a .gguf as the format has it. Keys without a dot stand behind the architecture's name.
class File {
  public:
    explicit File(const std::string& architecture) : architecture_(architecture) {
        text("general.architecture", architecture);
    }

    File& key(const std::string& name, uint32_t type) {
        ++keys_count_;
        const bool whole = name.rfind("general.", 0) == 0 || name.rfind("tokenizer.", 0) == 0 || name == "split.no";
        appendText(&keys_, whole ? name : architecture_ + "." + name);
        append(&keys_, type);
        return *this;
    }
    File& text(const std::string& name, const std::string& value) {
        key(name, 8);
        appendText(&keys_, value);
        return *this;
    }
    File& u32(const std::string& name, uint32_t value) { return put(name, 4, value); }
    File& f32(const std::string& name, float value) { return put(name, 6, value); }
    template <typename T> File& put(const std::string& name, uint32_t type, T value) {
        key(name, type);
        append(&keys_, value);
        return *this;
    }
    template <typename T> File& list(const std::string& name, uint32_t type, const std::vector<T>& values) {
        key(name, 9);
        append(&keys_, type);
        append<uint64_t>(&keys_, values.size());
        for (const T& value : values) append(&keys_, value);
        return *this;
    }
    File& texts(const std::string& name, size_t count, const std::string& value) {
        key(name, 9);
        append<uint32_t>(&keys_, 8);
        append<uint64_t>(&keys_, count);
        for (size_t i = 0; i < count; ++i) appendText(&keys_, value);
        return *this;
    }
    File& bytes(const Bytes& more) { // of the value of the key before
        keys_.insert(keys_.end(), more.begin(), more.end());
        return *this;
    }

    File& align(uint32_t alignment) {
        alignment_ = alignment;
        return u32("general.alignment", alignment);
    }
    File& tensor(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type, const Bytes& data) {
        data_.resize((data_.size() + alignment_ - 1) / alignment_ * alignment_);
        ++tensors_count_;
        appendText(&tensors_, name);
        append<uint32_t>(&tensors_, static_cast<uint32_t>(dims.size()));
        for (const uint64_t dim : dims) append(&tensors_, dim);
        append(&tensors_, type);
        append<uint64_t>(&tensors_, data_.size() + misplaced);
        data_.insert(data_.end(), data.begin(), data.end());
        return *this;
    }
    File& factors(const std::string& name, const std::vector<float>& values) {
        Bytes data;
        for (const float value : values) append(&data, value);
        return tensor(name, {values.size()}, 0, data);
    }

    Bytes header() const {
        Bytes all = {'G', 'G', 'U', 'F'};
        append(&all, version);
        append<uint64_t>(&all, tensors_count_ + more_tensors);
        append<uint64_t>(&all, keys_count_ + more_keys);
        all.insert(all.end(), keys_.begin(), keys_.end());
        all.insert(all.end(), tensors_.begin(), tensors_.end());
        return all;
    }
    Bytes whole() const {
        Bytes all = header();
        all.resize((all.size() + alignment_ - 1) / alignment_ * alignment_);
        all.insert(all.end(), data_.begin(), data_.end());
        return all;
    }

    uint32_t version = 3;
    uint64_t more_keys = 0, more_tensors = 0, misplaced = 0;

  private:
    std::string architecture_;
    Bytes keys_, tensors_, data_;
    uint64_t keys_count_ = 0, tensors_count_ = 0;
    uint32_t alignment_ = 32;
};

// A head of `head_dim` in 4 heads, as every file has it.
File modelOf(const std::string& architecture, uint32_t head_dim) {
    File file(architecture);
    file.u32("context_length", 4096).u32("embedding_length", 4 * head_dim).u32("attention.head_count", 4);
    return file;
}

ModelEncoding read(const Bytes& bytes, const GgufRequest& request = {}) {
    ModelEncoding model;
    std::string error;
    EXPECT_TRUE(rope::parseGguf(bytes.data(), bytes.size(), request, &model, &error)) << error;
    return model;
}

ModelEncoding read(const File& file, const GgufRequest& request = {}) { return read(file.whole(), request); }

std::string refusal(const Bytes& bytes, const GgufRequest& request = {}) {
    ModelEncoding model;
    std::string error;
    return rope::parseGguf(bytes.data(), bytes.size(), request, &model, &error) ? "accepted" : error;
}

std::string refusal(const File& file, const GgufRequest& request = {}) { return refusal(file.whole(), request); }

double theta(double base, uint32_t dim, size_t i) { return std::pow(base, -2.0 * static_cast<double>(i) / dim); }

void expectFrequencies(const ModelEncoding& model, const std::vector<double>& expected) {
    ASSERT_EQ(model.frequencies.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(model.frequencies[i], expected[i], 1e-12 * expected[i]) << "pair " << i;
}

std::vector<double> ladder(double base, uint32_t dim, double factor = 1) {
    std::vector<double> all(dim / 2);
    for (size_t i = 0; i < all.size(); ++i) all[i] = theta(base, dim, i) / factor;
    return all;
}

std::vector<double> divided(std::vector<double> frequencies, const std::vector<float>& factors) {
    for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= static_cast<double>(factors[i]);
    return frequencies;
}

// As rope_yarn and ggml_rope_yarn_corr_dims of ggml have it.
std::vector<double> yarn(double base, uint32_t dim, double factor, double original, double fast, double slow) {
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

// ---- What is read

TEST(Gguf, LlamaTurnsNeighboursByFrequenciesDividedByItsFactors) {
    const std::vector<float> factors = someFactors(16, 1);
    File file = modelOf("llama", 32);
    file.f32("rope.freq_base", 500000).u32("rope.dimension_count", 32);
    file.tensor("token_embd.weight", {32, 7}, 2, Bytes(126)).factors("rope_freqs.weight", factors);
    const ModelEncoding model = read(file);
    expectFrequencies(model, divided(ladder(500000, 32), factors));
    EXPECT_EQ(model.model_type, "llama");
    EXPECT_EQ(model.pairing, ROPE_PAIRING_INTERLEAVED);
    EXPECT_EQ(model.head_dim, 32u);
    EXPECT_EQ(model.rotary_dim, 32u);
    EXPECT_EQ(model.rotary_begin, 0u);
    EXPECT_EQ(model.scale, 1);
    EXPECT_EQ(model.rule.base, 500000);
}

TEST(Gguf, Qwen2TurnsHalvesByYarnWithItsMagnitude) {
    File file = modelOf("qwen2", 128);
    file.f32("rope.freq_base", 1e6f).text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 4);
    file.u32("rope.scaling.original_context_length", 32768);
    const ModelEncoding model = read(file);
    expectFrequencies(model, yarn(1e6, 128, 4, 32768, 32, 1));
    EXPECT_NEAR(model.scale, 1 + 0.1 * std::log(4.0), 1e-12);
    EXPECT_EQ(model.rule.kind, ROPE_RULE_YARN);
    EXPECT_EQ(model.rule.factor, 4);
    EXPECT_EQ(model.rule.original_length, 32768);
    EXPECT_EQ(model.pairing, ROPE_PAIRING_HALF);
}

TEST(Gguf, YarnTakesItsBoundsAndAttentionFactorFromTheFile) {
    File file = modelOf("grok", 64);
    file.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 8).f32("rope.scaling.attn_factor", 1.5f);
    file.f32("rope.scaling.yarn_ext_factor", 1).f32("rope.scaling.yarn_attn_factor", 1);
    file.f32("rope.scaling.yarn_beta_fast", 8).f32("rope.scaling.yarn_beta_slow", 2);
    const ModelEncoding model = read(file);
    expectFrequencies(model, yarn(10000, 64, 8, 4096, 8, 2));
    EXPECT_NEAR(model.scale, 1.5 * (1 + 0.1 * std::log(8.0)), 1e-12);
}

TEST(Gguf, YarnWithoutExtrapolationIsLinear) {
    File file = modelOf("qwen2", 64);
    file.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 8).f32("rope.scaling.yarn_ext_factor", 0);
    expectFrequencies(read(file), ladder(10000, 64, 8));
    EXPECT_EQ(read(file).scale, 1);
    File other = modelOf("qwen2", 64);
    other.text("rope.scaling.type", "linear").f32("rope.scaling.factor", 8).f32("rope.scaling.yarn_ext_factor", 1);
    expectFrequencies(read(other), yarn(10000, 64, 8, 4096, 32, 1));
}

TEST(Gguf, YarnsLogMultiplierIsTheModelsOwn) {
    const auto scaleOf = [](const char* architecture, float multiplier) {
        File file = modelOf(architecture, 64);
        file.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 40);
        file.f32("rope.scaling.yarn_log_multiplier", multiplier);
        return read(file).scale;
    };
    const double whole = 1 + 0.1 * std::log(40.0);
    EXPECT_EQ(scaleOf("deepseek2", 0.1f), 1);
    EXPECT_EQ(scaleOf("deepseek2", 0.0707f), 1);
    EXPECT_NEAR(scaleOf("deepseek32", 0.1f), 1, 1e-12);
    EXPECT_NEAR(scaleOf("deepseek32", 0.0707f), whole / (1 + 0.0707 * std::log(40.0)), 1e-6);
    EXPECT_NEAR(scaleOf("mistral3", 1), 1, 1e-12);
    EXPECT_NEAR(scaleOf("mistral3", 0), whole, 1e-12);
}

TEST(Gguf, Phi3ChoosesItsFactorsByLength) {
    const std::vector<float> by_short = someFactors(48, 1), by_long = someFactors(48, 1.1f);
    File file = modelOf("phi3", 96);
    file.u32("rope.dimension_count", 96).u32("rope.scaling.original_context_length", 2048);
    file.f32("rope.scaling.attn_factor", 1.19023807f);
    file.factors("rope_factors_long.weight", by_long).factors("rope_factors_short.weight", by_short);
    for (const double length : {0.0, 2048.0, 2049.0}) {
        const ModelEncoding model = read(file, {length, ""});
        expectFrequencies(model, divided(ladder(10000, 96), length > 2048 ? by_long : by_short));
        EXPECT_EQ(model.scale, double{1.19023807f});
        EXPECT_EQ(model.rule.kind, ROPE_RULE_LONGROPE);
        EXPECT_EQ(model.rule.original_length, 2048);
        EXPECT_EQ(model.rule.length, length);
    }
}

TEST(Gguf, LongropeByNameIsTheSame) {
    const std::vector<float> by_short = someFactors(16, 1), by_long = someFactors(16, 3);
    File file = modelOf("minicpm", 32);
    file.text("rope.scaling.type", "longrope").f32("rope.scaling.factor", 2);
    file.factors("rope_factors_long.weight", by_long).factors("rope_factors_short.weight", by_short);
    expectFrequencies(read(file, {4096, ""}), divided(ladder(10000, 32, 2), by_short));
    expectFrequencies(read(file, {4097, ""}), divided(ladder(10000, 32, 2), by_long));
}

TEST(Gguf, GemmaTakesItsHeadFromTheKeyLength) {
    File file = modelOf("gemma", 192);
    file.u32("attention.key_length", 256);
    const ModelEncoding model = read(file);
    EXPECT_EQ(model.head_dim, 256u);
    EXPECT_EQ(model.rotary_dim, 256u);
    EXPECT_EQ(model.pairing, ROPE_PAIRING_HALF);
    expectFrequencies(model, ladder(10000, 256));
}

TEST(Gguf, GptNeoxTurnsAPartOfTheHead) {
    File file = modelOf("gptneox", 96);
    file.u32("rope.dimension_count", 24);
    const ModelEncoding model = read(file);
    EXPECT_EQ(model.head_dim, 96u);
    EXPECT_EQ(model.rotary_dim, 24u);
    EXPECT_EQ(model.rotary_begin, 0u);
    expectFrequencies(model, ladder(10000, 24));
}

TEST(Gguf, LatentAttentionTurnsTheEndOfTheHead) {
    File file = modelOf("deepseek2", 1280);
    file.u32("attention.key_length", 576).u32("attention.key_length_mla", 192).u32("rope.dimension_count", 64);
    const ModelEncoding model = read(file);
    EXPECT_EQ(model.head_dim, 192u);
    EXPECT_EQ(model.rotary_begin, 128u);
    EXPECT_EQ(model.rotary_dim, 64u);
}

TEST(Gguf, HeadCountsPerLayerMatterOnlyWithoutAKeyLength) {
    File file("openelm");
    file.u32("embedding_length", 1280).list<uint32_t>("attention.head_count", 4, {12, 12, 16});
    EXPECT_EQ(refusal(file), "the key 'openelm.attention.head_count' differs from layer to layer: 12 and 16");
    file.u32("attention.key_length", 64);
    expectFrequencies(read(file), ladder(10000, 64));
    File equal("openelm");
    equal.u32("embedding_length", 1280).list<int32_t>("attention.head_count", 5, {20, 20, 20});
    expectFrequencies(read(equal), ladder(10000, 64));
}

TEST(Gguf, LinearScalingHasANewAndAnOldKey) {
    File named = modelOf("llama", 64), unnamed = modelOf("llama", 64), old = modelOf("llama", 64);
    named.text("rope.scaling.type", "linear").f32("rope.scaling.factor", 4);
    unnamed.f32("rope.scaling.factor", 4);
    old.f32("rope.scale_linear", 4);
    for (const File& file : {named, unnamed, old}) {
        expectFrequencies(read(file), ladder(10000, 64, 4));
        EXPECT_EQ(read(file).rule.kind, ROPE_RULE_LINEAR);
        EXPECT_EQ(read(file).scale, 1);
    }
    File none = modelOf("llama", 64);
    none.text("rope.scaling.type", "none").f32("rope.scaling.attn_factor", 1.25f).f32("rope.scaling.factor", 0);
    expectFrequencies(read(none), ladder(10000, 64));
    EXPECT_EQ(read(none).scale, 1.25);
}

TEST(Gguf, HunyuansAlphaRaisesItsBase) {
    File file = modelOf("hunyuan-dense", 128);
    file.f32("rope.scaling.alpha", 1000);
    const ModelEncoding model = read(file);
    expectFrequencies(model, ladder(10000 * std::pow(1000.0, 128.0 / 126), 128));
    EXPECT_EQ(model.rule.kind, ROPE_RULE_NTK);
}

TEST(Gguf, LayersOfTwoTypesHaveBasesOfTheirOwn) {
    File file = modelOf("gemma3", 256);
    file.f32("rope.freq_base", 1e6f).text("rope.scaling.type", "linear").f32("rope.scaling.factor", 8);
    file.u32("attention.sliding_window", 1024);
    EXPECT_EQ(refusal(file), "the layers of two types rotate differently; ask for full_attention or sliding_attention");
    expectFrequencies(read(file, {0, "full_attention"}), ladder(1e6, 256, 8));
    expectFrequencies(read(file, {0, "sliding_attention"}), ladder(10000, 256));
    file.f32("rope.freq_base_swa", 5000);
    expectFrequencies(read(file, {0, "sliding_attention"}), ladder(5000, 256));

    File oss = modelOf("gpt-oss", 64);
    oss.f32("rope.freq_base", 150000).text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 32);
    oss.u32("attention.sliding_window", 128);
    for (const char* type : {"", "full_attention", "sliding_attention"})
        expectFrequencies(read(oss, {0, type}), yarn(150000, 64, 32, 4096, 32, 1));

    File olmo = modelOf("olmo2", 64);
    olmo.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 8).u32("attention.sliding_window", 4096);
    expectFrequencies(read(olmo, {0, "full_attention"}), yarn(10000, 64, 8, 4096, 32, 1));
    expectFrequencies(read(olmo, {0, "sliding_attention"}), ladder(10000, 64));
    EXPECT_EQ(read(olmo, {0, "sliding_attention"}).scale, 1);
}

TEST(Gguf, Gemma4sFullLayersAloneTakeFactors) {
    std::vector<float> factors(256, 1);
    for (size_t i = 64; i < 256; ++i) factors[i] = 1e30f;
    File file = modelOf("gemma4", 320);
    file.f32("rope.freq_base", 1e6f).f32("rope.freq_base_swa", 10000).u32("attention.sliding_window", 512);
    file.u32("attention.key_length", 512).u32("attention.key_length_swa", 256);
    file.u32("rope.dimension_count", 512).u32("rope.dimension_count_swa", 256).factors("rope_freqs.weight", factors);
    const ModelEncoding full = read(file, {0, "full_attention"}), sliding = read(file, {0, "sliding_attention"});
    expectFrequencies(full, divided(ladder(1e6, 512), factors));
    expectFrequencies(sliding, ladder(10000, 256));
    EXPECT_EQ(full.head_dim, 512u);
    EXPECT_EQ(sliding.head_dim, 256u);
}

std::string axesOf(const ModelEncoding& model) {
    std::string text;
    for (const uint8_t axis : model.axes) text += static_cast<char>('0' + axis);
    return text;
}

File withSections(const char* architecture, uint32_t head_dim, const std::vector<int32_t>& sections) {
    return modelOf(architecture, head_dim).list<int32_t>("rope.dimension_sections", 5, sections);
}

TEST(Gguf, SectionsTellWhichPairIsWhichAxes) {
    const ModelEncoding together = read(withSections("qwen2vl", 16, {2, 3, 3, 0}).f32("rope.freq_base", 1e6f));
    EXPECT_EQ(axesOf(together), "00111222");
    EXPECT_EQ(together.axis_names, (std::vector<std::string>{"t", "h", "w"}));
    EXPECT_EQ(together.pairing, ROPE_PAIRING_HALF);
    expectFrequencies(together, ladder(1e6, 16));
    EXPECT_EQ(axesOf(read(withSections("paddleocr", 16, {2, 3, 2, 1}))), "00111223");
    EXPECT_EQ(read(withSections("paddleocr", 16, {2, 3, 2, 1})).axis_names.back(), "e");
    // As Qwen3-VL has 24, 20 and 20 of 64: the first takes what is left of the turns.
    for (const char* name : {"qwen3vl", "qwen3vlmoe"})
        EXPECT_EQ(axesOf(read(withSections(name, 32, {8, 4, 4, 0}))), "0120120120120000");
    for (const char* name : {"qwen35", "qwen35moe"}) {
        const ModelEncoding part = read(withSections(name, 256, {3, 3, 2}).u32("rope.dimension_count", 16));
        EXPECT_EQ(axesOf(part), "01201201");
        EXPECT_EQ(part.rotary_dim, 16u);
    }
    File scaled = withSections("qwen2vl", 128, {16, 24, 24, 0});
    scaled.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 4);
    expectFrequencies(read(scaled), yarn(10000, 128, 4, 4096, 32, 1));
}

TEST(Gguf, Glm4HasAxesWhereItHasSections) {
    for (const char* name : {"glm4", "glm4moe"}) {
        const ModelEncoding several = read(withSections(name, 64, {8, 12, 12, 0}));
        EXPECT_EQ(axesOf(several), "00000000111111111111222222222222");
        EXPECT_EQ(several.pairing, ROPE_PAIRING_HALF);
        EXPECT_EQ(axesOf(read(withSections(name, 64, {0, 0, 0, 0}))), "");
    }
    EXPECT_EQ(read(modelOf("glm4", 64)).pairing, ROPE_PAIRING_INTERLEAVED);
    EXPECT_EQ(axesOf(read(withSections("llama", 64, {0, 0, 0, 0}))), "");
}

TEST(Gguf, RefusesSectionsByName) {
    const std::string key = "the key 'qwen2vl.rope.dimension_sections' ";
    EXPECT_EQ(refusal(modelOf("qwen2vl", 64)), "the architecture 'qwen2vl' has positions of several axes, and the "
                                               "header no 'qwen2vl.rope.dimension_sections'");
    EXPECT_EQ(refusal(withSections("qwen2vl", 64, {8, 12, 11, 0})), key + "is of 31 pairs, but 32 turn");
    for (const std::vector<int32_t>& sections : {std::vector<int32_t>{8, 12, 12, 0, 0}, {40, -4, -4}, {5000}})
        EXPECT_EQ(refusal(withSections("qwen2vl", 64, sections)), key + "must be up to four counts of pairs");
    EXPECT_EQ(refusal(modelOf("qwen2vl", 64).u32("rope.dimension_sections", 32)),
              key + "must be up to four counts of pairs");
    EXPECT_EQ(refusal(withSections("qwen3vl", 64, {8, 8, 8, 8})),
              "the key 'qwen3vl.rope.dimension_sections' has pairs of a fourth axis, and three take turns");
    EXPECT_EQ(refusal(withSections("qwen2", 64, {8, 12, 12, 0})),
              "the key 'qwen2.rope.dimension_sections' asks for positions of several axes, which are not read for the "
              "architecture 'qwen2'");
    EXPECT_EQ(refusal(withSections("qwen2vl", 64, {8, 12, 12, 0}), {0, "", 32}), key + "is of 32 pairs, but 16 turn");
}

TEST(Gguf, EveryTypeOfNumberIsRead) {
    const auto dimOf = [](uint32_t type, auto value) {
        File file = modelOf("qwen2", 128);
        file.put("rope.dimension_count", type, value);
        return read(file).rotary_dim;
    };
    EXPECT_EQ(dimOf(0, uint8_t{64}), 64u);
    EXPECT_EQ(dimOf(1, int8_t{64}), 64u);
    EXPECT_EQ(dimOf(2, uint16_t{64}), 64u);
    EXPECT_EQ(dimOf(3, int16_t{64}), 64u);
    EXPECT_EQ(dimOf(4, uint32_t{64}), 64u);
    EXPECT_EQ(dimOf(5, int32_t{64}), 64u);
    EXPECT_EQ(dimOf(6, 64.0f), 64u);
    EXPECT_EQ(dimOf(10, uint64_t{64}), 64u);
    EXPECT_EQ(dimOf(11, int64_t{64}), 64u);
    EXPECT_EQ(dimOf(12, 64.0), 64u);
}

TEST(Gguf, FactorsMayBeF16AlignedOtherwiseAndInBlocks) {
    Bytes halves;
    for (const int half : {0x3C00, 0x4000, 0x4200, 0x3800, 0x0001, 0x0400, 0x7BFF, 0x3555})
        append<uint16_t>(&halves, static_cast<uint16_t>(half));
    const std::vector<float> values = {1, 2, 3, 0.5f, 0x1p-24f, 0x1p-14f, 65504, 0x1.554p-2f};
    for (const uint32_t alignment : {8u, 32u, 4096u}) {
        File file = modelOf("llama", 16);
        file.align(alignment).tensor("output.weight", {3}, 0, Bytes(12));
        file.tensor("blk.0.rope_freqs.weight", {8}, 1, halves).tensor("blk.11.rope_freqs.weight", {8}, 1, halves);
        file.tensor("blk.rope_freqs.weight", {1}, 9, {}).tensor("blk.x.rope_freqs.weight", {1}, 9, {});
        expectFrequencies(read(file), divided(ladder(10000, 16), values));
    }
}

TEST(Gguf, VersionsTwoAndThreeAreTheSame) {
    File file = modelOf("llama", 64);
    file.version = 2;
    expectFrequencies(read(file), ladder(10000, 64));
}

TEST(Gguf, TheArchitectureMayStandBehindItsKeys) {
    Bytes bytes = {'G', 'G', 'U', 'F'};
    append<uint32_t>(&bytes, 3);
    append<uint64_t>(&bytes, 0);
    append<uint64_t>(&bytes, 2);
    appendText(&bytes, "qwen2.attention.key_length");
    append<uint32_t>(&bytes, 4);
    append<uint32_t>(&bytes, 64);
    appendText(&bytes, "general.architecture");
    append<uint32_t>(&bytes, 8);
    appendText(&bytes, "qwen2");
    EXPECT_EQ(read(bytes).head_dim, 64u);
}

TEST(Gguf, ATokenizerOf100000WordsIsPassedOver) {
    const std::vector<float> factors = someFactors(32, 1);
    File file = modelOf("llama", 64);
    file.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", 100000, "a word of a tokenizer");
    file.list("tokenizer.ggml.token_type", 5, std::vector<int32_t>(100000, 1));
    file.text("tokenizer.chat_template", std::string(70000, '{')).f32("rope.freq_base", 500000);
    file.text(std::string(300, 'k'), "a value").factors("rope_freqs.weight", factors);
    expectFrequencies(read(file), divided(ladder(500000, 64), factors));
}

TEST(Gguf, ReadsTheHeaderAndTheFactorsAlone) {
    const std::vector<float> factors = someFactors(32, 1);
    File file = modelOf("llama", 64);
    file.list("tokenizer.ggml.scores", 6, std::vector<float>(1000000, 1));
    file.misplaced = uint64_t{1} << 40;
    file.factors("rope_freqs.weight", factors);
    const Bytes header = file.header();
    const uint64_t data = (header.size() + 31) / 32 * 32 + file.misplaced;
    size_t count = 0;
    const rope::GgufSource source = {data + 128, [&](uint64_t offset, size_t bytes, uint8_t* to) {
                                         count += bytes;
                                         std::memset(to, 0, bytes);
                                         if (offset < header.size())
                                             std::memcpy(to, &header[offset],
                                                         std::min<size_t>(bytes, header.size() - offset));
                                         if (offset == data) std::memcpy(to, factors.data(), bytes);
                                         return true;
                                     }};
    ModelEncoding model;
    std::string error;
    ASSERT_TRUE(rope::parseGguf(source, {}, &model, &error)) << error;
    expectFrequencies(model, divided(ladder(10000, 64), factors));
    EXPECT_LT(count, 3u * 65536u);
}

// ---- What is refused

TEST(Gguf, RefusesWhatIsNoGgufFile) {
    const std::string ggml = "lmgg and so on and on and on";
    EXPECT_EQ(refusal(Bytes()), "this is no .gguf file");
    EXPECT_EQ(refusal(Bytes{'G', 'G', 'U'}), "this is no .gguf file");
    EXPECT_EQ(refusal(Bytes(ggml.begin(), ggml.end())), "this is no .gguf file");
    EXPECT_EQ(refusal(Bytes{'G', 'G', 'U', 'F'}), "the file ends within its header");
    File file = modelOf("llama", 64);
    file.version = 1;
    EXPECT_EQ(refusal(file), "format version 1 is not read; 2 and 3 are");
    file.version = 4;
    EXPECT_EQ(refusal(file), "format version 4 is not read; 2 and 3 are");
    file.version = 3u << 24;
    EXPECT_EQ(refusal(file), "the file is big-endian, which is not read; little-endian files are");
}

TEST(Gguf, RefusesEveryShorterFile) {
    File file = modelOf("llama", 16);
    file.list<uint32_t>("tokenizer.ggml.merges", 4, {1, 2, 3}).texts("tokenizer.ggml.tokens", 3, "word");
    file.factors("rope_freqs.weight", someFactors(8, 1));
    const Bytes whole = file.whole();
    expectFrequencies(read(whole), divided(ladder(10000, 16), someFactors(8, 1)));
    for (size_t size = 0; size < whole.size(); ++size) {
        // A copy of the very size, so that a reader of one byte too many is caught by a sanitizer.
        const std::string sentence = refusal(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
        EXPECT_NE(sentence, "accepted") << size;
        EXPECT_FALSE(sentence.empty());
    }
}

TEST(Gguf, RefusesCountsThatDoNotFit) {
    File keys = modelOf("llama", 64), tensors = modelOf("llama", 64);
    keys.more_keys = uint64_t{1} << 60;
    tensors.more_tensors = uint64_t{1} << 60;
    EXPECT_EQ(refusal(keys), "the header has 1152921504606846980 keys and 0 tensors, which do not fit into the file");
    EXPECT_EQ(refusal(tensors),
              "the header has 4 keys and 1152921504606846976 tensors, which do not fit into the file");

    File text = modelOf("llama", 64), list = modelOf("llama", 64), texts = modelOf("llama", 64);
    text.key("general.name", 8).bytes({255, 255, 255, 255, 255, 255, 255, 255});
    EXPECT_EQ(refusal(text.header()), "the header has a text of 18446744073709551615 bytes, and the file has 0 more");
    list.key("tokenizer.ggml.tokens", 9).bytes({4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16});
    EXPECT_EQ(refusal(list),
              "the key 'tokenizer.ggml.tokens' has 1152921504606846976 values, and the file ends before");
    texts.key("tokenizer.ggml.tokens", 9).bytes({8, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0});
    EXPECT_EQ(refusal(texts), "the key 'tokenizer.ggml.tokens' has 4294967295 values, and the file ends before");
}

TEST(Gguf, RefusesTypesThatItDoesNotKnow) {
    File nested = modelOf("llama", 64), inner = modelOf("llama", 64), outer = modelOf("llama", 64);
    nested.key("tokenizer.lists", 9).bytes({9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(refusal(nested), "the key 'tokenizer.lists' is an array of arrays, which is not read");
    inner.key("tokenizer.lists", 9).bytes({13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(refusal(inner), "the key 'tokenizer.lists' has values of type 13, which is not known");
    outer.key("tokenizer.lists", 77);
    EXPECT_EQ(refusal(outer), "the key 'tokenizer.lists' has a value of type 77, which is not known");
    File tensor = modelOf("llama", 64);
    tensor.tensor("output.weight", {1, 1, 1, 1, 1}, 0, {});
    EXPECT_EQ(refusal(tensor), "the tensor 'output.weight' has 5 dimensions; there are at most 4");
}

TEST(Gguf, RefusesMoreThanItKeeps) {
    File keys = modelOf("llama", 64), tensors = modelOf("llama", 64);
    for (int i = 0; i < 1100; ++i) keys.u32("rope." + std::to_string(i), 1);
    EXPECT_EQ(refusal(keys), "the header has more than 1024 keys about positions");
    for (int i = 0; i < 1100; ++i) tensors.factors("blk." + std::to_string(i) + ".rope_freqs.weight", {1});
    EXPECT_EQ(refusal(tensors), "the header has more than 1024 tensors of factors");
    const rope::GgufSource endless = {
        uint64_t{1} << 50, [](uint64_t offset, size_t count, uint8_t* to) {
            // An array of empty texts that fills the file.
            const Bytes begin = {'G', 'G', 'U', 'F', 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0,   0, 0,
                                 0,   0,   0,   0,   0, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0};
            std::memset(to, 0, count);
            if (offset == 0) std::copy(begin.begin(), begin.end(), to);
            return true;
        }};
    ModelEncoding model;
    std::string error;
    EXPECT_FALSE(rope::parseGguf(endless, {}, &model, &error));
    EXPECT_EQ(error, "the header is longer than 536870912 bytes");
}

TEST(Gguf, RefusesArchitecturesByName) {
    EXPECT_EQ(refusal(modelOf("llama5", 64)), "the architecture 'llama5' is not one that is known");
    EXPECT_EQ(refusal(modelOf("llama qwen2", 64)), "the architecture 'llama qwen2' is not one that is known");
    EXPECT_EQ(refusal(modelOf("mamba", 64)), "the architecture 'mamba' has no rotary position encoding");
    EXPECT_EQ(refusal(modelOf("deepseek4", 64)),
              "the architecture 'deepseek4' is not read: its rotation is more than a base, a part of the head and "
              "factors");
    EXPECT_EQ(refusal(File("")), "the header has no 'general.architecture'");
    EXPECT_EQ(refusal(File(std::string(1000, 'a'))), "the header has no 'general.architecture'");
    EXPECT_EQ(refusal(File("\x1B[31m")), "the architecture '?[31m' is not one that is known");
    EXPECT_EQ(refusal(modelOf("baichuan", 64).u32("block_count", 40)),
              "the model is Baichuan 13B, which has no rotary position encoding");
    EXPECT_EQ(refusal(modelOf("granitehybrid", 64).put("rope.scaling.finetuned", 7, uint8_t{0})),
              "the key 'granitehybrid.rope.scaling.finetuned' switches the rotation off");
    EXPECT_EQ(refusal(modelOf("llama", 64).put("split.no", 2, uint16_t{1})),
              "the file is a later part of a split model; the first part has the keys");
}

TEST(Gguf, RefusesKeysByName) {
    const auto qwen = [] { return modelOf("qwen2", 64); };
    EXPECT_EQ(refusal(qwen().u32("context_length", 1)), "the header has the key 'qwen2.context_length' twice");
    EXPECT_EQ(refusal(qwen().u32("rope.spin", 1)), "the key 'qwen2.rope.spin' is not one that is read");
    EXPECT_EQ(refusal(qwen().f32("rope.freq_base", 0.5f)),
              "the key 'qwen2.rope.freq_base' is 0.5; it must be from 1 to 1e+19");
    EXPECT_EQ(refusal(qwen().f32("rope.freq_base", NAN)),
              "the key 'qwen2.rope.freq_base' is nan; it must be from 1 to 1e+19");
    EXPECT_EQ(refusal(qwen().text("rope.freq_base", "10000")), "the key 'qwen2.rope.freq_base' is no number");
    EXPECT_EQ(refusal(qwen().texts("rope.freq_base", 1, "10000")), "the key 'qwen2.rope.freq_base' is no number");
    EXPECT_EQ(refusal(qwen().list("rope.freq_base", 0, Bytes(5000, 1))), "the key 'qwen2.rope.freq_base' is no number");
    EXPECT_EQ(refusal(qwen().f32("rope.dimension_count", 32.5f)),
              "the key 'qwen2.rope.dimension_count' is 32.5; it must be a whole number");
    EXPECT_EQ(refusal(qwen().u32("rope.dimension_count", 31)),
              "the rotary part has 31 elements; it must be even and from 2 to 8192");
    EXPECT_EQ(refusal(qwen().u32("rope.dimension_count", 66)),
              "a rotary part of 66 elements does not fit into a head of 64");
    EXPECT_EQ(
        refusal(modelOf("llama", 64).u32("rope.dimension_count", 32)),
        "a rotary part of 32 elements in a head of 64 is not what the architecture 'llama' has, which rotates the "
        "whole head");
    EXPECT_EQ(refusal(File("qwen2").u32("embedding_length", 64)),
              "the header has neither 'qwen2.attention.key_length' nor both 'qwen2.embedding_length' and "
              "'qwen2.attention.head_count'");
    EXPECT_EQ(refusal(File("qwen2").u32("embedding_length", 64).u32("attention.head_count", 7)),
              "an 'qwen2.embedding_length' of 64 and an 'qwen2.attention.head_count' of 7 make no head of whole "
              "elements up to 65536");
    for (const uint32_t alignment : {0u, 24u})
        EXPECT_EQ(refusal(qwen().u32("general.alignment", alignment)),
                  "the header's 'general.alignment' must be a power of two");
}

TEST(Gguf, RefusesScalingsByName) {
    const auto qwen = [](const char* type) { return modelOf("qwen2", 64).text("rope.scaling.type", type); };
    const std::string known = "; 'none', 'linear', 'yarn' and 'longrope' are read";
    EXPECT_EQ(refusal(qwen("dynamic")), "the key 'qwen2.rope.scaling.type' is 'dynamic'" + known);
    EXPECT_EQ(refusal(modelOf("qwen2", 64).u32("rope.scaling.type", 2)),
              "the key 'qwen2.rope.scaling.type' is no text" + known);
    EXPECT_EQ(refusal(qwen("linear")), "the scaling 'linear' has no 'qwen2.rope.scaling.factor'");
    EXPECT_EQ(refusal(qwen("yarn")), "the scaling 'yarn' has no 'qwen2.rope.scaling.factor'");
    EXPECT_EQ(refusal(qwen("longrope")),
              "the scaling 'longrope' has no tensors 'rope_factors_short.weight' and 'rope_factors_long.weight'");
    EXPECT_EQ(refusal(qwen("none").f32("rope.scaling.factor", 2)),
              "the key 'qwen2.rope.scaling.type' is 'none', and other keys scale");
    EXPECT_EQ(refusal(qwen("linear").f32("rope.scaling.factor", 1e-9f)),
              "the key 'qwen2.rope.scaling.factor' is 9.99999972e-10; it must be from 1e-06 to 1000000, or 0 for none");
    EXPECT_EQ(refusal(qwen("linear").f32("rope.scaling.factor", 2).f32("rope.scale_linear", 4)),
              "the keys 'qwen2.rope.scaling.factor' and 'qwen2.rope.scale_linear' differ, 2 and 4");
    EXPECT_EQ(refusal(qwen("yarn").f32("rope.scaling.factor", 2).f32("rope.scaling.yarn_ext_factor", 0.5f)),
              "the key 'qwen2.rope.scaling.yarn_ext_factor' is 0.5; 0 and 1 are read");
    EXPECT_EQ(refusal(qwen("yarn").f32("rope.scaling.factor", 2).f32("rope.scaling.yarn_attn_factor", 2)),
              "the key 'qwen2.rope.scaling.yarn_attn_factor' is 2; only 1 is read");
    EXPECT_EQ(refusal(qwen("yarn").f32("rope.scaling.factor", 2).f32("rope.scaling.yarn_log_multiplier", 1)),
              "the key 'qwen2.rope.scaling.yarn_log_multiplier' is not read for the architecture 'qwen2'");
    EXPECT_EQ(refusal(qwen("linear").f32("rope.scaling.factor", 2).f32("rope.scaling.alpha", 2)),
              "the key 'qwen2.rope.scaling.alpha' is not read for the architecture 'qwen2'");
    EXPECT_EQ(
        refusal(modelOf("hunyuan-dense", 64).f32("rope.scaling.factor", 2).f32("rope.scaling.alpha", 2)),
        "the keys 'hunyuan-dense.rope.scaling.alpha' and 'hunyuan-dense.rope.scaling.factor' ask for two rules at "
        "once");
    File shortless("qwen2");
    shortless.u32("attention.key_length", 64).text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 2);
    EXPECT_EQ(refusal(shortless), "the scaling 'yarn' has neither 'qwen2.rope.scaling.original_context_length' nor "
                                  "'qwen2.context_length'");
    File one = modelOf("qwen2", 2);
    one.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 2).f32("rope.freq_base", 1);
    EXPECT_NE(refusal(one), "accepted"); // in the rule's own words
}

TEST(Gguf, TurnsAnotherPartWhereItIsAskedTo) {
    const ModelEncoding part = read(modelOf("llama", 64), {0, "", 32});
    EXPECT_EQ(part.rotary_dim, 32u);
    EXPECT_EQ(part.frequencies, read(modelOf("llama", 32)).frequencies);
    File latent = modelOf("deepseek2", 64);
    const ModelEncoding end = read(latent, {0, "", 16});
    EXPECT_EQ(end.rotary_begin + 16, end.head_dim);
    EXPECT_EQ(refusal(modelOf("llama", 64), {0, "", 66}),
              "a rotary part of 66 elements does not fit into a head of 64");
    EXPECT_EQ(refusal(modelOf("llama", 64), {0, "", 33}),
              "the rotary part has 33 elements; it must be even and from 2 to 8192");
    EXPECT_EQ(refusal(modelOf("llama", 16).factors("rope_freqs.weight", someFactors(8, 1)), {0, "", 8}),
              "the tensor 'rope_freqs.weight' has 1 dimensions and the first is 8; it must have one, of 4 pairs");
}

TEST(Gguf, RefusesLayerTypesByName) {
    EXPECT_EQ(
        refusal(modelOf("gemma3", 64), {0, "linear_attention"}),
        "there are no layers of type 'linear_attention' in a .gguf file; full_attention and sliding_attention are");
    EXPECT_EQ(refusal(modelOf("llama", 64), {0, "sliding_attention"}),
              "the architecture 'llama' has no layers of type sliding_attention");
    EXPECT_EQ(refusal(modelOf("llama", 64).f32("rope.freq_base_swa", 10000)),
              "the key 'llama.rope.freq_base_swa' is not read for the architecture 'llama'");
}

TEST(Gguf, RefusesFactorsByName) {
    const auto llama = [] { return modelOf("llama", 16); };
    const std::string name = "the tensor 'rope_freqs.weight' ";
    EXPECT_EQ(refusal(llama().tensor("rope_freqs.weight", {8}, 30, Bytes(16))),
              name + "is of type 30; F32 and F16 are read");
    EXPECT_EQ(refusal(llama().factors("rope_freqs.weight", someFactors(9, 1))),
              name + "has 1 dimensions and the first is 9; it must have one, of 8 pairs");
    EXPECT_EQ(refusal(llama().tensor("rope_freqs.weight", {8, 1}, 0, Bytes(32))),
              name + "has 2 dimensions and the first is 8; it must have one, of 8 pairs");
    EXPECT_EQ(refusal(llama().tensor("rope_freqs.weight", {8}, 0, Bytes(31))), name + "lies outside the file");
    EXPECT_EQ(refusal(llama().factors("rope_freqs.weight", {1, 1, 1, 1, 1, 1, 1, 0})),
              name + "has the factor 0; factors must be positive and finite");
    EXPECT_EQ(refusal(llama().factors("rope_freqs.weight", {1, NAN, 1, 1, 1, 1, 1, 0})),
              name + "has the factor nan; factors must be positive and finite");
    for (const auto& half :
         {std::make_pair(0x7C00, "inf"), std::make_pair(0x7E00, "nan"), std::make_pair(0xBC00, "-1")}) {
        Bytes halves;
        for (int i = 0; i < 8; ++i) append<uint16_t>(&halves, static_cast<uint16_t>(half.first));
        EXPECT_EQ(refusal(llama().tensor("rope_freqs.weight", {8}, 1, halves)),
                  name + "has the factor " + half.second + "; factors must be positive and finite");
    }
    File astray = llama();
    astray.misplaced = 4;
    EXPECT_EQ(refusal(astray.factors("rope_freqs.weight", someFactors(8, 1))),
              name + "begins at byte 4, which is not aligned to 32");
    File twice = llama().factors("blk.0.rope_freqs.weight", someFactors(8, 1));
    EXPECT_EQ(refusal(twice.factors("blk.1.rope_freqs.weight", someFactors(8, 2))),
              "the file has several tensors 'rope_freqs.weight', and they differ");
    EXPECT_EQ(refusal(llama().factors("rope_factors_long.weight", someFactors(8, 1))),
              "the file has only one of the tensors 'rope_factors_short.weight' and 'rope_factors_long.weight'");
    File both = llama().factors("rope_factors_long.weight", someFactors(8, 1));
    both.factors("rope_factors_short.weight", someFactors(8, 1)).factors("rope_freqs.weight", someFactors(8, 1));
    EXPECT_EQ(refusal(both), "the file has both 'rope_freqs.weight' and 'rope_factors_long.weight'; one is enough");
    File lengthless("phi3");
    lengthless.u32("attention.key_length", 16).factors("rope_factors_long.weight", someFactors(8, 1));
    EXPECT_EQ(refusal(lengthless.factors("rope_factors_short.weight", someFactors(8, 1))),
              "a file with 'rope_factors_long.weight' has neither 'phi3.rope.scaling.original_context_length' nor "
              "'phi3.context_length'");
}

TEST(Gguf, SaysWhereASourceCannotBeRead) {
    const Bytes bytes = modelOf("llama", 16).factors("rope_freqs.weight", someFactors(8, 1)).whole();
    for (const bool at_once : {true, false}) {
        const rope::GgufSource source = {bytes.size(), [&](uint64_t offset, size_t count, uint8_t* to) {
                                             if (at_once || offset != 0) return false;
                                             std::memcpy(to, bytes.data(), count);
                                             return true;
                                         }};
        ModelEncoding model;
        std::string error;
        EXPECT_FALSE(rope::parseGguf(source, {}, &model, &error));
        EXPECT_EQ(error, "it cannot be read at byte " + std::to_string(at_once ? 0 : bytes.size() - 32));
    }
}

// ---- Files

void put(const std::string& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::string fileRefusal(const std::string& path) {
    ModelEncoding model;
    std::string error;
    return rope::readGguf(path, {}, &model, &error) ? "accepted" : error;
}

TEST(Gguf, AFileBeyondFourGigabytesIsReadByItsHeader) {
    const Folder folder;
    const std::vector<float> factors = someFactors(8, 1);
    File file = modelOf("llama", 16);
    file.misplaced = uint64_t{5} << 30;
    file.factors("rope_freqs.weight", factors);
    const std::string path = folder / "large.gguf";
    Bytes header = file.header();
    header.resize((header.size() + 31) / 32 * 32);
    put(path, header);
    fs::resize_file(path, header.size() + file.misplaced); // sparse
    std::ofstream more(path, std::ios::binary | std::ios::app);
    more.write(reinterpret_cast<const char*>(factors.data()), 32);
    more.close();
    ModelEncoding model;
    std::string error;
    ASSERT_TRUE(rope::readGguf(path, {}, &model, &error)) << error;
    expectFrequencies(model, divided(ladder(10000, 16), factors));
}

TEST(Gguf, NamesTheFileThatItCannotRead) {
    const Folder folder;
    EXPECT_EQ(fileRefusal(folder / "none.gguf"), (folder / "none.gguf") + ": there is no such file");
    EXPECT_EQ(fileRefusal(folder.path()), folder.path() + ": this is a folder");
    put(folder / "empty.gguf", {});
    EXPECT_EQ(fileRefusal(folder / "empty.gguf"), (folder / "empty.gguf") + ": this is no .gguf file");
    put(folder / "short.gguf", {'G', 'G', 'U', 'F', 3, 0});
    EXPECT_EQ(fileRefusal(folder / "short.gguf"), (folder / "short.gguf") + ": the file ends within its header");
}

#ifndef _WIN32
TEST(Gguf, NamesThePipeAndTheLoopThatItCannotRead) {
    const Folder folder;
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(fileRefusal(folder / "pipe"), (folder / "pipe") + ": this is no regular file");
    const std::string loop = folder / "loop.gguf";
    fs::create_symlink(loop, loop);
    EXPECT_EQ(fileRefusal(loop), loop + ": it cannot be read: Too many levels of symbolic links");
}
#endif

TEST(Gguf, SurvivesItsCorpus) {
    size_t inputs = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(VKROPE_TEST_CORPUS "/gguf")) {
        SCOPED_TRACE(entry.path().string());
        std::ifstream in(entry.path(), std::ios::binary);
        const Bytes bytes(std::istreambuf_iterator<char>(in), {});
        fuzzGguf(bytes.data(), bytes.size());
        ++inputs;
    }
    EXPECT_GT(inputs, 20u);
}

} // namespace
