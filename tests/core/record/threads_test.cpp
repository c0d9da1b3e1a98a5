// These tests hold what rope.h says of threads, under ThreadSanitizer. They take the core alone, on a device that only
// counts.
#include "support/sample.hpp"
#include <vkrope/rope.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace {

std::atomic<uintptr_t> objects{0};
thread_local uint32_t dispatches = 0;

template <typename Result, typename... Arguments> PFN_vkVoidFunction nothing(Result (*)(Arguments...)) {
    Result (*const function)(Arguments...) = [](Arguments...) { return Result(); };
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

template <typename Info, typename Handle>
PFN_vkVoidFunction making(VkResult (*)(VkDevice, const Info*, const VkAllocationCallbacks*, Handle*)) {
    VkResult (*const function)(VkDevice, const Info*, const VkAllocationCallbacks*,
                               Handle*) = [](VkDevice, const Info*, const VkAllocationCallbacks*, Handle* made) {
        *made = reinterpret_cast<Handle>(++objects);
        return VK_SUCCESS;
    };
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

VkResult makePipeline(VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo*,
                      const VkAllocationCallbacks*, VkPipeline* made) {
    *made = reinterpret_cast<VkPipeline>(++objects);
    return VK_SUCCESS;
}

VkResult makeSet(VkDevice, const VkDescriptorSetAllocateInfo*, VkDescriptorSet* made) {
    *made = reinterpret_cast<VkDescriptorSet>(++objects);
    return VK_SUCCESS;
}

void countDispatch(VkCommandBuffer, uint32_t, uint32_t, uint32_t) { ++dispatches; }

PFN_vkVoidFunction find(VkDevice, const char* name) {
    static const std::map<std::string, PFN_vkVoidFunction> kFunctions = {
        {"vkCreateDescriptorSetLayout", making(PFN_vkCreateDescriptorSetLayout())},
        {"vkDestroyDescriptorSetLayout", nothing(PFN_vkDestroyDescriptorSetLayout())},
        {"vkCreatePipelineLayout", making(PFN_vkCreatePipelineLayout())},
        {"vkDestroyPipelineLayout", nothing(PFN_vkDestroyPipelineLayout())},
        {"vkCreateShaderModule", making(PFN_vkCreateShaderModule())},
        {"vkDestroyShaderModule", nothing(PFN_vkDestroyShaderModule())},
        {"vkCreateComputePipelines", reinterpret_cast<PFN_vkVoidFunction>(makePipeline)},
        {"vkDestroyPipeline", nothing(PFN_vkDestroyPipeline())},
        {"vkAllocateDescriptorSets", reinterpret_cast<PFN_vkVoidFunction>(makeSet)},
        {"vkUpdateDescriptorSets", nothing(PFN_vkUpdateDescriptorSets())},
        {"vkCmdBindPipeline", nothing(PFN_vkCmdBindPipeline())},
        {"vkCmdBindDescriptorSets", nothing(PFN_vkCmdBindDescriptorSets())},
        {"vkCmdPushConstants", nothing(PFN_vkCmdPushConstants())},
        {"vkCmdDispatch", reinterpret_cast<PFN_vkVoidFunction>(countDispatch)},
        {"vkCmdDispatchIndirect", nothing(PFN_vkCmdDispatchIndirect())}};
    const auto found = kFunctions.find(name);
    return found == kFunctions.end() ? nullptr : found->second;
}

constexpr uint32_t kThreads = 4;

template <typename Work> void onThreads(const Work& work) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kThreads; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
}

// Plans with pipelines of their own: where the rotary part begins is a constant.
std::vector<RopePlan> somePlans(const RopeRotateDescription& like) {
    std::vector<RopePlan> plans(16);
    for (uint32_t i = 0; i < plans.size(); ++i) {
        RopeRotateDescription d = like;
        d.rotation.rotary_begin = 4 * i;
        d.head_dim = d.rotation.rotary_dim + d.rotation.rotary_begin;
        EXPECT_EQ(ropePlanRotate(&d, nullptr, &plans[i]), ROPE_SUCCESS) << plans[i].reason.text;
    }
    return plans;
}

class Threads : public testing::Test {
  protected:
    Threads() {
        description_.tokens = 5;
        description_.head_dim = description_.rotation.rotary_dim = 64;
        description_.rotation.frequencies = {frequencies_.data(), 32, 1, nullptr, 1};
        description_.q.heads = 2;
    }
    void SetUp() override {
        RopeContextInfo info = {};
        info.device = reinterpret_cast<VkDevice>(1); // nobody looks into it
        info.get_device_proc_addr = find;
        ropeMinimumLimits(&info.limits);
        ASSERT_EQ(ropeCreateContext(&info, &context_), VK_SUCCESS);
        for (RopeBuffer& slot : buffers_.slots) slot.buffer = reinterpret_cast<VkBuffer>(++objects);
    }
    void TearDown() override { ropeDestroyContext(context_); }

    const std::vector<double> frequencies_ = sample::frequencies(10000, 64);
    RopeRotateDescription description_ = {};
    RopeContext* context_ = nullptr;
    RopeBuffers buffers_ = {};
};

TEST_F(Threads, MakeFrequenciesAndPlansAtOnceFromTheSameDescription) {
    const std::vector<RopePlan> wanted = somePlans(description_);
    onThreads([&](uint32_t) {
        EXPECT_EQ(sample::frequencies(10000, 64), frequencies_);
        EXPECT_EQ(sample::words(frequencies_, ROPE_ANGLE_EXACT).size(), 128u);
        const std::vector<RopePlan> plans = somePlans(description_);
        for (size_t i = 0; i < plans.size(); ++i) EXPECT_TRUE(ropePlansEqual(&plans[i], &wanted[i]));
        char text[512];
        EXPECT_GT(ropePrintPlan(&wanted[0], text, sizeof text), 0u);
    });
}

TEST_F(Threads, RecordOnePreparedPlanAtOnce) {
    const std::vector<RopePlan> plans = somePlans(description_);
    ASSERT_EQ(ropePrepare(context_, plans.data(), 1, nullptr), VK_SUCCESS);
    onThreads([&](uint32_t) {
        RopeBuffers buffers = buffers_;
        VkDescriptorSet set = VK_NULL_HANDLE; // from this thread's own pool
        ASSERT_EQ(ropeAllocateSets(context_, &plans[0], &buffers, VK_NULL_HANDLE, &set), VK_SUCCESS);
        buffers.sets = &set;
        for (int i = 0; i < 100; ++i) {
            ASSERT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context_, &plans[0], &buffers), ROPE_SUCCESS);
        }
        EXPECT_EQ(dispatches, 100u);
        EXPECT_EQ(ropeGetRounding(context_), ROPE_ROUNDING_UNKNOWN);
    });
}

// Two threads prepare all plans, the other two record what is there already.
TEST_F(Threads, RecordWhileOthersPrepare) {
    const std::vector<RopePlan> plans = somePlans(description_);
    const uintptr_t before = objects;
    const VkDescriptorSet set = VK_NULL_HANDLE;
    buffers_.sets = &set;
    onThreads([&](uint32_t thread) {
        if (thread < 2) {
            for (size_t i = 0; i < plans.size(); ++i) {
                const RopePlan& plan = plans[thread == 0 ? i : plans.size() - 1 - i];
                EXPECT_EQ(ropePrepare(context_, &plan, 1, nullptr), VK_SUCCESS);
            }
            return;
        }
        for (const RopePlan& plan : plans) {
            RopeResult result = ROPE_ERROR_NOT_PREPARED;
            while (result == ROPE_ERROR_NOT_PREPARED) {
                result = ropeCmdExecute(VK_NULL_HANDLE, context_, &plan, &buffers_);
            }
            EXPECT_EQ(result, ROPE_SUCCESS);
            EXPECT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context_, &plan, &buffers_), ROPE_SUCCESS);
        }
    });
    EXPECT_GE(objects - before, 4 * plans.size()) << "two layouts, a module and a pipeline for each";
}

// One thread at a time, by a lock of the host's, which is all they need; the last one to leave destroys.
TEST_F(Threads, SetTheRoundingAndDestroyWithTheContextToThemselves) {
    RopeContextInfo info = {};
    info.device = reinterpret_cast<VkDevice>(1);
    info.get_device_proc_addr = find;
    ropeMinimumLimits(&info.limits);
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info, &context), VK_SUCCESS);
    const std::vector<RopePlan> plans = somePlans(description_);
    const VkDescriptorSet set = VK_NULL_HANDLE;
    buffers_.sets = &set;
    std::mutex alone;
    uint32_t left = kThreads;
    onThreads([&](uint32_t thread) {
        const RopeRounding mine = thread % 2 == 0 ? ROPE_ROUNDING_NEAREST : ROPE_ROUNDING_OTHER;
        for (int i = 0; i < 100; ++i) {
            const std::lock_guard<std::mutex> lock(alone);
            ropeSetRounding(context, mine);
            EXPECT_EQ(ropePrepare(context, &plans[thread], 1, nullptr), VK_SUCCESS);
            EXPECT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &plans[thread], &buffers_), ROPE_SUCCESS);
            EXPECT_EQ(ropeGetRounding(context), mine);
        }
        const std::lock_guard<std::mutex> lock(alone);
        if (--left == 0) ropeDestroyContext(context);
    });
}

// The host's allocator is called from each of them, so that it has to bear it.
TEST_F(Threads, PrepareWithTheHostsAllocatorOnTheThreadThatCalls) {
    thread_local static int here = 0;
    const VkAllocationCallbacks callbacks = {nullptr,
                                             [](void*, size_t size, size_t, VkSystemAllocationScope) {
                                                 ++here;
                                                 return malloc(size);
                                             },
                                             nullptr,
                                             [](void*, void* memory) { free(memory); },
                                             nullptr,
                                             nullptr};
    RopeContextInfo info = {};
    info.device = reinterpret_cast<VkDevice>(1);
    info.get_device_proc_addr = find;
    info.allocator = &callbacks;
    ropeMinimumLimits(&info.limits);
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info, &context), VK_SUCCESS);
    const std::vector<RopePlan> plans = somePlans(description_);
    onThreads([&](uint32_t thread) {
        EXPECT_EQ(ropePrepare(context, &plans[thread], 1, nullptr), VK_SUCCESS);
        EXPECT_GT(here, 0);
    });
    ropeDestroyContext(context);
}

} // namespace
