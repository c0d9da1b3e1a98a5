// This file owns the norms of fused passes: their defaults and refusals, and the constants that shaders know them by.
#include "plan/fused/norms.h"
#include "plan/fused/dispatch.h"
#include "plan/fused/parameters.h"
#include "plan/fused/resolve.h"
#include "plan/fused/weights.h"
#include "rules/fixed.h"

#include <string.h>

namespace rope {
namespace {

constexpr uint64_t kMaxNormElements = 1u << 20; // elements that a norm over all heads takes together

// Specialization constants are words, so a float32 goes in as its bits.
uint32_t floatConstant(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

RopeResult checkOperation(const char* name, RopeOperation operation, RopeReason* reason) {
    if (operation == ROPE_OPERATION_FORWARD) return ROPE_SUCCESS;
    if (operation == ROPE_OPERATION_TRANSPOSE) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "operation transpose with %s_norm; send the gradient back through the rotation without a norm, "
                      "and through the norm in a pass of your own",
                      name);
    }
    return refuse(reason, ROPE_ERROR_INVALID, "operation %s with %s_norm; a norm goes with the forward operation",
                  operation == ROPE_OPERATION_INVERSE ? "inverse" : "shift", name);
}

// Fills in the part of a head that a norm takes.
RopeResult resolvePart(const char* name, const RopeTensor& tensor, RopeNorm* norm, RopeReason* reason) {
    if ((norm->begin | norm->dim) % 4 != 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s_norm.begin is %u and %s_norm.dim is %u; each must be a multiple of 4", name, norm->begin,
                      name, norm->dim);
    }
    if (norm->begin >= tensor.head_dim || norm->dim > tensor.head_dim - norm->begin) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s_norm.begin is %u and %s_norm.dim is %u; a head of %u elements has no such part", name,
                      norm->begin, name, norm->dim, tensor.head_dim);
    }
    if (norm->dim == 0) norm->dim = tensor.head_dim - norm->begin;
    return ROPE_SUCCESS;
}

// Refuses options of a norm that do not go together.
RopeResult checkOptions(const char* name, bool is_v, const RopeNorm& norm, RopeReason* reason) {
    const bool layer = norm.kind == ROPE_NORM_LAYER;
    if (layer && norm.all_heads != 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s_norm.all_heads is %u with ROPE_NORM_LAYER, which takes each head by itself; leave it 0", name,
                      norm.all_heads);
    }
    if (norm.biases != nullptr && (!layer || norm.weights == nullptr)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s_norm.biases is an address; biases go with ROPE_NORM_LAYER and `weights`", name);
    }
    if (is_v && norm.weights_on_device != 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s_norm.weights_on_device is %u; weights of V's norm lie in PARAMETERS, so give `weights`", name,
                      norm.weights_on_device);
    }
    return ROPE_SUCCESS;
}

} // namespace

RopeResult resolveNorm(const char* name, const RopeRotateDescription& d, const RopeTensor& tensor, RopeNorm* norm,
                       RopeReason* reason) {
    if (norm->kind < ROPE_NORM_NONE || norm->kind > ROPE_NORM_LAYER) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s_norm.kind is %d; it must be a RopeNormKind, 0 to %d", name,
                      static_cast<int>(norm->kind), ROPE_NORM_LAYER);
    }
    if (norm->kind == ROPE_NORM_NONE) return ROPE_SUCCESS;
    if (tensor.heads == 0) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s_norm.kind is %d, and %s has no heads to norm; leave it 0", name,
                      static_cast<int>(norm->kind), name);
    }
    const double epsilon = norm->epsilon;
    if (!isFromTo(epsilon, 0, 0x1.fffffep127) && magnitudeBits(epsilon) != 0) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s_norm.epsilon is %.9g; it must be finite and not negative", name,
                      epsilon);
    }
    RopeResult result = checkOperation(name, d.operation, reason);
    if (result == ROPE_SUCCESS) result = checkOptions(name, name[0] == 'v', *norm, reason);
    if (result == ROPE_SUCCESS) result = resolvePart(name, tensor, norm, reason);
    if (result != ROPE_SUCCESS) return result;
    const uint64_t together = static_cast<uint64_t>(tensor.heads) * norm->dim;
    if ((norm->all_heads | norm->weights_per_head) == 0 || together <= kMaxNormElements)
        return resolveNormWeights(name, d.tokens, tensor, norm, reason);
    return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s_norm.%s of %u heads of %u elements; it takes at most %llu", name,
                  norm->all_heads != 0 ? "all_heads" : "weights_per_head", tensor.heads, norm->dim,
                  static_cast<unsigned long long>(kMaxNormElements));
}

bool canNormTogether(const FusedTensor& a, const FusedTensor& b) {
    if (isNormed(a) && isNormed(b))
        return a.norm.all_heads == b.norm.all_heads && (b.role == kV || a.norm.after == b.norm.after);
    return b.role == kV || (!normsAllHeads(a) && !normsAllHeads(b));
}

uint32_t normQuads(const FusedDispatch& dispatch) {
    uint32_t most = 0;
    for (const FusedTensor* t : dispatch.tensors)
        if (t != nullptr && isNormed(*t) && t->norm.dim > most) most = t->norm.dim;
    return most / 4;
}

namespace {

// The ids of one tensor's norm.
struct NormIds {
    uint32_t quads, share, epsilon, weights, offset;
};
constexpr NormIds kNormIds[] = {
    {ROPE_ID_Q_NORM_QUADS, ROPE_ID_Q_NORM_SHARE, ROPE_ID_Q_EPSILON, ROPE_ID_Q_WEIGHTS, ROPE_ID_Q_WEIGHT_OFFSET},
    {ROPE_ID_K_NORM_QUADS, ROPE_ID_K_NORM_SHARE, ROPE_ID_K_EPSILON, ROPE_ID_K_WEIGHTS, ROPE_ID_K_WEIGHT_OFFSET},
    {ROPE_ID_V_NORM_QUADS, ROPE_ID_V_NORM_SHARE, ROPE_ID_V_EPSILON, ROPE_ID_V_WEIGHTS, ROPE_ID_V_WEIGHT_OFFSET}};

// True if the norm takes another part of its head than all of the dispatch's widest head.
bool takesPart(const FusedDispatch& dispatch, const FusedTensor& t) {
    for (const FusedTensor* other : dispatch.tensors)
        if (other != nullptr && other->d.head_dim > t.norm.dim) return true;
    return false;
}

void setTensorNorm(const FusedTensor& t, uint32_t weights, uint32_t* constants) {
    const RopeNorm& norm = t.norm;
    const NormIds& ids = kNormIds[t.role];
    const uint32_t count = (norm.all_heads != 0 ? t.heads : 1) * norm.dim;
    const uint32_t bits = (norm.kind == ROPE_NORM_LAYER ? ROPE_NORM_CENTERED : 0) |
                          (norm.biases != nullptr ? ROPE_NORM_BIASED : 0) |
                          (norm.weights_per_head != 0 ? ROPE_NORM_PER_HEAD : 0);
    constants[ROPE_ID_NORM_BITS] |= bits << 8 * t.role;
    constants[ids.quads] = norm.dim / 4 | norm.begin / 4 << 16;
    constants[ids.share] = floatConstant(norm.kind == ROPE_NORM_L2 ? 1.0f : 1.0f / static_cast<float>(count));
    constants[ids.epsilon] = floatConstant(norm.epsilon);
    if (norm.weights == nullptr && norm.weights_on_device == 0) return;
    if (norm.weights != nullptr) constants[ids.weights] = weights;
    constants[ids.offset] = floatConstant(norm.weight_offset);
}

} // namespace

// V stands at no turn, so its norm comes wherever that of Q or K does.
void setNorms(const FusedDispatch& dispatch, const ParameterLayout& parameters, RopePass* pass) {
    uint32_t* constants = pass->constants;
    const uint32_t weights[] = {parameters.q_weights, parameters.k_weights, parameters.v_weights};
    for (const FusedRole role : kFusedRoles) {
        constants[kNormIds[role].weights] = ROPE_NOWHERE;
        if (!dispatch.has(role) || !isNormed(*dispatch.tensors[role])) continue;
        const FusedTensor& t = *dispatch.tensors[role];
        if (constants[ROPE_ID_NORM] == ROPE_NORM_OFF) {
            constants[ROPE_ID_NORM] = t.norm.after != 0 ? ROPE_NORM_LAST : ROPE_NORM_FIRST;
            constants[ROPE_ID_NORM_ALL_HEADS] = t.norm.all_heads != 0;
        }
        setTensorNorm(t, weights[role], constants);
        if (takesPart(dispatch, t)) constants[ROPE_ID_NORM_BITS] |= ROPE_NORM_PART;
    }
}

} // namespace rope
