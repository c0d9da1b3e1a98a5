// Descriptions over scores [batch, heads, queries, keys] share these checks and this layout.
#pragma once

#include "plan/layout.h"
#include "plan/pass.h"

namespace rope {

// The counts of scores, and the elements of a query. What a bias does not have is 1: dim, and the row of `least` and
// `most` 0.
struct ScoreCounts {
    uint32_t heads, queries, keys, dim, elements;
    int32_t least, most;
};
// Checks the counts, the range of distances that have a row each, and that the positions of queries are whole and not
// packed. *d becomes the scores as a rotation that does not rotate: queries are its tokens.
RopeResult resolveScores(const ScoreCounts& counts, uint32_t batch, RopeElement element, const RopePositions& positions,
                         RopeRotateDescription* d, RopeReason* reason);
// Fills in how given values lie, and clears all that is not read of RopeRows. `row` elements are the packed row.
RopeResult resolveValues(uint64_t row, RopeRows* rows, RopeReason* reason);

// Describes the given values of the first head. The stride between heads is pair_stride.
PassAccess valueAccess(const RopeRows& rows, uint32_t row_count, uint32_t width);

} // namespace rope
