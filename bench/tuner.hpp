// Which tuning is the fastest for a case, beside the library's own.
#pragma once

#include "rotation.hpp"

namespace measure {

struct Tuned {
    RopeTuning own = {}, best = {};
    Range own_seconds = {}, best_seconds = {};
    Range gain = {};  // the own one's time to the best one's
    Range noise = {}; // and to its own, measured again
    size_t tried = 0;

    // Where it is not, the best one is nothing but luck.
    bool isSure() const;
};

// Every candidate is verified before it is timed.
Tuned tune(Bench* bench, const Case& c, uint32_t rounds);

} // namespace measure
