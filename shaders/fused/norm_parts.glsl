// This file says which tensors are normed, and which part of their heads.
#ifndef ROPE_NORM_PARTS_GLSL
#define ROPE_NORM_PARTS_GLSL
#include "item.glsl"
#include "../quads.glsl"
#include "../numbers/reciprocal.h"

layout(constant_id = ROPE_ID_HEAD_QUADS) const uint kHeadQuads = 1;
#ifdef ROPE_SHIFTS
const uint kNorm = ROPE_NORM_OFF;
#else
layout(constant_id = ROPE_ID_NORM) const uint kNorm = ROPE_NORM_OFF;
#endif
layout(constant_id = ROPE_ID_NORM_ALL_HEADS) const uint kNormAllHeads = 0;
layout(constant_id = ROPE_ID_Q_NORM_QUADS) const uint kQNormQuads = 0;
layout(constant_id = ROPE_ID_K_NORM_QUADS) const uint kKNormQuads = 0;
layout(constant_id = ROPE_ID_V_NORM_QUADS) const uint kVNormQuads = 0;
layout(constant_id = ROPE_ID_NORM_BITS) const uint kNormBits = 0;
layout(constant_id = ROPE_ID_Q_NORM_SHARE) const uint kQNormShare = 0;
layout(constant_id = ROPE_ID_K_NORM_SHARE) const uint kKNormShare = 0;
layout(constant_id = ROPE_ID_V_NORM_SHARE) const uint kVNormShare = 0;
layout(constant_id = ROPE_ID_Q_EPSILON) const uint kQEpsilon = 0;
layout(constant_id = ROPE_ID_K_EPSILON) const uint kKEpsilon = 0;
layout(constant_id = ROPE_ID_V_EPSILON) const uint kVEpsilon = 0;

// Returns the places of a quad's two vectors in its head, counted in fours of elements.
uint[2] quad_places(Runs runs, uint quad, bool interleaved) {
    if (kByWords) return uint[](runs.place[0] / 4u, runs.place[1] / 4u);
    if (interleaved && kQuads == 2u) return uint[](runs.place[quad] * 2u, runs.place[quad] * 2u + 1u);
    return uint[](runs.place[0] * kQuads + quad, runs.place[1] * kQuads + quad);
}

uint choose_by_tensor(WorkItem item, uint of_q, uint of_k, uint of_v) {
    return choose(is_q(item), of_q, choose(item.tensor == kThird, of_v, of_k));
}
// Chooses by the norm's tensor. Callers ask for V's only if it has one.
uint choose_by_norm(WorkItem item, uint of_q, uint of_k, uint of_v) {
    if (kVNormQuads == 0u) return choose(is_q(item), of_q, of_k);
    return choose_by_tensor(item, of_q, of_k, of_v);
}
bool has_norm_bit(WorkItem item, uint bit) {
    return (choose_by_norm(item, kNormBits, kNormBits >> 8, kNormBits >> 16) & bit) != 0u;
}

// The quads of a head that its norm takes. Without kPart those are all, but for tensors that have none.
const bool kPart = (kNormBits & ROPE_NORM_PART) != 0u;
const bool kCentered = (kNormBits & ROPE_NORM_BITS_OF_ALL(ROPE_NORM_CENTERED)) != 0u;
uint norm_range(WorkItem item) { return choose_by_tensor(item, kQNormQuads, kKNormQuads, kVNormQuads); }
uint norm_quads(WorkItem item) { return kPart ? norm_range(item) & 0xFFFFu : kHeadQuads; }
bool is_normed(WorkItem item) { return kNorm != ROPE_NORM_OFF && norm_range(item) != 0u; }
// Returns the place of a quad among those that the norm takes, or more than they are.
uint place_in_norm(WorkItem item, uint place) { return kPart ? place - (norm_range(item) >> 16) : place; }

#endif
