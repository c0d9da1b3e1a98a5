// This file measures the encodings other than RoPE.
#include "bench/cases/encodings.hpp"

#include "bench/cases/baselines.hpp"

#include <algorithm>

namespace measure {
namespace {

constexpr uint32_t kAddDim = 1024, kHeads = 16, kHeadDim = 64;
constexpr uint32_t kBiasKeys = 2048, kRelativeKeys = 1024;

// ---- Positions added to embeddings ------------------------------------------------------------------------------

struct AddKind {
    const char* name;
    bool learned;
    RopeSource source;
    RopeElement element;
    bool out_of_place;
    uint32_t sequences; // sequences share their positions
};

EncodingBench makeAdd(BenchDevice* bench, uint32_t all_tokens, const AddKind& kind) {
    EncodingBench made(bench);
    const uint32_t tokens = all_tokens / kind.sequences;
    if (tokens * kind.sequences != all_tokens)
        throw DoesNotFit(std::to_string(kind.sequences) + " sequences of the same length do not have " +
                         std::to_string(all_tokens) + " tokens");
    std::vector<double> frequencies(kAddDim / 2);
    RopeRule rule = {};
    rule.rotary_dim = kAddDim;
    rule.base = 10000;
    double scale;
    ropeMakeFrequencies(&rule, frequencies.data(), &scale, nullptr);
    RopeAddDescription d = {};
    d.batch = kind.sequences;
    d.tokens = tokens;
    d.positions.same_for_all_sequences = kind.sequences > 1;
    d.dim = kAddDim;
    d.learned = kind.learned;
    d.source = kind.source;
    d.element = d.element_out = d.rows.element = kind.element;
    d.out_of_place = kind.out_of_place;
    d.rows.count = tokens;
    if (!kind.learned) {
        d.rows.element = ROPE_ELEMENT_F32;
        d.frequencies = {frequencies.data(), kAddDim / 2, 0, nullptr, 1};
    }
    mustPlan(ropePlanAdd(&d, &bench->limits(), &made.plan), made.plan);
    std::vector<int32_t> positions(tokens);
    for (uint32_t t = 0; t < tokens; ++t) positions[t] = static_cast<int32_t>(t);
    const std::vector<uint8_t> x = noiseBytes(kind.element, size_t{all_tokens} * kAddDim);
    std::vector<uint8_t> rows = noiseBytes(kind.element, size_t{tokens} * kAddDim);
    if (!kind.learned) {
        RopeTableDescription table = {};
        table.frequencies = d.frequencies;
        table.tokens = tokens;
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        rows.resize(size_t{tokens} * kAddDim * 4);
        const RopeHostTable host = {nullptr, nullptr, reinterpret_cast<float*>(rows.data())};
        if (ropeHostRunTable(&table, &host, nullptr) != ROPE_SUCCESS) throw WrongResult("the table was refused");
        std::vector<uint32_t> words(ropeFrequencyBytes(kAddDim / 2) / 4);
        ropeWriteFrequencies(&d.frequencies, ROPE_ANGLE_EXACT, words.data(), nullptr);
        made.add(ROPE_SLOT_FREQUENCIES, words.data(), words.size() * 4);
    }
    made.add(ROPE_SLOT_POSITIONS, positions.data(), positions.size() * 4);
    if (made.plan.bytes[ROPE_SLOT_ROWS] != 0) made.add(ROPE_SLOT_ROWS, rows.data(), rows.size());
    made.add(ROPE_SLOT_X, x.data(), x.size());
    if (kind.out_of_place) made.add(ROPE_SLOT_X_OUT, nullptr, x.size());
    std::vector<uint8_t> wanted = x;
    RopeHostAdd host = {positions.data(), rows.data(), x.data(), nullptr, wanted.data(), 0};
    if (ropeHostRunAdd(&d, &host, nullptr) != ROPE_SUCCESS) throw WrongResult("the CPU's own run was refused");
    made.verify(wanted);
    made.bytes = 2 * x.size() + made.plan.bytes[ROPE_SLOT_ROWS];
    made.is_sum = made.plan.bytes[ROPE_SLOT_ROWS] == x.size() && kind.element == ROPE_ELEMENT_F32;
    return made;
}

// ---- Biases on scores ----------------------------------------------------------------------------------------------

struct BiasKind {
    const char* name;
    RopeBiasKind kind;
    bool write_only;
    RopeElement element;
    RopePositionKind positions;
};

EncodingBench makeBias(BenchDevice* bench, uint32_t queries, const BiasKind& kind) {
    EncodingBench made(bench);
    const uint32_t keys = kBiasKeys;
    if (queries > keys) throw DoesNotFit("the queries are more than the " + std::to_string(keys) + " keys");
    RopeBiasDescription d = {};
    d.kind = kind.kind;
    d.write_only = kind.write_only;
    d.heads = kHeads;
    d.queries = queries;
    d.keys = keys;
    d.bidirectional = kind.kind == ROPE_BIAS_T5;
    d.least = -64;
    d.most = 64;
    d.element = kind.element;
    d.positions.kind = kind.positions;
    d.positions.first = static_cast<int32_t>(keys - queries);
    mustPlan(ropePlanBias(&d, &bench->limits(), &made.plan), made.plan);
    std::vector<int32_t> positions(queries);
    for (uint32_t i = 0; i < queries; ++i) positions[i] = static_cast<int32_t>(keys - queries + i);
    uint32_t state = 2;
    const std::vector<float> rows = noise(made.plan.bytes[ROPE_SLOT_ROWS] / 4, &state);
    std::vector<uint8_t> thresholds(made.plan.bytes[ROPE_SLOT_PARAMETERS]);
    const std::vector<uint8_t> x = noiseBytes(kind.element, size_t{kHeads} * queries * keys);
    if (made.plan.bytes[ROPE_SLOT_POSITIONS] != 0)
        made.add(ROPE_SLOT_POSITIONS, positions.data(), uint64_t{queries} * 4);
    made.add(ROPE_SLOT_ROWS, rows.data(), rows.size() * 4);
    if (!thresholds.empty()) {
        if (ropeWriteBuckets(&d, thresholds.data(), nullptr) != ROPE_SUCCESS) throw WrongResult("buckets");
        made.add(ROPE_SLOT_PARAMETERS, thresholds.data(), thresholds.size());
    }
    made.add(ROPE_SLOT_X, x.data(), x.size());
    std::vector<uint8_t> wanted = x;
    RopeHostBias host = {positions.data(), rows.data(), x.data(), nullptr, wanted.data()};
    if (ropeHostRunBias(&d, &host, nullptr) != ROPE_SUCCESS) throw WrongResult("the CPU's own run was refused");
    made.verify(wanted);
    made.bytes = (kind.write_only ? 1 : 2) * x.size();
    made.is_fill = kind.write_only;
    return made;
}

// ---- Relative vectors ----------------------------------------------------------------------------------------------

struct RelativeKind {
    const char* name;
    RopeRelativeSide side;
    RopeElement element;
};

EncodingBench makeRelative(BenchDevice* bench, uint32_t queries, const RelativeKind& kind) {
    EncodingBench made(bench);
    const uint32_t all_keys = kRelativeKeys;
    if (queries > all_keys) throw DoesNotFit("the queries are more than the " + std::to_string(all_keys) + " keys");
    RopeRelativeDescription d = {};
    d.side = kind.side;
    d.heads = kHeads;
    d.queries = queries;
    d.keys = all_keys;
    d.dim = kHeadDim;
    d.least = -16;
    d.most = 16;
    d.element_q = d.element_x = d.rows.element = kind.element;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = static_cast<int32_t>(all_keys - queries);
    mustPlan(ropePlanRelative(&d, &bench->limits(), &made.plan), made.plan);
    const size_t rows_of_q = size_t{kHeads} * queries, by_keys = rows_of_q * all_keys, by_dim = rows_of_q * kHeadDim;
    const bool keys = kind.side == ROPE_RELATIVE_KEYS;
    const std::vector<uint8_t> rows =
        noiseBytes(kind.element, made.plan.bytes[ROPE_SLOT_ROWS] / ropeElementBytes(kind.element));
    const std::vector<uint8_t> q = noiseBytes(kind.element, keys ? by_dim : by_keys);
    const std::vector<uint8_t> x = noiseBytes(kind.element, keys ? by_keys : by_dim);
    made.add(ROPE_SLOT_ROWS, rows.data(), rows.size());
    made.add(ROPE_SLOT_Q, q.data(), q.size());
    made.add(ROPE_SLOT_X, x.data(), x.size());
    std::vector<uint8_t> wanted = x;
    RopeHostRelative host = {nullptr, rows.data(), q.data(), x.data(), nullptr, wanted.data()};
    if (ropeHostRunRelative(&d, &host, nullptr) != ROPE_SUCCESS) throw WrongResult("the CPU's own run was refused");
    made.verify(wanted);
    made.bytes = q.size() + 2 * x.size();
    return made;
}

constexpr RopeElement f32 = ROPE_ELEMENT_F32, f16 = ROPE_ELEMENT_F16, bf16 = ROPE_ELEMENT_BF16;
constexpr RopePositionKind counted = ROPE_POSITIONS_COUNTED;
const AddKind kAdds[] = {{"add/learned/f32", true, ROPE_SOURCE_INLINE, f32, false, 1},
                         {"add/learned/f16", true, ROPE_SOURCE_INLINE, f16, false, 1},
                         {"add/learned/bf16", true, ROPE_SOURCE_INLINE, bf16, false, 1},
                         {"add/learned/out-of-place/f32", true, ROPE_SOURCE_INLINE, f32, true, 1},
                         {"add/table/f32", false, ROPE_SOURCE_TABLE, f32, false, 1},
                         {"add/rows/f32", false, ROPE_SOURCE_ROWS, f32, false, 1},
                         {"add/inline/f32", false, ROPE_SOURCE_INLINE, f32, false, 1},
                         {"add/learned/batch_8/f32", true, ROPE_SOURCE_INLINE, f32, false, 8},
                         {"add/inline/batch_8/f32", false, ROPE_SOURCE_INLINE, f32, false, 8}};
const BiasKind kBiases[] = {{"bias/t5/f32", ROPE_BIAS_T5, false, f32, counted},
                            {"bias/t5/f16", ROPE_BIAS_T5, false, f16, counted},
                            {"bias/t5/per_query/f32", ROPE_BIAS_T5, false, f32, ROPE_POSITIONS_PER_TOKEN},
                            {"bias/t5/written/f32", ROPE_BIAS_T5, true, f32, counted},
                            {"bias/t5/written/f16", ROPE_BIAS_T5, true, f16, counted},
                            {"bias/clipped/f32", ROPE_BIAS_CLIPPED, false, f32, counted},
                            {"bias/alibi/f32", ROPE_BIAS_ALIBI, false, f32, counted},
                            {"bias/alibi/f16", ROPE_BIAS_ALIBI, false, f16, counted},
                            {"bias/alibi/written/f32", ROPE_BIAS_ALIBI, true, f32, counted},
                            {"bias/alibi/written/f16", ROPE_BIAS_ALIBI, true, f16, counted}};
const RelativeKind kRelatives[] = {{"relative/keys/f32", ROPE_RELATIVE_KEYS, f32},
                                   {"relative/keys/f16", ROPE_RELATIVE_KEYS, f16},
                                   {"relative/values/f32", ROPE_RELATIVE_VALUES, f32},
                                   {"relative/values/f16", ROPE_RELATIVE_VALUES, f16}};

} // namespace

void EncodingBench::add(RopeSlot slot, const void* data, uint64_t size) {
    buffers.push_back(data != nullptr ? bench_->make(data, size) : bench_->make(size));
    slots.slots[slot] = buffers.back().slot();
}

void EncodingBench::verify(const std::vector<uint8_t>& wanted) {
    bench_->run(plan, slots);
    if (bench_->read(buffers.back(), 0, wanted.size()) != wanted) throw WrongResult("other bits than the CPU's");
}

// A copy's two buffers lie within one binding of 128 MiB. If a case moves more bytes, the copy's time is scaled in
// proportion.
std::vector<Contestant> EncodingBench::contestants() {
    const uint64_t half = std::min<uint64_t>(bytes / 2, 96 << 20) / 128 * 128;
    const double share = static_cast<double>(bytes) / 2 / static_cast<double>(half);
    copy_source_ = bench_->makeNoise(half, ROPE_ELEMENT_F32);
    copy_destination_ = bench_->make(half);
    RopeBuffers between = {};
    between.slots[ROPE_SLOT_Q] = copy_source_.slot();
    between.slots[ROPE_SLOT_Q_OUT] = copy_destination_.slot();
    std::vector<const rope::Buffer*> own;
    for (const rope::Buffer& buffer : buffers) own.push_back(&buffer);
    encoded_ = std::make_unique<BufferCopies>(bench_, own, kUsesInPlace);
    copied_ = std::make_unique<BufferCopies>(
        bench_, std::vector<const rope::Buffer*>{&copy_source_, &copy_destination_}, is_sum ? kUsesInPlace : kAnyUses);
    std::vector<Contestant> all = {{"encoding", encoded_->work({plan}, {slots})}};
    addCopies(copied_.get(), between, half, share, bench_->limits(), &all);
    if (is_sum) {
        const uint64_t third = std::min(bytes / 3, half) / 128 * 128;
        const double thirds = static_cast<double>(bytes) / 3 / static_cast<double>(third);
        all.push_back({"sum", copied_->work({sumPlan(third, bench_->limits())}, {between}), thirds});
    }
    if (is_fill) {
        RopeBuffers filled = {};
        filled.slots[ROPE_SLOT_Q_OUT] = buffers.back().slot();
        all.push_back({"FillBuffer", encoded_->fillCommand(filled, bytes)});
    }
    if (encoded_->fitsCache()) all.push_back({kWarm, encoded_->workOnOneSet({plan}, {slots})});
    all.push_back({kEmptyDispatch, untouching(encoded_->work({emptyPlan(plan)}, {slots}))});
    return all;
}

std::vector<EncodingKind> encodingKinds() {
    const std::string heads = std::to_string(kHeads) + " heads";
    const auto keys = [](uint32_t count) { return " and " + std::to_string(count) + " keys"; };
    const std::string embeddings = "embeddings of " + std::to_string(kAddDim) + " elements";
    const std::string scores = "scores of " + heads + keys(kBiasKeys);
    const std::string vectors = heads + " of " + std::to_string(kHeadDim) + keys(kRelativeKeys);
    std::vector<EncodingKind> all;
    for (const AddKind& kind : kAdds) {
        const auto make = [&kind](BenchDevice* bench, uint32_t tokens) { return makeAdd(bench, tokens, kind); };
        all.push_back({kind.name, embeddings, "tokens", {kind.sequences, 512, 4096}, make});
    }
    for (const BiasKind& kind : kBiases) {
        const auto make = [&kind](BenchDevice* bench, uint32_t queries) { return makeBias(bench, queries, kind); };
        all.push_back({kind.name, scores, "queries", {1, 512, 2048}, make});
    }
    for (const RelativeKind& kind : kRelatives) {
        const auto make = [&kind](BenchDevice* bench, uint32_t queries) { return makeRelative(bench, queries, kind); };
        all.push_back({kind.name, vectors, "queries", {1, 64, 1024}, make});
    }
    return all;
}

} // namespace measure
