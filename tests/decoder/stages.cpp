#include "stages.hpp"

#include "support/sample.hpp"

namespace decoder {
namespace {

std::vector<double> makeFrequencies(bool backward) {
    std::vector<double> all = sample::frequencies(kBase, DIM);
    for (double& one : all) one = backward ? -one : one;
    return all;
}

RopeFusedDescription common(const Options& options, uint32_t tokens) {
    RopeFusedDescription d = {};
    d.tokens = tokens;
    d.head_dim = DIM;
    d.rotation.frequencies = {frequencies(options.fault == Fault::kSign).data(), DIM / 2, kScale, nullptr, 1};
    d.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
    d.positions.offset = STEP_START;
    d.out_of_place = 1;
    d.tokens_counted = options.submission != Submission::kRecordedEachStep;
    d.tokens_offset = STEP_COUNT;
    return d;
}

RopeLayout inRow(uint32_t heads_before) { return {heads_before * DIM, 0, QKV_ROW, DIM}; }

void setQuery(const Layer& layer, RopeFusedDescription* d) {
    d->packed_qkv = 1;
    d->q.heads = HEADS;
    d->q.from = inRow(0);
    d->q.norm.kind = ROPE_NORM_RMS;
    d->q.norm.epsilon = kEpsilon;
    d->q.norm.weights = layer.q_norm.data();
}

void setKey(const Layer& layer, RopeFusedDescription* d) {
    d->packed_qkv = 1;
    d->k.heads = KV_HEADS;
    d->k.from = inRow(HEADS);
    d->k.norm.kind = ROPE_NORM_RMS;
    d->k.norm.epsilon = kEpsilon;
    d->k.norm.weights = layer.k_norm.data();
}

void setValue(RopeFusedDescription* d) {
    d->v.heads = KV_HEADS;
    d->v.from = inRow(HEADS + KV_HEADS);
}

void setCache(const Options& options, RopeFusedDescription* d) {
    RopeCache& cache = d->cache;
    cache.kind = options.cache;
    cache.slots = CACHE_PAGES * PAGE_SIZE;
    cache.page_size = PAGE_SIZE;
    cache.map_offset = options.cache == ROPE_CACHE_SLOTS ? STEP_SLOTS : STEP_TABLE;
    cache.map_in_positions = 1;
    cache.table_pages = TABLE_PAGES;
    d->v.to.offset = CACHE_V_AT;
    cache.one_buffer = 1;
}

std::vector<Stage> unfused(const Options& options, const Layer& layer, uint32_t tokens) {
    RopeFusedDescription norm = common(options, tokens);
    norm.q.no_rotation = norm.k.no_rotation = 1;
    setQuery(layer, &norm);
    setKey(layer, &norm);

    RopeFusedDescription rotate = common(options, tokens); // in place, where the norm has put them
    rotate.out_of_place = 0;
    rotate.q.heads = HEADS;
    rotate.k.heads = KV_HEADS;

    RopeFusedDescription scatter = common(options, tokens);
    scatter.q.no_rotation = scatter.k.no_rotation = 1;
    scatter.k.heads = KV_HEADS;
    setValue(&scatter);
    setCache(options, &scatter);
    return {{norm, false}, {rotate, true}, {scatter, false}};
}

std::vector<Stage> fused(const Options& options, const Layer& layer, uint32_t tokens) {
    RopeFusedDescription d = common(options, tokens);
    setQuery(layer, &d);
    setKey(layer, &d);
    setValue(&d);
    setCache(options, &d);
    return {{d, false}};
}

std::vector<Stage> turnedAsRead(const Options& options, const Layer& layer, uint32_t tokens) {
    RopeFusedDescription query = common(options, tokens);
    setQuery(layer, &query);

    RopeFusedDescription cached = common(options, tokens);
    cached.q.no_rotation = cached.k.no_rotation = 1;
    setKey(layer, &cached);
    setValue(&cached);
    setCache(options, &cached);
    return {{query, false}, {cached, false}};
}

} // namespace

const std::vector<double>& frequencies(bool backward) {
    static const std::vector<double> both[] = {makeFrequencies(false), makeFrequencies(true)};
    return both[backward];
}

std::vector<Stage> stages(const Options& options, const Layer& layer, uint32_t tokens) {
    if (options.path == Path::kUnfused) return unfused(options, layer, tokens);
    if (options.path == Path::kFused) return fused(options, layer, tokens);
    return turnedAsRead(options, layer, tokens);
}

RopeFusedDescription shiftStage(const Options& options, uint32_t tokens, int32_t delta) {
    RopeFusedDescription d = common(options, tokens);
    d.tokens_counted = 0;
    d.out_of_place = 0;
    d.rotation.operation = ROPE_OPERATION_SHIFT;
    d.k.heads = KV_HEADS;
    setCache(options, &d);
    d.cache.delta = delta;
    return d;
}

} // namespace decoder
