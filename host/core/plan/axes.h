// Position axes decide which pair rotates by which of the positions that a token has.
#pragma once

#include "plan/pass.h"
#include "rules/refuse.h"

namespace rope {

RopeResult checkAxes(const RopeFrequencies& frequencies, RopeReason* reason);
// Returns one more than the highest axis that frequencies.axes names: 1 if it is null.
uint32_t axisCount(const RopeFrequencies& frequencies);
// Sets the constants that hold the axis of each pair.
void setAxes(const RopeFrequencies& frequencies, PlanPass* pass);

} // namespace rope
