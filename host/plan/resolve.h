// Descriptions of tables and rotations with every default filled in, or a refusal. The plan and the CPU's own run both
// go by them.
#pragma once

#include "rules/refuse.h"

namespace rope {

RopeResult resolveTable(const RopeTableDescription& given, RopeTableDescription* filled, RopeReason* reason);
RopeResult resolveRotate(const RopeRotateDescription& given, RopeRotateDescription* filled, RopeReason* reason);

// Fills in all of a rotation but its tensors. Where nothing turns, its source and operation are not read.
RopeResult resolveWithoutTensors(bool turned, RopeRotateDescription* d, RopeReason* reason);

// Refuses options in place that only an output of its own can have.
RopeResult checkInPlace(const RopeRotateDescription& d, RopeReason* reason);

} // namespace rope
