// The plans check a caller's frequencies, and bind them as FREQUENCIES.
#pragma once

#include "plan/pass.h"

namespace rope {

// Accepts 0, which means 1, and magnitudes from 2^-20 to 2^20.
RopeResult checkFrequencyScale(double scale, RopeReason* reason);

// Check the pairs of a set and the sets. The member of the description has this name.
RopeResult checkPairCount(const char* name, uint32_t count, RopeReason* reason);
RopeResult checkSetCount(const char* name, uint32_t sets, RopeReason* reason);

// Checks the scale, the sets and the axes.
RopeResult checkScaleSetsAndAxes(const RopeFrequencies& frequencies, RopeReason* reason);

// Refuses values that are null.
RopeResult checkValuesAreGiven(const RopeFrequencies& frequencies, RopeReason* reason);

// Checks the count, every value that is given, the scale, the sets and the axes.
RopeResult checkFrequencies(const RopeFrequencies& frequencies, RopeReason* reason);

// Describes FREQUENCIES as a pass binds it, whole.
PassAccess frequencyAccess(const RopeFrequencies& frequencies);

} // namespace rope
