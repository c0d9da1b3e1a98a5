#include "tool/rotate_run.hpp"

#include "tool/element.hpp"

#include <cstring>

namespace tool {
namespace {

RopeElement outputElement(const RopeRotateDescription& d) {
    return d.element_out == ROPE_ELEMENT_DEFAULT ? d.element_in : d.element_out;
}

size_t outputBytes(const RopeRotateDescription& d, const Tensor& tensor) {
    return static_cast<size_t>(tensor.array.count()) * ropeElementBytes(outputElement(d));
}

// Plans the rows that the rotation reads: by position for a table, else one row per token.
bool planRowsOfRotation(const RotateRequest& request, const RopeLimits& limits, RopePlan* plan, Failure* failure) {
    const RopeRotateDescription& d = request.description;
    RopeTableDescription table = {};
    table.frequencies = d.frequencies;
    table.angle = d.angle;
    if (d.source == ROPE_SOURCE_TABLE) {
        table.tokens = d.rows.count;
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        table.positions.first = d.rows.first_position;
    } else {
        table.batch = d.batch;
        table.tokens = d.tokens;
        table.positions = d.positions;
    }
    return ropePlanTable(&table, &limits, plan) == ROPE_SUCCESS || refuse(failure, plan->reason.text);
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
        slots.bytes[ROPE_SLOT_FREQUENCIES] = frequencyWords(d.frequencies, d.angle);
        if (d.source != ROPE_SOURCE_INLINE) {
            plans.insert(plans.begin(), RopePlan());
            if (!planRowsOfRotation(*request, device->limits(), &plans[0], failure)) return false;
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

bool rotateOnReference(RotateRequest* request, RotateResult* result, Failure* failure) {
    RopeRotateDescription d = request->description;
    d.out_of_place = 1;
    if (request->given_rows.empty())
        d.source = ROPE_SOURCE_INLINE; // takes the true angle, which a device's rows would have rounded
    const RopeElement element = outputElement(d);
    std::vector<double> q(static_cast<size_t>(request->q.array.count()));
    std::vector<double> k(static_cast<size_t>(d.k.heads != 0 ? request->k.array.count() : 0));
    result->q.resize(q.size() * ropeElementBytes(element));
    result->k.resize(k.size() * ropeElementBytes(element));
    RopeHostRotate data = {};
    data.positions = request->positions.values.data();
    data.rows = request->given_rows.empty() ? nullptr : request->given_rows.data();
    data.q = request->q.array.data.data();
    data.k = request->k.array.data.data();
    data.reference_q = q.data();
    data.reference_k = k.data();
    data.q_out = result->q.data();
    data.k_out = result->k.data();
    RopeReason reason;
    if (ropeHostRunRotate(&d, &data, &reason) != ROPE_SUCCESS) return refuse(failure, reason.text);
    result->q = roundedOnce(q, element, result->q);
    result->k = roundedOnce(k, element, result->k);
    result->outside = data.outside;
    return true;
}

} // namespace tool
