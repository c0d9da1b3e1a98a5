#include "model.hpp"

#include "support/sample.hpp"

#include <algorithm>
#include <cmath>

namespace decoder {
namespace {

using Row = std::vector<double>;

std::vector<float> matrix(uint32_t outputs, uint32_t inputs, uint64_t seed) {
    std::vector<float> all = sample::values(size_t{outputs} * inputs, seed);
    for (float& weight : all) weight /= std::sqrt(static_cast<float>(inputs));
    return all;
}

std::vector<float> normWeights(uint64_t seed) {
    std::vector<float> all = sample::values(DIM, seed);
    for (float& weight : all) weight = 1 + weight / 4;
    return all;
}

Row multiply(const std::vector<float>& weights, const Row& input) {
    Row output(weights.size() / input.size());
    for (size_t i = 0; i < weights.size(); ++i) output[i / input.size()] += weights[i] * input[i % input.size()];
    return output;
}

void normHeads(const std::vector<float>& weights, Row* row) {
    for (size_t head = 0; head < row->size(); head += DIM) {
        double sum = 0;
        for (size_t i = head; i < head + DIM; ++i) sum += (*row)[i] * (*row)[i];
        const double root = std::sqrt(sum / DIM + kEpsilon);
        for (size_t i = head; i < head + DIM; ++i) (*row)[i] *= weights[i - head] / root;
    }
}

void turnHeads(size_t position, Row* row) {
    for (size_t head = 0; head < row->size(); head += DIM) {
        for (size_t j = 0; j < DIM / 2; ++j) {
            const double angle = static_cast<double>(position) * std::pow(kBase, -2.0 * static_cast<double>(j) / DIM);
            double& x = (*row)[head + j];
            double& y = (*row)[head + j + DIM / 2];
            const double c = kScale * std::cos(angle), s = kScale * std::sin(angle);
            const double left = x * c - y * s;
            y = x * s + y * c;
            x = left;
        }
    }
}

} // namespace

Model makeModel(uint64_t seed) {
    Model model;
    model.embedding = sample::values(VOCABULARY * HIDDEN, ++seed);
    model.logits = matrix(VOCABULARY, HIDDEN, ++seed);
    for (Layer& layer : model.layers) {
        layer.qkv = matrix(QKV_ROW, HIDDEN, ++seed);
        layer.out = matrix(HIDDEN, HEADS * DIM, ++seed);
        layer.q_norm = normWeights(++seed);
        layer.k_norm = normWeights(++seed);
    }
    return model;
}

Row Reference::attend(const std::vector<Token>& tokens, Row q) const {
    turnHeads(tokens.size() - 1, &q);
    Row output(HEADS * DIM);
    std::vector<Row> scores(HEADS);
    for (size_t position = 0; position < tokens.size(); ++position) {
        Row k = tokens[position].k;
        turnHeads(position, &k);
        for (size_t head = 0; head < HEADS; ++head) {
            const size_t kv = head / (HEADS / KV_HEADS) * DIM;
            double sum = 0;
            for (size_t i = 0; i < DIM; ++i) sum += q[head * DIM + i] * k[kv + i];
            scores[head].push_back(sum / std::sqrt(double{DIM}));
        }
    }
    for (size_t head = 0; head < HEADS; ++head) {
        const size_t kv = head / (HEADS / KV_HEADS) * DIM;
        double total = 0;
        for (double& score : scores[head]) total += score = std::exp(score);
        for (size_t position = 0; position < tokens.size(); ++position) {
            const double share = scores[head][position] / total;
            for (size_t i = 0; i < DIM; ++i) output[head * DIM + i] += share * tokens[position].v[kv + i];
        }
    }
    return output;
}

Row Reference::step(uint32_t token) {
    const auto embedded = model_.embedding.begin() + token * HIDDEN;
    Row hidden(embedded, embedded + HIDDEN);
    for (int i = 0; i < LAYERS; ++i) {
        const Layer& layer = model_.layers[i];
        const Row qkv = multiply(layer.qkv, hidden);
        const auto k_begin = qkv.begin() + HEADS * DIM;
        const auto v_begin = k_begin + KV_HEADS * DIM;
        Row q(qkv.begin(), k_begin);
        Token cached = {Row(k_begin, v_begin), Row(v_begin, qkv.end())};
        normHeads(layer.q_norm, &q);
        normHeads(layer.k_norm, &cached.k);
        tokens_[i].push_back(cached);
        const Row added = multiply(layer.out, attend(tokens_[i], q));
        for (size_t j = 0; j < HIDDEN; ++j) hidden[j] += added[j];
    }
    return multiply(model_.logits, hidden);
}

void Reference::drop(uint32_t first, uint32_t count) {
    for (std::vector<Token>& tokens : tokens_) tokens.erase(tokens.begin() + first, tokens.begin() + first + count);
}

} // namespace decoder
