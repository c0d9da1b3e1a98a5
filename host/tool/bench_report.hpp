// What `vkrope bench` has measured, as lines of a table, as JSON and as a picture.
#pragma once

#include "../bench/round_robin.hpp"
#include "tool/chart.hpp"

#include <nlohmann/json.hpp>

namespace tool {

using Json = nlohmann::ordered_json;

struct Measured {
    struct Other {
        std::string name;
        measure::Range seconds, ratio; // of the time measured to this one's
    };

    std::string group; // what is said once above rows that have it in common
    Json labels;       // what it is; of the last `shown` labels each is a column of the table
    size_t shown = 0;
    double bytes = 0;    // read and written
    std::string trouble; // why it was not timed
    bool wrong = false;  // for its results were
    size_t rounds = 0;
    measure::Range seconds = {};
    std::vector<Other> others;

    void take(const measure::Turns& turns);
    const Other* find(const std::string& name) const;
    const Other* fastestCopy() const; // of the kernels; null: there are none
};

// Prints the row, and what stands above it unless that is `above`'s too.
void print(const Measured& row, const Measured* above);
Json described(const Measured& row);

// Bandwidth over bytes moved, of rows that are rotations.
rope::Chart bandwidth(const std::string& device, const std::vector<Measured>& rows);

} // namespace tool
