// One case of `vkrope check`: made, carried out on the device and on the CPU, and compared.
#include "tool/check_case.hpp"
#include "tool/element.hpp"

#include <cmath>
#include <cstring>

namespace tool {
namespace {

// ---- What goes in ------------------------------------------------------------------------------------------------

struct Random {
    uint64_t state;
    uint32_t next() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<uint32_t>(state >> 33);
    }
};

std::vector<double> frequenciesOf(const RopeFrequencies& f) {
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
    if (f.count > 1) values[1] = -values[1]; // turns the other way
    return values;
}

int32_t positionOf(bool near_table, Random* random) {
    constexpr int32_t kFar[] = {INT32_MIN, INT32_MAX, -1, 0, 1, 131072, -2000000000};
    const uint32_t drawn = random->next();
    if (near_table) return static_cast<int32_t>(drawn % 18) - 6;
    if (drawn % 3 == 0) return kFar[drawn / 3 % 7];
    return static_cast<int32_t>(drawn % 3 == 1 ? drawn % 40000 : drawn * 2u);
}

// One of any element; now and then none that int32 or Q32.32 holds.
void putPosition(int32_t position, RopePositionElement element, Random* random, uint8_t* to) {
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

uint32_t axesOf(const RopeFrequencies& f) {
    uint32_t last = 0;
    for (uint32_t i = 0; f.axes != nullptr && i < f.count; ++i) last = f.axes[i] > last ? f.axes[i] : last;
    return last + 1;
}

// Rows of positions one after the other, then where there are several sets one that names them.
std::vector<uint8_t> positionsOf(const RopeFrequencies& f, const RopePositions& p, uint32_t batch, uint32_t tokens,
                                 bool near_table, Random* random) {
    const bool packed = p.kind >= ROPE_POSITIONS_PACKED, named = f.sets > 1;
    const uint32_t bytes = ropePositionBytes(p.element);
    const size_t rows = packed ? size_t{1} + (p.kind - ROPE_POSITIONS_PACKED) : axesOf(f);
    const size_t length = packed ? p.sequences + 1 : size_t{p.same_for_all_sequences != 0 ? 1 : batch} * tokens;
    const size_t row = !packed && p.kind == ROPE_POSITIONS_START_PER_SEQUENCE ? batch : length;
    const size_t first = static_cast<size_t>(p.offset);
    std::vector<uint8_t> all((first + (rows + named) * row) * bytes);
    for (size_t i = 0; i < all.size() / bytes; ++i)
        putPosition(positionOf(near_table, random), p.element, random, &all[i * bytes]);
    uint64_t end = 0; // lengths and sets begin with their low words in each element
    for (size_t i = 0; packed && i < row; ++i) {
        std::memcpy(&all[(first + i) * bytes], &end, bytes);
        end = end + random->next() % tokens;
        if (end > tokens) end = tokens;
    }
    for (size_t i = 0; named && i < row; ++i) {
        const uint64_t set = random->next() % (f.sets + 1); // the last there is not
        std::memcpy(&all[(first + rows * row + i) * bytes], &set, bytes);
    }
    return all;
}

std::vector<uint8_t> elementsOf(size_t bytes, RopeElement element, Random* random) {
    const size_t count = bytes / ropeElementBytes(element);
    std::vector<float> values(count);
    for (float& value : values)
        value = static_cast<float>(static_cast<int32_t>(random->next() % 16777216) - 8388608) / 4194304.0f; // -2 to 2
    std::vector<uint8_t> result(bytes);
    ropeConvertElements(values.data(), ROPE_ELEMENT_F32, result.data(), element, count);
    return result;
}

// ---- Tables --------------------------------------------------------------------------------------------------------

// Below it the promise is one of absolute error, and no finer than this.
constexpr double kSmallest = 1.0 / (1 << 30);

} // namespace

bool checkTable(Bench* bench, const TableCase& given, uint64_t seed, Found* found, Failure* failure) {
    RopeTableDescription d = given.description;
    const std::vector<double> frequencies = frequenciesOf(d.frequencies);
    d.frequencies.values = frequencies.data();
    Random random = {seed};
    const std::vector<uint8_t> positions = positionsOf(d.frequencies, d.positions, d.batch, d.tokens, false, &random);
    RopePlan plan;
    if (ropePlanTable(&d, &bench->device.limits(), &plan) != ROPE_SUCCESS)
        return fail(failure, given.name + ": " + plan.reason.text);
    const size_t count = static_cast<size_t>(plan.bytes[ROPE_SLOT_ROWS] / sizeof(float));
    std::vector<float> expected(count, -7.0f); // what is in gaps must stay
    std::vector<double> truth(count, -7.0);
    Slots slots;
    slots.set(ROPE_SLOT_POSITIONS, positions);
    slots.set(ROPE_SLOT_ROWS, expected);
    slots.bytes[ROPE_SLOT_FREQUENCIES].resize(frequencies.size() * ropeFrequencyBytes(1));
    ropeWriteFrequencies(&d.frequencies, d.angle, slots.bytes[ROPE_SLOT_FREQUENCIES].data(), nullptr);
    const RopeHostTable data = {positions.data(), truth.data(), expected.data()};
    RopeReason reason;
    if (ropeHostRunTable(&d, &data, &reason) != ROPE_SUCCESS) return fail(failure, given.name + ": " + reason.text);
    if (!runPlans(&bench->device, {plan}, {ROPE_SLOT_ROWS}, &slots, failure, &bench->buffers)) return false;
    for (size_t i = 0; i < count; ++i) {
        float value;
        std::memcpy(&value, &slots.bytes[ROPE_SLOT_ROWS][i * sizeof value], sizeof value);
        found->unequal += std::memcmp(&value, &expected[i], sizeof value) != 0;
        const double ulp = ulpOf(std::fmax(std::fabs(truth[i]), kSmallest), ROPE_ELEMENT_F32);
        const double error = std::fabs(value - truth[i]) / ulp;
        found->error = std::fmax(found->error, std::isnan(error) ? INFINITY : error);
    }
    found->allowed = 0.51;
    return true;
}

namespace {

// ---- Rotations -----------------------------------------------------------------------------------------------------

// Float32: at most 0.72 ulp of the pair's length from the roundings of cos and sin, 0.75 from the two products and 0.5
// from the sum, 1.97 in all, and with a scale 1.54: its roundings of cos and sin cost 1.03, its products next to
// nothing. A 16-bit element adds its own half ulp to that. A device that rounds otherwise than to nearest has twice as
// much.
double allowedError(const RopeRotateDescription& d, bool nearest) {
    const double in_float = 2.0 * (nearest ? 1 : 2);
    if (d.element_out == ROPE_ELEMENT_F32) return in_float;
    return (nearest ? 0.5 : 1) + std::ldexp(in_float, d.element_out == ROPE_ELEMENT_F16 ? -13 : -16);
}

struct Inputs {
    std::vector<double> frequencies;
    Slots slots;
};

// The rows that the case reads, made by the CPU in float32 and then rounded to their element.
bool makeRows(const RopeRotateDescription& d, uint64_t bytes, Inputs* inputs, Failure* failure) {
    RopeTableDescription table = {};
    table.frequencies = d.frequencies;
    table.angle = d.angle;
    table.rows = d.rows;
    table.rows.element = ROPE_ELEMENT_DEFAULT;
    table.batch = d.batch;
    table.tokens = d.tokens;
    table.positions = d.positions;
    const size_t count = static_cast<size_t>(bytes / ropeElementBytes(d.rows.element));
    std::vector<float> values(count + 2 * d.frequencies.count); // a table's last row may reach beyond what is read
    const RopeHostTable data = {inputs->slots.bytes[ROPE_SLOT_POSITIONS].data(), nullptr, values.data()};
    RopeReason reason;
    const bool by_position = d.source == ROPE_SOURCE_TABLE;
    for (uint32_t set = 0; set < (by_position && d.frequencies.sets > 1 ? d.frequencies.sets : 1); ++set) {
        if (by_position) {
            table.batch = 1;
            table.tokens = d.rows.count;
            table.positions = {};
            table.positions.kind = ROPE_POSITIONS_COUNTED;
            table.positions.first = d.rows.first_position;
            table.frequencies.sets = 1;
            table.frequencies.values = d.frequencies.values + size_t{set} * d.frequencies.count;
            table.rows.offset = d.rows.offset + uint64_t{set} * d.rows.count * d.rows.row_stride;
        }
        if (ropeHostRunTable(&table, &data, &reason) != ROPE_SUCCESS) return fail(failure, reason.text);
    }
    std::vector<uint8_t>& rows = inputs->slots.bytes[ROPE_SLOT_ROWS];
    rows.resize(static_cast<size_t>(bytes));
    ropeConvertElements(values.data(), ROPE_ELEMENT_F32, rows.data(), d.rows.element, count);
    return true;
}

bool makeInputs(const RopePlan& plan, uint64_t seed, RopeRotateDescription* d, Inputs* inputs, Failure* failure) {
    Random random = {seed};
    inputs->frequencies = frequenciesOf(d->frequencies);
    d->frequencies.values = inputs->frequencies.data();
    Slots& slots = inputs->slots;
    slots.bytes[ROPE_SLOT_POSITIONS] =
        positionsOf(d->frequencies, d->positions, d->batch, d->tokens, d->source == ROPE_SOURCE_TABLE, &random);
    slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000});
    slots.bytes[ROPE_SLOT_FREQUENCIES].resize(inputs->frequencies.size() * ropeFrequencyBytes(1));
    ropeWriteFrequencies(&d->frequencies, d->angle, slots.bytes[ROPE_SLOT_FREQUENCIES].data(), nullptr);
    for (const RopeSlot slot : {ROPE_SLOT_Q, ROPE_SLOT_K})
        slots.bytes[slot] = elementsOf(static_cast<size_t>(plan.bytes[slot]), d->element_in, &random);
    for (const RopeSlot slot : {ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT})
        slots.bytes[slot].assign(static_cast<size_t>(plan.bytes[slot]), 0xA5);
    return d->source == ROPE_SOURCE_INLINE || makeRows(*d, plan.bytes[ROPE_SLOT_ROWS], inputs, failure);
}

double errorOf(const RopeRotateDescription& d, const RopeTensor& tensor, const std::vector<double>& truth,
               const std::vector<uint8_t>& bytes) {
    const uint32_t pairs = d.rotary_dim / 2;
    const uint32_t chunk = d.chunk_dim != 0 ? d.chunk_dim : d.rotary_dim;
    const uint32_t half = d.pairing_out == ROPE_PAIRING_INTERLEAVED ? 1 : chunk / 2;
    std::vector<float> values(truth.size());
    ropeConvertElements(bytes.data(), d.element_out, values.data(), ROPE_ELEMENT_F32, values.size());
    double worst = 0;
    for (uint64_t i = 0; i < uint64_t{d.batch} * d.tokens * tensor.heads * pairs; ++i) {
        const uint64_t pair = i % pairs, head = i / pairs % tensor.heads;
        const uint64_t token = i / pairs / tensor.heads % d.tokens, batch = i / pairs / tensor.heads / d.tokens;
        const RopeLayout& to = tensor.destination;
        const uint64_t base =
            to.offset + batch * to.batch_stride + token * to.token_stride + head * to.head_stride + d.rotary_begin;
        const uint64_t x = base + pair / half * 2 * half + pair % half, y = x + half;
        const double ulp = ulpOf(std::hypot(truth[x], truth[y]), d.element_out);
        const double error = std::fmax(std::fabs(values[x] - truth[x]), std::fabs(values[y] - truth[y])) / ulp;
        const bool lost = std::isnan(values[x]) || std::isnan(values[y]);
        worst = std::fmax(worst, lost ? INFINITY : error);
    }
    return worst;
}

// The same on the CPU. The truth of rows in 16 bits is what those rows say.
bool runOnHost(RopeRotateDescription d, const Slots& before, const RopePlan& plan, Slots* expected,
               std::vector<double> truth[2], Failure* failure) {
    const RopeSlot q_out = d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q;
    const RopeSlot k_out = d.out_of_place != 0 ? ROPE_SLOT_K_OUT : ROPE_SLOT_K;
    *expected = before;
    truth[0].resize(static_cast<size_t>(plan.bytes[q_out] / ropeElementBytes(d.element_out)));
    truth[1].resize(static_cast<size_t>(plan.bytes[k_out] / ropeElementBytes(d.element_out)));
    RopeHostRotate data = {};
    data.positions = before.bytes[ROPE_SLOT_POSITIONS].data();
    data.rows = d.source == ROPE_SOURCE_INLINE ? nullptr : before.bytes[ROPE_SLOT_ROWS].data();
    data.q = before.bytes[ROPE_SLOT_Q].data();
    data.k = before.bytes[ROPE_SLOT_K].data();
    data.reference_q = truth[0].data();
    data.reference_k = truth[1].data();
    data.q_out = expected->bytes[q_out].data();
    data.k_out = expected->bytes[k_out].data();
    if (d.source != ROPE_SOURCE_INLINE && d.rows.element != ROPE_ELEMENT_F32) d.frequencies.values = nullptr;
    RopeReason reason;
    if (ropeHostRunRotate(&d, &data, &reason) != ROPE_SUCCESS) return fail(failure, reason.text);
    if (plan.bytes[ROPE_SLOT_COUNTER] != 0)
        expected->set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000 + data.outside});
    return true;
}

bool isOdd16Bit(const RopeRotateDescription& d) {
    const bool narrow = d.element_in != ROPE_ELEMENT_F32 || d.element_out != ROPE_ELEMENT_F32 ||
                        (d.source != ROPE_SOURCE_INLINE && d.rows.element != ROPE_ELEMENT_F32);
    return narrow && (d.head_dim % 2 != 0 || d.rotary_dim / 2 % 2 != 0);
}

} // namespace

bool checkRotation(Bench* bench, const RotateCase& given, uint64_t seed, Found* found, Failure* failure) {
    RopeRotateDescription d = given.description;
    RopePlan plan;
    const std::vector<double> frequencies = frequenciesOf(d.frequencies);
    d.frequencies.values = frequencies.data();
    const RopeLimits& limits = bench->device.limits();
    if (ropePlanRotate(&d, &limits, &plan) != ROPE_SUCCESS) {
        found->refused = isOdd16Bit(d) && (limits.enabled & ROPE_ENABLED_STORAGE_16) == 0;
        return found->refused || fail(failure, given.name + ": " + plan.reason.text);
    }
    Inputs inputs;
    Slots expected;
    std::vector<double> truth[2];
    if (!makeInputs(plan, seed, &d, &inputs, failure) || !runOnHost(d, inputs.slots, plan, &expected, truth, failure))
        return false;
    const RopeSlot q = d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q;
    const RopeSlot k = d.out_of_place != 0 ? ROPE_SLOT_K_OUT : ROPE_SLOT_K;
    Slots& slots = inputs.slots;
    if (!runPlans(&bench->device, {plan}, {q, k, ROPE_SLOT_COUNTER}, &slots, failure, &bench->buffers)) return false;
    const size_t bytes = ropeElementBytes(d.element_out);
    for (const RopeSlot slot : {q, k}) {
        for (size_t at = 0; at + bytes <= expected.bytes[slot].size(); at += bytes)
            found->unequal += std::memcmp(&slots.bytes[slot][at], &expected.bytes[slot][at], bytes) != 0;
    }
    found->unequal += slots.bytes[ROPE_SLOT_COUNTER] != expected.bytes[ROPE_SLOT_COUNTER];
    found->error = errorOf(d, d.q, truth[0], slots.bytes[q]);
    if (d.k.heads != 0) found->error = std::fmax(found->error, errorOf(d, d.k, truth[1], slots.bytes[k]));
    found->allowed = allowedError(d, bench->nearest);
    return true;
}

} // namespace tool
