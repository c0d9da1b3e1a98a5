#include "rotation.hpp"
#include "sample.hpp"

#include "plan/axes.h"
#include "plan/positions.h"
#include "plan/resolve.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
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

int32_t makePosition(const RopeRotateDescription& d, sample::Random* random) {
    static const int32_t kFar[] = {0, 131071, 1000000, INT32_MAX, INT32_MIN, -1, -131071, (1 << 24) + 1};
    const bool far = random->below(4) == 0;
    const int32_t any = far ? kFar[random->below(8)] : static_cast<int32_t>(random->below(8192)) - 4096;
    const bool inside = d.rotation.source == ROPE_SOURCE_TABLE && random->below(8) != 0;
    return inside ? d.rotation.rows.first_position + static_cast<int32_t>(random->below(d.rotation.rows.count)) : any;
}

// A position, or now and then what is none.
void putPosition(int32_t position, RopePositionElement element, sample::Random* random, uint8_t* to) {
    const uint32_t bits = random->below(1u << 31);
    float number = static_cast<float>(position) + static_cast<float>(bits) * 0x1p-31f;
    if (random->below(16) == 0) number = random->below(2) == 0 ? std::nanf("") : -3e9f;
    int64_t wide = position;
    if (element == ROPE_POSITION_FIXED64) wide = ROPE_WHOLE_POSITION(position) + bits * 2;
    if (element == ROPE_POSITION_INT64 && random->below(16) == 0) wide += int64_t{1} << 32;
    if (element == ROPE_POSITION_FLOAT32) std::memcpy(to, &number, 4);
    if (element == ROPE_POSITION_INT32) std::memcpy(to, &position, 4);
    if (ropePositionBytes(element) == 8) std::memcpy(to, &wide, 8);
}

// Lengths of sequences that leave the last few of the tokens out.
void putLengths(const RopeRotateDescription& d, sample::Random* random, uint8_t* to) {
    const uint32_t bytes = ropePositionBytes(d.positions.element);
    uint64_t end = 0; // in both elements a length begins with its low word
    for (uint32_t i = 0; i <= d.positions.sequences; ++i) {
        std::memcpy(to + i * bytes, &end, bytes);
        end = std::min<uint64_t>(end + random->below(2 * d.tokens / d.positions.sequences), d.tokens - 1);
    }
}

} // namespace

std::vector<uint8_t> makePositions(const RopeRotateDescription& d, sample::Random* random) {
    const RopePositions& p = d.positions;
    if (p.kind == ROPE_POSITIONS_COUNTED) return {};
    const rope::PassAccess access = rope::positionAccess(p, d.rotation.frequencies);
    const uint64_t bytes = access.element_bytes;
    const uint64_t reach = access.extent + (d.batch - 1) * access.stride[0] + (d.tokens - 1) * access.stride[1];
    std::vector<uint8_t> all((p.offset + reach) * bytes);
    for (uint64_t at = 0; at < all.size(); at += bytes) {
        putPosition(makePosition(d, random), p.element, random, &all[at]);
    }
    if (p.kind >= ROPE_POSITIONS_PACKED) putLengths(d, random, &all[p.offset * bytes]);
    if (d.rotation.frequencies.sets < 2) return all;
    const bool packed = p.kind >= ROPE_POSITIONS_PACKED;
    const uint32_t rows =
        packed ? static_cast<uint32_t>(p.kind - ROPE_POSITIONS_PACKED) + 1 : rope::axisCount(d.rotation.frequencies);
    const uint64_t entries = packed ? p.sequences : access.stride[1] != 0 ? d.tokens : 1;
    for (uint64_t batch = 0; batch < d.batch; ++batch) {
        for (uint64_t i = 0; i < entries; ++i) {
            const uint64_t at = p.offset + rows * p.axis_stride + batch * p.batch_stride + i * p.token_stride;
            uint64_t set = random->below(d.rotation.frequencies.sets + 1);
            if (set == d.rotation.frequencies.sets && random->below(2) == 0) set = 0x07654321; // nor is there the last
            std::memcpy(&all[at * bytes], &set, bytes);
        }
    }
    return all;
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

std::vector<uint8_t> makeRows(const RopeRotateDescription& d, const uint8_t* positions, uint64_t bytes) {
    RopeTableDescription table = {};
    table.frequencies = d.rotation.frequencies;
    table.angle = d.rotation.angle;
    table.rows = d.rotation.rows;
    table.positions = d.positions;
    table.batch = d.batch;
    table.tokens = d.tokens;
    table.rows.element = ROPE_ELEMENT_F32;
    std::vector<float> rows(bytes / ropeElementBytes(d.rotation.rows.element), 9.0f);
    const RopeHostTable data = {positions, nullptr, rows.data()};
    RopeReason reason;
    for (uint32_t set = 0; set < d.rotation.frequencies.sets && d.rotation.source == ROPE_SOURCE_TABLE; ++set) {
        table.positions = {};
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        table.positions.first = d.rotation.rows.first_position;
        table.batch = 1;
        table.tokens = d.rotation.rows.count;
        table.frequencies.sets = 1;
        table.frequencies.values = d.rotation.frequencies.values + size_t{set} * d.rotation.frequencies.count;
        table.rows.offset = d.rotation.rows.offset + uint64_t{set} * d.rotation.rows.count * d.rotation.rows.row_stride;
        if (ropeHostRunTable(&table, &data, &reason) != ROPE_SUCCESS) ADD_FAILURE() << reason.text;
    }
    if (d.rotation.source == ROPE_SOURCE_ROWS && ropeHostRunTable(&table, &data, &reason) != ROPE_SUCCESS)
        ADD_FAILURE() << reason.text;
    std::vector<uint8_t> converted(bytes);
    ropeConvertElements(rows.data(), ROPE_ELEMENT_F32, converted.data(), d.rotation.rows.element, rows.size());
    return converted;
}

Inputs makeInputs(RopeRotateDescription* d, uint64_t seed) {
    Inputs inputs;
    RopePlan plan;
    const uint32_t pairs =
        (d->rotation.rotary_dim != 0 ? d->rotation.rotary_dim : d->head_dim - d->rotation.rotary_begin) / 2;
    const uint32_t sets = std::max(d->rotation.frequencies.sets, 1u);
    for (uint32_t set = 0; set < sets; ++set) {
        const std::vector<double> one = sample::frequencies(10000 * (set + 1), pairs * 2);
        inputs.frequencies.insert(inputs.frequencies.end(), one.begin(), one.end());
    }
    if (pairs > 1) inputs.frequencies[1] = -inputs.frequencies[1];
    d->rotation.frequencies.values = inputs.frequencies.data();
    d->rotation.frequencies.count = pairs;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.group_size = 1024; // for every tuning
    if (ropePlanRotate(d, &limits, &plan) != ROPE_SUCCESS)
        return inputs; // the device's plan is refused too, and says why
    RopeRotateDescription filled;
    rope::resolveRotate(*d, &filled, nullptr);
    sample::Random random(seed);
    // Rows by token are made from positions even though the rotation itself reads none.
    inputs.slots.bytes[ROPE_SLOT_POSITIONS] = makePositions(filled, &random);
    inputs.slots.set(ROPE_SLOT_FREQUENCIES, sample::words(inputs.frequencies, d->rotation.angle));
    inputs.slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000});
    if (plan.bytes[ROPE_SLOT_ROWS] != 0) {
        inputs.slots.bytes[ROPE_SLOT_ROWS] =
            makeRows(filled, inputs.slots.bytes[ROPE_SLOT_POSITIONS].data(), plan.bytes[ROPE_SLOT_ROWS]);
    }
    inputs.slots.set(ROPE_SLOT_Q, sample::tensor(filled.element, plan.bytes[ROPE_SLOT_Q], seed + 1));
    inputs.slots.set(ROPE_SLOT_K, sample::tensor(filled.element, plan.bytes[ROPE_SLOT_K], seed + 2));
    inputs.slots.set(ROPE_SLOT_Q_OUT, untouched(plan.bytes[ROPE_SLOT_Q_OUT]));
    inputs.slots.set(ROPE_SLOT_K_OUT, untouched(plan.bytes[ROPE_SLOT_K_OUT]));
    return inputs;
}

double worstError(const RopeRotateDescription& d, const RopeTensor& tensor, const std::vector<double>& reference,
                  const std::vector<float>& bits) {
    const uint32_t pairs = d.rotation.rotary_dim / 2;
    const uint32_t half = d.rotation.pairing_out == ROPE_PAIRING_INTERLEAVED ? 1 : d.rotation.chunk_dim / 2;
    const RopeLayout& to = tensor.to;
    const int mantissa = d.element_out == ROPE_ELEMENT_F16 ? 10 : d.element_out == ROPE_ELEMENT_BF16 ? 7 : 23;
    double worst = 0;
    for (uint32_t i = 0; i < d.batch * d.tokens * tensor.heads * pairs; ++i) {
        const uint32_t pair = i % pairs;
        const uint32_t head = i / pairs % tensor.heads;
        const uint32_t token = i / pairs / tensor.heads % d.tokens;
        const uint32_t batch = i / pairs / tensor.heads / d.tokens;
        const uint64_t base = to.offset + batch * to.batch_stride + token * to.token_stride + head * to.head_stride +
                              d.rotation.rotary_begin;
        const uint64_t first = base + pair / half * 2 * half + pair % half;
        const uint64_t second = first + half;
        const double length = std::hypot(reference[first], reference[second]);
        const double ulp = std::ldexp(1, std::ilogb(length) - mantissa);
        worst = std::fmax(worst, std::fabs(bits[first] - reference[first]) / ulp);
        worst = std::fmax(worst, std::fabs(bits[second] - reference[second]) / ulp);
    }
    return worst;
}

testing::AssertionResult check(rope::Device* device, const RopeRotateDescription& given, uint64_t seed, double* worst,
                               const RopeLimits* limits) {
    RopeRotateDescription d = given;
    Inputs inputs = makeInputs(&d, seed);
    RopePlan plan;
    if (ropePlanRotate(&d, limits != nullptr ? limits : &device->limits(), &plan) != ROPE_SUCCESS) {
        return testing::AssertionFailure() << plan.reason.text;
    }
    const std::vector<uint8_t> positions = inputs.slots.bytes[ROPE_SLOT_POSITIONS];
    gpu::Slots before = inputs.slots;
    before.bytes[ROPE_SLOT_POSITIONS].resize(plan.bytes[ROPE_SLOT_POSITIONS]); // rows were made from more
    gpu::Slots after = before;
    const testing::AssertionResult ran = gpu::run(device, plan, &after);
    if (!ran) return ran;

    RopeRotateDescription filled;
    rope::resolveRotate(d, &filled, nullptr);
    gpu::Slots wanted = before;
    RopeHostRotate host = {};
    host.positions = positions.data();
    host.rows = d.rotation.source == ROPE_SOURCE_INLINE ? nullptr : before.bytes[ROPE_SLOT_ROWS].data();
    const Tensor tensors[] = {{filled.q, ROPE_SLOT_Q, d.out_of_place ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q},
                              {filled.k, ROPE_SLOT_K, d.out_of_place ? ROPE_SLOT_K_OUT : ROPE_SLOT_K}};
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
    if (plan.bytes[ROPE_SLOT_COUNTER] != 0) {
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
