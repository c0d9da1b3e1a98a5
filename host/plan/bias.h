// What a description of a bias comes to. The plan and the CPU's own run both go by it.
#pragma once

#include "rules/buckets.h"
#include "rules/refuse.h"

namespace rope {

struct ResolvedBias {
    RopeBiasDescription filled; // with every default filled in
    RopeRotateDescription d;    // the scores' batches and queries, as tokens, with their positions; keys are head_dim
    RopeLayout scores;
    Buckets buckets;
    uint32_t row_count; // of given rows
};

RopeResult resolveBias(const RopeBiasDescription& given, ResolvedBias* bias, RopeReason* reason);

} // namespace rope
