// This file lays out PARAMETERS, the weights of norms, the scale of queries and given scales, and writes them:
// ropeWriteParameters.

#include "plan/fused/parameters.h"
#include "plan/fused/resolve.h"
#include "plan/left_out.h"
#include <string.h>

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

uint32_t weightCount(const RopeFusedTensor& t) {
    const RopeNorm& norm = t.norm;
    if (norm.kind == ROPE_NORM_NONE || norm.weights == nullptr) return 0;
    return (norm.weights_head_stride != 0 ? t.heads : 1) * norm.dim;
}

// Returns the weights and the biases of a norm.
uint32_t normCount(const RopeFusedTensor& t) { return weightCount(t) * (t.norm.biases != nullptr ? 2 : 1); }

uint32_t roundUpToFour(uint32_t count) { return (count + 3) & ~3u; }

// Writes `count` floats at element `at` of the destination.
void writeFloats(const float* values, uint32_t count, uint32_t at, void* destination) {
    if (count != 0) memcpy(static_cast<char*>(destination) + size_t{at} * sizeof(float), values, count * sizeof(float));
}

void writeNorm(const RopeFusedTensor& t, uint32_t at, void* destination) {
    const uint32_t count = weightCount(t);
    writeFloats(t.norm.weights, count, at, destination);
    if (t.norm.biases != nullptr) writeFloats(t.norm.biases, count, at + count, destination);
}

} // namespace

ParameterLayout parameterLayout(const ResolvedFused& fused) {
    const RopeFusedDescription& g = fused.filled;
    ParameterLayout p = {};
    p.weights[kQ] = roundUpToFour(g.query_scale.count);
    p.weights[kK] = p.weights[kQ] + roundUpToFour(normCount(g.q));
    p.weights[kV] = p.weights[kK] + roundUpToFour(normCount(g.k));
    p.scales[0] = p.weights[kV] + roundUpToFour(normCount(g.v));
    p.scales[1] = p.scales[0] + roundUpToFour(g.k.given_scale.count);
    p.end = p.scales[1] + roundUpToFour(g.v.given_scale.count);
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
    const ParameterLayout p = parameterLayout(fused);
    if (p.end != 0 && destination == nullptr) return refuseNull(reason, "destination");
    if (p.end != 0) memset(destination, 0, size_t{p.end} * sizeof(float));
    writeNorm(g.q, p.weights[kQ], destination);
    writeNorm(g.k, p.weights[kK], destination);
    writeNorm(g.v, p.weights[kV], destination);
    writeFloats(g.query_scale.values, g.query_scale.count, 0, destination);
    const RopeCacheScale &k_scale = g.k.given_scale, &v_scale = g.v.given_scale;
    writeFloats(k_scale.values, k_scale.count, p.scales[0], destination);
    writeFloats(v_scale.values, v_scale.count, p.scales[1], destination);
    return result;
}
#else

RopeResult ropeWriteParameters(const RopeFusedDescription*, void*, RopeReason* reason) {
    return rope::refuseLeftOut("fused passes", "FUSED", reason);
}

#endif
