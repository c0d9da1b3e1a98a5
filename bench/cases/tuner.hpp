// Finds the fastest tuning for a case, and compares it with the library's own.
#pragma once

#include "bench/cases/rotation.hpp"

namespace measure {

struct TuningResult {
    RopeTuning own = {}, best = {};
    Quartiles own_seconds = {}, best_seconds = {};
    Quartiles gain = {};  // time of the own tuning to that of the best
    Quartiles noise = {}; // time of the own tuning to its own, measured again
    size_t tried = 0;

    // If this is false, the best tuning won by luck.
    bool isSure() const;
};

// Every candidate is verified before it is timed.
TuningResult tune(BenchDevice* bench, ClockProbe* clock, const RotationCase& c, uint32_t rounds);

} // namespace measure
