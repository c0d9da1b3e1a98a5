#include "fusion.hpp"
#include "bench/cases/description.hpp"
#include "combinations.hpp"
#include "plan/description.h"
#include "plan/fused/cache.h"
#include "plan/fused/resolve.h"
#include "rotation.hpp"
#include "sample.hpp"

#include "plan/axes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fusion {
namespace {

constexpr uint8_t kUntouched = 0xFE;

void putInteger(int64_t value, RopePositionElement element, uint64_t at, std::vector<uint8_t>* to) {
    const uint32_t bytes = ropePositionBytes(element);
    std::memcpy(to->data() + at * bytes, &value, bytes); // the low word comes first
}

// Writes a value that is no position, or lies in no cache: two tokens of one pass must not meet there.
void putOddPosition(bool places, RopePositionElement element, uint64_t at, sample::Random* random,
                    std::vector<uint8_t>* to) {
    static const float kFloats[] = {std::nanf(""), HUGE_VALF, -3e9f, 4e9f, -0.5f, 0x1p30f};
    static const int64_t kWholes[] = {-1, INT32_MIN, -131071, INT32_MAX, 1000000, (1 << 24) + 1};
    static const int64_t kNone[] = {int64_t{1} << 32, -(int64_t{1} << 33), INT64_MIN, INT64_MAX};
    const float number = kFloats[random->below(places ? 5 : 6)];
    int64_t whole = kWholes[random->below(places ? 3 : 6)];
    if (element == ROPE_POSITION_FLOAT32) {
        std::memcpy(to->data() + at * 4, &number, 4);
        return;
    }
    if (element == ROPE_POSITION_INT64 && random->below(2) == 0) whole = kNone[random->below(4)];
    if (element == ROPE_POSITION_FIXED64) whole = ROPE_WHOLE_POSITION(whole) + 0x1234567;
    putInteger(whole, element, at, to);
}

void putPosition(int32_t position, RopePositionElement element, uint64_t at, std::vector<uint8_t>* to) {
    const float number = static_cast<float>(position) + 0.25f;
    if (element == ROPE_POSITION_FLOAT32) {
        std::memcpy(to->data() + at * 4, &number, 4);
    } else if (element == ROPE_POSITION_FIXED64) {
        putInteger(ROPE_WHOLE_POSITION(position) + 0x40000000, element, at, to);
    } else {
        putInteger(position, element, at, to);
    }
}

bool placesByPosition(const RopeCache& cache) { return rope::cacheKind(cache).by_position; }

// The first position of a sequence, so that some of its tokens lie outside a cache or a table that goes by them.
int32_t makeStart(const RopeFusedDescription& d, sample::Random* random) {
    if (placesByPosition(d.cache)) return static_cast<int32_t>(random->below(d.cache.slots)) - 2;
    const RopeRows& rows = d.rotation.rows;
    if (d.rotation.source == ROPE_SOURCE_TABLE && random->below(4) != 0)
        return rows.first_position - 2 + static_cast<int32_t>(random->below(rows.count));
    return static_cast<int32_t>(random->below(5000)) - 300;
}

// Some tokens lie behind the last sequence.
void fillLengths(const rope::ResolvedFused& fused, sample::Random* random, std::vector<uint8_t>* to) {
    const RopeFusedDescription& d = fused.filled;
    const RopePositions& p = d.positions;
    uint32_t end = 0;
    for (uint32_t i = 0; i <= p.sequences; ++i) {
        putInteger(end, p.element, p.offset + i, to);
        end += random->below(d.tokens - end + 1);
    }
    if (p.kind != ROPE_POSITIONS_PACKED_STARTS) return;
    for (uint32_t i = 0; i < p.sequences; ++i)
        putPosition(makeStart(fused.filled, random), p.element, p.offset + p.axis_stride + i, to);
}

// One of them there is not.
void fillSets(const RopeFusedDescription& d, uint32_t entries, sample::Random* random, std::vector<uint8_t>* to) {
    const RopePositions& p = d.positions;
    const uint64_t row = rope::positionRows(p, rope::axisCount(d.rotation.frequencies)) + rope::isPacked(p);
    for (uint32_t batch = 0; batch < d.batch; ++batch) {
        for (uint32_t i = 0; i < entries; ++i) {
            const int64_t set =
                random->below(8) == 0 ? int64_t{-1} : random->below(d.rotation.frequencies.sets * 8 + 1) / 8;
            const uint64_t at = rope::isPacked(p) ? i : batch * p.batch_stride + i * p.token_stride;
            putInteger(set, p.element, p.offset + row * p.axis_stride + at, to);
        }
    }
}

void fillPositions(const rope::ResolvedFused& fused, sample::Random* random, std::vector<uint8_t>* to) {
    const RopeFusedDescription& d = fused.filled;
    const RopePositions& p = d.positions;
    if (p.kind == ROPE_POSITIONS_COUNTED) return;
    const uint32_t entries = rope::isPacked(p) ? p.sequences : p.kind == ROPE_POSITIONS_PER_TOKEN ? d.tokens : 1;
    if (d.rotation.frequencies.sets > 1) fillSets(d, entries, random, to);
    if (rope::isPacked(p)) return fillLengths(fused, random, to);
    const bool places = placesByPosition(fused.filled.cache);
    for (uint32_t batch = 0; batch < d.batch; ++batch) {
        for (uint32_t axis = 0; axis < rope::axisCount(d.rotation.frequencies); ++axis) {
            const int32_t start = makeStart(fused.filled, random);
            for (uint32_t i = 0; i < entries; ++i) {
                const uint64_t at = p.offset + axis * p.axis_stride + batch * p.batch_stride + i * p.token_stride;
                putPosition(start + static_cast<int32_t>(i), p.element, at, to);
                if (random->below(16) == 0) putOddPosition(places, p.element, at, random, to);
            }
        }
    }
}

int64_t takeSlot(std::vector<uint32_t>* free, sample::Random* random) {
    if (free->empty()) return -1;
    std::swap((*free)[random->below(static_cast<uint32_t>(free->size()))], free->back());
    const uint32_t slot = free->back();
    free->pop_back();
    return slot;
}

// Each slot at most once; a few are -1 or outside.
void fillSlots(const RopeFusedDescription& d, uint32_t batch, sample::Random* random, std::vector<uint8_t>* to) {
    std::vector<uint32_t> free(d.cache.slots);
    for (uint32_t i = 0; i < free.size(); ++i) free[i] = i;
    for (uint32_t b = 0; b < batch; ++b) {
        for (uint32_t i = 0; i < d.tokens; ++i) {
            int64_t slot = -1;
            const uint32_t choice = random->below(8);
            if (choice == 1) slot = d.cache.slots + random->below(3);
            if (choice == 2) slot = d.cache.map_element == ROPE_POSITION_INT64 ? -(int64_t{1} << 32) : -2;
            if (choice > 2) slot = takeSlot(&free, random);
            const uint64_t at = b * d.cache.map_batch_stride + i;
            putInteger(slot, d.cache.map_element, d.cache.map_offset + at, to);
        }
    }
}

void fillTable(const RopeFusedDescription& d, uint32_t sequences, sample::Random* random, std::vector<uint8_t>* to) {
    const uint32_t pages = d.cache.slots / d.cache.page_size;
    std::vector<int64_t> free;
    for (uint32_t i = 0; i < pages; ++i) free.push_back(i);
    for (uint32_t b = 0; b < sequences; ++b) {
        for (uint32_t i = 0; i < d.cache.table_pages; ++i) {
            int64_t page = random->below(2) == 0 ? int64_t{-1} : pages;
            if (!free.empty() && random->below(8) != 0) {
                std::swap(free[random->below(static_cast<uint32_t>(free.size()))], free.back());
                page = free.back();
                free.pop_back();
            }
            putInteger(page, d.cache.map_element, d.cache.map_offset + b * d.cache.map_batch_stride + i, to);
        }
    }
}

const rope::FusedTensor* turnedTensor(const rope::ResolvedFused& fused) {
    for (uint32_t i = 0; i < fused.count; ++i) {
        if (fused.tensors[i].takes(ROPE_STAGE_TURN)) return &fused.tensors[i];
    }
    return nullptr;
}

// Fills every slot of K's cache with keys.
void fillQuantizedCache(const rope::ResolvedFused& fused, uint64_t seed, std::vector<uint8_t>* cache) {
    const rope::FusedTensor& t = fused.tensors[0];
    RopeFusedDescription d = {};
    d.cache = fused.filled.cache;
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.tokens = d.cache.slots;
    const uint32_t sequences = std::max(t.d.batch, t.d.positions.sequences);
    d.batch = rope::cacheKind(fused.filled.cache).per_sequence ? sequences : 1;
    d.head_dim = t.d.head_dim;
    d.k = fused.filled.k;
    d.k.no_rotation = 1;
    d.k.from = {};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    const std::vector<float> keys = sample::values(size_t{d.batch} * d.tokens * t.heads * t.d.head_dim, seed + 5);
    RopeHostFused run = {};
    run.k = keys.data();
    run.k_out = cache->data();
    RopeReason reason;
    EXPECT_EQ(ropeHostRunFused(&d, &run, &reason), ROPE_SUCCESS) << reason.text;
}

// Fills the outputs before the pass. If the pass works in place, they have values.
void fillOutputs(const rope::ResolvedFused& fused, const RopePlan& plan, uint64_t seed, gpu::Slots* slots) {
    for (const RopeSlot slot : {ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT}) {
        slots->bytes[slot].assign(plan.bytes[slot], kUntouched);
    }
    if (!rope::shiftsCache(fused.filled)) return;
    const RopeElement element = fused.tensors[0].d.element_out;
    std::vector<uint8_t>& cache = slots->bytes[ROPE_SLOT_K_OUT];
    if (rope::isForCaches(element)) {
        fillQuantizedCache(fused, seed, &cache);
    } else {
        cache = sample::tensor(element, cache.size(), seed + 5);
    }
}

} // namespace

gpu::Slots makeSlots(const Scene& scene, const RopePlan& plan, uint64_t seed) {
    rope::ResolvedFused fused;
    RopeReason reason;
    if (rope::resolveFused(scene.d, &fused, &reason) != ROPE_SUCCESS) ADD_FAILURE() << reason.text;
    sample::Random random(seed);
    gpu::Slots slots;
    const RopeRotateDescription& d = fused.tensors[0].d;
    const uint32_t caches = d.positions.kind >= ROPE_POSITIONS_PACKED ? d.positions.sequences : d.batch;
    for (const RopeSlot slot : {ROPE_SLOT_Q, ROPE_SLOT_K, ROPE_SLOT_V}) {
        slots.bytes[slot] = sample::tensor(d.element, plan.bytes[slot], seed + static_cast<uint64_t>(slot));
    }
    fillOutputs(fused, plan, seed, &slots);
    std::vector<uint8_t>& positions = slots.bytes[ROPE_SLOT_POSITIONS];
    // Rows are made from positions that the pass itself may not read: room for all of them.
    const uint64_t made = positionElements(scene.d) * ropePositionBytes(d.positions.element);
    positions.assign(std::max(plan.bytes[ROPE_SLOT_POSITIONS], made), 0);
    fillPositions(fused, &random, &positions);
    std::vector<uint8_t>& apart = slots.bytes[ROPE_SLOT_SLOT_MAP];
    apart.assign(plan.bytes[ROPE_SLOT_SLOT_MAP], 0);
    std::vector<uint8_t>& slot_map = fused.filled.cache.map_in_positions != 0 ? positions : apart;
    if (fused.filled.cache.kind == ROPE_CACHE_SLOTS) fillSlots(fused.filled, d.batch, &random, &slot_map);
    if (fused.filled.cache.kind == ROPE_CACHE_PAGE_TABLE) fillTable(fused.filled, caches, &random, &slot_map);
    if (plan.bytes[ROPE_SLOT_BIASES] != 0)
        slots.bytes[ROPE_SLOT_BIASES] =
            sample::tensor(fused.filled.bias_element, plan.bytes[ROPE_SLOT_BIASES], seed + 18);
    for (const RopeSlot slot : {ROPE_SLOT_Q_WEIGHTS, ROPE_SLOT_K_WEIGHTS}) {
        const RopeNorm& norm = slot == ROPE_SLOT_Q_WEIGHTS ? fused.filled.q.norm : fused.filled.k.norm;
        if (plan.bytes[slot] != 0)
            slots.bytes[slot] =
                sample::tensor(norm.weights_element, plan.bytes[slot], seed + static_cast<uint64_t>(slot));
    }
    if (scene.d.tokens_counted != 0) {
        for (uint32_t b = d.batch; b-- > 0;) // the first one last: without a stride all have its count
            putInteger(scene.present[b], fused.count_element, scene.d.tokens_offset + b * scene.d.tokens_batch_stride,
                       &positions);
    }
    const rope::FusedTensor* turned = turnedTensor(fused);
    if (plan.bytes[ROPE_SLOT_FREQUENCIES] != 0) {
        slots.bytes[ROPE_SLOT_FREQUENCIES].resize(plan.bytes[ROPE_SLOT_FREQUENCIES]);
        ropeWriteFrequencies(&turned->d.rotation.frequencies, turned->d.rotation.angle,
                             slots.bytes[ROPE_SLOT_FREQUENCIES].data(), nullptr);
    }
    if (plan.bytes[ROPE_SLOT_ROWS] != 0) {
        slots.bytes[ROPE_SLOT_ROWS] = rotation::makeRows(turned->d, positions.data(), plan.bytes[ROPE_SLOT_ROWS]);
    }
    positions.resize(plan.bytes[ROPE_SLOT_POSITIONS]);
    slots.bytes[ROPE_SLOT_COUNTER].assign(plan.bytes[ROPE_SLOT_COUNTER], 0);
    slots.bytes[ROPE_SLOT_PARAMETERS].resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
    if (plan.bytes[ROPE_SLOT_PARAMETERS] != 0) {
        EXPECT_EQ(ropeWriteParameters(&scene.d, slots.bytes[ROPE_SLOT_PARAMETERS].data(), &reason), ROPE_SUCCESS)
            << reason.text;
    }
    return slots;
}

namespace {

testing::AssertionResult equalBytes(const char* what, RopeSlot slot, const std::vector<uint8_t>& wanted,
                                    const std::vector<uint8_t>& got) {
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (got[i] != wanted[i]) {
            return testing::AssertionFailure()
                   << what << ": byte " << i << " of " << got.size() << " of " << ropeSlotName(slot) << " is "
                   << int{got[i]} << ", not " << int{wanted[i]};
        }
    }
    return testing::AssertionSuccess();
}

testing::AssertionResult rotateOnCpu(const RopeRotateDescription& d, gpu::Slots* slots) {
    RopeHostRotate run = {};
    run.positions = slots->bytes[ROPE_SLOT_POSITIONS].data();
    run.rows = slots->bytes[ROPE_SLOT_ROWS].data();
    run.q = slots->bytes[ROPE_SLOT_Q].data();
    run.q_out = slots->bytes[ROPE_SLOT_Q_OUT].data();
    RopeReason reason;
    if (ropeHostRunRotate(&d, &run, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    return testing::AssertionSuccess();
}

} // namespace

testing::AssertionResult runOnCpu(const RopeFusedDescription& d, gpu::Slots* slots, uint32_t* outside) {
    const auto data = [&](RopeSlot slot) { return slots->bytes[slot].empty() ? nullptr : slots->bytes[slot].data(); };
    RopeHostFused run = {};
    run.positions = data(ROPE_SLOT_POSITIONS);
    run.rows = data(ROPE_SLOT_ROWS);
    run.q = data(ROPE_SLOT_Q);
    run.k = data(ROPE_SLOT_K);
    run.v = data(ROPE_SLOT_V);
    run.slot_map = data(ROPE_SLOT_SLOT_MAP);
    run.q_weights = data(ROPE_SLOT_Q_WEIGHTS);
    run.k_weights = data(ROPE_SLOT_K_WEIGHTS);
    run.biases = data(ROPE_SLOT_BIASES);
    run.q_out = d.out_of_place != 0 ? data(ROPE_SLOT_Q_OUT) : data(ROPE_SLOT_Q);
    const bool cached = d.cache.kind != ROPE_CACHE_NONE;
    run.k_out = d.out_of_place != 0 || cached ? data(ROPE_SLOT_K_OUT) : data(ROPE_SLOT_K);
    run.v_out = data(ROPE_SLOT_V_OUT);
    RopeReason reason;
    if (ropeHostRunFused(&d, &run, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    *outside = run.outside;
    return testing::AssertionSuccess();
}

testing::AssertionResult checkHost(const Scene& scene, const RopePlan& plan, const gpu::Slots& before,
                                   const gpu::Slots& after) {
    gpu::Slots host = before;
    uint32_t outside = 0;
    const testing::AssertionResult ran = runOnCpu(scene.d, &host, &outside);
    if (!ran) return ran;
    for (const RopeSlot slot :
         {ROPE_SLOT_Q, ROPE_SLOT_K, ROPE_SLOT_V, ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT}) {
        const testing::AssertionResult equal = equalBytes("CPU", slot, host.bytes[slot], after.bytes[slot]);
        if (!equal) return equal;
    }
    if (plan.bytes[ROPE_SLOT_COUNTER] == 0 || after.get<uint32_t>(ROPE_SLOT_COUNTER)[0] == outside)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << "counted " << after.get<uint32_t>(ROPE_SLOT_COUNTER)[0] << ", the CPU "
                                       << outside;
}

namespace {

// True if the weights on the device could be given in PARAMETERS as well.
bool takesGivenWeights(const rope::FusedTensor& t) {
    const RopeNorm& norm = t.norm;
    const uint64_t packed = norm.all_heads != 0 ? norm.dim : 0;
    return rope::hasWeightsInBuffer(norm) && norm.weights_token_stride == 0 && norm.weights_head_stride == packed;
}

std::vector<float> readWeights(const rope::FusedTensor& t, const std::vector<uint8_t>& from) {
    const RopeNorm& norm = t.norm;
    std::vector<float> weights((norm.all_heads != 0 ? t.heads : 1) * size_t{norm.dim});
    ropeConvertElements(from.data() + norm.weights_offset * ropeElementBytes(norm.weights_element),
                        norm.weights_element, weights.data(), ROPE_ELEMENT_F32, weights.size());
    return weights;
}

// The passes that one tensor's fused pass replaces, each a plan of its own. They run on the device, or on the CPU,
// which has the device's bits and compiles nothing.
class Unfused {
  public:
    Unfused(rope::Device* device, const Scene& scene, const gpu::Slots& before)
        : device_(device), scene_(scene), before_(before) {}

    // Carries one tensor through to its destination in *slots.
    testing::AssertionResult run(const rope::ResolvedFused& fused, uint32_t index, gpu::Slots* slots) {
        const rope::FusedTensor& t = fused.tensors[index];
        const RopeNorm& norm = t.norm;
        now_ = {t.heads, t.source, t.destination};
        element_ = t.d.element;
        bytes_ = before_.bytes[t.from_slot];
        testing::AssertionResult ok = testing::AssertionSuccess();
        if (t.takes(ROPE_STAGES_AT_LOAD)) ok = inputs(t);
        if (ok && norm.kind != ROPE_NORM_NONE && norm.after == 0) ok = pass(t, &norm, false);
        if (ok && t.takes(ROPE_STAGE_TURN)) ok = rotate(t);
        if (ok && norm.kind != ROPE_NORM_NONE && norm.after != 0) ok = pass(t, &norm, false);
        if (ok && t.takes(ROPE_STAGE_SCALE)) ok = pass(t, nullptr, true);
        if (ok && t.takes(ROPE_STAGE_HADAMARD)) ok = transform(t);
        return ok ? finish(t, fused.filled, slots) : ok;
    }

  private:
    RopeTensor packed(const rope::FusedTensor& t) const {
        RopeTensor tensor = {};
        tensor.heads = t.heads;
        tensor.from = now_.from;
        return tensor;
    }
    RopeRotateDescription plain(const rope::FusedTensor& t) const {
        RopeRotateDescription d = {};
        d.batch = t.d.batch;
        d.tokens = t.d.tokens;
        d.head_dim = t.d.head_dim;
        d.rotation.rotary_begin = t.d.rotation.rotary_begin;
        d.rotation.rotary_dim = scene_.d.rotation.rotary_dim;
        d.element = element_;
        d.element_out = ROPE_ELEMENT_F32;
        d.out_of_place = 1;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.q = packed(t);
        return d;
    }
    void took(const gpu::Slots& slots) {
        bytes_ = slots.bytes[ROPE_SLOT_Q_OUT];
        now_.from = {};
        element_ = ROPE_ELEMENT_F32;
    }
    void fill(const RopePlan& plan, gpu::Slots* slots) const {
        for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
            if (slots->bytes[slot].empty()) slots->bytes[slot] = before_.bytes[slot];
            slots->bytes[slot].resize(plan.bytes[slot]);
        }
    }
    testing::AssertionResult pass(const rope::FusedTensor& t, const RopeNorm* norm, bool scaled) {
        RopeFusedDescription d = {};
        measure::setRotation(plain(t), &d);
        d.q.no_rotation = d.k.no_rotation = 1;
        std::vector<float> given;
        if (norm != nullptr) d.q.norm = *norm;
        const std::vector<uint8_t>& weights =
            before_.bytes[t.role == rope::kQ ? ROPE_SLOT_Q_WEIGHTS : ROPE_SLOT_K_WEIGHTS];
        if (norm != nullptr && takesGivenWeights(t)) {
            given = readWeights(t, weights);
            d.q.norm.weights = given.data();
        }
        if (scaled) {
            d.query_scale = scene_.d.query_scale;
            d.positions = scene_.d.positions;
            d.rotation.frequencies.axes = scene_.d.rotation.frequencies.axes;
            d.rotation.frequencies.count = scene_.d.rotation.frequencies.count;
        }
        return carry(d, weights);
    }
    // A pass for the biases, and one for the clip.
    testing::AssertionResult inputs(const rope::FusedTensor& t) {
        testing::AssertionResult ok = testing::AssertionSuccess();
        for (const bool clips : {false, true}) {
            RopeFusedDescription d = {};
            measure::setRotation(plain(t), &d);
            d.q.no_rotation = d.k.no_rotation = 1;
            if (clips) d.clip = scene_.d.clip;
            d.bias_element = scene_.d.bias_element;
            d.q.bias = !clips && t.takes(ROPE_STAGE_BIASES);
            d.q.bias_offset = t.bias_offset;
            if (ok && t.takes(clips ? ROPE_STAGE_CLIP : ROPE_STAGE_BIASES)) ok = carry(d, {});
        }
        return ok;
    }
    testing::AssertionResult transform(const rope::FusedTensor& t) {
        RopeFusedDescription d = {};
        measure::setRotation(plain(t), &d);
        d.q.no_rotation = d.k.no_rotation = 1;
        d.q.hadamard = 1u << (t.stages >> ROPE_TENSOR_HADAMARD & 0xF);
        return carry(d, {});
    }
    // Carries the tensor through a pass of stages alone.
    testing::AssertionResult carry(const RopeFusedDescription& d, const std::vector<uint8_t>& weights) {
        RopePlan plan;
        if (ropePlanFused(&d, &device_->limits(), &plan) != ROPE_SUCCESS)
            return testing::AssertionFailure() << "a stage alone: " << plan.reason.text;
        gpu::Slots slots;
        slots.bytes[ROPE_SLOT_Q] = bytes_;
        slots.bytes[ROPE_SLOT_Q_WEIGHTS] = weights;
        slots.bytes[ROPE_SLOT_PARAMETERS].resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
        if (plan.bytes[ROPE_SLOT_PARAMETERS] != 0)
            ropeWriteParameters(&d, slots.bytes[ROPE_SLOT_PARAMETERS].data(), nullptr);
        fill(plan, &slots);
        const testing::AssertionResult ok = runPass(d, plan, &slots);
        took(slots);
        return ok;
    }
    testing::AssertionResult runPass(const RopeFusedDescription& d, const RopePlan& plan, gpu::Slots* slots) {
        uint32_t outside;
        return onDevice() ? gpu::run(device_, plan, slots) : runOnCpu(d, slots, &outside);
    }
    static bool onDevice() { return combinations::whole(); }
    void widen() {
        std::vector<uint8_t> wide(bytes_.size() / ropeElementBytes(element_) * sizeof(float));
        ropeConvertElements(bytes_.data(), element_, wide.data(), ROPE_ELEMENT_F32, wide.size() / sizeof(float));
        bytes_ = wide;
        element_ = ROPE_ELEMENT_F32;
    }
    testing::AssertionResult rotate(const rope::FusedTensor& t) {
        RopeRotateDescription d = rope::rotationOf(scene_.d);
        d.element = element_;
        d.element_out = ROPE_ELEMENT_F32;
        d.out_of_place = 1;
        d.count_outside = 0;
        d.head_dim = t.d.head_dim;
        d.rotation.rotary_begin = t.d.rotation.rotary_begin;
        d.k = {};
        d.q = packed(t);
        RopePlan plan;
        if (ropePlanRotate(&d, &device_->limits(), &plan) != ROPE_SUCCESS && element_ != ROPE_ELEMENT_F32) {
            widen(); // a fused pass relays odd halves of 16 bits, which a rotation does not take
            d.element = element_;
        }
        if (ropePlanRotate(&d, &device_->limits(), &plan) != ROPE_SUCCESS)
            return testing::AssertionFailure() << "rotation alone: " << plan.reason.text;
        gpu::Slots slots;
        slots.bytes[ROPE_SLOT_Q] = bytes_;
        fill(plan, &slots);
        const testing::AssertionResult ok = onDevice() ? gpu::run(device_, plan, &slots) : rotateOnCpu(d, &slots);
        took(slots);
        return ok;
    }
    testing::AssertionResult finish(const rope::FusedTensor& t, const RopeFusedDescription& given, gpu::Slots* all) {
        const bool is_q = t.name[0] == 'q';
        RopeFusedDescription d = {};
        measure::setRotation(plain(t), &d);
        d.q = {};
        d.positions = scene_.d.positions;
        d.rotation.frequencies.axes = scene_.d.rotation.frequencies.axes;
        d.rotation.frequencies.count = scene_.d.rotation.frequencies.count;
        d.q.no_rotation = d.k.no_rotation = 1;
        d.tokens_counted = given.tokens_counted;
        d.tokens_offset = given.tokens_offset;
        d.tokens_batch_stride = given.tokens_batch_stride;
        RopeTensor tensor = packed(t);
        tensor.to = t.destination;
        RopeFusedTensor* written = is_q ? &d.q : &d.k;
        measure::setTensor(tensor, t.d.element_out, written);
        if (t.cached) {
            const RopeFusedTensor& own = t.role == rope::kV ? given.v : given.k;
            d.cache = given.cache;
            d.cache.one_buffer = 0;
            written->to = own.to;
            written->stored_scales = own.stored_scales;
            written->given_scale = own.given_scale;
        }
        const RopeSlot from = is_q ? ROPE_SLOT_Q : ROPE_SLOT_K;
        const RopeSlot to = is_q ? ROPE_SLOT_Q_OUT : ROPE_SLOT_K_OUT;
        RopePlan plan;
        if (ropePlanFused(&d, &device_->limits(), &plan) != ROPE_SUCCESS)
            return testing::AssertionFailure() << "conversion alone: " << plan.reason.text;
        gpu::Slots slots;
        slots.bytes[from] = bytes_;
        slots.bytes[to] = all->bytes[t.to_slot];
        slots.bytes[ROPE_SLOT_PARAMETERS].resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
        if (plan.bytes[ROPE_SLOT_PARAMETERS] != 0)
            ropeWriteParameters(&d, slots.bytes[ROPE_SLOT_PARAMETERS].data(), nullptr);
        fill(plan, &slots);
        const testing::AssertionResult ok = runPass(d, plan, &slots);
        std::copy(slots.bytes[to].begin(), slots.bytes[to].end(), all->bytes[t.to_slot].begin());
        return ok;
    }
    rope::Device* device_;
    const Scene& scene_;
    const gpu::Slots& before_;
    RopeTensor now_ = {};
    RopeElement element_ = ROPE_ELEMENT_F32;
    std::vector<uint8_t> bytes_;
};

} // namespace

testing::AssertionResult checkUnfused(rope::Device* device, const Scene& scene, const gpu::Slots& before,
                                      const gpu::Slots& after) {
    rope::ResolvedFused fused;
    RopeReason reason;
    if (rope::resolveFused(scene.d, &fused, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    gpu::Slots slots = before;
    for (uint32_t i = 0; i < fused.count; ++i) {
        if (rope::isIdle(fused.tensors[i])) continue;
        const testing::AssertionResult ok = Unfused(device, scene, before).run(fused, i, &slots);
        if (!ok) return ok;
    }
    for (const RopeSlot slot : {ROPE_SLOT_Q, ROPE_SLOT_K, ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT}) {
        const testing::AssertionResult equal = equalBytes("passes apart", slot, slots.bytes[slot], after.bytes[slot]);
        if (!equal) return equal;
    }
    return testing::AssertionSuccess();
}

} // namespace fusion
