// This file fills in the records of a dispatch: where each tensor lies, how its lanes lie in it, and what its stages
// do.
//
// To let a shader know more of a tensor: a field of ROPE_RECORD in shaders/fused/record.h, and its value here.
#include "plan/fused/record.h"
#include "plan/element_formats.h"
#include "plan/fused/biases.h"
#include "plan/fused/bindings.h"
#include "plan/fused/hadamard.h"
#include "plan/fused/norms.h"
#include "plan/fused/strides.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

// Sets five fields of strides, from the field of the token on.
void setStrides(const GrownStrides& s, uint32_t* fields) {
    fields[0] = lowWord(s.token);
    fields[1] = lowWord(s.head);
    fields[2] = lowWord(s.head_grown);
    fields[3] = lowWord(s.batch);
    fields[4] = lowWord(s.rows);
}
static_assert(field::from_rows == field::from_token + 4 && field::to_rows == field::to_token + 4,
              "strides of a side follow each other");

uint32_t kindOf(const FusedTensor& t, const TensorLanes& lanes) {
    return shaderElement(t.d.element_out) | cacheFormatWord(t.d.element_out) << ROPE_TENSOR_FORMAT |
           (lanes.paired ? ROPE_TENSOR_PAIRED : 0) | t.stages;
}

uint32_t givenScale(const RopeCacheScale& scale, uint32_t at) {
    if (scale.count == 0) return 0;
    return ROPE_SCALE_GIVEN | at | (scale.count != 1 ? ROPE_SCALE_OF_HEADS : 0) |
           (scale.multiplies != 0 ? ROPE_SCALE_MULTIPLIES : 0);
}

// Sets the lengths that a tensor's strides grow by.
void setLengths(const FusedGroup& group, const FusedTensor& t, uint32_t unit, RopeFusedPush* push) {
    const uint32_t side = t.role == kQ ? 0 : 1;
    const Length to = destinationStrides(t, *group.fused, unit).length;
    const Length from = t.d.out_of_place != 0 ? sourceStrides(t, unit).length : to;
    if (!from.any) push->length_from[side] = lowWord(from.tokens);
    if (!to.any) push->length_to[side] = lowWord(to.tokens);
}

// Sets where a tensor lies: its fields, its push words, and what the parts of the pass begin by.
void setPlaces(const FusedGroup& group, const FusedTensor& t, RopeFusedPush* push, PlanPass* pass) {
    uint32_t* fields = record(pass->constants, t.role);
    PassFacts& facts = pass->facts;
    const uint32_t unit = pass->address_unit;
    const GrownStrides to = destinationStrides(t, *group.fused, unit);
    const GrownStrides from = t.d.out_of_place != 0 ? sourceStrides(t, unit) : to;
    setStrides(from, fields + field::from_token);
    setStrides(to, fields + field::to_token);
    facts.heads[t.role] = t.heads;
    facts.elements[t.role] = t.d.element_out;
    facts.from[t.role] = t.d.out_of_place != 0 ? group.from[t.role] : group.to[t.role];
    facts.to[t.role] = group.to[t.role];
    facts.from_begin[t.role] = t.d.out_of_place != 0 ? t.source.offset : t.destination.offset;
    facts.to_begin[t.role] = t.cached ? destinationUnits(group, t.d.element_out, t.cache.offset) : t.destination.offset;
    const uint32_t to_word = isForCaches(t) ? 1 : unit; // elements of the binding that a word counts
    push->to[t.role] = lowWord((facts.to_begin[t.role] - group.access[group.to[t.role]].offset) / to_word);
    push->from[t.role] = t.d.out_of_place == 0
                             ? push->to[t.role]
                             : lowWord((facts.from_begin[t.role] - group.access[group.from[t.role]].offset) / unit);
    if (!t.cached) return;
    fields[field::to_page] = lowWord(to.page);
    const bool is_whole = group.access[group.to[t.role]].stride[kBatch] == 0;
    if (is_whole)
        facts.to_sequence[t.role] = lowWord(destinationUnits(group, t.d.element_out, t.cache.batch_stride) / to_word);
    if (!t.has_scales) return;
    const GrownStrides scales = scaleStrides(t, *group.fused, to, push->length_to[1]);
    fields[field::scale_slot] = lowWord(scales.token);
    fields[field::scale_page] = lowWord(scales.page);
    fields[field::scale_head] = lowWord(scales.head);
    fields[field::scale_head_grown] = lowWord(scales.head_grown);
    fields[field::scale_batch] = lowWord(scales.batch);
    push->scale_at[t.role - kK] = lowWord(t.scales.offset - group.access[group.to[t.role]].offset);
    if (is_whole) facts.scale_sequence[t.role - kK] = lowWord(t.scales.batch_stride);
}

void setTensor(const FusedGroup& group, const FusedTensor& t, const ParameterLayout& parameters, RopeFusedPush* push,
               PlanPass* pass) {
    uint32_t* fields = record(pass->constants, t.role);
    const TensorLanes& lanes = group.lanes[t.role];
    fields[field::heads] = t.heads;
    fields[field::lanes] = lanes.lanes;
    fields[field::rotary_begin] = lanes.rotary_begin;
    fields[field::pass_elements] = lanes.copied;
    fields[field::kind] = kindOf(t, lanes);
    setPlaces(group, t, push, pass);
    if (t.role != kQ) fields[field::given_scale] = givenScale(t.given_scale, parameters.scales[t.role - kK]);
}

// Copies fields that a tensor does not read from a tensor that reads them. Where all tensors have one value, compilers
// choose nothing.
void copyUnread(const FusedGroup& group, uint32_t first, uint32_t count, bool (*reads)(const FusedTensor&),
                PlanPass* pass) {
    const FusedTensor* from = nullptr;
    for (const FusedTensor* t : group.tensors)
        if (t != nullptr && reads(*t) && (from == nullptr || t->role == kK)) from = t; // K's, if it reads them
    if (from == nullptr) return;
    for (const FusedRole role : kFusedRoles) {
        if (!group.has(role) || reads(*group.tensors[role])) continue;
        memcpy(record(pass->constants, role) + first, record(pass->constants, from->role) + first,
               count * sizeof(uint32_t));
    }
}

// Gives a tensor that the dispatch does not take the fields of another tensor.
void fillAbsent(const FusedGroup& group, PlanPass* pass) {
    const FusedRole like = group.has(kK) ? kK : group.has(kV) ? kV : kQ;
    for (const FusedRole role : kFusedRoles) {
        if (group.has(role)) continue;
        const uint32_t count = role == kQ || like == kQ ? field::to_page : field::given_scale + 1;
        memcpy(record(pass->constants, role), record(pass->constants, like), count * sizeof(uint32_t));
        record(pass->constants, role)[field::heads] = 0;
    }
}

} // namespace

void setRecords(const FusedGroup& group, const RopeLimits& limits, RopeFusedPush* push, PlanPass* pass) {
    const ParameterLayout parameters = parameterLayout(*group.fused);
    forEachTensor(group, [&](const FusedTensor& t) { setLengths(group, t, pass->address_unit, push); });
    forEachTensor(group, [&](const FusedTensor& t) { setTensor(group, t, parameters, push, pass); });
    setNorms(group, parameters, limits, push, pass);
    setBiases(group, limits, pass);
    setHadamard(group, pass);
    copyUnread(
        group, field::bias_at, 1, [](const FusedTensor& t) { return t.takes(ROPE_STAGE_BIASES); }, pass);
    copyUnread(group, field::norm_share, field::weight_head - field::norm_share + 1, isNormed, pass);
    copyUnread(
        group, field::scale_slot, field::scale_batch - field::scale_slot + 1,
        [](const FusedTensor& t) { return t.role != kQ && t.has_scales; }, pass);
    fillAbsent(group, pass);
}

} // namespace rope
#endif
