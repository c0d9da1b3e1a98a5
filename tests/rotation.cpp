#include "rotation.hpp"
#include "sample.hpp"

#include "../host/plan.h"

#include <cmath>
#include <cstring>

namespace rotation {
namespace {

// An element that the description does not touch keeps this; as a float, of 32 bits or 16, it is an odd NaN.
constexpr uint8_t kUntouched = 0xFE;

struct Tensor {
    const RopeTensor& tensor;
    RopeSlot in, out;
};

std::vector<uint8_t> untouched(uint64_t bytes) { return std::vector<uint8_t>(bytes, kUntouched); }

std::vector<uint8_t> makeTensor(RopeElement element, uint64_t bytes, uint64_t seed) {
    const size_t count = bytes / ropeElementBytes(element);
    const std::vector<float> values = sample::values(count, seed);
    std::vector<uint8_t> tensor(bytes);
    ropeConvertElements(values.data(), ROPE_ELEMENT_F32, tensor.data(), element, count);
    return tensor;
}

std::vector<int32_t> makePositions(const RopeRotateDescription& d, size_t count, sample::Random* random) {
    static const int32_t kFar[] = {0, 131071, 1000000, INT32_MAX, INT32_MIN, -1, -131071, (1 << 24) + 1};
    std::vector<int32_t> all(count);
    for (size_t i = 0; i < count; ++i) {
        const bool far = random->below(4) == 0;
        all[i] = far ? kFar[random->below(8)] : static_cast<int32_t>(random->below(8192)) - 4096;
        if (d.source == ROPE_SOURCE_TABLE && random->below(8) != 0) {
            all[i] = d.rows.first_position + static_cast<int32_t>(random->below(d.rows.count));
        }
    }
    return all;
}

void makeRows(const RopeRotateDescription& d, uint64_t bytes, Inputs* inputs) {
    RopeTableDescription table = {};
    table.frequencies = d.frequencies;
    table.angle = d.angle;
    table.rows = d.rows;
    table.positions = d.positions;
    table.batch = d.batch;
    table.tokens = d.tokens;
    if (d.source == ROPE_SOURCE_TABLE) {
        table.positions = {};
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        table.positions.first = d.rows.first_position;
        table.batch = 1;
        table.tokens = d.rows.count;
    }
    table.rows.element = ROPE_ELEMENT_F32;
    std::vector<float> rows(bytes / ropeElementBytes(d.rows.element), 9.0f);
    const RopeHostTable data = {inputs->positions.data(), nullptr, rows.data()};
    RopeReason reason;
    if (ropeHostRunTable(&table, &data, &reason) != ROPE_SUCCESS) ADD_FAILURE() << reason.text;
    inputs->slots.bytes[ROPE_SLOT_ROWS].resize(bytes);
    ropeConvertElements(rows.data(), ROPE_ELEMENT_F32, inputs->slots.bytes[ROPE_SLOT_ROWS].data(), d.rows.element,
                        rows.size());
}

std::string firstDifference(const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted) {
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (got[i] != wanted[i]) {
            char text[96];
            std::snprintf(text, sizeof text, "byte %zu is %02x, not %02x", i, got[i], wanted[i]);
            return text;
        }
    }
    return "";
}

} // namespace

Inputs makeInputs(RopeRotateDescription* d, uint64_t seed) {
    Inputs inputs;
    RopePlan plan;
    const uint32_t pairs = (d->rotary_dim != 0 ? d->rotary_dim : d->head_dim - d->rotary_begin) / 2;
    inputs.frequencies = sample::frequencies(10000, pairs * 2);
    if (pairs > 1) inputs.frequencies[1] = -inputs.frequencies[1];
    d->frequencies.values = inputs.frequencies.data();
    d->frequencies.count = pairs;
    RopeLimits limits;
    ropeFloorLimits(&limits);
    limits.enabled = ROPE_ENABLED_STORAGE_16; // sizes are the same with and without
    if (ropePlanRotate(d, &limits, &plan) != ROPE_SUCCESS) {
        ADD_FAILURE() << plan.reason.text;
        return inputs;
    }
    RopeRotateDescription filled;
    rope::resolve(*d, &filled, nullptr);
    sample::Random random(seed);
    // Rows by token are made from positions even though the rotation itself reads none.
    size_t position_count = plan.bytes[ROPE_SLOT_POSITIONS] / 4;
    if (d->source == ROPE_SOURCE_ROWS) {
        const RopePositions& p = filled.positions;
        position_count = p.offset + (filled.batch - 1) * p.batch_stride + (filled.tokens - 1) * p.token_stride + 1;
    }
    inputs.positions = makePositions(filled, position_count, &random);
    inputs.slots.set(ROPE_SLOT_POSITIONS, inputs.positions);
    inputs.slots.set(ROPE_SLOT_FREQUENCIES, sample::words(inputs.frequencies, d->angle));
    inputs.slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000});
    if (plan.bytes[ROPE_SLOT_ROWS] != 0) makeRows(filled, plan.bytes[ROPE_SLOT_ROWS], &inputs);
    inputs.slots.set(ROPE_SLOT_Q, makeTensor(filled.element_in, plan.bytes[ROPE_SLOT_Q], seed + 1));
    inputs.slots.set(ROPE_SLOT_K, makeTensor(filled.element_in, plan.bytes[ROPE_SLOT_K], seed + 2));
    inputs.slots.set(ROPE_SLOT_Q_OUT, untouched(plan.bytes[ROPE_SLOT_Q_OUT]));
    inputs.slots.set(ROPE_SLOT_K_OUT, untouched(plan.bytes[ROPE_SLOT_K_OUT]));
    return inputs;
}

double worstError(const RopeRotateDescription& d, const RopeTensor& tensor, const std::vector<double>& reference,
                  const std::vector<float>& bits) {
    const uint32_t pairs = d.rotary_dim / 2;
    const bool interleaved = d.pairing_out == ROPE_PAIRING_INTERLEAVED;
    const RopeLayout& to = tensor.destination;
    const int mantissa = d.element_out == ROPE_ELEMENT_F16 ? 10 : d.element_out == ROPE_ELEMENT_BF16 ? 7 : 23;
    double worst = 0;
    for (uint32_t i = 0; i < d.batch * d.tokens * tensor.heads * pairs; ++i) {
        const uint32_t pair = i % pairs;
        const uint32_t head = i / pairs % tensor.heads;
        const uint32_t token = i / pairs / tensor.heads % d.tokens;
        const uint32_t batch = i / pairs / tensor.heads / d.tokens;
        const uint64_t base =
            to.offset + batch * to.batch_stride + token * to.token_stride + head * to.head_stride + d.rotary_begin;
        const uint64_t first = base + (interleaved ? 2 * pair : pair);
        const uint64_t second = interleaved ? first + 1 : first + pairs;
        const double length = std::hypot(reference[first], reference[second]);
        const double ulp = std::ldexp(1, std::ilogb(length) - mantissa);
        worst = std::fmax(worst, std::fabs(bits[first] - reference[first]) / ulp);
        worst = std::fmax(worst, std::fabs(bits[second] - reference[second]) / ulp);
    }
    return worst;
}

testing::AssertionResult check(rope::Device* device, const RopeRotateDescription& given, uint64_t seed, double* worst) {
    RopeRotateDescription d = given;
    Inputs inputs = makeInputs(&d, seed);
    RopePlan plan;
    if (ropePlanRotate(&d, &device->limits(), &plan) != ROPE_SUCCESS) {
        return testing::AssertionFailure() << plan.reason.text;
    }
    const gpu::Slots before = inputs.slots;
    gpu::Slots after = before;
    const testing::AssertionResult ran = gpu::run(device, plan, &after);
    if (!ran) return ran;

    RopeRotateDescription filled;
    rope::resolve(d, &filled, nullptr);
    gpu::Slots wanted = before;
    RopeHostRotate host = {};
    host.positions = inputs.positions.data();
    host.rows = d.source == ROPE_SOURCE_INLINE ? nullptr : before.bytes[ROPE_SLOT_ROWS].data();
    const Tensor tensors[] = {{filled.q, ROPE_SLOT_Q, d.elsewhere ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q},
                              {filled.k, ROPE_SLOT_K, d.elsewhere ? ROPE_SLOT_K_OUT : ROPE_SLOT_K}};
    std::vector<double> references[2];
    for (int i = 0; i < 2; ++i) {
        const Tensor& t = tensors[i];
        if (t.tensor.heads == 0) continue;
        references[i].resize(plan.bytes[t.out] / ropeElementBytes(filled.element_out));
        (i == 0 ? host.q : host.k) = before.bytes[t.in].data();
        (i == 0 ? host.reference_q : host.reference_k) = references[i].data();
        (i == 0 ? host.q_out : host.k_out) = wanted.bytes[t.out].data();
    }
    RopeReason reason;
    if (ropeHostRunRotate(&d, &host, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    if (d.count_outside != 0 && d.source == ROPE_SOURCE_TABLE) {
        wanted.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000 + host.outside});
    }
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan.bytes[slot] == 0) continue;
        const std::string difference = firstDifference(after.bytes[slot], wanted.bytes[slot]);
        if (!difference.empty()) return testing::AssertionFailure() << "slot " << slot << ": " << difference;
    }
    for (int i = 0; i < 2; ++i) {
        if (tensors[i].tensor.heads == 0) continue;
        const std::vector<uint8_t>& out = after.bytes[tensors[i].out];
        std::vector<float> bits(out.size() / ropeElementBytes(filled.element_out));
        ropeConvertElements(out.data(), filled.element_out, bits.data(), ROPE_ELEMENT_F32, bits.size());
        *worst = std::fmax(*worst, worstError(filled, tensors[i].tensor, references[i], bits));
    }
    return testing::AssertionSuccess();
}

} // namespace rotation
