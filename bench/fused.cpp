#include "fused.hpp"

#include "baselines.hpp"

#include <algorithm>

namespace measure {
namespace {

constexpr uint32_t kHeadDim = 128;
constexpr uint32_t kPage = 16;
constexpr int32_t kDelta = -64; // what a shift turns by

// Plans one after the other, and the bytes that they read and write, each counted once in each plan.
struct Passes {
    std::vector<RopePlan> plans;
    std::vector<RopeBuffers> slots;
    uint64_t bytes = 0;

    double seconds(Bench* bench) const {
        return bench->run(plans.data(), static_cast<uint32_t>(plans.size()), slots.data());
    }
};

uint64_t elementBytes(RopeElement element, uint64_t count) {
    if (element == ROPE_ELEMENT_Q8_0) return count / 32 * 34;
    if (element == ROPE_ELEMENT_I8) return count + count / kHeadDim * 4;
    return count * ropeElementBytes(element);
}

// Of the cache what the tokens take of it; of the rest all that the plan reads.
uint64_t countBytes(const RopeFusedDescription& d, const RopePlan& plan) {
    const uint64_t head = uint64_t{d.rotate.tokens} * kHeadDim;
    const uint64_t q = head * d.rotate.q.heads;
    const uint64_t kv = head * (d.rotate.k.heads + d.v.heads);
    const bool cached = d.cache.kind != ROPE_CACHE_NONE;
    uint64_t bytes = elementBytes(d.rotate.element_in, q + kv) + elementBytes(d.rotate.element_out, q) +
                     elementBytes(cached ? d.cache.element : d.rotate.element_out, kv);
    for (const RopeSlot slot : {ROPE_SLOT_POSITIONS, ROPE_SLOT_FREQUENCIES, ROPE_SLOT_ROWS, ROPE_SLOT_PARAMETERS}) {
        bytes += plan.bytes[slot];
    }
    return bytes;
}

std::vector<uint8_t> noiseOf(RopeElement element, size_t count) {
    uint32_t state = 1;
    const std::vector<float> values = noise(count, &state);
    std::vector<uint8_t> bytes(count * ropeElementBytes(element));
    ropeConvertElements(values.data(), ROPE_ELEMENT_F32, bytes.data(), element, count);
    return bytes;
}

} // namespace

class FusedCase {
  public:
    FusedCase(Bench* bench, const FusedKind& kind, uint32_t tokens);
    std::vector<Contestant> contestants();

    Passes fused, unfused;

  private:
    const rope::Buffer* keep(rope::Buffer buffer) {
        buffers_.push_back(std::move(buffer));
        return &buffers_.back();
    }
    rope::Buffer makeRows(uint32_t count);
    void checkEqual(const rope::Buffer& a, const rope::Buffer& b, uint64_t bytes);
    void verify();
    void makeSteps();
    void makeCaches();
    RopeFusedDescription plain() const;
    void add(const RopeFusedDescription& d, bool rotation, RopeBuffers slots, Passes* passes);
    void addFused();
    void addStage(RopeFusedDescription d, bool rotation);
    void addScatter(bool is_v);
    void addShift();
    void addUnfused();

    Bench* bench_;
    FusedKind kind_;
    uint32_t tokens_;
    std::vector<double> frequencies_ = std::vector<double>(kHeadDim / 2); // Llama-3's
    std::deque<rope::Buffer> buffers_;
    RopeFusedDescription whole_ = {};
    RopeBuffers shared_ = {}; // what all plans read beside their tensors
    std::vector<float> weights_, values_ = std::vector<float>(8);
    const rope::Buffer *input_ = nullptr, *q_out_ = nullptr;
    const rope::Buffer* caches_[2]; // of the fused pass, and of the others
    uint64_t q_bytes_ = 0, cache_bytes_ = 0;
    // Where Q and K are between the passes.
    const rope::Buffer* at_[2] = {nullptr, nullptr};
    RopeTensor between_[2] = {};
    RopeElement element_ = ROPE_ELEMENT_F32;
};

// Pages lie scattered. A slot for each token, then its position.
void FusedCase::makeSteps() {
    const uint32_t pages = (tokens_ + kPage - 1) / kPage;
    std::vector<int32_t> steps(2 * size_t{tokens_});
    for (uint32_t t = 0; t < tokens_; ++t) {
        steps[t] = static_cast<int32_t>(t / kPage * 5 % pages * kPage + t % kPage);
        steps[tokens_ + t] = kind_.shift ? kDelta : static_cast<int32_t>(t);
    }
    shared_.slots[ROPE_SLOT_POSITIONS] = keep(bench_->make(steps.data(), steps.size() * 4))->slot();
    whole_.cache.slots = pages * kPage;
}

void FusedCase::makeCaches() {
    RopeCache& cache = whole_.cache;
    const uint64_t elements = uint64_t{cache.slots} * kind_.kv_heads * kHeadDim;
    cache.v.offset = elements;
    cache.k_scales.offset = 2 * elements / 4;
    cache.v_scales.offset = cache.k_scales.offset + elements / kHeadDim;
    cache_bytes_ = elementBytes(kind_.cache, 2 * elements);
    std::vector<uint8_t> before(cache_bytes_);
    if (kind_.shift) before = noiseOf(kind_.cache, 2 * elements);
    for (const rope::Buffer*& cache_buffer : caches_) cache_buffer = keep(bench_->make(before.data(), before.size()));
}

FusedCase::FusedCase(Bench* bench, const FusedKind& kind, uint32_t tokens)
    : bench_(bench), kind_(kind), tokens_(tokens) {
    RopeRule rule = {};
    rule.rotary_dim = kHeadDim;
    rule.base = 500000;
    double scale;
    ropeMakeFrequencies(&rule, frequencies_.data(), &scale, nullptr);
    RopeRotateDescription& r = whole_.rotate;
    r.frequencies = {frequencies_.data(), kHeadDim / 2, 1, nullptr, 1};
    r.source = kind.source;
    r.positions.offset = tokens;
    r.q.heads = kind.q_heads;
    r.k.heads = whole_.v.heads = kind.kv_heads;
    r.tokens = tokens;
    r.head_dim = kHeadDim;
    r.element_in = kind.from;
    r.element_out = ROPE_ELEMENT_F32;
    r.out_of_place = 1;
    whole_.packed = 1;
    whole_.cache.kind = ROPE_CACHE_SLOTS;
    whole_.cache.element = kind.cache;
    whole_.cache.page_size = kPage;
    whole_.cache.v_shares_buffer = 1;
    uint32_t state = 1;
    weights_ = noise(size_t{kHeadDim} * std::max(kind.q_heads, kind.kv_heads), &state);
    if (kind.norm.kind != ROPE_NORM_NONE) {
        whole_.k_norm = whole_.q_norm = kind.norm;
        whole_.k_norm.weights = whole_.q_norm.weights = weights_.data();
    }
    ropeMakeQueryScale(0.1, 8, values_.data(), nullptr);
    if (kind.scaled) whole_.query_scale = {values_.data(), 8, 1024, 1};
    makeSteps();
    makeCaches();
    shared_.slots[ROPE_SLOT_FREQUENCIES] = keep(bench_->makeFrequencies(r.frequencies))->slot();
    shared_.slots[ROPE_SLOT_ROWS] = keep(makeRows(tokens))->slot();
    if (kind.shift) {
        addShift();
        verify();
        return;
    }
    const size_t elements = size_t{tokens} * (kind.q_heads + 2 * kind.kv_heads) * kHeadDim;
    const std::vector<uint8_t> values = noiseOf(kind.from, elements);
    input_ = keep(bench_->make(values.data(), values.size()));
    q_bytes_ = uint64_t{tokens} * kind.q_heads * kHeadDim * 4;
    addFused();
    addUnfused();
    verify();
}

void FusedCase::add(const RopeFusedDescription& d, bool rotation, RopeBuffers slots, Passes* passes) {
    RopePlan plan;
    const RopeLimits& limits = bench_->limits();
    mustPlan(rotation ? ropePlanRotate(&d.rotate, &limits, &plan) : ropePlanFused(&d, &limits, &plan), plan);
    for (const RopeSlot slot : {ROPE_SLOT_POSITIONS, ROPE_SLOT_FREQUENCIES, ROPE_SLOT_ROWS}) {
        slots.slots[slot] = shared_.slots[slot];
    }
    std::vector<uint8_t> parameters(plan.bytes[ROPE_SLOT_PARAMETERS]);
    if (!parameters.empty()) {
        ropeWriteParameters(&d, parameters.data(), nullptr);
        slots.slots[ROPE_SLOT_PARAMETERS] = keep(bench_->make(parameters.data(), parameters.size()))->slot();
    }
    passes->plans.push_back(plan);
    passes->slots.push_back(slots);
    passes->bytes += countBytes(d, plan);
}

void FusedCase::addFused() {
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_Q] = input_->slot();
    if (q_bytes_ != 0) {
        q_out_ = keep(bench_->make(q_bytes_));
        slots.slots[ROPE_SLOT_Q_OUT] = q_out_->slot();
    }
    slots.slots[ROPE_SLOT_K_OUT] = caches_[0]->slot();
    add(whole_, false, slots, &fused);
}

// Nothing done, and nothing moved yet.
RopeFusedDescription FusedCase::plain() const {
    RopeFusedDescription d = {};
    d.rotate = whole_.rotate;
    d.rotate.element_in = element_;
    d.rotate.q = between_[0];
    d.rotate.k = between_[1];
    d.no_rotation = 1;
    return d;
}

// From where Q and K are to float32 of the stage's own.
void FusedCase::addStage(RopeFusedDescription d, bool rotation) {
    const RopeSlot from[2] = {ROPE_SLOT_Q, ROPE_SLOT_K}, to[2] = {ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT};
    const uint32_t heads[2] = {d.rotate.q.heads, d.rotate.k.heads};
    RopeBuffers slots = {};
    for (int i = 0; i < 2; ++i) {
        if (heads[i] == 0) continue;
        slots.slots[from[i]] = at_[i]->slot();
        at_[i] = keep(bench_->make(uint64_t{tokens_} * heads[i] * kHeadDim * 4));
        slots.slots[to[i]] = at_[i]->slot();
        between_[i].source = {};
    }
    add(d, rotation, slots, &unfused);
    element_ = ROPE_ELEMENT_F32;
}

// K from where it is, V from its projection.
void FusedCase::addScatter(bool is_v) {
    const uint64_t row = uint64_t{kind_.q_heads + 2 * kind_.kv_heads} * kHeadDim;
    RopeFusedDescription d = plain();
    d.rotate.q = {};
    d.cache = whole_.cache;
    if (is_v) {
        d.rotate.k.source = {row - uint64_t{kind_.kv_heads} * kHeadDim, 0, row, kHeadDim};
        d.rotate.element_in = kind_.from;
        d.cache.k = d.cache.v;
        d.cache.k_scales = d.cache.v_scales;
    }
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_K] = (is_v ? input_ : at_[1])->slot();
    slots.slots[ROPE_SLOT_K_OUT] = caches_[1]->slot();
    add(d, false, slots, &unfused);
}

void FusedCase::addUnfused() {
    const uint64_t row = uint64_t{kind_.q_heads + 2 * kind_.kv_heads} * kHeadDim;
    between_[0] = {kind_.q_heads, {0, 0, row, kHeadDim}, {}};
    between_[1] = {kind_.kv_heads, {uint64_t{kind_.q_heads} * kHeadDim, 0, row, kHeadDim}, {}};
    at_[0] = at_[1] = input_;
    element_ = kind_.from;
    const auto addNorm = [&] {
        RopeFusedDescription d = plain();
        d.q_norm = whole_.q_norm;
        d.k_norm = whole_.k_norm;
        addStage(d, false);
    };
    const bool normed = kind_.norm.kind != ROPE_NORM_NONE;
    if (normed && kind_.norm.after == 0) addNorm();
    addStage(plain(), true);
    if (normed && kind_.norm.after != 0) addNorm();
    if (kind_.scaled) {
        RopeFusedDescription d = plain();
        d.rotate.k = {};
        d.query_scale = whole_.query_scale;
        addStage(d, false);
    }
    addScatter(false);
    addScatter(true);
}

// A shift replaces a rotation in place, which knows no pages: it turns the whole cache, slot after slot.
void FusedCase::addShift() {
    whole_.rotate.operation = ROPE_OPERATION_SHIFT;
    whole_.rotate.element_in = whole_.rotate.element_out = kind_.cache;
    RopeFusedDescription d = whole_;
    d.packed = d.v.heads = 0;
    d.cache.shift = 1;
    d.cache.delta = kDelta;
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_K_OUT] = caches_[0]->slot();
    add(d, false, slots, &fused);
    RopeFusedDescription rotation = {};
    rotation.rotate = whole_.rotate;
    rotation.rotate.out_of_place = 0;
    slots.slots[ROPE_SLOT_K] = caches_[1]->slot();
    add(rotation, true, slots, &unfused);
}

// A row for each of the positions from 0 on.
rope::Buffer FusedCase::makeRows(uint32_t count) {
    RopeTableDescription table = {};
    table.frequencies = whole_.rotate.frequencies;
    table.tokens = count;
    table.positions.kind = ROPE_POSITIONS_COUNTED;
    RopePlan plan;
    mustPlan(ropePlanTable(&table, &bench_->limits(), &plan), plan);
    rope::Buffer rows = bench_->make(plan.bytes[ROPE_SLOT_ROWS]);
    RopeBuffers slots = shared_;
    slots.slots[ROPE_SLOT_ROWS] = rows.slot();
    bench_->run(plan, slots);
    return rows;
}

void FusedCase::checkEqual(const rope::Buffer& a, const rope::Buffer& b, uint64_t bytes) {
    const std::vector<uint8_t> fused_bytes = bench_->read(a, 0, bytes);
    if (fused_bytes == std::vector<uint8_t>(bytes)) throw Wrong("the fused pass wrote nothing");
    if (fused_bytes != bench_->read(b, 0, bytes)) throw Wrong("the fused pass has other results than its parts");
}

void FusedCase::verify() {
    fused.seconds(bench_);
    unfused.seconds(bench_);
    if (q_bytes_ != 0) checkEqual(*q_out_, *at_[0], q_bytes_);
    checkEqual(*caches_[0], *caches_[1], cache_bytes_);
}

std::vector<Contestant> FusedCase::contestants() {
    const uint64_t half = fused.bytes / 8 * 4;
    const rope::Buffer *from = keep(bench_->makeNoise(half, ROPE_ELEMENT_F32)), *to = keep(bench_->make(half));
    return {{"fused", [this] { return fused.seconds(bench_); }},
            {"unfused", [this] { return unfused.seconds(bench_); }},
            {"CopyBuffer", [this, from, to, half] { return bench_->copy(*from, *to, half); }},
            {kEmpty, [this, empty = emptyPlan(fused.plans[0])] { return bench_->run(empty, fused.slots[0]); }}};
}

Fused::Fused(Bench* bench, const FusedKind& kind, uint32_t tokens)
    : case_(std::make_unique<FusedCase>(bench, kind, tokens)) {}
Fused::~Fused() = default;
std::vector<Contestant> Fused::contestants() { return case_->contestants(); }
uint64_t Fused::bytes() const { return case_->fused.bytes; }
uint64_t Fused::unfusedBytes() const { return case_->unfused.bytes; }

const std::vector<FusedKind>& fusedKinds() {
    constexpr RopeElement f32 = ROPE_ELEMENT_F32, f16 = ROPE_ELEMENT_F16, i8 = ROPE_ELEMENT_I8, q8 = ROPE_ELEMENT_Q8_0;
    constexpr RopeSource rows = ROPE_SOURCE_ROWS, computed = ROPE_SOURCE_INLINE;
    constexpr RopeNorm none = {};
    constexpr RopeNorm before = {ROPE_NORM_RMS, 0, 0, 1e-6f, nullptr, 0};
    constexpr RopeNorm after = {ROPE_NORM_RMS, 1, 0, 1e-6f, nullptr, 0};
    constexpr RopeNorm all_heads = {ROPE_NORM_RMS, 0, 1, 1e-6f, nullptr, 0};
    static const std::vector<FusedKind> all = {{"kv_f32", 0, 8, f32, f32, none, false, false, rows},
                                               {"kv_f16", 0, 8, f16, f16, none, false, false, rows},
                                               {"kv_f32_to_f16", 0, 8, f32, f16, none, false, false, rows},
                                               {"kv_f32_to_f16_inline", 0, 8, f32, f16, none, false, false, computed},
                                               {"kv_i8", 0, 8, f32, i8, none, false, false, rows},
                                               {"kv_q8_0", 0, 8, f32, q8, none, false, false, rows},
                                               {"qkv", 32, 8, f32, f16, none, false, false, rows},
                                               {"qwen3", 16, 8, f32, f16, before, false, false, rows},
                                               {"hunyuan", 16, 8, f32, f16, after, false, false, rows},
                                               {"olmo2", 32, 32, f32, f16, all_heads, false, false, rows},
                                               {"query_scale", 32, 8, f32, f16, none, true, false, rows},
                                               {"shift", 0, 8, f16, f16, none, false, true, computed}};
    return all;
}

} // namespace measure
