// Time on the device, verified first. VKROPE_DEVICE names the device. Manual time is the device's own clock.
#include "bench.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

Bench bench;

void fail(const std::string& message) {
    std::fprintf(stderr, "bench: %s\n", message.c_str());
    std::exit(1);
}

rope::Buffer makeBuffer(const void* data, size_t bytes) {
    rope::Buffer buffer;
    if (!bench.device.makeBuffer(bytes, &buffer, &bench.error)) fail(bench.error);
    if (data != nullptr && !bench.device.upload(buffer, 0, data, bytes, &bench.error)) fail(bench.error);
    return buffer;
}

std::vector<float> noise(size_t count) {
    std::vector<float> values(count);
    uint32_t state = 1;
    for (float& value : values) {
        state = state * 1664525u + 1013904223u;
        value = static_cast<float>(state >> 8) * 0x1p-23f - 1;
    }
    return values;
}

rope::Buffer makeFrequencies(const RopeFrequencies& frequencies) {
    std::vector<uint32_t> words(ropeFrequencyBytes(frequencies.count) / 4);
    ropeWriteFrequencies(&frequencies, ROPE_ANGLE_EXACT, words.data(), nullptr);
    return makeBuffer(words.data(), words.size() * 4);
}

rope::Buffer makeRows(const RopeFrequencies& frequencies, uint32_t count, const rope::Buffer& made) {
    RopeTableDescription table = {};
    table.frequencies = frequencies;
    table.tokens = count;
    table.positions.kind = ROPE_POSITIONS_COUNTED;
    RopePlan plan;
    if (ropePlanTable(&table, &bench.device.limits(), &plan) != ROPE_SUCCESS) fail(plan.reason.text);
    rope::Buffer rows = makeBuffer(nullptr, plan.bytes[ROPE_SLOT_ROWS]);
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_FREQUENCIES] = made.slot();
    slots.slots[ROPE_SLOT_ROWS] = rows.slot();
    if (!bench.device.run(&plan, 1, &slots, &bench.error)) fail(bench.error);
    return rows;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

double copySeconds(const rope::Buffer& from, const rope::Buffer& to, size_t bytes) {
    const VkBufferCopy region = {0, 0, bytes};
    const auto record = [&](VkCommandBuffer commands) {
        bench.device.vk().CmdCopyBuffer(commands, from.handle(), to.handle(), 1, &region);
    };
    double seconds = 0;
    if (!bench.device.submit(record, &bench.error, &seconds)) fail(bench.error);
    return seconds;
}

int main(int argc, char** argv) {
    rope::DeviceOptions options;
    if (const char* select = std::getenv("VKROPE_DEVICE")) options.select = select;
    bench.device = rope::Device::open(options, &bench.error);
    if (!bench.device) fail(bench.error);
    if (!bench.device.hasTimestamps()) fail("the device's queue has no timestamps");
    std::printf("device: %s\n", rope::describe(bench.device.info()).c_str());
    RopeRule rule = {};
    rule.rotary_dim = kHeadDim;
    rule.base = 500000;
    double scale;
    ropeMakeFrequencies(&rule, bench.frequencies.data(), &scale, nullptr);
    registerRotate();
    registerFused();
    registerOther();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    bench.device = rope::Device();
    return 0;
}
