// YaRN and its variants. Each function makes the frequencies and the scale of one rule, as a row of kRules in
// rules.cpp.
#pragma once

#include <vkrope/rope.h>

namespace rope {

RopeResult makeYarn(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason);
RopeResult makeYarnRamped(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason);
RopeResult makeYarnTemperature(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason);

} // namespace rope
