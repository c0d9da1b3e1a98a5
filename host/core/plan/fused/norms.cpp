// A stage of fused passes: norms. Their defaults and refusals, the fields that shaders know them by, and the bindings
// of weights that lie in buffers of the engine's own.
//
// To add a norm: this file, shaders/fused/norms.glsl and host/core/reference/fused/norms.h. What geometry it takes is
// geometry.cpp; where its weights lie is shaders/fused/weights.glsl.
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

// Refuses options of a norm that do not go together.
RopeResult checkOptions(const char* name, RopeOperation operation, const RopeFusedTensor& tensor, RopeReason* reason) {
    const RopeNorm& norm = tensor.norm;
    const bool layer = norm.kind == ROPE_NORM_LAYER;
    const uint32_t left = norm.begin < tensor.head_dim ? tensor.head_dim - norm.begin : 0;
    const RefusalRow refusals[] = {
        invalid(!isFromTo(norm.epsilon, 0, 0x1.fffffep127) && magnitudeBits(norm.epsilon) != 0,
                "%s.norm.epsilon is %g; it must be finite and not negative", norm.epsilon),
        invalid(
            operation == ROPE_OPERATION_TRANSPOSE,
            "operation transpose with %s.norm; send the gradient back through the rotation without a norm, and through "
            "the norm in a pass of your own"),
        invalid(operation == ROPE_OPERATION_INVERSE,
                "operation inverse with %s.norm; a norm goes with the forward operation"),
        invalid(operation == ROPE_OPERATION_SHIFT,
                "operation shift with %s.norm; a norm goes with the forward operation"),
        invalid(layer && norm.all_heads != 0,
                "%s.norm.all_heads is %u with ROPE_NORM_LAYER, which takes each head by itself; leave it 0",
                norm.all_heads),
        invalid(norm.biases != nullptr && (!layer || norm.weights == nullptr),
                "%s.norm.biases is an address; biases go with ROPE_NORM_LAYER and `weights`"),
        invalid(norm.weights != nullptr && norm.no_weights != 0,
                "%s.norm.weights is an address, and %s.norm.no_weights is %u; leave one of them 0", norm.no_weights),
        invalid(
            name[0] == 'v' && hasWeightsInBuffer(norm),
            "%s.norm.weights is null, and V has no buffer of weights; give an array, or set %s.norm.no_weights to 1"),
        invalid((norm.begin | norm.dim) % 4 != 0,
                "%s.norm.begin is %u and %s.norm.dim is %u; each must be a multiple of 4", norm.begin, norm.dim),
        invalid(left == 0 || norm.dim > left,
                "%s.norm.begin is %u and %s.norm.dim is %u; a head of %u elements has no such part", norm.begin,
                norm.dim, tensor.head_dim),
    };
    return refuseByFirst(refusals, reason, name);
}

RopeResult resolveNormWeights(const char* name, uint32_t tokens, const RopeFusedTensor& tensor, RopeNorm* norm,
                              RopeReason* reason) {
    if (norm->all_heads != 0 && norm->weights_head_stride == 0) norm->weights_head_stride = norm->dim;
    if (norm->no_weights != 0) return ROPE_SUCCESS;
    const uint64_t each = norm->weights_head_stride, given = (each != 0 ? uint64_t{tensor.heads} : 1) * norm->dim;
    const RefusalRow of_array[] = {
        invalid(each != 0 && each != norm->dim,
                "%s.norm.weights_head_stride is %u; in an array it is 0 or the %u elements of the norm", each,
                norm->dim),
        tooLarge(given > kMaxNormElements, "%s.norm.weights are %u floats; an array holds at most %u", given,
                 kMaxNormElements),
    };
    if (norm->weights != nullptr) return refuseByFirst(of_array, reason, name);
    if (norm->weights_element == ROPE_ELEMENT_DEFAULT) norm->weights_element = ROPE_ELEMENT_F32;
    const RefusalRow of_buffer[] = {
        invalid(norm->weights_element < ROPE_ELEMENT_F32 || norm->weights_element > kLastTensorElement,
                "%s.norm.weights_element is %d; weights are floats, %d to %d", norm->weights_element, ROPE_ELEMENT_F32,
                kLastTensorElement),
        tooLarge(norm->weights_offset > kMaxStride, "%s.norm.weights_offset is %u; it may be at most 2^33 elements",
                 norm->weights_offset),
        tooLarge(norm->weights_token_stride > kMaxStride,
                 "%s.norm.weights_token_stride is %u; it may be at most 2^33 elements", norm->weights_token_stride),
        tooLarge(each > kMaxStride, "%s.norm.weights_head_stride is %u; it may be at most 2^33 elements", each),
        tooLarge(weightElements(*norm, tokens, tensor.heads) > UINT32_MAX - kMostWeightsBefore,
                 "%s.norm's weights span %u elements, more than 32 bits count; use smaller strides",
                 weightElements(*norm, tokens, tensor.heads)),
    };
    return refuseByFirst(of_buffer, reason, name);
}

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
    setNativeHalves(limits, pass, norm.weights_element);
}
static_assert(ROPE_BINDING_K_WEIGHTS == ROPE_BINDING_Q_WEIGHTS + 1 && ROPE_SLOT_K_WEIGHTS == ROPE_SLOT_Q_WEIGHTS + 1,
              "K's weights follow Q's");

} // namespace

RopeResult resolveNorm(const char* name, const RopeRotateDescription& d, RopeFusedTensor* tensor, RopeReason* reason) {
    RopeNorm* norm = &tensor->norm;
    const RefusalRow refusals[] = {
        invalid(norm->kind < ROPE_NORM_NONE || norm->kind > ROPE_NORM_LAYER,
                "%s.norm.kind is %d; it must be a RopeNormKind, 0 to %d", norm->kind, ROPE_NORM_LAYER),
        invalid(norm->kind != ROPE_NORM_NONE && tensor->heads == 0,
                "%s.norm.kind is %d, and %s has no heads to norm; leave it 0", norm->kind),
    };
    RopeResult result = refuseByFirst(refusals, reason, name);
    if (result != ROPE_SUCCESS || norm->kind == ROPE_NORM_NONE) return result;
    result = checkOptions(name, d.rotation.operation, *tensor, reason);
    if (result != ROPE_SUCCESS) return result;
    if (norm->dim == 0) norm->dim = tensor->head_dim - norm->begin;
    const RefusalRow too_large[] = {
        tooLarge(norm->all_heads != 0 && uint64_t{tensor->heads} * norm->dim > kMaxNormElements,
                 "%s.norm.all_heads of %u heads of %u elements; it takes at most %u", tensor->heads, norm->dim,
                 kMaxNormElements),
    };
    result = refuseByFirst(too_large, reason, name);
    return result != ROPE_SUCCESS ? result : resolveNormWeights(name, d.tokens, *tensor, norm, reason);
}

bool canNormTogether(const FusedTensor& a, const FusedTensor& b) {
    if (isNormed(a) && isNormed(b))
        return a.norm.all_heads == b.norm.all_heads && (b.role == kV || a.norm.after == b.norm.after);
    return b.role == kV || (!normsAllHeads(a) && !normsAllHeads(b));
}

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
