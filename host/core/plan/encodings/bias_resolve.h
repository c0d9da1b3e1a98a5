// ResolvedBias is the description of a bias on scores with every default filled in. The plan and the CPU's own run both
// go by it.
#pragma once

#include "rules/buckets.h"
#include "rules/refuse.h"

namespace rope {

struct ResolvedBias {
    RopeBiasDescription filled; // with every default filled in
    RopeRotateDescription d;    // the scores as a rotation: queries are its tokens, keys its head_dim
    Buckets buckets;
    uint32_t row_count; // rows of values that the caller gives
};

RopeResult resolveBias(const RopeBiasDescription& given, ResolvedBias* bias, RopeReason* reason);

} // namespace rope
