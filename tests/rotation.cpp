#include "rotation.hpp"
#include "sample.hpp"

#include "../host/plan.h"

#include <cmath>
#include <cstring>

namespace rotation {
namespace {

// An element that the description does not touch keeps this; as a float it is an odd NaN.
constexpr uint32_t kUntouched = 0x7FC5A5A5u;

struct Tensor {
    const RopeTensor& tensor;
    RopeSlot in, out;
};

std::vector<float> untouched(uint64_t bytes) {
    std::vector<float> all(bytes / 4);
    for (float& one : all)
        std::memcpy(&one, &kUntouched, 4);
    return all;
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
    std::vector<float> rows = untouched(bytes);
    const RopeHostTable data = {inputs->positions.data(), nullptr, rows.data()};
    RopeReason reason;
    if (ropeHostRunTable(&table, &data, &reason) != ROPE_SUCCESS)
        ADD_FAILURE() << reason.text;
    inputs->slots.set(ROPE_SLOT_ROWS, rows);
}

std::string firstDifference(const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted) {
    for (size_t i = 0; i + 4 <= wanted.size(); i += 4) {
        uint32_t a, b;
        std::memcpy(&a, &got[i], 4);
        std::memcpy(&b, &wanted[i], 4);
        if (a != b) {
            char text[96];
            std::snprintf(text, sizeof text, "element %zu is %08x, not %08x", i / 4, a, b);
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
    if (pairs > 1)
        inputs.frequencies[1] = -inputs.frequencies[1];
    d->frequencies.values = inputs.frequencies.data();
    d->frequencies.count = pairs;
    if (ropePlanRotate(d, nullptr, &plan) != ROPE_SUCCESS) {
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
    if (plan.bytes[ROPE_SLOT_ROWS] != 0)
        makeRows(filled, plan.bytes[ROPE_SLOT_ROWS], &inputs);
    inputs.slots.set(ROPE_SLOT_Q, sample::values(plan.bytes[ROPE_SLOT_Q] / 4, seed + 1));
    inputs.slots.set(ROPE_SLOT_K, sample::values(plan.bytes[ROPE_SLOT_K] / 4, seed + 2));
    inputs.slots.set(ROPE_SLOT_Q_OUT, untouched(plan.bytes[ROPE_SLOT_Q_OUT]));
    inputs.slots.set(ROPE_SLOT_K_OUT, untouched(plan.bytes[ROPE_SLOT_K_OUT]));
    return inputs;
}

double worstError(const RopeRotateDescription& d, const RopeTensor& tensor, const std::vector<double>& reference,
                  const std::vector<float>& bits) {
    const uint32_t pairs = d.rotary_dim / 2;
    const bool interleaved = d.pairing_out == ROPE_PAIRING_INTERLEAVED;
    const RopeLayout& to = tensor.destination;
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
        const double ulp = std::ldexp(1, std::ilogb(length) - 23);
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
    if (!ran)
        return ran;

    RopeRotateDescription filled;
    rope::resolve(d, &filled, nullptr);
    gpu::Slots wanted = before;
    RopeHostRotate host = {};
    host.positions = inputs.positions.data();
    host.rows =
        d.source == ROPE_SOURCE_INLINE ? nullptr : reinterpret_cast<const float*>(before.bytes[ROPE_SLOT_ROWS].data());
    const Tensor tensors[] = {{filled.q, ROPE_SLOT_Q, d.elsewhere ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q},
                              {filled.k, ROPE_SLOT_K, d.elsewhere ? ROPE_SLOT_K_OUT : ROPE_SLOT_K}};
    std::vector<double> references[2];
    for (int i = 0; i < 2; ++i) {
        const Tensor& t = tensors[i];
        if (t.tensor.heads == 0)
            continue;
        references[i].resize(plan.bytes[t.out] / 4);
        (i == 0 ? host.q : host.k) = reinterpret_cast<const float*>(before.bytes[t.in].data());
        (i == 0 ? host.reference_q : host.reference_k) = references[i].data();
        (i == 0 ? host.q_out : host.k_out) = reinterpret_cast<float*>(wanted.bytes[t.out].data());
    }
    RopeReason reason;
    if (ropeHostRunRotate(&d, &host, &reason) != ROPE_SUCCESS)
        return testing::AssertionFailure() << reason.text;
    if (d.count_outside != 0 && d.source == ROPE_SOURCE_TABLE) {
        wanted.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000 + host.outside});
    }
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan.bytes[slot] == 0)
            continue;
        const std::string difference = firstDifference(after.bytes[slot], wanted.bytes[slot]);
        if (!difference.empty())
            return testing::AssertionFailure() << "slot " << slot << ": " << difference;
    }
    for (int i = 0; i < 2; ++i) {
        if (tensors[i].tensor.heads == 0)
            continue;
        const std::vector<float> bits = after.get<float>(tensors[i].out);
        *worst = std::fmax(*worst, worstError(filled, tensors[i].tensor, references[i], bits));
    }
    return testing::AssertionSuccess();
}

} // namespace rotation
