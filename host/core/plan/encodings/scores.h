// Descriptions over scores [batch, heads, queries, keys] share these checks and this layout.
#pragma once

#include "plan/layout.h"

namespace rope {

struct ScoreCounts {
    uint32_t heads, queries, keys;
};
// Checks the counts, and that the positions of queries are whole and not packed.
RopeResult checkScores(const ScoreCounts& counts, const RopePositions& positions, RopeReason* reason);
RopeResult checkScoreCount(const char* name, uint32_t count, RopeReason* reason);
// Checks the range of distances, from the least to the most, that have a row each.
RopeResult checkClip(int32_t least, int32_t most, RopeReason* reason);

// Fills in a layout whose default is packed as [batch][heads][queries][elements]. d.tokens counts the queries, and
// d.head_dim the elements.
RopeResult resolveHeadMajorLayout(const char* name, const RopeRotateDescription& d, uint32_t heads, bool written,
                                  RopeLayout* layout, RopeReason* reason);

} // namespace rope
