#include "bench/cases/rotation.hpp"

#include "bench/cases/baselines.hpp"

#include "plan/element_formats.h"

#include <algorithm>
#include <cmath>

namespace measure {
namespace {

constexpr int32_t kFirstPosition = 1000; // at position 0 nothing turns, and wrong results would look right

// Returns where a packed sequence begins. Sequence i has i + 1 parts of all tokens, so no two are as long.
uint32_t packedBegin(const RotationCase& c, uint32_t sequence) {
    const uint64_t n = c.sequences, before = uint64_t{sequence} * (sequence + 1) / 2;
    return static_cast<uint32_t>(before * c.tokens / (n * (n + 1) / 2));
}

// Returns a token's place in its sequence.
uint32_t placeInSequence(const RotationCase& c, uint32_t token) {
    if (!c.packed) return token % c.tokens;
    uint32_t sequence = 0;
    while (packedBegin(c, sequence + 1) <= token) ++sequence;
    return token - packedBegin(c, sequence);
}

// Returns the height or the width of an image's patch; text has one axis.
int32_t tokenPosition(const RotationCase& c, uint32_t axis, uint32_t all_token) {
    const uint32_t token = placeInSequence(c, all_token);
    if (c.model->axes == 1 || c.packed) return kFirstPosition + static_cast<int32_t>(token);
    const auto side = static_cast<uint32_t>(std::ceil(std::sqrt(c.tokens)));
    return kFirstPosition + static_cast<int32_t>(axis == 0 ? token / side : token % side);
}

// Returns the positions buffer: one for each axis and token or, of packed sequences, where each begins and its start.
std::vector<int32_t> positionsOf(const RotationCase& c) {
    std::vector<int32_t> positions;
    if (c.packed) {
        for (uint32_t i = 0; i <= c.sequences; ++i) positions.push_back(static_cast<int32_t>(packedBegin(c, i)));
        positions.insert(positions.end(), c.sequences, kFirstPosition);
        return positions;
    }
    for (uint32_t axis = 0; axis < c.model->axes; ++axis)
        for (uint32_t token = 0; token < allTokens(c); ++token) positions.push_back(tokenPosition(c, axis, token));
    return positions;
}

// Returns the first token, the last and some between them, which is cheap at any length.
std::vector<uint32_t> tokensToVerify(uint32_t tokens) {
    std::vector<uint32_t> all = {0, 1, tokens / 3, tokens / 2 + 1, tokens - 2, tokens - 1};
    all.erase(std::remove_if(all.begin(), all.end(), [tokens](uint32_t token) { return token >= tokens; }), all.end());
    return all;
}

constexpr RopeSlot kInputSlots[] = {ROPE_SLOT_Q, ROPE_SLOT_K}, kOutputSlots[] = {ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT};

// Lays tokens one after the other, each with all its heads. A head has `before` elements more than those that turn.
RopeTensor tensorOf(const RotationCase& c, uint32_t heads, uint64_t before) {
    const uint64_t head = before + c.model->head_dim;
    const RopeLayout layout = {before, c.tokens * heads * head, heads * head, head};
    return {heads, layout, layout};
}

} // namespace

CaseDescription::CaseDescription(const RotationCase& c)
    : frequencies_(modelFrequencies(*c.model)), axes_(modelAxes(*c.model)) {
    RopeRotateDescription& d = description;
    d.tokens = c.tokens;
    if (c.packed) {
        d.positions.kind = ROPE_POSITIONS_PACKED_STARTS;
        d.positions.sequences = c.sequences;
    } else {
        d.batch = c.sequences;
    }
    d.head_dim = c.model->head_dim;
    d.q = tensorOf(c, c.model->q_heads, c.model->before_q);
    d.k = tensorOf(c, c.model->k_heads, c.model->before_k);
    d.rotation.pairing = d.rotation.pairing_out = c.pairing;
    d.rotation.source = c.source;
    d.element = d.element_out = c.element;
    d.out_of_place = c.out_of_place;
    if (c.source == ROPE_SOURCE_TABLE) {
        d.rotation.rows.count = c.tokens;
        d.rotation.rows.first_position = kFirstPosition;
    }
    d.rotation.frequencies.values = frequencies_.data();
    d.rotation.frequencies.count = static_cast<uint32_t>(frequencies_.size());
    d.rotation.frequencies.scale = c.model->scale;
    d.rotation.frequencies.axes = axes_.empty() ? nullptr : axes_.data();
}

const rope::Buffer& RotationBench::keep(RopeSlot slot, rope::Buffer buffer, RopeBuffers* slots) {
    buffers_.push_back(std::move(buffer));
    slots->slots[slot] = buffers_.back().slot();
    return buffers_.back();
}

void RotationBench::makeTensors(RopeBuffers* slots) {
    for (int i = 0; i < 2; ++i) {
        keep(kInputSlots[i], bench_->makeNoise(plan_.bytes[kInputSlots[i]], case_.element), slots);
        if (case_.out_of_place) keep(kOutputSlots[i], bench_->make(plan_.bytes[kOutputSlots[i]]), slots);
    }
}

// Makes the rows: by position for a table, else one for each token.
void RotationBench::makeRows() {
    RopeTableDescription table = {};
    table.frequencies = described_.description.rotation.frequencies;
    table.tokens = case_.tokens;
    table.batch = described_.description.batch;
    table.positions = described_.description.positions;
    if (case_.source == ROPE_SOURCE_TABLE) {
        table.frequencies.axes = nullptr;
        table.batch = 1;
        table.positions = {};
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        table.positions.first = kFirstPosition;
    }
    RopePlan plan;
    mustPlan(ropePlanTable(&table, &bench_->limits(), &plan), plan);
    keep(ROPE_SLOT_ROWS, bench_->make(plan.bytes[ROPE_SLOT_ROWS]), &slots_);
    bench_->run(plan, slots_);
}

RotationBench::RotationBench(BenchDevice* bench, const RotationCase& c) : bench_(bench), case_(c), described_(c) {
    plan_ = planOf(c.tuning);
    const uint64_t bytes = plan_.bytes[ROPE_SLOT_Q] + plan_.bytes[ROPE_SLOT_K];
    bench_->mustFit(bytes * (c.out_of_place ? 4 : 2));
    const std::vector<int32_t> positions = positionsOf(c);
    keep(ROPE_SLOT_POSITIONS, bench_->make(positions.data(), positions.size() * sizeof positions[0]), &slots_);
    keep(ROPE_SLOT_FREQUENCIES, bench_->makeFrequencies(described_.description.rotation.frequencies), &slots_);
    if (c.source != ROPE_SOURCE_INLINE) makeRows();
    makeTensors(&slots_);
    verify(plan_);
}

// Reads each of Q's verified tokens, then each of K's.
std::vector<std::vector<uint8_t>> RotationBench::readTokens(bool results) {
    std::vector<std::vector<uint8_t>> all;
    for (int i = 0; i < 2; ++i) {
        const VkBuffer wanted = slots_.slots[results && case_.out_of_place ? kOutputSlots[i] : kInputSlots[i]].buffer;
        const auto buffer = std::find_if(buffers_.begin(), buffers_.end(),
                                         [wanted](const rope::Buffer& one) { return one.handle() == wanted; });
        const uint64_t row = plan_.bytes[kInputSlots[i]] / allTokens(case_);
        for (const uint32_t token : tokensToVerify(allTokens(case_)))
            all.push_back(bench_->read(*buffer, token * row, row));
    }
    return all;
}

// Returns the CPU's bits of one token, in place of those that turn in `around`. The CPU computes cos and sin, whatever
// the case reads.
std::vector<uint8_t> RotationBench::expected(int tensor, uint32_t token, const std::vector<uint8_t>& before,
                                             const std::vector<uint8_t>& around) const {
    RopeRotateDescription one = described_.description;
    one.tokens = one.batch = 1;
    one.positions = {};
    one.rotation.source = ROPE_SOURCE_INLINE;
    one.out_of_place = 0;
    one.rotation.rows = {};
    if (tensor != 0) one.q = one.k;
    one.k.heads = 0;
    int32_t positions[ROPE_MAX_AXES] = {};
    for (uint32_t axis = 0; axis < case_.model->axes; ++axis) positions[axis] = tokenPosition(case_, axis, token);
    std::vector<uint8_t> wanted = around;
    RopeHostRotate host = {};
    host.positions = positions;
    host.q = before.data();
    host.q_out = wanted.data();
    RopeReason reason;
    if (ropeHostRunRotate(&one, &host, &reason) != ROPE_SUCCESS) throw std::runtime_error(reason.text);
    return wanted;
}

// Accepts the same bits where they are promised, and elsewhere a few ulps of values of at most 1.5.
bool RotationBench::isRight(const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted) const {
    if (got == wanted || ropeGetRounding(bench_->device().context()) == ROPE_ROUNDING_NEAREST) return got == wanted;
    const double ulp = std::ldexp(1.0, -rope::formatOf(case_.element).mantissa_bits);
    const size_t count = got.size() / ropeElementBytes(case_.element);
    std::vector<float> values[2] = {std::vector<float>(count), std::vector<float>(count)};
    ropeConvertElements(got.data(), case_.element, values[0].data(), ROPE_ELEMENT_F32, count);
    ropeConvertElements(wanted.data(), case_.element, values[1].data(), ROPE_ELEMENT_F32, count);
    for (size_t i = 0; i < count; ++i) {
        if (!(std::fabs(values[0][i] - values[1][i]) <= 4 * ulp)) return false;
    }
    return true;
}

RopePlan RotationBench::planOf(const RopeTuning& tuning) const {
    RopeRotateDescription d = described_.description;
    d.tuning = tuning;
    RopePlan plan;
    mustPlan(ropePlanRotate(&d, &bench_->limits(), &plan), plan);
    return plan;
}

RopePlan RotationBench::unscaledPlan() const {
    RopeRotateDescription d = described_.description;
    d.rotation.frequencies.scale = 1;
    RopePlan plan;
    mustPlan(ropePlanRotate(&d, &bench_->limits(), &plan), plan);
    return plan;
}

void RotationBench::verify(const RopePlan& plan) {
    const std::vector<std::vector<uint8_t>> before = readTokens(false), around = readTokens(true);
    bench_->run(plan, slots_);
    const std::vector<std::vector<uint8_t>> after = readTokens(true);
    const std::vector<uint32_t> tokens = tokensToVerify(allTokens(case_));
    for (size_t i = 0; i < after.size(); ++i) {
        const int tensor = i < tokens.size() ? 0 : 1;
        const uint32_t token = tokens[i % tokens.size()];
        if (!isRight(after[i], expected(tensor, token, before[i], around[i])))
            throw WrongResult(std::string(tensor == 0 ? "Q" : "K") + " of token " + std::to_string(token) +
                              " is not what the CPU makes of it");
    }
}

// Returns how often a tensor can be turned in place. With a scale the numbers grow or die away, float16 first.
uint32_t RotationBench::mostUses() const {
    if (case_.out_of_place) return kAnyUses;
    const double each = std::fabs(std::log(case_.model->scale));
    const double room = std::log(case_.element == ROPE_ELEMENT_F16 ? 1e3 : 1e30);
    return static_cast<uint32_t>(std::min<double>(kUsesInPlace, each > 0 ? std::max(room / each, 1.0) : kUsesInPlace));
}

// Makes copies of the tensors in these slots. Cos and sin, positions and frequencies are shared by all copies, as they
// are by the layers of a model.
BufferCopies* RotationBench::copiesOf(const RopeBuffers& slots, uint32_t most_uses) {
    std::vector<const rope::Buffer*> tensors;
    for (const RopeSlot slot : {ROPE_SLOT_Q, ROPE_SLOT_K, ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT}) {
        for (const rope::Buffer& buffer : buffers_) {
            if (buffer.handle() == slots.slots[slot].buffer) tensors.push_back(&buffer);
        }
    }
    return &copies_.emplace_back(bench_, tensors, most_uses);
}

Work RotationBench::work(const RopePlan& plan) {
    if (tensors_ == nullptr) tensors_ = copiesOf(slots_, mostUses());
    return tensors_->work({plan}, {slots_});
}

void RotationBench::addCopies(std::vector<Contestant>* contestants) {
    const uint64_t bytes = tensorBytes(case_);
    RopeBuffers slots = {};
    keep(ROPE_SLOT_Q, bench_->makeNoise(bytes, case_.element), &slots);
    keep(ROPE_SLOT_Q_OUT, bench_->make(bytes), &slots);
    BufferCopies* copies = copiesOf(slots, kAnyUses);
    measure::addCopies(copies, slots, bytes, 1, bench_->limits(), contestants);
}

// Adds a plainer case that this one should not be slower than, or not by much. It is left out if it does not fit beside
// this one.
void RotationBench::addCompanion(const std::string& name, const RotationCase& c, std::vector<Contestant>* contestants) {
    try {
        companions_.push_back(std::make_unique<RotationBench>(bench_, c));
    } catch (const DoesNotFit&) {
        return;
    }
    contestants->push_back({name, companions_.back()->work(companions_.back()->plan())});
}

const std::vector<std::string>& RotationBench::companionNames() {
    static const std::vector<std::string> all = {"float32", "table"};
    return all;
}

Contestant RotationBench::empty() { return {kEmptyDispatch, untouching(work(emptyPlan(plan_)))}; }

std::vector<Contestant> RotationBench::contestants() {
    const RopePlan own = planOf({}); // baselines stay the same, whatever the tuning
    std::vector<Contestant> all = {{"rotation", work(plan_)}};
    addCopies(&all); // no kernel writes into their source, and the contents of their outputs do not matter
    if (!case_.out_of_place) {
        RopeBuffers others = slots_;
        makeTensors(&others);
        BufferCopies* copies = copiesOf(others, kUsesInPlace);
        all.push_back({"negate", copies->work({negatePlan(own)}, {others})});
        if (case_.model->scale != 1) all.push_back({"unscaled", copies->work({unscaledPlan()}, {others})});
    }
    if (tensors_->fitsCache()) all.push_back({kWarm, tensors_->workOnOneSet({plan_}, {slots_})});
    RotationCase other = case_;
    other.element = ROPE_ELEMENT_F32;
    if (case_.element != other.element) addCompanion(companionNames()[0], other, &all);
    other = case_;
    other.source = ROPE_SOURCE_TABLE;
    if (case_.source == ROPE_SOURCE_INLINE) addCompanion(companionNames()[1], other, &all);
    all.push_back(empty());
    return all;
}

} // namespace measure
