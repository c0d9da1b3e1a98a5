// Shaw's relative vectors: on every device with the CPU's bits, near the reference, and as the formulas have them.
#include "support/combinations.hpp"
#include "support/reach.hpp"
#include "support/rotation.hpp"
#include "support/sample.hpp"

#include "plan/encodings/relative_resolve.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>

namespace {

using combinations::choiceIf;
using sample::Random;

RopeRelativeDescription draw(uint64_t seed) {
    Random random(seed * 15485863 + 7);
    RopeRelativeDescription d = {};
    d.side = static_cast<RopeRelativeSide>(random.below(2));
    d.batch = 1 + random.below(2);
    d.heads = 1 + random.below(3);
    d.queries = 1 + random.below(9);
    d.keys = 2 * (1 + random.below(40));
    d.dim = 2 * (1 + random.below(12));
    d.least = -static_cast<int32_t>(random.below(9));
    d.most = d.least + static_cast<int32_t>(random.below(16));
    d.first_key = static_cast<int32_t>(random.below(5)) - 2;
    d.scale = random.below(2) == 0 ? 0 : 1 / std::sqrt(static_cast<float>(d.dim));
    d.element_q = static_cast<RopeElement>(random.below(4));
    d.element_x = static_cast<RopeElement>(random.below(4));
    d.positions.kind = static_cast<RopePositionKind>(random.below(3));
    d.positions.element = static_cast<RopePositionElement>(random.below(2));
    d.positions.first = static_cast<int32_t>(random.below(30)) - 5;
    d.rows.element = static_cast<RopeElement>(random.below(4));
    d.rows.offset = random.below(3);
    d.rows.pair_stride = random.below(2) == 0 ? 0 : 16 * d.dim + 1;
    const bool narrow = d.element_q > ROPE_ELEMENT_F32 || d.element_x > ROPE_ELEMENT_F32;
    if (!narrow && random.below(2) == 0) { // float32 may lie anywhere
        d.keys |= 1;
        d.dim |= 1;
    }
    if (random.below(2) == 0) { // [batch][queries][heads]
        const uint64_t row = (d.side == ROPE_RELATIVE_KEYS ? d.keys : d.dim) + 2;
        d.x = {2, row * d.heads * d.queries, row * d.heads, row};
    }
    return d;
}

// The choices of a draw, each a small number; those that mean nothing in it are none.
combinations::Choices choicesOf(uint64_t seed) {
    const RopeRelativeDescription d = draw(seed);
    return {choiceIf(true, d.side),
            choiceIf(true, d.batch),
            choiceIf(true, d.heads > 1),
            choiceIf(true, d.queries == 1),
            choiceIf(true, d.keys % 4),
            choiceIf(true, d.dim % 4),
            choiceIf(true, d.scale != 0),
            choiceIf(true, d.element_q),
            choiceIf(true, d.element_x),
            choiceIf(true, d.rows.element),
            choiceIf(true, d.rows.pair_stride != 0),
            choiceIf(d.rows.pair_stride == 0, ((d.rows.offset | d.dim) & 3) == 0), // rows are read by four
            choiceIf(true, d.positions.kind),
            choiceIf(d.positions.kind != ROPE_POSITIONS_COUNTED, d.positions.element),
            choiceIf(true, d.x.token_stride != 0),
            choiceIf(true, seed % 2)};
}

// Sums of so many terms in float32 are within 2^-24 of all magnitudes together for each of their roundings.
double allowed(const RopeRelativeDescription& d, RopeElement element) {
    const double terms = d.side == ROPE_RELATIVE_KEYS ? d.dim : d.keys;
    const double magnitude = 4 * terms * std::fmax(1.0, d.scale) + 2; // values are less than 2
    const double stored = element == ROPE_ELEMENT_F16 ? 0x1p-11 : element == ROPE_ELEMENT_BF16 ? 0x1p-8 : 0;
    return magnitude * ((terms + 4) * 0x1p-24 + stored) + 0x1p-25;
}

// `given`: positions of int64 in place of random ones.
testing::AssertionResult check(rope::Device* device, const RopeRelativeDescription& d, uint64_t seed,
                               const RopeLimits& limits, const std::vector<int64_t>& given = {}) {
    Random random(seed);
    rope::ResolvedRelative relative;
    RopePlan plan;
    RopeReason reason;
    if (rope::resolveRelative(d, &relative, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    if (ropePlanRelative(&d, &limits, &plan) != ROPE_SUCCESS) return testing::AssertionFailure() << plan.reason.text;
    gpu::Slots slots;
    std::vector<uint8_t> positions = rotation::makePositions(relative.d, &random);
    if (!given.empty()) {
        positions.resize(given.size() * sizeof given[0]);
        std::memcpy(positions.data(), given.data(), positions.size());
    }
    slots.bytes[ROPE_SLOT_POSITIONS] = positions;
    slots.bytes[ROPE_SLOT_POSITIONS].resize(plan.bytes[ROPE_SLOT_POSITIONS]);
    const RopeRelativeDescription& g = relative.filled;
    slots.bytes[ROPE_SLOT_ROWS] = sample::tensor(g.rows.element, plan.bytes[ROPE_SLOT_ROWS], random.next());
    slots.bytes[ROPE_SLOT_Q] = sample::tensor(g.element_q, plan.bytes[ROPE_SLOT_Q], random.next());
    slots.bytes[ROPE_SLOT_X] = sample::tensor(g.element_x, plan.bytes[ROPE_SLOT_X], random.next());
    gpu::Slots after = slots;
    const testing::AssertionResult ran = gpu::run(device, plan, &after);
    if (!ran) return ran;
    std::vector<uint8_t> wanted = slots.bytes[ROPE_SLOT_X];
    std::vector<float> values(wanted.size() / ropeElementBytes(g.element_x));
    ropeConvertElements(wanted.data(), g.element_x, values.data(), ROPE_ELEMENT_F32, values.size());
    std::vector<double> reference(values.begin(), values.end()); // what lies between rows
    RopeHostRelative host = {positions.data(),
                             slots.bytes[ROPE_SLOT_ROWS].data(),
                             slots.bytes[ROPE_SLOT_Q].data(),
                             slots.bytes[ROPE_SLOT_X].data(),
                             reference.data(),
                             wanted.data()};
    if (ropeHostRunRelative(&d, &host, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    const std::string difference = rotation::firstDifference(after.bytes[ROPE_SLOT_X], wanted);
    if (!difference.empty()) return testing::AssertionFailure() << difference;
    ropeConvertElements(wanted.data(), g.element_x, values.data(), ROPE_ELEMENT_F32, values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        if (!(std::fabs(values[i] - reference[i]) <= allowed(g, g.element_x)))
            return testing::AssertionFailure() << i << " is " << values[i] << ", not " << reference[i];
    }
    return testing::AssertionSuccess();
}

class Relative : public gpu::OnDevice {
  protected:
    // A GPU's way to cut queries into groups, whatever the device is.
    RopeLimits gpuLimits() {
        RopeLimits limits = device().limits();
        limits.threads = 16384;
        return limits;
    }
};

constexpr RopeRelativeSide kSides[] = {ROPE_RELATIVE_KEYS, ROPE_RELATIVE_VALUES};

RopeRelativeDescription describe(RopeRelativeSide side, uint32_t queries, uint32_t keys, uint32_t dim, int32_t least,
                                 int32_t most) {
    RopeRelativeDescription d = {};
    d.side = side;
    d.heads = 2;
    d.queries = queries;
    d.keys = keys;
    d.dim = dim;
    d.least = least;
    d.most = most;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    return d;
}

TEST_P(Relative, HasTheCpusBitsOverAllItsChoices) {
    for (const uint64_t seed : share(combinations::draws(240, strength() - 1, choicesOf))) {
        const RopeLimits limits = seed % 2 == 0 ? device().limits() : gpuLimits();
        ASSERT_TRUE(check(&device(), draw(seed), seed, limits)) << "draw " << seed;
    }
}

// The edges are those of queries (8 and 16 in a group), of keys (512 or 1024 scores and 128 weights in a tile) and of
// elements (64 in a tile, 128 of an output in a group).
TEST_P(Relative, EdgesOfTilesHaveTheCpusBits) {
    const struct {
        uint32_t dim;
        int32_t least, most;
        RopeElement element;
    } shapes[] = {{64, -16, 16, ROPE_ELEMENT_F32}, {64, -16, 16, ROPE_ELEMENT_F16}, {1, 0, 0, ROPE_ELEMENT_F32},
                  {66, -3, 90, ROPE_ELEMENT_BF16}, {131, 2, 3, ROPE_ELEMENT_F32},   {600, -40, -1, ROPE_ELEMENT_F32}};
    const uint32_t counts[][2] = {{1, 1},    {1, 2},    {2, 1025},  {7, 511},  {8, 512},  {9, 513},
                                  {15, 127}, {16, 128}, {17, 1024}, {18, 516}, {33, 130}, {3, 1540}};
    uint64_t seed = 1;
    for (const auto& shape : shapes) {
        for (const auto& count : counts) {
            for (const RopeRelativeSide side : kSides) {
                const bool halves = shape.element != ROPE_ELEMENT_F32;
                const uint32_t keys = halves ? count[1] + count[1] % 2 : count[1];
                if (shape.dim > 100 && keys > 600) continue; // a CPU's time
                RopeRelativeDescription d = describe(side, count[0], keys, shape.dim, shape.least, shape.most);
                d.element_q = d.element_x = d.rows.element = shape.element;
                d.positions.first = static_cast<int32_t>(keys / 2);
                ASSERT_TRUE(check(&device(), d, ++seed, gpuLimits()))
                    << side << ", queries " << count[0] << ", keys " << keys << ", dim " << shape.dim;
            }
        }
    }
}

// Rows that shared memory cannot hold, positions that jump, are none, or lie so far apart that distances wrap around.
TEST_P(Relative, ManyRowsAndAnyPositionsHaveTheCpusBits) {
    const int64_t none = int64_t{1} << 40, far = INT32_MAX;
    const std::vector<int64_t> positions[] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19},
        {5, 6, 7, none, 8, 9, none, none, none, none, none, none, none, none, none, none, 80, 81, 82, 83},
        {0, 500, 1000, -7, 3, 3, 2, 1, 0, -1, -2, 12, 400, none, 13, 14, -15, 16, 17, 90000},
        {far, -far - 1, far - 1,  far - 50, 150 - far, 100 - far, -far,     0,        1,        far - 3,
         7,   far / 2,  -far / 2, none,     far,       60 - far,  70 - far, 80 - far, 90 - far, 99 - far},
        std::vector<int64_t>(20, none)};
    for (const int32_t clip : {3, 150}) {
        for (const RopeRelativeSide side : kSides) {
            RopeRelativeDescription d = describe(side, 20, 203, 20, -clip, clip);
            d.positions.kind = ROPE_POSITIONS_PER_TOKEN;
            d.positions.element = ROPE_POSITION_INT64;
            RopeLimits limits = gpuLimits();
            limits.shared_bytes = 6000;
            RopePlan plan;
            ASSERT_EQ(ropePlanRelative(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
            EXPECT_EQ(rope::passAt(plan, 0).constants[ROPE_ID_ALL_ROWS], side == ROPE_RELATIVE_KEYS && clip == 3);
            for (const int32_t first_key : {0, 100, 2000000000, INT32_MIN}) {
                d.first_key = first_key;
                for (size_t i = 0; i < std::size(positions); ++i)
                    ASSERT_TRUE(check(&device(), d, i + 1, limits, positions[i]))
                        << side << ", clip " << clip << ", first key " << first_key << ", positions " << i;
            }
        }
    }
}

TEST_P(Relative, SmallGroupsAndLittleSharedMemoryHaveTheCpusBits) {
    const uint32_t limited[][2] = {{1, 16384}, {5, 1024}, {33, 2048}, {128, 1000}, {128, 3000}};
    for (const auto& l : limited) {
        for (const RopeRelativeSide side : kSides) {
            for (const uint32_t threads : {64u, 16384u}) {
                RopeLimits limits = device().limits();
                limits.threads = threads;
                limits.group_size = l[0];
                limits.shared_bytes = l[1];
                const RopeRelativeDescription d = describe(side, 11, 75, 70, -9, 9);
                RopePlan plan;
                ASSERT_EQ(ropePlanRelative(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
                EXPECT_LE(plan.passes[0].group_size, l[0]);
                EXPECT_TRUE(check(&device(), d, l[0], limits)) << side << ", threads " << l[0] << ", bytes " << l[1];
            }
        }
    }
}

// More tiles than groups: each group takes several.
TEST_P(Relative, ManyKeysHaveTheCpusBits) {
    RopeRelativeDescription d = describe(ROPE_RELATIVE_KEYS, 2, 20003, 4, -2, 2);
    d.positions.first = 10000;
    RopeLimits limits = gpuLimits();
    limits.group_size = 1; // of 16 keys
    RopePlan plan;
    ASSERT_EQ(ropePlanRelative(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(rope::passAt(plan, 0).lane_parts, 1024u);
    EXPECT_TRUE(check(&device(), d, 1, limits));
}

TEST_P(Relative, IsSplitIntoPartsOfTheSameBits) {
    for (const RopeRelativeSide side : kSides) {
        RopeRelativeDescription d = {};
        d.side = side;
        d.batch = 2;
        d.heads = 3;
        d.queries = 50;
        d.keys = 64;
        d.dim = 16;
        d.least = -4;
        d.most = 4;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        RopeLimits limits = device().limits();
        limits.storage_range = 4000;
        RopePlan plan;
        ASSERT_EQ(ropePlanRelative(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_GT(ropeDispatchCount(&plan), 10u);
        EXPECT_TRUE(check(&device(), d, 3, limits));
    }
}

// The formulas, written out for small whole numbers, which float32 holds exactly.
struct Small {
    static constexpr int kQueries = 4, kKeys = 6, kDim = 3, kClip = 2;
    std::vector<float> rows, q, weights, scores, output;
    Small() {
        for (int i = 0; i < (2 * kClip + 1) * kDim; ++i) rows.push_back(static_cast<float>(i * 7 % 11 - 5));
        for (int i = 0; i < kQueries * kDim; ++i) q.push_back(static_cast<float>(i * 5 % 7 - 3));
        for (int i = 0; i < kQueries * kKeys; ++i) weights.push_back(static_cast<float>(i * 3 % 5));
        for (int i = 0; i < kQueries * kKeys; ++i) scores.push_back(static_cast<float>(i));
        for (int i = 0; i < kQueries * kDim; ++i) output.push_back(static_cast<float>(100 + i));
    }
    const float* row(int i, int j) const {
        return rows.data() + (std::max(-kClip, std::min(kClip, j - i)) + kClip) * kDim;
    }
    RopeRelativeDescription describe(RopeRelativeSide side) const {
        RopeRelativeDescription d = {};
        d.side = side;
        d.heads = 1;
        d.queries = kQueries;
        d.keys = kKeys;
        d.dim = kDim;
        d.least = -kClip;
        d.most = kClip;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        return d;
    }
};

std::vector<float> runSmall(rope::Device* device, const Small& s, RopeRelativeSide side) {
    const bool keys = side == ROPE_RELATIVE_KEYS;
    const RopeRelativeDescription d = s.describe(side);
    RopePlan plan;
    EXPECT_EQ(ropePlanRelative(&d, &device->limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots slots;
    slots.set(ROPE_SLOT_ROWS, s.rows);
    slots.set(ROPE_SLOT_Q, keys ? s.q : s.weights);
    slots.set(ROPE_SLOT_X, keys ? s.scores : s.output);
    EXPECT_TRUE(gpu::run(device, plan, &slots));
    return slots.get<float>(ROPE_SLOT_X);
}

TEST_P(Relative, AreTheFormulas) {
    const Small s;
    const std::vector<float> scores = runSmall(&device(), s, ROPE_RELATIVE_KEYS);
    const std::vector<float> output = runSmall(&device(), s, ROPE_RELATIVE_VALUES);
    for (int i = 0; i < Small::kQueries; ++i) {
        for (int j = 0; j < Small::kKeys; ++j) {
            float wanted = s.scores[i * Small::kKeys + j];
            for (int e = 0; e < Small::kDim; ++e) wanted += s.q[i * Small::kDim + e] * s.row(i, j)[e];
            EXPECT_EQ(scores[i * Small::kKeys + j], wanted) << i << ", " << j;
        }
        for (int e = 0; e < Small::kDim; ++e) {
            float wanted = s.output[i * Small::kDim + e];
            for (int j = 0; j < Small::kKeys; ++j) wanted += s.weights[i * Small::kKeys + j] * s.row(i, j)[e];
            EXPECT_EQ(output[i * Small::kDim + e], wanted) << i << ", " << e;
        }
    }
}

ROPE_ON_EVERY_DEVICE(Relative);

// ---- Plans: no device ---------------------------------------------------------------------------------------------

void expectRefused(RopeResult wanted, const std::string& piece,
                   const std::function<void(RopeRelativeDescription*)>& spoil) {
    RopeRelativeDescription d = Small().describe(ROPE_RELATIVE_KEYS);
    spoil(&d);
    RopePlan plan;
    EXPECT_EQ(ropePlanRelative(&d, nullptr, &plan), wanted) << piece;
    EXPECT_NE(std::string(plan.reason.text).find(piece), std::string::npos) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 0u);
}

TEST(PlanRelative, RefusesWhatContradictsItself) {
    const RopeResult invalid = ROPE_ERROR_INVALID;
    expectRefused(invalid, "side is 2", [](RopeRelativeDescription* d) { d->side = static_cast<RopeRelativeSide>(2); });
    expectRefused(invalid, "heads is 0", [](RopeRelativeDescription* d) { d->heads = 0; });
    expectRefused(invalid, "dim is 0", [](RopeRelativeDescription* d) { d->dim = 0; });
    expectRefused(invalid, "keys is 0", [](RopeRelativeDescription* d) { d->keys = 0; });
    expectRefused(invalid, "least is 3 and most is 2", [](RopeRelativeDescription* d) { d->least = 3; });
    expectRefused(invalid, "scale is -2", [](RopeRelativeDescription* d) { d->scale = -2; });
    expectRefused(invalid, "element_x is 4", [](RopeRelativeDescription* d) { d->element_x = ROPE_ELEMENT_I8; });
    expectRefused(invalid, "positions of kind 4",
                  [](RopeRelativeDescription* d) { d->positions.kind = ROPE_POSITIONS_PACKED_STARTS; });
    expectRefused(invalid, "q has 16-bit elements at an odd offset",
                  [](RopeRelativeDescription* d) { d->element_q = ROPE_ELEMENT_F16; });
    expectRefused(invalid, "x has 16-bit elements at an odd offset", [](RopeRelativeDescription* d) {
        d->element_x = ROPE_ELEMENT_BF16;
        d->x = {1, 0, 6, 0};
    });
    expectRefused(invalid, "x.token_stride is 5", [](RopeRelativeDescription* d) { d->x = {0, 0, 5, 0}; });
}

TEST(PlanRelative, RefusesSharedMemoryThatHoldsNoTile) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.shared_bytes = 20;
    for (const RopeRelativeSide side : kSides) {
        const RopeRelativeDescription d = describe(side, 4, 6, 3, -2, 2);
        RopePlan plan;
        EXPECT_EQ(ropePlanRelative(&d, &limits, &plan), ROPE_ERROR_TOO_LARGE);
        EXPECT_NE(std::string(plan.reason.text).find("limits.shared_bytes is 20; relative vectors take "),
                  std::string::npos)
            << plan.reason.text;
    }
}

// Models decode with more keys at each step.
TEST(PlanRelative, TakesOnePipelineForAllCountsOfQueriesAndKeys) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    for (const RopeRelativeSide side : kSides) {
        for (const uint32_t threads : {64u, 16384u}) {
            limits.threads = threads;
            RopePlan first;
            RopeRelativeDescription d = describe(side, 1, 1, 64, -16, 16);
            ASSERT_EQ(ropePlanRelative(&d, &limits, &first), ROPE_SUCCESS);
            for (const uint32_t queries : {1u, 2u, 16u, 1000u}) {
                for (const uint32_t keys : {1u, 2u, 4u, 500u, 1023u, 1024u, 5000u}) {
                    d.queries = queries;
                    d.keys = keys;
                    RopePlan plan;
                    ASSERT_EQ(ropePlanRelative(&d, &limits, &plan), ROPE_SUCCESS);
                    ASSERT_EQ(plan.pass_count, 1u);
                    EXPECT_EQ(plan.passes[0].shader, first.passes[0].shader);
                    EXPECT_EQ(std::memcmp(rope::passAt(plan, 0).constants, rope::passAt(first, 0).constants,
                                          sizeof rope::passAt(first, 0).constants),
                              0)
                        << side << ", queries " << queries << ", keys " << keys;
                }
            }
        }
    }
}

TEST(PlanRelative, CutsAGpusQueriesIntoGroups) {
    const struct {
        RopeRelativeSide side;
        RopeElement element;
        uint32_t queries, keys, dim, group[3], groups[3];
    } cases[] = {{ROPE_RELATIVE_KEYS, ROPE_ELEMENT_F32, 1024, 1024, 64, {32, 1, 8}, {128, 1, 32}},
                 {ROPE_RELATIVE_KEYS, ROPE_ELEMENT_BF16, 1024, 1024, 64, {32, 1, 8}, {128, 1, 16}},
                 {ROPE_RELATIVE_KEYS, ROPE_ELEMENT_F32, 1, 2049, 64, {32, 1, 8}, {1, 1, 80}},
                 {ROPE_RELATIVE_VALUES, ROPE_ELEMENT_F32, 1024, 1024, 64, {16, 1, 16}, {64, 1, 16}},
                 {ROPE_RELATIVE_VALUES, ROPE_ELEMENT_F16, 17, 1024, 32, {8, 1, 16}, {2, 1, 16}},
                 {ROPE_RELATIVE_VALUES, ROPE_ELEMENT_F32, 1, 1024, 516, {16, 1, 16}, {1, 1, 32}}};
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.group_size = 256;
    for (const auto& c : cases) {
        RopeRelativeDescription d = describe(c.side, c.queries, c.keys, c.dim, -16, 16);
        d.heads = 16;
        d.element_q = d.element_x = c.element;
        RopePlan plan;
        ASSERT_EQ(ropePlanRelative(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(ropeDispatchCount(&plan), 1u);
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, 0, &dispatch);
        EXPECT_TRUE(std::equal(c.group, c.group + 3, rope::passAt(plan, 0).group)) << c.side << ", dim " << c.dim;
        EXPECT_TRUE(std::equal(c.groups, c.groups + 3, dispatch.groups)) << c.side << ", dim " << c.dim;
    }
}

// The groups of a dispatch take every key, or every element, of every query, and none is needless.
void checkGroups(const RopeDispatch& dispatch, const rope::RopeRelativePush& push, RopeRelativeSide side,
                 const RopeLimits& limits) {
    const uint64_t lanes = dispatch.constants[ROPE_ID_GROUP_SIZE], queries = dispatch.constants[ROPE_ID_GROUP_TOKENS];
    const uint64_t held = dispatch.constants[ROPE_ID_HELD], dim = dispatch.constants[ROPE_ID_DIM];
    const uint64_t stride = dispatch.constants[ROPE_ID_TILE_QUADS] | 1;
    ASSERT_LE(lanes * queries, limits.group_size);
    ASSERT_LE(queries, 64u) << "what every device has in z";
    ASSERT_EQ(dispatch.groups[0], (push.tokens + queries - 1) / queries);
    uint64_t shared = 0, parts = 0;
    if (side == ROPE_RELATIVE_KEYS) {
        const uint64_t run = dispatch.constants[ROPE_ID_ELEMENT_OUT] == ROPE_F32 ? 4 : 8,
                       tile = lanes * held * push.key_rounds * run;
        const uint64_t slots = dispatch.constants[ROPE_ID_ROW_SLOTS], even = queries + queries % 2;
        const uint64_t rows = uint64_t{static_cast<uint32_t>(push.most - push.least)} + 1;
        ASSERT_EQ(dispatch.constants[ROPE_ID_ALL_ROWS], slots == rows);
        ASSERT_TRUE(slots == rows || slots == tile + queries - 1);
        shared = (slots + even) * stride * 16 + even * slots * 4 + queries * 8;
        parts = std::min<uint64_t>((push.keys + tile - 1) / tile, 1024);
        ASSERT_EQ(push.key_parts, parts);
    } else {
        const uint64_t elements = 4 * lanes * dispatch.constants[ROPE_ID_ITEMS];
        parts = dispatch.constants[ROPE_ID_DIM_PARTS];
        ASSERT_GE(held * lanes, dispatch.constants[ROPE_ID_TILE_QUADS]);
        ASSERT_TRUE(parts * elements >= dim && (parts - 1) * elements < dim);
        shared = queries * (stride * 16 + 12);
    }
    ASSERT_LE(shared, limits.shared_bytes);
    ASSERT_EQ(dispatch.groups[2], push.heads * parts);
    ASSERT_LE(dispatch.groups[2], 65535u);
}

// Any description is refused or stays inside the sizes that it asks for, and takes every query of every head once.
TEST(PlanRelative, OfAnyDescriptionStaysInsideItsSlots) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    uint32_t planned = 0;
    for (uint64_t seed = 0; seed < 3000; ++seed) {
        RopeRelativeDescription d = draw(seed);
        Random random(seed);
        if (seed % 2 == 0) {
            d.queries *= 1u << random.below(12);
            d.x = {};
            limits.storage_range = 1u << (13 + random.below(14));
        }
        limits.group_size = 1 + random.below(seed % 3 == 0 ? 20 : 1000);
        limits.shared_bytes = 1024u << random.below(6);
        limits.threads = random.below(2) == 0 ? 64 : 16384;
        d.most += seed % 5 == 0 ? 1000 : 0;
        RopePlan plan;
        rope::ResolvedRelative r;
        if (ropePlanRelative(&d, &limits, &plan) != ROPE_SUCCESS) continue;
        ASSERT_EQ(rope::resolveRelative(d, &r, nullptr), ROPE_SUCCESS);
        ++planned;
        uint64_t taken = 0;
        const uint32_t count = ropeDispatchCount(&plan);
        for (uint32_t i = 0; i < count && i < 3000; ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, i, &dispatch);
            rope::RopeRelativePush push;
            std::memcpy(&push, dispatch.push, sizeof push);
            rope::RopePush common;
            std::memcpy(&common, dispatch.push, sizeof common);
            const reach::Last last = {dispatch.groups[1] - 1ull, push.tokens - 1ull, push.heads - 1ull};
            reach::checkPositions(dispatch, common, last);
            reach::touched(dispatch.bindings[ROPE_BINDING_SOURCE], push.source, last, push.source.head, r.q_count,
                           r.filled.element_q);
            reach::touched(dispatch.bindings[ROPE_BINDING_DESTINATION], push.destination, last, push.destination.head,
                           r.x_count, r.filled.element_x);
            const uint64_t value =
                push.rows.offset + last.head * push.rows.head + (r.row_count - 1ull) * push.row_stride + d.dim - 1;
            ASSERT_LE((value + 1) * ropeElementBytes(r.filled.rows.element),
                      dispatch.bindings[ROPE_BINDING_COS_SIN].range);
            checkGroups(dispatch, push, d.side, limits);
            taken += uint64_t{dispatch.groups[1]} * push.tokens * push.heads;
        }
        if (count <= 3000) {
            EXPECT_EQ(taken, uint64_t{d.batch} * d.queries * d.heads) << seed;
        }
    }
    EXPECT_GT(planned, 1500u);
}

} // namespace
