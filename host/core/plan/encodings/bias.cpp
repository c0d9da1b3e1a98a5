// This file plans a bias on scores: ropePlanBias.
//
// To add a bias: its value in shaders/bias.glsl, its defaults and refusals in bias_resolve.cpp, its plan here, and
// host/core/reference/run_bias.cpp. T5's buckets are host/core/rules/buckets.cpp.
#include "plan/element_formats.h"
#include "plan/encodings/bias_resolve.h"
#include "plan/encodings/scores.h"
#include "plan/enumerators.h"
#include "plan/left_out.h"
#include "plan/positions.h"
#include "plan/tensor.h"
#include "plan/tuning.h"
#include "shaders/modules.h"

#ifndef VKROPE_NO_BIASES
namespace rope {
namespace {

void setBiasConstants(const ResolvedBias& bias, const RopeLimits& limits, PlanPass* pass) {
    const RopeBiasDescription& g = bias.filled;
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_IN_PLACE] = 1;
    constants[ROPE_ID_ELEMENT_IN] = constants[ROPE_ID_ELEMENT_OUT] = shaderElement(bias.d.element);
    constants[ROPE_ID_ROWS] = ROPE_ROWS_SINGLE;
    constants[ROPE_ID_ROW_ELEMENT] = shaderElement(g.rows.element);
    constants[ROPE_ID_BIAS] = shaderNumber(g.kind);
    constants[ROPE_ID_WRITES] = g.write_only != 0;
    constants[ROPE_ID_CAUSAL] = g.causal != 0;
    constants[ROPE_ID_BOTH_SIDES] = g.bidirectional != 0;
    setNativeHalves(limits, pass, bias.d.element);
    constants[ROPE_ID_PARAMETERS] = 1;
    if (g.kind != ROPE_BIAS_T5) return;
    const uint32_t vectors = ropeBucketVectors(g.buckets, g.bidirectional);
    constants[ROPE_ID_BUCKETS] = g.buckets;
    constants[ROPE_ID_MAX_DISTANCE] = g.max_distance;
    const uint32_t reached = (thresholdCount(bias.buckets) + 3) / 4; // vectors that any distance can reach
    if (reached != 0) constants[ROPE_ID_PARAMETERS] = reached;
    pass->access[ROPE_BINDING_PARAMETERS] = {ROPE_SLOT_PARAMETERS, 16, 0, {0, 0, 0}, vectors};
}

// Sets how the pass is cut into groups. The pipeline has the threads of a group and the queries of a thread; keys and
// queries choose how a group divides its threads between them, which it reads as a push word.
void setGroups(const ResolvedBias& bias, const ShaderVariant& variant, const RopeLimits& limits, RopeBiasPush* push,
               PlanPass* pass) {
    const ScoreCut cut =
        cutScores(bias.d.tokens, (bias.filled.keys + variant.lane_pairs - 1) / variant.lane_pairs, limits);
    setGroup(cut.threads, 1, 1, pass);
    pass->constants[ROPE_ID_QUERIES] = pass->tokens_per_thread = cut.queries;
    pass->constants[ROPE_ID_SHARES] = cut.shares;
    pass->constants[ROPE_ID_QUADS] = variant.lane_pairs / 4;
    pass->constants[ROPE_ID_BY_WORDS] = variant.by_words;
    pass->address_unit = addressUnit(variant);
    pass->group[0] = 1u << cut.lane_bits;
    pass->group[2] = cut.threads >> cut.lane_bits;
    pass->lane_parts = push->lane_parts = cut.lane_parts;
    push->lane_bits = cut.lane_bits;
}

RopeResult addBiasPass(const ResolvedBias& bias, Planner* planner) {
    const RopeBiasDescription& g = bias.filled;
    RopeRotateDescription d = bias.d;
    d.out_of_place = 1; // a bias moves every element, so every element must lie as lanes take it
    const uint64_t bits = strideBits(g.x);
    ShaderVariant variant = chooseVariant(geometryOf(d), {bits, bits}, planner->limits());
    const bool odd = !variant.fits; // a row of scores may have an odd number of keys
    if (odd && (planner->limits().enabled & ROPE_ENABLED_STORAGE_16) == 0) {
        return refuse(planner->reason(), ROPE_ERROR_INVALID,
                      "x has 16-bit scores at an odd offset, stride or number of keys; make them even, or enable "
                      "storageBuffer16BitAccess and say so in limits.enabled");
    }
    if (odd) variant.copy_step = 1;
    PlanPass* pass = planner->addPass(odd ? rope_shader_bias_odd : rope_shader_bias_wide, d.batch, d.tokens, g.heads);
    RopePush common = {};
    setPositions({d.positions, d.rotation.frequencies}, &common, pass);
    common.rows.head = g.rows.pair_stride;
    pass->access[ROPE_BINDING_COS_SIN] = valueAccess(g.rows, bias.row_count, 1);
    pass->access[ROPE_BINDING_DESTINATION] = tensorAccess(ROPE_SLOT_X, g.x, d.element, d.head_dim);
    setBiasConstants(bias, planner->limits(), pass);
    RopeBiasPush push = familyPush<RopeBiasPush>(common);
    push.keys = g.keys;
    push.first_key = static_cast<uint32_t>(g.first_key);
    push.row_stride = static_cast<uint32_t>(g.rows.row_stride);
    push.least = g.least;
    push.most = g.most;
    setGroups(bias, variant, planner->limits(), &push, pass);
    writePush(push, pass);
    return ROPE_SUCCESS;
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanBias(const RopeBiasDescription* description, const RopeLimits* limits, RopePlan* plan) {
    return planDescription(description, limits, plan, resolveBias, addBiasPass);
}
#else

RopeResult ropePlanBias(const RopeBiasDescription*, const RopeLimits*, RopePlan* plan) {
    return rope::refuseLeftOut("biases on attention scores", "BIASES", plan);
}

#endif
