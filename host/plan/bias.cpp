// This file plans a bias on scores: ropePlanBias.
#include "plan/bias.h"
#include "../shaders/modules.h"
#include "plan/enumerators.h"
#include "plan/positions.h"
#include "plan/tensor.h"

namespace rope {
namespace {

// A thread takes so many vectors, each of one lane's elements: kRuns in bias.comp.
constexpr uint32_t kVectorsPerThread = 8;
// A thread finds all biases of its first query, and one more for each query behind it.
constexpr uint32_t kMaxQueriesPerThread = 64;

const ShaderVariants kBiasShaders = {&rope_shader_bias_wide, &rope_shader_bias_narrow, &rope_shader_bias_odd,
                                     &rope_shader_bias_wide_long};
const ShaderVariants kBucketShaders = {&rope_shader_bias_buckets_wide, &rope_shader_bias_buckets_narrow,
                                       &rope_shader_bias_buckets_odd, &rope_shader_bias_buckets_wide_long};

// Returns how many queries of a head one thread goes through.
uint32_t queriesPerThread(const ResolvedBias& bias, uint32_t head_lanes, const RopeLimits& limits) {
    const uint64_t threads = uint64_t{bias.d.batch} * bias.d.tokens * bias.filled.heads * head_lanes;
    return chooseItemsPerThread(threads, bias.d.tokens < kMaxQueriesPerThread ? bias.d.tokens : kMaxQueriesPerThread,
                                limits);
}

// Describes the given values of the first head, one in each row. The stride between heads is pair_stride.
RopeAccess biasValueAccess(const ResolvedBias& bias) {
    const RopeRows& rows = bias.filled.rows;
    return {ROPE_SLOT_ROWS,
            ropeElementBytes(rows.element),
            rows.offset,
            {0, 0, rows.pair_stride},
            (bias.row_count - 1) * rows.row_stride + 1};
}

void setBiasConstants(const ResolvedBias& bias, RopePass* pass) {
    const RopeBiasDescription& g = bias.filled;
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_IN_PLACE] = 1;
    constants[ROPE_ID_ELEMENT_IN] = constants[ROPE_ID_ELEMENT_OUT] = shaderElement(bias.d.element_in);
    constants[ROPE_ID_ROWS] = ROPE_ROWS_SINGLE;
    constants[ROPE_ID_ROW_ELEMENT] = shaderElement(g.rows.element);
    constants[ROPE_ID_BIAS] = shaderBias(g.kind);
    constants[ROPE_ID_TOKENS] = pass->tokens_per_thread;
    constants[ROPE_ID_WRITES] = g.write_only != 0;
    constants[ROPE_ID_CAUSAL] = g.causal != 0;
    constants[ROPE_ID_BOTH_SIDES] = g.bidirectional != 0;
    if (g.kind != ROPE_BIAS_T5) return;
    const uint32_t vectors = ropeBucketVectors(g.buckets, g.bidirectional);
    constants[ROPE_ID_PARAMETERS] = vectors;
    pass->access[ROPE_BINDING_PARAMETERS] = {ROPE_SLOT_PARAMETERS, 16, 0, {0, 0, 0}, vectors};
}

RopeResult addBiasPass(const ResolvedBias& bias, Planner* planner) {
    const RopeBiasDescription& g = bias.filled;
    RopeRotateDescription d = bias.d;
    d.out_of_place = 1; // every element is moved, so all of them must lie as lanes take them
    const ShaderVariant variant =
        chooseVariant(d, {strideBits(bias.scores), strideBits(bias.scores)},
                      g.kind == ROPE_BIAS_T5 ? kBucketShaders : kBiasShaders, planner->limits());
    if (variant.shader == nullptr) return refuseVariant("x", planner->reason());
    RopePass* pass = planner->addPass(*variant.shader, d.batch, d.tokens, g.heads);
    RopePush push = {};
    pass->head_lanes = (g.keys + kVectorsPerThread * variant.lane_pairs - 1) / (kVectorsPerThread * variant.lane_pairs);
    pass->tokens_per_thread = queriesPerThread(bias, pass->head_lanes, planner->limits());
    setPositions(d.positions, d.frequencies, &push, pass);
    pass->access[ROPE_BINDING_COS_SIN] = biasValueAccess(bias);
    pass->access[ROPE_BINDING_DESTINATION] = tensorAccess(ROPE_SLOT_X, bias.scores, d.element_in, d.head_dim);
    setBiasConstants(bias, pass);
    push.ROPE_KEYS = g.keys;
    push.ROPE_FIRST_KEY = static_cast<uint32_t>(g.first_key);
    push.rows.head = g.rows.pair_stride;
    push.ROPE_ROW_STRIDE = static_cast<uint32_t>(g.rows.row_stride);
    push.ROPE_BUCKETS_IN_ALL = g.buckets;
    push.ROPE_LEAST = static_cast<uint32_t>(g.least);
    push.ROPE_MOST = g.most;
    writePush(push, pass);
    return ROPE_SUCCESS;
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanBias(const RopeBiasDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    Planner planner(limits, plan);
    ResolvedBias bias;
    RopeResult result = resolveBias(*description, &bias, planner.reason());
    if (result == ROPE_SUCCESS) result = addBiasPass(bias, &planner);
    return result == ROPE_SUCCESS ? planner.finish() : planner.refused(result);
}
