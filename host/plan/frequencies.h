// What the plans ask of a caller's frequencies.
#ifndef VKROPE_FREQUENCIES_H
#define VKROPE_FREQUENCIES_H

#include "rope.h"

namespace rope {

// 0 (which means 1), or 2^-20 to 2^20.
RopeResult checkFrequencyScale(double scale, RopeReason* reason);

// The scale, the sets and the axes.
RopeResult checkScaleSetsAndAxes(const RopeFrequencies& frequencies, RopeReason* reason);

// The count, every value and the scale.
RopeResult checkFrequencies(const RopeFrequencies& frequencies, RopeReason* reason);

// FREQUENCIES as a pass binds it, whole.
RopeAccess frequencyAccess(const RopeFrequencies& frequencies);

} // namespace rope

#endif
