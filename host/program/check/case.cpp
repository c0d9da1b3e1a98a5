// Makes one case of `vkrope check`, carries it out on the device and on the CPU, and compares the two.
#include "program/check/case.hpp"

#include "plan/element_formats.h"
#include "plan/pairing.h"
#include "program/elements.hpp"

#include <cmath>
#include <cstring>

namespace tool {
namespace {

// ---- The inputs --------------------------------------------------------------------------------------------------

struct Lcg {
    uint64_t state;
    uint32_t next() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<uint32_t>(state >> 33);
    }
};

std::vector<double> caseFrequencies(const RopeFrequencies& f) {
    std::vector<double> values;
    for (uint32_t set = 0; set < (f.sets > 1 ? f.sets : 1); ++set) {
        RopeRule rule = {};
        rule.rotary_dim = 2 * f.count;
        rule.base = 10000 * (set + 1);
        std::vector<double> one(f.count);
        double scale = 1;
        ropeMakeFrequencies(&rule, one.data(), &scale, nullptr);
        values.insert(values.end(), one.begin(), one.end());
    }
    if (f.count > 1) values[1] = -values[1]; // this pair rotates the other way
    return values;
}

int32_t drawPosition(bool near_table, Lcg* random) {
    constexpr int32_t kFar[] = {INT32_MIN, INT32_MAX, -1, 0, 1, 131072, -2000000000};
    const uint32_t drawn = random->next();
    if (near_table) return static_cast<int32_t>(drawn % 18) - 6;
    if (drawn % 3 == 0) return kFar[drawn / 3 % 7];
    return static_cast<int32_t>(drawn % 3 == 1 ? drawn % 40000 : drawn * 2u);
}

// Stores a position of any element. Now and then the value is one that neither int32 nor Q32.32 holds.
void storePosition(int32_t position, RopePositionElement element, Lcg* random, uint8_t* to) {
    const uint32_t drawn = random->next();
    const float number = drawn % 16 == 0 ? 3e9f : static_cast<float>(position) + static_cast<float>(drawn) * 0x1p-31f;
    int64_t wide = position;
    if (element == ROPE_POSITION_FIXED64) wide = ROPE_WHOLE_POSITION(position) + drawn;
    if (element == ROPE_POSITION_INT64 && drawn % 16 == 0) wide -= int64_t{1} << 33;
    if (element == ROPE_POSITION_FLOAT32)
        std::memcpy(to, &number, sizeof number);
    else if (ropePositionBytes(element) == 4)
        std::memcpy(to, &position, sizeof position);
    else
        std::memcpy(to, &wide, sizeof wide);
}

uint32_t countAxes(const RopeFrequencies& f) {
    uint32_t last = 0;
    for (uint32_t i = 0; f.axes != nullptr && i < f.count; ++i) last = f.axes[i] > last ? f.axes[i] : last;
    return last + 1;
}

// Returns rows of positions, one after the other. If there are several sets, a last row names the set of each token.
std::vector<uint8_t> drawPositions(const RopeFrequencies& f, const RopePositions& p, uint32_t batch, uint32_t tokens,
                                   bool near_table, Lcg* random) {
    const bool packed = p.kind >= ROPE_POSITIONS_PACKED, named = f.sets > 1;
    const uint32_t bytes = ropePositionBytes(p.element);
    const size_t rows = packed ? 1 + static_cast<uint32_t>(p.kind - ROPE_POSITIONS_PACKED) : countAxes(f);
    const size_t length = packed ? p.sequences + 1 : size_t{p.same_for_all_sequences != 0 ? 1 : batch} * tokens;
    const size_t row = !packed && p.kind == ROPE_POSITIONS_START_PER_SEQUENCE ? batch : length;
    const size_t first = static_cast<size_t>(p.offset);
    std::vector<uint8_t> all((first + (rows + named) * row) * bytes);
    for (size_t i = 0; i < all.size() / bytes; ++i)
        storePosition(drawPosition(near_table, random), p.element, random, &all[i * bytes]);
    uint64_t end = 0; // lengths and sets are written with their low words first in each element
    for (size_t i = 0; packed && i < row; ++i) {
        std::memcpy(&all[(first + i) * bytes], &end, bytes);
        end = end + random->next() % tokens;
        if (end > tokens) end = tokens;
    }
    for (size_t i = 0; named && i < row; ++i) {
        const uint64_t set = random->next() % (f.sets + 1); // the last of these sets does not exist
        std::memcpy(&all[(first + rows * row + i) * bytes], &set, bytes);
    }
    return all;
}

std::vector<uint8_t> drawElements(size_t bytes, RopeElement element, Lcg* random) {
    const size_t count = bytes / ropeElementBytes(element);
    std::vector<float> values(count);
    for (float& value : values)
        value = static_cast<float>(static_cast<int32_t>(random->next() % 16777216) - 8388608) / 4194304.0f; // -2 to 2
    std::vector<uint8_t> result(bytes);
    ropeConvertElements(values.data(), ROPE_ELEMENT_F32, result.data(), element, count);
    return result;
}

// ---- Tables --------------------------------------------------------------------------------------------------------

// The promise for smaller values is one of absolute error, no finer than the ulp of this magnitude.
constexpr double kSmallestMagnitude = 1.0 / (1 << 30);

} // namespace

bool checkTableCase(CheckDevice* device, const TableCase& given, uint64_t seed, CaseErrors* errors, Failure* failure) {
    RopeTableDescription d = given.description;
    const std::vector<double> frequencies = caseFrequencies(d.frequencies);
    d.frequencies.values = frequencies.data();
    Lcg random = {seed};
    const std::vector<uint8_t> positions = drawPositions(d.frequencies, d.positions, d.batch, d.tokens, false, &random);
    RopePlan plan;
    if (ropePlanTable(&d, &device->opened.limits(), &plan) != ROPE_SUCCESS)
        return fail(failure, given.name + ": " + plan.reason.text);
    const size_t count = static_cast<size_t>(plan.bytes[ROPE_SLOT_ROWS] / sizeof(float));
    std::vector<float> expected(count, -7.0f); // the values in gaps must stay
    std::vector<double> truth(count, -7.0);
    SlotBytes slots;
    slots.set(ROPE_SLOT_POSITIONS, positions);
    slots.set(ROPE_SLOT_ROWS, expected);
    slots.bytes[ROPE_SLOT_FREQUENCIES].resize(frequencies.size() * ropeFrequencyBytes(1));
    ropeWriteFrequencies(&d.frequencies, d.angle, slots.bytes[ROPE_SLOT_FREQUENCIES].data(), nullptr);
    const RopeHostTable data = {positions.data(), truth.data(), expected.data()};
    RopeReason reason;
    if (ropeHostRunTable(&d, &data, &reason) != ROPE_SUCCESS) return fail(failure, given.name + ": " + reason.text);
    if (!runPlans(&device->opened, {plan}, {ROPE_SLOT_ROWS}, &slots, failure, &device->buffers)) return false;
    for (size_t i = 0; i < count; ++i) {
        float value;
        std::memcpy(&value, &slots.bytes[ROPE_SLOT_ROWS][i * sizeof value], sizeof value);
        errors->unequal += std::memcmp(&value, &expected[i], sizeof value) != 0;
        const double ulp = ulpOf(std::fmax(std::fabs(truth[i]), kSmallestMagnitude), ROPE_ELEMENT_F32);
        const double error = std::fabs(value - truth[i]) / ulp;
        errors->error = std::fmax(errors->error, std::isnan(error) ? INFINITY : error);
    }
    errors->allowed = 0.51;
    return true;
}

namespace {

// ---- Rotations -----------------------------------------------------------------------------------------------------

// A float32 rotation errs by at most 0.72 ulp of the pair's length from the roundings of cos and sin, 0.75 from the two
// products and 0.5 from the sum, 1.97 in all. With a scale the sum is 1.54: the roundings of cos and sin cost 1.03, the
// products next to nothing. A 16-bit element adds its own half ulp. A device that rounds otherwise than to nearest is
// allowed twice as much.
double allowedError(const RopeRotateDescription& d, bool nearest) {
    const double in_float = 2.0 * (nearest ? 1 : 2);
    if (d.element_out == ROPE_ELEMENT_F32) return in_float;
    return (nearest ? 0.5 : 1) + std::ldexp(in_float, rope::formatOf(d.element_out).mantissa_bits - 23);
}

struct CaseInputs {
    std::vector<double> frequencies;
    SlotBytes slots;
};

// Makes the rows that the case reads: the CPU computes them in float32 and rounds them to their element.
bool makeCaseRows(const RopeRotateDescription& d, uint64_t bytes, CaseInputs* inputs, Failure* failure) {
    RopeTableDescription table = {};
    table.frequencies = d.rotation.frequencies;
    table.angle = d.rotation.angle;
    table.rows = d.rotation.rows;
    table.rows.element = ROPE_ELEMENT_DEFAULT;
    table.batch = d.batch;
    table.tokens = d.tokens;
    table.positions = d.positions;
    const size_t count = static_cast<size_t>(bytes / ropeElementBytes(d.rotation.rows.element));
    std::vector<float> values(
        count + size_t{2} * d.rotation.frequencies.count); // a table's last row may reach beyond what is read
    const RopeHostTable data = {inputs->slots.bytes[ROPE_SLOT_POSITIONS].data(), nullptr, values.data()};
    RopeReason reason;
    const bool by_position = d.rotation.source == ROPE_SOURCE_TABLE;
    for (uint32_t set = 0; set < (by_position && d.rotation.frequencies.sets > 1 ? d.rotation.frequencies.sets : 1);
         ++set) {
        if (by_position) {
            table.batch = 1;
            table.tokens = d.rotation.rows.count;
            table.positions = {};
            table.positions.kind = ROPE_POSITIONS_COUNTED;
            table.positions.first = d.rotation.rows.first_position;
            table.frequencies.sets = 1;
            table.frequencies.values = d.rotation.frequencies.values + size_t{set} * d.rotation.frequencies.count;
            table.rows.offset =
                d.rotation.rows.offset + uint64_t{set} * d.rotation.rows.count * d.rotation.rows.row_stride;
        }
        if (ropeHostRunTable(&table, &data, &reason) != ROPE_SUCCESS) return fail(failure, reason.text);
    }
    std::vector<uint8_t>& rows = inputs->slots.bytes[ROPE_SLOT_ROWS];
    rows.resize(static_cast<size_t>(bytes));
    ropeConvertElements(values.data(), ROPE_ELEMENT_F32, rows.data(), d.rotation.rows.element, count);
    return true;
}

bool makeCaseInputs(const RopePlan& plan, uint64_t seed, RopeRotateDescription* d, CaseInputs* inputs,
                    Failure* failure) {
    Lcg random = {seed};
    inputs->frequencies = caseFrequencies(d->rotation.frequencies);
    d->rotation.frequencies.values = inputs->frequencies.data();
    SlotBytes& slots = inputs->slots;
    slots.bytes[ROPE_SLOT_POSITIONS] = drawPositions(d->rotation.frequencies, d->positions, d->batch, d->tokens,
                                                     d->rotation.source == ROPE_SOURCE_TABLE, &random);
    slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000});
    slots.bytes[ROPE_SLOT_FREQUENCIES].resize(inputs->frequencies.size() * ropeFrequencyBytes(1));
    ropeWriteFrequencies(&d->rotation.frequencies, d->rotation.angle, slots.bytes[ROPE_SLOT_FREQUENCIES].data(),
                         nullptr);
    for (const RopeSlot slot : {ROPE_SLOT_Q, ROPE_SLOT_K})
        slots.bytes[slot] = drawElements(static_cast<size_t>(plan.bytes[slot]), d->element, &random);
    for (const RopeSlot slot : {ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT})
        slots.bytes[slot].assign(static_cast<size_t>(plan.bytes[slot]), 0xA5);
    return d->rotation.source == ROPE_SOURCE_INLINE || makeCaseRows(*d, plan.bytes[ROPE_SLOT_ROWS], inputs, failure);
}

double worstError(const RopeRotateDescription& d, const RopeTensor& tensor, const std::vector<double>& truth,
                  const std::vector<uint8_t>& bytes) {
    const uint32_t pairs = d.rotation.rotary_dim / 2;
    const uint32_t chunk = d.rotation.chunk_dim != 0 ? d.rotation.chunk_dim : d.rotation.rotary_dim;
    const uint32_t half = rope::liesInChunks(d.rotation.pairing_out) ? chunk / 2 : 1;
    std::vector<float> values(truth.size());
    ropeConvertElements(bytes.data(), d.element_out, values.data(), ROPE_ELEMENT_F32, values.size());
    double worst = 0;
    for (uint64_t i = 0; i < uint64_t{d.batch} * d.tokens * tensor.heads * pairs; ++i) {
        const uint64_t pair = i % pairs, head = i / pairs % tensor.heads;
        const uint64_t token = i / pairs / tensor.heads % d.tokens, batch = i / pairs / tensor.heads / d.tokens;
        const RopeLayout& to = tensor.to;
        const uint64_t base = to.offset + batch * to.batch_stride + token * to.token_stride + head * to.head_stride +
                              d.rotation.rotary_begin;
        const uint64_t x = base + pair / half * 2 * half + pair % half, y = x + half;
        const double ulp = ulpOf(std::hypot(truth[x], truth[y]), d.element_out);
        const double error = std::fmax(std::fabs(values[x] - truth[x]), std::fabs(values[y] - truth[y])) / ulp;
        const bool lost = std::isnan(values[x]) || std::isnan(values[y]);
        worst = std::fmax(worst, lost ? INFINITY : error);
    }
    return worst;
}

// Runs the case on the CPU. If rows are in 16 bits, the truth is taken from those rows.
bool runOnCpu(RopeRotateDescription d, const SlotBytes& before, const RopePlan& plan, SlotBytes* expected,
              std::vector<double> truth[2], Failure* failure) {
    const RopeSlot q_out = d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q;
    const RopeSlot k_out = d.out_of_place != 0 ? ROPE_SLOT_K_OUT : ROPE_SLOT_K;
    *expected = before;
    truth[0].resize(static_cast<size_t>(plan.bytes[q_out] / ropeElementBytes(d.element_out)));
    truth[1].resize(static_cast<size_t>(plan.bytes[k_out] / ropeElementBytes(d.element_out)));
    RopeHostRotate data = {};
    data.positions = before.bytes[ROPE_SLOT_POSITIONS].data();
    data.rows = d.rotation.source == ROPE_SOURCE_INLINE ? nullptr : before.bytes[ROPE_SLOT_ROWS].data();
    data.q = before.bytes[ROPE_SLOT_Q].data();
    data.k = before.bytes[ROPE_SLOT_K].data();
    data.reference_q = truth[0].data();
    data.reference_k = truth[1].data();
    data.q_out = expected->bytes[q_out].data();
    data.k_out = expected->bytes[k_out].data();
    if (d.rotation.source != ROPE_SOURCE_INLINE && d.rotation.rows.element != ROPE_ELEMENT_F32)
        d.rotation.frequencies.values = nullptr;
    RopeReason reason;
    if (ropeHostRunRotate(&d, &data, &reason) != ROPE_SUCCESS) return fail(failure, reason.text);
    if (plan.bytes[ROPE_SLOT_COUNTER] != 0)
        expected->set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000 + data.outside});
    return true;
}

} // namespace

bool checkRotationCase(CheckDevice* device, const RotateCase& given, uint64_t seed, CaseErrors* errors,
                       Failure* failure) {
    RopeRotateDescription d = given.description;
    RopePlan plan;
    const std::vector<double> frequencies = caseFrequencies(d.rotation.frequencies);
    d.rotation.frequencies.values = frequencies.data();
    const RopeLimits& limits = device->opened.limits();
    if (ropePlanRotate(&d, &limits, &plan) != ROPE_SUCCESS) return fail(failure, given.name + ": " + plan.reason.text);
    CaseInputs inputs;
    SlotBytes expected;
    std::vector<double> truth[2];
    if (!makeCaseInputs(plan, seed, &d, &inputs, failure) ||
        !runOnCpu(d, inputs.slots, plan, &expected, truth, failure))
        return false;
    const RopeSlot q = d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q;
    const RopeSlot k = d.out_of_place != 0 ? ROPE_SLOT_K_OUT : ROPE_SLOT_K;
    SlotBytes& slots = inputs.slots;
    if (!runPlans(&device->opened, {plan}, {q, k, ROPE_SLOT_COUNTER}, &slots, failure, &device->buffers)) return false;
    const size_t bytes = ropeElementBytes(d.element_out);
    for (const RopeSlot slot : {q, k}) {
        for (size_t at = 0; at + bytes <= expected.bytes[slot].size(); at += bytes)
            errors->unequal += std::memcmp(&slots.bytes[slot][at], &expected.bytes[slot][at], bytes) != 0;
    }
    errors->unequal += slots.bytes[ROPE_SLOT_COUNTER] != expected.bytes[ROPE_SLOT_COUNTER];
    errors->error = worstError(d, d.q, truth[0], slots.bytes[q]);
    if (d.k.heads != 0) errors->error = std::fmax(errors->error, worstError(d, d.k, truth[1], slots.bytes[k]));
    errors->allowed = allowedError(d, device->nearest);
    return true;
}

} // namespace tool
