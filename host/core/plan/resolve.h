// Each function fills in every default of a description, or refuses the description. The plan and the CPU's own run
// both go by the result.
#pragma once

#include "rules/refuse.h"

namespace rope {

RopeResult resolveTable(const RopeTableDescription& given, RopeTableDescription* filled, RopeReason* reason);
RopeResult resolveRotate(const RopeRotateDescription& given, RopeRotateDescription* filled, RopeReason* reason);

// Fills in all of a rotation but its tensors. If `turned` is false, its source and operation are not read.
RopeResult resolveWithoutTensors(bool turned, RopeRotateDescription* d, RopeReason* reason);

// Refuses options in place that only an output of its own can have.
RopeResult checkInPlace(const RopeRotateDescription& d, RopeReason* reason);

} // namespace rope
