#include "tool/rotate_run.hpp"

#include "tool/element.hpp"

#include <cstring>

namespace tool {
namespace {

RopeElement outElement(const RopeRotateDescription& d) {
    return d.element_out == ROPE_ELEMENT_DEFAULT ? d.element_in : d.element_out;
}

size_t outBytes(const RopeRotateDescription& d, const Tensor& tensor) {
    return static_cast<size_t>(tensor.array.count()) * ropeElementBytes(outElement(d));
}

// The plan that fills the rows which the rotation reads: by position for a table, else one per token.
bool planRows(const Rotation& rotation, const RopeLimits& limits, RopePlan* plan, Failure* failure) {
    const RopeRotateDescription& d = rotation.description;
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

bool rotateOnDevice(rope::Device* device, Rotation* rotation, Rotated* rotated, Failure* failure) {
    RopeRotateDescription& d = rotation->description;
    std::vector<RopePlan> plans(1);
    if (ropePlanRotate(&d, &device->limits(), &plans[0]) != ROPE_SUCCESS) return refuse(failure, plans[0].reason.text);
    Slots slots;
    slots.set(ROPE_SLOT_POSITIONS, rotation->positions.values);
    slots.set(ROPE_SLOT_ROWS, rotation->given_rows);
    slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{0});
    slots.bytes[ROPE_SLOT_Q] = std::move(rotation->q.array.data);
    slots.bytes[ROPE_SLOT_K] = std::move(rotation->k.array.data);
    if (rotation->given_rows.empty()) {
        slots.bytes[ROPE_SLOT_FREQUENCIES] = wordsOf(d.frequencies, d.angle);
        if (d.source != ROPE_SOURCE_INLINE) {
            plans.insert(plans.begin(), RopePlan());
            if (!planRows(*rotation, device->limits(), &plans[0], failure)) return false;
        }
    }
    const RopeSlot q = d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q;
    const RopeSlot k = d.out_of_place != 0 ? ROPE_SLOT_K_OUT : ROPE_SLOT_K;
    if (!runPlans(device, plans, {q, k, ROPE_SLOT_COUNTER}, &slots, failure)) return false;
    rotated->q = std::move(slots.bytes[q]);
    rotated->k = std::move(slots.bytes[k]);
    rotated->q.resize(outBytes(d, rotation->q)); // buffers end with a whole word
    if (d.k.heads != 0) rotated->k.resize(outBytes(d, rotation->k));
    std::memcpy(&rotated->outside, slots.bytes[ROPE_SLOT_COUNTER].data(), sizeof rotated->outside);
    return true;
}

bool rotateOnReference(Rotation* rotation, Rotated* rotated, Failure* failure) {
    RopeRotateDescription d = rotation->description;
    d.out_of_place = 1;
    if (rotation->given_rows.empty())
        d.source = ROPE_SOURCE_INLINE; // the true angle, whatever a device would round on the way
    const RopeElement element = outElement(d);
    std::vector<double> q(static_cast<size_t>(rotation->q.array.count()));
    std::vector<double> k(static_cast<size_t>(d.k.heads != 0 ? rotation->k.array.count() : 0));
    rotated->q.resize(q.size() * ropeElementBytes(element));
    rotated->k.resize(k.size() * ropeElementBytes(element));
    RopeHostRotate data = {};
    data.positions = rotation->positions.values.data();
    data.rows = rotation->given_rows.empty() ? nullptr : rotation->given_rows.data();
    data.q = rotation->q.array.data.data();
    data.k = rotation->k.array.data.data();
    data.reference_q = q.data();
    data.reference_k = k.data();
    data.q_out = rotated->q.data();
    data.k_out = rotated->k.data();
    RopeReason reason;
    if (ropeHostRunRotate(&d, &data, &reason) != ROPE_SUCCESS) return refuse(failure, reason.text);
    rotated->q = roundedOnce(q, element, rotated->q);
    rotated->k = roundedOnce(k, element, rotated->k);
    rotated->outside = data.outside;
    return true;
}

} // namespace tool
