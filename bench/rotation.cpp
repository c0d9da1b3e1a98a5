#include "rotation.hpp"

#include "baselines.hpp"

#include <algorithm>
#include <cmath>

namespace measure {
namespace {

constexpr int32_t kFirst = 1000; // at position 0 nothing turns, and wrong results would look right

// The height and the width of an image's patches; text has one axis.
int32_t positionOf(const Case& c, uint32_t axis, uint32_t token) {
    if (c.model->axes == 1) return kFirst + static_cast<int32_t>(token);
    const auto side = static_cast<uint32_t>(std::ceil(std::sqrt(c.tokens)));
    return kFirst + static_cast<int32_t>(axis == 0 ? token / side : token % side);
}

// Cheap at any length: the first, the last and some between them.
std::vector<uint32_t> verifiedTokens(uint32_t tokens) {
    std::vector<uint32_t> all = {0, 1, tokens / 3, tokens / 2 + 1, tokens - 2, tokens - 1};
    all.erase(std::remove_if(all.begin(), all.end(), [tokens](uint32_t token) { return token >= tokens; }), all.end());
    return all;
}

constexpr RopeSlot kIn[] = {ROPE_SLOT_Q, ROPE_SLOT_K}, kOut[] = {ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT};

uint32_t headsOf(const Model& model, int tensor) { return tensor == 0 ? model.q_heads : model.k_heads; }

const char kCopy[] = "copy_";

} // namespace

Described::Described(const Case& c) : frequencies_(frequenciesOf(*c.model)), axes_(axesOf(*c.model)) {
    RopeRotateDescription& d = description;
    d.tokens = c.tokens;
    d.head_dim = c.model->head_dim;
    d.q.heads = c.model->q_heads;
    d.k.heads = c.model->k_heads;
    d.pairing_in = d.pairing_out = c.pairing;
    d.source = c.source;
    d.element_in = d.element_out = c.element;
    d.out_of_place = c.out_of_place;
    if (c.source == ROPE_SOURCE_TABLE) {
        d.rows.count = c.tokens;
        d.rows.first_position = kFirst;
    }
    d.frequencies.values = frequencies_.data();
    d.frequencies.count = static_cast<uint32_t>(frequencies_.size());
    d.frequencies.scale = c.model->scale;
    d.frequencies.axes = axes_.empty() ? nullptr : axes_.data();
}

const rope::Buffer& Rotation::keep(RopeSlot slot, rope::Buffer buffer, RopeBuffers* slots) {
    buffers_.push_back(std::move(buffer));
    slots->slots[slot] = buffers_.back().slot();
    return buffers_.back();
}

void Rotation::makeTensors(RopeBuffers* slots) {
    for (int i = 0; i < 2; ++i) {
        keep(kIn[i], bench_->makeNoise(plan_.bytes[kIn[i]], case_.element), slots);
        if (case_.out_of_place) keep(kOut[i], bench_->make(plan_.bytes[kOut[i]]), slots);
    }
}

// By position for a table, else one for each token.
void Rotation::makeRows() {
    RopeTableDescription table = {};
    table.frequencies = described_.description.frequencies;
    table.tokens = case_.tokens;
    if (case_.source == ROPE_SOURCE_TABLE) {
        table.frequencies.axes = nullptr;
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        table.positions.first = kFirst;
    }
    RopePlan plan;
    mustPlan(ropePlanTable(&table, &bench_->limits(), &plan), plan);
    keep(ROPE_SLOT_ROWS, bench_->make(plan.bytes[ROPE_SLOT_ROWS]), &slots_);
    bench_->run(plan, slots_);
}

Rotation::Rotation(Bench* bench, const Case& c) : bench_(bench), case_(c), described_(c) {
    bench_->mustFit(tensorBytes(c) * (c.out_of_place ? 4 : 2));
    plan_ = planOf(c.tuning);
    std::vector<int32_t> positions(c.model->axes * size_t{c.tokens});
    for (size_t i = 0; i < positions.size(); ++i)
        positions[i] = positionOf(c, static_cast<uint32_t>(i / c.tokens), static_cast<uint32_t>(i % c.tokens));
    keep(ROPE_SLOT_POSITIONS, bench_->make(positions.data(), positions.size() * sizeof positions[0]), &slots_);
    keep(ROPE_SLOT_FREQUENCIES, bench_->makeFrequencies(described_.description.frequencies), &slots_);
    if (c.source != ROPE_SOURCE_INLINE) makeRows();
    makeTensors(&slots_);
    verify(plan_);
}

// Each of Q's verified tokens, then each of K's.
std::vector<std::vector<uint8_t>> Rotation::readTokens(bool results) {
    std::vector<std::vector<uint8_t>> all;
    for (int i = 0; i < 2; ++i) {
        const VkBuffer wanted = slots_.slots[results && case_.out_of_place ? kOut[i] : kIn[i]].buffer;
        const auto buffer = std::find_if(buffers_.begin(), buffers_.end(),
                                         [wanted](const rope::Buffer& one) { return one.handle() == wanted; });
        const uint64_t row = plan_.bytes[kIn[i]] / case_.tokens;
        for (const uint32_t token : verifiedTokens(case_.tokens))
            all.push_back(bench_->read(*buffer, token * row, row));
    }
    return all;
}

// The CPU's bits of one token, its cos and sin computed, whatever the case reads.
std::vector<uint8_t> Rotation::expected(int tensor, uint32_t token, const std::vector<uint8_t>& before) const {
    RopeRotateDescription one = described_.description;
    one.tokens = 1;
    one.source = ROPE_SOURCE_INLINE;
    one.out_of_place = 0;
    one.rows = {};
    one.q.heads = headsOf(*case_.model, tensor);
    one.k.heads = 0;
    int32_t positions[ROPE_MAX_AXES] = {};
    for (uint32_t axis = 0; axis < case_.model->axes; ++axis) positions[axis] = positionOf(case_, axis, token);
    std::vector<uint8_t> wanted(before.size());
    RopeHostRotate host = {};
    host.positions = positions;
    host.q = before.data();
    host.q_out = wanted.data();
    RopeReason reason;
    if (ropeHostRunRotate(&one, &host, &reason) != ROPE_SUCCESS) throw std::runtime_error(reason.text);
    return wanted;
}

// The same bits where they are promised; elsewhere a few ulps of what is at most 1.5.
bool Rotation::isRight(const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted) const {
    if (got == wanted || ropeGetRounding(bench_->device().context()) == ROPE_ROUNDING_NEAREST) return got == wanted;
    const double ulp = case_.element == ROPE_ELEMENT_F32   ? 0x1p-23
                       : case_.element == ROPE_ELEMENT_F16 ? 0x1p-10
                                                           : 0x1p-7;
    const size_t count = got.size() / ropeElementBytes(case_.element);
    std::vector<float> values[2] = {std::vector<float>(count), std::vector<float>(count)};
    ropeConvertElements(got.data(), case_.element, values[0].data(), ROPE_ELEMENT_F32, count);
    ropeConvertElements(wanted.data(), case_.element, values[1].data(), ROPE_ELEMENT_F32, count);
    for (size_t i = 0; i < count; ++i) {
        if (!(std::fabs(values[0][i] - values[1][i]) <= 4 * ulp)) return false;
    }
    return true;
}

RopePlan Rotation::planOf(const RopeTuning& tuning) const {
    RopeRotateDescription d = described_.description;
    d.tuning = tuning;
    RopePlan plan;
    mustPlan(ropePlanRotate(&d, &bench_->limits(), &plan), plan);
    return plan;
}

RopePlan Rotation::unscaledPlan() const {
    RopeRotateDescription d = described_.description;
    d.frequencies.scale = 1;
    RopePlan plan;
    mustPlan(ropePlanRotate(&d, &bench_->limits(), &plan), plan);
    return plan;
}

void Rotation::verify(const RopePlan& plan) {
    const std::vector<std::vector<uint8_t>> before = readTokens(false);
    bench_->run(plan, slots_);
    const std::vector<std::vector<uint8_t>> after = readTokens(true);
    const std::vector<uint32_t> tokens = verifiedTokens(case_.tokens);
    for (size_t i = 0; i < after.size(); ++i) {
        const int tensor = i < tokens.size() ? 0 : 1;
        const uint32_t token = tokens[i % tokens.size()];
        if (!isRight(after[i], expected(tensor, token, before[i])))
            throw Wrong(std::string(tensor == 0 ? "Q" : "K") + " of token " + std::to_string(token) +
                        " is not what the CPU makes of it");
    }
}

Contestant Rotation::rival(const std::string& name, const RopePlan& plan, const RopeBuffers& slots) {
    return {name, [bench = bench_, plan, slots] { return bench->run(plan, slots); }};
}

void Rotation::addCopies(std::vector<Contestant>* contestants) {
    const uint64_t bytes = tensorBytes(case_);
    RopeBuffers slots = {};
    const rope::Buffer& from = keep(ROPE_SLOT_Q, bench_->makeNoise(bytes, case_.element), &slots);
    const rope::Buffer& to = keep(ROPE_SLOT_Q_OUT, bench_->make(bytes), &slots);
    for (const uint32_t vectors : {1u, 2u, 4u, 8u})
        contestants->push_back(
            rival(kCopy + std::to_string(vectors), copyPlan(bytes, vectors, bench_->limits()), slots));
    contestants->push_back(
        {"CopyBuffer", [bench = bench_, &from, &to, bytes] { return bench->copy(from, to, bytes); }});
}

// Another case that this one is to be no slower than, or not by much; left out where it does not fit beside it.
void Rotation::addBeside(const std::string& name, const Case& c, std::vector<Contestant>* contestants) {
    try {
        beside_.push_back(std::make_unique<Rotation>(bench_, c));
    } catch (const Unfit&) {
        return;
    }
    contestants->push_back(rival(name, beside_.back()->plan(), beside_.back()->slots()));
}

const std::vector<std::string>& Rotation::plainer() {
    static const std::vector<std::string> all = {"float32", "table"};
    return all;
}

bool Rotation::isCopyKernel(const std::string& name) { return name.compare(0, sizeof kCopy - 1, kCopy) == 0; }

Contestant Rotation::empty() { return rival(kEmpty, emptyPlan(plan_), slots_); }

std::vector<Contestant> Rotation::contestants() {
    const RopePlan own = planOf({}); // rivals stay the same, whatever the tuning
    std::vector<Contestant> all = {rival("rotation", plan_, slots_)};
    RopeBuffers others = slots_;
    if (case_.out_of_place) {
        // No kernel leaves anything in the sources, nor does it matter what is in the outputs.
        addCopies(&all);
    } else {
        makeTensors(&others);
        all.push_back(rival("negate", negatePlan(own, false), others));
        if (case_.model->scale != 1) all.push_back(rival("unscaled", unscaledPlan(), others));
    }
    all.push_back(rival("loads", negatePlan(own, true), others));
    Case other = case_;
    other.element = ROPE_ELEMENT_F32;
    if (case_.element != other.element) addBeside(plainer()[0], other, &all);
    other = case_;
    other.source = ROPE_SOURCE_TABLE;
    if (case_.source == ROPE_SOURCE_INLINE) addBeside(plainer()[1], other, &all);
    all.push_back(empty());
    return all;
}

} // namespace measure
