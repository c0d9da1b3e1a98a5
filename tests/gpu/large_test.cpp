// A tensor of the largest size that fits here, far past one binding's range, rotated in parts.
#include "plan/pass.h"
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include <cstdio>
#include <cstring>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <unistd.h>
#endif

namespace {

constexpr uint32_t kHeads = 32, kHeadDim = 128, kRow = kHeads * kHeadDim;

// Any element's input from its index alone.
float inputAt(uint64_t element) {
    const uint32_t mixed = static_cast<uint32_t>((element * 0x9E3779B97F4A7C15ull) >> 40);
    return static_cast<float>(mixed) * 0x1p-23f - 1;
}

std::vector<float> inputOf(uint64_t token, uint64_t tokens) {
    std::vector<float> row(tokens * kRow);
    for (size_t i = 0; i < row.size(); ++i) row[i] = inputAt(token * kRow + i);
    return row;
}

uint64_t availableMemory() {
#ifdef _WIN32
    MEMORYSTATUSEX status = {};
    status.dwLength = sizeof status;
    return GlobalMemoryStatusEx(&status) ? status.ullAvailPhys : 0;
#else
    return static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
#endif
}

class Large : public gpu::OnDevice {
  protected:
    // As many tokens as the device allocates, within a sixteenth, and the host has four times as much memory of.
    uint32_t makeLargest(rope::Buffer* q) {
        const uint64_t available = availableMemory();
        std::string error;
        const uint32_t most = GetParam().repeats_device ? 1u << 14 : 1u << 18; // once of the largest is enough
        for (uint32_t tokens = most; tokens > 1024; tokens = tokens / 16 * 15 / 1024 * 1024) {
            const uint64_t bytes = uint64_t{tokens} * kRow * 4;
            if (bytes <= available / 4 && device().makeBuffer(bytes, q, &error)) return tokens;
        }
        return 0;
    }
};

TEST_P(Large, TensorPastABindingsRangeHasTheCpusBitsInEveryPart) {
    rope::Buffer q, words;
    const uint32_t tokens = makeLargest(&q);
    if (tokens == 0) GTEST_SKIP() << "no memory for a large tensor";
    std::string error;
    const uint32_t slab = 1024;
    for (uint32_t token = 0; token < tokens; token += slab) {
        const std::vector<float> rows = inputOf(token, slab);
        ASSERT_TRUE(device().upload(q, uint64_t{token} * kRow * 4, rows.data(), rows.size() * 4, &error)) << error;
    }
    const std::vector<double> frequencies = sample::frequencies(500000, kHeadDim);
    const std::vector<uint32_t> block = sample::words(frequencies, ROPE_ANGLE_EXACT);
    ASSERT_TRUE(device().makeBuffer(block.size() * 4, &words, &error)) << error;
    ASSERT_TRUE(device().upload(words, 0, block.data(), block.size() * 4, &error)) << error;

    RopeRotateDescription d = {};
    d.tokens = tokens;
    d.head_dim = kHeadDim;
    d.rotation.frequencies = {frequencies.data(), kHeadDim / 2, 1, nullptr, 1};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = 7;
    d.q.heads = kHeads;
    RopeLimits limits = device().limits();
    limits.storage_range = 1u << 27; // the floor's, where the device has more
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_GT(ropeDispatchCount(&plan), 1u);
    RopeBuffers buffers = {};
    buffers.slots[ROPE_SLOT_Q] = q.slot();
    buffers.slots[ROPE_SLOT_FREQUENCIES] = words.slot();
    ASSERT_TRUE(device().run(&plan, 1, &buffers, &error)) << error;
    std::printf("%s: %.2f GiB in %u dispatches\n", GetParam().name.c_str(),
                static_cast<double>(plan.bytes[ROPE_SLOT_Q]) * 0x1p-30, ropeDispatchCount(&plan));

    // Each part's first and last token, and some between.
    std::vector<uint32_t> checked;
    for (uint32_t begin = 0; begin < tokens; begin += rope::passAt(plan, 0).step[1]) {
        checked.push_back(begin);
        if (begin != 0) checked.push_back(begin - 1);
    }
    sample::Random random(1);
    for (int i = 0; i < 100; ++i) checked.push_back(random.below(tokens));
    checked.push_back(tokens - 1);
    d.tokens = 1;
    for (const uint32_t token : checked) {
        std::vector<float> wanted = inputOf(token, 1), got(kRow);
        d.positions.first = 7 + static_cast<int32_t>(token);
        RopeHostRotate host = {};
        host.q = host.q_out = wanted.data();
        ASSERT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
        ASSERT_TRUE(device().download(q, uint64_t{token} * kRow * 4, got.data(), kRow * 4, &error)) << error;
        ASSERT_EQ(got, wanted) << token;
    }
}

// Where a device binds 4 GiB, one binding has more elements of four bits than 32 bits count. Elsewhere the largest that
// fits has few.
TEST_P(Large, SlotsOfACacheOfBlocksHaveTheCpusBits) {
    RopeFusedDescription d = {};
    d.tokens = 4;
    d.head_dim = kHeadDim;
    d.k.heads = kHeads / 4; // so that the tokens are one row of inputs
    const std::vector<double> frequencies = sample::frequencies(500000, kHeadDim);
    d.rotation.frequencies = {frequencies.data(), kHeadDim / 2, 1, nullptr, 1};
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.map_in_positions = 1;
    d.k.element = d.v.element = ROPE_ELEMENT_Q4_0;
    d.cache.map_offset = d.tokens;
    RopePlan plan;
    rope::Buffer cache, words, places, source;
    std::string error;
    for (const uint32_t slots : {(1u << 22) + 1, (1u << 20) + 1, 1u << 16}) {
        d.cache.slots = slots;
        if (ropePlanFused(&d, &device().limits(), &plan) == ROPE_ERROR_TOO_LARGE) continue;
        ASSERT_EQ(plan.reason.text[0], '\0') << plan.reason.text;
        const uint64_t bytes = plan.bytes[ROPE_SLOT_K_OUT];
        if (bytes <= availableMemory() / 4 && device().makeBuffer(bytes, &cache, &error)) break;
    }
    if (!cache) GTEST_SKIP() << "no memory for a large cache";
    const std::vector<int32_t> slots = {0, static_cast<int32_t>(d.cache.slots - 1),
                                        static_cast<int32_t>(d.cache.slots / 2), 1};
    std::vector<int32_t> lists = {5, 6, 7, 8};
    lists.insert(lists.end(), slots.begin(), slots.end());
    const std::vector<float> k = inputOf(0, 1);
    const std::vector<uint32_t> block = sample::words(frequencies, ROPE_ANGLE_EXACT);
    const auto send = [&](rope::Buffer* buffer, const void* data, uint64_t bytes) {
        return device().makeBuffer(bytes, buffer, &error) && device().upload(*buffer, 0, data, bytes, &error);
    };
    ASSERT_TRUE(send(&words, block.data(), block.size() * 4)) << error;
    ASSERT_TRUE(send(&places, lists.data(), lists.size() * 4)) << error;
    ASSERT_TRUE(send(&source, k.data(), k.size() * 4)) << error;
    RopeBuffers buffers = {};
    buffers.slots[ROPE_SLOT_K] = source.slot();
    buffers.slots[ROPE_SLOT_K_OUT] = cache.slot();
    buffers.slots[ROPE_SLOT_POSITIONS] = places.slot();
    buffers.slots[ROPE_SLOT_FREQUENCIES] = words.slot();
    ASSERT_TRUE(device().run(&plan, 1, &buffers, &error)) << error;

    const uint64_t slot_bytes = plan.bytes[ROPE_SLOT_K_OUT] / d.cache.slots;
    RopeFusedDescription few = d;
    few.cache.slots = d.tokens;
    for (int32_t token = 0; token < 4; ++token) lists[static_cast<size_t>(4 + token)] = token;
    std::vector<uint8_t> wanted(slot_bytes * few.cache.slots), got(slot_bytes);
    RopeHostFused host = {};
    host.k = k.data();
    host.k_out = wanted.data();
    host.positions = lists.data();
    ASSERT_EQ(ropeHostRunFused(&few, &host, nullptr), ROPE_SUCCESS);
    for (size_t token = 0; token < slots.size(); ++token) {
        const uint64_t at = static_cast<uint64_t>(slots[token]) * slot_bytes;
        ASSERT_TRUE(device().download(cache, at, got.data(), slot_bytes, &error)) << error;
        EXPECT_EQ(std::memcmp(got.data(), &wanted[token * slot_bytes], slot_bytes), 0) << "slot " << slots[token];
    }
}

ROPE_ON_EVERY_DEVICE(Large);

} // namespace
