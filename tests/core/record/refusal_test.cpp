// Plans and buffers that a context cannot take: what preparing and recording say, and that nothing is recorded.
#include "bench/cases/description.hpp"
#include "support/recording.hpp"
#include "support/sample.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>

namespace {

class RecordingRefusal : public gpu::OnDevice {
  protected:
    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped()) return;
        std::string error;
        ASSERT_TRUE(device().makeBuffer(1 << 16, &memory_, &error)) << error;
        description_.tokens = 4;
        description_.head_dim = 64;
        description_.q.heads = 2;
        description_.out_of_place = 1;
        description_.positions.kind = ROPE_POSITIONS_COUNTED;
        description_.rotation.frequencies = {frequencies_.data(), 32, 1, nullptr, 1};
        plan_ = planWith(device().limits());
        open(device().limits());
        buffers_.slots[ROPE_SLOT_FREQUENCIES] = memory_.slot();
        buffers_.slots[ROPE_SLOT_Q] = memory_.slot(4096);
        buffers_.slots[ROPE_SLOT_Q_OUT] = memory_.slot(8192);
    }
    void TearDown() override {
        ropeDestroyContext(context_);
        memory_ = rope::Buffer();
        OnDevice::TearDown();
    }

    RopePlan planWith(const RopeLimits& limits) {
        RopePlan plan;
        EXPECT_EQ(ropePlanRotate(&description_, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        return plan;
    }
    void open(const RopeLimits& limits) {
        ropeDestroyContext(context_);
        RopeContextInfo info = {};
        info.device = device().handle();
        info.get_device_proc_addr = device().vk().GetDeviceProcAddr;
        info.limits = limits;
        ASSERT_EQ(ropeCreateContext(&info, &context_), VK_SUCCESS);
    }
    std::string prepared(const RopePlan& plan, VkResult wanted) {
        RopeReason reason;
        std::memset(&reason, 'x', sizeof reason);
        EXPECT_EQ(ropePrepare(context_, &plan, 1, &reason), wanted);
        EXPECT_EQ(ropePrepare(context_, &plan, 1, nullptr), wanted);
        return reason.text;
    }
    // Into a real command buffer, with sets where the context takes them.
    RopeResult recorded(const RopePlan& plan, const RopeBuffers& buffers) {
        RopeResult result = ROPE_SUCCESS, indirect = ROPE_SUCCESS;
        const VkDescriptorSet none[4] = {};
        RopeBuffers bound = buffers;
        bound.sets = none;
        gpu::Recording recording(&device());
        recording.record([&](VkCommandBuffer commands) {
            result = ropeCmdExecute(commands, context_, &plan, &bound);
            indirect = ropeCmdExecuteIndirect(commands, context_, &plan, &bound, memory_.handle(), 0);
        });
        EXPECT_EQ(result, indirect);
        if ((device().limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0) {
            VkDescriptorSet sets[4];
            EXPECT_EQ(ropeAllocateSets(context_, &plan, &buffers, VK_NULL_HANDLE, sets),
                      VK_ERROR_INITIALIZATION_FAILED);
            EXPECT_EQ(ropeUpdateSets(context_, &plan, &bound), result);
        }
        return result;
    }

    const std::vector<double> frequencies_ = sample::frequencies(10000, 64);
    RopeRotateDescription description_ = {};
    RopePlan plan_;
    RopeContext* context_ = nullptr;
    rope::Buffer memory_;
    RopeBuffers buffers_ = {};
};

TEST_P(RecordingRefusal, OfLimitsThatTheContextDoesNotHave) {
    const struct {
        const char* name;
        std::function<void(RopeLimits*)> lower;
    } cases[] = {{"storage_range", [](RopeLimits* l) { l->storage_range = 1 << 20; }},
                 {"storage_alignment", [](RopeLimits* l) { l->storage_alignment = 1024; }},
                 {"group_count[0]", [](RopeLimits* l) { l->group_count[0] = 100; }},
                 {"group_count[1]", [](RopeLimits* l) { l->group_count[1] = 100; }},
                 {"group_size", [](RopeLimits* l) { l->group_size = 64; }},
                 {"storage_buffers", [](RopeLimits* l) { l->storage_buffers = 3; }},
                 {"uniform_range", [](RopeLimits* l) { l->uniform_range = 1024; }},
                 {"shared_bytes", [](RopeLimits* l) { l->shared_bytes = 1024; }}};
    for (const auto& c : cases) {
        RopeLimits less = device().limits();
        c.lower(&less);
        open(less);
        const std::string said = prepared(plan_, VK_ERROR_FEATURE_NOT_PRESENT);
        const std::string begin = std::string("plan 0 takes limits.") + c.name + " of ";
        EXPECT_EQ(said.compare(0, begin.size(), begin), 0) << said;
        EXPECT_NE(said.find("; plan with the context's limits"), std::string::npos) << said;
        EXPECT_EQ(recorded(plan_, buffers_), ROPE_ERROR_OTHER_LIMITS) << c.name;
        EXPECT_EQ(prepared(planWith(less), VK_SUCCESS), "") << c.name;
    }
}

TEST_P(RecordingRefusal, OfAPlanWhoseGroupsAreLargerThanTheContexts) {
    RopeLimits more = device().limits();
    more.group_size = 1024;
    description_.tuning.group_size = 1024;
    RopeLimits less = device().limits();
    less.group_size = 64;
    open(less);
    EXPECT_EQ(prepared(planWith(more), VK_ERROR_FEATURE_NOT_PRESENT),
              "plan 0 takes limits.group_size of 1024, and the context has 64; plan with the context's limits");
}

// Its pipelines are there, made for another plan.
TEST_P(RecordingRefusal, OfAFinerAlignmentThoughThePipelinesAreThere) {
    RopeLimits coarse = device().limits();
    coarse.storage_alignment = 2048;
    open(coarse);
    ASSERT_EQ(prepared(planWith(coarse), VK_SUCCESS), "");
    const RopePlan fine = planWith(device().limits());
    EXPECT_EQ(recorded(fine, buffers_), ROPE_ERROR_OTHER_LIMITS);
}

// As "%#x" has it.
std::string inHex(uint32_t version) {
    char text[16];
    std::snprintf(text, sizeof text, "%#x", version);
    return text;
}

TEST_P(RecordingRefusal, OfAnotherVersionsPlan) {
    const std::string ours = inHex(ROPE_VERSION), theirs = inHex(ROPE_VERSION + 1);
    ASSERT_EQ(prepared(plan_, VK_SUCCESS), "");
    RopePlan other = plan_;
    other.version += 1;
    EXPECT_EQ(prepared(other, VK_ERROR_INITIALIZATION_FAILED),
              "plan 0 has version " + theirs + "; it must be " + ours + ", that of an accepted plan");
    EXPECT_EQ(recorded(other, buffers_), ROPE_ERROR_OTHER_VERSION);
    EXPECT_EQ(ropeDispatchCount(&other), 0u);
    char text[256];
    ropePrintPlan(&other, text, sizeof text);
    EXPECT_EQ(text, "of version " + theirs + ", not " + ours + "\n");
    const RopePlan refused = {};
    EXPECT_EQ(prepared(refused, VK_ERROR_INITIALIZATION_FAILED),
              "plan 0 has version 0; it must be " + ours + ", that of an accepted plan");
    EXPECT_EQ(recorded(refused, buffers_), ROPE_ERROR_INVALID);
    other = plan_;
    other.pass_count = 0;
    EXPECT_EQ(recorded(other, buffers_), ROPE_ERROR_INVALID);
}

TEST_P(RecordingRefusal, OfOffsetsThatAreNoMultiplesOfTheAlignment) {
    RopeLimits limits = device().limits(); // of a device that may take any offset
    limits.storage_alignment = std::max(limits.storage_alignment, 16u);
    open(limits);
    const RopePlan plan = planWith(limits);
    ASSERT_EQ(prepared(plan, VK_SUCCESS), "");
    for (const RopeSlot slot : {ROPE_SLOT_FREQUENCIES, ROPE_SLOT_Q, ROPE_SLOT_Q_OUT}) {
        RopeBuffers moved = buffers_;
        moved.slots[slot].offset += limits.storage_alignment / 2;
        EXPECT_EQ(recorded(plan, moved), ROPE_ERROR_MISALIGNED) << ropeSlotName(slot);
    }
}

TEST_P(RecordingRefusal, OfSlotsAndWeightsThatHaveNoBuffer) {
    RopeFusedDescription d = {};
    measure::setRotation(description_, &d);
    d.q.heads = 0;
    d.k.heads = 2;
    d.q.no_rotation = d.k.no_rotation = 1;
    d.k.norm.kind = ROPE_NORM_RMS;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.slots = 4;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(prepared(plan, VK_SUCCESS), "");
    buffers_.slots[ROPE_SLOT_K] = memory_.slot(4096);
    buffers_.slots[ROPE_SLOT_K_OUT] = memory_.slot(8192);
    buffers_.slots[ROPE_SLOT_SLOT_MAP] = memory_.slot(12288);
    buffers_.slots[ROPE_SLOT_K_WEIGHTS] = memory_.slot(16384);
    for (const RopeSlot slot : {ROPE_SLOT_SLOT_MAP, ROPE_SLOT_K_WEIGHTS}) {
        RopeBuffers less = buffers_;
        less.slots[slot] = {};
        EXPECT_EQ(recorded(plan, less), ROPE_ERROR_MISSING_BUFFER) << ropeSlotName(slot);
    }
    std::string error;
    EXPECT_TRUE(device().run(&plan, 1, &buffers_, &error)) << error << ": nothing else is missing";
}

// A uniform buffer has an alignment of its own.
TEST_P(RecordingRefusal, OfParametersThatAreNotAligned) {
    const std::vector<float> values(64, 1.0f);
    RopeFusedDescription d = {};
    measure::setRotation(description_, &d);
    d.q.norm.kind = ROPE_NORM_RMS;
    d.q.norm.weights = values.data();
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    RopeLimits limits = device().limits();
    limits.uniform_alignment = 2 * limits.storage_alignment;
    open(limits);
    ASSERT_EQ(prepared(plan, VK_SUCCESS), "");
    buffers_.slots[ROPE_SLOT_PARAMETERS] = memory_.slot(12288 + limits.storage_alignment);
    EXPECT_EQ(recorded(plan, buffers_), ROPE_ERROR_MISALIGNED);
}

TEST_P(RecordingRefusal, OfATensorThatGoesOutOfPlaceToItsOwnPlace) {
    ASSERT_EQ(prepared(plan_, VK_SUCCESS), "");
    RopeBuffers same = buffers_;
    same.slots[ROPE_SLOT_Q_OUT] = same.slots[ROPE_SLOT_Q];
    EXPECT_EQ(recorded(plan_, same), ROPE_ERROR_OVERLAP);

    // The slots begin at one place, the tensor does not, and the other way round.
    const uint64_t rows = 4096 / sizeof(float);
    description_.q.to = {rows, 0, 128, 64};
    const RopePlan behind = planWith(device().limits());
    ASSERT_EQ(prepared(behind, VK_SUCCESS), "");
    RopeBuffers apart = buffers_;
    apart.slots[ROPE_SLOT_Q_OUT] = memory_.slot(0);
    EXPECT_EQ(recorded(behind, apart), ROPE_ERROR_OVERLAP);
}

// Packed Q, K and V share a binding, and each begins elsewhere in it.
TEST_P(RecordingRefusal, OfAPackedTensorThatGoesOutOfPlaceToItsOwnPlace) {
    RopeFusedDescription d = {};
    measure::setRotation(description_, &d);
    d.k.heads = d.v.heads = 1;
    d.packed_qkv = 1;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(prepared(plan, VK_SUCCESS), "");
    RopeBuffers buffers = buffers_;
    buffers.slots[ROPE_SLOT_K_OUT] = memory_.slot(16384);
    buffers.slots[ROPE_SLOT_V_OUT] = memory_.slot(20480);
    for (const RopeSlot slot : {ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT}) {
        RopeBuffers same = buffers;
        same.slots[slot] = memory_.slot(4096 + 4 * (slot == ROPE_SLOT_K_OUT ? 128 : 192));
        EXPECT_EQ(recorded(plan, same), ROPE_ERROR_OVERLAP) << slot;
    }
}

TEST_P(RecordingRefusal, OfNothingThatIsRight) {
    const uint64_t rows = 4096 / sizeof(float);
    description_.q.to = {rows, 0, 128, 64};
    const RopePlan behind = planWith(device().limits());
    std::string error;
    buffers_.slots[ROPE_SLOT_Q_OUT] = buffers_.slots[ROPE_SLOT_Q];
    EXPECT_TRUE(device().run(&behind, 1, &buffers_, &error)) << error;
    buffers_.slots[ROPE_SLOT_Q_OUT] = memory_.slot(8192);
    EXPECT_TRUE(device().run(&plan_, 1, &buffers_, &error)) << error;
    RopePlan floor;
    ASSERT_EQ(ropePlanRotate(&description_, nullptr, &floor), ROPE_SUCCESS);
    EXPECT_TRUE(device().run(&floor, 1, &buffers_, &error)) << error;
}

// A cache is bound from its first slot on, and that may be a page that no token takes: here it holds K and V as they
// came, which go to the page behind it.
TEST_P(RecordingRefusal, OfNoCacheWhoseFirstPageIsTheSource) {
    constexpr uint32_t kTokens = 4, kRow = 128, kPage = kTokens * kRow, kPages = 4;
    constexpr uint64_t kValues = kPages * kPage * sizeof(float), kSlots = 2 * kValues;
    RopeFusedDescription d = {};
    measure::setRotation(description_, &d);
    d.q = {};
    d.k.heads = d.v.heads = 2;
    d.q.no_rotation = d.k.no_rotation = 1;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.map_in_positions = 1;
    d.cache.slots = kPages * kTokens;
    d.cache.page_size = kTokens;
    std::vector<float> source(2 * kPages * kPage);
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i + 1);
    const int32_t slots[kTokens] = {4, 5, 6, 7};
    std::vector<float> wanted = source;
    for (size_t at : {size_t{0}, size_t{kPages * kPage}})
        std::copy_n(source.data() + at, kPage, wanted.data() + at + kPage);
    for (const bool apart : {false, true}) {
        RopeLimits limits = device().limits();
        if (apart) limits.storage_buffers = 4;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        RopeBuffers buffers = {};
        buffers.slots[ROPE_SLOT_POSITIONS] = memory_.slot(kSlots);
        buffers.slots[ROPE_SLOT_K] = buffers.slots[ROPE_SLOT_K_OUT] = memory_.slot();
        buffers.slots[ROPE_SLOT_V] = buffers.slots[ROPE_SLOT_V_OUT] = memory_.slot(kValues);
        std::string error;
        ASSERT_TRUE(device().upload(memory_, 0, source.data(), kSlots, &error)) << error;
        ASSERT_TRUE(device().upload(memory_, kSlots, slots, sizeof slots, &error)) << error;
        EXPECT_TRUE(device().run(&plan, 1, &buffers, &error)) << error;
        std::vector<float> found(source.size());
        ASSERT_TRUE(device().download(memory_, 0, found.data(), kSlots, &error)) << error;
        EXPECT_EQ(found, wanted);
    }
}

ROPE_ON_EVERY_DEVICE(RecordingRefusal);

} // namespace
