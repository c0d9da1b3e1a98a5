// This file has the record of each tensor as constants, and what follows from the records.
#ifndef ROPE_RECORD_GLSL
#define ROPE_RECORD_GLSL
#include "layout.glsl"
#include "../runs.glsl"

// A field's function takes a tensor: kFirst, kSecond or kThird, which are Q, K and V. Where all tensors of a dispatch have
// one value, compilers drop the choice.
#define CACHE_FIELD(name, at)                                                                                          \
    layout(constant_id = ROPE_ID_RECORD_K + at) const uint kK_##name = 0;                                              \
    layout(constant_id = ROPE_ID_RECORD_V + at) const uint kV_##name = 0;                                              \
    uint name##_of(uint tensor) { return choose(tensor == kThird, kV_##name, kK_##name); }
#define FIELD(name, at)                                                                                                \
    layout(constant_id = ROPE_ID_RECORD_Q + at) const uint kQ_##name = 0;                                              \
    layout(constant_id = ROPE_ID_RECORD_K + at) const uint kK_##name = 0;                                              \
    layout(constant_id = ROPE_ID_RECORD_V + at) const uint kV_##name = 0;                                              \
    uint name##_of(uint tensor) {                                                                                      \
        return choose(tensor == kFirst, kQ_##name, choose(tensor == kThird, kV_##name, kK_##name));                    \
    }
ROPE_RECORD(FIELD)
ROPE_CACHE_RECORD(CACHE_FIELD)

layout(constant_id = ROPE_ID_APART) const uint kApart = 0;
// A dispatch has one quantized format, of K, of V or of both.
const bool kKQuantized = ROPE_IS_FOR_CACHES(kK_kind & ROPE_TENSOR_ELEMENT);
const uint kCacheKind = kKQuantized ? kK_kind : kV_kind;
const bool kQuantizes = ROPE_IS_FOR_CACHES(kCacheKind & ROPE_TENSOR_ELEMENT);
const bool kVQuantized = ROPE_IS_FOR_CACHES(kV_kind & ROPE_TENSOR_ELEMENT);
const bool kSomeFloats = !kKQuantized || !kVQuantized; // K or V stays a float
// Floats beside a quantized tensor mostly have one element, which needs no choice by tensor.
const uint kQElement = kQ_kind & ROPE_TENSOR_ELEMENT;
const uint kFloatElement = kQ_heads != 0u || !kSomeFloats ? kQElement : (kKQuantized ? kV_kind : kK_kind) & ROPE_TENSOR_ELEMENT;
const bool kOneFloat = (kKQuantized || (kK_kind & ROPE_TENSOR_ELEMENT) == kFloatElement) &&
                       (kVQuantized || (kV_kind & ROPE_TENSOR_ELEMENT) == kFloatElement);

bool is_q(uint tensor) { return kQ_heads != 0u && tensor == kFirst; }
// A bit that all tensors have needs no choice by tensor, and compilers do not see that.
bool has_kind(uint tensor, uint bit) {
    return (kQ_kind & kK_kind & kV_kind & bit) != 0u || (kind_of(tensor) & bit) != 0u;
}
bool turns(uint tensor) { return has_kind(tensor, ROPE_STAGE_TURN); }
const bool kStagesAtLoad = ((kQ_kind | kK_kind | kV_kind) & ROPE_STAGES_AT_LOAD) != 0u;
uint element_of(uint tensor) { return kind_of(tensor) & ROPE_TENSOR_ELEMENT; }
uint float_element_of(uint tensor) { return kOneFloat ? kFloatElement : element_of(tensor); }
bool is_quantized(uint tensor) {
    if (kKQuantized && kVQuantized) return !is_q(tensor); // an answer that compilers see through
    return ROPE_IS_FOR_CACHES(element_of(tensor));
}

Width width_of(uint tensor) {
    return Width(choose(has_kind(tensor, ROPE_TENSOR_PAIRED), kPairLanes, 0u), rotary_begin_of(tensor), pass_elements_of(tensor));
}
#define WIDER(a, b) ((a) > (b) ? (a) : (b))
#define WIDEST(q, k, v) WIDER(q, WIDER(k, v))
#define HEAD_QUADS(kind, pass) (((pass) + (((kind) & ROPE_TENSOR_PAIRED) != 0u ? 2u * kPairs : 0u)) / 4u)
uint head_quads(uint tensor) {
    return (pass_elements_of(tensor) + choose(has_kind(tensor, ROPE_TENSOR_PAIRED), 2u * kPairs, 0u)) / 4u;
}

// Q has the first of two lengths, K and V have the second.
uint length_from(uint tensor) { return choose(is_q(tensor), push.length_from_0, push.length_from_1); }
uint length_to(uint tensor) { return choose(is_q(tensor), push.length_to_0, push.length_to_1); }
uint from_begin(uint tensor) { return choose(is_q(tensor), push.from_0, choose(tensor == kThird, push.from_2, push.from_1)); }
uint to_begin(uint tensor) { return choose(is_q(tensor), push.to_0, choose(tensor == kThird, push.to_2, push.to_1)); }

bool is_in_place(uint tensor) { return is_q(tensor) ? kFirstInPlace : kKvInPlace; }

// True if K, or V, has another buffer than the tensor before it.
const bool kWritesSecond = (kApart & ROPE_APART_DESTINATION_K) != 0u;
const bool kWritesThird = (kApart & ROPE_APART_DESTINATION_V) != 0u;
const bool kReadsSecond = (kApart & (kKvInPlace ? ROPE_APART_DESTINATION_K : ROPE_APART_SOURCE_K)) != 0u;
const bool kReadsThird = (kApart & (kKvInPlace ? ROPE_APART_DESTINATION_V : ROPE_APART_SOURCE_V)) != 0u;
// These tell if a tensor lies in the second or in the third buffer. Callers ask for each, and the constants leave no
// branch for one that is not there.
bool is_in(uint tensor, uint which, bool second, bool third) {
    if (which == kThird) return third && tensor == kThird;
    return second && !is_q(tensor) && !(third && tensor == kThird);
}
bool is_written_to(uint tensor, uint which) { return is_in(tensor, which, kWritesSecond, kWritesThird); }
bool is_read_from(uint tensor, uint which) { return is_in(tensor, which, kReadsSecond, kReadsThird); }

#endif
