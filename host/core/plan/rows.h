// Rows hold cos and sin, or the values that other encodings are given.
#pragma once

#include "plan/pass.h"
#include "rules/refuse.h"

namespace rope {

RopeResult resolveRows(uint32_t pairs, RopeRows* rows, RopeReason* reason);
RopeResult checkWrittenRows(uint64_t count, uint32_t pairs, const RopeRows& rows, RopeReason* reason);
PassAccess rowAccess(const RopeRows& rows, uint32_t pairs); // describes one row; the caller sets the strides
void setRowWords(const RopeRows& rows, RopePush* push);

} // namespace rope
