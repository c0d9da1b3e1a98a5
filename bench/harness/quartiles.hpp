// Medians and quartiles of times.
#pragma once

#include <algorithm>
#include <vector>

namespace measure {

struct Quartiles {
    double low, median, high; // lower quartile, median, upper quartile
};

inline Quartiles quartilesOf(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const size_t last = values.size() - 1;
    return {values[last / 4], values[values.size() / 2], values[last - last / 4]};
}

} // namespace measure
