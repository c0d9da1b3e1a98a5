// A pass is one shader over one tensor, or over several. It has a grid of batches, tokens and heads, which it is split
// along; the needs of its threads and bindings; push words.
#pragma once

#include <vkrope/rope.h>

#include "shaders/interface.h"

#include <stddef.h>
#include <string.h>

namespace rope {

enum GridAxis { kBatch, kToken, kHead, kGridAxes };
static_assert(kGridAxes == ROPE_PART_AXES, "the public arrays have an entry for each axis");

template <typename Number> constexpr Number smaller(Number a, Number b) { return a < b ? a : b; }
template <typename Number> constexpr Number larger(Number a, Number b) { return a > b ? a : b; }
// Returns the largest power of two up to a count, which is not 0.
constexpr uint32_t powerOfTwo(uint32_t count) {
    uint32_t power = 1;
    while (power <= count / 2) power *= 2;
    return power;
}
// Specialization constants are words, so a float32 goes in as its bits.
inline uint32_t floatConstant(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
// *total += a * b, or false past 64 bits.
inline bool addProduct(uint64_t a, uint64_t b, uint64_t* total) {
    if (a != 0 && b > (UINT64_MAX - *total) / a) return false;
    *total += a * b;
    return true;
}
// Returns the bytes from element (0, 0, 0) over `counts` entries of each grid axis, without the offset; UINT64_MAX past
// 64 bits.
uint64_t spanBytes(const RopeAccess& access, const uint32_t counts[kGridAxes]);
// Rounds up the bytes of rows, weights and biases to words: shaders read their 16-bit elements by whole words.
inline uint64_t inWholeWords(const RopeAccess& access, uint64_t bytes) {
    const bool by_words = access.slot == ROPE_SLOT_ROWS || access.slot >= ROPE_SLOT_Q_WEIGHTS;
    return by_words && bytes < UINT64_MAX - 3 ? (bytes + 3) / 4 * 4 : bytes;
}
static_assert(ROPE_SLOT_K_WEIGHTS == ROPE_SLOT_Q_WEIGHTS + 1 && ROPE_SLOT_COUNT == ROPE_SLOT_BIASES + 1 &&
                  ROPE_SLOT_BIASES == ROPE_SLOT_K_WEIGHTS + 1,
              "weights and biases are the last slots");

// True if a finished pass reads or writes the binding.
inline bool isBound(const RopePass& pass, uint32_t binding) { return (pass.bindings & 1u << binding) != 0; }
// True if the binding is a cache.
inline bool isCache(const RopePass& pass, uint32_t binding) { return (pass.cache_bindings & 1u << binding) != 0; }
// True if every part of the pass binds the whole of this binding: no split moves it.
inline bool isBoundWhole(const RopePass& pass, uint32_t binding) { return (pass.whole_bindings & 1u << binding) != 0; }

// Returns the bindings that a pass reads or writes so far. A finished pass has them in `bindings`.
inline uint32_t boundBindings(const RopePass& pass) {
    uint32_t bound = 0;
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) bound |= static_cast<uint32_t>(pass.access[i].extent != 0) << i;
    return bound;
}
// Fills in what follows from the accesses and the parts of a pass: its bindings, and its dispatches, up to 2^32 - 1.
inline void finishPass(RopePass* pass) {
    pass->bindings = boundBindings(*pass);
    uint64_t parts = 1;
    for (const uint32_t count : pass->parts) parts = parts * count <= UINT32_MAX ? parts * count : UINT32_MAX;
    pass->dispatches = static_cast<uint32_t>(parts);
}
// Returns the hash that a context finds the pass's pipeline by.
uint32_t hashPipeline(const RopePass& pass);
// True if the passes of two plans take the same pipelines.
bool haveSamePipelines(const RopePlan& a, const RopePlan& b);

// Returns the workgroups along x; the batch is along y.
uint64_t groupCountX(const RopePass& pass, uint32_t tokens);
// Returns the workgroups along z: the blocks of heads.
uint64_t groupCountZ(const RopePass& pass, uint32_t heads);
// A PassPart is what one dispatch takes: its batches, tokens and heads.
struct PassPart {
    uint32_t begin[kGridAxes];
    uint32_t count[kGridAxes];
};
// Returns a place counted in units of so many elements.
inline RopePlace placeInUnits(uint32_t elements, const RopePlace& p) {
    return {p.offset / elements, p.batch / elements, p.token / elements, p.head / elements};
}

// The push constants of a family: those that all families share, which are given, and its own, which are 0.
template <typename Push> Push familyPush(const RopePush& shared) {
    Push push = {};
    static_assert(offsetof(Push, destination) == offsetof(RopePush, destination), "the shared words are the same");
    memcpy(&push, &shared, offsetof(RopePush, destination) + sizeof shared.destination);
    return push;
}
// Gives a fused pass, or a count, the words of other families that tell where tokens stand. A part of these is
// constants.
inline void copyTokenWords(const RopePush& tokens, uint32_t plan_tokens, RopeFusedPush* push) {
    push->rows_offset = tokens.rows.offset;
    push->sin_offset = tokens.sin_offset;
    push->scale_mantissa = tokens.scale_mantissa;
    push->scale_exponent = tokens.scale_exponent;
    push->plan_tokens = plan_tokens;
    push->window_begin = tokens.window_begin;
    push->window_end = tokens.window_end;
    push->position_offset = tokens.position_offset;
    push->position_batch = tokens.position_batch;
    push->position_axis = tokens.position_axis;
}
inline void setTokenWords(const RopePush& tokens, uint32_t plan_tokens, RopeFusedPush* push, RopePass* pass) {
    copyTokenWords(tokens, plan_tokens, push);
    pass->facts.position_token = pass->constants[ROPE_ID_POSITION_TOKEN] = tokens.position_token;
    pass->constants[ROPE_ID_ROW_TOKEN] = tokens.rows.token;
    pass->constants[ROPE_ID_ROW_PAIR] = tokens.rows.head;
}
// How a dispatch completes the push words of its pass, beside those of one tensor: RopePassFacts.words.
enum : uint32_t { kTensorWords, kRotationWords, kFusedWords, kCountWords };
// What a pass does to its tensors: RopePassFacts.stages.
constexpr uint32_t kNormBefore = 1, kTurn = 2, kNormAfter = 4, kQueryScale = 8, kFused = 16, kInPlace = 32,
                   kShares = 64, kHadamard = 128;

inline RopePush readPush(const RopePass& pass) {
    RopePush push;
    memcpy(&push, pass.push, sizeof push);
    return push;
}
template <typename Push> void writePush(const Push& push, RopePass* pass) {
    static_assert(sizeof push <= sizeof pass->push, "push constants are 128 bytes");
    memcpy(pass->push, &push, sizeof push);
}

// Makes the pass one of groups, of so many threads in x, y and z.
void setGroup(uint32_t x, uint32_t y, uint32_t z, RopePass* pass);

inline const char* slotName(uint32_t slot) { return ropeSlotName(static_cast<RopeSlot>(slot)); }

} // namespace rope
