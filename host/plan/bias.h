// What a description of a bias comes to. The plan and the CPU's own run both go by it.
#pragma once

#include "rules/buckets.h"
#include "rules/refuse.h"

namespace rope {

struct Bias {
    RopeBiasDescription given; // with every default filled in
    // The scores as a tensor in d.q: queries are its tokens, keys the elements of a head.
    RopeRotateDescription d;
    Buckets buckets;
    uint32_t row_count; // of given rows
};

RopeResult resolveBias(const RopeBiasDescription& given, Bias* bias, RopeReason* reason);

} // namespace rope
