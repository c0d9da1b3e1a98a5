// A PlanPass is one shader over one tensor, or over several. It has a grid of batches, tokens and heads, which it is
// split along; the needs of its threads and bindings; push words. A plan holds its passes as bytes.
#pragma once

#include <vkrope/rope.h>

#include "shaders/interface.h"

#include <new>
#include <stddef.h>
#include <string.h>
#include <type_traits>

namespace rope {

enum GridAxis { kBatch, kToken, kHead, kGridAxes };

// One binding of a pass: the slot that it takes, and where its elements lie for each batch, token and head. Without an
// extent the pass neither reads nor writes it, and nothing is bound there. A pass in place binds its tensor once, as
// what it writes.
struct PassAccess {
    uint32_t slot;
    uint32_t element_bytes;
    uint64_t offset;            // elements
    uint64_t stride[kGridAxes]; // elements per batch, token and head
    uint64_t extent;            // elements that one batch, token and head reaches over
};

// What a rotation or a fused pass is made of: its tensors are Q, K and V. The plan functions set these facts, and
// planner, dispatches and ropePrintPlan go by them.
struct PassFacts {
    uint32_t heads[3];       // 0: the pass does not take the tensor
    uint32_t elements[3];    // that the tensors become: RopeElement
    uint32_t from[3], to[3]; // their bindings
    uint64_t from_begin[3];  // elements of a binding's slot before the tensor
    uint64_t to_begin[3];
    uint32_t to_sequence[3];    // from a sequence's cache to the next, where a part binds the caches of all sequences
    uint32_t scale_sequence[2]; // the same of stored scales
    uint32_t position_token;    // elements from a token's position to the next token's
    uint32_t count_batch;       // and from a sequence's count of tokens to the next one's
    uint32_t stages;            // what it does to them
    uint32_t words;             // how a dispatch completes the push words
    uint32_t cache;             // RopeCacheKind
};

struct PlanPass : RopePass {
    uint32_t constants[ROPE_CONSTANT_COUNT];
    uint32_t push[ROPE_PUSH_WORDS]; // of a whole part; fillDispatch completes them
    uint32_t count[kGridAxes];      // batches, tokens, heads; of both tensors of a rotation 1 head
    uint32_t step[kGridAxes];       // of them in one part
    uint32_t parts[kGridAxes];
    uint32_t heads_per_thread;
    uint32_t tokens_per_thread;
    uint32_t address_unit;   // the source's and the destination's push words count so many elements as one
    uint32_t group[3];       // lanes, blocks of heads and tokens of one group
    uint32_t lane_parts;     // groups that one head's lanes take
    uint32_t blocks;         // of heads, of a pass of several tensors; 0: as many as push.heads make
    uint32_t sequences;      // of packed positions; 0: they are not packed
    uint32_t joinable;       // 1: sequences that follow each other as tokens do may be taken as one
    uint32_t joined_tokens;  // tokens of each sequence, where such sequences are taken as one; else 0
    uint32_t whole_bindings; // bit i: binding i is a list of positions or slots, a table or a norm's weights, of which
                             // every part binds all; its strides are constants and push words
    uint32_t cache_bindings; // bit i: binding i is a cache
    PassFacts facts;
    PassAccess access[ROPE_BINDING_COUNT];
};
static_assert(std::is_same_v<uint8_t, unsigned char> && std::is_trivially_copyable_v<PlanPass> &&
                  ROPE_MAX_PASSES * sizeof(PlanPass) <= ROPE_PLAN_BYTES &&
                  offsetof(RopePlan, internal) % alignof(PlanPass) == 0 && alignof(RopePlan) >= alignof(PlanPass),
              "a plan's bytes hold its passes");

// The passes of a plan: its bytes hold them. finishPass shows the caller's part of each in plan.passes.
inline PlanPass& passAt(RopePlan& plan, uint32_t index) {
    return std::launder(reinterpret_cast<PlanPass*>(plan.internal))[index];
}
inline const PlanPass& passAt(const RopePlan& plan, uint32_t index) {
    return std::launder(reinterpret_cast<const PlanPass*>(plan.internal))[index];
}

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
uint64_t spanBytes(const PassAccess& access, const uint32_t counts[kGridAxes]);
// Rounds up the bytes of rows, weights and biases to words: shaders read their 16-bit elements by whole words.
inline uint64_t inWholeWords(const PassAccess& access, uint64_t bytes) {
    const bool by_words = access.slot == ROPE_SLOT_ROWS || access.slot >= ROPE_SLOT_Q_WEIGHTS;
    return by_words && bytes < UINT64_MAX - 3 ? (bytes + 3) / 4 * 4 : bytes;
}
static_assert(ROPE_SLOT_K_WEIGHTS == ROPE_SLOT_Q_WEIGHTS + 1 && ROPE_SLOT_COUNT == ROPE_SLOT_BIASES + 1 &&
                  ROPE_SLOT_BIASES == ROPE_SLOT_K_WEIGHTS + 1,
              "weights and biases are the last slots");

// True if a finished pass reads or writes the binding.
inline bool isBound(const PlanPass& pass, uint32_t binding) { return (pass.bindings & 1u << binding) != 0; }
// True if the binding is a cache.
inline bool isCache(const PlanPass& pass, uint32_t binding) { return (pass.cache_bindings & 1u << binding) != 0; }
// True if every part of the pass binds the whole of this binding: no split moves it.
inline bool isBoundWhole(const PlanPass& pass, uint32_t binding) { return (pass.whole_bindings & 1u << binding) != 0; }

// Returns the bindings that a pass reads or writes so far. A finished pass has them in `bindings`.
inline uint32_t boundBindings(const PlanPass& pass) {
    uint32_t bound = 0;
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) bound |= static_cast<uint32_t>(pass.access[i].extent != 0) << i;
    return bound;
}
// Fills in what follows from the accesses, constants and parts of a pass: its bindings, its dispatches, up to 2^32 - 1,
// and the hash of its pipeline. Then shows the pass to the plan's caller.
void finishPass(uint32_t index, RopePlan* plan);
// True if the passes of two plans take the same pipelines.
bool haveSamePipelines(const RopePlan& a, const RopePlan& b);

// Returns the workgroups along x; the batch is along y.
uint64_t groupCountX(const PlanPass& pass, uint32_t tokens);
// Returns the workgroups along z: the blocks of heads.
uint64_t groupCountZ(const PlanPass& pass, uint32_t heads);
// A PassPart is what one dispatch takes: its batches, tokens and heads.
struct PassPart {
    uint32_t begin[kGridAxes];
    uint32_t count[kGridAxes];
};
// Fills in one dispatch of a pass.
void fillDispatch(const PlanPass& pass, uint32_t index, uint32_t alignment, RopeDispatch* dispatch);
// Returns a place counted in units of `elements` elements.
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
    const auto copy = [&](size_t from, size_t to, size_t words) {
        memcpy(reinterpret_cast<char*>(push) + to, reinterpret_cast<const char*>(&tokens) + from, words * sizeof(uint));
    };
    copy(offsetof(RopePush, tokens), offsetof(RopeFusedPush, tokens), 6);
    copy(offsetof(RopePush, position_axis), offsetof(RopeFusedPush, position_axis), 4);
    static_assert(offsetof(RopePush, position_token) == offsetof(RopePush, tokens) + 6 * sizeof(uint) &&
                  offsetof(RopePush, heads) == offsetof(RopePush, position_axis) + 4 * sizeof(uint));
    push->rows_offset = tokens.rows.offset;
    push->plan_tokens = plan_tokens;
}
inline void setTokenWords(const RopePush& tokens, uint32_t plan_tokens, RopeFusedPush* push, PlanPass* pass) {
    copyTokenWords(tokens, plan_tokens, push);
    pass->facts.position_token = pass->constants[ROPE_ID_POSITION_TOKEN] = tokens.position_token;
    pass->constants[ROPE_ID_ROW_TOKEN] = tokens.rows.token;
    pass->constants[ROPE_ID_ROW_PAIR] = tokens.rows.head;
}
// How a dispatch completes the push words of its pass, beside the push words of one tensor: PassFacts.words.
enum : uint32_t { kTensorWords, kRotationWords, kFusedWords, kCountWords };
// What a pass does to its tensors: PassFacts.stages.
constexpr uint32_t kNormBefore = 1, kTurn = 2, kNormAfter = 4, kQueryScale = 8, kFused = 16, kInPlace = 32,
                   kShares = 64, kHadamard = 128;

template <typename Push> void writePush(const Push& push, PlanPass* pass) {
    static_assert(sizeof push <= sizeof pass->push, "push constants are 128 bytes");
    memcpy(pass->push, &push, sizeof push);
}

// Gives the pass groups of x, y and z threads.
void setGroup(uint32_t x, uint32_t y, uint32_t z, PlanPass* pass);

inline const char* slotName(uint32_t slot) { return ropeSlotName(static_cast<RopeSlot>(slot)); }

} // namespace rope
