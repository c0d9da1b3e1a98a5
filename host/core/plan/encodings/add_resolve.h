// ResolvedAdd is the description of an addition to embeddings with every default filled in. The plan and the CPU's own
// run both go by it.
#pragma once

#include "rules/refuse.h"

namespace rope {

struct ResolvedAdd {
    // The addition as a rotation without tensors. A pair is given its sine and cosine as addends in place of being
    // rotated by them. A learned table is a table of rows whose first halves are added to the first elements of pairs.
    RopeRotateDescription d;
    RopeTensor x; // the embedding, which has one head
    bool cosine_first;
    float scale; // 1: x is not scaled
};

RopeResult resolveAdd(const RopeAddDescription& given, ResolvedAdd* addition, RopeReason* reason);

} // namespace rope
