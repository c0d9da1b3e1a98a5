// Position axes: which pair turns by which.
#pragma once

#include "rules/refuse.h"

namespace rope {

RopeResult checkAxes(const RopeFrequencies& frequencies, RopeReason* reason);
uint32_t axisCount(const RopeFrequencies& frequencies);
// Writes the axes' words among the pass's constants.
void setAxes(const RopeFrequencies& frequencies, RopePass* pass);

} // namespace rope
