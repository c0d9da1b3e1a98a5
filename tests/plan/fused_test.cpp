// Plans of fused passes: what takes one dispatch, what is refused by a device, and that no index leaves what is bound.
#include "support/fusion.hpp"
#include "support/reach.hpp"
#include "support/sample.hpp"

#include "plan/axes.h"
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"
#include "plan/fused.h"

#include <algorithm>
#include <cstring>

namespace {

RopeFusedDescription llamaToCache() {
    static const std::vector<double> kFrequencies = sample::frequencies(500000, 128);
    RopeFusedDescription d = {};
    d.rotate.tokens = 512;
    d.rotate.head_dim = 128;
    d.rotate.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    d.rotate.out_of_place = 1;
    d.rotate.q.heads = 32;
    d.rotate.k.heads = d.v.heads = 8;
    d.packed = 1;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.slots = 4096;
    d.cache.page_size = 16;
    d.cache.element = ROPE_ELEMENT_F16;
    d.cache.slot_map_offset = 512;
    d.cache.v_shares_buffer = 1;
    d.cache.v.offset = 4096 * 8 * 128;
    return d;
}

TEST(PlanFused, PackedRowsToOneCacheAreTwoDispatchesAtTheFloor) {
    const RopeFusedDescription d = llamaToCache();
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropeDispatchCount(&plan), 2u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q], 512u * 48 * 128 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q_OUT], 512u * 32 * 128 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_K_OUT], 2u * 4096 * 8 * 128 * 2);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 2u * 512 * 4);
    for (const RopeSlot slot : {ROPE_SLOT_K, ROPE_SLOT_V, ROPE_SLOT_V_OUT, ROPE_SLOT_PARAMETERS}) {
        EXPECT_EQ(plan.bytes[slot], 0u) << ropeSlotName(slot);
    }
    for (uint32_t i = 0; i < 2; ++i) {
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, i, &dispatch);
        for (uint32_t b = 0; b < ROPE_BINDING_COUNT; ++b) {
            const bool bound = b <= ROPE_BINDING_SOURCE || b == ROPE_BINDING_DESTINATION;
            EXPECT_EQ(dispatch.bindings[b].range != 0, bound) << i << ", binding " << b;
        }
    }
}

// Without a stride of their own the slots of one sequence end where the next one's begin.
TEST(PlanFused, SlotsOfSequencesFollowEachOtherByTheirOwnStride) {
    RopeFusedDescription d = llamaToCache();
    d.rotate.batch = 3;
    d.rotate.tokens = 4;
    d.rotate.positions = {};
    d.rotate.positions.kind = ROPE_POSITIONS_COUNTED;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.slot_map_offset = 5;
    d.cache.slot_map_token_stride = 2;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], (5 + 2 * (4 * 2) + 3 * 2 + 1) * 4u);
}

TEST(PlanFused, SaysWhatItDoes) {
    RopeFusedDescription d = llamaToCache();
    d.k_norm.kind = ROPE_NORM_RMS;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    char text[2048];
    ropePrintPlan(&plan, text, sizeof text);
    const std::string said = text;
    EXPECT_NE(said.find("1 x 512 x 32 (batches, tokens, heads): turn, to float32,"), std::string::npos) << said;
    EXPECT_NE(said.find("1 x 512 x 16 (batches, tokens, heads): norm, turn, to float16 at slots,"), std::string::npos)
        << said;
}

TEST(PlanFused, BuffersOfTheirOwnTakeSixOrAreRefusedOrTakenSeparately) {
    RopeFusedDescription d = llamaToCache();
    d.cache.v_shares_buffer = 0;
    d.cache.v.offset = 0;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plan.reason.text).find("limits.storage_buffers is 4; set v_separate_dispatch to 1"),
              std::string::npos)
        << plan.reason.text;
    EXPECT_EQ(plan.pass_count, 0u);
    limits.storage_buffers = 6;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 2u);
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 1, &dispatch);
    EXPECT_STREQ(dispatch.shader->name, "fused_apart_wide");
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_DESTINATION_V].slot, ROPE_SLOT_V_OUT);
    limits.storage_buffers = 5;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_INVALID);
    d.no_rotation = 1; // then no frequencies are bound
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    d.no_rotation = 0;
    d.v_separate_dispatch = 1;
    limits.storage_buffers = 4;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 3u);
}

TEST(PlanFused, RefusesWhatAGroupOrAUniformBindingCannotHold) {
    RopeFusedDescription d = llamaToCache();
    std::vector<float> weights(128 * 128, 1.0f);
    d.rotate.q.heads = 128;
    d.q_norm = {ROPE_NORM_RMS, 0, 1, 0, weights.data(), 0};
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_NE(std::string(plan.reason.text).find("65536 bytes, more than the 16384"), std::string::npos)
        << plan.reason.text;
    d.q_norm.weights = nullptr;
    d.rotate.q.heads = 512;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_NE(std::string(plan.reason.text).find("65536 elements normed or quantized together"), std::string::npos)
        << plan.reason.text;
}

TEST(PlanFused, TellsTheGroupsOfFewerTokens) {
    RopeFusedDescription d = llamaToCache();
    d.rotate.q.heads = 0;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    uint32_t groups[3];
    ropeGroups(&plan, 0, 512, groups);
    EXPECT_EQ(std::memcmp(groups, dispatch.groups, sizeof groups), 0);
    ropeGroups(&plan, 0, 100000, groups);
    EXPECT_EQ(std::memcmp(groups, dispatch.groups, sizeof groups), 0);
    ropeGroups(&plan, 0, 2, groups);
    EXPECT_EQ(groups[0], 1u); // 16 lanes for each of K and V
    ropeGroups(&plan, 0, 0, groups);
    EXPECT_EQ(groups[0], 0u);

    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.group_count[0] = 10;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    uint32_t tokens = 0;
    for (uint32_t i = 0; i < ropeDispatchCount(&plan); ++i) {
        ropeGroups(&plan, i, 25, groups);
        tokens += groups[0] * 2;
    }
    EXPECT_EQ(tokens, 26u);
}

TEST(PlanFused, TellsTheGroupsOfJoinedSequencesAsAll) {
    RopeRotateDescription d = llamaToCache().rotate;
    d.batch = 2;
    d.tokens = 16;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    uint32_t groups[3];
    for (const uint32_t tokens : {1u, 16u, 100u}) {
        ropeGroups(&plan, 0, tokens, groups);
        EXPECT_EQ(groups[0], dispatch.groups[0]) << tokens;
    }
    ropeGroups(&plan, 0, 0, groups);
    EXPECT_EQ(groups[0], 0u);
}

// A shift reads the cache alone; a host may reuse the description of its decoder, whose k.source says something.
TEST(PlanFused, AShiftTakesNoNoticeOfKsSource) {
    RopeFusedDescription d = {};
    const std::vector<double> frequencies = sample::frequencies(10000, 128);
    d.rotate.tokens = 8;
    d.rotate.head_dim = 128;
    d.rotate.operation = ROPE_OPERATION_SHIFT;
    d.rotate.k.heads = 8;
    d.rotate.frequencies = {frequencies.data(), 64, 1, nullptr, 1};
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.element = ROPE_ELEMENT_F16;
    d.cache.slots = 64;
    d.cache.shift = 1;
    d.cache.delta = -3;
    RopePlan plain, other;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plain), ROPE_SUCCESS) << plain.reason.text;
    d.rotate.k.source = {1, 3, 129, 5};
    ASSERT_EQ(ropePlanFused(&d, nullptr, &other), ROPE_SUCCESS) << other.reason.text;
    EXPECT_TRUE(ropePlansEqual(&plain, &other));
}

// Layers of one cache in one buffer, and steps of other sizes, take the same pipelines.
TEST(PlanFused, SharesPipelinesBetweenLayers) {
    RopeFusedDescription d = llamaToCache();
    RopePlan one, other;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &one), ROPE_SUCCESS) << one.reason.text;
    d.cache.k.offset = 128 * 1024;
    d.cache.v.offset += 128 * 1024;
    d.rotate.tokens = 700;
    d.cache.slot_map_offset = 700;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &other), ROPE_SUCCESS) << other.reason.text;
    for (uint32_t pass = 0; pass < 2; ++pass) {
        EXPECT_EQ(std::memcmp(one.passes[pass].constants, other.passes[pass].constants, sizeof one.passes[0].constants),
                  0);
    }
}

void expectRefused(RopeResult wanted, const std::string& piece, const RopeFusedDescription& d) {
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), wanted) << piece;
    EXPECT_NE(std::string(plan.reason.text).find(piece), std::string::npos) << plan.reason.text;
}

TEST(PlanFused, RefusesWhatCannotBe) {
    RopeFusedDescription d = llamaToCache();
    d.cache.slots = 1 << 19;
    d.cache.v.offset = uint64_t{1} << 30;
    expectRefused(ROPE_ERROR_TOO_LARGE, "a cache is bound whole and this one spans 3221225472 bytes", d);
    d = llamaToCache();
    d.tokens_counted = 1;
    d.rotate.skip_last = 2;
    expectRefused(ROPE_ERROR_INVALID, "skip_last is 2 with tokens_counted", d);
    d = llamaToCache();
    d.cache.kind = ROPE_CACHE_RING;
    d.cache.slots = 256;
    d.rotate.positions.kind = ROPE_POSITIONS_COUNTED;
    expectRefused(ROPE_ERROR_INVALID, "512 tokens in a row come to a ring of 256 slots, two to one", d);
    d = llamaToCache();
    d.rotate.batch = (1 << 28) + 2;
    d.rotate.tokens = 1;
    d.rotate.positions.kind = ROPE_POSITIONS_COUNTED;
    d.cache.slot_map_element = ROPE_POSITION_INT64;
    d.cache.slot_map_offset = 64;
    d.cache.slot_map_batch_stride = (uint64_t{1} << 33) - 32; // times the batches and 8 bytes: 2^64 and a little
    expectRefused(ROPE_ERROR_TOO_LARGE, "positions", d);
}

TEST(PlanFused, TakesWhatNeitherTurnsNorIsDoneAnythingTo) {
    RopeFusedDescription d = llamaToCache();
    RopePlan plan;
    d.cache = {};
    d.rotate.out_of_place = 0; // V stays in its rows
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 2u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q], 512u * 48 * 128 * 4 - 8 * 128 * 4); // but V's heads of the last token

    d = llamaToCache();
    d.rotate.q.heads = d.rotate.k.heads = 0;
    d.rotate.head_dim = 65; // V alone has no pairs
    d.cache.v.offset = 0;
    d.cache.element = ROPE_ELEMENT_F32;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;

    d = llamaToCache();
    d.no_rotation = 1;
    d.rotate.head_dim = 20;
    d.cache.v.offset = 4096 * 8 * 20;
    d.q_norm.kind = ROPE_NORM_RMS;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;

    d = llamaToCache();
    d.cache.k.batch_stride = 12345; // not read
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
}

// By a delta the positions are not read, but the set of each token is, behind the rows of all axes.
TEST(PlanFused, AShiftReadsSetsBehindAllAxes) {
    static const std::vector<double> kFrequencies(128, 0.5);
    std::vector<uint8_t> axes(64);
    for (uint32_t i = 0; i < 64; ++i) axes[i] = static_cast<uint8_t>(i % 3);
    RopeFusedDescription d = {};
    d.rotate.tokens = 4;
    d.rotate.head_dim = 128;
    d.rotate.k.heads = 2;
    d.rotate.operation = ROPE_OPERATION_SHIFT;
    d.rotate.frequencies = {kFrequencies.data(), 64, 1, axes.data(), 2};
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.cache.slots = 4;
    d.cache.shift = 1;
    d.cache.delta = 3;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 4u * 4 * 4);
}

// ---- Every index, whatever the buffers hold

struct Last {
    const RopeDispatch& dispatch;
    rope::RopePush push;
    uint32_t id(uint32_t constant) const { return dispatch.constants[constant]; }
    void fits(uint32_t binding, uint64_t last, uint64_t bytes) const {
        ASSERT_LE((last + 1) * bytes, dispatch.bindings[binding].range) << "binding " << binding;
    }
};

void checkSlotMap(const Last& l, uint64_t sequences) {
    const uint64_t bytes = l.id(ROPE_ID_SLOT_MAP_WIDE) != 0 ? 8 : 4;
    const uint64_t batch = l.push.ROPE_FIRST_BATCH + l.dispatch.groups[1] - 1ull;
    const uint64_t token = l.push.first_token + l.push.tokens - 1ull;
    if (l.id(ROPE_ID_CACHE) == ROPE_CACHE_BY_SLOTS) {
        l.fits(ROPE_BINDING_POSITIONS,
               l.push.ROPE_SLOT_MAP_AT + batch * l.id(ROPE_ID_SLOT_MAP_BATCH) + token * l.id(ROPE_ID_SLOT_MAP_TOKEN),
               bytes);
    } else if (l.id(ROPE_ID_CACHE) == ROPE_CACHE_BY_TABLE) {
        l.fits(ROPE_BINDING_POSITIONS,
               l.push.ROPE_SLOT_MAP_AT + (sequences - 1) * l.id(ROPE_ID_SLOT_MAP_BATCH) + l.id(ROPE_ID_SLOT_MAP_TOKEN) -
                   1,
               bytes);
    }
    if (l.id(ROPE_ID_COUNTED) == 0) return;
    const uint32_t element = l.id(ROPE_ID_POSITION_ELEMENT);
    l.fits(ROPE_BINDING_POSITIONS, l.push.ROPE_COUNT_AT, element == ROPE_WHOLE_64 || element == ROPE_FIXED_64 ? 8 : 4);
}

// K and V of one side, in one binding or in one each.
struct Side {
    uint32_t binding, v_binding;
    rope::RopePlace place;
    uint32_t v_at; // in a binding of its own
    uint32_t head_constant, v_constant;
    RopeElement element;
};

void checkSide(const Last& l, const rope::FusedTensor& t, const Side& side) {
    const RopeBinding* bindings = l.dispatch.bindings;
    const uint64_t turned = l.id(ROPE_ID_TURNED_HEADS);
    const reach::Last last = {l.dispatch.groups[1] - 1ull, l.push.tokens - 1ull, turned - 1};
    const uint32_t stride = l.id(side.head_constant);
    const bool both = l.id(ROPE_ID_ALL_HEADS) != turned;
    const bool apart = both && bindings[side.v_binding].range != 0;
    const int32_t v = both && !apart ? static_cast<int32_t>(l.id(side.v_constant)) : 0;
    reach::touched(bindings[side.binding], side.place, last, stride, t.d.head_dim + uint64_t(std::abs(int64_t{v})),
                   side.element);
    if (!apart) return;
    rope::RopePlace place = side.place;
    place.offset = side.v_at;
    reach::touched(bindings[side.v_binding], place, last, stride, t.d.head_dim, side.element);
}

void checkCache(const Last& l, const rope::FusedTensor& t, uint64_t sequences) {
    const uint64_t pages = l.id(ROPE_ID_SLOTS) / l.id(ROPE_ID_PAGE_SIZE), rows = l.id(ROPE_ID_PAGE_SIZE);
    const uint64_t elements = (sequences - 1) * l.push.destination.batch + (pages - 1) * l.id(ROPE_ID_PAGE_STRIDE) +
                              (rows - 1) * l.push.destination.token +
                              (t.heads - 1ull) * l.id(ROPE_ID_DESTINATION_HEAD) + t.d.head_dim;
    const RopeElement element = t.d.element_out;
    const uint64_t units = element == ROPE_ELEMENT_I8     ? elements / 4
                           : element == ROPE_ELEMENT_Q8_0 ? elements / 64 * 17
                                                          : elements;
    ASSERT_TRUE(!rope::isForCaches(element) || units != elements) << "a format's words are counted here by hand";
    const bool apart = l.dispatch.bindings[ROPE_BINDING_DESTINATION_V].range != 0;
    const int32_t v = static_cast<int32_t>(l.id(ROPE_ID_DESTINATION_V));
    const uint64_t bytes = rope::isForCaches(t) ? 4 : ropeElementBytes(element);
    l.fits(ROPE_BINDING_DESTINATION, l.push.destination.offset + std::abs(v) + units - 1, bytes);
    if (apart) l.fits(ROPE_BINDING_DESTINATION_V, l.push.ROPE_DESTINATION_V_AT + units - 1, bytes);
    if (element != ROPE_ELEMENT_I8) return;
    const uint64_t scales = (sequences - 1) * l.id(ROPE_ID_SCALE_BATCH) + (pages - 1) * l.id(ROPE_ID_SCALE_PAGE) +
                            (rows - 1) * l.id(ROPE_ID_SCALE_SLOT) + (t.heads - 1ull) * l.id(ROPE_ID_SCALE_HEAD);
    const uint32_t base = l.push.destination.offset + (v < 0 ? static_cast<uint32_t>(-v) : 0);
    l.fits(ROPE_BINDING_DESTINATION, base + l.id(ROPE_ID_SCALE_AT) + scales, 4); // modulo 2^32
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

uint64_t sequencesOf(const RopeRotateDescription& d) {
    return rope::isPacked(d.positions) ? d.positions.sequences : d.batch;
}

void checkPositionBytes(const rope::ResolvedFused& fused, const rope::FusedTensor& t, uint64_t bytes) {
    const RopeRotateDescription& d = t.d;
    const RopeCache& cache = fused.filled.cache;
    const uint32_t step = ropePositionBytes(cache.slot_map_element);
    if (t.cached && cache.kind == ROPE_CACHE_SLOTS) {
        Reach(cache.slot_map_offset)
            .over(d.batch, cache.slot_map_batch_stride)
            .over(d.tokens, cache.slot_map_token_stride)
            .isIn(bytes, 1, step);
    }
    if (t.cached && cache.kind == ROPE_CACHE_BLOCK_TABLE) {
        Reach(cache.slot_map_offset)
            .over(sequencesOf(d), cache.slot_map_batch_stride)
            .isIn(bytes, cache.table_pages, step);
    }
    if (fused.filled.tokens_counted != 0)
        Reach(fused.filled.tokens_offset).isIn(bytes, 1, ropePositionBytes(fused.count_element));
    RopePositions p;
    RopeFrequencies f;
    rope::selectFusedPositions(fused, t, &p, &f);
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
    if (t.d.out_of_place != 0) tensor(t.from_slot, t.source, t.d.element_in);
    if (!t.cached) return tensor(t.to_slot, t.destination, t.d.element_out);
    const RopeCache& cache = fused.filled.cache;
    const auto cached = [&](const RopeCacheLayout& l, uint32_t extent, uint32_t size, uint32_t share) {
        Reach(l.offset)
            .over(rope::cacheKind(cache).by_position ? sequencesOf(t.d) : 1, l.batch_stride)
            .over(cache.slots / cache.page_size, l.page_stride)
            .over(cache.page_size, l.slot_stride)
            .over(t.heads, l.head_stride)
            .isIn(plan.bytes[t.to_slot], extent, size, share);
    };
    const bool blocks = t.d.element_out == ROPE_ELEMENT_Q8_0;
    cached(t.cache, t.d.head_dim, blocks ? 34 : ropeElementBytes(t.d.element_out), blocks ? 32 : 1);
    if (t.d.element_out == ROPE_ELEMENT_I8) cached(t.scales, 1, 4, 1);
}

// Counts and strides whose products pass 64 bits.
void spoilProducts(sample::Random* random, RopeFusedDescription* d) {
    const uint64_t stride = (uint64_t{1} << 33) - random->below(2) * 64;
    const uint32_t count = (1u << (27 + random->below(3))) + random->below(3) - 1;
    (random->below(4) != 0 ? d->rotate.batch : d->rotate.tokens) = count;
    RopePositions& p = d->rotate.positions;
    RopeCache& c = d->cache;
    uint64_t* strides[] = {&p.batch_stride,          &p.token_stride,          &p.axis_stride,
                           &c.slot_map_batch_stride, &c.slot_map_batch_stride, &c.slot_map_token_stride,
                           &c.k.batch_stride};
    for (uint32_t times = 1 + random->below(3); times != 0; --times) *strides[random->below(7)] = stride;
    if (random->below(2) == 0) d->rotate.skip_first = d->rotate.skip_last = 0;
}

void spoil(sample::Random* random, fusion::Scene* scene) {
    static const uint32_t kNasty[] = {0,    1,     2,        3,        5,        64,         127,
                                      4096, 65536, 1u << 24, 1u << 28, 1u << 30, 0x7FFFFFFF, 0xFFFFFFFF};
    const auto any = [&] { return kNasty[random->below(14)]; };
    RopeFusedDescription& d = scene->d;
    RopeCache& c = d.cache;
    RopePositions& p = d.rotate.positions;
    if (random->below(8) == 0) return spoilProducts(random, &d);
    uint32_t* words[] = {&d.rotate.batch,    &d.rotate.tokens,  &d.rotate.q.heads, &d.v.heads,
                         &c.slots,           &c.page_size,      &c.table_pages,    &d.packed,
                         &c.v_shares_buffer, &d.tokens_counted, &p.sequences};
    uint64_t* longs[] = {&c.slot_map_offset,
                         &c.slot_map_batch_stride,
                         &c.slot_map_token_stride,
                         &c.k.offset,
                         &c.k.slot_stride,
                         &c.k.page_stride,
                         &c.v.offset,
                         &c.k_scales.offset,
                         &d.tokens_offset,
                         &c.k.head_stride,
                         &c.k.batch_stride,
                         &d.v.source.offset,
                         &p.offset,
                         &p.batch_stride,
                         &d.rotate.q.source.offset,
                         &p.token_stride,
                         &p.axis_stride,
                         &d.rotate.rows.offset,
                         &d.rotate.rows.row_stride,
                         &c.k_scales.slot_stride,
                         &c.v_scales.offset};
    for (uint32_t times = random->below(4); times != 0; --times) {
        if (random->below(2) == 0) {
            *words[random->below(11)] = any();
        } else {
            *longs[random->below(21)] = uint64_t{any()} << random->below(4) * 8;
        }
    }
    if (random->below(4) == 0) c.v = c.k, c.v.offset += any();
    if (random->below(8) == 0) c.kind = static_cast<RopeCacheKind>(random->below(7) - 1);
    if (random->below(8) == 0) c.element = static_cast<RopeElement>(random->below(8) - 1);
}

// The tensor of each pass: one for which nothing is done has none, nor has V beside K. The count of tokens has no
// tensor.
std::vector<const rope::FusedTensor*> passTensors(const rope::ResolvedFused& fused, const RopePlan& plan) {
    std::vector<const rope::FusedTensor*> tensors;
    const uint32_t jobs = fused.v_with_k ? fused.count - 1 : fused.count;
    for (uint32_t t = 0; t < jobs; ++t) {
        if (!rope::isIdle(fused.tensors[t])) tensors.push_back(&fused.tensors[t]);
    }
    tensors.resize(plan.pass_count, nullptr);
    return tensors;
}

void checkBindings(const RopePlan& plan, const RopeDispatch& dispatch, const RopeLimits& limits) {
    ASSERT_LE(dispatch.groups[0], limits.group_count[0]);
    ASSERT_LE(dispatch.groups[1], limits.group_count[1]);
    ASSERT_LE(dispatch.constants[ROPE_ID_GROUP_SIZE], limits.group_size);
    for (const RopeBinding& binding : dispatch.bindings) {
        ASSERT_LE(binding.range, limits.storage_range);
        ASSERT_EQ(binding.offset % plan.limits.storage_alignment, 0u);
        const uint64_t end = binding.range != 0 ? binding.offset + binding.range : 0;
        ASSERT_LE(end, plan.bytes[binding.slot]);
    }
}

void checkDispatch(const rope::ResolvedFused& fused, const rope::FusedTensor* t, const RopeDispatch& dispatch) {
    Last l = {dispatch, {}};
    std::memcpy(&l.push, dispatch.push, sizeof l.push);
    const reach::Last last = {dispatch.groups[1] - 1ull, l.push.tokens - 1ull, 0};
    const uint64_t sequences = sequencesOf(fused.tensors[0].d);
    reach::checkPositions(dispatch, l.push, last);
    checkSlotMap(l, sequences);
    if (t == nullptr) return;
    if (t->turned) reach::checkCosSin(dispatch, l.push, last, l.id(ROPE_ID_PAIR_COUNTS) & 0xFFFF);
    if (l.id(ROPE_ID_IN_PLACE) == 0) {
        checkSide(l, *t,
                  {ROPE_BINDING_SOURCE, ROPE_BINDING_SOURCE_V, l.push.source, l.push.ROPE_SOURCE_V_AT,
                   ROPE_ID_SOURCE_HEAD, ROPE_ID_SOURCE_V, t->d.element_in});
    }
    if (t->cached) return checkCache(l, *t, sequences);
    checkSide(l, *t,
              {ROPE_BINDING_DESTINATION, ROPE_BINDING_DESTINATION_V, l.push.destination, l.push.ROPE_DESTINATION_V_AT,
               ROPE_ID_DESTINATION_HEAD, ROPE_ID_DESTINATION_V, t->d.element_out});
}

void checkPlan(const fusion::Scene& scene, const RopePlan& plan, const RopeLimits& limits) {
    rope::ResolvedFused fused;
    RopeReason reason;
    ASSERT_EQ(rope::resolveFused(scene.d, &fused, &reason), ROPE_SUCCESS);
    for (uint32_t i = 0; i < fused.count; ++i) {
        if (rope::isIdle(fused.tensors[i])) continue;
        checkPositionBytes(fused, fused.tensors[i], plan.bytes[ROPE_SLOT_POSITIONS]);
        checkTensorBytes(fused, fused.tensors[i], plan);
    }
    if (testing::Test::HasFailure()) return;
    const std::vector<const rope::FusedTensor*> tensors = passTensors(fused, plan);
    uint32_t first = 0;
    for (uint32_t pass = 0; pass < plan.pass_count; ++pass) {
        const uint32_t* parts = plan.passes[pass].parts;
        const uint32_t count = parts[0] * parts[1] * parts[2];
        for (uint32_t i = 0; i < std::min(count, 100u); ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, first + (i < 50 ? i : count - 1 - (i - 50) % count), &dispatch);
            checkBindings(plan, dispatch, limits);
            checkDispatch(fused, tensors[pass], dispatch);
        }
        first += count;
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
        limits.storage_buffers = random.below(2) == 0 ? 4 : 8;
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
