// What descriptions over scores [batch, heads, queries, keys] have in common.
#pragma once

#include "plan/layout.h"

namespace rope {

struct ScoreCounts {
    uint32_t heads, queries, keys;
};
// Also that the queries' positions are whole and not packed.
RopeResult checkScores(const ScoreCounts& counts, const RopePositions& positions, RopeReason* reason);
RopeResult checkScoreCount(const char* name, uint32_t count, RopeReason* reason);
// Distances from the least to the most.
RopeResult checkClip(int32_t least, int32_t most, RopeReason* reason);

// A layout whose default is packed as [batch][heads][queries][elements], d.tokens being the queries and d.head_dim the
// elements.
RopeResult resolveHeadMajorLayout(const char* name, const RopeRotateDescription& d, uint32_t heads, bool written,
                                  RopeLayout* layout, RopeReason* reason);

} // namespace rope
