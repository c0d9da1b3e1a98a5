// Fused plans of any description: every index that a shader may form lies inside its binding, whatever the buffers
// hold.
#include "plan/fused/bindings.h"
#include "plan/fused/record.h"
#include "plan/fused/resolve.h"
#include "support/fusion.hpp"
#include "support/reach.hpp"
#include "support/sample.hpp"

#include "plan/axes.h"
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace {

// A dispatch, the pass that it is of, and its words.
struct Last {
    const rope::PlanPass& pass;
    const RopeDispatch& dispatch;
    bool is_first; // of its pass
    rope::RopeFusedPush push;
    uint32_t id(uint32_t constant) const { return dispatch.constants[constant]; }
    bool has(uint32_t bit) const { return (id(ROPE_ID_PASS) & bit) != 0; }
    uint32_t field(const rope::FusedTensor& t, uint32_t number) const {
        return dispatch.constants[rope::kRecordIds[t.role] + number];
    }
    // A stride of heads or sequences, as the shader counts: modulo 2^32.
    uint32_t grown(const rope::FusedTensor& t, uint32_t number, uint32_t length) const {
        return field(t, number) + field(t, number + 1) * length;
    }
    uint32_t length(const rope::FusedTensor& t, const uint32_t* lengths) const {
        return lengths[t.role == rope::kQ ? 0 : 1];
    }
    void fits(uint32_t binding, uint64_t last, uint64_t bytes) const {
        ASSERT_LE((last + 1) * bytes, dispatch.bindings[binding].range) << "binding " << binding;
    }
};

void checkSlotMap(const Last& l, uint64_t sequences) {
    const uint64_t bytes = l.has(ROPE_PASS_MAP_WIDE) ? 8 : 4;
    const uint64_t token = l.push.first_token + l.push.tokens - 1ull;
    const uint32_t binding = l.has(ROPE_PASS_MAP_APART) ? ROPE_BINDING_SLOT_MAP : ROPE_BINDING_POSITIONS;
    if (l.id(ROPE_ID_CACHE) == ROPE_CACHE_BY_SLOTS) {
        l.fits(binding, l.push.slot_map_at + (l.dispatch.groups[1] - 1ull) * l.push.slot_map_batch + token, bytes);
    } else if (l.id(ROPE_ID_CACHE) == ROPE_CACHE_BY_TABLE) {
        l.fits(binding, l.push.slot_map_at + (sequences - 1) * l.push.slot_map_batch + l.push.table_pages - 1, bytes);
    }
    if (!l.has(ROPE_PASS_COUNTED)) return;
    const uint32_t element = l.id(ROPE_ID_POSITION_ELEMENT);
    l.fits(ROPE_BINDING_POSITIONS, l.push.count_at, element == ROPE_WHOLE_64 || element == ROPE_FIXED_64 ? 8 : 4);
}

// Where a tensor lies in one of its bindings: strides count units of elements.
struct Strides {
    uint32_t binding;
    uint64_t at, batch, token, head;
};

// The last element lies in the binding, and every head of every token is where the layout has it.
void checkTensor(const Last& l, const rope::FusedTensor& t, const Strides& s, const RopeLayout& layout,
                 RopeElement element) {
    const uint64_t units =
        s.at + (l.dispatch.groups[1] - 1ull) * s.batch + (l.push.tokens - 1ull) * s.token + (t.heads - 1ull) * s.head;
    l.fits(s.binding, units * l.pass.address_unit + t.d.head_dim - 1, ropeElementBytes(element));
    const uint64_t unit = l.pass.address_unit;
    if (l.is_first) {
        ASSERT_EQ(l.dispatch.bindings[s.binding].offset + s.at * unit * ropeElementBytes(element),
                  layout.offset * ropeElementBytes(element));
    }
    if (l.dispatch.groups[1] > 1) {
        ASSERT_EQ(s.batch * unit, layout.batch_stride);
    }
    if (l.push.tokens > 1) {
        ASSERT_EQ(s.token * unit, layout.token_stride);
    }
    if (t.heads > 1) {
        ASSERT_EQ(s.head * unit, layout.head_stride);
    }
}

// The last weight that a token and a head ask for, and what is loaded with it.
void checkWeights(const Last& l, const rope::FusedTensor& t) {
    if (!rope::hasWeightsInBuffer(t.norm)) return;
    const bool q = t.role == rope::kQ;
    const uint32_t bits = l.field(t, rope::field::norm_bits);
    const uint32_t element = bits >> ROPE_NORM_WEIGHTS;
    const uint64_t begin = l.push.weights_at[q ? 0 : 1];
    const uint64_t token = l.field(t, rope::field::weight_token);
    const uint64_t head = l.field(t, rope::field::weight_head);
    const uint64_t last =
        begin + (l.push.first_token + l.push.tokens - 1ull) * token + (t.heads - 1ull) * head + t.norm.dim - 1;
    const uint32_t binding = q ? ROPE_BINDING_Q_WEIGHTS : ROPE_BINDING_K_WEIGHTS;
    const uint64_t bytes = ropeElementBytes(t.norm.weights_element);
    ASSERT_EQ(element, uint32_t{t.norm.weights_element});
    l.fits(binding, last * bytes / 4, 4); // whole words
    ASSERT_EQ(l.dispatch.bindings[binding].offset + begin * bytes, t.norm.weights_offset * bytes);
    if ((bits & ROPE_NORM_BY_FOUR) != 0) {
        ASSERT_EQ((begin | token | head) % 4, 0u);
    }
}

void checkBiases(const Last& l, const rope::FusedTensor& t) {
    ASSERT_EQ((l.field(t, rope::field::kind) & ROPE_STAGE_BIASES) != 0, t.takes(ROPE_STAGE_BIASES));
    if (!t.takes(ROPE_STAGE_BIASES)) return;
    const uint64_t begin = l.field(t, rope::field::bias_at), last = begin + uint64_t{t.heads} * t.d.head_dim - 1;
    ASSERT_EQ(begin, t.bias_offset);
    ASSERT_EQ(l.dispatch.bindings[ROPE_BINDING_BIASES].offset, 0u);
    l.fits(ROPE_BINDING_BIASES, last * (l.id(ROPE_ID_BIAS_ELEMENT) == 1 ? 4 : 2) / 4, 4);
}

void checkCache(const Last& l, const rope::FusedTensor& t, uint64_t sequences) {
    namespace f = rope::field;
    const uint64_t rows = l.id(ROPE_ID_PAGE_SIZE) != 0 ? l.id(ROPE_ID_PAGE_SIZE) : l.push.slots;
    const uint64_t pages = l.push.slots / rows, heads = t.heads;
    const uint32_t length = l.length(t, l.push.length_to), caches = t.cache.batch_stride != 0 ? sequences : 1;
    const uint64_t rows_before = caches > 1 ? (caches - 1) * l.field(t, f::to_rows) * length : 0;
    const bool paged = l.id(ROPE_ID_PAGE_SIZE) != 0;
    const uint64_t before = rows_before * l.field(t, paged ? f::to_page : f::to_token);
    const uint64_t scales_before = rows_before * l.field(t, paged ? f::scale_page : f::scale_slot);
    const uint64_t units = before + (caches - 1ull) * l.field(t, f::to_batch) + (pages - 1) * l.field(t, f::to_page) +
                           (rows - 1) * l.field(t, f::to_token) + (heads - 1) * l.grown(t, f::to_head, length);
    const RopeElement element = t.d.element_out;
    const uint64_t blocks = rope::formatOf(element).block_elements; // places count them, or runs
    const uint64_t elements = units * (blocks != 1 ? blocks : l.pass.address_unit) + t.d.head_dim;
    ASSERT_LE(units, UINT32_MAX) << "the shader counts in 32 bits";
    const uint32_t binding = l.pass.facts.to[t.role];
    const uint64_t to = l.push.to[t.role];
    if (!rope::isForCaches(element)) {
        l.fits(binding, to * l.pass.address_unit + elements - 1, ropeElementBytes(element));
        return;
    }
    const uint32_t bytes = l.pass.access[binding].element_bytes;
    l.fits(binding, to + rope::elementBytes(element, elements) / bytes - 1, bytes);
    if (!t.has_scales) return;
    const uint64_t scale_head = heads > 1 ? l.grown(t, f::scale_head, length) : 0;
    l.fits(binding,
           static_cast<uint32_t>(l.push.scale_at[t.role - rope::kK] + scales_before +
                                 (caches - 1ull) * l.field(t, f::scale_batch)) +
               (pages - 1) * l.field(t, f::scale_page) + (rows - 1) * l.field(t, f::scale_slot) +
               (heads - 1) * scale_head,
           4);
}

// Bytes, which stop at the largest number instead of passing it.
class Reach {
  public:
    explicit Reach(uint64_t offset) : elements_(offset) {}
    Reach& over(uint64_t count, uint64_t stride) {
        const uint64_t more = stride != 0 && count - 1 > UINT64_MAX / stride ? UINT64_MAX : (count - 1) * stride;
        elements_ = more > UINT64_MAX - elements_ ? UINT64_MAX : elements_ + more;
        return *this;
    }
    // With as many elements from there on; `size` bytes for each `share` of them.
    void isIn(uint64_t bytes, uint64_t extent, uint64_t size, uint64_t share = 1) const {
        EXPECT_LE(elements_, UINT64_MAX - extent);
        EXPECT_LE((elements_ + extent) / share, bytes / size);
    }

  private:
    uint64_t elements_;
};

uint64_t sequenceCount(const RopeRotateDescription& d) {
    return rope::isPacked(d.positions) ? d.positions.sequences : d.batch;
}

void checkPositionBytes(const rope::ResolvedFused& fused, const rope::FusedTensor& t, const RopePlan& plan) {
    const RopeRotateDescription& d = t.d;
    const RopeCache& cache = fused.filled.cache;
    const uint64_t bytes = plan.bytes[ROPE_SLOT_POSITIONS];
    const uint64_t map_bytes = cache.map_in_positions != 0 ? bytes : plan.bytes[ROPE_SLOT_SLOT_MAP];
    const uint32_t step = ropePositionBytes(cache.map_element);
    if (t.cached && cache.kind == ROPE_CACHE_SLOTS) {
        Reach(cache.map_offset).over(d.batch, cache.map_batch_stride).over(d.tokens, 1).isIn(map_bytes, 1, step);
    }
    if (t.cached && cache.kind == ROPE_CACHE_PAGE_TABLE) {
        Reach(cache.map_offset).over(sequenceCount(d), cache.map_batch_stride).isIn(map_bytes, cache.table_pages, step);
    }
    if (fused.filled.tokens_counted != 0)
        Reach(fused.filled.tokens_offset).isIn(bytes, 1, ropePositionBytes(fused.count_element));
    const auto [p, f] = rope::fusedPositions(fused, t);
    if (p.kind == ROPE_POSITIONS_COUNTED) return;
    const uint64_t rows = rope::positionRows(p, rope::axisCount(f)) + rope::isPacked(p) + (f.sets > 1);
    Reach last = Reach(p.offset).over(rows, p.axis_stride);
    if (!rope::isPacked(p)) last.over(d.batch, p.batch_stride);
    if (p.kind == ROPE_POSITIONS_PER_TOKEN) last.over(d.tokens, p.token_stride);
    last.isIn(bytes, rope::isPacked(p) ? p.sequences : 1, ropePositionBytes(p.element));
}

void checkTensorBytes(const rope::ResolvedFused& fused, const rope::FusedTensor& t, const RopePlan& plan) {
    const auto tensor = [&t, &plan](RopeSlot slot, const RopeLayout& l, RopeElement element) {
        Reach(l.offset)
            .over(t.d.batch, l.batch_stride)
            .over(t.d.tokens, l.token_stride)
            .over(t.heads, l.head_stride)
            .isIn(plan.bytes[slot], t.d.head_dim, ropeElementBytes(element));
    };
    if (t.d.out_of_place != 0) tensor(t.from_slot, t.source, t.d.element);
    if (rope::hasWeightsInBuffer(t.norm)) {
        const RopeSlot slot = t.role == rope::kQ ? ROPE_SLOT_Q_WEIGHTS : ROPE_SLOT_K_WEIGHTS;
        Reach(t.norm.weights_offset)
            .over(t.d.tokens, t.norm.weights_token_stride)
            .over(t.heads, t.norm.weights_head_stride)
            .isIn(plan.bytes[slot], t.norm.dim, ropeElementBytes(t.norm.weights_element));
    }
    if (!t.cached) return tensor(t.to_slot, t.destination, t.d.element_out);
    const RopeCache& cache = fused.filled.cache;
    const auto cached = [&](const RopeCacheLayout& l, uint32_t extent, uint32_t size, uint32_t share) {
        Reach(l.offset)
            .over(rope::cacheKind(cache).by_position ? sequenceCount(t.d) : 1, l.batch_stride)
            .over(cache.slots / cache.page_size, l.page_stride)
            .over(cache.page_size, l.token_stride)
            .over(t.heads, l.head_stride)
            .isIn(plan.bytes[t.to_slot], extent, size, share);
    };
    const rope::ElementFormat& format = rope::formatOf(t.d.element_out);
    cached(t.cache, t.d.head_dim, format.block_bytes, format.block_elements);
    if (t.has_scales) cached(t.scales, 1, 4, 1);
}

// Counts and strides whose products pass 64 bits.
void spoilProducts(sample::Random* random, RopeFusedDescription* d) {
    const uint64_t stride = (uint64_t{1} << 33) - random->below(2) * 64;
    const uint32_t count = (1u << (27 + random->below(3))) + random->below(3) - 1;
    (random->below(4) != 0 ? d->batch : d->tokens) = count;
    RopePositions& p = d->positions;
    RopeCache& c = d->cache;
    uint64_t* strides[] = {&p.batch_stride,
                           &p.token_stride,
                           &p.axis_stride,
                           &c.map_batch_stride,
                           &d->k.to.batch_stride,
                           &d->q.norm.weights_token_stride,
                           &d->k.norm.weights_head_stride};
    for (uint32_t times = 1 + random->below(3); times != 0; --times) *strides[random->below(7)] = stride;
    if (random->below(2) == 0) d->rotation.skip_first = d->rotation.skip_last = 0;
}

void spoil(sample::Random* random, fusion::Scene* scene) {
    static const uint32_t kNasty[] = {0,    1,     2,        3,        5,        64,         127,
                                      4096, 65536, 1u << 24, 1u << 28, 1u << 30, 0x7FFFFFFF, 0xFFFFFFFF};
    const auto any = [&] { return kNasty[random->below(14)]; };
    RopeFusedDescription& d = scene->d;
    RopeCache& c = d.cache;
    RopePositions& p = d.positions;
    if (random->below(8) == 0) return spoilProducts(random, &d);
    uint32_t* words[] = {&d.batch,          &d.tokens,         &d.q.heads,      &d.v.heads,
                         &c.slots,          &c.page_size,      &c.table_pages,  &d.packed_qkv,
                         &c.one_buffer,     &d.tokens_counted, &p.sequences,    &d.k.head_dim,
                         &d.q.rotary_begin, &d.v.head_dim,     &d.k.norm.begin, &d.q.norm.dim};
    uint64_t* longs[] = {&c.map_offset,
                         &c.map_batch_stride,
                         &d.k.to.offset,
                         &d.k.to.token_stride,
                         &d.k.to.page_stride,
                         &d.v.to.offset,
                         &d.k.stored_scales.offset,
                         &d.tokens_offset,
                         &d.k.to.head_stride,
                         &d.k.to.batch_stride,
                         &d.v.from.offset,
                         &p.offset,
                         &p.batch_stride,
                         &d.q.from.offset,
                         &p.token_stride,
                         &p.axis_stride,
                         &d.rotation.rows.offset,
                         &d.rotation.rows.row_stride,
                         &d.k.stored_scales.token_stride,
                         &d.v.stored_scales.offset,
                         &d.q.norm.weights_offset,
                         &d.q.norm.weights_token_stride,
                         &d.k.norm.weights_offset,
                         &d.k.norm.weights_head_stride,
                         &d.q.bias_offset,
                         &d.k.bias_offset,
                         &d.v.bias_offset};
    for (uint32_t times = random->below(4); times != 0; --times) {
        if (random->below(2) == 0) {
            *words[random->below(16)] = any();
        } else {
            *longs[random->below(27)] = uint64_t{any()} << random->below(4) * 8;
        }
    }
    if (random->below(4) == 0) d.v.to = d.k.to, d.v.to.offset += any();
    if (random->below(8) == 0) d.k.norm.weights_element = static_cast<RopeElement>(random->below(8) - 1);
    if (random->below(8) == 0) c.kind = static_cast<RopeCacheKind>(random->below(7) - 1);
    if (random->below(8) == 0) d.k.element = static_cast<RopeElement>(random->below(8) - 1);
}

void checkBindings(const RopePlan& plan, const RopeDispatch& dispatch, const RopeLimits& limits) {
    ASSERT_LE(dispatch.groups[0], limits.group_count[0]);
    ASSERT_LE(dispatch.groups[1], limits.group_count[1]);
    const uint32_t* ids = dispatch.constants;
    ASSERT_LE(ids[ROPE_ID_GROUP_SIZE] * ids[ROPE_ID_GROUP_BLOCKS] * ids[ROPE_ID_GROUP_TOKENS], limits.group_size);
    for (const RopeBinding& binding : dispatch.bindings) {
        ASSERT_LE(binding.range, limits.storage_range);
        ASSERT_EQ(binding.offset % plan.limits.storage_alignment, 0u);
        const uint64_t end = binding.range != 0 ? binding.offset + binding.range : 0;
        ASSERT_LE(end, plan.bytes[binding.slot]);
    }
}

void checkTensorOf(const Last& l, const rope::FusedTensor& t, uint64_t sequences) {
    namespace f = rope::field;
    const auto strides = [&](uint32_t binding, uint64_t at, uint32_t first, const uint32_t* lengths) {
        const uint32_t length = l.length(t, lengths);
        const uint32_t batch = l.field(t, first + 3) + l.field(t, first + 4) * length * l.field(t, first);
        return Strides{binding, at, batch, l.field(t, first), l.grown(t, first + 1, length)};
    };
    static_assert(f::from_head == f::from_token + 1 && f::from_batch == f::from_token + 3);
    if (t.d.out_of_place != 0)
        checkTensor(l, t, strides(l.pass.facts.from[t.role], l.push.from[t.role], f::from_token, l.push.length_from),
                    t.source, t.d.element);
    if (t.cached) return checkCache(l, t, sequences);
    checkTensor(l, t, strides(l.pass.facts.to[t.role], l.push.to[t.role], f::to_token, l.push.length_to), t.destination,
                t.d.element_out);
}

// Checks one dispatch, and marks the tensors that it takes.
void checkDispatch(const rope::ResolvedFused& fused, const rope::PlanPass& pass, const RopeDispatch& dispatch,
                   bool is_first, uint32_t* taken) {
    Last l = {pass, dispatch, is_first, {}};
    std::memcpy(&l.push, dispatch.push, sizeof l.push);
    const rope::RopePush tokens = reach::tokenWords(dispatch);
    const reach::Last last = {dispatch.groups[1] - 1ull, l.push.tokens - 1ull, 0};
    const RopeRotateDescription& d = fused.tensors[0].d;
    const uint64_t sequences = rope::isPacked(d.positions) ? d.positions.sequences : dispatch.groups[1];
    reach::checkPositions(dispatch, tokens, last);
    checkSlotMap(l, sequences);
    const uint32_t heads[] = {l.id(ROPE_ID_RECORD_Q), l.id(ROPE_ID_RECORD_K), l.id(ROPE_ID_RECORD_V)};
    for (uint32_t i = 0; i < fused.count; ++i) {
        const rope::FusedTensor& t = fused.tensors[i];
        if (heads[t.role] == 0) continue;
        ASSERT_EQ(heads[t.role], t.heads);
        *taken |= 1u << t.role;
        if (t.takes(ROPE_STAGE_TURN)) reach::checkCosSin(dispatch, tokens, last, l.id(ROPE_ID_PAIR_COUNTS) & 0xFFFF);
        checkWeights(l, t);
        checkBiases(l, t);
        checkTensorOf(l, t, sequences);
    }
}

void checkPlan(const fusion::Scene& scene, const RopePlan& plan, const RopeLimits& limits) {
    rope::ResolvedFused fused;
    RopeReason reason;
    ASSERT_EQ(rope::resolveFused(scene.d, &fused, &reason), ROPE_SUCCESS);
    for (uint32_t i = 0; i < fused.count; ++i) {
        if (rope::isIdle(fused.tensors[i])) continue;
        checkPositionBytes(fused, fused.tensors[i], plan);
        checkTensorBytes(fused, fused.tensors[i], plan);
    }
    if (testing::Test::HasFailure()) return;
    uint32_t first = 0, taken = 0;
    for (uint32_t pass = 0; pass < plan.pass_count; ++pass) {
        const uint32_t count = plan.passes[pass].dispatches;
        for (uint32_t i = 0; i < std::min(count, 100u); ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, first + (i < 50 ? i : count - 1 - (i - 50) % count), &dispatch);
            checkBindings(plan, dispatch, limits);
            checkDispatch(fused, rope::passAt(plan, pass), dispatch, i == 0, &taken);
        }
        first += count;
    }
    for (uint32_t i = 0; i < fused.count; ++i) {
        const bool takes = (taken >> fused.tensors[i].role & 1) != 0;
        ASSERT_NE(takes, rope::isIdle(fused.tensors[i])) << "tensor " << i;
    }
}

TEST(PlanFused, IsRefusedOrInsideItsSizesForAnyDescription) {
    sample::Random random(77);
    uint32_t accepted = 0;
    for (uint64_t i = 0; i < 40000; ++i) {
        fusion::Scene scene;
        fusion::draw(i, &scene);
        spoil(&random, &scene);
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        limits.storage_buffers = 4 + random.below(5);
        limits.storage_alignment = 1u << random.below(9);
        limits.enabled = random.below(4);
        if (random.below(4) == 0) limits.group_count[0] = 1 + random.below(70);
        if (random.below(4) == 0) limits.group_size = 1 + random.below(200);
        if (random.below(4) == 0) limits.storage_range = 1u << (12 + random.below(20));
        RopePlan plan;
        if (ropePlanFused(&scene.d, &limits, &plan) != ROPE_SUCCESS) {
            ASSERT_NE(plan.reason.text[0], '\0');
            ASSERT_LT(std::strlen(plan.reason.text), sizeof plan.reason.text - 1) << plan.reason.text;
            continue;
        }
        ++accepted;
        checkPlan(scene, plan, limits);
        if (HasFailure()) FAIL() << "description " << i << ": " << fusion::describe(scene);
    }
    EXPECT_GT(accepted, 8000u);
}

} // namespace
