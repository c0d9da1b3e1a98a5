// Decoders whose heads are of other kinds, on every device: prefill and steps over a paged cache, against the same
// attention in double, which knows nothing of vkrope.
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include "plan/element_formats.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

constexpr uint32_t kPageSize = 4, kPages = 8, kPrefill = 5, kTokens = 14;
constexpr double kBase = 10000;
constexpr int32_t kTable[] = {3, 0, 6, 5, 1, 7, 2, 4};
using Row = std::vector<double>;

// A Kind says what a decoder does to the heads of one tensor.
struct Kind {
    uint32_t heads = 0, dim = 0, begin = 0; // begin: of the rotary part
    RopeNormKind norm = ROPE_NORM_NONE;
    uint32_t normed = 0;        // elements, from the first one on; 0: all
    std::vector<float> weights; // of a norm: none, for one head, or for each
    std::vector<float> biases;  // of the projection
    bool turns = true;
};

struct Toy {
    Kind q, k, v; // without V's heads, values are the normed part of K: a latent
    uint32_t rotary = 0;
    RopePairing pairing = ROPE_PAIRING_HALF;
    RopeElement element = ROPE_ELEMENT_F32;    // of rows and cache
    RopeElement float8 = ROPE_ELEMENT_DEFAULT; // of the cache, if it has another: K alone, with kScale
    RopeElement cached() const { return float8 != ROPE_ELEMENT_DEFAULT ? float8 : element; }
    float clip = 0;
    double tolerance = 0;
};

constexpr double kEpsilon = 0x1p-4;
constexpr float kScale = 0.0625f;

void normHead(const Kind& kind, uint32_t head, double* x) {
    const uint32_t count = kind.normed != 0 ? kind.normed : kind.dim;
    double mean = 0, squares = 0;
    for (uint32_t e = 0; e < count && kind.norm == ROPE_NORM_LAYER; ++e) mean += x[e] / count;
    for (uint32_t e = 0; e < count; ++e) squares += (x[e] - mean) * (x[e] - mean) / count;
    const float* weights = kind.weights.size() > count ? &kind.weights[head * count] : kind.weights.data();
    for (uint32_t e = 0; e < count; ++e)
        x[e] = (x[e] - mean) / std::sqrt(squares + kEpsilon) * (weights != nullptr ? weights[e] : 1.0f);
}

void turnHead(const Toy& toy, uint32_t begin, uint32_t position, double* x) {
    const bool interleaved = toy.pairing == ROPE_PAIRING_INTERLEAVED;
    for (uint32_t i = 0; i < toy.rotary / 2; ++i) {
        double& a = x[begin + (interleaved ? 2 * i : i)];
        double& b = x[begin + (interleaved ? 2 * i + 1 : i + toy.rotary / 2)];
        const double angle = position * std::pow(kBase, -2.0 * i / toy.rotary);
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
    }
}

// Carries one tensor of a token from the projection to where attention takes it.
Row carry(const Toy& toy, const Kind& kind, const double* from, uint32_t position) {
    Row x(from, from + kind.heads * kind.dim);
    for (size_t i = 0; i < x.size(); ++i) {
        if (!kind.biases.empty()) x[i] += kind.biases[i];
        if (toy.clip != 0) x[i] = std::max<double>(-toy.clip, std::min<double>(toy.clip, x[i]));
    }
    for (uint32_t head = 0; head < kind.heads; ++head) {
        if (kind.norm != ROPE_NORM_NONE) normHead(kind, head, &x[head * kind.dim]);
        if (kind.turns) turnHead(toy, kind.begin, position, &x[head * kind.dim]);
    }
    return x;
}

struct Token {
    Row q, k, v;
};

// Attention of the last token. A latent is met by the elements of Q before its rotary part, made wider by a matrix.
Row attend(const Toy& toy, const std::vector<Token>& tokens) {
    const bool latent = toy.v.heads == 0;
    const uint32_t width = latent ? toy.k.normed : toy.v.dim;
    const std::vector<float> matrix = sample::values(latent ? size_t{toy.q.begin} * width : 0, 77);
    Row all;
    for (uint32_t head = 0; head < toy.q.heads; ++head) {
        const double* given = &tokens.back().q[head * toy.q.dim];
        Row q(given, given + toy.q.dim);
        if (latent) {
            q.assign(width, 0);
            for (uint32_t i = 0; i < toy.q.begin; ++i)
                for (uint32_t e = 0; e < width; ++e) q[e] += given[i] * matrix[i * width + e] / 4;
            q.insert(q.end(), given + toy.q.begin, given + toy.q.dim);
        }
        const uint32_t of_k = head / (toy.q.heads / toy.k.heads);
        Row sums(width);
        double total = 0;
        for (const Token& token : tokens) {
            double score = 0;
            for (uint32_t e = 0; e < toy.k.dim; ++e) score += q[e] * token.k[of_k * toy.k.dim + e];
            const double weight = std::exp(score / std::sqrt(toy.q.dim) / 4);
            total += weight;
            const double* value = latent ? token.k.data() : &token.v[of_k * width];
            for (uint32_t e = 0; e < width; ++e) sums[e] += weight * value[e];
        }
        for (const double sum : sums) all.push_back(sum / total);
    }
    return all;
}

class HeadsTest : public gpu::OnDevice {
  protected:
    void expectAgreement(const Toy& toy);

  private:
    void makeRows(const Toy& toy);
    RopeFusedDescription describe(const Toy& toy, uint32_t tokens) const;
    void step(const Toy& toy, const RopeLimits& limits, uint32_t first, uint32_t count);
    void expectAgreement(const Toy& toy, const RopeLimits& limits);
    Row read(RopeSlot slot, RopeElement element, uint64_t at, uint64_t count) const;

    uint32_t row_ = 0;
    std::vector<uint8_t> rows_; // as the projection leaves them
    std::vector<double> numbers_, frequencies_;
    gpu::Slots slots_;
    std::vector<Token> wanted_, cached_;
};

void HeadsTest::makeRows(const Toy& toy) {
    row_ = toy.q.heads * toy.q.dim + toy.k.heads * toy.k.dim + toy.v.heads * toy.v.dim;
    const uint64_t bytes = uint64_t{kTokens} * row_ * ropeElementBytes(toy.element);
    rows_ = sample::tensor(toy.element, bytes, 5);
    std::vector<float> floats(kTokens * row_);
    ropeConvertElements(rows_.data(), toy.element, floats.data(), ROPE_ELEMENT_F32, floats.size());
    numbers_.assign(floats.begin(), floats.end());
    frequencies_ = sample::frequencies(kBase, toy.rotary);
    const uint64_t slots = uint64_t{kPageSize} * kPages * ropeElementBytes(toy.cached());
    slots_.bytes[ROPE_SLOT_K_OUT].assign(slots * (toy.k.heads * toy.k.dim + toy.v.heads * toy.v.dim), 0);
    std::vector<float> biases = toy.q.biases;
    biases.insert(biases.end(), toy.k.biases.begin(), toy.k.biases.end());
    biases.insert(biases.end(), toy.v.biases.begin(), toy.v.biases.end());
    slots_.set(ROPE_SLOT_BIASES, biases);
}

RopeNorm normOf(const Kind& kind) {
    RopeNorm norm = {};
    norm.kind = kind.norm;
    norm.epsilon = static_cast<float>(kEpsilon);
    norm.dim = kind.normed;
    norm.weights = kind.weights.empty() ? nullptr : kind.weights.data();
    norm.no_weights = kind.weights.empty();
    if (kind.weights.size() > kind.dim) norm.weights_head_stride = kind.dim;
    return norm;
}

RopeFusedDescription HeadsTest::describe(const Toy& toy, uint32_t tokens) const {
    RopeFusedDescription d = {};
    RopeFusedDescription& r = d;
    r.tokens = tokens;
    r.head_dim = toy.q.dim;
    r.rotation.rotary_begin = toy.q.begin;
    r.rotation.rotary_dim = toy.rotary;
    r.rotation.pairing = toy.pairing;
    r.element = toy.element;
    r.q.element = toy.element;
    r.out_of_place = 1;
    r.rotation.frequencies = {frequencies_.data(), toy.rotary / 2, 1, nullptr, 1};
    r.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
    r.q.heads = toy.q.heads;
    r.k.heads = toy.k.heads;
    r.k.head_dim = toy.k.dim;
    r.k.rotary_begin = toy.k.begin;
    d.v.heads = toy.v.heads;
    d.v.head_dim = toy.v.dim;
    d.packed_qkv = 1;
    d.q.norm = normOf(toy.q);
    d.k.norm = normOf(toy.k);
    d.v.norm = normOf(toy.v);
    d.clip = toy.clip;
    d.q.bias = d.k.bias = d.v.bias = !toy.q.biases.empty();
    d.k.bias_offset = toy.q.biases.size();
    d.v.bias_offset = toy.q.biases.size() + toy.k.biases.size();
    d.cache.kind = ROPE_CACHE_PAGE_TABLE;
    d.cache.map_in_positions = 1;
    d.k.element = d.v.element = toy.cached();
    if (toy.float8 != ROPE_ELEMENT_DEFAULT) d.k.given_scale = {&kScale, 1, 0};
    d.cache.slots = kPageSize * kPages;
    d.cache.page_size = kPageSize;
    d.cache.table_pages = kPages;
    d.cache.map_offset = 1;
    d.cache.one_buffer = 1;
    d.v.to.offset = uint64_t{d.cache.slots} * toy.k.heads * toy.k.dim;
    return d;
}

Row HeadsTest::read(RopeSlot slot, RopeElement element, uint64_t at, uint64_t count) const {
    std::vector<float> floats(count);
    const uint64_t bytes = ropeElementBytes(element);
    ropeConvertElements(slots_.bytes[slot].data() + at * bytes, element, floats.data(), ROPE_ELEMENT_F32, count);
    if (bytes == 1) {
        for (float& one : floats) one *= kScale;
    }
    return Row(floats.begin(), floats.end());
}

// The plans of GPUs take Q with K and V in one dispatch, and bind biases and five buffers more.
void HeadsTest::step(const Toy& toy, const RopeLimits& limits, uint32_t first, uint32_t count) {
    const RopeFusedDescription d = describe(toy, count);
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    if (limits.threads >= 16384 && limits.storage_buffers >= 6) {
        EXPECT_EQ(ropeDispatchCount(&plan), 1u);
    }
    const uint64_t row_bytes = uint64_t{row_} * ropeElementBytes(toy.element);
    slots_.bytes[ROPE_SLOT_Q].assign(rows_.data() + first * row_bytes, rows_.data() + (first + count) * row_bytes);
    slots_.bytes[ROPE_SLOT_Q_OUT].assign(plan.bytes[ROPE_SLOT_Q_OUT], 0);
    std::vector<int32_t> positions = {static_cast<int32_t>(first)};
    positions.insert(positions.end(), std::begin(kTable), std::end(kTable));
    slots_.set(ROPE_SLOT_POSITIONS, positions);
    slots_.set(ROPE_SLOT_FREQUENCIES, sample::words(frequencies_, ROPE_ANGLE_EXACT));
    slots_.bytes[ROPE_SLOT_PARAMETERS].resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
    if (plan.bytes[ROPE_SLOT_PARAMETERS] != 0) {
        ASSERT_EQ(ropeWriteParameters(&d, slots_.bytes[ROPE_SLOT_PARAMETERS].data(), nullptr), ROPE_SUCCESS);
    }
    ASSERT_TRUE(gpu::run(&device(), plan, &slots_));
    const uint32_t q = toy.q.heads * toy.q.dim, k = toy.k.heads * toy.k.dim, v = toy.v.heads * toy.v.dim;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t position = first + i;
        const double* row = &numbers_[position * row_];
        wanted_.push_back({carry(toy, toy.q, row, position), carry(toy, toy.k, row + q, position),
                           carry(toy, toy.v, row + q + k, position)});
        const uint64_t slot = static_cast<uint64_t>(kTable[position / kPageSize]) * kPageSize + position % kPageSize;
        cached_.push_back({read(ROPE_SLOT_Q_OUT, toy.element, uint64_t{i} * q, q),
                           read(ROPE_SLOT_K_OUT, toy.cached(), slot * k, k),
                           read(ROPE_SLOT_K_OUT, toy.cached(), uint64_t{kPageSize} * kPages * k + slot * v, v)});
    }
}

void HeadsTest::expectAgreement(const Toy& toy, const RopeLimits& limits) {
    makeRows(toy);
    wanted_.clear();
    cached_.clear();
    for (uint32_t first = 0; first < kTokens; first += first == 0 ? kPrefill : 1) {
        ASSERT_NO_FATAL_FAILURE(step(toy, limits, first, first == 0 ? kPrefill : 1));
        const Row wanted = attend(toy, wanted_), got = attend(toy, cached_);
        double largest = 0;
        for (const double one : wanted) largest = std::max(largest, std::fabs(one));
        for (size_t i = 0; i < wanted.size(); ++i)
            ASSERT_NEAR(got[i], wanted[i], toy.tolerance * largest) << "token " << first << " element " << i;
    }
}

// Plans as the device asks for, and as GPUs do.
void HeadsTest::expectAgreement(const Toy& toy) {
    RopeLimits limits = device().limits();
    ASSERT_NO_FATAL_FAILURE(expectAgreement(toy, limits));
    if (limits.threads >= 16384) return;
    limits.threads = 16384;
    ASSERT_NO_FATAL_FAILURE(expectAgreement(toy, limits));
}

// DeepSeek: K is the normed latent with the rotary part behind it, and Q's heads are narrower.
TEST_P(HeadsTest, ALatentAndItsRotaryPartAreOneRow) {
    for (const RopeElement element :
         {ROPE_ELEMENT_BF16, ROPE_ELEMENT_F16, ROPE_ELEMENT_F32, ROPE_ELEMENT_F8_E4M3, ROPE_ELEMENT_F8_E5M2}) {
        Toy toy;
        toy.q.heads = 8;
        toy.q.dim = 48;
        toy.q.begin = 32;
        toy.k.heads = 1;
        toy.k.dim = 144;
        toy.k.begin = toy.k.normed = 128;
        toy.k.norm = ROPE_NORM_RMS;
        toy.k.weights = sample::values(128, 8);
        toy.v.turns = false;
        toy.rotary = 16;
        toy.pairing = ROPE_PAIRING_INTERLEAVED;
        toy.element = element;
        toy.tolerance = element == ROPE_ELEMENT_BF16 ? 0.02 : element == ROPE_ELEMENT_F16 ? 0.002 : 1e-5;
        if (ropeElementBytes(element) == 1) {
            toy.element = ROPE_ELEMENT_BF16;
            toy.float8 = element;
            toy.tolerance = element == ROPE_ELEMENT_F8_E4M3 ? 0.12 : 0.25; // 3 or 2 bits of mantissa
        }
        SCOPED_TRACE(rope::formatOf(element).name);
        ASSERT_NO_FATAL_FAILURE(expectAgreement(toy));
    }
}

Toy grouped(RopeNormKind norm, RopeElement element) {
    Toy toy;
    toy.q.heads = 4;
    toy.k.heads = toy.v.heads = 2;
    toy.q.dim = toy.k.dim = toy.v.dim = 32;
    toy.q.norm = toy.k.norm = norm;
    toy.v.turns = false;
    toy.rotary = 32;
    toy.element = element;
    toy.tolerance = element == ROPE_ELEMENT_F32 ? 1e-5 : 0.002;
    return toy;
}

// Gemma 4: V has a norm without weights.
TEST_P(HeadsTest, ValuesAreNormed) {
    Toy toy = grouped(ROPE_NORM_RMS, ROPE_ELEMENT_F16);
    toy.q.weights = sample::values(32, 8);
    toy.k.weights = sample::values(32, 9);
    toy.v.norm = ROPE_NORM_RMS;
    expectAgreement(toy);
}

// Cohere: LayerNorm with weights of each head and no bias, in interleaved pairs.
TEST_P(HeadsTest, HeadsAreNormedAboutTheirMean) {
    Toy toy = grouped(ROPE_NORM_LAYER, ROPE_ELEMENT_F32);
    toy.q.weights = sample::values(4 * 32, 8);
    toy.k.weights = sample::values(2 * 32, 9);
    toy.pairing = ROPE_PAIRING_INTERLEAVED;
    expectAgreement(toy);
}

// MiMo-V2: V's heads are narrower than K's, whose rotary part is the first third.
TEST_P(HeadsTest, ValuesAreNarrowerThanKeys) {
    Toy toy = grouped(ROPE_NORM_NONE, ROPE_ELEMENT_F16);
    toy.q.dim = toy.k.dim = 48;
    toy.v.dim = 32;
    toy.rotary = 16;
    expectAgreement(toy);
}

// In place Q, K and V in one buffer are limited where they lie, V's too. Rows of V may lie behind all rows of Q and K,
// and then V has another binding than K.
TEST_P(HeadsTest, OneBufferIsLimitedInPlace) {
    constexpr uint32_t kTokens = 3, kRow = (2 + 1 + 1) * 32;
    const std::vector<double> frequencies = sample::frequencies(kBase, 32);
    RopeLimits together = device().limits();
    together.threads = 16384;
    for (const RopeLimits& limits : {device().limits(), together}) {
        for (const bool v_behind : {false, true}) {
            RopeFusedDescription d = {};
            d.tokens = kTokens;
            d.head_dim = 32;
            d.rotation.frequencies = {frequencies.data(), 16, 1, nullptr, 1};
            d.positions.kind = ROPE_POSITIONS_COUNTED;
            d.q.heads = 2;
            d.k.heads = d.v.heads = 1;
            d.packed_qkv = 1;
            d.clip = 0.5f;
            if (v_behind) {
                d.q.from = {0, 0, 96, 32};
                d.k.from = {64, 0, 96, 32};
                d.v.from = {kTokens * 96, 0, 32, 32};
            }
            RopePlan plan;
            ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
            gpu::Slots slots;
            std::vector<float> rows = sample::values(kTokens * kRow, 3);
            slots.set(ROPE_SLOT_Q, rows);
            slots.set(ROPE_SLOT_FREQUENCIES, sample::words(frequencies, ROPE_ANGLE_EXACT));
            ASSERT_TRUE(gpu::run(&device(), plan, &slots));
            RopeHostFused data = {};
            data.q = data.q_out = data.k_out = data.v_out = rows.data();
            RopeReason reason;
            ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
            EXPECT_EQ(slots.get<float>(ROPE_SLOT_Q), rows);
            for (uint32_t e = v_behind ? kTokens * 96 : 96; e < (v_behind ? kTokens : 1) * kRow; ++e)
                EXPECT_LE(std::fabs(rows[e]), 0.5f);
        }
    }
}

// Qwen2's biases and OLMo's clip.
TEST_P(HeadsTest, BiasesAreAddedAndTheSumIsLimited) {
    if (device().limits().storage_buffers < 5) GTEST_SKIP() << "biases take a storage buffer more";
    Toy toy = grouped(ROPE_NORM_NONE, ROPE_ELEMENT_F32);
    toy.q.biases = sample::values(4 * 32, 8);
    toy.k.biases = sample::values(2 * 32, 9);
    toy.v.biases = sample::values(2 * 32, 10);
    toy.clip = 1.5f;
    expectAgreement(toy);
}

ROPE_ON_EVERY_DEVICE(HeadsTest);

} // namespace
