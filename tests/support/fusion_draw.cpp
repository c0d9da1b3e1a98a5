// Scenes: descriptions of fused passes drawn from a seed.
#include "fusion.hpp"
#include "plan/description.h"
#include "plan/fused/resolve.h"
#include "sample.hpp"

#include "plan/axes.h"
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace fusion {
namespace {

bool oneIn(uint32_t count, sample::Random* random) { return random->below(count) == 0; }

// Norms, quantizers and scales take no other heads.
bool fitsQuads(const RopeFusedDescription& r) { return r.head_dim % 4 == 0; }

// Shifts of integers take no others.
bool fitsRuns(const RopeFusedDescription& r) {
    return r.head_dim % 4 == 0 && r.rotation.rotary_begin % 4 == 0 && r.rotation.rotary_dim % 8 == 0 &&
           r.rotation.chunk_dim % 8 == 0;
}

uint32_t dimOf(const RopeFusedDescription& r, const RopeFusedTensor& tensor) {
    return tensor.head_dim != 0 ? tensor.head_dim : r.head_dim;
}

bool isHalf(RopeElement element) { return ropeElementBytes(element) == 2; }

uint32_t sequencesOf(const RopeRotateDescription& r) { return std::max(r.batch, r.positions.sequences); }

// Many tokens give each thread 4 or 8 heads instead of 2.
uint32_t drawTokens(sample::Random* random) {
    const uint32_t choice = random->below(64);
    return choice == 0 ? 256 + random->below(8) : choice < 6 ? 32 + random->below(24) : 1 + random->below(7);
}

void drawShape(sample::Random* random, Scene* scene) {
    RopeFusedDescription& r = scene->d;
    static const uint32_t kDims[][3] = {{64, 0, 64},    {64, 0, 32}, {128, 0, 128}, {64, 16, 32},
                                        {80, 0, 40},    {20, 4, 12}, {35, 3, 10},   {256, 0, 256},
                                        {256, 64, 128}, {96, 0, 96}, {80, 0, 20},   {64, 5, 22}};
    const uint32_t* dims = kDims[random->below(12)];
    r.head_dim = dims[0];
    r.rotation.rotary_begin = dims[1];
    r.rotation.rotary_dim = dims[2];
    r.batch = 1 + random->below(2);
    r.tokens = drawTokens(random);
    r.out_of_place = random->below(3) != 0;
    r.rotation.pairing = static_cast<RopePairing>(1 + random->below(2));
    const bool turns_over = r.out_of_place != 0 && !scene->shifts;
    r.rotation.pairing_out = turns_over ? static_cast<RopePairing>(1 + random->below(2)) : r.rotation.pairing;
    static const uint32_t kChunks[] = {2, 4, 8, 8, 16, 16};
    const uint32_t chunk = kChunks[random->below(6)];
    if (oneIn(4, random) && r.rotation.rotary_dim % chunk == 0 && r.rotation.rotary_dim != chunk)
        r.rotation.chunk_dim = chunk;
    r.element = static_cast<RopeElement>(1 + random->below(3));
    const RopeElement out = r.out_of_place != 0 ? static_cast<RopeElement>(1 + random->below(3)) : r.element;
    r.q.element = r.k.element = r.v.element = out;
    if (isHalf(r.element) || isHalf(out)) { // 16-bit elements move in twos
        r.head_dim += r.head_dim % 2;
        r.rotation.rotary_begin -= r.rotation.rotary_begin % 2;
        r.rotation.rotary_dim -= r.rotation.rotary_dim % 4;
    }
    r.q.heads = oneIn(4, random) || scene->shifts ? 0 : 1 + random->below(9);
    r.k.heads = r.q.heads == 0 || !oneIn(4, random) ? 1 + random->below(4) : 0;
    r.count_outside = random->below(2);
    r.rotation.angle = oneIn(4, random) ? ROPE_ANGLE_COMPATIBLE : ROPE_ANGLE_EXACT;
    const bool by_delta = scene->shifts && scene->d.cache.delta != 0;
    r.rotation.source = by_delta ? ROPE_SOURCE_INLINE : static_cast<RopeSource>(random->below(3));
}

void drawPositions(sample::Random* random, Scene* scene) {
    RopeFusedDescription& r = scene->d;
    RopePositions& p = r.positions;
    p.kind = static_cast<RopePositionKind>(random->below(5));
    const bool packed = p.kind >= ROPE_POSITIONS_PACKED;
    const bool whole = packed || r.rotation.source == ROPE_SOURCE_TABLE;
    p.element = static_cast<RopePositionElement>(random->below(whole ? 2 : 4));
    p.sequences = packed ? 1 + random->below(3) : 0;
    if (packed) r.batch = 1;
    p.offset = random->below(3);
    p.first = static_cast<int32_t>(random->below(40));
    p.same_for_all_sequences = !packed && oneIn(4, random);
    const bool per_token = p.kind == ROPE_POSITIONS_PER_TOKEN;
    p.token_stride = per_token && oneIn(4, random) ? 2 + random->below(2) : 0;
    uint64_t row = per_token ? r.tokens * std::max<uint64_t>(p.token_stride, 1) : 1;
    if (oneIn(4, random)) p.batch_stride = row += random->below(3);
    row = packed ? p.sequences + 1 : r.batch * row;
    if (oneIn(4, random)) p.axis_stride = row + random->below(3);
    if (oneIn(4, random)) r.rotation.skip_first = random->below(r.tokens + 1);
    if (oneIn(4, random)) r.rotation.skip_last = random->below(r.tokens - r.rotation.skip_first + 1);
}

void drawFrequencies(sample::Random* random, Scene* scene) {
    RopeFusedDescription& r = scene->d;
    RopeFrequencies& f = r.rotation.frequencies;
    f.sets = r.positions.kind != ROPE_POSITIONS_COUNTED && oneIn(4, random) ? 2 + random->below(2) : 1;
    for (uint32_t set = 0; set < f.sets; ++set) {
        // Tens of thousands of scenes are drawn.
        static std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> made;
        std::vector<double>& one = made[{set, r.rotation.rotary_dim}];
        if (one.empty()) one = sample::frequencies(10000 * (set + 1), r.rotation.rotary_dim);
        scene->frequencies.insert(scene->frequencies.end(), one.begin(), one.end());
    }
    scene->frequencies[1] = -scene->frequencies[1];
    f.values = scene->frequencies.data();
    f.count = r.rotation.rotary_dim / 2;
    // Rows of another scale than 1 are not shifted or turned back.
    const bool plain = r.rotation.source != ROPE_SOURCE_INLINE && scene->shifts;
    f.scale = plain || oneIn(2, random) ? 0 : oneIn(3, random) ? -1.25 : 1.25;
    static const RopeOperation kOperations[] = {ROPE_OPERATION_TRANSPOSE, ROPE_OPERATION_TRANSPOSE,
                                                ROPE_OPERATION_INVERSE, ROPE_OPERATION_SHIFT};
    const uint32_t choice = random->below(12);
    const bool inline_or_plain = r.rotation.source == ROPE_SOURCE_INLINE || f.scale == 0;
    if (choice < (inline_or_plain ? 4u : 2u)) r.rotation.operation = kOperations[choice];
    if (scene->shifts) r.rotation.operation = ROPE_OPERATION_SHIFT;
    if (!oneIn(4, random)) return;
    const uint32_t axes = 2 + random->below(3);
    for (uint32_t pair = 0; pair < f.count; ++pair) scene->axes.push_back(static_cast<uint8_t>(pair % axes));
    f.axes = scene->axes.data();
}

void drawRows(sample::Random* random, Scene* scene) {
    RopeFusedDescription& r = scene->d;
    RopeRows& rows = r.rotation.rows;
    if (r.rotation.source == ROPE_SOURCE_INLINE) return;
    const bool table = r.rotation.source == ROPE_SOURCE_TABLE;
    const uint32_t count = table ? 64 : r.batch * r.tokens;
    const RopeRowsFormat format = static_cast<RopeRowsFormat>(oneIn(2, random) ? 0 : random->below(5));
    ropeSetRows(format, r.rotation.frequencies.count, table ? count * r.rotation.frequencies.sets : count, &rows);
    rows.count = table ? count : 0;
    const bool one_array = format != ROPE_ROWS_DUPLICATED && format != ROPE_ROWS_TWO_ARRAYS;
    if (one_array && oneIn(3, random)) rows.row_stride += 1 + random->below(4);
    rows.element = static_cast<RopeElement>(oneIn(2, random) ? 0 : 1 + random->below(3));
    rows.offset = oneIn(2, random) ? 0 : random->below(5);
    rows.first_position = table ? static_cast<int32_t>(random->below(200)) - 100 : 0;
    if (!oneIn(4, random)) return;
    rows.offset += static_cast<uint64_t>(rows.sin_offset); // sines first
    rows.sin_offset = -rows.sin_offset;
}

RopeNorm drawNorm(sample::Random* random, const std::vector<float>& weights) {
    static const float kEpsilons[] = {1e-6f, 1e-6f, 0, 1e4f, 1e30f};
    RopeNorm norm = {};
    norm.kind = static_cast<RopeNormKind>(random->below(4));
    norm.after = random->below(2);
    norm.all_heads = norm.kind != ROPE_NORM_LAYER && random->below(3) == 0;
    norm.epsilon = kEpsilons[random->below(5)];
    if (random->below(3) != 0) norm.weights = weights.data();
    norm.no_weights = norm.weights == nullptr;
    norm.weights_head_stride = oneIn(3, random); // of each head; layOutWeights knows how far they lie apart
    if (norm.kind == ROPE_NORM_LAYER && norm.weights != nullptr && oneIn(2, random)) norm.biases = weights.data() + 3;
    norm.weight_plus = static_cast<float>(random->below(2));
    return norm;
}

void drawStages(sample::Random* random, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    const RopeFusedDescription& r = d;
    const size_t most = size_t{std::max({r.q.heads, r.k.heads, 4u})} * 1024; // V has 4 heads at most
    scene->q_weights = sample::values(most, 7);
    scene->k_weights = sample::values(most, 8);
    const bool runs = scene->shifts ? fitsRuns(r) : fitsQuads(r);
    const bool may_norm = runs && r.rotation.operation == ROPE_OPERATION_FORWARD;
    if (may_norm && r.q.heads != 0 && random->below(2) != 0) d.q.norm = drawNorm(random, scene->q_weights);
    if (may_norm && r.k.heads != 0 && random->below(2) != 0) d.k.norm = drawNorm(random, scene->k_weights);
    if (may_norm && oneIn(3, random)) d.v.norm = drawNorm(random, scene->k_weights);
    if (may_norm && oneIn(4, random)) {
        d.bias_element = static_cast<RopeElement>(random->below(4));
        for (RopeFusedTensor* t : {&d.q, &d.k, &d.v}) {
            t->bias = 1;
            t->bias_offset = random->below(200);
        }
        if (oneIn(2, random)) d.q.bias_offset = d.k.bias_offset = d.v.bias_offset = 4ull * random->below(40);
    }
    if (r.rotation.operation == ROPE_OPERATION_FORWARD && oneIn(4, random)) d.clip = oneIn(2, random) ? 0.75f : 1e30f;
    d.q.no_rotation = d.k.no_rotation = random->below(5) == 0;
    if (!runs || r.q.heads == 0 || random->below(2) != 0) return;
    static const std::vector<float> values = [] {
        std::vector<float> made(9);
        ropeMakeQueryScale(0.1, 9, made.data(), nullptr);
        return made;
    }();
    scene->values = values;
    d.query_scale = {scene->values.data(), 9, 1 + random->below(700), random->below(2)};
}

// Strides of a cache with a gap behind each dimension; without gaps they stay 0. Returns the elements it takes.
uint64_t setCacheStrides(const RopeFusedDescription& d, uint32_t heads, uint64_t dim, uint64_t gap,
                         RopeCacheLayout* layout) {
    const RopeCache& cache = d.cache;
    const uint64_t page = cache.page_size != 0 ? cache.page_size : cache.slots;
    const uint64_t inner = dim + gap;
    const bool by_head = cache.order == ROPE_CACHE_HND;
    layout->token_stride = by_head ? inner : inner * heads + gap;
    layout->head_stride = by_head ? inner * page + gap : inner;
    layout->page_stride = (by_head ? layout->head_stride * heads : layout->token_stride * page) + gap;
    layout->batch_stride = layout->page_stride * (cache.slots / page) + gap;
    const uint64_t end = layout->batch_stride * sequencesOf(rope::rotationOf(d));
    if (gap == 0) *layout = {};
    return end;
}

uint64_t roundUp(uint64_t count, uint64_t step) { return (count + step - 1) / step * step; }
bool isBlocks(RopeElement element) { return rope::formatOf(element).scale == rope::ElementScale::kInBlock; }

RopeElement elementOf(const RopeFusedDescription& d, bool is_v) { return is_v ? d.v.element : d.k.element; }

// K's and V's caches and their scales one after the other, in any order. Places are counted in bytes.
void drawCachePlaces(sample::Random* random, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    RopeCache& cache = d.cache;
    const bool blocks = isBlocks(elementOf(d, false)) || isBlocks(elementOf(d, true));
    const bool integers = rope::isForCaches(elementOf(d, false)) || rope::isForCaches(elementOf(d, true));
    const bool halves = isHalf(elementOf(d, false)) || isHalf(elementOf(d, true));
    const uint32_t finest = blocks     ? 32u << random->below(2)
                            : integers ? 4
                            : halves   ? 2u << random->below(2)
                                       : 1u << random->below(3);
    const uint32_t gap = oneIn(3, random) ? finest : 0;
    const uint32_t scale_gap = oneIn(3, random) ? 1 : 0;
    const uint32_t first = random->below(4) == 0;
    uint64_t at = 64 * random->below(3);
    for (uint32_t i = 0; i < 2; ++i) {
        const bool is_k = i == first;
        RopeFusedTensor& tensor = is_k ? d.k : d.v;
        const uint32_t heads = is_k ? d.k.heads : std::max(d.v.heads, 1u);
        const rope::ElementFormat& format = rope::formatOf(elementOf(d, !is_k));
        const bool scaled = format.scale == rope::ElementScale::kApart && tensor.given_scale.count == 0;
        RopeCacheLayout& layout = tensor.to;
        RopeCacheLayout& scales = tensor.stored_scales;
        const uint64_t room = setCacheStrides(d, heads, dimOf(d, tensor), gap, &layout);
        const uint64_t scale_room = scaled ? 4 * setCacheStrides(d, heads, 1, scale_gap, &scales) : 0;
        const uint64_t before = oneIn(3, random) ? scale_room : 0;
        if (i == 1 && cache.one_buffer == 0) at = 64 * random->below(3);
        const uint64_t begin = roundUp(at + before, format.block_bytes) / format.block_bytes * format.block_elements;
        layout.offset = roundUp(begin, 64) + gap;
        const uint64_t last = roundUp(layout.offset + room, 64);
        const uint64_t end = roundUp(rope::elementBytes(format.element, last), 64);
        if (scaled) scales.offset = (before != 0 ? at : end) / 4;
        at = before != 0 ? end : roundUp(end + scale_room, 64);
    }
}

// An element that heads of so many elements fit.
RopeElement drawCacheElement(sample::Random* random, const Scene& scene, uint32_t dims) {
    const RopeFusedDescription& r = scene.d;
    const bool runs = scene.shifts ? fitsRuns(r) : fitsQuads(r);
    const RopeElement element = static_cast<RopeElement>(
        random->below(1u + static_cast<uint32_t>(runs ? rope::kLastElement : rope::kLastTensorElement)));
    return dims % ROPE_BLOCK_ELEMENTS != 0 && isBlocks(element) ? ROPE_ELEMENT_I8 : element;
}

// Given scales of float8, of all heads or of each.
void drawGivenScales(sample::Random* random, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    if (oneIn(2, random)) return;
    const auto give = [random](uint32_t heads, std::vector<float>* values, RopeCacheScale* scale) {
        for (uint32_t i = 0; i < heads; ++i) values->push_back(0.001f * static_cast<float>(1 + random->below(9000)));
        *scale = {values->data(), oneIn(2, random) ? 1 : heads, random->below(2)};
    };
    if (rope::isFloat8(elementOf(d, false))) give(d.k.heads, &scene->k_scales, &d.k.given_scale);
    if (rope::isFloat8(elementOf(d, true)) && d.v.heads != 0) give(d.v.heads, &scene->v_scales, &d.v.given_scale);
}

void drawCache(sample::Random* random, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    RopeCache& cache = d.cache;
    const RopeFusedDescription& r = d;
    cache.kind = static_cast<RopeCacheKind>(scene->shifts ? 1 + random->below(rope::kLastCacheKind)
                                                          : random->below(1 + rope::kLastCacheKind));
    if (scene->shifts && cache.delta == 0) cache.kind = ROPE_CACHE_SLOTS;
    if (cache.kind == ROPE_CACHE_NONE) return;
    cache.order = static_cast<RopeCacheOrder>(random->below(2));
    const uint32_t k_dim = dimOf(r, r.k), v_dim = dimOf(r, d.v);
    const RopeElement both = drawCacheElement(random, *scene, k_dim | v_dim);
    if (both != ROPE_ELEMENT_DEFAULT) d.k.element = d.v.element = both;
    const bool differ = d.v.heads != 0 && oneIn(6, random);
    const RopeElement other = differ ? drawCacheElement(random, *scene, v_dim) : ROPE_ELEMENT_DEFAULT;
    if (other != ROPE_ELEMENT_DEFAULT) d.v.element = other;
    drawGivenScales(random, scene);
    const bool table = cache.kind == ROPE_CACHE_PAGE_TABLE;
    cache.page_size = table || random->below(2) != 0 ? 4u << random->below(2) : 0;
    cache.slots = (r.tokens * r.batch + 16) / 8 * 8 + 8 * random->below(3);
    const uint32_t page = std::max(cache.page_size, 1u);
    if (cache.kind == ROPE_CACHE_RING && oneIn(2, random)) cache.slots = page * (1 + random->below(4 / page + 1));
    cache.table_pages = 3 + r.tokens / 4;
    cache.map_element = static_cast<RopePositionElement>(random->below(2));
    const uint64_t row = table ? cache.table_pages : r.tokens;
    if (random->below(3) == 0) cache.map_batch_stride = row + random->below(3);
    cache.one_buffer = random->below(2);
    drawCachePlaces(random, scene);
}

// A gap of 2 elements lies between heads and tokens, others between sequences too.
RopeLayout layOut(const RopeFusedDescription& r, uint32_t heads, uint32_t dim, uint32_t gap, bool by_head) {
    const uint64_t inner = dim + gap;
    const uint64_t outer = inner * (by_head ? r.tokens : heads) + gap;
    const bool has_others = by_head && gap == 4 && r.tokens % 2 == 0; // heads of other tensors
    const uint64_t behind = gap == 2 ? 0 : has_others ? 3 * outer : gap;
    const uint64_t sequence = outer * (by_head ? heads : r.tokens) + behind;
    return {gap, sequence, by_head ? inner : outer, by_head ? outer : inner};
}

// Gaps between the elements of sources and destinations; K and V go alike.
void drawLayouts(sample::Random* random, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    RopeFusedDescription& r = d;
    const uint32_t kv_heads = std::max(r.k.heads, d.v.heads);
    for (const bool source : {true, false}) {
        if (!oneIn(3, random)) continue;
        const bool halves = isHalf(source ? r.element : r.q.element);
        const uint32_t gap = halves ? 2u << random->below(2) : 1u << random->below(3);
        const bool by_head = oneIn(3, random);
        const uint64_t q_dim = dimOf(r, r.q), k_dim = dimOf(r, r.k), v_dim = dimOf(r, d.v);
        RopeLayout q = layOut(r, r.q.heads, dimOf(r, r.q), gap, by_head);
        RopeLayout k = layOut(r, kv_heads, dimOf(r, r.k), gap, by_head);
        RopeLayout v = layOut(r, kv_heads, dimOf(r, d.v), gap, by_head); // of one width they go alike
        if (source && d.packed_qkv != 0) {
            const uint64_t row = r.q.heads * q_dim + r.k.heads * k_dim + d.v.heads * v_dim + gap;
            q = {gap, r.tokens * row, row, q_dim};
            k = {q.offset + r.q.heads * q_dim, q.batch_stride, row, k_dim};
            v = {k.offset + r.k.heads * k_dim, q.batch_stride, row, v_dim};
        }
        const RopeLayout layouts[] = {q, k, v};
        RopeFusedTensor* tensors[] = {&d.q, &d.k, &d.v};
        for (int i = 0; i < 3; ++i) {
            if (source)
                tensors[i]->from = layouts[i];
            else if (i == 0 || d.cache.kind == ROPE_CACHE_NONE)
                tensors[i]->to = rope::cacheLayout(layouts[i]);
        }
    }
}

// Heads of other widths.
void drawWidths(sample::Random* random, bool own_v, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    RopeFusedDescription& r = d;
    if (!oneIn(3, random)) return;
    const bool runs = scene->shifts ? fitsRuns(r) : fitsQuads(r);
    const uint32_t least = isHalf(r.element) || isHalf(r.q.element) ? 2 : 1;
    const uint32_t step = !runs ? least : oneIn(2, random) ? 4 : 64;
    const uint32_t begin_step = !scene->shifts && oneIn(4, random) ? least : step;
    const auto draw_head = [&](RopeFusedTensor* tensor) {
        tensor->rotary_begin = begin_step * random->below(4);
        const uint64_t end = tensor->rotary_begin + r.rotation.rotary_dim;
        tensor->head_dim = static_cast<uint32_t>(roundUp(end, runs ? 4 : least)) + step * random->below(4);
    };
    if (oneIn(2, random)) draw_head(&r.q);
    if (!oneIn(4, random)) draw_head(&r.k);
    if (own_v) {
        d.v.head_dim = (runs ? 4 : least) * (1 + random->below(40));
        if (step == 64) d.v.head_dim = 64 * (1 + random->below(3));
    } else {
        d.v.head_dim = dimOf(r, r.k);
    }
}

// Norms of a part of their heads.
void drawParts(sample::Random* random, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    const RopeFusedDescription& r = d;
    if (d.v.heads == 0) d.v.norm = {};
    if (d.v.norm.kind != ROPE_NORM_LAYER && d.k.norm.kind != ROPE_NORM_NONE && !oneIn(4, random))
        d.v.norm.all_heads = d.k.norm.all_heads;
    const auto draw_part = [&](const RopeFusedTensor& tensor, RopeNorm* norm) {
        if (norm->kind == ROPE_NORM_NONE || !oneIn(3, random)) return;
        const uint32_t quads = dimOf(r, tensor) / 4, begin = random->below(quads);
        norm->begin = 4 * begin;
        norm->dim = oneIn(3, random) ? 0 : 4 * (1 + random->below(quads - begin));
    };
    draw_part(r.q, &d.q.norm);
    draw_part(r.k, &d.k.norm);
    draw_part(d.v, &d.v.norm);
}

void drawTensors(sample::Random* random, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    const RopeFusedDescription& r = d;
    if (!scene->shifts && random->below(3) != 0) d.v.heads = r.k.heads != 0 ? r.k.heads : 2;
    const bool own_v = r.k.heads == 0 || oneIn(3, random);
    if (d.v.heads != 0 && own_v && oneIn(3, random)) d.v.heads = 1 + random->below(4);
    drawWidths(random, own_v, scene);
    drawParts(random, scene);
    if (r.k.heads != 0) drawCache(random, scene);
    if (d.cache.kind == ROPE_CACHE_NONE && r.out_of_place == 0) d.v.heads = 0;
    // In place a dispatch reads rows of which another writes a part: no hazard, but validation takes it for one.
    d.packed_qkv = r.q.heads != 0 && r.out_of_place != 0 && random->below(2) != 0;
    drawLayouts(random, scene);
}

// The count of tokens and the slots or table behind the positions.
void drawCount(sample::Random* random, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    const uint32_t bytes = ropePositionBytes(d.positions.element);
    const bool may_count = d.positions.kind < ROPE_POSITIONS_PACKED && d.rotation.skip_last == 0;
    d.tokens_counted = may_count && random->below(3) == 0;
    d.tokens_offset = positionElements(d) + random->below(3);
    if (oneIn(2, random)) d.tokens_batch_stride = 1 + random->below(3);
    const uint64_t end = d.tokens_offset + 1 + (d.batch - 1) * d.tokens_batch_stride;
    d.cache.map_offset = (end * bytes + 7) / ropePositionBytes(d.cache.map_element);
    static const int64_t kOdd[] = {-1, INT32_MIN, INT32_MAX, (int64_t{1} << 32) + 1, -(int64_t{1} << 40) + 1};
    for (int64_t& present : scene->present)
        present = oneIn(4, random) ? kOdd[random->below(5)] : random->below(d.tokens + 2);
}

void drawWeightsOnDevice(sample::Random* random, const RopeFusedDescription& d, RopeNorm* norm) {
    if (norm->kind == ROPE_NORM_NONE || !oneIn(2, random)) return;
    norm->weights = norm->biases = nullptr;
    norm->no_weights = 0;
    norm->weights_head_stride = 0;
    norm->weights_element = static_cast<RopeElement>(random->below(4));
    const uint64_t finest = oneIn(2, random) ? 4 : 1; // whole vectors, or any place
    norm->weights_offset = random->below(40) * finest;
    if (oneIn(3, random)) norm->weights_head_stride = (d.head_dim + random->below(3)) * finest;
    if (oneIn(3, random)) norm->weights_token_stride = (1 + random->below(2 * d.head_dim)) * finest;
}

// Slots and weights in buffers of their own.
void drawApart(sample::Random* random, Scene* scene) {
    RopeFusedDescription& d = scene->d;
    drawWeightsOnDevice(random, d, &d.q.norm);
    drawWeightsOnDevice(random, d, &d.k.norm);
    d.cache.map_in_positions = 1;
    if (!oneIn(2, random)) return;
    d.cache.map_in_positions = 0;
    d.cache.map_offset = random->below(5);
}

void drawLimits(sample::Random* random, Scene* scene) {
    const RopeFusedDescription& d = scene->d;
    RopeLimits& most = scene->most;
    most = {
        UINT64_MAX, UINT32_MAX, {UINT32_MAX, UINT32_MAX}, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
        UINT32_MAX, 0};
    static const uint32_t kGroups[] = {24, 32, 48, 100};
    if (oneIn(6, random)) most.group_size = kGroups[random->below(4)];
    if (oneIn(8, random)) most.shared_bytes = 1024u << random->below(4);
    if (oneIn(8, random)) most.storage_buffers = 4;
    if (oneIn(2, random)) most.threads = 16384; // the plans of GPUs
    static const uint32_t kPairs[] = {0, 4, 8};
    RopeTuning& tuning = scene->d.tuning;
    if (oneIn(6, random)) tuning = {random->below(25), random->below(12), kPairs[random->below(3)]};
    if (oneIn(16, random)) most.enabled = ~ROPE_ENABLED_STORAGE_16;
    // Several parts. In place they share bytes of an alignment, which validation takes for a hazard.
    if (d.out_of_place == 0 || scene->shifts) return;
    if (oneIn(4, random)) most.storage_range = 1024u << random->below(4);
    if (oneIn(3, random)) most.group_count[0] = 2 + d.tokens / 16;
    if (oneIn(5, random)) most.group_count[1] = 1;
}

// Keys on their way to a cache turn by a scale of 1, and not by a shift.
void turnOnTheWay(Scene* scene) {
    RopeRotation& r = scene->d.rotation;
    if (scene->shifts || scene->d.cache.kind == ROPE_CACHE_NONE || r.operation != ROPE_OPERATION_SHIFT) return;
    r.operation = ROPE_OPERATION_FORWARD;
    r.frequencies.scale = 0;
}

void layOutWeights(RopeFusedDescription* d) {
    for (RopeFusedTensor* t : {&d->q, &d->k, &d->v}) {
        RopeNorm& norm = t->norm;
        const uint32_t width = t->head_dim != 0 ? t->head_dim : d->head_dim;
        if (norm.weights_head_stride != 0) norm.weights_head_stride = norm.dim != 0 ? norm.dim : width - norm.begin;
    }
}

// Returns a power of two that divides the heads of both tensors, or 0 if 16 does not. Drawn last and by numbers of its
// own, it changes nothing that is drawn before.
uint32_t drawBlock(sample::Random* random, uint32_t a, uint32_t b) {
    uint32_t most = 16;
    while (most < 512 && a % (2 * most) == 0 && b % (2 * most) == 0) most *= 2;
    if (a % 16 != 0 || b % 16 != 0) return 0;
    return oneIn(2, random) ? most : std::min(most, 16u << random->below(6));
}

// Blocks that the pass is not refused for.
void drawHadamard(sample::Random* random, Scene* scene) {
    RopeFusedDescription d = scene->d;
    const uint32_t q = dimOf(d, d.q.heads != 0 ? d.q : d.k), k = dimOf(d, d.k.heads != 0 ? d.k : d.q);
    if (!oneIn(3, random)) d.q.hadamard = d.k.hadamard = drawBlock(random, q, k);
    if (!oneIn(3, random)) d.v.hadamard = drawBlock(random, dimOf(d, d.v), dimOf(d, d.v));
    rope::ResolvedFused fused;
    if (rope::resolveFused(d, &fused, nullptr) == ROPE_SUCCESS) scene->d = d;
}

// A tensor whose rotary part starts at 0 needs a rotation that does not say another start.
void nameBegins(RopeFusedDescription* d) {
    const uint32_t begin = d->rotation.rotary_begin;
    const auto starts_at_0 = [](const RopeFusedTensor& t) { return t.head_dim != 0 && t.rotary_begin == 0; };
    if (!starts_at_0(d->q) && !starts_at_0(d->k)) return;
    d->rotation.rotary_begin = 0;
    for (RopeFusedTensor* t : {&d->q, &d->k})
        if (t->head_dim == 0) t->rotary_begin = begin;
}

} // namespace

void draw(uint64_t seed, Scene* scene) {
    sample::Random random(seed);
    RopeCache& cache = scene->d.cache;
    scene->shifts = oneIn(8, &random);
    if (scene->shifts && !oneIn(3, &random)) cache.delta = static_cast<int32_t>(random.below(2000)) - 1000;
    drawShape(&random, scene);
    drawPositions(&random, scene);
    drawFrequencies(&random, scene);
    drawRows(&random, scene);
    if (!scene->shifts) drawStages(&random, scene);
    drawTensors(&random, scene);
    turnOnTheWay(scene);
    nameBegins(&scene->d);
    layOutWeights(&scene->d);
    drawCount(&random, scene);
    drawLimits(&random, scene);
    drawApart(&random, scene);
    sample::Random of_blocks(seed + 1);
    if (oneIn(3, &of_blocks)) drawHadamard(&of_blocks, scene);
}

uint64_t positionElements(const RopeFusedDescription& description) {
    RopeFusedDescription far = description; // where slot map and count lie is found by this
    far.tokens_counted = 0;
    far.cache.map_offset = uint64_t{1} << 30;
    rope::ResolvedFused fused;
    if (rope::resolveFused(far, &fused, nullptr) != ROPE_SUCCESS) return 0;
    const RopeFusedDescription& d = fused.filled;
    if (d.positions.kind == ROPE_POSITIONS_COUNTED) return 0;
    const rope::PassAccess a = rope::positionAccess(d.positions, d.rotation.frequencies);
    return a.offset + a.extent + (d.batch - 1) * a.stride[0] + (d.tokens - 1) * a.stride[1];
}

RopeLimits limitsOf(const Scene& scene, const RopeLimits& device) {
    const RopeLimits& most = scene.most;
    RopeLimits limits = device;
    limits.storage_range = std::min(device.storage_range, most.storage_range);
    limits.group_count[0] = std::min(device.group_count[0], most.group_count[0]);
    limits.group_count[1] = std::min(device.group_count[1], most.group_count[1]);
    limits.group_size = std::min(device.group_size, most.group_size);
    limits.enabled = device.enabled & most.enabled;
    limits.storage_buffers = std::min(device.storage_buffers, most.storage_buffers);
    limits.shared_bytes = std::min(device.shared_bytes, most.shared_bytes);
    if (most.threads != UINT32_MAX) limits.threads = most.threads;
    return limits;
}

namespace {

std::string describeRotation(const RopeRotateDescription& r) {
    const RopePositions& p = r.positions;
    char text[512];
    std::snprintf(
        text, sizeof text,
        "batch %u tokens %u (skip %u %u) dim %u+%u/%u chunk %u pairing %d>%d element %d>%d place %u "
        "operation %d angle %d source %d rows %llu+%llu.%u.%lld.%d sets %u axes %d scale %g positions %d.%d "
        "x%u shared %u at %llu.%llu.%llu.%llu",
        r.batch, r.tokens, r.rotation.skip_first, r.rotation.skip_last, r.rotation.rotary_begin, r.rotation.rotary_dim,
        r.head_dim, r.rotation.chunk_dim, r.rotation.pairing, r.rotation.pairing_out, r.element, r.element_out,
        r.out_of_place, r.rotation.operation, r.rotation.angle, r.rotation.source,
        static_cast<unsigned long long>(r.rotation.rows.offset),
        static_cast<unsigned long long>(r.rotation.rows.row_stride), r.rotation.rows.pair_stride,
        static_cast<long long>(r.rotation.rows.sin_offset), r.rotation.rows.element, r.rotation.frequencies.sets,
        r.rotation.frequencies.axes != nullptr ? static_cast<int>(rope::axisCount(r.rotation.frequencies)) : 0,
        r.rotation.frequencies.scale, p.kind, p.element, p.sequences, p.same_for_all_sequences,
        static_cast<unsigned long long>(p.offset), static_cast<unsigned long long>(p.batch_stride),
        static_cast<unsigned long long>(p.token_stride), static_cast<unsigned long long>(p.axis_stride));
    return text;
}

} // namespace

namespace {

std::string describePart(const char* name, const RopeNorm& norm) {
    return std::string(name) + " part " + std::to_string(norm.begin) + "+" + std::to_string(norm.dim) +
           (norm.biases != nullptr ? " biased" : "") + (norm.weights_head_stride != 0 ? " per head" : "");
}

std::string describeWeights(const RopeNorm& norm) {
    if (norm.no_weights != 0 || norm.weights != nullptr) return norm.weights != nullptr ? " given" : " none";
    return " kind " + std::to_string(norm.weights_element) + " at " + std::to_string(norm.weights_offset) + "." +
           std::to_string(norm.weights_token_stride) + "." + std::to_string(norm.weights_head_stride);
}

} // namespace

std::string describe(const Scene& scene) {
    const RopeFusedDescription& d = scene.d;
    const RopeCache& c = d.cache;
    const RopeLimits& most = scene.most;
    const RopeTuning& t = d.tuning;
    char text[512];
    std::snprintf(
        text, sizeof text,
        " heads %u.%u+%u %u.%u+%u %u.%u gaps %llu %llu norm %d.%u.%u.%g %d.%u.%u.%g query scale %u cache %d order %d "
        "element "
        "%d gap %llu slots %u page %u slot map %d+%llu one_buffer %u packed %u "
        "no_rotation %u counted "
        "%u (%lld %lld at %llu.%llu) shift %u by %d tuning %u.%u.%u limits %lld.%d.%d.%d.%d.%d.%x",
        d.q.heads, d.q.head_dim, d.q.rotary_begin, d.k.heads, d.k.head_dim, d.k.rotary_begin, d.v.heads, d.v.head_dim,
        static_cast<unsigned long long>(d.q.from.offset), static_cast<unsigned long long>(d.q.to.offset), d.q.norm.kind,
        d.q.norm.after, d.q.norm.all_heads, static_cast<double>(d.q.norm.epsilon), d.k.norm.kind, d.k.norm.after,
        d.k.norm.all_heads, static_cast<double>(d.k.norm.epsilon), d.query_scale.count, c.kind, c.order, d.k.element,
        static_cast<unsigned long long>(d.k.to.token_stride), c.slots, c.page_size, c.map_element,
        static_cast<unsigned long long>(c.map_batch_stride), c.one_buffer, d.packed_qkv, d.k.no_rotation,
        d.tokens_counted, static_cast<long long>(scene.present[0]), static_cast<long long>(scene.present[1]),
        static_cast<unsigned long long>(d.tokens_offset), static_cast<unsigned long long>(d.tokens_batch_stride),
        scene.shifts, c.delta, t.group_size, t.heads, t.pairs, static_cast<long long>(most.storage_range),
        static_cast<int>(most.group_count[0]), static_cast<int>(most.group_count[1]), static_cast<int>(most.group_size),
        static_cast<int>(most.shared_bytes), static_cast<int>(most.storage_buffers), most.enabled);
    const std::string weights =
        " weights" + describeWeights(d.q.norm) + describeWeights(d.k.norm) + describeWeights(d.v.norm) +
        describePart(" q", d.q.norm) + describePart(" k", d.k.norm) + describePart(" v", d.v.norm) + " kind " +
        std::to_string(d.v.norm.kind) + "." + std::to_string(d.v.norm.all_heads) + " clip " + std::to_string(d.clip) +
        " biases " + std::to_string(d.q.bias) + "." + std::to_string(d.bias_element) + " at " +
        std::to_string(d.q.bias_offset) + "." + std::to_string(d.k.bias_offset) + "." + std::to_string(d.v.bias_offset);
    return describeRotation(rope::rotationOf(d)) + text + " map in positions " + std::to_string(c.map_in_positions) +
           weights + " hadamard " + std::to_string(d.q.hadamard) + "." + std::to_string(d.k.hadamard) + "." +
           std::to_string(d.v.hadamard) + " v element " + std::to_string(d.v.element) + " given scales " +
           std::to_string(d.k.given_scale.count) + "." + std::to_string(d.k.given_scale.multiplies) + " " +
           std::to_string(d.v.given_scale.count) + "." + std::to_string(d.v.given_scale.multiplies);
}

} // namespace fusion
