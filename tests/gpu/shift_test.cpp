// These tests measure a context shift: keys in a cache are turned again and again, and compared with keys rotated
// afresh to where they end.
#include "plan/description.h"
#include "support/sample.hpp"
#include <vkrope/rope.h>

#include "plan/element_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>

namespace {

constexpr uint32_t kDim = 128;
constexpr uint32_t kTokens = 8;
constexpr uint32_t kSlots = 2 * kTokens;
constexpr int32_t kFirst = 20000;

// Returns a cache's keys as float32, by the formulas of the formats' publishers. The scales of I8 and float8 lie behind
// the elements.
std::vector<float> widened(RopeElement element, const std::vector<uint8_t>& cache) {
    static const int kCodes[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    const rope::ElementFormat& f = rope::formatOf(element);
    std::vector<float> all(size_t{kSlots} * kDim);
    if (f.integer_bits == 0) ropeConvertElements(cache.data(), element, all.data(), ROPE_ELEMENT_F32, all.size());
    for (size_t i = 0; i < all.size() && f.scale == rope::ElementScale::kApart; ++i) {
        float scale;
        std::memcpy(&scale, &cache[all.size() + i / kDim * sizeof scale], sizeof scale);
        all[i] = scale * (f.integer_bits != 0 ? static_cast<float>(static_cast<int8_t>(cache[i])) : all[i]);
    }
    for (size_t i = 0; i < all.size() && f.scale == rope::ElementScale::kInBlock; ++i) {
        const uint8_t* block = &cache[i / 32 * f.block_bytes];
        float header[2];
        ropeConvertElements(block, ROPE_ELEMENT_F16, header, ROPE_ELEMENT_F32, 2);
        const uint32_t j = i % 32;
        const uint8_t* integers = block + f.block_bytes - (f.integer_bits == 8 ? 32 : 16);
        int q = f.integer_bits == 8 ? static_cast<int8_t>(integers[j]) : integers[j % 16] >> (j < 16 ? 0 : 4) & 15;
        if (f.integer_bits == 5) q |= (integers[static_cast<int>(j / 8) - 4] >> j % 8 & 1) << 4;
        if (f.codes) q = kCodes[q];
        if (f.integer_bits != 8 && !f.minimum && !f.codes) q -= 1 << (f.integer_bits - 1);
        all[i] = static_cast<float>(double{header[0]} * q + (f.minimum ? double{header[1]} : 0));
    }
    return all;
}

struct Keys {
    std::vector<double> frequencies = sample::frequencies(500000, kDim);
    std::vector<float> values = sample::values(size_t{kTokens} * kDim, 3);
    std::vector<int32_t> slots = std::vector<int32_t>(kTokens);
    std::vector<uint8_t> cache;
    RopeElement element;

    explicit Keys(RopeElement kind)
        : cache(rope::elementBytes(kind, size_t{kSlots} * kDim) + size_t{kSlots} * sizeof(float)), element(kind) {
        for (uint32_t i = 0; i < kTokens; ++i) slots[i] = static_cast<int32_t>(i);
    }

    RopeFusedDescription describe() const {
        RopeFusedDescription d = {};
        d.tokens = kTokens;
        d.head_dim = kDim;
        d.k.heads = 1;
        d.rotation.frequencies = {frequencies.data(), kDim / 2, 1, nullptr, 1};
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.cache.kind = ROPE_CACHE_SLOTS;
        d.cache.slots = kSlots;
        d.k.element = d.v.element = element;
        d.k.stored_scales.offset = size_t{kSlots} * kDim / sizeof(float);
        return d;
    }
    void run(const RopeFusedDescription& d, const float* k, double* reference) {
        RopeHostFused data = {};
        data.slot_map = slots.data();
        data.k = k;
        data.k_out = cache.data();
        data.reference_k = reference;
        RopeReason reason;
        EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    }
    // Fresh at positions first, first + 1 ...
    std::vector<double> rotateAt(int32_t first) {
        RopeFusedDescription d = describe();
        d.positions.first = first;
        std::vector<double> reference(size_t{kSlots} * kDim);
        run(d, values.data(), reference.data());
        return reference;
    }
    // Keys as they are, not rotated.
    void put(const float* keys) {
        RopeFusedDescription d = describe();
        d.q.no_rotation = d.k.no_rotation = 1;
        run(d, keys, nullptr);
    }
    RopeFusedDescription describeShift(int32_t delta) const {
        RopeFusedDescription d = describe();
        d.rotation.operation = ROPE_OPERATION_SHIFT;
        d.cache.delta = delta;
        return d;
    }
    void shift(int32_t delta) { run(describeShift(delta), nullptr, nullptr); }
    // The largest error of a pair: in its length, or of what is quantized in the head's largest element.
    double worst(const std::vector<double>& reference) const {
        const std::vector<float> now = widened(element, cache);
        double found = 0;
        for (size_t token = 0; token < kTokens; ++token) {
            double largest = 0;
            for (size_t i = token * kDim; i < token * kDim + kDim; ++i)
                largest = std::fmax(largest, std::fabs(reference[i]));
            for (size_t i = token * kDim; i < token * kDim + kDim / 2; ++i) {
                const size_t j = i + kDim / 2;
                const double error = std::hypot(now[i] - reference[i], now[j] - reference[j]);
                const double length = std::hypot(reference[i], reference[j]);
                found = std::fmax(found, error / (rope::isForCaches(element) ? largest : length));
            }
        }
        return found;
    }
};

struct Turns {
    RopeElement element;
    int count;
    int32_t delta;
};

class Shift : public testing::TestWithParam<Turns> {};

// Returns how much one rotation errs at most: the float32 result, then its rounding to the element. In a block or a
// head of integers each of two elements errs by a half step, and those of Q4_0 and Q5_0 opposite to the largest err by
// a whole step. The steps are of a largest element that a turn may have made longer by half of it.
double oneRotation(RopeElement element) {
    const rope::ElementFormat& format = rope::formatOf(element);
    if (format.integer_bits == 8) return 2.2 / 254;
    if (format.codes) return 2.2 * 14 / 127; // from the last value, 113, to the first one's magnitude
    if (format.minimum) return 2.2 / ((1 << format.integer_bits) - 1);
    if (format.integer_bits != 0) return 2.2 / (1 << (format.integer_bits - 1));
    const double half_ulp = std::ldexp(0.5, -format.mantissa_bits);
    if (rope::isFloat8(element)) return 2.2 * half_ulp;
    return 2 * 0x1p-23 + (element == ROPE_ELEMENT_F32 ? 0 : half_ulp);
}

// Every turn is one rotation more, and equal turns err alike: their errors add up, they do not average out. By a small
// delta slow pairs of 16 bits do not move at all, each turn being less than half an ulp.
TEST_P(Shift, ErrsByOneRotationMoreForEachTurn) {
    const Turns& turns = GetParam();
    Keys keys(turns.element);
    keys.rotateAt(kFirst);
    for (int i = 0; i < turns.count; ++i) keys.shift(turns.delta);
    Keys fresh(turns.element);
    const std::vector<double> reference = fresh.rotateAt(kFirst + turns.count * turns.delta);
    const double error = keys.worst(reference), afresh = fresh.worst(reference);
    std::printf("%s, %d turns by %d: %.2g, afresh %.2g\n", rope::formatOf(turns.element).name, turns.count, turns.delta,
                error, afresh);
    EXPECT_LE(error, (turns.count + 1) * oneRotation(turns.element));
    EXPECT_LE(afresh, oneRotation(turns.element));
    EXPECT_GT(error, afresh / 4); // what is measured is rounding, not nothing
}

// So many turns are worth one by their sum.
TEST(ShiftOfKeys, OneTurnByTheSumErrsAsOne) {
    Keys keys(ROPE_ELEMENT_F16);
    keys.rotateAt(kFirst);
    keys.shift(-7000);
    const std::vector<double> reference = Keys(ROPE_ELEMENT_F16).rotateAt(kFirst - 7000);
    EXPECT_LE(keys.worst(reference), 2 * oneRotation(ROPE_ELEMENT_F16));
}

std::vector<RopeElement> quantizedElements() {
    std::vector<RopeElement> all;
    for (uint32_t i = 1; i < rope::kElementCount; ++i) {
        if (rope::isForCaches(static_cast<RopeElement>(i))) all.push_back(static_cast<RopeElement>(i));
    }
    return all;
}

// Quantized keys are widened to float32, turned there, and quantized again, as three passes do it.
TEST(ShiftOfKeys, AQuantizedKeyTurnsInFloat32) {
    for (const RopeElement element : quantizedElements()) {
        Keys keys(element), wanted(element);
        keys.rotateAt(kFirst);
        std::vector<float> turned = widened(element, keys.cache);
        RopeRotateDescription d = rope::rotationOf(keys.describe());
        d.element_out = ROPE_ELEMENT_DEFAULT;
        d.rotation.operation = ROPE_OPERATION_SHIFT;
        d.positions.kind = ROPE_POSITIONS_PER_TOKEN;
        const std::vector<int32_t> deltas(kTokens, -321);
        RopeHostRotate data = {};
        data.positions = deltas.data();
        data.k = data.k_out = turned.data();
        ASSERT_EQ(ropeHostRunRotate(&d, &data, nullptr), ROPE_SUCCESS);
        wanted.put(turned.data());
        const std::vector<uint8_t> before = keys.cache;
        keys.shift(-321);
        EXPECT_EQ(keys.cache, wanted.cache) << rope::formatOf(element).name;
        EXPECT_NE(keys.cache, before);
    }
}

std::string name(const testing::TestParamInfo<Turns>& info) {
    return std::string(rope::formatOf(info.param.element).name) + "Times" + std::to_string(info.param.count) + "By" +
           std::to_string(-info.param.delta);
}

std::vector<Turns> allTurns() {
    std::vector<Turns> all;
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}) {
        for (const int count : {1, 10, 1000}) {
            for (const int32_t delta : {-7, -1531}) all.push_back({element, count, delta});
        }
    }
    for (const RopeElement element : quantizedElements()) {
        for (const int count : {1, 10, 100}) {
            for (const int32_t delta : {-7, -1531}) all.push_back({element, count, delta});
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Every, Shift, testing::ValuesIn(allTurns()), name);

} // namespace
