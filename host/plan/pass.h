// A pass is one shader over one tensor, or over both of a rotation. It has a grid of batches, tokens and heads that it
// is split along, the needs of its threads and bindings, and push words.
#pragma once

#include "rope.h"

#include "../shaders/interface.h"

#include <string.h>

namespace rope {

enum GridAxis { kBatch, kToken, kHead, kGridAxes };

// A shader reads its push words by the names of its family. RopePush and RopeRotatePush have them.
enum PassFamily : uint32_t {
    kCountedFamily = 0, // threads are counted through: tables, additions, biases, relative vectors, and counts
    kFusedFamily = 1,
    kRotationFamily = 2
};

// *total += a * b, or false past 64 bits.
inline bool addProduct(uint64_t a, uint64_t b, uint64_t* total) {
    if (a != 0 && b > (UINT64_MAX - *total) / a) return false;
    *total += a * b;
    return true;
}
// Returns the bytes from element (0, 0, 0) over `counts` entries of each grid axis, without the offset; UINT64_MAX past
// 64 bits.
uint64_t spanBytes(const RopeAccess& access, const uint32_t counts[kGridAxes]);
// Rounds up the bytes of rows to words: shaders read rows of 16-bit elements by whole words.
inline uint64_t rowsInWholeWords(const RopeAccess& access, uint64_t bytes) {
    return access.slot == ROPE_SLOT_ROWS && bytes < UINT64_MAX - 3 ? (bytes + 3) / 4 * 4 : bytes;
}

// True if every part of the pass binds the whole of this binding: no split moves it.
inline bool isBoundWhole(const RopePass& pass, uint32_t binding) { return (pass.whole_bindings & 1u << binding) != 0; }

// Returns the bindings that a pass reads or writes: bit i stands for binding i.
uint32_t boundBindings(const RopePass& pass);
// Returns the hash that a context finds the pass's pipeline by.
uint32_t hashPipeline(const RopePass& pass);
// True if the passes of two plans take the same pipelines.
bool haveSamePipelines(const RopePlan& a, const RopePlan& b);

// Returns the lanes of one token. A lane is the part of a head that a thread takes at a time: a few pairs, or elements
// to copy.
inline uint64_t lanesPerToken(const RopePass& pass, uint32_t heads) {
    const uint64_t groups = (static_cast<uint64_t>(heads) + pass.heads_per_thread - 1) / pass.heads_per_thread;
    return groups * pass.head_lanes;
}
// Returns the workgroups along x; the batch is along y.
uint64_t groupCountX(const RopePass& pass, uint32_t tokens, uint32_t heads);
// Returns the workgroups along z: a rotation's blocks of heads.
uint64_t groupCountZ(const RopePass& pass, uint32_t heads);
// Returns the dispatches of a pass.
inline uint64_t partCount(const RopePass& pass) {
    return static_cast<uint64_t>(pass.parts[kBatch]) * pass.parts[kToken] * pass.parts[kHead];
}

inline RopePush readPush(const RopePass& pass) {
    RopePush push;
    memcpy(&push, pass.push, sizeof push);
    return push;
}
inline void writePush(const RopePush& push, RopePass* pass) { memcpy(pass->push, &push, sizeof push); }

// The divisor of a division by a constant of a pass, as divide() in index.h takes it.
struct Divisor {
    uint32_t magic;
    uint32_t shift;
};
Divisor makeDivisor(uint32_t divisor);

inline const char* slotName(uint32_t slot) { return ropeSlotName(static_cast<RopeSlot>(slot)); }

} // namespace rope
