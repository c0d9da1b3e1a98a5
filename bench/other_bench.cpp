// The encodings beside RoPE, each verified against the CPU's bits and timed in turns with copies of the same bytes.
#include "baselines.hpp"
#include "bench.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>

namespace {

// One plan with its buffers, and the slot that it writes.
struct Case {
    RopePlan plan;
    RopeBuffers slots = {};
    std::vector<rope::Buffer> buffers;
    uint64_t bytes = 0; // read and written

    void add(RopeSlot slot, const void* data, uint64_t size) {
        buffers.push_back(makeBuffer(data, size));
        slots.slots[slot] = buffers.back().slot();
    }
    double seconds() const {
        double seconds = 0;
        if (!bench.device.run(&plan, 1, &slots, &bench.error, &seconds)) fail(bench.error);
        return seconds;
    }
};

std::vector<uint8_t> elements(RopeElement element, size_t count) {
    std::vector<uint8_t> all(count * ropeElementBytes(element));
    ropeConvertElements(noise(count).data(), ROPE_ELEMENT_F32, all.data(), element, count);
    return all;
}

void expectEqual(const rope::Buffer& buffer, const std::vector<uint8_t>& wanted) {
    std::vector<uint8_t> got(wanted.size());
    if (!bench.device.download(buffer, 0, got.data(), got.size(), &bench.error)) fail(bench.error);
    if (got != wanted) fail("wrong results; nothing was timed");
}

// ---- Positions added to embeddings ------------------------------------------------------------------------------

struct AddKind {
    const char* name;
    bool learned;
    RopeSource source;
    RopeElement element;
    bool elsewhere;
};

constexpr uint32_t kDim = 1024;

Case makeAdd(uint32_t tokens, const AddKind& kind) {
    Case c;
    std::vector<double> frequencies(kDim / 2);
    RopeRule rule = {};
    rule.rotary_dim = kDim;
    rule.base = 10000;
    double scale;
    ropeMakeFrequencies(&rule, frequencies.data(), &scale, nullptr);
    RopeAddDescription d = {};
    d.tokens = tokens;
    d.dim = kDim;
    d.learned = kind.learned;
    d.source = kind.source;
    d.element_in = d.element_out = d.rows.element = kind.element;
    d.elsewhere = kind.elsewhere;
    d.rows.count = tokens;
    if (!kind.learned) {
        d.rows.element = ROPE_ELEMENT_F32;
        d.frequencies = {frequencies.data(), kDim / 2, 0, nullptr, 1};
    }
    if (ropePlanAdd(&d, &bench.device.limits(), &c.plan) != ROPE_SUCCESS) fail(c.plan.reason.text);
    std::vector<int32_t> positions(tokens);
    for (uint32_t t = 0; t < tokens; ++t) positions[t] = static_cast<int32_t>(t);
    const std::vector<uint8_t> x = elements(kind.element, size_t{tokens} * kDim);
    std::vector<uint8_t> rows = elements(kind.element, size_t{tokens} * kDim);
    if (!kind.learned) {
        RopeTableDescription table = {};
        table.frequencies = d.frequencies;
        table.tokens = tokens;
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        rows.resize(size_t{tokens} * kDim * 4);
        const RopeHostTable host = {nullptr, nullptr, reinterpret_cast<float*>(rows.data())};
        if (ropeHostRunTable(&table, &host, nullptr) != ROPE_SUCCESS) fail("the table was refused");
        std::vector<uint32_t> words(ropeFrequencyBytes(kDim / 2) / 4);
        ropeWriteFrequencies(&d.frequencies, ROPE_ANGLE_EXACT, words.data(), nullptr);
        c.add(ROPE_SLOT_FREQUENCIES, words.data(), words.size() * 4);
    }
    c.add(ROPE_SLOT_POSITIONS, positions.data(), positions.size() * 4);
    if (c.plan.bytes[ROPE_SLOT_ROWS] != 0) c.add(ROPE_SLOT_ROWS, rows.data(), rows.size());
    c.add(ROPE_SLOT_X, x.data(), x.size());
    if (kind.elsewhere) c.add(ROPE_SLOT_X_OUT, nullptr, x.size());
    std::vector<uint8_t> wanted = x;
    RopeHostAdd host = {positions.data(), rows.data(), x.data(), nullptr, wanted.data(), 0};
    if (ropeHostRunAdd(&d, &host, nullptr) != ROPE_SUCCESS) fail("the CPU's own run was refused");
    c.seconds();
    expectEqual(c.buffers.back(), wanted);
    c.bytes = 2 * x.size() + c.plan.bytes[ROPE_SLOT_ROWS];
    return c;
}

// ---- Biases on scores ----------------------------------------------------------------------------------------------

struct BiasKind {
    const char* name;
    RopeBiasKind kind;
    bool written;
    RopeElement element;
    RopePositionKind positions;
};

constexpr uint32_t kHeads = 16;

Case makeBias(uint32_t queries, uint32_t keys, const BiasKind& kind) {
    Case c;
    RopeBiasDescription d = {};
    d.kind = kind.kind;
    d.written = kind.written;
    d.heads = kHeads;
    d.queries = queries;
    d.keys = keys;
    d.bidirectional = kind.kind == ROPE_BIAS_T5;
    d.least = -64;
    d.most = 64;
    d.element = kind.element;
    d.positions.kind = kind.positions;
    d.positions.first = static_cast<int32_t>(keys - queries);
    if (ropePlanBias(&d, &bench.device.limits(), &c.plan) != ROPE_SUCCESS) fail(c.plan.reason.text);
    std::vector<int32_t> positions(queries);
    for (uint32_t i = 0; i < queries; ++i) positions[i] = static_cast<int32_t>(keys - queries + i);
    const std::vector<float> rows = noise(c.plan.bytes[ROPE_SLOT_ROWS] / 4);
    std::vector<uint8_t> thresholds(c.plan.bytes[ROPE_SLOT_PARAMETERS]);
    const std::vector<uint8_t> x = elements(kind.element, size_t{kHeads} * queries * keys);
    if (c.plan.bytes[ROPE_SLOT_POSITIONS] != 0) c.add(ROPE_SLOT_POSITIONS, positions.data(), queries * 4);
    c.add(ROPE_SLOT_ROWS, rows.data(), rows.size() * 4);
    if (!thresholds.empty()) {
        if (ropeWriteBuckets(&d, thresholds.data(), nullptr) != ROPE_SUCCESS) fail("buckets");
        c.add(ROPE_SLOT_PARAMETERS, thresholds.data(), thresholds.size());
    }
    c.add(ROPE_SLOT_X, x.data(), x.size());
    std::vector<uint8_t> wanted = x;
    RopeHostBias host = {positions.data(), rows.data(), x.data(), nullptr, wanted.data()};
    if (ropeHostRunBias(&d, &host, nullptr) != ROPE_SUCCESS) fail("the CPU's own run was refused");
    c.seconds();
    expectEqual(c.buffers.back(), wanted);
    c.bytes = (kind.written ? 1 : 2) * x.size();
    return c;
}

// ---- In turns with copies ------------------------------------------------------------------------------------------

void timeBesideCopies(benchmark::State& state, const Case& c) {
    // Both buffers of a copy are within one binding of 128 MiB; more bytes are counted in proportion.
    const uint64_t half = std::min<uint64_t>(c.bytes / 2, 96 << 20) / 128 * 128;
    const double share = static_cast<double>(c.bytes) / 2 / static_cast<double>(half);
    const rope::Buffer from = makeBuffer(noise(half / 4).data(), half), to = makeBuffer(nullptr, half);
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_Q] = from.slot();
    slots.slots[ROPE_SLOT_Q_OUT] = to.slot();
    const uint32_t vectors[] = {1, 2, 4, 8};
    RopePlan copies[4];
    std::vector<double> ratios[5], times;
    for (int i = 0; i < 4; ++i) copies[i] = copyPlan(half, vectors[i], bench.device.limits());
    const auto rival = [&](int i) {
        if (i == 4) return copySeconds(from, to, half) * share;
        double seconds = 0;
        if (!bench.device.run(&copies[i], 1, &slots, &bench.error, &seconds)) fail(bench.error);
        return seconds * share;
    };
    for (int i = 0; i < 5; ++i) rival(i);
    for (auto _ : state) {
        const int turn = static_cast<int>(times.size() % 6);
        double seconds[5];
        for (int i = 0; i < 5; ++i) {
            if (i == turn) times.push_back(c.seconds());
            seconds[i] = rival(i);
        }
        if (turn == 5) times.push_back(c.seconds());
        for (int i = 0; i < 5; ++i) ratios[i].push_back(times.back() / seconds[i]);
        state.SetIterationTime(times.back());
    }
    state.counters["us"] = median(times) * 1e6;
    state.counters["GB/s"] = static_cast<double>(c.bytes) / median(times) * 1e-9;
    for (int i = 0; i < 4; ++i) state.counters["to_copy_" + std::to_string(vectors[i])] = median(ratios[i]);
    state.counters["to_vkCmdCopyBuffer"] = median(ratios[4]);
}

void add(benchmark::State& state, const AddKind& kind) {
    timeBesideCopies(state, makeAdd(static_cast<uint32_t>(state.range(0)), kind));
}

void bias(benchmark::State& state, const BiasKind& kind) {
    timeBesideCopies(state,
                     makeBias(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), kind));
}

} // namespace

void registerOther() {
    constexpr RopeElement f32 = ROPE_ELEMENT_F32, f16 = ROPE_ELEMENT_F16, bf16 = ROPE_ELEMENT_BF16;
    static const AddKind kAdds[] = {{"add/learned/f32", true, ROPE_SOURCE_INLINE, f32, false},
                                    {"add/learned/f16", true, ROPE_SOURCE_INLINE, f16, false},
                                    {"add/learned/bf16", true, ROPE_SOURCE_INLINE, bf16, false},
                                    {"add/learned/elsewhere/f32", true, ROPE_SOURCE_INLINE, f32, true},
                                    {"add/table/f32", false, ROPE_SOURCE_TABLE, f32, false},
                                    {"add/rows/f32", false, ROPE_SOURCE_ROWS, f32, false},
                                    {"add/inline/f32", false, ROPE_SOURCE_INLINE, f32, false}};
    for (const AddKind& kind : kAdds) {
        for (const int tokens : {1, 512, 4096}) {
            benchmark::RegisterBenchmark(kind.name, add, kind)
                ->Arg(tokens)
                ->UseManualTime()
                ->Iterations(tokens < 512 ? 101 : 21);
        }
    }
    constexpr RopePositionKind counted = ROPE_POSITIONS_COUNTED;
    static const BiasKind kBiases[] = {{"bias/t5/f32", ROPE_BIAS_T5, false, f32, counted},
                                       {"bias/t5/f16", ROPE_BIAS_T5, false, f16, counted},
                                       {"bias/t5/per_query/f32", ROPE_BIAS_T5, false, f32, ROPE_POSITIONS_PER_TOKEN},
                                       {"bias/t5/written/f32", ROPE_BIAS_T5, true, f32, counted},
                                       {"bias/clipped/f32", ROPE_BIAS_CLIPPED, false, f32, counted},
                                       {"bias/alibi/f32", ROPE_BIAS_ALIBI, false, f32, counted},
                                       {"bias/alibi/written/f32", ROPE_BIAS_ALIBI, true, f32, counted}};
    for (const BiasKind& kind : kBiases) {
        for (const int queries : {1, 512, 2048}) {
            benchmark::RegisterBenchmark(kind.name, bias, kind)
                ->Args({queries, 2048})
                ->UseManualTime()
                ->Iterations(queries < 512 ? 101 : 21);
        }
    }
}
