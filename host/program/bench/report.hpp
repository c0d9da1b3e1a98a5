// The rows that `vkrope bench` has measured, written as lines of a table and as JSON.
#pragma once

#include "bench/cases/cases.hpp"
#include "bench/harness/round_robin.hpp"

#include <nlohmann/json.hpp>

namespace tool {

using Json = nlohmann::ordered_json;

struct BenchRow {
    struct Comparison {
        std::string name;
        measure::Quartiles seconds, ratio; // ratio: the row's own time to this contestant's
        uint32_t dispatches; // in one submission; or the transfers, or runs of several plans, that take their place
    };

    std::string group; // a heading, printed once above the rows that share it
    Json labels;       // the case; each of the last `shown` labels is a column of the table
    size_t shown = 0;
    double bytes = 0;           // read and written
    double unfused_bytes = 0;   // fused passes: by the passes that one replaces
    std::string untimed_reason; // why it was not timed
    bool wrong = false;         // its results were wrong, and nothing was timed
    bool failed = false;        // it broke off
    size_t rounds = 0;
    uint32_t dispatches = 0;      // in one submission
    bool has_warm_column = false; // some rows of the table have a time on one set of buffers
    measure::Quartiles seconds = {};
    std::vector<Comparison> comparisons;

    void takeTimes(const measure::RoundRobin& round_robin);
    const Comparison* find(const std::string& name) const;
    const Comparison* fastestCopy() const; // among the copy kernels; null: there are none
};

// Prints the row, and before it the group and the head of the columns unless `above` has the same.
void printRow(const BenchRow& row, const BenchRow* above);
Json rowJson(const BenchRow& row);
Json caseLabels(const measure::RotationCase& c);
Json deviceJson(const rope::DeviceInfo& info);
void printClockReport(const measure::ClockReport& report); // one line if the clock moved

} // namespace tool
