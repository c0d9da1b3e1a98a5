// What a description of an addition to embeddings comes to. The plan and the CPU's own run both go by it.
#pragma once

#include "rules/refuse.h"

namespace rope {

struct Addition {
    // The embedding as a tensor of one head, which is in d.q; its pairs are given sines and cosines where a rotation
    // would turn them. A learned table is one of rows whose first halves are the first elements'.
    RopeRotateDescription d;
    bool cosine_first;
    float scale; // 1: none
};

RopeResult resolveAddition(const RopeAddDescription& given, Addition* addition, RopeReason* reason);

} // namespace rope
