// This file lays out PARAMETERS, the weights of norms, the scale of queries and given scales, and writes them:
// ropeWriteParameters.
#include "plan/fused/resolve.h"
#include "plan/left_out.h"

#include <string.h>

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

// One array of PARAMETERS.
struct Part {
    const float* values;
    uint32_t count;
};
// The arrays in their order. Each is padded to four elements; a norm takes fours.
struct Parts {
    Part of[9];
};

Part partOf(const RopeFusedTensor& t, const float* values) {
    const bool given = t.norm.kind != ROPE_NORM_NONE && values != nullptr;
    return {values, given ? (t.norm.weights_head_stride != 0 ? t.heads : 1) * t.norm.dim : 0};
}

Parts partsOf(const RopeFusedDescription& g) {
    return {{{g.query_scale.values, g.query_scale.count},
             partOf(g.q, g.q.norm.weights),
             partOf(g.q, g.q.norm.biases),
             partOf(g.k, g.k.norm.weights),
             partOf(g.k, g.k.norm.biases),
             partOf(g.v, g.v.norm.weights),
             partOf(g.v, g.v.norm.biases),
             {g.k.given_scale.values, g.k.given_scale.count},
             {g.v.given_scale.values, g.v.given_scale.count}}};
}

uint32_t roundUpToFour(uint32_t count) { return (count + 3) & ~3u; }

} // namespace

ParameterLayout parameterLayout(const ResolvedFused& fused) {
    uint32_t at[10] = {};
    const Parts parts = partsOf(fused.filled);
    for (uint32_t i = 0; i < 9; ++i) at[i + 1] = at[i] + roundUpToFour(parts.of[i].count);
    return {{at[1], at[3], at[5]}, {at[7], at[8]}, at[9]};
}

} // namespace rope

using namespace rope;

RopeResult ropeWriteParameters(const RopeFusedDescription* description, void* destination, RopeReason* reason) {
    clear(reason);
    if (description == nullptr) return refuseNull(reason, "description");
    ResolvedFused fused;
    const RopeResult result = resolveFused(*description, &fused, reason);
    if (result != ROPE_SUCCESS) return result;
    const uint32_t end = parameterLayout(fused).end;
    if (end == 0) return result;
    if (destination == nullptr) return refuseNull(reason, "destination");
    memset(destination, 0, size_t{end} * sizeof(float));
    char* to = static_cast<char*>(destination);
    for (const Part& part : partsOf(fused.filled).of) {
        if (part.count != 0) memcpy(to, part.values, part.count * sizeof(float));
        to += roundUpToFour(part.count) * sizeof(float);
    }
    return result;
}
#else

RopeResult ropeWriteParameters(const RopeFusedDescription*, void*, RopeReason* reason) {
    return rope::refuseLeftOut("fused passes", "FUSED", reason);
}

#endif
