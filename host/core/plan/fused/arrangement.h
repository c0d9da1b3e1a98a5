// An arrangement says which tensors of a fused pass share a dispatch, and how each dispatch is cut into threads and
// binds its buffers. It is a value that follows from a resolved description and the limits alone.
#pragma once

#include "plan/fused/resolve.h"
#include "plan/tuning.h"

namespace rope {

// The lanes of a tensor's heads. Lanes of pairs come first. The other lanes copy, and so does a whole head that lies
// like no tensor that rotates.
struct TensorLanes {
    uint32_t lanes;
    uint32_t copied; // elements
    uint32_t rotary_begin;
    bool paired;
};

// The stages of a dispatch that take shared memory. Angles take some too.
struct SharedStages {
    bool norms, all_heads, centered, integers, minima, blocks, codes;
    uint32_t norm_quads;  // of the widest part of a head that a norm takes
    uint32_t relayed;     // elements of the widest head whose pairs go through shared memory
    uint32_t transformed; // words of the widest head of Hadamard blocks
    bool reduce() const { return norms || integers || relayed != 0 || transformed != 0; }
};

// A length is how many tokens or slots lie from one sequence or head to the next in memory.
struct Length {
    uint64_t tokens;
    bool any;    // it counts for nothing
    bool packed; // it follows from the count of tokens
};

// The tensors of one dispatch.
struct FusedGroup {
    const ResolvedFused* fused;
    const FusedTensor* tensors[3]; // null: the dispatch does not take it
    ShaderVariant variant;
    SharedStages stages;
    TensorLanes lanes[3];
    uint32_t widest; // lanes
    uint32_t heads;  // of one thread
    uint32_t rows;   // of blocks of heads, of one token
    GroupCut cut;
    PassAccess access[ROPE_BINDING_COUNT]; // but for its norms' weights and the parameters
    uint32_t from[3], to[3];               // the bindings of each tensor

    // Returns the tensor that the others are like: the first.
    const FusedTensor& first() const {
        return *tensors[tensors[kQ] != nullptr ? kQ : tensors[kK] != nullptr ? kK : kV];
    }
    bool has(FusedRole role) const { return tensors[role] != nullptr; }
    bool isEmpty() const { return !has(kQ) && !has(kK) && !has(kV); }
    bool isCached() const { return (has(kK) && tensors[kK]->cached) || (has(kV) && tensors[kV]->cached); }
    const FusedTensor* turned() const {
        for (const FusedTensor* t : tensors)
            if (t != nullptr && t->takes(ROPE_STAGE_TURN)) return t;
        return nullptr;
    }
};
// Calls with each tensor of a dispatch.
template <typename Call> void forEachTensor(const FusedGroup& group, Call call) {
    for (const FusedTensor* t : group.tensors)
        if (t != nullptr) call(*t);
}
// True if a condition holds for any tensor of the dispatch.
template <typename Condition> bool anyOf(const FusedGroup& group, Condition condition) {
    for (const FusedTensor* t : group.tensors)
        if (t != nullptr && condition(*t)) return true;
    return false;
}

struct FusedArrangement {
    FusedGroup groups[3];
    uint32_t count;
};
// Refuses what no arrangement can carry out on a device.
RopeResult arrange(const ResolvedFused& fused, const RopeLimits& limits, FusedArrangement* arrangement,
                   RopeReason* reason);

} // namespace rope
