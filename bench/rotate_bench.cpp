// Time on the device: the rotation of Llama-3-8B's Q and K, verified first, beside vkCmdCopyBuffer of the same bytes.
// VKROPE_DEVICE names the device. Manual time is the device's own clock.
#include "device.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr uint32_t kHeadDim = 128;

struct Bench {
    rope::Device device;
    std::vector<double> frequencies = std::vector<double>(kHeadDim / 2);
    std::string error;
};
Bench bench;

[[noreturn]] void fail(const std::string& message) {
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

struct Case {
    RopeRotateDescription description = {};
    RopePlan plan;
    std::vector<rope::Buffer> buffers;
    RopeBuffers slots = {};
    std::vector<float> input[2];

    void add(RopeSlot slot, const void* data) {
        buffers.push_back(makeBuffer(data, plan.bytes[slot]));
        slots.slots[slot] = buffers.back().slot();
    }
};

void fillRows(Case* c) {
    RopeTableDescription table = {};
    table.frequencies = c->description.frequencies;
    table.tokens = c->description.tokens;
    table.positions.kind = ROPE_POSITIONS_COUNTED;
    RopePlan plan;
    if (ropePlanTable(&table, &bench.device.limits(), &plan) != ROPE_SUCCESS) fail(plan.reason.text);
    std::vector<uint32_t> words(ropeFrequencyBytes(kHeadDim / 2) / 4);
    ropeWriteFrequencies(&table.frequencies, ROPE_ANGLE_EXACT, words.data(), nullptr);
    c->buffers.push_back(makeBuffer(words.data(), words.size() * 4));
    c->slots.slots[ROPE_SLOT_FREQUENCIES] = c->buffers.back().slot();
    if (c->plan.bytes[ROPE_SLOT_ROWS] == 0) return;
    c->add(ROPE_SLOT_ROWS, nullptr);
    if (!bench.device.run(&plan, 1, &c->slots, &bench.error)) fail(bench.error);
}

// The first and the last token against the CPU's bits.
void verify(const Case& c) {
    const RopeRotateDescription& d = c.description;
    for (int i = 0; i < 2; ++i) {
        const uint32_t row = (i == 0 ? d.q.heads : d.k.heads) * kHeadDim;
        for (const uint32_t token : {0u, d.tokens - 1}) {
            RopeRotateDescription one = d;
            one.tokens = 1;
            one.source = ROPE_SOURCE_INLINE;
            one.positions.kind = ROPE_POSITIONS_COUNTED;
            one.positions.first = static_cast<int32_t>(token);
            one.q.heads = row / kHeadDim;
            one.k.heads = 0;
            std::vector<float> wanted(row), got(row);
            RopeHostRotate host = {};
            host.q = c.input[i].data() + size_t{token} * row;
            host.q_out = wanted.data();
            if (ropeHostRunRotate(&one, &host, nullptr) != ROPE_SUCCESS) fail("the reference refused");
            const rope::Buffer& buffer = c.buffers[i];
            if (!bench.device.download(buffer, uint64_t{token} * row * 4, got.data(), row * 4, &bench.error)) {
                fail(bench.error);
            }
            if (got != wanted) fail("wrong results; nothing was timed");
        }
    }
}

// Sections of a text model whose images have positions of three axes; here all three are the token's index.
const uint8_t* axesOfSections() {
    static uint8_t axes[kHeadDim / 2];
    const uint32_t sections[3] = {16, 24, 24};
    if (ropeSetAxes(ROPE_AXES_CONTIGUOUS, sections, 3, kHeadDim / 2, axes, nullptr) != ROPE_SUCCESS) fail("sections");
    return axes;
}

struct Kind {
    const char* name;
    RopeSource source;
    bool axes;
};

Case makeCase(uint32_t tokens, const Kind& kind) {
    Case c;
    c.description.tokens = tokens;
    c.description.head_dim = kHeadDim;
    c.description.q.heads = 32;
    c.description.k.heads = 8;
    c.description.source = kind.source;
    c.description.rows.count = tokens;
    c.description.frequencies = {bench.frequencies.data(), kHeadDim / 2, 1, kind.axes ? axesOfSections() : nullptr, 1};
    if (ropePlanRotate(&c.description, &bench.device.limits(), &c.plan) != ROPE_SUCCESS) fail(c.plan.reason.text);
    c.input[0] = noise(c.plan.bytes[ROPE_SLOT_Q] / 4);
    c.input[1] = noise(c.plan.bytes[ROPE_SLOT_K] / 4);
    c.add(ROPE_SLOT_Q, c.input[0].data());
    c.add(ROPE_SLOT_K, c.input[1].data());
    std::vector<int32_t> positions(3 * tokens);
    for (uint32_t t = 0; t < 3 * tokens; ++t) positions[t] = static_cast<int32_t>(t % tokens);
    if (c.plan.bytes[ROPE_SLOT_POSITIONS] != 0) c.add(ROPE_SLOT_POSITIONS, positions.data());
    fillRows(&c);
    if (!bench.device.run(&c.plan, 1, &c.slots, &bench.error)) fail(bench.error);
    verify(c);
    return c;
}

void rotate(benchmark::State& state, const Kind& kind) {
    const Case c = makeCase(static_cast<uint32_t>(state.range(0)), kind);
    for (auto _ : state) {
        double seconds = 0;
        if (!bench.device.run(&c.plan, 1, &c.slots, &bench.error, &seconds)) fail(bench.error);
        state.SetIterationTime(seconds);
    }
    const uint64_t bytes = 2 * (c.plan.bytes[ROPE_SLOT_Q] + c.plan.bytes[ROPE_SLOT_K]);
    state.SetBytesProcessed(static_cast<int64_t>(bytes * state.iterations()));
}

void copy(benchmark::State& state) {
    const size_t bytes = static_cast<size_t>(state.range(0)) * 40 * kHeadDim * 4;
    const std::vector<float> values = noise(bytes / 4);
    const rope::Buffer from = makeBuffer(values.data(), bytes), to = makeBuffer(nullptr, bytes);
    const VkBufferCopy region = {0, 0, bytes};
    for (auto _ : state) {
        double seconds = 0;
        const auto record = [&](VkCommandBuffer commands) {
            bench.device.vk().CmdCopyBuffer(commands, from.handle(), to.handle(), 1, &region);
        };
        if (!bench.device.submit(record, &bench.error, &seconds)) fail(bench.error);
        state.SetIterationTime(seconds);
    }
    state.SetBytesProcessed(static_cast<int64_t>(2 * bytes * state.iterations()));
}

// On the CPU: what a host pays for a plan, and for each dispatch of it before the Vulkan calls.
void plan(benchmark::State& state) {
    RopeRotateDescription d = {};
    d.tokens = 4096;
    d.head_dim = kHeadDim;
    d.q.heads = 32;
    d.k.heads = 8;
    d.frequencies = {bench.frequencies.data(), kHeadDim / 2, 1, nullptr, 1};
    RopePlan made;
    for (auto _ : state) {
        if (ropePlanRotate(&d, &bench.device.limits(), &made) != ROPE_SUCCESS) fail(made.reason.text);
        benchmark::DoNotOptimize(made);
    }
}

void dispatch(benchmark::State& state) {
    const Case c = makeCase(1, {"", ROPE_SOURCE_INLINE, false});
    RopeDispatch made;
    for (auto _ : state) {
        ropeGetDispatch(&c.plan, 0, &made);
        benchmark::DoNotOptimize(made);
    }
}

void registerAll() {
    static const Kind kKinds[] = {{"rotate/inline", ROPE_SOURCE_INLINE, false},
                                  {"rotate/table", ROPE_SOURCE_TABLE, false},
                                  {"rotate/rows", ROPE_SOURCE_ROWS, false},
                                  {"rotate/axes/inline", ROPE_SOURCE_INLINE, true},
                                  {"rotate/axes/table", ROPE_SOURCE_TABLE, true}};
    benchmark::RegisterBenchmark("plan", plan);
    benchmark::RegisterBenchmark("dispatch", dispatch);
    for (const int tokens : {1, 32, 512, 4096}) {
        for (const Kind& kind : kKinds) {
            benchmark::RegisterBenchmark(kind.name, rotate, kind)->Arg(tokens)->UseManualTime();
        }
        benchmark::RegisterBenchmark("vkCmdCopyBuffer", copy)->Arg(tokens)->UseManualTime();
    }
}

} // namespace

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
    registerAll();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    bench.device = rope::Device();
    return 0;
}
