// A reason is empty after success, whatever it held before.
#include <vkrope/rope.h>

#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace {

void expectCleared(const char* name, const std::function<RopeResult(RopeReason*)>& call) {
    RopeReason reason;
    std::strcpy(reason.text, "what was wrong before");
    EXPECT_EQ(call(&reason), ROPE_SUCCESS) << name << ": " << reason.text;
    EXPECT_STREQ(reason.text, "") << name;
}

const double kFrequencies[] = {1, 0.01};

RopeRotateDescription rotation() {
    RopeRotateDescription d = {};
    d.tokens = 1;
    d.head_dim = 4;
    d.q.heads = 1;
    d.rotation.frequencies = {kFrequencies, 2, 0, nullptr, 1};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    return d;
}

TEST(Reason, IsClearedByWhatMakesValues) {
    RopeRule rule = {};
    rule.rotary_dim = 4;
    rule.base = 10000;
    double frequencies[2], scale;
    expectCleared("ropeMakeFrequencies",
                  [&](RopeReason* r) { return ropeMakeFrequencies(&rule, frequencies, &scale, r); });
    const RopeFrequencies given = {kFrequencies, 2, 0, nullptr, 1};
    uint32_t words[64];
    expectCleared("ropeWriteFrequencies",
                  [&](RopeReason* r) { return ropeWriteFrequencies(&given, ROPE_ANGLE_EXACT, words, r); });
    const uint32_t sections[] = {1, 1};
    uint8_t axes[2];
    expectCleared("ropeSetAxes",
                  [&](RopeReason* r) { return ropeSetAxes(ROPE_AXES_CONTIGUOUS, sections, 2, 2, axes, r); });
    float values[4];
    expectCleared("ropeMakeAlibiSlopes", [&](RopeReason* r) { return ropeMakeAlibiSlopes(4, values, r); });
    expectCleared("ropeMakeQueryScale", [&](RopeReason* r) { return ropeMakeQueryScale(0.1, 4, values, r); });
    RopeBiasDescription bias = {};
    bias.heads = bias.queries = bias.keys = 1;
    expectCleared("ropeWriteBuckets", [&](RopeReason* r) { return ropeWriteBuckets(&bias, words, r); });
    uint32_t permutation[4];
    expectCleared("ropePairPermutation", [&](RopeReason* r) {
        return ropePairPermutation(4, 0, 4, ROPE_PAIRING_INTERLEAVED, permutation, r);
    });
}

TEST(Reason, IsClearedByRunsOnTheCpu) {
    float x[4] = {};
    RopeTableDescription table = {};
    table.tokens = 1;
    table.frequencies = {kFrequencies, 2, 0, nullptr, 1};
    table.positions.kind = ROPE_POSITIONS_COUNTED;
    RopeHostTable into = {};
    into.rows = x;
    expectCleared("ropeHostRunTable", [&](RopeReason* r) { return ropeHostRunTable(&table, &into, r); });
    const RopeRotateDescription d = rotation();
    RopeHostRotate rotate = {};
    rotate.q = rotate.q_out = x;
    expectCleared("ropeHostRunRotate", [&](RopeReason* r) { return ropeHostRunRotate(&d, &rotate, r); });
    RopeAddDescription add = {};
    add.tokens = 1;
    add.dim = 4;
    add.frequencies = d.rotation.frequencies;
    add.positions = d.positions;
    RopeHostAdd added = {};
    added.x = added.x_out = x;
    expectCleared("ropeHostRunAdd", [&](RopeReason* r) { return ropeHostRunAdd(&add, &added, r); });
    RopeBiasDescription bias = {};
    bias.kind = ROPE_BIAS_ALIBI;
    bias.heads = bias.queries = bias.keys = 1;
    bias.positions = d.positions;
    RopeHostBias biased = {};
    biased.rows = biased.x = biased.x_out = x;
    expectCleared("ropeHostRunBias", [&](RopeReason* r) { return ropeHostRunBias(&bias, &biased, r); });
}

} // namespace
