// What a context shift is worth: keys in a cache turned again and again, beside keys rotated afresh to where they end.
#include "rope.h"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

namespace {

constexpr uint32_t kDim = 128;
constexpr uint32_t kTokens = 8;
constexpr int32_t kFirst = 20000;

struct Keys {
    std::vector<double> frequencies = sample::frequencies(500000, kDim);
    std::vector<float> values = sample::values(size_t{kTokens} * kDim, 3);
    std::vector<uint8_t> cache;
    RopeElement element;

    explicit Keys(RopeElement kind) : cache(size_t{kTokens} * kDim * ropeElementBytes(kind)), element(kind) {}

    RopeFusedDescription describe() const {
        RopeFusedDescription d = {};
        d.rotate.tokens = kTokens;
        d.rotate.head_dim = kDim;
        d.rotate.k.heads = 1;
        d.rotate.frequencies = {frequencies.data(), kDim / 2, 1, nullptr, 1};
        d.rotate.positions.kind = ROPE_POSITIONS_COUNTED;
        d.cache.kind = ROPE_CACHE_POSITIONS;
        d.cache.slots = kTokens;
        d.cache.element = element;
        return d;
    }
    // Fresh at positions first, first + 1 ...; the cache's slots are their order.
    std::vector<double> rotateAt(int32_t first) {
        RopeRotateDescription d = describe().rotate;
        d.positions.first = first;
        d.out_of_place = 1;
        d.element_out = element;
        std::vector<double> reference(values.size());
        RopeHostRotate data = {};
        data.k = values.data();
        data.k_out = cache.data();
        data.reference_k = reference.data();
        EXPECT_EQ(ropeHostRunRotate(&d, &data, nullptr), ROPE_SUCCESS);
        return reference;
    }
    void shift(int32_t delta) {
        RopeFusedDescription d = describe();
        d.rotate.operation = ROPE_OPERATION_SHIFT;
        d.cache.shift = 1;
        d.cache.delta = delta;
        RopeHostFused data = {};
        data.k_out = cache.data();
        RopeReason reason;
        EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    }
    // The largest error of a pair, in its length.
    double worst(const std::vector<double>& reference) const {
        std::vector<float> now(values.size());
        ropeConvertElements(cache.data(), element, now.data(), ROPE_ELEMENT_F32, now.size());
        double found = 0;
        for (size_t token = 0; token < kTokens; ++token) {
            for (size_t i = token * kDim; i < token * kDim + kDim / 2; ++i) {
                const size_t j = i + kDim / 2;
                const double error = std::hypot(now[i] - reference[i], now[j] - reference[j]);
                found = std::fmax(found, error / std::hypot(reference[i], reference[j]));
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

// What one rotation errs by, at most, in a pair's length: the float32 result, then its rounding to the element.
double oneRotation(RopeElement element) {
    const double narrowing = element == ROPE_ELEMENT_F16 ? 0x1p-11 : element == ROPE_ELEMENT_BF16 ? 0x1p-8 : 0;
    return 2 * 0x1p-23 + narrowing;
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
    std::printf("%d turns by %d: %.3g of a pair's length, afresh %.3g\n", turns.count, turns.delta, error, afresh);
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

std::string name(const testing::TestParamInfo<Turns>& info) {
    static const char* const kNames[] = {"", "Float32", "Float16", "Bfloat16"};
    return std::string(kNames[info.param.element]) + "Times" + std::to_string(info.param.count) + "By" +
           std::to_string(-info.param.delta);
}

std::vector<Turns> allTurns() {
    std::vector<Turns> all;
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}) {
        for (const int count : {1, 10, 1000}) {
            for (const int32_t delta : {-7, -1531}) all.push_back({element, count, delta});
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Every, Shift, testing::ValuesIn(allTurns()), name);

} // namespace
