// What a description of relative vectors comes to. The plan and the CPU's own run both go by it.
#pragma once

#include "rules/refuse.h"

namespace rope {

struct ResolvedRelative {
    RopeRelativeDescription filled; // with every default filled in
    RopeRotateDescription d;        // its queries, as tokens, and their positions
    uint32_t row_count;
    uint32_t q_count, x_count; // elements of a query: of Q, or the weights of keys; of the scores, or the output
};

RopeResult resolveRelative(const RopeRelativeDescription& given, ResolvedRelative* relative, RopeReason* reason);

} // namespace rope
