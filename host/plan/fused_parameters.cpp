// This file lays out PARAMETERS, the weights of norms and the values of the scale of queries, and writes them:
// ropeWriteParameters.
#include "plan/fused.h"

#include <string.h>

namespace rope {
namespace {

uint32_t weightCount(const RopeNorm& norm, uint32_t heads, uint32_t head_dim) {
    if (norm.kind == ROPE_NORM_NONE || norm.weights == nullptr) return 0;
    return norm.all_heads != 0 ? heads * head_dim : head_dim;
}

uint32_t roundUpToFour(uint32_t count) { return (count + 3) & ~3u; }

// Writes `count` floats at element `at` of the destination.
void writeFloats(const float* values, uint32_t count, uint32_t at, void* destination) {
    if (count != 0) memcpy(static_cast<char*>(destination) + size_t{at} * sizeof(float), values, count * sizeof(float));
}

} // namespace

ParameterLayout parameterLayout(const ResolvedFused& fused) {
    const RopeFusedDescription& g = fused.filled;
    const uint32_t head_dim = g.rotate.head_dim;
    ParameterLayout p = {};
    p.k_weights = p.q_weights + roundUpToFour(weightCount(g.q_norm, g.rotate.q.heads, head_dim));
    p.values = p.k_weights + roundUpToFour(weightCount(g.k_norm, g.rotate.k.heads, head_dim));
    p.end = p.values + roundUpToFour(g.query_scale.count);
    return p;
}

} // namespace rope

using namespace rope;

RopeResult ropeWriteParameters(const RopeFusedDescription* description, void* destination, RopeReason* reason) {
    clear(reason);
    if (description == nullptr) return refuseNull(reason, "description");
    ResolvedFused fused;
    const RopeResult result = resolveFused(*description, &fused, reason);
    if (result != ROPE_SUCCESS) return result;
    const RopeFusedDescription& g = fused.filled;
    const uint32_t head_dim = g.rotate.head_dim;
    const ParameterLayout p = parameterLayout(fused);
    if (p.end != 0 && destination == nullptr) return refuseNull(reason, "destination");
    if (p.end != 0) memset(destination, 0, size_t{p.end} * sizeof(float));
    writeFloats(g.q_norm.weights, weightCount(g.q_norm, g.rotate.q.heads, head_dim), p.q_weights, destination);
    writeFloats(g.k_norm.weights, weightCount(g.k_norm, g.rotate.k.heads, head_dim), p.k_weights, destination);
    writeFloats(g.query_scale.values, g.query_scale.count, p.values, destination);
    return result;
}
