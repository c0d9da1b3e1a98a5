// Rows of cos and sin, and of values that other encodings are given.
#pragma once

#include "rules/refuse.h"

#include "../shaders/interface.h"

namespace rope {

RopeResult resolveRows(uint32_t pairs, RopeRows* rows, RopeReason* reason);
RopeResult checkWrittenRows(uint64_t count, uint32_t pairs, const RopeRows& rows, RopeReason* reason);
RopeAccess rowAccess(const RopeRows& rows, uint32_t pairs); // of one row; the strides are the caller's
void setRowWords(const RopeRows& rows, RopePush* push);

} // namespace rope
