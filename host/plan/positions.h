// Positions: what a description of them may say, where they lie, and which of them a pass reads.
#pragma once

#include "rules/refuse.h"

#include "../shaders/interface.h"

namespace rope {

// Takes frequencies that are checked already.
RopeResult resolvePositions(const RopeFrequencies& frequencies, uint32_t batch, uint32_t tokens,
                            RopePositions* positions, RopeReason* reason);
// Positions that are not read themselves become the lengths of packed sequences where those are wanted, or nothing.
void keepOnlyLengths(bool wanted, RopePositions* positions);
// The positions that a rotation itself reads. By rows it reads the lengths of packed sequences, for a window, or none.
void selectRotationPositions(const RopeRotateDescription& d, RopePositions* positions, RopeFrequencies* frequencies);
RopeAccess positionAccess(const RopePositions& positions, const RopeFrequencies& frequencies);
// Sets the pass's constants and facts of positions, its push words, and its binding.
void setPositions(const RopePositions& positions, const RopeFrequencies& frequencies, RopePush* push, RopePass* pass);
// True where a buffer can hold a value that is no position or no set.
bool canLackPosition(const RopePositions& positions, const RopeFrequencies& frequencies);

inline bool readsPositions(const RopePositions& positions) { return positions.kind != ROPE_POSITIONS_COUNTED; }
inline bool isPacked(const RopePositions& positions) { return positions.kind >= ROPE_POSITIONS_PACKED; }
// Rows of axes or starts, without those of lengths and sets.
inline uint32_t positionRows(const RopePositions& p, uint32_t axes) {
    return isPacked(p) ? (p.kind == ROPE_POSITIONS_PACKED_STARTS ? 1 : 0) : axes;
}

} // namespace rope
