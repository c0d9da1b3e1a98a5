// rope::KeptSets on every device, with push descriptors and without. The tensor has a row for each call: every call
// turns its own row, so sets that point at a wrong place show.
#include "support/recording.hpp"
#include "support/sample.hpp"
#include <vkrope/rope.hpp>

#include <cstring>

namespace {

constexpr uint32_t kDim = 64;
constexpr uint64_t kRowBytes = 256; // a row is a head of float32, and the largest alignment that a device may ask for
constexpr uint32_t kCalls = rope::KeptSets::kSetsOfPool + 44;

// The device was asked for so many.
struct Counts {
    uint32_t pools, freed_pools, sets, updates;
};
Counts counts;
bool pools_fail;
const rope::VulkanFunctions* of_device;

VkResult VKAPI_CALL createPool(VkDevice device, const VkDescriptorPoolCreateInfo* info,
                               const VkAllocationCallbacks* allocator, VkDescriptorPool* pool) {
    if (pools_fail) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    ++counts.pools;
    return of_device->CreateDescriptorPool(device, info, allocator, pool);
}
void VKAPI_CALL destroyPool(VkDevice device, VkDescriptorPool pool, const VkAllocationCallbacks* allocator) {
    ++counts.freed_pools;
    of_device->DestroyDescriptorPool(device, pool, allocator);
}
VkResult VKAPI_CALL allocateSets(VkDevice device, const VkDescriptorSetAllocateInfo* info, VkDescriptorSet* sets) {
    static PFN_vkAllocateDescriptorSets allocate = nullptr;
    allocate = reinterpret_cast<PFN_vkAllocateDescriptorSets>(
        of_device->GetDeviceProcAddr(device, "vkAllocateDescriptorSets"));
    counts.sets += info->descriptorSetCount;
    return allocate(device, info, sets);
}
void VKAPI_CALL updateSets(VkDevice device, uint32_t count, const VkWriteDescriptorSet* writes, uint32_t copies,
                           const VkCopyDescriptorSet* from) {
    static PFN_vkUpdateDescriptorSets update = nullptr;
    update =
        reinterpret_cast<PFN_vkUpdateDescriptorSets>(of_device->GetDeviceProcAddr(device, "vkUpdateDescriptorSets"));
    ++counts.updates;
    update(device, count, writes, copies, from);
}
PFN_vkVoidFunction VKAPI_CALL findCounting(VkDevice device, const char* name) {
    if (strcmp(name, "vkCreateDescriptorPool") == 0) return reinterpret_cast<PFN_vkVoidFunction>(createPool);
    if (strcmp(name, "vkDestroyDescriptorPool") == 0) return reinterpret_cast<PFN_vkVoidFunction>(destroyPool);
    if (strcmp(name, "vkAllocateDescriptorSets") == 0) return reinterpret_cast<PFN_vkVoidFunction>(allocateSets);
    if (strcmp(name, "vkUpdateDescriptorSets") == 0) return reinterpret_cast<PFN_vkVoidFunction>(updateSets);
    return of_device->GetDeviceProcAddr(device, name);
}

class KeptSets : public gpu::OnDevice {
  protected:
    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped()) return;
        of_device = &device().vk();
        counts = {};
        pools_fail = false;
        info_.device = device().handle();
        info_.get_device_proc_addr = findCounting;
        info_.limits = device().limits();
        ASSERT_EQ(context_.create(info_), VK_SUCCESS);
        const std::vector<uint32_t> words = sample::words(frequencies_, ROPE_ANGLE_EXACT);
        std::string error;
        ASSERT_TRUE(device().makeBuffer(kCalls * kRowBytes, &rows_, &error)) << error;
        ASSERT_TRUE(device().makeBuffer(words.size() * 4, &words_, &error)) << error;
        ASSERT_TRUE(device().upload(words_, 0, words.data(), words.size() * 4, &error)) << error;
        ASSERT_TRUE(device().upload(rows_, 0, input_.data(), kCalls * kRowBytes, &error)) << error;
    }
    void TearDown() override {
        context_ = rope::Context();
        rows_ = rope::Buffer();
        words_ = rope::Buffer();
        OnDevice::TearDown();
    }

    bool takesSets() { return (device().limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0; }
    // Describes the rotation of so many rows, whose first has this position.
    RopeRotateDescription describe(int32_t position, uint32_t tokens = 1) const {
        RopeRotateDescription d = {};
        d.tokens = tokens;
        d.head_dim = kDim;
        d.q.heads = 1;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.positions.first = position;
        d.rotation.frequencies = {frequencies_.data(), kDim / 2, 1, nullptr, 1};
        return d;
    }
    RopePlan planned(const RopeRotateDescription& d) {
        RopePlan plan;
        EXPECT_EQ(rope::plan(d, device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        return plan;
    }
    RopeBuffers at(uint32_t row) const {
        RopeBuffers buffers = {};
        buffers.slots[ROPE_SLOT_FREQUENCIES] = words_.slot();
        buffers.slots[ROPE_SLOT_Q] = rows_.slot(row * kRowBytes);
        return buffers;
    }
    // Turns rows of what the device should hold.
    void turn(const RopeRotateDescription& d, uint32_t row) {
        RopeHostRotate host = {};
        host.q = host.q_out = wanted_.data() + row * kDim;
        ASSERT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
    }
    void expectWanted() {
        std::vector<float> got(wanted_.size());
        std::string error;
        ASSERT_TRUE(device().download(rows_, 0, got.data(), kCalls * kRowBytes, &error)) << error;
        for (uint32_t row = 0; row < kCalls; ++row) {
            ASSERT_EQ(memcmp(&got[row * kDim], &wanted_[row * kDim], kRowBytes), 0) << "row " << row;
        }
    }
    // Turns `count` rows in one submission, a call for each. Two plans take turns, of two pipelines with the same
    // bindings. Rows go backwards if asked for.
    void turnEach(rope::KeptSets* sets, uint32_t count, int32_t position, bool backwards) {
        RopeRotateDescription d[] = {describe(position), describe(position + 1)};
        d[1].rotation.pairing = ROPE_PAIRING_INTERLEAVED;
        const RopePlan plans[] = {planned(d[0]), planned(d[1])};
        ASSERT_NE(plans[0].passes[0].pipeline_hash, plans[1].passes[0].pipeline_hash);
        for (const RopePlan& plan : plans) ASSERT_EQ(context_.prepare(plan), VK_SUCCESS);
        gpu::Recording recording(&device());
        recording.record([&](VkCommandBuffer commands) {
            for (uint32_t i = 0; i < count; ++i) {
                const uint32_t row = backwards ? kCalls - 1 - i : i;
                ASSERT_EQ(sets->execute(commands, plans[i % 2], at(row)), ROPE_SUCCESS);
                ASSERT_NO_FATAL_FAILURE(turn(d[i % 2], row));
            }
        });
        ASSERT_NO_FATAL_FAILURE(recording.submit());
        ASSERT_NO_FATAL_FAILURE(expectWanted());
    }
    void expectCounts(uint32_t pools, uint32_t sets) {
        EXPECT_EQ(counts.pools, takesSets() ? pools : 0);
        EXPECT_EQ(counts.sets, takesSets() ? sets : 0);
        counts.pools = counts.sets = 0;
    }

    const std::vector<double> frequencies_ = sample::frequencies(10000, kDim);
    const std::vector<float> input_ = sample::values(kCalls * kDim, 1);
    std::vector<float> wanted_ = input_;
    RopeContextInfo info_ = {};
    rope::Context context_;
    rope::Buffer rows_, words_;
};

TEST_P(KeptSets, ServeOtherBuffersAndPlansWithoutAllocating) {
    {
        rope::KeptSets sets;
        ASSERT_EQ(sets.create(info_, context_.get()), VK_SUCCESS);
        expectCounts(0, 0);
        ASSERT_NO_FATAL_FAILURE(turnEach(&sets, 7, 5, false));
        expectCounts(1, 7);
        for (int32_t round = 1; round < 4; ++round) {
            sets.reuse();
            ASSERT_NO_FATAL_FAILURE(turnEach(&sets, 7, 100 * round, round % 2 != 0));
            expectCounts(0, 0);
        }
        ASSERT_NO_FATAL_FAILURE(turnEach(&sets, 3, 17, false)); // none is free
        expectCounts(0, 3);
        for (int32_t round = 1; round < 4; ++round) { // the same calls each time
            counts.updates = 0;
            sets.reuse(round != 1);
            ASSERT_NO_FATAL_FAILURE(turnEach(&sets, 4, 1000, false));
            EXPECT_EQ(counts.updates, takesSets() && round == 1 ? 4u : 0u);
        }
        ASSERT_NO_FATAL_FAILURE(turnEach(&sets, 5, 12345, true)); // and others
        EXPECT_EQ(counts.updates, takesSets() ? 5u : 0u);
        sets.reuse();
        EXPECT_EQ(sets.execute(VK_NULL_HANDLE, planned(describe(1)), RopeBuffers()), ROPE_ERROR_MISSING_BUFFER);
        for (int32_t round = 1; round < 3; ++round) { // the refused call is not repeated, and has taken a set
            ASSERT_NO_FATAL_FAILURE(turnEach(&sets, 3, 55, false));
            sets.reuse(true);
        }
        EXPECT_EQ(sets.poolCount(), takesSets() ? 1u : 0u);
    }
    EXPECT_EQ(counts.freed_pools, takesSets() ? 1u : 0u);
}

TEST_P(KeptSets, MakeAPoolMoreWhereOneIsFull) {
    rope::KeptSets sets;
    ASSERT_EQ(sets.create(info_, context_.get()), VK_SUCCESS);
    ASSERT_NO_FATAL_FAILURE(turnEach(&sets, kCalls, 3, false));
    expectCounts(2, kCalls);
    sets.reuse();
    ASSERT_NO_FATAL_FAILURE(turnEach(&sets, kCalls, -9, true));
    expectCounts(0, 0);
    ASSERT_EQ(sets.create(info_, context_.get()), VK_SUCCESS);
    EXPECT_EQ(counts.freed_pools, takesSets() ? 2u : 0u);
    EXPECT_EQ(sets.poolCount(), 0u);
    ASSERT_NO_FATAL_FAILURE(turnEach(&sets, 1, 1, false));
    expectCounts(1, 1);
}

// A plan of more dispatches than a pool has sets, and beside it a plan of other bindings.
TEST_P(KeptSets, ServePlansOfManyDispatches) {
    RopeLimits narrow = device().limits();
    narrow.group_count[0] = narrow.group_count[1] = 1;
    RopeRotateDescription d = describe(40, kCalls);
    d.tuning.group_size = 8; // one token each
    RopePlan plan;
    ASSERT_EQ(rope::plan(d, narrow, &plan), ROPE_SUCCESS) << plan.reason.text;
    const uint32_t dispatches = ropeDispatchCount(&plan);
    ASSERT_GT(dispatches, 1u);
    RopeRotateDescription apart = describe(8);
    apart.out_of_place = 1;
    const RopePlan other = planned(apart);
    ASSERT_EQ(context_.prepare(plan), VK_SUCCESS);
    ASSERT_EQ(context_.prepare(other), VK_SUCCESS);
    rope::Buffer copy;
    std::string error;
    ASSERT_TRUE(device().makeBuffer(kRowBytes, &copy, &error)) << error;
    rope::KeptSets sets;
    ASSERT_EQ(sets.create(info_, context_.get()), VK_SUCCESS);
    RopeBuffers buffers = {};
    buffers.slots[ROPE_SLOT_FREQUENCIES] = words_.slot();
    buffers.slots[ROPE_SLOT_Q] = words_.slot(); // any 64 numbers; the result is not looked at
    buffers.slots[ROPE_SLOT_Q_OUT] = copy.slot();
    for (int round = 0; round < 2; ++round) { // the second in the other order
        gpu::Recording recording(&device());
        recording.record([&](VkCommandBuffer commands) {
            for (const bool first : {round == 0, round != 0}) {
                ASSERT_EQ(sets.execute(commands, first ? plan : other, first ? at(0) : buffers), ROPE_SUCCESS);
            }
        });
        ASSERT_NO_FATAL_FAILURE(turn(d, 0));
        ASSERT_NO_FATAL_FAILURE(recording.submit());
        ASSERT_NO_FATAL_FAILURE(expectWanted());
        expectCounts(round == 0 ? (dispatches > rope::KeptSets::kSetsOfPool ? 2 : 1) : 0,
                     round == 0 ? dispatches + 1 : 0);
        sets.reuse();
    }
}

TEST_P(KeptSets, SayWhyNothingIsRecorded) {
    rope::KeptSets sets;
    const RopePlan plan = planned(describe(1));
    EXPECT_EQ(sets.execute(VK_NULL_HANDLE, plan, at(0)), ROPE_ERROR_INVALID) << "not created";
    EXPECT_EQ(sets.create(info_, nullptr), VK_ERROR_INITIALIZATION_FAILED);
    ASSERT_EQ(sets.create(info_, context_.get()), VK_SUCCESS);
    EXPECT_EQ(sets.execute(VK_NULL_HANDLE, plan, at(0)), ROPE_ERROR_NOT_PREPARED);
    EXPECT_EQ(sets.execute(VK_NULL_HANDLE, RopePlan{}, at(0)), ROPE_ERROR_INVALID);
    ASSERT_EQ(context_.prepare(plan), VK_SUCCESS);
    for (uint32_t i = 0; i < 2 * rope::KeptSets::kSetsOfPool; ++i) {
        ASSERT_EQ(sets.execute(VK_NULL_HANDLE, plan, RopeBuffers{}), ROPE_ERROR_MISSING_BUFFER);
    }
    EXPECT_LE(sets.poolCount(), 1u) << "refusals take no sets from a pool";
    EXPECT_EQ(counts.sets, 0u);
    if (!takesSets()) return;
    ASSERT_EQ(sets.create(info_, context_.get()), VK_SUCCESS);
    pools_fail = true;
    EXPECT_EQ(sets.execute(VK_NULL_HANDLE, plan, at(0)), ROPE_ERROR_MISSING_SETS);
    EXPECT_EQ(sets.poolCount(), 0u);
    pools_fail = false;
    counts = {};
    ASSERT_NO_FATAL_FAILURE(turnEach(&sets, 2, 1, false));
    expectCounts(1, 2);
}

ROPE_ON_EVERY_DEVICE(KeptSets);

} // namespace
