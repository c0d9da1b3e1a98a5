#include "bench/cases/fused.hpp"
#include "bench/cases/description.hpp"
#include "plan/description.h"

#include "bench/cases/baselines.hpp"
#include "bench/harness/buffer_copies.hpp"

#include "plan/element_formats.h"

#include <algorithm>
#include <utility>

namespace measure {
namespace {

// The widths of the heads, and where the part begins that turns.
struct Heads {
    uint32_t q_dim, k_dim, rotary_dim, q_begin, k_begin;
};
constexpr Heads kUsualHeads = {128, 128, 128, 0, 0};
constexpr Heads kLatentHeads = {192, 576, 64, 128, 512};

constexpr uint32_t kPageSize = 16;
constexpr uint64_t kCopyBytes = 128;      // a copy's bytes are a multiple of it
constexpr uint32_t kFirstPosition = 4097; // position 0 turns nothing, and would verify nothing
constexpr int32_t kShiftDelta = -64;      // a shift turns by this many positions

// Plans that run one after the other, and the bytes that they read and write, each counted once in each plan.
struct TimedPlans {
    std::vector<RopePlan> plans;
    std::vector<RopeBuffers> slots;
    uint64_t bytes = 0;

    void run(BenchDevice* bench) const { bench->run(plans.data(), static_cast<uint32_t>(plans.size()), slots.data()); }
};

uint32_t widthOf(const RopeFusedDescription& d, const RopeFusedTensor& tensor) {
    return tensor.head_dim != 0 ? tensor.head_dim : d.head_dim;
}

// Returns the bytes of so many elements, with their scales if they have scales apart that the pass finds.
uint64_t bytesWithScales(RopeElement element, uint64_t count, uint32_t head_dim, bool given) {
    const bool apart = rope::formatOf(element).scale == rope::ElementScale::kApart && !given;
    return rope::elementBytes(element, count) + (apart ? count / head_dim * sizeof(float) : 0);
}

// Counts the bytes that a plan moves: the tokens' share of the cache, and of the other slots all that the plan reads.
uint64_t bytesMoved(const RopeFusedDescription& d, const RopePlan& plan) {
    const uint64_t tokens = d.tokens;
    const uint32_t k_dim = widthOf(d, d.k);
    const uint64_t q = tokens * d.q.heads * widthOf(d, d.q);
    const uint64_t kv = tokens * (d.k.heads * k_dim + d.v.heads * widthOf(d, d.v));
    const bool given = d.k.given_scale.count != 0;
    uint64_t bytes = rope::elementBytes(d.element, q) + rope::elementBytes(d.q.element, q) +
                     bytesWithScales(d.element, kv, k_dim, given) + bytesWithScales(d.k.element, kv, k_dim, given);
    for (const RopeSlot slot : {ROPE_SLOT_POSITIONS, ROPE_SLOT_FREQUENCIES, ROPE_SLOT_ROWS, ROPE_SLOT_PARAMETERS}) {
        bytes += plan.bytes[slot];
    }
    return bytes;
}

} // namespace

class FusedBenchState {
  public:
    FusedBenchState(BenchDevice* bench, const FusedKind& kind, uint32_t tokens);
    std::vector<Contestant> contestants();

    TimedPlans fused, unfused;

  private:
    const rope::Buffer* keep(rope::Buffer buffer) {
        buffers_.push_back(std::move(buffer));
        return &buffers_.back();
    }
    rope::Buffer makeRows(uint32_t count);
    void checkEqual(const rope::Buffer& a, const rope::Buffer& b, uint64_t bytes);
    void verify();
    void makeSlotMap();
    void makeCaches();
    void describe();
    RopeFusedDescription emptyStage() const;
    void add(const RopeFusedDescription& d, bool rotation, RopeBuffers slots, TimedPlans* timed);
    void addFused();
    void addStage(RopeFusedDescription d, bool rotation);
    void addNorm();
    void addRotation();
    void addScatter(bool is_v);
    void addShift();
    void addUnfused();
    BufferCopies* copiesOf(const TimedPlans& timed);

    BenchDevice* bench_;
    FusedKind kind_;
    const Heads& heads_;
    uint32_t tokens_;
    uint64_t row_; // elements of a token's projection
    std::vector<double> frequencies_;
    std::deque<rope::Buffer> buffers_;
    std::deque<BufferCopies> copies_;
    RopeFusedDescription description_ = {};
    RopeBuffers shared_slots_ = {}; // slots that all plans read beside their tensors
    std::vector<float> weights_, values_ = std::vector<float>(8);
    const rope::Buffer *input_ = nullptr, *q_out_ = nullptr;
    const rope::Buffer* caches_[2]; // the fused pass's cache, and the unfused stages'
    uint64_t q_bytes_ = 0, cache_bytes_ = 0;
    const float scale_ = 0.0078125f; // of a latent in float8; the host gives it, as DeepSeek's models have it
    // The buffers and layouts that hold Q and K between the unfused stages.
    const rope::Buffer* unfused_buffers_[2] = {nullptr, nullptr};
    RopeFusedTensor unfused_tensors_[2] = {};
    RopeElement unfused_element_ = ROPE_ELEMENT_F32;
};

// Writes a slot for each token, then its position. The pages lie scattered.
void FusedBenchState::makeSlotMap() {
    const uint32_t pages = (tokens_ + kPageSize - 1) / kPageSize;
    std::vector<int32_t> slots_and_positions(2 * size_t{tokens_});
    for (uint32_t t = 0; t < tokens_; ++t) {
        slots_and_positions[t] = static_cast<int32_t>(t / kPageSize * 5 % pages * kPageSize + t % kPageSize);
        slots_and_positions[tokens_ + t] = kind_.shift ? kShiftDelta : static_cast<int32_t>(kFirstPosition + t);
    }
    shared_slots_.slots[ROPE_SLOT_POSITIONS] =
        keep(bench_->make(slots_and_positions.data(), slots_and_positions.size() * 4))->slot();
    description_.cache.slots = pages * kPageSize;
}

void FusedBenchState::makeCaches() {
    const RopeCache& cache = description_.cache;
    const uint64_t k = uint64_t{cache.slots} * kind_.kv_heads * heads_.k_dim;
    const uint64_t kv = k + uint64_t{cache.slots} * kind_.vHeads() * heads_.k_dim;
    RopeFusedTensor &to_k = description_.k, &to_v = description_.v;
    to_v.to.offset = kind_.latent ? 0 : k;
    to_k.stored_scales.offset = kv / 4;
    to_v.stored_scales.offset = to_k.stored_scales.offset + k / heads_.k_dim;
    if (kind_.latent && rope::isFloat8(kind_.cache)) to_k.given_scale = {&scale_, 1, 0};
    cache_bytes_ = bytesWithScales(kind_.cache, kv, heads_.k_dim, to_k.given_scale.count != 0);
    std::vector<uint8_t> before(cache_bytes_);
    if (kind_.shift) before = noiseBytes(kind_.cache, kv);
    for (const rope::Buffer*& cache_buffer : caches_) cache_buffer = keep(bench_->make(before.data(), before.size()));
}

void FusedBenchState::describe() {
    RopeRule rule = {};
    rule.rotary_dim = heads_.rotary_dim;
    rule.base = 500000;
    double scale;
    ropeMakeFrequencies(&rule, frequencies_.data(), &scale, nullptr);
    RopeFusedDescription& d = description_;
    RopeFusedDescription& r = d;
    r.rotation.frequencies = {frequencies_.data(), heads_.rotary_dim / 2, 1, nullptr, 1};
    r.rotation.source = kind_.source;
    r.positions.offset = tokens_;
    r.q.heads = kind_.q_heads;
    r.k.heads = kind_.kv_heads;
    d.v.heads = kind_.vHeads();
    r.tokens = tokens_;
    r.head_dim = heads_.q_dim;
    r.rotation.rotary_begin = heads_.q_begin;
    r.rotation.rotary_dim = heads_.rotary_dim;
    if (kind_.latent) {
        r.k.head_dim = heads_.k_dim;
        r.k.rotary_begin = heads_.k_begin;
        r.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
    }
    r.element = kind_.from;
    r.q.element = ROPE_ELEMENT_F32;
    r.out_of_place = 1;
    d.packed_qkv = 1;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.map_in_positions = 1;
    d.k.element = d.v.element = kind_.cache;
    d.cache.page_size = kPageSize;
    d.cache.one_buffer = 1;
    uint32_t state = 1;
    weights_ = noise(size_t{heads_.k_dim} * std::max(kind_.q_heads, kind_.kv_heads), &state);
    if (kind_.norm.kind != ROPE_NORM_NONE) {
        d.k.norm = kind_.norm;
        // An engine's own way is the buffer, where there is room.
        if (bench_->limits().storage_buffers < 7) d.k.norm.weights = weights_.data();
        if (kind_.latent) d.k.norm.dim = heads_.k_begin;
        if (!kind_.latent) d.q.norm = d.k.norm;
    }
    if (d.q.heads != 0) d.q.hadamard = kind_.hadamard;
    d.k.hadamard = kind_.hadamard;
    d.v.hadamard = kind_.hadamard != 0 ? 64 : 0;
    ropeMakeQueryScale(0.1, 8, values_.data(), nullptr);
    if (kind_.scaled) d.query_scale = {values_.data(), 8, 1024, 1};
}

FusedBenchState::FusedBenchState(BenchDevice* bench, const FusedKind& kind, uint32_t tokens)
    : bench_(bench), kind_(kind), heads_(kind.latent ? kLatentHeads : kUsualHeads), tokens_(tokens),
      row_(uint64_t{kind.q_heads} * heads_.q_dim + uint64_t{kind.kv_heads + kind.vHeads()} * heads_.k_dim),
      frequencies_(heads_.rotary_dim / 2) {
    describe();
    makeSlotMap();
    makeCaches();
    shared_slots_.slots[ROPE_SLOT_Q_WEIGHTS] = shared_slots_.slots[ROPE_SLOT_K_WEIGHTS] =
        keep(bench_->make(weights_.data(), weights_.size() * sizeof(float)))->slot();
    shared_slots_.slots[ROPE_SLOT_FREQUENCIES] =
        keep(bench_->makeFrequencies(description_.rotation.frequencies))->slot();
    shared_slots_.slots[ROPE_SLOT_ROWS] = keep(makeRows(tokens))->slot();
    if (kind.shift) {
        addShift();
        verify();
        return;
    }
    const std::vector<uint8_t> values = noiseBytes(kind.from, tokens * row_);
    input_ = keep(bench_->make(values.data(), values.size()));
    q_bytes_ = uint64_t{tokens} * kind.q_heads * heads_.q_dim * 4;
    addFused();
    addUnfused();
    verify();
}

void FusedBenchState::add(const RopeFusedDescription& d, bool rotation, RopeBuffers slots, TimedPlans* timed) {
    RopePlan plan;
    const RopeLimits& limits = bench_->limits();
    const RopeRotateDescription alone = rope::rotationOf(d);
    mustPlan(rotation ? ropePlanRotate(&alone, &limits, &plan) : ropePlanFused(&d, &limits, &plan), plan);
    for (const RopeSlot slot :
         {ROPE_SLOT_POSITIONS, ROPE_SLOT_FREQUENCIES, ROPE_SLOT_ROWS, ROPE_SLOT_Q_WEIGHTS, ROPE_SLOT_K_WEIGHTS}) {
        slots.slots[slot] = shared_slots_.slots[slot];
    }
    std::vector<uint8_t> parameters(plan.bytes[ROPE_SLOT_PARAMETERS]);
    if (!parameters.empty()) {
        ropeWriteParameters(&d, parameters.data(), nullptr);
        slots.slots[ROPE_SLOT_PARAMETERS] = keep(bench_->make(parameters.data(), parameters.size()))->slot();
    }
    timed->plans.push_back(plan);
    timed->slots.push_back(slots);
    timed->bytes += bytesMoved(d, plan);
}

void FusedBenchState::addFused() {
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_Q] = input_->slot();
    if (q_bytes_ != 0) {
        q_out_ = keep(bench_->make(q_bytes_));
        slots.slots[ROPE_SLOT_Q_OUT] = q_out_->slot();
    }
    slots.slots[ROPE_SLOT_K_OUT] = caches_[0]->slot();
    add(description_, false, slots, &fused);
}

// Describes a stage that does nothing and moves nothing yet.
RopeFusedDescription FusedBenchState::emptyStage() const {
    RopeFusedDescription d = {};
    measure::setRotation(rope::rotationOf(description_), &d);
    d.element = unfused_element_;
    d.q = unfused_tensors_[0];
    d.k = unfused_tensors_[1];
    d.q.no_rotation = d.k.no_rotation = 1;
    return d;
}

// Adds a stage that reads Q and K from the last stage's buffers and writes float32 to buffers of its own.
void FusedBenchState::addStage(RopeFusedDescription d, bool rotation) {
    const RopeSlot from[2] = {ROPE_SLOT_Q, ROPE_SLOT_K}, to[2] = {ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT};
    const uint64_t elements[2] = {uint64_t{d.q.heads} * widthOf(d, d.q), uint64_t{d.k.heads} * widthOf(d, d.k)};
    RopeBuffers slots = {};
    for (int i = 0; i < 2; ++i) {
        if (elements[i] == 0) continue;
        slots.slots[from[i]] = unfused_buffers_[i]->slot();
        unfused_buffers_[i] = keep(bench_->make(tokens_ * elements[i] * 4));
        slots.slots[to[i]] = unfused_buffers_[i]->slot();
        unfused_tensors_[i].from = {};
    }
    add(d, rotation, slots, &unfused);
    unfused_element_ = ROPE_ELEMENT_F32;
}

// Adds the stage that writes K, from the last stage, or V, from its projection, into the cache.
void FusedBenchState::addScatter(bool is_v) {
    RopeFusedDescription d = emptyStage();
    d.q = {};
    d.cache = description_.cache;
    if (is_v) {
        d.k.from = {row_ - uint64_t{kind_.kv_heads} * heads_.k_dim, 0, row_, heads_.k_dim};
        d.element = kind_.from;
    }
    const RopeFusedTensor& to = is_v ? description_.v : description_.k;
    d.k.element = to.element;
    if (is_v) d.k.hadamard = to.hadamard;
    d.k.to = to.to;
    d.k.stored_scales = to.stored_scales;
    d.k.given_scale = to.given_scale;
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_K] = (is_v ? input_ : unfused_buffers_[1])->slot();
    slots.slots[ROPE_SLOT_K_OUT] = caches_[1]->slot();
    add(d, false, slots, &unfused);
}

void FusedBenchState::addNorm() {
    RopeFusedDescription d = emptyStage();
    d.q.norm = description_.q.norm;
    d.k.norm = description_.k.norm;
    addStage(d, false);
}

// A rotation alone has heads of one width, so a latent's two tensors take one each.
void FusedBenchState::addRotation() {
    if (!kind_.latent) return addStage(emptyStage(), true);
    RopeFusedDescription q = emptyStage(), k = q;
    q.k = {};
    addStage(q, true);
    k.q = {};
    k.head_dim = std::exchange(k.k.head_dim, 0);
    k.rotation.rotary_begin = std::exchange(k.k.rotary_begin, 0);
    addStage(k, true);
}

void FusedBenchState::addUnfused() {
    const uint64_t of_q = uint64_t{kind_.q_heads} * heads_.q_dim;
    const RopeFusedTensor* given[] = {&description_.q, &description_.k};
    for (int i = 0; i < 2; ++i) {
        RopeFusedTensor& t = unfused_tensors_[i];
        t.heads = given[i]->heads;
        t.head_dim = given[i]->head_dim;
        t.rotary_begin = given[i]->rotary_begin;
        t.element = ROPE_ELEMENT_F32;
    }
    unfused_tensors_[0].from = {0, 0, row_, heads_.q_dim};
    unfused_tensors_[1].from = {of_q, 0, row_, heads_.k_dim};
    unfused_buffers_[0] = unfused_buffers_[1] = input_;
    unfused_element_ = kind_.from;
    const bool normed = kind_.norm.kind != ROPE_NORM_NONE;
    if (normed && kind_.norm.after == 0) addNorm();
    addRotation();
    if (normed && kind_.norm.after != 0) addNorm();
    if (kind_.scaled) {
        RopeFusedDescription d = emptyStage();
        d.k = {};
        d.query_scale = description_.query_scale;
        addStage(d, false);
    }
    if (kind_.hadamard != 0) {
        RopeFusedDescription d = emptyStage();
        d.q.hadamard = description_.q.hadamard;
        d.k.hadamard = description_.k.hadamard;
        addStage(d, false);
    }
    addScatter(false);
    if (kind_.vHeads() != 0) addScatter(true);
}

// A shift replaces a rotation in place. The rotation knows no pages and turns the whole cache, slot after slot.
void FusedBenchState::addShift() {
    description_.rotation.operation = ROPE_OPERATION_SHIFT;
    description_.element = description_.k.element = kind_.cache;
    RopeFusedDescription d = description_;
    d.packed_qkv = d.v.heads = 0;
    d.cache.delta = kShiftDelta;
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_K_OUT] = caches_[0]->slot();
    add(d, false, slots, &fused);
    RopeFusedDescription rotation = {};
    measure::setRotation(rope::rotationOf(description_), &rotation);
    rotation.out_of_place = 0;
    slots.slots[ROPE_SLOT_K] = caches_[1]->slot();
    add(rotation, true, slots, &unfused);
}

// Makes a row for each token's position.
rope::Buffer FusedBenchState::makeRows(uint32_t count) {
    RopeTableDescription table = {};
    table.frequencies = description_.rotation.frequencies;
    table.tokens = count;
    table.positions.kind = ROPE_POSITIONS_COUNTED;
    table.positions.first = kFirstPosition;
    RopePlan plan;
    mustPlan(ropePlanTable(&table, &bench_->limits(), &plan), plan);
    rope::Buffer rows = bench_->make(plan.bytes[ROPE_SLOT_ROWS]);
    RopeBuffers slots = shared_slots_;
    slots.slots[ROPE_SLOT_ROWS] = rows.slot();
    bench_->run(plan, slots);
    return rows;
}

void FusedBenchState::checkEqual(const rope::Buffer& a, const rope::Buffer& b, uint64_t bytes) {
    const std::vector<uint8_t> fused_bytes = bench_->read(a, 0, bytes);
    if (fused_bytes == std::vector<uint8_t>(bytes)) throw WrongResult("the fused pass wrote nothing");
    if (fused_bytes != bench_->read(b, 0, bytes)) throw WrongResult("the fused pass has other results than its parts");
}

void FusedBenchState::verify() {
    fused.run(bench_);
    unfused.run(bench_);
    if (q_bytes_ != 0) checkEqual(*q_out_, *unfused_buffers_[0], q_bytes_);
    checkEqual(*caches_[0], *caches_[1], cache_bytes_);
}

// Makes copies of the tensors and caches that the plans take, not of what all layers of a model share.
BufferCopies* FusedBenchState::copiesOf(const TimedPlans& timed) {
    std::vector<const rope::Buffer*> originals;
    for (const rope::Buffer& buffer : buffers_) {
        bool taken = false;
        for (const RopeBuffers& slots : timed.slots) {
            for (const RopeSlot slot :
                 {ROPE_SLOT_Q, ROPE_SLOT_K, ROPE_SLOT_V, ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT})
                taken = taken || slots.slots[slot].buffer == buffer.handle();
        }
        if (taken) originals.push_back(&buffer);
    }
    return &copies_.emplace_back(bench_, originals, kind_.shift ? kUsesInPlace : kAnyUses);
}

std::vector<Contestant> FusedBenchState::contestants() {
    const uint64_t half = std::max<uint64_t>(fused.bytes / 2 / kCopyBytes, 1) * kCopyBytes;
    const rope::Buffer *from = keep(bench_->makeNoise(half, ROPE_ELEMENT_F32)), *to = keep(bench_->make(half));
    TimedPlans copy;
    copy.slots.resize(1);
    copy.slots[0].slots[ROPE_SLOT_Q] = from->slot();
    copy.slots[0].slots[ROPE_SLOT_Q_OUT] = to->slot();
    BufferCopies* fused_copies = copiesOf(fused);
    std::vector<Contestant> all = {{"fused", fused_copies->work(fused.plans, fused.slots)},
                                   {"unfused", copiesOf(unfused)->work(unfused.plans, unfused.slots)}};
    addCopies(copiesOf(copy), copy.slots[0], half, 1, bench_->limits(), &all);
    if (fused_copies->fitsCache()) all.push_back({kWarm, fused_copies->workOnOneSet(fused.plans, fused.slots)});
    const RopePlan empty = emptyPlan(fused.plans[0]);
    all.push_back({kEmptyDispatch, untouching(fused_copies->work({empty}, {fused.slots[0]}))});
    return all;
}

FusedBench::FusedBench(BenchDevice* bench, const FusedKind& kind, uint32_t tokens)
    : case_(std::make_unique<FusedBenchState>(bench, kind, tokens)) {}
FusedBench::~FusedBench() = default;
std::vector<Contestant> FusedBench::contestants() { return case_->contestants(); }
uint64_t FusedBench::bytes() const { return case_->fused.bytes; }
uint64_t FusedBench::unfusedBytes() const { return case_->unfused.bytes; }

const std::vector<FusedKind>& fusedKinds() {
    constexpr RopeElement f32 = ROPE_ELEMENT_F32, f16 = ROPE_ELEMENT_F16, i8 = ROPE_ELEMENT_I8, q8 = ROPE_ELEMENT_Q8_0,
                          q4 = ROPE_ELEMENT_Q4_0, q41 = ROPE_ELEMENT_Q4_1, q5 = ROPE_ELEMENT_Q5_0,
                          q51 = ROPE_ELEMENT_Q5_1, iq4 = ROPE_ELEMENT_IQ4_NL, f8 = ROPE_ELEMENT_F8_E4M3,
                          bf16 = ROPE_ELEMENT_BF16;
    constexpr RopeSource rows = ROPE_SOURCE_ROWS, computed = ROPE_SOURCE_INLINE;
    constexpr RopeNorm none = {};
    constexpr RopeNorm before = {ROPE_NORM_RMS, 1e-6f, 0, 0, 0, 0, 0, nullptr, nullptr, {}, 0, 0, 0, 0};
    constexpr RopeNorm after = {ROPE_NORM_RMS, 1e-6f, 1, 0, 0, 0, 0, nullptr, nullptr, {}, 0, 0, 0, 0};
    constexpr RopeNorm all_heads = {ROPE_NORM_RMS, 1e-6f, 0, 1, 0, 0, 0, nullptr, nullptr, {}, 0, 0, 0, 0};
    static const std::vector<FusedKind> all = {
        {"kv_f32", 0, 8, f32, f32, none, false, false, rows},
        {"kv_f16", 0, 8, f16, f16, none, false, false, rows},
        {"kv_f32_to_f16", 0, 8, f32, f16, none, false, false, rows},
        {"kv_f32_to_f16_inline", 0, 8, f32, f16, none, false, false, computed},
        {"kv_i8", 0, 8, f32, i8, none, false, false, rows},
        {"kv_f8_e4m3", 0, 8, f32, f8, none, false, false, rows},
        {"kv_q8_0", 0, 8, f32, q8, none, false, false, rows},
        {"kv_q4_0", 0, 8, f32, q4, none, false, false, rows},
        {"kv_q4_1", 0, 8, f32, q41, none, false, false, rows},
        {"kv_q5_0", 0, 8, f32, q5, none, false, false, rows},
        {"kv_q5_1", 0, 8, f32, q51, none, false, false, rows},
        {"kv_iq4_nl", 0, 8, f32, iq4, none, false, false, rows},
        {"kv_q8_0_hadamard", 0, 8, f32, q8, none, false, false, rows, false, 128},
        {"qkv_q8_0_hadamard", 32, 8, f32, q8, none, false, false, rows, false, 128},
        {"qkv", 32, 8, f32, f16, none, false, false, rows},
        {"qkv_inline", 32, 8, f32, f16, none, false, false, computed},
        {"qwen3", 16, 8, f32, f16, before, false, false, rows},
        {"qwen3_inline", 16, 8, f32, f16, before, false, false, computed},
        {"hunyuan", 16, 8, f32, f16, after, false, false, rows},
        {"olmo2", 32, 32, f32, f16, all_heads, false, false, rows},
        {"query_scale", 32, 8, f32, f16, none, true, false, rows},
        {"mla_bf16", 128, 1, bf16, bf16, before, false, false, computed, true},
        {"mla_f8_e4m3", 128, 1, bf16, f8, before, false, false, computed, true},
        {"qkv_i8", 32, 8, f32, i8, none, false, false, computed},
        {"qkv_q8_0", 32, 8, f32, q8, none, false, false, rows},
        {"shift", 0, 8, f16, f16, none, false, true, computed}};
    return all;
}

} // namespace measure
