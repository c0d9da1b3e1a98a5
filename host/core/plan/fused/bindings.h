// The buffers of a fused pass, and where its tensors lie in them.
#pragma once

#include "plan/fused/arrangement.h"

namespace rope {

inline uint32_t sequencesOf(const RopeRotateDescription& d) {
    return isPacked(d.positions) ? d.positions.sequences : d.batch;
}
// Returns the bytes that are stored at a time into a cache of a quantized format: words, or halves of them where the
// blocks of a tensor may begin in the middle of a word.
uint32_t storedBytes(const FusedGroup& group);
// Returns elements of a tensor in the units that its destination's binding counts: what is stored at a time if that is
// integers.
uint64_t destinationUnits(const FusedGroup& group, RopeElement element, uint64_t elements);

// Binds what the tensors of a dispatch read, and what they write. Each tensor shares the binding of the tensor before
// it, or has another binding.
void bindTensors(FusedGroup* group);
// Returns the storage buffers of a dispatch.
uint32_t countBuffers(const FusedGroup& group);
// True if the caches of K and V lie in one buffer that no binding spans.
bool exceedsBinding(const FusedGroup& group, const RopeLimits& limits);

// Sets the POSITIONS binding, for the positions that the given needs ask for. Positions, the slot map or page table,
// and the count of tokens lie in one buffer, which is bound from its beginning; a slot map in another buffer is too.
void setPositionBuffer(const ResolvedFused& fused, const PositionNeeds& needs, const FusedTensor& t, bool cached,
                       RopePush* tokens, RopeFusedPush* push, PlanPass* pass);
// Returns the positions that a dispatch reads.
PositionNeeds positionNeeds(const FusedGroup& group);

} // namespace rope
