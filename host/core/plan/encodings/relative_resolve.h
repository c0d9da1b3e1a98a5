// ResolvedRelative is the description of relative vectors with every default filled in. The plan and the CPU's own run
// both go by it.
#pragma once

#include "rules/refuse.h"

namespace rope {

struct ResolvedRelative {
    RopeRelativeDescription filled; // with every default filled in
    RopeRotateDescription d;        // its queries, as the tokens of a rotation, and their positions
    uint32_t row_count;
    uint32_t q_count, x_count; // elements of a query in q (Q, or the weights of keys) and in x (scores, or output)
};

RopeResult resolveRelative(const RopeRelativeDescription& given, ResolvedRelative* relative, RopeReason* reason);

} // namespace rope
