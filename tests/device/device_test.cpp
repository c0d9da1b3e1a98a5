// The device target refuses faults in words that help, and runs several plans in one submission.
#include "support/gpu.hpp"
#include "support/sample.hpp"

namespace {

TEST(DeviceOpen, NamesWhatIsPresentWhereNothingMatches) {
    std::string error;
    if (rope::listDevices(&error).empty()) GTEST_SKIP() << error;
    rope::DeviceOptions options;
    options.select = "no such device";
    EXPECT_FALSE(rope::Device::open(options, &error));
    EXPECT_NE(error.find("no such device"), std::string::npos) << error;
    EXPECT_NE(error.find("0 "), std::string::npos) << error;
    for (const char* index : {"99", "256", "15"}) { // digits mean an index, though names have them too
        options.select = index;
        EXPECT_FALSE(rope::Device::open(options, &error));
        EXPECT_NE(error.find(index), std::string::npos) << error;
    }
}

TEST(DeviceOpen, SaysWhatToInstallWhereThereIsNoDriver) {
    std::string error;
    rope::DeviceOptions options;
    options.get_instance_proc_addr = [](VkInstance, const char*) -> PFN_vkVoidFunction { return nullptr; };
    EXPECT_FALSE(rope::Device::open(options, &error));
    EXPECT_FALSE(error.empty());
}

TEST(DeviceOpen, AnEmptyDeviceRefusesCallsInWords) {
    rope::Device none;
    rope::Buffer buffer;
    RopePlan plan = {};
    RopeBuffers buffers = {};
    std::string error;
    EXPECT_FALSE(none.makeBuffer(4, &buffer, &error));
    EXPECT_EQ(error, "the device is empty: open one");
    EXPECT_FALSE(none.run(&plan, 1, &buffers, &error));
    EXPECT_FALSE(none.submit([](VkCommandBuffer) {}, &error));
    EXPECT_FALSE(none.upload(buffer, 0, "", 1, &error));
    EXPECT_FALSE(none.fill(buffer, 0, &error));
    EXPECT_FALSE(none.isStuck());
}

class Submission : public gpu::OnDevice {};

// There is one command buffer: a call within a recording would begin it anew.
TEST_P(Submission, RefusesCallsWithinARecording) {
    rope::Buffer buffer;
    std::string error, inner;
    ASSERT_TRUE(device().makeBuffer(64, &buffer, &error)) << error;
    bool nested = true;
    EXPECT_TRUE(
        device().submit([&](VkCommandBuffer) { nested = device().submit([](VkCommandBuffer) {}, &inner); }, &error))
        << error;
    EXPECT_FALSE(nested);
    EXPECT_NE(inner.find("is being recorded"), std::string::npos) << inner;
    EXPECT_FALSE(device().submit(nullptr, &error));
    EXPECT_EQ(error, "nothing records the submission: give a function");
    EXPECT_THROW(device().submit([](VkCommandBuffer) { throw 1; }, &error), int);
    EXPECT_TRUE(device().submit([](VkCommandBuffer) {}, &error)) << error;
}

// The rotation reads the table's rows of the same submission. Without a barrier between them synchronization validation
// speaks up, and the bits may differ.
TEST_P(Submission, MakesRowsAndRotatesByThemInOrder) {
    const std::vector<double> frequencies = sample::frequencies(10000, 64);
    const std::vector<uint32_t> words = sample::words(frequencies, ROPE_ANGLE_EXACT);
    RopeTableDescription table = {};
    table.frequencies = {frequencies.data(), 32, 1, nullptr, 1};
    table.tokens = 100;
    RopeRotateDescription rotate = {};
    rotate.tokens = 100;
    rotate.head_dim = 64;
    rotate.q.heads = 4;
    rotate.rotation.source = ROPE_SOURCE_ROWS;
    RopePlan plans[2];
    ASSERT_EQ(ropePlanTable(&table, &device().limits(), &plans[0]), ROPE_SUCCESS) << plans[0].reason.text;
    ASSERT_EQ(ropePlanRotate(&rotate, &device().limits(), &plans[1]), ROPE_SUCCESS) << plans[1].reason.text;

    std::vector<int32_t> positions(100);
    for (uint32_t i = 0; i < 100; ++i) positions[i] = static_cast<int32_t>(i * i) - 50;
    const std::vector<float> q = sample::values(100 * 4 * 64, 1);
    std::string error;
    rope::Buffer buffers[4];
    RopeBuffers slots[2] = {};
    const struct {
        RopeSlot slot;
        const void* data;
        size_t bytes;
    } given[] = {{ROPE_SLOT_POSITIONS, positions.data(), 400},
                 {ROPE_SLOT_FREQUENCIES, words.data(), words.size() * 4},
                 {ROPE_SLOT_ROWS, nullptr, plans[0].bytes[ROPE_SLOT_ROWS]},
                 {ROPE_SLOT_Q, q.data(), q.size() * 4}};
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(device().makeBuffer(given[i].bytes, &buffers[i], &error)) << error;
        if (given[i].data != nullptr) {
            ASSERT_TRUE(device().upload(buffers[i], 0, given[i].data, given[i].bytes, &error)) << error;
        }
        slots[0].slots[given[i].slot] = slots[1].slots[given[i].slot] = buffers[i].slot();
    }
    ASSERT_TRUE(device().run(plans, 2, slots, &error)) << error;
    std::vector<float> got(q.size()), wanted(q.size());
    ASSERT_TRUE(device().download(buffers[3], 0, got.data(), got.size() * 4, &error)) << error;
    rotate.rotation.source = ROPE_SOURCE_INLINE;
    rotate.rotation.frequencies = table.frequencies;
    RopeHostRotate host = {};
    host.positions = positions.data();
    host.q = q.data();
    host.q_out = wanted.data();
    ASSERT_EQ(ropeHostRunRotate(&rotate, &host, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(got, wanted);
}

TEST_P(Submission, RefusesABufferThatIsMissingOrTooSmallATransfer) {
    RopePlan plan;
    ASSERT_EQ(ropePlanSelfTest(&device().limits(), &plan), ROPE_SUCCESS);
    const RopeBuffers none = {};
    std::string error;
    EXPECT_FALSE(device().run(&plan, 1, &none, &error));
    EXPECT_FALSE(error.empty());
    rope::Buffer buffer;
    ASSERT_TRUE(device().makeBuffer(64, &buffer, &error)) << error;
    char bytes[128] = {};
    RopeBuffers small = {};
    small.slots[ROPE_SLOT_COUNTER] = buffer.slot(16);
    EXPECT_FALSE(device().run(&plan, 1, &small, &error));
    EXPECT_NE(error.find("80 bytes of counter"), std::string::npos) << error;
    EXPECT_FALSE(device().upload(buffer, 0, bytes, 65, &error));
    EXPECT_FALSE(device().download(buffer, 32, bytes, 33, &error));
    EXPECT_TRUE(device().download(buffer, 32, bytes, 32, &error)) << error;
}

ROPE_ON_EVERY_DEVICE(Submission);

} // namespace
