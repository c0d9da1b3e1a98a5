// vkrope check
#include "tool.hpp"
#include "tool_device.hpp"
#include "tool_element.hpp"
#include "tool_matrix.hpp"
#include "tool_progress.hpp"

#include <CLI/CLI.hpp>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tool {
namespace {

// ---- What was found ----------------------------------------------------------------------------------------------

struct Found {
    uint64_t unequal = 0; // elements whose bits are not the CPU's
    double error = 0;     // the worst
    double allowed = 0;
    bool skipped = false; // odd 16-bit geometry on a device without 16-bit storage
};

struct Row {
    std::string what;
    uint64_t cases = 0, unequal = 0, misses = 0;
    double error = 0, allowed = 1; // of the case that came nearest to what is allowed, or went beyond it furthest

    void add(const Found& found, bool missed) {
        ++cases;
        unequal += found.unequal;
        misses += missed;
        if (found.error / found.allowed >= error / allowed) {
            error = found.error;
            allowed = found.allowed;
        }
    }
};

struct Check {
    rope::Device* device;
    bool nearest;
    std::vector<Row> rows;
    uint64_t skipped = 0, misses = 0;

    void add(size_t row, const std::string& name, bool bits_promised, const Found& found) {
        if (found.skipped) {
            ++skipped;
            return;
        }
        const bool missed = (bits_promised && found.unequal != 0) || !(found.error <= found.allowed);
        rows[row].add(found, missed);
        if (missed && ++misses <= 5) {
            std::fprintf(stderr, "vkrope check: miss: %s: %" PRIu64 " elements unequal, error %.4g\n", name.c_str(),
                         found.unequal, found.error);
        }
    }
};

// ---- What goes in ------------------------------------------------------------------------------------------------

struct Random {
    uint64_t state;
    uint32_t next() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<uint32_t>(state >> 33);
    }
};

std::vector<double> frequenciesOf(uint32_t pairs) {
    RopeRule rule = {};
    rule.rotary_dim = 2 * pairs;
    rule.base = 10000;
    std::vector<double> values(pairs);
    double scale = 1;
    ropeMakeFrequencies(&rule, values.data(), &scale, nullptr);
    if (pairs > 1) values[1] = -values[1]; // turns the other way
    return values;
}

std::vector<int32_t> positionsOf(size_t count, bool near_table, Random* random) {
    constexpr int32_t kFar[] = {INT32_MIN, INT32_MAX, -1, 0, 1, 131072, -2000000000};
    std::vector<int32_t> values(count);
    for (size_t i = 0; i < count; ++i) {
        const uint32_t drawn = random->next();
        if (near_table)
            values[i] = static_cast<int32_t>(drawn % 18) - 6;
        else if (drawn % 3 == 0)
            values[i] = kFar[drawn / 3 % 7];
        else
            values[i] = static_cast<int32_t>(drawn % 3 == 1 ? drawn % 40000 : drawn * 2u);
    }
    return values;
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

bool checkTable(Check* check, const TableCase& given, uint64_t seed, Found* found, Failure* failure) {
    RopeTableDescription d = given.description;
    const std::vector<double> frequencies = frequenciesOf(d.frequencies.count);
    d.frequencies.values = frequencies.data();
    Random random = {seed};
    const std::vector<int32_t> positions = positionsOf(size_t{d.batch} * d.tokens, false, &random);
    RopePlan plan;
    if (ropePlanTable(&d, &check->device->limits(), &plan) != ROPE_SUCCESS)
        return fail(failure, given.name + ": " + plan.reason.text);
    const size_t count = static_cast<size_t>(plan.bytes[ROPE_SLOT_ROWS] / sizeof(float));
    std::vector<float> expected(count, -7.0f); // what is in gaps must stay
    std::vector<double> truth(count, -7.0);
    Slots slots;
    slots.set(ROPE_SLOT_POSITIONS, positions);
    slots.set(ROPE_SLOT_ROWS, expected);
    slots.bytes[ROPE_SLOT_FREQUENCIES].resize(ropeFrequencyBytes(d.frequencies.count));
    ropeWriteFrequencies(&d.frequencies, d.angle, slots.bytes[ROPE_SLOT_FREQUENCIES].data(), nullptr);
    const RopeHostTable data = {positions.data(), truth.data(), expected.data()};
    RopeReason reason;
    if (ropeHostRunTable(&d, &data, &reason) != ROPE_SUCCESS) return fail(failure, given.name + ": " + reason.text);
    if (!runPlans(check->device, {plan}, {ROPE_SLOT_ROWS}, &slots, failure)) return false;
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

// ---- Rotations -----------------------------------------------------------------------------------------------------

// Float32: at most 0.72 ulp of the pair's length from the roundings of cos and sin, 0.75 from the two products and 0.5
// from the sum, 1.97 in all. A 16-bit element adds its own half ulp to that. A device that rounds otherwise than to
// nearest has twice as much.
double allowedError(const RopeRotateDescription& d, bool nearest) {
    const double in_float = nearest ? 2 : 4;
    if (d.element_out == ROPE_ELEMENT_F32) return in_float;
    return (nearest ? 0.5 : 1) + std::ldexp(in_float, d.element_out == ROPE_ELEMENT_F16 ? -13 : -16);
}

struct Inputs {
    std::vector<double> frequencies;
    std::vector<int32_t> positions;
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
    if (d.source == ROPE_SOURCE_TABLE) {
        table.batch = 1;
        table.tokens = d.rows.count;
        table.positions = {};
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        table.positions.first = d.rows.first_position;
    }
    const size_t count = static_cast<size_t>(bytes / ropeElementBytes(d.rows.element));
    std::vector<float> values(count + 2 * d.frequencies.count); // a table's last row may reach beyond what is read
    const RopeHostTable data = {inputs->positions.data(), nullptr, values.data()};
    RopeReason reason;
    if (ropeHostRunTable(&table, &data, &reason) != ROPE_SUCCESS) return fail(failure, reason.text);
    std::vector<uint8_t>& rows = inputs->slots.bytes[ROPE_SLOT_ROWS];
    rows.resize(static_cast<size_t>(bytes));
    ropeConvertElements(values.data(), ROPE_ELEMENT_F32, rows.data(), d.rows.element, count);
    return true;
}

bool makeInputs(const RopePlan& plan, uint64_t seed, RopeRotateDescription* d, Inputs* inputs, Failure* failure) {
    Random random = {seed};
    inputs->frequencies = frequenciesOf(d->frequencies.count);
    d->frequencies.values = inputs->frequencies.data();
    const size_t positions = static_cast<size_t>(d->positions.offset) + size_t{d->batch} * d->tokens;
    inputs->positions = positionsOf(positions, d->source == ROPE_SOURCE_TABLE, &random);
    Slots& slots = inputs->slots;
    slots.set(ROPE_SLOT_POSITIONS, inputs->positions);
    slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000});
    slots.bytes[ROPE_SLOT_FREQUENCIES].resize(ropeFrequencyBytes(d->frequencies.count));
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
    const bool interleaved = d.pairing_out == ROPE_PAIRING_INTERLEAVED;
    std::vector<float> values(truth.size());
    ropeConvertElements(bytes.data(), d.element_out, values.data(), ROPE_ELEMENT_F32, values.size());
    double worst = 0;
    for (uint64_t i = 0; i < uint64_t{d.batch} * d.tokens * tensor.heads * pairs; ++i) {
        const uint64_t pair = i % pairs, head = i / pairs % tensor.heads;
        const uint64_t token = i / pairs / tensor.heads % d.tokens, batch = i / pairs / tensor.heads / d.tokens;
        const RopeLayout& to = tensor.destination;
        const uint64_t base =
            to.offset + batch * to.batch_stride + token * to.token_stride + head * to.head_stride + d.rotary_begin;
        const uint64_t x = base + (interleaved ? 2 * pair : pair), y = interleaved ? x + 1 : x + pairs;
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
    const RopeSlot q_out = d.elsewhere != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q;
    const RopeSlot k_out = d.elsewhere != 0 ? ROPE_SLOT_K_OUT : ROPE_SLOT_K;
    *expected = before;
    truth[0].resize(static_cast<size_t>(plan.bytes[q_out] / ropeElementBytes(d.element_out)));
    truth[1].resize(static_cast<size_t>(plan.bytes[k_out] / ropeElementBytes(d.element_out)));
    RopeHostRotate data = {};
    data.positions = reinterpret_cast<const int32_t*>(before.bytes[ROPE_SLOT_POSITIONS].data());
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
    if (d.count_outside != 0) expected->set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000 + data.outside});
    return true;
}

bool isOdd16Bit(const RopeRotateDescription& d) {
    const bool narrow = d.element_in != ROPE_ELEMENT_F32 || d.element_out != ROPE_ELEMENT_F32 ||
                        (d.source != ROPE_SOURCE_INLINE && d.rows.element != ROPE_ELEMENT_F32);
    return narrow && (d.head_dim % 2 != 0 || d.rotary_dim / 2 % 2 != 0);
}

bool checkRotation(Check* check, const RotateCase& given, uint64_t seed, Found* found, Failure* failure) {
    RopeRotateDescription d = given.description;
    RopePlan plan;
    const std::vector<double> frequencies = frequenciesOf(d.frequencies.count);
    d.frequencies.values = frequencies.data();
    const RopeLimits& limits = check->device->limits();
    if (ropePlanRotate(&d, &limits, &plan) != ROPE_SUCCESS) {
        found->skipped = isOdd16Bit(d) && (limits.enabled & ROPE_ENABLED_STORAGE_16) == 0;
        return found->skipped || fail(failure, given.name + ": " + plan.reason.text);
    }
    Inputs inputs;
    Slots expected;
    std::vector<double> truth[2];
    if (!makeInputs(plan, seed, &d, &inputs, failure) || !runOnHost(d, inputs.slots, plan, &expected, truth, failure))
        return false;
    const RopeSlot q = d.elsewhere != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q;
    const RopeSlot k = d.elsewhere != 0 ? ROPE_SLOT_K_OUT : ROPE_SLOT_K;
    Slots& slots = inputs.slots;
    if (!runPlans(check->device, {plan}, {q, k, ROPE_SLOT_COUNTER}, &slots, failure)) return false;
    const size_t bytes = ropeElementBytes(d.element_out);
    for (const RopeSlot slot : {q, k}) {
        for (size_t at = 0; at + bytes <= expected.bytes[slot].size(); at += bytes)
            found->unequal += std::memcmp(&slots.bytes[slot][at], &expected.bytes[slot][at], bytes) != 0;
    }
    found->unequal += slots.bytes[ROPE_SLOT_COUNTER] != expected.bytes[ROPE_SLOT_COUNTER];
    found->error = errorOf(d, d.q, truth[0], slots.bytes[q]);
    if (d.k.heads != 0) found->error = std::fmax(found->error, errorOf(d, d.k, truth[1], slots.bytes[k]));
    found->allowed = allowedError(d, check->nearest);
    return true;
}

// ---- The command ---------------------------------------------------------------------------------------------------

void addRows(Check* check) {
    for (const char* angle : {"exact", "compatible"})
        check->rows.push_back({std::string("table, ") + angle + " angle"});
    for (const char* source : {"inline", "table", "rows"}) {
        for (int in = ROPE_ELEMENT_F32; in <= ROPE_ELEMENT_BF16; ++in) {
            for (int out = ROPE_ELEMENT_F32; out <= ROPE_ELEMENT_BF16; ++out) {
                check->rows.push_back({std::string("rotate ") + elementName(static_cast<RopeElement>(in)) + " to " +
                                       elementName(static_cast<RopeElement>(out)) + ", " + source});
            }
        }
    }
}

bool runAll(Check* check, Failure* failure) {
    const std::vector<TableCase> tables = tableCases();
    const std::vector<RotateCase> rotations = rotateCases();
    const size_t all = tables.size() + rotations.size();
    Progress progress;
    for (size_t i = 0; i < tables.size(); ++i) {
        progress.show("checking " + std::to_string(i) + " of " + std::to_string(all));
        Found found;
        if (!checkTable(check, tables[i], i + 1, &found, failure)) return false;
        check->add(tables[i].description.angle == ROPE_ANGLE_EXACT ? 0 : 1, tables[i].name, true, found);
    }
    for (size_t i = 0; i < rotations.size(); ++i) {
        progress.show("checking " + std::to_string(tables.size() + i) + " of " + std::to_string(all));
        Found found;
        if (!checkRotation(check, rotations[i], i + 1, &found, failure)) return false;
        const RopeRotateDescription& d = rotations[i].description;
        const size_t row = 2 + 9u * static_cast<size_t>(d.source) + 3u * static_cast<size_t>(d.element_in - 1) +
                           static_cast<size_t>(d.element_out - 1);
        check->add(row, rotations[i].name, check->nearest, found);
    }
    return true;
}

uint64_t print(const Check& check) {
    uint64_t cases = 0;
    std::printf("%-28s %6s %14s %12s %10s\n", "", "cases", "bits unequal", "worst error", "allowed");
    for (const Row& row : check.rows) {
        std::printf("%-28s %6" PRIu64 " %14" PRIu64 " %12.4f %10.4f%s\n", row.what.c_str(), row.cases, row.unequal,
                    row.error, row.allowed, row.misses != 0 ? "  MISSED" : "");
        cases += row.cases;
    }
    if (check.skipped != 0) {
        std::printf("%" PRIu64 " cases of odd 16-bit geometry left out: the device has no 16-bit storage\n",
                    check.skipped);
    }
    return cases;
}

bool run(const std::string& name, Failure* failure) {
    if (name == "reference")
        return refuse(failure, "the reference is what devices are held against; --device takes a Vulkan device");
    Target target;
    if (!openTarget(name, &target, failure)) return false;
    Check check = {&target.device, ropeGetRounding(target.device.context()) == ROPE_ROUNDING_NEAREST, {}};
    std::printf("device: %s\n", oneLine(rope::describe(target.device.info())).c_str());
    std::printf("float32 rounds %s\n", check.nearest ? "to nearest: every bit must be the CPU's"
                                                     : "otherwise than to nearest: only the errors of rotations count");
    std::fflush(stdout);
    addRows(&check);
    if (!runAll(&check, failure)) return false;
    const uint64_t cases = print(check);
    std::fflush(stdout);
    if (check.misses != 0)
        return fail(failure, std::to_string(check.misses) + " of " + std::to_string(cases) + " cases missed");
    std::printf("%" PRIu64 " cases, none missed\n", cases);
    return true;
}

} // namespace

Work addCheck(CLI::App* app) {
    const auto device = std::make_shared<std::string>();
    app->add_option("--device", *device, "a device's index or a part of its name; without it the best there is");
    app->footer(
        "Errors are in ulps: a table's of the value, a rotation's of the pair's length, in the element written.\n"
        "Exit status 1 where anything misses.\n\nexample:\n  vkrope check");
    return [device](Failure* failure) { return run(*device, failure); };
}

} // namespace tool
