// The geometry that norms and quantizers take.
#pragma once

#include "plan/fused/resolve.h"

namespace rope {

// Refuses geometry that cannot be taken in vectors of four elements, or in blocks.
RopeResult checkVectorGeometry(const FusedTensor& tensor, RopeReason* reason);
// Refuses geometry in which the blocks of a head do not fill 32-bit words.
RopeResult checkWholeWords(const FusedTensor& tensor, RopeReason* reason);

} // namespace rope
