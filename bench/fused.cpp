#include "fused.hpp"

#include "baselines.hpp"
#include "buffer_copies.hpp"

#include "plan/element_formats.h"

#include <algorithm>

namespace measure {
namespace {

constexpr uint32_t kHeadDim = 128;
constexpr uint32_t kPageSize = 16;
constexpr uint64_t kCopyBytes = 128; // a copy's bytes are a multiple of it
constexpr int32_t kShiftDelta = -64; // a shift turns by this many positions

// Plans that run one after the other, and the bytes that they read and write, each counted once in each plan.
struct TimedPlans {
    std::vector<RopePlan> plans;
    std::vector<RopeBuffers> slots;
    uint64_t bytes = 0;

    void run(BenchDevice* bench) const { bench->run(plans.data(), static_cast<uint32_t>(plans.size()), slots.data()); }
};

uint64_t bytesWithScales(RopeElement element, uint64_t count) {
    const bool apart = rope::formatOf(element).scale == rope::ElementScale::kApart;
    return rope::elementBytes(element, count) + (apart ? count / kHeadDim * sizeof(float) : 0);
}

// Counts the bytes that a plan moves: the tokens' share of the cache, and of the other slots all that the plan reads.
uint64_t bytesMoved(const RopeFusedDescription& d, const RopePlan& plan) {
    const uint64_t head = uint64_t{d.rotate.tokens} * kHeadDim;
    const uint64_t q = head * d.rotate.q.heads;
    const uint64_t kv = head * (d.rotate.k.heads + d.v.heads);
    const bool cached = d.cache.kind != ROPE_CACHE_NONE;
    uint64_t bytes = bytesWithScales(d.rotate.element_in, q + kv) + bytesWithScales(d.rotate.element_out, q) +
                     bytesWithScales(cached ? d.cache.element : d.rotate.element_out, kv);
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
    RopeFusedDescription emptyStage() const;
    void add(const RopeFusedDescription& d, bool rotation, RopeBuffers slots, TimedPlans* timed);
    void addFused();
    void addStage(RopeFusedDescription d, bool rotation);
    void addScatter(bool is_v);
    void addShift();
    void addUnfused();
    BufferCopies* copiesOf(const TimedPlans& timed);

    BenchDevice* bench_;
    FusedKind kind_;
    uint32_t tokens_;
    std::vector<double> frequencies_ = std::vector<double>(kHeadDim / 2); // Llama-3's frequencies
    std::deque<rope::Buffer> buffers_;
    std::deque<BufferCopies> copies_;
    RopeFusedDescription description_ = {};
    RopeBuffers shared_slots_ = {}; // slots that all plans read beside their tensors
    std::vector<float> weights_, values_ = std::vector<float>(8);
    const rope::Buffer *input_ = nullptr, *q_out_ = nullptr;
    const rope::Buffer* caches_[2]; // the fused pass's cache, and the unfused stages'
    uint64_t q_bytes_ = 0, cache_bytes_ = 0;
    // The buffers and layouts that hold Q and K between the unfused stages.
    const rope::Buffer* unfused_buffers_[2] = {nullptr, nullptr};
    RopeTensor unfused_tensors_[2] = {};
    RopeElement unfused_element_ = ROPE_ELEMENT_F32;
};

// Writes a slot for each token, then its position. The pages lie scattered.
void FusedBenchState::makeSlotMap() {
    const uint32_t pages = (tokens_ + kPageSize - 1) / kPageSize;
    std::vector<int32_t> slots_and_positions(2 * size_t{tokens_});
    for (uint32_t t = 0; t < tokens_; ++t) {
        slots_and_positions[t] = static_cast<int32_t>(t / kPageSize * 5 % pages * kPageSize + t % kPageSize);
        slots_and_positions[tokens_ + t] = kind_.shift ? kShiftDelta : static_cast<int32_t>(t);
    }
    shared_slots_.slots[ROPE_SLOT_POSITIONS] =
        keep(bench_->make(slots_and_positions.data(), slots_and_positions.size() * 4))->slot();
    description_.cache.slots = pages * kPageSize;
}

void FusedBenchState::makeCaches() {
    RopeCache& cache = description_.cache;
    const uint64_t elements = uint64_t{cache.slots} * kind_.kv_heads * kHeadDim;
    cache.v.offset = elements;
    cache.k_scales.offset = 2 * elements / 4;
    cache.v_scales.offset = cache.k_scales.offset + elements / kHeadDim;
    cache_bytes_ = bytesWithScales(kind_.cache, 2 * elements);
    std::vector<uint8_t> before(cache_bytes_);
    if (kind_.shift) before = noiseBytes(kind_.cache, 2 * elements);
    for (const rope::Buffer*& cache_buffer : caches_) cache_buffer = keep(bench_->make(before.data(), before.size()));
}

FusedBenchState::FusedBenchState(BenchDevice* bench, const FusedKind& kind, uint32_t tokens)
    : bench_(bench), kind_(kind), tokens_(tokens) {
    RopeRule rule = {};
    rule.rotary_dim = kHeadDim;
    rule.base = 500000;
    double scale;
    ropeMakeFrequencies(&rule, frequencies_.data(), &scale, nullptr);
    RopeRotateDescription& r = description_.rotate;
    r.frequencies = {frequencies_.data(), kHeadDim / 2, 1, nullptr, 1};
    r.source = kind.source;
    r.positions.offset = tokens;
    r.q.heads = kind.q_heads;
    r.k.heads = description_.v.heads = kind.kv_heads;
    r.tokens = tokens;
    r.head_dim = kHeadDim;
    r.element_in = kind.from;
    r.element_out = ROPE_ELEMENT_F32;
    r.out_of_place = 1;
    description_.packed = 1;
    description_.cache.kind = ROPE_CACHE_SLOTS;
    description_.cache.element = kind.cache;
    description_.cache.page_size = kPageSize;
    description_.cache.v_shares_buffer = 1;
    uint32_t state = 1;
    weights_ = noise(size_t{kHeadDim} * std::max(kind.q_heads, kind.kv_heads), &state);
    if (kind.norm.kind != ROPE_NORM_NONE) {
        description_.k_norm = description_.q_norm = kind.norm;
        description_.k_norm.weights = description_.q_norm.weights = weights_.data();
    }
    ropeMakeQueryScale(0.1, 8, values_.data(), nullptr);
    if (kind.scaled) description_.query_scale = {values_.data(), 8, 1024, 1};
    makeSlotMap();
    makeCaches();
    shared_slots_.slots[ROPE_SLOT_FREQUENCIES] = keep(bench_->makeFrequencies(r.frequencies))->slot();
    shared_slots_.slots[ROPE_SLOT_ROWS] = keep(makeRows(tokens))->slot();
    if (kind.shift) {
        addShift();
        verify();
        return;
    }
    const size_t elements = size_t{tokens} * (kind.q_heads + 2 * kind.kv_heads) * kHeadDim;
    const std::vector<uint8_t> values = noiseBytes(kind.from, elements);
    input_ = keep(bench_->make(values.data(), values.size()));
    q_bytes_ = uint64_t{tokens} * kind.q_heads * kHeadDim * 4;
    addFused();
    addUnfused();
    verify();
}

void FusedBenchState::add(const RopeFusedDescription& d, bool rotation, RopeBuffers slots, TimedPlans* timed) {
    RopePlan plan;
    const RopeLimits& limits = bench_->limits();
    mustPlan(rotation ? ropePlanRotate(&d.rotate, &limits, &plan) : ropePlanFused(&d, &limits, &plan), plan);
    for (const RopeSlot slot : {ROPE_SLOT_POSITIONS, ROPE_SLOT_FREQUENCIES, ROPE_SLOT_ROWS}) {
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
    d.rotate = description_.rotate;
    d.rotate.element_in = unfused_element_;
    d.rotate.q = unfused_tensors_[0];
    d.rotate.k = unfused_tensors_[1];
    d.no_rotation = 1;
    return d;
}

// Adds a stage that reads Q and K from the last stage's buffers and writes float32 to buffers of its own.
void FusedBenchState::addStage(RopeFusedDescription d, bool rotation) {
    const RopeSlot from[2] = {ROPE_SLOT_Q, ROPE_SLOT_K}, to[2] = {ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT};
    const uint32_t heads[2] = {d.rotate.q.heads, d.rotate.k.heads};
    RopeBuffers slots = {};
    for (int i = 0; i < 2; ++i) {
        if (heads[i] == 0) continue;
        slots.slots[from[i]] = unfused_buffers_[i]->slot();
        unfused_buffers_[i] = keep(bench_->make(uint64_t{tokens_} * heads[i] * kHeadDim * 4));
        slots.slots[to[i]] = unfused_buffers_[i]->slot();
        unfused_tensors_[i].source = {};
    }
    add(d, rotation, slots, &unfused);
    unfused_element_ = ROPE_ELEMENT_F32;
}

// Adds the stage that writes K, from the last stage, or V, from its projection, into the cache.
void FusedBenchState::addScatter(bool is_v) {
    const uint64_t row = uint64_t{kind_.q_heads + 2 * kind_.kv_heads} * kHeadDim;
    RopeFusedDescription d = emptyStage();
    d.rotate.q = {};
    d.cache = description_.cache;
    if (is_v) {
        d.rotate.k.source = {row - uint64_t{kind_.kv_heads} * kHeadDim, 0, row, kHeadDim};
        d.rotate.element_in = kind_.from;
        d.cache.k = d.cache.v;
        d.cache.k_scales = d.cache.v_scales;
    }
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_K] = (is_v ? input_ : unfused_buffers_[1])->slot();
    slots.slots[ROPE_SLOT_K_OUT] = caches_[1]->slot();
    add(d, false, slots, &unfused);
}

void FusedBenchState::addUnfused() {
    const uint64_t row = uint64_t{kind_.q_heads + 2 * kind_.kv_heads} * kHeadDim;
    unfused_tensors_[0] = {kind_.q_heads, {0, 0, row, kHeadDim}, {}, 0, 0};
    unfused_tensors_[1] = {kind_.kv_heads, {uint64_t{kind_.q_heads} * kHeadDim, 0, row, kHeadDim}, {}, 0, 0};
    unfused_buffers_[0] = unfused_buffers_[1] = input_;
    unfused_element_ = kind_.from;
    const auto addNorm = [&] {
        RopeFusedDescription d = emptyStage();
        d.q_norm = description_.q_norm;
        d.k_norm = description_.k_norm;
        addStage(d, false);
    };
    const bool normed = kind_.norm.kind != ROPE_NORM_NONE;
    if (normed && kind_.norm.after == 0) addNorm();
    addStage(emptyStage(), true);
    if (normed && kind_.norm.after != 0) addNorm();
    if (kind_.scaled) {
        RopeFusedDescription d = emptyStage();
        d.rotate.k = {};
        d.query_scale = description_.query_scale;
        addStage(d, false);
    }
    addScatter(false);
    addScatter(true);
}

// A shift replaces a rotation in place. The rotation knows no pages and turns the whole cache, slot after slot.
void FusedBenchState::addShift() {
    description_.rotate.operation = ROPE_OPERATION_SHIFT;
    description_.rotate.element_in = description_.rotate.element_out = kind_.cache;
    RopeFusedDescription d = description_;
    d.packed = d.v.heads = 0;
    d.cache.shift = 1;
    d.cache.delta = kShiftDelta;
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_K_OUT] = caches_[0]->slot();
    add(d, false, slots, &fused);
    RopeFusedDescription rotation = {};
    rotation.rotate = description_.rotate;
    rotation.rotate.out_of_place = 0;
    slots.slots[ROPE_SLOT_K] = caches_[1]->slot();
    add(rotation, true, slots, &unfused);
}

// Makes a row for each of the positions from 0 on.
rope::Buffer FusedBenchState::makeRows(uint32_t count) {
    RopeTableDescription table = {};
    table.frequencies = description_.rotate.frequencies;
    table.tokens = count;
    table.positions.kind = ROPE_POSITIONS_COUNTED;
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
    if (fused_copies->fitsCache()) all.push_back({kWarm, onOneSet(all[0].work)});
    const RopePlan empty = emptyPlan(fused.plans[0]);
    all.push_back({kEmptyDispatch, onOneSet(fused_copies->work({empty}, {fused.slots[0]}))});
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
                          f8 = ROPE_ELEMENT_F8_E4M3;
    constexpr RopeSource rows = ROPE_SOURCE_ROWS, computed = ROPE_SOURCE_INLINE;
    constexpr RopeNorm none = {};
    constexpr RopeNorm before = {ROPE_NORM_RMS, 0, 0, 1e-6f, nullptr, 0, 0, {}, 0, 0, 0, 0, 0, nullptr, 0};
    constexpr RopeNorm after = {ROPE_NORM_RMS, 1, 0, 1e-6f, nullptr, 0, 0, {}, 0, 0, 0, 0, 0, nullptr, 0};
    constexpr RopeNorm all_heads = {ROPE_NORM_RMS, 0, 1, 1e-6f, nullptr, 0, 0, {}, 0, 0, 0, 0, 0, nullptr, 0};
    static const std::vector<FusedKind> all = {{"kv_f32", 0, 8, f32, f32, none, false, false, rows},
                                               {"kv_f16", 0, 8, f16, f16, none, false, false, rows},
                                               {"kv_f32_to_f16", 0, 8, f32, f16, none, false, false, rows},
                                               {"kv_f32_to_f16_inline", 0, 8, f32, f16, none, false, false, computed},
                                               {"kv_i8", 0, 8, f32, i8, none, false, false, rows},
                                               {"kv_f8_e4m3", 0, 8, f32, f8, none, false, false, rows},
                                               {"kv_q8_0", 0, 8, f32, q8, none, false, false, rows},
                                               {"kv_q4_0", 0, 8, f32, q4, none, false, false, rows},
                                               {"kv_q4_1", 0, 8, f32, q41, none, false, false, rows},
                                               {"kv_q5_0", 0, 8, f32, q5, none, false, false, rows},
                                               {"qkv", 32, 8, f32, f16, none, false, false, rows},
                                               {"qkv_inline", 32, 8, f32, f16, none, false, false, computed},
                                               {"qwen3", 16, 8, f32, f16, before, false, false, rows},
                                               {"qwen3_inline", 16, 8, f32, f16, before, false, false, computed},
                                               {"hunyuan", 16, 8, f32, f16, after, false, false, rows},
                                               {"olmo2", 32, 32, f32, f16, all_heads, false, false, rows},
                                               {"query_scale", 32, 8, f32, f16, none, true, false, rows},
                                               {"qkv_i8", 32, 8, f32, i8, none, false, false, computed},
                                               {"qkv_q8_0", 32, 8, f32, q8, none, false, false, rows},
                                               {"shift", 0, 8, f16, f16, none, false, true, computed}};
    return all;
}

} // namespace measure
