// Whether a device's clock moved while it was measured, judged by the times of a fixed piece of work.
#pragma once

#include "bench/harness/quartiles.hpp"

#include <cstddef>
#include <string>

namespace measure {

struct ClockReport {
    size_t samples = 0;
    Quartiles seconds = {};       // of the piece, over the whole run
    double first = 0, last = 0;   // medians of the first and the last quarter of the run
    bool moved = false;           // from the first to the last quarter, by more than 10 %
    bool spread = false;          // the quartiles lie more than 20 % apart
    std::string sentence() const; // empty where the clock stood still, or is not known
};

// Returns true if the last few times of the piece are alike, and no longer than they were when the device was last
// warm: `before` seconds, or 0 if the device was never warm.
bool hasSettled(const std::vector<double>& seconds, double before);

// `seconds` are in the order in which they were taken. Fewer than 8 samples say nothing.
ClockReport judgeClock(const std::vector<double>& seconds);

} // namespace measure
