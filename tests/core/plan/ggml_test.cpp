// Nodes of ggml's graph: each plan is that of a description written by hand, and each refusal names the member.
#include <vkrope/rope.h>

#include "bench/cases/description.hpp"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kF32 = 0, kF16 = 1, kQ8 = 8, kI32 = 26, kI64 = 27, kBf16 = 30; // ggml's numbers
constexpr uint32_t kHeadDim = 64, kHeads = 4, kTokens = 5, kBatch = 2, kSlots = 40;

// A tensor whose elements lie without gaps.
RopeGgmlTensor packed(uint32_t type, uint32_t bytes, std::array<int64_t, 4> ne, uint64_t offset = 0) {
    RopeGgmlTensor t = {};
    t.type = type;
    t.offset = offset;
    uint64_t stride = bytes;
    for (size_t i = 0; i < 4; ++i) {
        t.ne[i] = ne[i];
        t.nb[i] = stride;
        stride *= static_cast<uint64_t>(ne[i]);
    }
    return t;
}

RopeGgmlNode plainNode(uint32_t batch = 1) {
    RopeGgmlNode n = {};
    n.x = n.out = packed(kF32, 4, {kHeadDim, kHeads, kTokens, batch});
    n.positions = packed(kI32, 4, {kTokens, 1, 1, 1});
    return n;
}

RopeGgmlNode fusedNode() {
    RopeGgmlNode n = plainNode();
    n.norm = 1;
    n.epsilon = 1e-6f;
    n.weights = packed(kF32, 4, {kHeadDim, 1, 1, 1}, 12);
    n.rows = packed(kI64, 8, {kTokens, 1, 1, 1}, 16);
    n.out = packed(kF16, 2, {kHeadDim * kHeads, kSlots, 1, 1}, 8);
    return n;
}

// Keys of Q8_0, which lie in heads of two blocks and turn by a delta each.
RopeGgmlNode shiftNode() {
    RopeGgmlNode n = plainNode();
    n.x = n.out = {{kHeadDim, kHeads, kTokens, 1}, {34, 68, 68 * kHeads, 68 * kHeads * kTokens}, 340, kQ8, 0};
    n.rows = packed(kI32, 4, {kTokens, 1, 1, 1});
    n.hadamard = kHeadDim;
    n.in_place = 1;
    return n;
}

struct Rotation {
    RopeRotation rotation = {};
    double values[kHeadDim / 2];
    uint8_t axes[kHeadDim / 2];

    Rotation() {
        const RopeGgml parameters = {0, kHeadDim, 2, 0, 8192, 10000, 1, 0, 1, 32, 1, {0, 0, 0, 0}, 0};
        EXPECT_EQ(ropeReadGgml(&parameters, kHeadDim, values, axes, &rotation, nullptr), ROPE_SUCCESS);
    }
};

// The description that plainNode means.
RopeRotateDescription plainDescription(uint32_t batch = 1) {
    static const Rotation kRotation;
    RopeRotateDescription d = {};
    d.rotation = kRotation.rotation;
    d.head_dim = kHeadDim;
    d.batch = batch;
    d.tokens = kTokens;
    d.positions.same_for_all_sequences = 1;
    const RopeLayout layout = {0, kHeadDim * kHeads * kTokens, kHeadDim * kHeads, kHeadDim};
    d.k = {kHeads, layout, layout};
    d.out_of_place = 1;
    return d;
}

RopeFusedDescription fusedDescription() {
    RopeFusedDescription f = {};
    measure::setRotation(plainDescription(), &f);
    f.k.element = ROPE_ELEMENT_F16;
    f.k.norm.kind = ROPE_NORM_RMS;
    f.k.norm.epsilon = 1e-6f;
    f.k.norm.weights_offset = 3;
    f.cache.kind = ROPE_CACHE_SLOTS;
    f.cache.slots = kSlots;
    f.k.to = {4, 0, 0, kHeadDim * kHeads, kHeadDim};
    f.cache.map_element = ROPE_POSITION_INT64;
    f.cache.map_offset = 2;
    return f;
}

RopeLimits wideLimits() {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.enabled |= ROPE_ENABLED_STORAGE_16;
    limits.storage_buffers = 16;
    return limits;
}

template <typename Description>
void expectSame(const RopeGgmlNode& node, const Description& by_hand,
                RopeResult (*plan)(const Description*, const RopeLimits*, RopePlan*)) {
    const Rotation rotation;
    const RopeLimits limits = wideLimits();
    RopePlan ours, theirs;
    EXPECT_EQ(ropePlanGgml(&node, &rotation.rotation, &limits, &ours), ROPE_SUCCESS) << ours.reason.text;
    EXPECT_EQ(plan(&by_hand, &limits, &theirs), ROPE_SUCCESS) << theirs.reason.text;
    EXPECT_TRUE(ropePlansEqual(&ours, &theirs));
}

TEST(GgmlNode, RotationsAreTheirDescriptions) {
    expectSame(plainNode(), plainDescription(), ropePlanRotate);
    expectSame(plainNode(kBatch), plainDescription(kBatch), ropePlanRotate);

    RopeGgmlNode n = plainNode();
    RopeRotateDescription d = plainDescription();
    n.in_place = 1;
    d.out_of_place = 0;
    expectSame(n, d, ropePlanRotate);
    n.backward = 1;
    d.rotation.operation = ROPE_OPERATION_TRANSPOSE;
    expectSame(n, d, ropePlanRotate);
}

TEST(GgmlNode, StridesOffsetsAndTypesAreTheTensors) {
    RopeGgmlNode n = plainNode();
    RopeRotateDescription d = plainDescription();
    n.x.nb[1] = 4 * 1000, n.x.nb[2] = 4 * 72, n.x.nb[3] = 4 * 9000; // heads before tokens
    n.x.offset = 4 * 6;
    d.k.from = {6, 9000, 72, 1000};
    n.positions.offset = 4 * 3;
    d.positions.offset = 3;
    expectSame(n, d, ropePlanRotate);
    n.out = packed(kF16, 2, {kHeadDim, kHeads, kTokens, 1}, 2 * 10);
    d.element_out = ROPE_ELEMENT_F16;
    d.k.to.offset = 10;
    expectSame(n, d, ropePlanRotate);
    n.x = packed(kBf16, 2, {kHeadDim, kHeads, kTokens, 1});
    d.element = ROPE_ELEMENT_BF16;
    d.k.from = plainDescription().k.from;
    expectSame(n, d, ropePlanRotate);
}

TEST(GgmlNode, NormWeightsAndRowsAreOnePass) {
    expectSame(fusedNode(), fusedDescription(), ropePlanFused);

    RopeGgmlNode n = fusedNode();
    RopeFusedDescription f = fusedDescription();
    n.weights = packed(kF32, 4, {kHeadDim, kHeads, kTokens, 1});
    f.k.norm.weights_offset = 0;
    f.k.norm.weights_head_stride = kHeadDim;
    f.k.norm.weights_token_stride = kHeadDim * kHeads;
    expectSame(n, f, ropePlanFused);
    n.weights = packed(kBf16, 2, {kHeadDim, 1, 1, 1});
    f.k.norm.weights_element = ROPE_ELEMENT_BF16;
    f.k.norm.weights_head_stride = f.k.norm.weights_token_stride = 0;
    expectSame(n, f, ropePlanFused);
    n.weights = {};
    f.k.norm = {};
    f.k.norm.kind = ROPE_NORM_RMS;
    f.k.norm.no_weights = 1;
    f.k.norm.epsilon = 1e-6f;
    n.rows = packed(kI32, 4, {kTokens, 1, 1, 1}, 16);
    f.cache.map_element = ROPE_POSITION_INT32;
    f.cache.map_offset = 4;
    expectSame(n, f, ropePlanFused);
    n.norm = 0;
    f.k.norm = {};
    expectSame(n, f, ropePlanFused);
}

// llama.cpp's quantized caches: a block of the head behind the rotation, and blocks of 32 by row numbers.
TEST(GgmlNode, EveryTypeOfLlamasCachesIsAnElement) {
    const struct {
        uint32_t number, bytes;
        RopeElement element;
    } types[] = {{2, 18, ROPE_ELEMENT_Q4_0}, {3, 20, ROPE_ELEMENT_Q4_1}, {6, 22, ROPE_ELEMENT_Q5_0},
                 {7, 24, ROPE_ELEMENT_Q5_1}, {8, 34, ROPE_ELEMENT_Q8_0}, {20, 18, ROPE_ELEMENT_IQ4_NL}};
    for (const auto& type : types) {
        RopeGgmlNode n = fusedNode();
        const uint64_t row = uint64_t{kHeadDim} * kHeads / 32 * type.bytes;
        n.out = {
            {kHeadDim * kHeads, kSlots, 1, 1}, {type.bytes, row, row * kSlots, row * kSlots}, 4 * row, type.number, 0};
        n.hadamard = 64;
        RopeFusedDescription f = fusedDescription();
        f.k.element = type.element;
        f.k.to.offset = uint64_t{4} * kHeadDim * kHeads;
        f.k.hadamard = 64;
        expectSame(n, f, ropePlanFused);
    }
    RopeGgmlNode n = plainNode(); // Q's, whose rows are no blocks
    n.hadamard = 32;
    RopeFusedDescription f = {};
    measure::setRotation(plainDescription(), &f);
    f.k.element = ROPE_ELEMENT_F32;
    f.k.hadamard = 32;
    expectSame(n, f, ropePlanFused);
}

// V's nodes: no ROPE, so that no rotation is asked for.
TEST(GgmlNode, WithoutPositionsNothingTurns) {
    RopeGgmlNode n = fusedNode();
    n.norm = 0;
    n.weights = n.positions = {};
    n.hadamard = 64;
    RopeFusedDescription f = fusedDescription();
    f.rotation = {};
    f.positions = {};
    f.positions.kind = ROPE_POSITIONS_COUNTED;
    f.k.no_rotation = 1;
    f.k.norm = {};
    f.k.hadamard = 64;
    const RopeLimits limits = wideLimits();
    RopePlan ours, theirs;
    EXPECT_EQ(ropePlanGgml(&n, nullptr, &limits, &ours), ROPE_SUCCESS) << ours.reason.text;
    EXPECT_EQ(ropePlanFused(&f, &limits, &theirs), ROPE_SUCCESS) << theirs.reason.text;
    EXPECT_TRUE(ropePlansEqual(&ours, &theirs));
    n = fusedNode();
    EXPECT_EQ(ropePlanGgml(&n, nullptr, &limits, &ours), ROPE_ERROR_INVALID);
}

TEST(GgmlNode, RowsOfACacheThatIsReadAreAShift) {
    RopeFusedDescription f = {};
    measure::setRotation(plainDescription(), &f);
    f.rotation.operation = ROPE_OPERATION_SHIFT;
    f.out_of_place = 0;
    f.k.from = {};
    f.k.element = ROPE_ELEMENT_Q8_0;
    f.k.hadamard = kHeadDim;
    f.k.to = {320, 0, 0, kHeadDim * kHeads, kHeadDim};
    f.cache.kind = ROPE_CACHE_SLOTS;
    f.cache.slots = kTokens;
    f.cache.map_element = ROPE_POSITION_INT32;
    expectSame(shiftNode(), f, ropePlanFused);
}

struct Refusal {
    const char* sentence;
    std::function<void(RopeGgmlNode&)> spoil;
};

TEST(GgmlNode, RefusalsNameTheMember) {
    const std::vector<Refusal> refusals = {
        {"x.type is 8; it must be ggml's F32 (0), F16 (1) or BF16 (30)",
         [](auto& n) {
             n = plainNode();
             n.x.type = kQ8;
         }},
        {"out.type is 26; it must be ggml's F32 (0), F16 (1) or BF16 (30)", [](auto& n) { n.out.type = kI32; }},
        {"weights.type is 8; it must be ggml's F32 (0), F16 (1) or BF16 (30)", [](auto& n) { n.weights.type = kQ8; }},
        {"positions.type is 27; it must be ggml's I32 (26)", [](auto& n) { n.positions.type = kI64; }},
        {"rows.type is 0; it must be ggml's I32 (26) or I64 (27)", [](auto& n) { n.rows.type = kF32; }},
        {"x.ne[1] is 0; it must be from 1 to 2^31 - 1", [](auto& n) { n.x.ne[1] = 0; }},
        {"x.ne[2] is 2147483648; it must be from 1 to 2^31 - 1", [](auto& n) { n.x.ne[2] = int64_t{1} << 31; }},
        {"positions.ne[0] is -1; it must be from 1 to 2^31 - 1", [](auto& n) { n.positions.ne[0] = -1; }},
        {"x.nb[0] is 8; it must be the bytes of an element, 4", [](auto& n) { n.x.nb[0] = 8; }},
        {"x.nb[2] is 0 with elements of 4 bytes; it must be a multiple", [](auto& n) { n.x.nb[2] = 0; }},
        {"out.nb[1] is 513 with elements of 2 bytes; it must be a multiple", [](auto& n) { n.out.nb[1] += 1; }},
        {"rows.offset is 4 with elements of 8 bytes; it must be a multiple", [](auto& n) { n.rows.offset = 4; }},
        {"positions has the shape 4, 1, 1, 1; there must be one for each axis of each token of x",
         [](auto& n) { n.positions.ne[0] = 4; }},
        {"positions has the shape 5, 2, 1, 1; there must be one for each axis of each token of x",
         [](auto& n) { n.positions.ne[1] = 2; }},
        {"in_place is 1 with rows and an x of type 0; it must be 0", [](auto& n) { n.in_place = 1; }},
        {"in_place is 0 with rows and an x of type 8; it must be 1",
         [](auto& n) {
             n = shiftNode();
             n.in_place = 0;
         }},
        {"in_place is 1 and out is not x; type, nb and offset must be the same",
         [](auto& n) {
             n = shiftNode();
             n.out.offset += 34;
         }},
        {"in_place is 1 and out is not x; type, nb and offset must be the same",
         [](auto& n) {
             n = plainNode();
             n.in_place = 1;
             n.out.offset = 4;
         }},
        {"in_place is 1 and out is not x; type, nb and offset must be the same",
         [](auto& n) {
             n = plainNode();
             n.in_place = 1;
             n.out.nb[2] *= 2;
         }},
        {"weights are there without a norm; set norm, or weights.ne[0] 0", [](auto& n) { n.norm = 0; }},
        {"weights has the shape 64, 3, 1, 1; each number must be x's or, behind the first, 1, and the last 1",
         [](auto& n) { n.weights.ne[1] = 3; }},
        {"rows has the shape 4, 1, 1, 1; there must be one for each token of x, and x.ne[3] be 1",
         [](auto& n) { n.rows.ne[0] = 4; }},
        {"rows has the shape 5, 1, 1, 1; there must be one for each token of x, and x.ne[3] be 1",
         [](auto& n) { n.x.ne[3] = 2; }},
        {"out has the shape 255, 40, 1, 1; with rows it must be x.ne[0] * x.ne[1], any number, 1 and 1",
         [](auto& n) { n.out.ne[0] -= 1; }},
        {"out has the shape 256, 40, 3, 1; with rows it must be x.ne[0] * x.ne[1], any number, 1 and 1",
         [](auto& n) { n.out.ne[2] = 3; }},
        {"out has the shape 256, 40, 1, 1; without rows it must be that of x", [](auto& n) { n.rows = {}; }},
    };
    const Rotation rotation;
    for (const Refusal& refusal : refusals) {
        RopeGgmlNode n = fusedNode();
        refusal.spoil(n);
        RopePlan plan;
        EXPECT_EQ(ropePlanGgml(&n, &rotation.rotation, nullptr, &plan), ROPE_ERROR_INVALID) << refusal.sentence;
        EXPECT_STREQ(plan.reason.text, refusal.sentence);
        EXPECT_EQ(plan.version, 0u);
    }
}

TEST(GgmlNode, DecidesAllThatItSaysOfTheRotation) {
    const Rotation rotation;
    RopeRotation other = rotation.rotation;
    other.frequencies.values = reinterpret_cast<const double*>(8); // gone
    other.operation = ROPE_OPERATION_INVERSE;
    const RopeGgmlNode node = plainNode();
    RopePlan ours, theirs;
    EXPECT_EQ(ropePlanGgml(&node, &rotation.rotation, nullptr, &ours), ROPE_SUCCESS) << ours.reason.text;
    EXPECT_EQ(ropePlanGgml(&node, &other, nullptr, &theirs), ROPE_SUCCESS) << theirs.reason.text;
    EXPECT_TRUE(ropePlansEqual(&ours, &theirs));
}

TEST(GgmlNode, NeedsAPositionForEachAxis) {
    const RopeGgml parameters = {0, kHeadDim, 8, 0, 8192, 10000, 1, 0, 1, 32, 1, {8, 8, 8, 8}, 0};
    double values[kHeadDim / 2];
    uint8_t axes[kHeadDim / 2];
    RopeRotation rotation = {};
    ASSERT_EQ(ropeReadGgml(&parameters, kHeadDim, values, axes, &rotation, nullptr), ROPE_SUCCESS);
    RopeGgmlNode n = plainNode();
    RopePlan plan;
    EXPECT_EQ(ropePlanGgml(&n, &rotation, nullptr, &plan), ROPE_ERROR_INVALID);
    n.positions.ne[0] = 4 * kTokens;
    EXPECT_EQ(ropePlanGgml(&n, &rotation, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 4 * kTokens * sizeof(int32_t));
}

TEST(GgmlNode, HasNoPadding) {
    EXPECT_EQ(sizeof(RopeGgmlTensor), 80u);
    EXPECT_EQ(sizeof(RopeGgmlNode), 5 * 80u + 24);
}

} // namespace
