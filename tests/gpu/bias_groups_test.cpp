// Biases in groups: partly empty, of queries whose positions follow each other and of others. The expected values are
// written out of the rows alone.
#include "support/buckets.hpp"
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include "plan/pass.h"
#include "shaders/interface.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

using Positions = std::vector<int64_t>;

constexpr int64_t kUnknown = 1ll << 40;
constexpr uint32_t kHeads = 2;

// A GPU's way to cut scores, whatever the device is.
RopeLimits gpuLimits(RopeLimits limits) {
    limits.threads = 16384;
    return limits;
}

class BiasGroups : public gpu::OnDevice {
  protected:
    // Runs the bias over scores that are small whole numbers, and compares each of them.
    void expectFormula(const RopeBiasDescription& d, const Positions& positions, const RopeLimits& limits);
};

RopeBiasDescription describe(RopeBiasKind kind, uint32_t queries, uint32_t keys) {
    RopeBiasDescription d = {};
    d.kind = kind;
    d.heads = kHeads;
    d.queries = queries;
    d.keys = keys;
    d.bidirectional = 1;
    d.least = -20;
    d.most = 11;
    d.positions.element = ROPE_POSITION_INT64;
    return d;
}

uint32_t rowCount(const RopeBiasDescription& d) {
    return d.kind == ROPE_BIAS_ALIBI ? 1 : 32; // T5's default; -20 to 11
}

// Row values, [rows][heads], and ALiBi's slopes: powers of two, so that a product is rounded once.
std::vector<float> makeRows(const RopeBiasDescription& d) {
    if (d.kind == ROPE_BIAS_ALIBI) return {0.5f, 0.25f};
    std::vector<float> rows(rowCount(d) * kHeads);
    for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(3 * i + 1);
    return rows;
}

uint32_t rowOf(const RopeBiasDescription& d, int32_t distance) {
    if (d.kind == ROPE_BIAS_CLIPPED) {
        const int64_t behind = static_cast<int32_t>(0u - static_cast<uint32_t>(distance)); // as 32 bits count it
        return static_cast<uint32_t>(std::min<int64_t>(std::max<int64_t>(behind, d.least), d.most) - d.least);
    }
    static const std::vector<uint32_t> kExact = buckets::exactBuckets({32, 128, 1});
    const uint32_t magnitude = distance < 0 ? 0u - static_cast<uint32_t>(distance) : static_cast<uint32_t>(distance);
    return kExact[std::min(magnitude, buckets::kFar)] + (distance > 0 ? 16 : 0);
}

float valueOf(const RopeBiasDescription& d, const std::vector<float>& rows, int32_t distance, uint32_t head) {
    if (d.kind != ROPE_BIAS_ALIBI) return rows[rowOf(d, distance) * kHeads + head];
    return static_cast<float>(-std::fabs(static_cast<double>(distance)) * rows[head]);
}

void BiasGroups::expectFormula(const RopeBiasDescription& d, const Positions& positions, const RopeLimits& limits) {
    RopePlan plan;
    if (ropePlanBias(&d, &limits, &plan) != ROPE_SUCCESS) {
        ASSERT_NE(std::strstr(plan.reason.text, "odd offset"), nullptr) << plan.reason.text;
        return;
    }
    const RopeElement element = d.element != ROPE_ELEMENT_DEFAULT ? d.element : ROPE_ELEMENT_F32;
    const std::vector<float> rows = makeRows(d);
    std::vector<float> scores(size_t{kHeads} * d.queries * d.keys), wanted = scores;
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i * 7 % 101);
    for (size_t i = 0; i < scores.size(); ++i) {
        const int64_t position = positions[i / d.keys % d.queries];
        const bool known = position == static_cast<int32_t>(position);
        const uint32_t key = static_cast<uint32_t>(d.first_key) + static_cast<uint32_t>(i % d.keys);
        const int32_t distance = static_cast<int32_t>(key - static_cast<uint32_t>(position));
        const float value = valueOf(d, rows, distance, static_cast<uint32_t>(i / d.keys / d.queries));
        const float biased = d.causal != 0 && distance > 0 ? -HUGE_VALF : (d.write_only != 0 ? 0 : scores[i]) + value;
        wanted[i] = known ? biased : d.write_only != 0 ? 0 : scores[i];
    }
    gpu::Slots slots;
    slots.set(ROPE_SLOT_ROWS, rows);
    slots.set(ROPE_SLOT_POSITIONS, positions);
    slots.bytes[ROPE_SLOT_X].resize((scores.size() * ropeElementBytes(element) + 3) / 4 * 4);
    ropeConvertElements(scores.data(), ROPE_ELEMENT_F32, slots.bytes[ROPE_SLOT_X].data(), element, scores.size());
    if (d.kind == ROPE_BIAS_T5) {
        slots.bytes[ROPE_SLOT_PARAMETERS].resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
        ASSERT_EQ(ropeWriteBuckets(&d, slots.bytes[ROPE_SLOT_PARAMETERS].data(), nullptr), ROPE_SUCCESS);
    }
    ASSERT_TRUE(gpu::run(&device(), plan, &slots));
    std::vector<float> got(scores.size());
    ropeConvertElements(slots.bytes[ROPE_SLOT_X].data(), element, got.data(), ROPE_ELEMENT_F32, got.size());
    for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i], wanted[i]) << "key " << i % d.keys << ", query " << i / d.keys % d.queries << ", head "
                                     << i / d.keys / d.queries;
    }
}

Positions following(uint32_t queries, int64_t first) {
    Positions positions(queries);
    for (uint32_t i = 0; i < queries; ++i) positions[i] = first + i;
    return positions;
}

constexpr RopeBiasKind kKinds[] = {ROPE_BIAS_T5, ROPE_BIAS_CLIPPED, ROPE_BIAS_ALIBI};

// A group of 256 threads has 64 runs and 16 queries; or fewer runs and more queries, or more runs and fewer queries.
TEST_P(BiasGroups, HaveTheirEdgesAnywhere) {
    for (const RopeBiasKind kind : kKinds) {
        for (const uint32_t keys : {1u, 3u, 4u, 7u, 8u, 254u, 256u, 257u, 520u, 1030u}) {
            for (const uint32_t queries : {1u, 4u, 5u, 16u, 17u, 65u}) {
                RopeBiasDescription d = describe(kind, queries, keys);
                d.write_only = queries % 2;
                d.causal = keys % 2;
                const Positions positions = following(queries, keys > 100 ? 60 : -5);
                expectFormula(d, positions, gpuLimits(device().limits()));
                d.element = kind == ROPE_BIAS_ALIBI ? ROPE_ELEMENT_F32 : ROPE_ELEMENT_F16;
                expectFormula(d, positions, gpuLimits(device().limits()));
                if (HasFatalFailure()) FAIL() << "kind " << kind << ", " << keys << " keys, " << queries << " queries";
            }
        }
    }
}

// Among the first positions some have all kinds of distances at each end of a group.
TEST_P(BiasGroups, TakeQueriesWhoseCountedPositionsSlide) {
    for (const RopeBiasKind kind : kKinds) {
        for (const uint32_t keys : {6u, 300u}) {
            for (const int32_t first : {-40, -3, 100, 235, 260, 300}) {
                RopeBiasDescription d = describe(kind, 37, keys);
                d.first_key = -9;
                d.positions = {};
                d.positions.kind = ROPE_POSITIONS_COUNTED;
                d.positions.first = first;
                expectFormula(d, following(37, first), gpuLimits(device().limits()));
                expectFormula(d, following(37, first), device().limits());
                if (HasFatalFailure()) FAIL() << "kind " << kind << ", " << keys << " keys from " << first;
            }
        }
    }
}

// Positions that leave a group's distances: unknown, ahead, behind, equal, and so far off that distances wrap around.
TEST_P(BiasGroups, HaveTheRightValuesAtPositionsThatDoNotFollow) {
    const struct {
        const char* name;
        int64_t first;
        Positions changed; // from query 6 on
    } cases[] = {{"unknown", 10, {kUnknown, kUnknown + 1}},
                 {"the first is unknown", kUnknown - 6, {12, 13, 14}},
                 {"jumps", 10, {500, 501, 17, 18, 900}},
                 {"goes back", 40, {39, 38, 37, 36, 35, 34, 3, 2, 1}},
                 {"stays", 40, {46, 46, 46, 46, 46}},
                 {"is negative", -300, {-7, -800}},
                 {"is huge", 10, {INT32_MAX, INT32_MAX - 2, INT32_MIN, INT32_MIN + 3, INT32_MIN + 140}},
                 {"wraps around", INT32_MAX - 6ll, {INT32_MAX, INT32_MIN, INT32_MIN + 1}}};
    for (const auto& c : cases) {
        for (const RopeBiasKind kind : kKinds) {
            for (uint32_t choice = 0; choice < 4; ++choice) {
                const uint32_t keys = choice % 2 != 0 ? 37 : 264;
                RopeBiasDescription d = describe(kind, 21, keys);
                d.write_only = choice / 2;
                d.causal = choice == 2;
                d.first_key = c.first == INT32_MAX - 6ll ? INT32_MAX - 20 : 0;
                Positions positions = following(21, c.first);
                std::copy(c.changed.begin(), c.changed.end(), positions.begin() + 6);
                if (c.first > INT32_MAX - 100ll && c.first < kUnknown - 100)
                    std::fill(positions.begin() + 9, positions.end(), 5);
                expectFormula(d, positions, gpuLimits(device().limits()));
                expectFormula(d, positions, device().limits());
                if (HasFatalFailure()) FAIL() << c.name << ", kind " << kind << ", choice " << choice;
            }
        }
    }
}

ROPE_ON_EVERY_DEVICE(BiasGroups);

// ---- Plans: no device
// ------------------------------------------------------------------------------------------------

TEST(PlanBiasGroups, HaveOnePipelineForAllKeysAndQueries) {
    for (const uint32_t threads : {64u, 16384u}) {
        for (const RopeBiasKind kind : kKinds) {
            RopeLimits limits;
            ropeMinimumLimits(&limits);
            limits.threads = threads;
            limits.group_size = 256;
            RopePlan first;
            RopeBiasDescription d = describe(kind, 1, 8);
            ASSERT_EQ(ropePlanBias(&d, &limits, &first), ROPE_SUCCESS);
            for (const uint32_t keys : {8u, 64u, 512u, 2048u, 100000u}) {
                for (const uint32_t queries : {1u, 2u, 7u, 64u, 2048u}) {
                    d = describe(kind, queries, keys);
                    RopePlan plan;
                    ASSERT_EQ(ropePlanBias(&d, &limits, &plan), ROPE_SUCCESS);
                    EXPECT_TRUE(rope::haveSamePipelines(first, plan)) << keys << " keys, " << queries << " queries";
                }
            }
        }
    }
}

// On a GPU 256 threads take four queries each, and all threads have work where there is enough.
TEST(PlanBiasGroups, AreDividedBetweenKeysAndQueries) {
    const struct {
        uint32_t queries, keys, lanes, groups[3];
    } cases[] = {{2048, 2048, 64, {128, 1, 8 * kHeads}},
                 {1, 2048, 256, {1, 1, 2 * kHeads}},
                 {8, 2048, 128, {1, 1, 4 * kHeads}},
                 {9, 2048, 64, {1, 1, 8 * kHeads}},
                 {2048, 64, 16, {32, 1, kHeads}},
                 {2048, 4, 1, {2, 1, kHeads}},
                 {1, 64, 16, {1, 1, kHeads}}};
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.group_size = 256;
    for (const auto& c : cases) {
        const RopeBiasDescription d = describe(ROPE_BIAS_CLIPPED, c.queries, c.keys);
        RopePlan plan;
        ASSERT_EQ(ropePlanBias(&d, &limits, &plan), ROPE_SUCCESS);
        ASSERT_EQ(ropeDispatchCount(&plan), 1u);
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, 0, &dispatch);
        rope::RopeBiasPush push;
        std::memcpy(&push, dispatch.push, sizeof push);
        EXPECT_EQ(dispatch.constants[ROPE_ID_GROUP_SIZE], 256u);
        EXPECT_EQ(dispatch.constants[ROPE_ID_QUERIES], 4u);
        EXPECT_EQ(dispatch.constants[ROPE_ID_SHARES], 1u);
        EXPECT_EQ(1u << push.lane_bits, c.lanes) << c.queries << " queries, " << c.keys << " keys";
        EXPECT_TRUE(std::equal(c.groups, c.groups + 3, dispatch.groups))
            << c.queries << " queries, " << c.keys << " keys: " << dispatch.groups[0] << ", " << dispatch.groups[2];
    }
}

} // namespace
