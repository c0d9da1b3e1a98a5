// The rotation of Llama-3-8B's Q and K, verified first, beside kernels that move the same bytes and compute nothing.
#include "baselines.hpp"
#include "bench.hpp"

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>

namespace {

constexpr double kScale = 1.1386294361119891; // YaRN's, for a context four times as long

struct Kind {
    const char* name;
    RopeSource source;
    RopeElement element;
    bool elsewhere;
    bool axes;
    double scale;
};

struct Case {
    RopeRotateDescription description = {};
    RopePlan plan;
    std::vector<rope::Buffer> buffers;
    RopeBuffers slots = {};
    std::vector<uint8_t> input[2];

    void add(RopeSlot slot, rope::Buffer buffer) {
        buffers.push_back(std::move(buffer));
        slots.slots[slot] = buffers.back().slot();
    }
    double seconds(const RopePlan& what) const {
        double seconds = 0;
        if (!bench.device.run(&what, 1, &slots, &bench.error, &seconds)) fail(bench.error);
        return seconds;
    }
};

const rope::Buffer& bufferOf(const Case& c, RopeSlot slot) {
    for (const rope::Buffer& buffer : c.buffers) {
        if (buffer.handle() == c.slots.slots[slot].buffer) return buffer;
    }
    fail("no such buffer");
}

// The first and the last token against the CPU's bits.
void verify(const Case& c) {
    const RopeRotateDescription& d = c.description;
    const uint32_t bytes = ropeElementBytes(d.element_in);
    for (int i = 0; i < 2; ++i) {
        const uint32_t row = (i == 0 ? d.q.heads : d.k.heads) * kHeadDim * bytes;
        const RopeSlot out =
            d.elsewhere != 0 ? (i == 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_K_OUT) : (i == 0 ? ROPE_SLOT_Q : ROPE_SLOT_K);
        for (const uint32_t token : {0u, d.tokens - 1}) {
            RopeRotateDescription one = d;
            one.tokens = 1;
            one.source = ROPE_SOURCE_INLINE;
            one.positions.kind = ROPE_POSITIONS_COUNTED;
            one.positions.first = static_cast<int32_t>(token);
            one.q.heads = row / bytes / kHeadDim;
            one.k.heads = 0;
            std::vector<uint8_t> wanted(row), got(row);
            RopeHostRotate host = {};
            host.q = c.input[i].data() + size_t{token} * row;
            host.q_out = wanted.data();
            if (ropeHostRunRotate(&one, &host, nullptr) != ROPE_SUCCESS) fail("the reference refused");
            if (!bench.device.download(bufferOf(c, out), uint64_t{token} * row, got.data(), row, &bench.error))
                fail(bench.error);
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

void addTensors(Case* c) {
    const RopeSlot slots[2][2] = {{ROPE_SLOT_Q, ROPE_SLOT_Q_OUT}, {ROPE_SLOT_K, ROPE_SLOT_K_OUT}};
    for (int i = 0; i < 2; ++i) {
        const uint64_t bytes = c->plan.bytes[slots[i][0]];
        const size_t count = bytes / ropeElementBytes(c->description.element_in);
        c->input[i].resize(bytes);
        ropeConvertElements(noise(count).data(), ROPE_ELEMENT_F32, c->input[i].data(), c->description.element_in,
                            count);
        c->add(slots[i][0], makeBuffer(c->input[i].data(), bytes));
        if (c->description.elsewhere != 0) c->add(slots[i][1], makeBuffer(nullptr, c->plan.bytes[slots[i][1]]));
    }
}

Case makeCase(uint32_t tokens, const Kind& kind) {
    Case c;
    RopeRotateDescription& d = c.description;
    d.tokens = tokens;
    d.head_dim = kHeadDim;
    d.q.heads = 32;
    d.k.heads = 8;
    d.source = kind.source;
    d.element_in = d.element_out = kind.element;
    d.elsewhere = kind.elsewhere;
    d.rows.count = tokens;
    d.frequencies = {bench.frequencies.data(), kHeadDim / 2, kind.scale, kind.axes ? axesOfSections() : nullptr, 1};
    if (ropePlanRotate(&d, &bench.device.limits(), &c.plan) != ROPE_SUCCESS) fail(c.plan.reason.text);
    addTensors(&c);
    std::vector<int32_t> positions(3 * tokens);
    for (uint32_t t = 0; t < 3 * tokens; ++t) positions[t] = static_cast<int32_t>(t % tokens);
    const uint64_t position_bytes = c.plan.bytes[ROPE_SLOT_POSITIONS];
    if (position_bytes != 0) c.add(ROPE_SLOT_POSITIONS, makeBuffer(positions.data(), position_bytes));
    c.add(ROPE_SLOT_FREQUENCIES, makeFrequencies(d.frequencies));
    if (c.plan.bytes[ROPE_SLOT_ROWS] != 0) c.add(ROPE_SLOT_ROWS, makeRows(d.frequencies, tokens, c.buffers.back()));
    c.seconds(c.plan);
    verify(c);
    return c;
}

// What the rotation stands beside, one of each: all are timed in every round, the rotation at another place each time.
struct Rival {
    std::string name;
    std::function<double()> seconds;
    std::vector<double> ratios; // the rotation's time to this one's, of each round
    std::vector<double> times;
};

using Buffers = std::vector<rope::Buffer>;

Rival rivalOf(const std::string& name, const RopePlan& plan, const RopeBuffers& slots,
              std::shared_ptr<const Buffers> buffers) {
    const auto seconds = [plan, slots, buffers] {
        double seconds = 0;
        if (!bench.device.run(&plan, 1, &slots, &bench.error, &seconds)) fail(bench.error);
        return seconds;
    };
    return {name, seconds, {}, {}};
}

RopePlan unscaledPlan(const Case& c) {
    RopeRotateDescription d = c.description;
    d.frequencies.scale = 1;
    RopePlan plan;
    if (ropePlanRotate(&d, &bench.device.limits(), &plan) != ROPE_SUCCESS) fail(plan.reason.text);
    return plan;
}

// On tensors of their own: what they make of floats, a rotation might be slow with.
std::vector<Rival> rivalsInPlace(const Case& c) {
    const auto buffers = std::make_shared<Buffers>();
    RopeBuffers slots = c.slots;
    const RopeSlot tensors[] = {ROPE_SLOT_Q, ROPE_SLOT_K};
    for (int i = 0; i < 2; ++i) {
        buffers->push_back(makeBuffer(c.input[i].data(), c.input[i].size()));
        slots.slots[tensors[i]] = buffers->back().slot();
    }
    if (c.description.frequencies.scale != 1) return {rivalOf("unscaled", unscaledPlan(c), slots, buffers)};
    std::vector<Rival> rivals = {rivalOf("empty", emptyPlan(c.plan), slots, buffers),
                                 rivalOf("negate", negatePlan(c.plan, false), slots, buffers)};
    if (c.description.frequencies.axes == nullptr)
        rivals.push_back(rivalOf("loads", negatePlan(c.plan, true), slots, buffers));
    return rivals;
}

std::vector<Rival> rivalsElsewhere(const Case& c) {
    const uint64_t bytes = c.plan.bytes[ROPE_SLOT_Q] + c.plan.bytes[ROPE_SLOT_K];
    const auto buffers = std::make_shared<Buffers>();
    buffers->push_back(makeBuffer(noise(bytes / 4).data(), bytes));
    buffers->push_back(makeBuffer(nullptr, bytes));
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_Q] = (*buffers)[0].slot();
    slots.slots[ROPE_SLOT_Q_OUT] = (*buffers)[1].slot();
    std::vector<Rival> rivals = {rivalOf("empty", emptyPlan(c.plan), c.slots, nullptr)};
    for (const uint32_t vectors : {1u, 2u, 4u, 8u}) {
        const RopePlan plan = copyPlan(bytes, vectors, bench.device.limits());
        rivals.push_back(rivalOf("copy_" + std::to_string(vectors), plan, slots, buffers));
    }
    const auto copied = [buffers, bytes] { return copySeconds((*buffers)[0], (*buffers)[1], bytes); };
    rivals.push_back({"vkCmdCopyBuffer", copied, {}, {}});
    return rivals;
}

void rotate(benchmark::State& state, const Kind& kind) {
    const Case c = makeCase(static_cast<uint32_t>(state.range(0)), kind);
    std::vector<Rival> rivals = c.description.elsewhere != 0 ? rivalsElsewhere(c) : rivalsInPlace(c);
    std::vector<double> times;
    for (Rival& rival : rivals) rival.seconds();
    for (auto _ : state) {
        const size_t turn = times.size() % (rivals.size() + 1);
        for (size_t i = 0; i < rivals.size(); ++i) {
            if (i == turn) times.push_back(c.seconds(c.plan));
            rivals[i].times.push_back(rivals[i].seconds());
        }
        if (turn == rivals.size()) times.push_back(c.seconds(c.plan));
        for (Rival& rival : rivals) rival.ratios.push_back(times.back() / rival.times.back());
        state.SetIterationTime(times.back());
    }
    state.counters["us"] = median(times) * 1e6;
    const uint64_t bytes = 2 * (c.plan.bytes[ROPE_SLOT_Q] + c.plan.bytes[ROPE_SLOT_K]);
    state.counters["GB/s"] = static_cast<double>(bytes) / median(times) * 1e-9;
    for (const Rival& rival : rivals) state.counters["to_" + rival.name] = median(rival.ratios);
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
    const Case c = makeCase(1, {"", ROPE_SOURCE_INLINE, ROPE_ELEMENT_F32, false, false, 1});
    RopeDispatch made;
    for (auto _ : state) {
        ropeGetDispatch(&c.plan, 0, &made);
        benchmark::DoNotOptimize(made);
    }
}

void registerKinds(const char* element_name, RopeElement element) {
    static const struct {
        const char* name;
        RopeSource source;
        bool axes;
        double scale;
    } kSources[] = {{"inline", ROPE_SOURCE_INLINE, false, 1},
                    {"table", ROPE_SOURCE_TABLE, false, 1},
                    {"rows", ROPE_SOURCE_ROWS, false, 1},
                    {"axes/inline", ROPE_SOURCE_INLINE, true, 1},
                    {"axes/table", ROPE_SOURCE_TABLE, true, 1},
                    {"scaled/inline", ROPE_SOURCE_INLINE, false, kScale},
                    {"scaled/table", ROPE_SOURCE_TABLE, false, kScale},
                    {"scaled/rows", ROPE_SOURCE_ROWS, false, kScale}};
    for (const auto& source : kSources) {
        for (const bool elsewhere : {false, true}) {
            if (source.axes && (elsewhere || element != ROPE_ELEMENT_F32)) continue;
            const std::string name =
                std::string(elsewhere ? "elsewhere/" : "rotate/") + source.name + "/" + element_name;
            if (source.scale != 1 && elsewhere) continue;
            const Kind kind = {"", source.source, element, elsewhere, source.axes, source.scale};
            for (const int tokens : {1, 32, 512, 4096}) {
                benchmark::RegisterBenchmark(name.c_str(), rotate, kind)
                    ->Arg(tokens)
                    ->UseManualTime()
                    ->Iterations(tokens < 512 ? 101 : 21);
            }
        }
    }
}

} // namespace

void registerRotate() {
    benchmark::RegisterBenchmark("plan", plan);
    benchmark::RegisterBenchmark("dispatch", dispatch);
    registerKinds("f32", ROPE_ELEMENT_F32);
    registerKinds("f16", ROPE_ELEMENT_F16);
    registerKinds("bf16", ROPE_ELEMENT_BF16);
}
