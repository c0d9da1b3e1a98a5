// A stage of fused passes: norms. Their defaults and refusals, the fields that shaders know them by, and the bindings
// of weights that lie in buffers of the engine's own.
#include "plan/fused/norms.h"
#include "plan/fused/record.h"
#include "rules/fixed.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

constexpr uint64_t kMaxNormElements = 1u << 20; // elements that a norm over all heads takes together

// Returns the elements from the first weight to behind the last that any token and head reads.
uint64_t weightElements(const RopeNorm& norm, uint32_t tokens, uint32_t heads) {
    return (tokens - 1ull) * norm.weights_token_stride + (heads - 1ull) * norm.weights_head_stride + norm.dim;
}

constexpr uint64_t kMostWeightsBefore = 0xFFFF; // elements of a binding before its first weight

RopeResult checkOperation(const char* name, RopeOperation operation, RopeReason* reason) {
    if (operation == ROPE_OPERATION_FORWARD) return ROPE_SUCCESS;
    if (operation == ROPE_OPERATION_TRANSPOSE) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "operation transpose with %s.norm; send the gradient back through the rotation without a norm, "
                      "and through the norm in a pass of your own",
                      name);
    }
    return refuse(reason, ROPE_ERROR_INVALID, "operation %s with %s.norm; a norm goes with the forward operation",
                  operation == ROPE_OPERATION_INVERSE ? "inverse" : "shift", name);
}

// Fills in the part of a head that a norm takes.
RopeResult resolvePart(const char* name, const RopeFusedTensor& tensor, RopeNorm* norm, RopeReason* reason) {
    if ((norm->begin | norm->dim) % 4 != 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s.norm.begin is %u and %s.norm.dim is %u; each must be a multiple of 4", name, norm->begin,
                      name, norm->dim);
    }
    if (norm->begin >= tensor.head_dim || norm->dim > tensor.head_dim - norm->begin) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s.norm.begin is %u and %s.norm.dim is %u; a head of %u elements has no such part", name,
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
                      "%s.norm.all_heads is %u with ROPE_NORM_LAYER, which takes each head by itself; leave it 0", name,
                      norm.all_heads);
    }
    if (norm.biases != nullptr && (!layer || norm.weights == nullptr)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s.norm.biases is an address; biases go with ROPE_NORM_LAYER and `weights`", name);
    }
    if (norm.weights != nullptr && norm.no_weights != 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s.norm.weights is an address, and %s.norm.no_weights is %u; leave one of them 0", name, name,
                      norm.no_weights);
    }
    if (is_v && hasWeightsInBuffer(norm)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s.norm.weights is null, and V has no buffer of weights; give an array, or set "
                      "%s.norm.no_weights to 1",
                      name, name);
    }
    return ROPE_SUCCESS;
}

// Heads share an array's weights, or each has weights behind the last head's.
RopeResult checkArrayOfWeights(const char* name, const RopeFusedTensor& tensor, const RopeNorm& norm,
                               RopeReason* reason) {
    if (norm.weights_head_stride != 0 && norm.weights_head_stride != norm.dim) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s.norm.weights_head_stride is %llu; in an array it is 0 or the %u elements of the norm", name,
                      static_cast<unsigned long long>(norm.weights_head_stride), norm.dim);
    }
    const uint64_t weights = (norm.weights_head_stride != 0 ? uint64_t{tensor.heads} : 1) * norm.dim;
    if (weights <= kMaxNormElements) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s.norm.weights are %llu floats; an array holds at most %llu", name,
                  static_cast<unsigned long long>(weights), static_cast<unsigned long long>(kMaxNormElements));
}

RopeResult resolveNormWeights(const char* name, uint32_t tokens, const RopeFusedTensor& tensor, RopeNorm* norm,
                              RopeReason* reason) {
    if (norm->all_heads != 0 && norm->weights_head_stride == 0) norm->weights_head_stride = norm->dim;
    if (norm->no_weights != 0) return ROPE_SUCCESS;
    if (norm->weights != nullptr) return checkArrayOfWeights(name, tensor, *norm, reason);
    if (norm->weights_element == ROPE_ELEMENT_DEFAULT) norm->weights_element = ROPE_ELEMENT_F32;
    if (norm->weights_element < ROPE_ELEMENT_F32 || norm->weights_element > kLastTensorElement) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s.norm.weights_element is %d; weights are floats, %d to %d", name,
                      static_cast<int>(norm->weights_element), ROPE_ELEMENT_F32, kLastTensorElement);
    }
    const struct {
        const char* names[2]; // of Q's norm and of K's
        uint64_t value;
    } distances[] = {
        {{"q.norm.weights_offset", "k.norm.weights_offset"}, norm->weights_offset},
        {{"q.norm.weights_token_stride", "k.norm.weights_token_stride"}, norm->weights_token_stride},
        {{"q.norm.weights_head_stride", "k.norm.weights_head_stride"}, norm->weights_head_stride},
    };
    for (const auto& distance : distances) {
        const RopeResult result = checkStrideLimit(distance.names[name[0] != 'q'], distance.value, reason);
        if (result != ROPE_SUCCESS) return result;
    }
    const uint64_t elements = weightElements(*norm, tokens, tensor.heads);
    if (elements <= UINT32_MAX - kMostWeightsBefore) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "%s.norm's weights span %llu elements, more than 32 bits count; use smaller strides", name,
                  static_cast<unsigned long long>(elements));
}

} // namespace

RopeResult resolveNorm(const char* name, const RopeRotateDescription& d, const RopeFusedTensor& tensor, RopeNorm* norm,
                       RopeReason* reason) {
    if (norm->kind < ROPE_NORM_NONE || norm->kind > ROPE_NORM_LAYER) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s.norm.kind is %d; it must be a RopeNormKind, 0 to %d", name,
                      static_cast<int>(norm->kind), ROPE_NORM_LAYER);
    }
    if (norm->kind == ROPE_NORM_NONE) return ROPE_SUCCESS;
    if (tensor.heads == 0) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s.norm.kind is %d, and %s has no heads to norm; leave it 0", name,
                      static_cast<int>(norm->kind), name);
    }
    const double epsilon = norm->epsilon;
    if (!isFromTo(epsilon, 0, 0x1.fffffep127) && magnitudeBits(epsilon) != 0) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s.norm.epsilon is %.9g; it must be finite and not negative", name,
                      epsilon);
    }
    RopeResult result = checkOperation(name, d.rotation.operation, reason);
    if (result == ROPE_SUCCESS) result = checkOptions(name, name[0] == 'v', *norm, reason);
    if (result == ROPE_SUCCESS) result = resolvePart(name, tensor, norm, reason);
    if (result != ROPE_SUCCESS) return result;
    const uint64_t together = static_cast<uint64_t>(tensor.heads) * norm->dim;
    if (norm->all_heads == 0 || together <= kMaxNormElements)
        return resolveNormWeights(name, d.tokens, tensor, norm, reason);
    return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s.norm.all_heads of %u heads of %u elements; it takes at most %llu",
                  name, tensor.heads, norm->dim, static_cast<unsigned long long>(kMaxNormElements));
}

bool canNormTogether(const FusedTensor& a, const FusedTensor& b) {
    if (isNormed(a) && isNormed(b))
        return a.norm.all_heads == b.norm.all_heads && (b.role == kV || a.norm.after == b.norm.after);
    return b.role == kV || (!normsAllHeads(a) && !normsAllHeads(b));
}

namespace {

// True if the norm takes another part of its head than all of the dispatch's widest head.
bool takesPart(const FusedGroup& group, const FusedTensor& t) {
    return anyOf(group, [&](const FusedTensor& other) { return other.d.head_dim > t.norm.dim; });
}

uint32_t normBits(const FusedTensor& t) {
    const RopeNorm& norm = t.norm;
    uint32_t bits = norm.after != 0 ? ROPE_NORM_AFTER : ROPE_NORM_BEFORE;
    if (norm.kind == ROPE_NORM_LAYER) bits |= ROPE_NORM_CENTERED;
    if (norm.all_heads != 0) bits |= ROPE_NORM_ALL_HEADS;
    if (norm.weights != nullptr) bits |= ROPE_NORM_GIVEN;
    if (norm.weights != nullptr && norm.weights_head_stride != 0) bits |= ROPE_NORM_PER_HEAD;
    if (norm.biases != nullptr) bits |= ROPE_NORM_BIASED;
    return bits;
}

void setNorm(const FusedTensor& t, uint32_t uniform_at, uint32_t* fields) {
    const RopeNorm& norm = t.norm;
    const uint32_t count = (norm.all_heads != 0 ? t.heads : 1) * norm.dim;
    fields[field::norm_range] = norm.dim / 4 | norm.begin / 4 << 16;
    fields[field::norm_bits] |= normBits(t);
    fields[field::norm_share] = floatConstant(norm.kind == ROPE_NORM_L2 ? 1.0f : 1.0f / static_cast<float>(count));
    fields[field::epsilon] = floatConstant(norm.epsilon);
    if (norm.weights != nullptr) fields[field::uniform_at] = uniform_at / 4;
    if (norm.no_weights == 0) fields[field::weight_plus] = floatConstant(norm.weight_plus);
}

// Binds weights that lie in a buffer of their own.
void bindWeights(const FusedTensor& t, const RopeLimits& limits, RopeFusedPush* push, PlanPass* pass) {
    const RopeNorm& norm = t.norm;
    const uint32_t side = t.role == kQ ? 0 : 1, bytes = ropeElementBytes(norm.weights_element);
    uint32_t* fields = record(pass->constants, t.role);
    fields[field::norm_bits] |= (1 + shaderElement(norm.weights_element)) << ROPE_NORM_WEIGHTS;
    fields[field::weight_token] = lowWord(norm.weights_token_stride);
    fields[field::weight_head] = lowWord(norm.weights_head_stride);
    push->weights_at[side] = lowWord(norm.weights_offset * bytes % limits.storage_alignment / bytes);
    pass->access[ROPE_BINDING_Q_WEIGHTS + side] = {static_cast<uint32_t>(ROPE_SLOT_Q_WEIGHTS) + side,
                                                   bytes,
                                                   norm.weights_offset,
                                                   {0, 0, 0},
                                                   weightElements(norm, t.d.tokens, t.heads)};
    pass->whole_bindings |= 1u << (ROPE_BINDING_Q_WEIGHTS + side);
    if (norm.weights_element == ROPE_ELEMENT_F16 && (limits.enabled & ROPE_ENABLED_NATIVE_HALVES) != 0)
        pass->constants[ROPE_ID_NATIVE_HALVES] = 1;
}
static_assert(ROPE_BINDING_K_WEIGHTS == ROPE_BINDING_Q_WEIGHTS + 1 && ROPE_SLOT_K_WEIGHTS == ROPE_SLOT_Q_WEIGHTS + 1,
              "K's weights follow Q's");

} // namespace

// V does not rotate, so its norm runs in the same stage as Q's or K's.
void setNorms(const FusedGroup& group, const ParameterLayout& parameters, const RopeLimits& limits, RopeFusedPush* push,
              PlanPass* pass) {
    uint64_t places = 0;
    uint32_t common = 0;
    forEachTensor(group, [&](const FusedTensor& t) {
        if (!isNormed(t)) return;
        if (common == 0 || t.role != kV) common = normBits(t);
        if (takesPart(group, t)) pass->constants[ROPE_ID_PASS] |= ROPE_PASS_NORM_PART;
        if (hasWeightsInBuffer(t.norm))
            places |= t.norm.weights_offset | t.norm.weights_token_stride | t.norm.weights_head_stride;
    });
    if (common == 0) return;
    forEachTensor(group, [&](const FusedTensor& t) {
        uint32_t* fields = record(pass->constants, t.role);
        if (!isNormed(t)) {
            fields[field::norm_bits] = common;
            return;
        }
        setNorm(t, parameters.weights[t.role], fields);
        if (t.role == kV) fields[field::norm_bits] &= ~(ROPE_NORM_BEFORE | ROPE_NORM_AFTER);
        fields[field::norm_bits] |= common & (ROPE_NORM_BEFORE | ROPE_NORM_AFTER);
        if (!hasWeightsInBuffer(t.norm)) return;
        bindWeights(t, limits, push, pass);
        if (places % 4 == 0) fields[field::norm_bits] |= ROPE_NORM_BY_FOUR;
    });
}

} // namespace rope
#endif
