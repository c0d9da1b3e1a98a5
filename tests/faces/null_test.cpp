// Null pointers and numbers past the end: a result where there is one, nothing where there is none.
#include "bench/cases/description.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

namespace {

RopeRotateDescription someRotation() {
    static const std::vector<double> kFrequencies = sample::frequencies(10000, 64);
    RopeRotateDescription d = {};
    d.tokens = 3;
    d.head_dim = 64;
    d.q.heads = d.k.heads = 2;
    d.rotation.frequencies = {kFrequencies.data(), 32, 1, nullptr, 1};
    return d;
}

template <typename Description>
void expectRefused(RopeResult (*plan)(const Description*, const RopeLimits*, RopePlan*)) {
    RopePlan made;
    std::memset(&made, 1, sizeof made);
    EXPECT_EQ(plan(nullptr, nullptr, &made), ROPE_ERROR_INVALID);
    EXPECT_STREQ(made.reason.text, "description is null; it must be an address");
    EXPECT_EQ(made.pass_count, 0u);
    EXPECT_EQ(ropeDispatchCount(&made), 0u);
    const Description nothing = {};
    EXPECT_EQ(plan(&nothing, nullptr, nullptr), ROPE_ERROR_INVALID);
}

TEST(Null, PlansAreRefused) {
    expectRefused(ropePlanTable);
    expectRefused(ropePlanFactors);
    expectRefused(ropePlanRotate);
    expectRefused(ropePlanFused);
    expectRefused(ropePlanAdd);
    expectRefused(ropePlanBias);
    expectRefused(ropePlanRelative);
    EXPECT_EQ(ropePlanSelfTest(nullptr, nullptr), ROPE_ERROR_INVALID);
    RopePlan plan;
    const RopeGgmlNode node = {};
    const RopeRotation rotation = {};
    EXPECT_EQ(ropePlanGgml(nullptr, &rotation, nullptr, &plan), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text, "node or rotation is null; it must be an address");
    EXPECT_EQ(ropePlanGgml(&node, nullptr, nullptr, &plan), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropePlanGgml(&node, &rotation, nullptr, nullptr), ROPE_ERROR_INVALID);
}

template <typename Description, typename Data>
void expectRunRefused(RopeResult (*run)(const Description*, Data*, RopeReason*)) {
    using Plain = std::remove_const_t<Data>;
    const Description description = {};
    Plain data = {};
    RopeReason reason;
    EXPECT_EQ(run(nullptr, &data, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "description or data is null; it must be an address");
    EXPECT_EQ(run(&description, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "description or data is null; it must be an address");
    EXPECT_EQ(run(nullptr, nullptr, nullptr), ROPE_ERROR_INVALID);
}

TEST(Null, RunsOnTheCpuAreRefused) {
    expectRunRefused(ropeHostRunTable);
    expectRunRefused(ropeHostRunRotate);
    expectRunRefused(ropeHostRunFused);
    expectRunRefused(ropeHostRunAdd);
    expectRunRefused(ropeHostRunBias);
    expectRunRefused(ropeHostRunRelative);
}

TEST(Null, ArraysOfBiasesAndRelativeVectorsAreRefused) {
    float row[64] = {}, x[64] = {};
    RopeReason reason;
    RopeBiasDescription bias = {};
    bias.kind = ROPE_BIAS_ALIBI;
    bias.heads = bias.queries = bias.keys = 4;
    bias.positions.kind = ROPE_POSITIONS_COUNTED;
    EXPECT_EQ(ropeWriteBuckets(&bias, row, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "kind is 2; only T5 has buckets");
    RopeHostBias scores = {nullptr, nullptr, x, nullptr, x};
    EXPECT_EQ(ropeHostRunBias(&bias, &scores, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "rows is null; it must be the values given");
    scores = {nullptr, row, nullptr, nullptr, x};
    EXPECT_EQ(ropeHostRunBias(&bias, &scores, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "x is null; it must be the scores");
    bias.write_only = 1;
    EXPECT_EQ(ropeHostRunBias(&bias, &scores, &reason), ROPE_SUCCESS) << reason.text;
    RopeRelativeDescription relative = {};
    relative.heads = relative.queries = relative.keys = relative.dim = 2;
    relative.positions.kind = ROPE_POSITIONS_COUNTED;
    RopeHostRelative vectors = {nullptr, row, nullptr, x, nullptr, x};
    EXPECT_EQ(ropeHostRunRelative(&relative, &vectors, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "rows, q or x is null; each must be an array");
}

TEST(Null, WritersAreRefused) {
    RopeReason reason;
    const uint32_t sections[] = {16};
    uint8_t axes[16];
    EXPECT_EQ(ropeSetAxes(ROPE_AXES_CONTIGUOUS, nullptr, 1, 16, axes, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "sections or axes is null; it must be an address");
    EXPECT_EQ(ropeSetAxes(ROPE_AXES_CONTIGUOUS, sections, 1, 16, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropePairPermutation(64, 0, 64, ROPE_PAIRING_HALF, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "permutation is null; it must be an address");
    char bytes[8192];
    RopeBiasDescription bias = {};
    EXPECT_EQ(ropeWriteBuckets(nullptr, bytes, &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeWriteBuckets(&bias, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "description or destination is null; it must be an address");
    EXPECT_EQ(ropeWriteParameters(nullptr, bytes, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "description is null; it must be an address");
    const float weights[64] = {};
    RopeFusedDescription fused = {};
    measure::setRotation(someRotation(), &fused);
    EXPECT_EQ(ropeWriteParameters(&fused, nullptr, &reason), ROPE_SUCCESS) << "which are none: " << reason.text;
    fused.q.norm.kind = ROPE_NORM_RMS;
    fused.q.norm.weights = weights;
    EXPECT_EQ(ropeWriteParameters(&fused, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "destination is null; it must be an address");
    double scale;
    EXPECT_EQ(ropeMakeFrequencies(nullptr, &scale, &scale, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeWriteFrequencies(nullptr, ROPE_ANGLE_EXACT, bytes, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeMakeAlibiSlopes(8, nullptr, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeMakeQueryScale(1, 8, nullptr, nullptr), ROPE_ERROR_INVALID);
    const float factors[4] = {1, 1, 1, 1};
    EXPECT_EQ(ropeDivideFrequencies(nullptr, factors, 1, ROPE_ANGLE_EXACT, bytes, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeDivideFrequencies(bytes, nullptr, 1, ROPE_ANGLE_EXACT, bytes, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeDivideFrequencies(bytes, factors, 1, ROPE_ANGLE_EXACT, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "words, factors or destination is null; it must be an address");
    uint32_t mantissa;
    int32_t exponent;
    EXPECT_EQ(ropeSplitScale(1, nullptr, &exponent, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeSplitScale(1, &mantissa, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "mantissa or exponent is null; it must be an address");
    const RopeGgml ggml = {};
    RopeRotation rotation;
    EXPECT_EQ(ropeReadGgml(nullptr, 64, &scale, axes, &rotation, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeReadGgml(&ggml, 64, nullptr, axes, &rotation, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeReadGgml(&ggml, 64, &scale, nullptr, &rotation, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeReadGgml(&ggml, 64, &scale, axes, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "parameters, values, axes or rotation is null; it must be an address");
}

TEST(Null, ContextsAreRefused) {
    RopeContextInfo zeros = {};
    RopeContext* context = reinterpret_cast<RopeContext*>(1);
    EXPECT_EQ(ropeCreateContext(&zeros, &context), VK_ERROR_INITIALIZATION_FAILED);
    EXPECT_EQ(context, nullptr);
    EXPECT_EQ(ropeCreateContext(nullptr, &context), VK_ERROR_INITIALIZATION_FAILED);
    EXPECT_EQ(ropeCreateContext(&zeros, nullptr), VK_ERROR_INITIALIZATION_FAILED);
    zeros.get_device_proc_addr = [](VkDevice, const char*) -> PFN_vkVoidFunction {
        ADD_FAILURE() << "asked for a function, without a device or with limits that no device has";
        return nullptr;
    };
    RopeContextInfo no_device = zeros;
    ropeMinimumLimits(&no_device.limits);
    EXPECT_EQ(ropeCreateContext(&no_device, &context), VK_ERROR_INITIALIZATION_FAILED);
    zeros.device = reinterpret_cast<VkDevice>(1);
    EXPECT_EQ(ropeCreateContext(&zeros, &context), VK_ERROR_INITIALIZATION_FAILED);
    ropeMinimumLimits(&zeros.limits);
    zeros.limits.storage_alignment = 3;
    EXPECT_EQ(ropeCreateContext(&zeros, &context), VK_ERROR_INITIALIZATION_FAILED);
    zeros.limits.storage_alignment = 256;
    zeros.limits.uniform_alignment = 3;
    EXPECT_EQ(ropeCreateContext(&zeros, &context), VK_ERROR_INITIALIZATION_FAILED);
    zeros.limits.uniform_alignment = 256;
    zeros.limits.storage_range = 0;
    EXPECT_EQ(ropeCreateContext(&zeros, &context), VK_ERROR_INITIALIZATION_FAILED);
    EXPECT_EQ(context, nullptr);
}

TEST(Null, CallsWithoutAContextAreRefused) {
    RopePlan plan;
    const RopeRotateDescription d = someRotation();
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS);
    const RopeBuffers buffers = {};
    VkDescriptorSet set;
    RopeReason reason;
    EXPECT_EQ(ropePrepare(nullptr, &plan, 1, &reason), VK_ERROR_INITIALIZATION_FAILED);
    EXPECT_STREQ(reason.text, "context or plans is null; it must be an address");
    EXPECT_EQ(ropeAllocateSets(nullptr, &plan, &buffers, VK_NULL_HANDLE, &set), VK_ERROR_INITIALIZATION_FAILED);
    EXPECT_EQ(ropeUpdateSets(nullptr, &plan, &buffers), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeCmdExecute(VK_NULL_HANDLE, nullptr, &plan, &buffers), ROPE_ERROR_INVALID);
    const VkBuffer groups = reinterpret_cast<VkBuffer>(uintptr_t{1});
    EXPECT_EQ(ropeCmdExecuteIndirect(VK_NULL_HANDLE, nullptr, &plan, &buffers, groups, 0), ROPE_ERROR_INVALID);
    ropeDestroyContext(nullptr);
    ropeSetRounding(nullptr, ROPE_ROUNDING_NEAREST);
    EXPECT_EQ(ropeGetRounding(nullptr), ROPE_ROUNDING_UNKNOWN);
}

TEST(Null, CallsWithoutAResultDoNothing) {
    RopeLimits limits = {};
    const VkPhysicalDeviceProperties properties = {};
    ropeMinimumLimits(nullptr);
    ropeLimitsFromDevice(nullptr, 1, &limits);
    EXPECT_EQ(limits.enabled, 0u);
    ropeLimitsFromDevice(&properties, 1, nullptr);
    const VkExtensionProperties available[] = {{"VK_KHR_push_descriptor", 2}};
    EXPECT_EQ(ropeUsefulExtensions(available, 1, nullptr), 0u);
    const char* names[ROPE_MAX_EXTENSIONS] = {};
    EXPECT_EQ(ropeUsefulExtensions(nullptr, 1, names), 0u);
    ropeSetRows(ROPE_ROWS_SPLIT, 32, 1, nullptr);
    float values[2] = {7, 7};
    ropeConvertElements(nullptr, ROPE_ELEMENT_F32, values, ROPE_ELEMENT_F32, 2);
    ropeConvertElements(values, ROPE_ELEMENT_F32, nullptr, ROPE_ELEMENT_F32, 2);
    ropeShaderAngle(0, nullptr, 1, ROPE_ANGLE_EXACT, values);
    const uint32_t frequency[4] = {};
    ropeShaderAngle(0, frequency, 1, ROPE_ANGLE_EXACT, nullptr);
    ropeReferenceAngle(0, 1, ROPE_ANGLE_EXACT, nullptr);
    EXPECT_EQ(values[0] + values[1], 14);
    EXPECT_EQ(ropeReadSelfTest(nullptr), ROPE_ROUNDING_UNKNOWN);
    EXPECT_EQ(ropeEnabledBySelfTest(nullptr), 0u);
    uint32_t words[8];
    const RopeShader shader = {"", words, 20, 0};
    RopeDispatch dispatch = {};
    EXPECT_EQ(ropeSpecialize(nullptr, words), 0u);
    EXPECT_EQ(ropeSpecialize(&dispatch, words), 0u) << "of no shader";
    dispatch.shader = &shader;
    EXPECT_EQ(ropeSpecialize(&dispatch, nullptr), 0u);
}

TEST(Null, PlansAreEmpty) {
    char text[8] = "before";
    EXPECT_EQ(ropePrintPlan(nullptr, text, sizeof text), 0u);
    EXPECT_STREQ(text, "");
    RopePlan plan;
    const RopeRotateDescription d = someRotation();
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS);
    EXPECT_GT(ropePrintPlan(&plan, nullptr, 100), 0u);
    EXPECT_EQ(ropePlansEqual(&plan, nullptr), 0);
    EXPECT_EQ(ropePlansEqual(nullptr, &plan), 0);
    EXPECT_EQ(ropePlansEqual(nullptr, nullptr), 0);
    EXPECT_EQ(ropeDispatchCount(nullptr), 0u);
    ropeGetDispatch(&plan, 0, nullptr);
    ropeGroups(&plan, 0, 1, nullptr);
}

TEST(Null, DispatchesPastTheEndAreZeroed) {
    RopePlan plan;
    const RopeRotateDescription d = someRotation();
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS);
    ASSERT_EQ(ropeDispatchCount(&plan), 1u);
    const RopeDispatch zeros = {};
    const RopePlan refused = {};
    const struct {
        const RopePlan* plan;
        uint32_t index;
    } none[] = {{&plan, 1}, {&plan, 2}, {&plan, UINT32_MAX}, {&refused, 0}, {nullptr, 0}};
    for (const auto& n : none) {
        RopeDispatch dispatch;
        std::memset(&dispatch, 1, sizeof dispatch);
        ropeGetDispatch(n.plan, n.index, &dispatch);
        EXPECT_EQ(std::memcmp(&dispatch, &zeros, sizeof dispatch), 0) << n.index;
        uint32_t groups[3] = {1, 1, 1};
        ropeGroups(n.plan, n.index, 3, groups);
        EXPECT_EQ(groups[0] + groups[1] + groups[2], 0u) << n.index;
    }
    uint32_t groups[3] = {};
    ropeGroups(&plan, 0, 3, groups);
    EXPECT_GT(groups[0], 0u);
}

TEST(Null, BucketsOutOfRangeAreNoBuckets) {
    const struct {
        uint32_t buckets, max_distance, bidirectional;
    } none[] = {{0, 128, 0}, {1, 128, 0}, {3, 128, 1}, {1025, 1 << 20, 0}, {UINT32_MAX, 128, 1},
                {32, 16, 0}, {32, 0, 0},  {32, 8, 1},  {32, 1u << 30, 0}};
    for (const auto& n : none) {
        for (const int32_t distance : {INT32_MIN, -100, 0, 100, INT32_MAX})
            EXPECT_EQ(ropeT5Bucket(distance, n.buckets, n.max_distance, n.bidirectional), 0u) << n.buckets;
    }
    EXPECT_EQ(ropeT5Bucket(-100, 32, 128, 0), 30u);
    EXPECT_EQ(ropeLengthOfPositions(nullptr, ROPE_POSITION_INT32, 3), 0);
}

TEST(Null, LimitsOfNoDeviceAreRefusedByPlans) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_alignment = 3;
    RopePlan plan;
    const RopeRotateDescription d = someRotation();
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_STREQ(
        plan.reason.text,
        "limits.storage_alignment is 3 and uniform_alignment 256; each must be a power of two, and the first at "
        "most 65536");
}

} // namespace
