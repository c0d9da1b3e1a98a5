// This file plans an addition to embeddings: ropePlanAdd.
//
// To give embeddings something else: shaders/encodings/add.comp, add_resolve.cpp, this file, and
// host/core/reference/run_add.cpp.
#include "plan/encodings/add_resolve.h"
#include "plan/left_out.h"
#include "plan/rows.h"
#include "plan/tensor.h"
#include "plan/tuning.h"
#include "shaders/modules.h"

#ifndef VKROPE_NO_ADDITIONS
namespace rope {
namespace {

// Takes the sequences of a batch as the heads of one sequence if all sequences have the same positions. A group then
// finds the values that it adds once for many sequences.
void takeSequencesAsHeads(RopeRotateDescription* d, RopeTensor* x) {
    const bool same = d->positions.kind == ROPE_POSITIONS_COUNTED || d->positions.same_for_all_sequences != 0;
    if (!same || d->rotation.source == ROPE_SOURCE_ROWS) return;
    x->heads = d->batch;
    d->batch = 1;
    RopeLayout* layouts[2] = {&x->from, &x->to};
    for (RopeLayout* layout : layouts) {
        layout->head_stride = layout->batch_stride;
        layout->batch_stride = 0;
    }
}

// True if lanes of eight pairs read rows of 16-bit elements 16 bytes at a time.
bool readsRowsByEight(const RopeRotateDescription& d, const ShaderVariant& variant) {
    const uint64_t starts =
        d.rotation.rows.offset | d.rotation.rows.row_stride | static_cast<uint64_t>(d.rotation.rows.sin_offset);
    return d.rotation.source != ROPE_SOURCE_INLINE && variant.lane_pairs == 8 &&
           d.rotation.rows.element != ROPE_ELEMENT_F32 && chooseRowReading(d, variant) == ROPE_ROWS_BY_FOUR &&
           starts % 8 == 0;
}

// Sets the constants of an addition, and how its threads are cut into groups.
void setAddConstants(const ResolvedAdd& addition, const RopeRotateDescription& d, const ShaderVariant& variant,
                     const RopeLimits& limits, PlanPass* pass) {
    const uint32_t lanes = pairLanes(geometryOf(d), variant);
    const AdditionCut cut =
        cutAddition(d.rotation.source == ROPE_SOURCE_INLINE, pass->count[kHead], lanes, variant.lane_pairs, limits);
    uint32_t* constants = pass->constants;
    setRotationConstants(d, variant, pass);
    if (readsRowsByEight(d, variant)) constants[ROPE_ID_ROWS] = ROPE_ROWS_BY_EIGHT;
    constants[ROPE_ID_PAIR_COUNTS] = d.rotation.rotary_dim / 2 | lanes << 16;
    setGroupConstants(cut.group, variant, lanes, cut.sequences, pass);
    constants[ROPE_ID_EVERY_TOKEN] = everyTokenTurns(d);
    constants[ROPE_ID_COSINE_FIRST] = addition.cosine_first;
    if (addition.scale != 1) constants[ROPE_ID_FACTOR] = floatConstant(addition.scale);
    setNativeHalves(limits, pass, d.element, d.element_out);
    if (d.rotation.source != ROPE_SOURCE_INLINE) setNativeHalves(limits, pass, d.rotation.rows.element);
}

RopeResult addAdditionPass(const ResolvedAdd& addition, Planner* planner) {
    RopeRotateDescription d = addition.d;
    RopeTensor x = addition.x;
    takeSequencesAsHeads(&d, &x);
    const ShaderVariant variant = chooseVariant(geometryOf(d), sideBits(x), planner->limits());
    if (!variant.fits)
        return refuseOddPlaces("x", oddHalves(geometryOf(d)), planner->reason(), "a multiple of 4 as dim");
    PlanPass* pass = planner->addPass(rope_shader_add_wide, d.batch, d.tokens, x.heads);
    RopePush common = {};
    setTokenPositions(d, &common, pass);
    if (d.rotation.source != ROPE_SOURCE_INLINE) setRowWords(d.rotation.rows, &common);
    setScaleOrTable(d, &common, pass);
    pass->access[ROPE_BINDING_COS_SIN] = cosSinAccess(d);
    if (d.out_of_place != 0)
        pass->access[ROPE_BINDING_SOURCE] = tensorAccess(ROPE_SLOT_X, x.from, d.element, d.head_dim);
    pass->access[ROPE_BINDING_DESTINATION] =
        tensorAccess(d.out_of_place != 0 ? ROPE_SLOT_X_OUT : ROPE_SLOT_X, x.to, d.element_out, d.head_dim);
    setAddConstants(addition, d, variant, planner->limits(), pass);
    writePush(familyPush<RopeRotatePush>(common), pass);
    addCountPass(addition.d, planner);
    return ROPE_SUCCESS;
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanAdd(const RopeAddDescription* description, const RopeLimits* limits, RopePlan* plan) {
    return planDescription(description, limits, plan, resolveAdd, addAdditionPass);
}
#else

RopeResult ropePlanAdd(const RopeAddDescription*, const RopeLimits*, RopePlan* plan) {
    return rope::refuseLeftOut("positions added to embeddings", "ADDITIONS", plan);
}

#endif
