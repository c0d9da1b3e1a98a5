// Devices that lack something, one thing after the other: what is left gives the CPU's bits, or a sentence says why
// not.
#include "support/cut.hpp"
#include "support/floor.hpp"
#include "support/fusion.hpp"
#include "support/rotation.hpp"

#include <algorithm>

namespace {

class Lacking : public testing::TestWithParam<gpu::DeviceSetup> {
  protected:
    void SetUp() override {
        std::string error;
        const std::unique_ptr<rope::Instance> instance = rope::Instance::open(nullptr, nullptr, &error);
        if (!instance) GTEST_SKIP() << error;
        loader_ = instance->vk().GetInstanceProcAddr;
        gpu::open(GetParam(), &error);
        if (!error.empty()) GTEST_SKIP() << GetParam().name << " was not found: " << error;
        broken_before_ = gpu::brokenRules().count();
        beyond_before_ = gpu::beyondFloor().count();
    }
    void TearDown() override {
        gpu::cutLoader(0, loader_);
        EXPECT_EQ(gpu::brokenRules().count(), broken_before_) << gpu::brokenRules().text();
        EXPECT_EQ(gpu::beyondFloor().count(), beyond_before_) << gpu::beyondFloor().text();
        EXPECT_EQ(messages_->count(), 0u) << messages_->text();
    }

    rope::Device open(uint32_t cuts, std::string* error) {
        rope::DeviceOptions options = gpu::optionsOf(GetParam());
        options.messages = messages_;
        const PFN_vkGetInstanceProcAddr below = options.get_instance_proc_addr;
        options.get_instance_proc_addr = gpu::cutLoader(cuts, below != nullptr ? below : loader_);
        return rope::Device::open(options, error);
    }
    rope::Device open(uint32_t cuts) {
        std::string error;
        rope::Device device = open(cuts, &error);
        EXPECT_TRUE(device) << error;
        return device;
    }

    PFN_vkGetInstanceProcAddr loader_ = nullptr;
    const std::shared_ptr<rope::Messages> messages_ = std::make_shared<rope::Messages>();

  private:
    uint32_t broken_before_ = 0, beyond_before_ = 0;
};

// Q and K of float16, whose elements are read two in a word, turned by a table.
RopeRotateDescription halves() {
    RopeRotateDescription d = {};
    d.batch = 2;
    d.tokens = 33;
    d.head_dim = 64;
    d.element = d.element_out = ROPE_ELEMENT_F16;
    d.q.heads = 6;
    d.k.heads = 2;
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.count = 40;
    d.count_outside = 1;
    return d;
}

void expectTable(rope::Device* device) {
    double worst = 0;
    EXPECT_TRUE(rotation::check(device, halves(), 1, &worst));
}

void expectInline(rope::Device* device) {
    double worst = 0;
    RopeRotateDescription d = halves();
    d.rotation.source = ROPE_SOURCE_INLINE;
    d.out_of_place = 1; // with five storage buffers K goes with Q no more
    d.k.from.offset = 2;
    EXPECT_TRUE(rotation::check(device, d, 2, &worst));
}

// Fused passes with norms, caches and integers, which meet in shared memory.
void expectFused(rope::Device* device) {
    uint32_t ran = 0, norms = 0, integers = 0;
    for (uint64_t seed = 1; seed < 400 && ran < 2; ++seed) {
        fusion::Scene scene;
        fusion::draw(seed, &scene);
        const RopeFusedDescription& d = scene.d;
        const bool normed = d.q.norm.kind != ROPE_NORM_NONE && d.q.heads != 0;
        const bool rounded = d.cache.kind != ROPE_CACHE_NONE && d.k.element == ROPE_ELEMENT_I8;
        if (scene.shifts || (ran < 1 ? !normed : !rounded)) continue;
        RopePlan plan;
        if (ropePlanFused(&d, &device->limits(), &plan) != ROPE_SUCCESS) {
            EXPECT_NE(plan.reason.text[0], 0) << fusion::describe(scene);
            continue;
        }
        const gpu::Slots before = fusion::makeSlots(scene, plan, seed);
        gpu::Slots after = before;
        ASSERT_TRUE(gpu::run(device, plan, &after)) << fusion::describe(scene);
        EXPECT_TRUE(fusion::checkHost(scene, plan, before, after)) << fusion::describe(scene);
        ++ran;
        norms += normed;
        integers += rounded;
    }
    EXPECT_GE(norms, 1u);
    EXPECT_GE(integers, 1u);
}

// Each cut alone.
TEST_P(Lacking, OneThingLeavesTheCpusBits) {
    for (uint32_t number = 0; number < gpu::kCutCount; ++number) {
        const uint32_t cut = 1u << number;
        if (cut == gpu::kVulkan10 || cut == gpu::kNoCompute) continue;
        if (GetParam().repeats_device && (cut & (gpu::kNoExtensions | gpu::kLeastBindings | gpu::kRobust)) == 0)
            continue;
        if (cut == gpu::kRobust && gpu::floorAsked()) continue; // a feature, which the floor lacks
        SCOPED_TRACE(gpu::cutName(number));
        rope::Device device = open(cut);
        if (!device) continue;
        expectTable(&device);
        const uint32_t shapes = gpu::kRobust | gpu::kLeastShared | gpu::kLeastBindings;
        if ((cut & (shapes | gpu::kNoStorage16 | gpu::kGroupsOf128 | gpu::kFiveBuffers)) != 0) expectInline(&device);
        if ((cut & shapes) != 0) expectFused(&device);
    }
}

TEST_P(Lacking, EverythingLeavesTheCpusBits) {
    const uint32_t all = (1u << gpu::kCutCount) - 1;
    const uint32_t refused = gpu::kVulkan10 | gpu::kNoCompute, larger = gpu::kFiveBuffers | gpu::kGroupsOf256;
    for (const uint32_t discrete : {0u, uint32_t{gpu::kDiscrete}}) {
        rope::Device device = open((all & ~(refused | larger | gpu::kDiscrete | gpu::kRobust)) | discrete);
        ASSERT_TRUE(device);
        expectTable(&device);
        if (discrete == 0) continue;
        expectInline(&device);
        expectFused(&device);
    }
}

TEST_P(Lacking, SixteenBitStorageIsRefusedInASentenceThatSaysWhatWouldBeRight) {
    rope::Device device = open(gpu::kNoStorage16);
    ASSERT_TRUE(device);
    EXPECT_EQ(device.limits().enabled & ROPE_ENABLED_STORAGE_16, 0u);
    RopeBiasDescription d = {};
    d.kind = ROPE_BIAS_ALIBI;
    d.heads = 2;
    d.queries = d.keys = 3;
    d.element = ROPE_ELEMENT_F16;
    RopePlan plan;
    EXPECT_EQ(ropePlanBias(&d, &device.limits(), &plan), ROPE_ERROR_INVALID);
    const std::string reason = plan.reason.text;
    EXPECT_NE(reason.find("x has 16-bit scores at an odd offset, stride or number of keys"), std::string::npos)
        << reason;
    EXPECT_NE(reason.find("storageBuffer16BitAccess"), std::string::npos) << reason;
}

TEST_P(Lacking, LimitsAreThoseThatTheDeviceShows) {
    const struct {
        uint32_t cut;
        uint32_t RopeLimits::*limit;
        uint32_t wanted;
    } rows[] = {{gpu::kGroupsOf128, &RopeLimits::group_size, 128},
                {gpu::kLeastShared, &RopeLimits::shared_bytes, 16384},
                {gpu::kLeastBindings, &RopeLimits::storage_alignment, 256},
                {gpu::kLeastBindings, &RopeLimits::uniform_range, 16384},
                {gpu::kLeastBindings, &RopeLimits::storage_buffers, 4}};
    for (const auto& row : rows) EXPECT_EQ(open(row.cut).limits().*row.limit, row.wanted) << row.cut;
    EXPECT_EQ(open(gpu::kLeastBindings).limits().storage_range, 1u << 27);
}

TEST_P(Lacking, TimestampsAreSaidToBeAbsent) {
    for (const uint32_t cut : {gpu::kNoTimestamps, gpu::kNoTimestampPeriod}) {
        rope::Device device = open(cut);
        ASSERT_TRUE(device);
        EXPECT_FALSE(device.hasTimestamps());
        std::string error;
        double seconds = 0;
        EXPECT_TRUE(device.submit([](VkCommandBuffer) {}, &error, &seconds)) << error;
        EXPECT_LT(seconds, 0) << cut;
    }
}

// A transfer keeps what the device wrote beside the transfer's bytes, though both share an atom.
TEST_P(Lacking, CoherentMemoryKeepsWhatLiesBesideATransfer) {
    for (const uint32_t discrete : {0u, uint32_t{gpu::kDiscrete}}) {
        rope::Device device = open(gpu::kNotCoherent | discrete);
        ASSERT_TRUE(device);
        std::string error;
        rope::Buffer buffer;
        ASSERT_TRUE(device.makeBuffer(1000, &buffer, &error)) << error;
        ASSERT_TRUE(device.fill(buffer, 0x11, &error)) << error;
        const auto fill = [&](VkCommandBuffer commands) {
            device.vk().CmdFillBuffer(commands, buffer.handle(), 0, 1000, 0x22222222);
        };
        ASSERT_TRUE(device.submit(fill, &error)) << error;
        const uint8_t few[3] = {1, 2, 3};
        ASSERT_TRUE(device.upload(buffer, 997, few, 3, &error)) << error;
        ASSERT_TRUE(device.upload(buffer, 255, few, 3, &error)) << error;
        std::vector<uint8_t> wanted(1000, 0x22), got(1000);
        for (const ptrdiff_t at : {255, 997}) std::copy_n(few, 3, wanted.begin() + at);
        ASSERT_TRUE(device.download(buffer, 0, got.data(), 1000, &error)) << error;
        EXPECT_EQ(got, wanted);
    }
}

TEST_P(Lacking, LargeAllocationsAreRefusedInASentence) {
    for (const uint32_t discrete : {0u, uint32_t{gpu::kDiscrete}}) {
        rope::Device device = open(gpu::kSmallAllocations | discrete);
        ASSERT_TRUE(device);
        std::string error;
        rope::Buffer buffer;
        EXPECT_FALSE(device.makeBuffer((1 << 20) + 1, &buffer, &error));
        EXPECT_NE(error.find("takes 1 to 1048576 bytes"), std::string::npos) << error;
        ASSERT_TRUE(device.makeBuffer(1 << 20, &buffer, &error)) << error;
        std::vector<uint8_t> sent(1 << 20), got(1 << 20);
        for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint8_t>(i * 7 + i / 256);
        ASSERT_TRUE(device.upload(buffer, 0, sent.data(), sent.size(), &error)) << error;
        ASSERT_TRUE(device.download(buffer, 0, got.data(), got.size(), &error)) << error;
        EXPECT_EQ(got, sent);
    }
}

TEST_P(Lacking, AQueueOfComputeAloneIsFoundBehindOthers) {
    rope::Device device = open(gpu::kComputeFamily);
    ASSERT_TRUE(device);
    EXPECT_EQ(device.queueFamily(), 2u);
}

TEST_P(Lacking, RightConversionsAndSumsAreNotedFromTheSelfTest) {
    const struct {
        uint32_t cut;
        bool conversions; // may be proven
        RopeRounding rounding;
    } rows[] = {{0, true, ROPE_ROUNDING_NEAREST},
                {gpu::kFlushesHalves, false, ROPE_ROUNDING_NEAREST},
                {gpu::kTruncatesHalves, false, ROPE_ROUNDING_NEAREST},
                {gpu::kFusesFloats, true, ROPE_ROUNDING_OTHER}};
    const uint32_t own = open(0).limits().enabled & ROPE_ENABLED_NATIVE_HALVES;
    for (const auto& row : rows) {
        rope::Device device = open(row.cut);
        ASSERT_TRUE(device);
        EXPECT_EQ(device.limits().enabled & ROPE_ENABLED_NATIVE_HALVES, row.conversions ? own : 0) << row.cut;
        EXPECT_EQ(ropeGetRounding(device.context()), row.rounding) << row.cut;
    }
}

TEST_P(Lacking, AQueueThatComputesAndVulkan11AreRefusedInASentence) {
    const struct {
        uint32_t cut;
        const char* sentence;
    } rows[] = {
        {gpu::kVulkan10, " has Vulkan 1.0.82 and 1.1 is needed: install a newer driver or select another device"},
        {gpu::kNoCompute, " has no queue that computes: select another device"}};
    for (const auto& row : rows) {
        std::string error;
        EXPECT_FALSE(open(row.cut, &error));
        EXPECT_NE(error.find(row.sentence), std::string::npos) << error;
    }
}

INSTANTIATE_TEST_SUITE_P(Every, Lacking, testing::ValuesIn(gpu::deviceSetups()), gpu::setupName);

} // namespace
