#include "program/commands/rotate_run.hpp"

#include "program/element.hpp"

#include <cstring>

namespace tool {
namespace {

RopeElement outputElement(const RopeRotateDescription& d) {
    return d.element_out == ROPE_ELEMENT_DEFAULT ? d.element : d.element_out;
}

size_t outputBytes(const RopeRotateDescription& d, const Tensor& tensor) {
    return static_cast<size_t>(tensor.array.count()) * ropeElementBytes(outputElement(d));
}

// Describes the rows that the rotation reads: by position for a table, else one row per token.
RopeTableDescription rowsOfRotation(const RotateRequest& request) {
    const RopeRotateDescription& d = request.description;
    RopeTableDescription table = {};
    table.frequencies = d.rotation.frequencies;
    table.angle = d.rotation.angle;
    if (d.rotation.source == ROPE_SOURCE_TABLE) {
        table.tokens = d.rotation.rows.count;
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        table.positions.first = d.rotation.rows.first_position;
    } else {
        table.batch = d.batch;
        table.tokens = d.tokens;
        table.positions = d.positions;
    }
    return table;
}

// Computes the shaders' rows on the CPU.
bool makeRows(const RotateRequest& request, std::vector<float>* rows, Failure* failure) {
    const RopeTableDescription table = rowsOfRotation(request);
    rows->resize(2 * size_t{table.batch == 0 ? 1 : table.batch} * table.tokens * table.frequencies.count);
    const RopeHostTable data = {request.positions.values.data(), nullptr, rows->data()};
    RopeReason reason;
    return ropeHostRunTable(&table, &data, &reason) == ROPE_SUCCESS || refuse(failure, reason.text);
}

} // namespace

bool rotateOnDevice(rope::Device* device, RotateRequest* request, RotateResult* result, Failure* failure) {
    RopeRotateDescription& d = request->description;
    std::vector<RopePlan> plans(1);
    if (ropePlanRotate(&d, &device->limits(), &plans[0]) != ROPE_SUCCESS) return refuse(failure, plans[0].reason.text);
    SlotBytes slots;
    slots.set(ROPE_SLOT_POSITIONS, request->positions.values);
    slots.set(ROPE_SLOT_ROWS, request->given_rows);
    slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{0});
    slots.bytes[ROPE_SLOT_Q] = std::move(request->q.array.data);
    slots.bytes[ROPE_SLOT_K] = std::move(request->k.array.data);
    if (request->given_rows.empty()) {
        slots.bytes[ROPE_SLOT_FREQUENCIES] = frequencyWords(d.rotation.frequencies, d.rotation.angle);
        if (d.rotation.source != ROPE_SOURCE_INLINE) {
            plans.insert(plans.begin(), RopePlan());
            const RopeTableDescription table = rowsOfRotation(*request);
            if (ropePlanTable(&table, &device->limits(), &plans[0]) != ROPE_SUCCESS)
                return refuse(failure, plans[0].reason.text);
        }
    }
    const RopeSlot q = d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q;
    const RopeSlot k = d.out_of_place != 0 ? ROPE_SLOT_K_OUT : ROPE_SLOT_K;
    if (!runPlans(device, plans, {q, k, ROPE_SLOT_COUNTER}, &slots, failure)) return false;
    result->q = std::move(slots.bytes[q]);
    result->k = std::move(slots.bytes[k]);
    result->q.resize(outputBytes(d, request->q)); // buffers end with a whole word
    if (d.k.heads != 0) result->k.resize(outputBytes(d, request->k));
    std::memcpy(&result->outside, slots.bytes[ROPE_SLOT_COUNTER].data(), sizeof result->outside);
    return true;
}

bool rotateOnCpu(const RotateRequest& request, bool reference, RotateResult* result, Failure* failure) {
    RopeRotateDescription d = request.description;
    d.out_of_place = 1;
    std::vector<float> rows = request.given_rows;
    if (rows.empty() && d.rotation.source != ROPE_SOURCE_INLINE) {
        // The reference takes the true angle, which rows would have rounded.
        if (reference)
            d.rotation.source = ROPE_SOURCE_INLINE;
        else if (!makeRows(request, &rows, failure))
            return false;
    }
    const RopeElement element = outputElement(d);
    const size_t q_count = static_cast<size_t>(request.q.array.count());
    const size_t k_count = static_cast<size_t>(d.k.heads != 0 ? request.k.array.count() : 0);
    std::vector<double> q(reference ? q_count : 0), k(reference ? k_count : 0);
    result->q.resize(q_count * ropeElementBytes(element));
    result->k.resize(k_count * ropeElementBytes(element));
    RopeHostRotate data = {};
    data.positions = request.positions.values.data();
    data.rows = rows.empty() ? nullptr : rows.data();
    data.q = request.q.array.data.data();
    data.k = request.k.array.data.data();
    data.reference_q = reference ? q.data() : nullptr;
    data.reference_k = reference ? k.data() : nullptr;
    data.q_out = result->q.data();
    data.k_out = result->k.data();
    RopeReason reason;
    if (ropeHostRunRotate(&d, &data, &reason) != ROPE_SUCCESS) return refuse(failure, reason.text);
    if (reference) {
        result->q = roundedOnce(q, element, result->q);
        result->k = roundedOnce(k, element, result->k);
    }
    result->outside = data.outside;
    return true;
}

} // namespace tool
