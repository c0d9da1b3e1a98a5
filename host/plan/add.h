// What a description of an addition to embeddings comes to. The plan and the CPU's own run both go by it.
#pragma once

#include "rules/refuse.h"

namespace rope {

struct ResolvedAdd {
    // A rotation without tensors: pairs are given sines and cosines where the rotation would turn them. A learned table
    // is a table of rows whose first halves are given to the pairs' first elements.
    RopeRotateDescription d;
    RopeTensor x; // the embedding, of one head
    bool cosine_first;
    float scale; // 1: none
};

RopeResult resolveAdd(const RopeAddDescription& given, ResolvedAdd* addition, RopeReason* reason);

} // namespace rope
