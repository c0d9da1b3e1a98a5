// A stage of fused passes: blocks of heads are multiplied by Hadamard's matrix.
#pragma once

#include "plan/fused/arrangement.h"

namespace rope {

// Returns log2 of a tensor's block.
inline uint32_t blockBits(const FusedTensor& t) { return t.stages >> ROPE_TENSOR_HADAMARD & 0xF; }
// Returns the bits of a record's kind for a block, 0 of 0 elements.
uint32_t hadamardStage(uint32_t block);
// Refuses blocks that a tensor cannot have. Widths and norms must be filled in.
RopeResult checkHadamard(const RopeFusedDescription& filled, RopeReason* reason);
// True if the heads of both are whole blocks of the larger size: a lane takes equal numbers of elements.
bool canTransformTogether(const FusedTensor& a, const FusedTensor& b);
// Returns the words of shared memory that a head takes.
uint32_t hadamardWords(const FusedTensor& t);
// Sets how the lanes of a dispatch hold its blocks.
void setHadamard(const FusedGroup& group, PlanPass* pass);

} // namespace rope
