// Positions say where a token stands. This header has the checks of their description, their place in memory, and the
// part of them that a pass reads.
#pragma once

#include "plan/pass.h"
#include "rules/refuse.h"

namespace rope {

// Fills in and checks positions. The frequencies must be checked already.
RopeResult resolvePositions(const RopeFrequencies& frequencies, uint32_t batch, uint32_t tokens,
                            RopePositions* positions, RopeReason* reason);
// Reduces positions that are not read themselves to the lengths of packed sequences if those are wanted, and else to
// nothing.
void keepOnlyLengths(bool wanted, RopePositions* positions);
// The positions that a pass reads, and the frequencies whose axes and sets it reads them for.
struct ReadPositions {
    RopePositions positions;
    RopeFrequencies frequencies;
};
// Returns what a rotation itself reads. A rotation by rows reads the lengths of packed sequences for a window, or
// nothing.
ReadPositions rotationPositions(const RopeRotateDescription& d);
PassAccess positionAccess(const RopePositions& positions, const RopeFrequencies& frequencies);
// Sets the pass's constants and facts of positions, its push words, and its binding.
void setPositions(const ReadPositions& read, RopePush* push, PlanPass* pass);
// True if a buffer can hold a value that is no position or no set.
bool canLackPosition(const RopePositions& positions, const RopeFrequencies& frequencies);

inline bool readsPositions(const RopePositions& positions) { return positions.kind != ROPE_POSITIONS_COUNTED; }
inline bool isPacked(const RopePositions& positions) { return positions.kind >= ROPE_POSITIONS_PACKED; }
// Returns the rows of axes or starts, without the rows of lengths and sets.
inline uint32_t positionRows(const RopePositions& p, uint32_t axes) {
    return isPacked(p) ? (p.kind == ROPE_POSITIONS_PACKED_STARTS ? 1 : 0) : axes;
}

} // namespace rope
