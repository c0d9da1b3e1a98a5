// The options of `vkrope bench` that choose cases, tuning and how times are taken.
#pragma once

#include "bench/cases/cases.hpp"
#include "bench/harness/clock_probe.hpp"

#include <nlohmann/json_fwd.hpp>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace tool {

struct CaseOptions {
    std::vector<std::string> models, elements, pairings, places, sources;
    std::vector<uint32_t> tokens;
    bool all = false;
};
void addCaseOptions(CLI::App* app, CaseOptions* options);

// These are measured if no option chooses; they take about a minute on a CPU's driver.
extern const measure::CaseChoices kDefaultChoices;

// A choice that no option makes is everything with --all, else the one that `otherwise` has.
measure::CaseChoices choicesOf(const CaseOptions& options, const measure::CaseChoices& otherwise);

// How times are taken: the clock, how many MiB of buffers are used in turns, and how pipelines are made.
struct TimingOptions {
    std::string clock = "device";
    int64_t working_set = -1;   // MiB; -1: the default
    bool bounds_checks = false; // pipelines keep a driver's checks of bounds
};
void addTimingOptions(CLI::App* app, TimingOptions* options);
measure::BenchDevice openTimedDevice(const std::string& select, const TimingOptions& options);

// {"warm_ups": 1, ..., "samples": 40, "us": {...}, "moved": false, ...}
nlohmann::ordered_json clockJson(const measure::ClockProbe& clock);

// The option takes the three members of RopeTuning, as "128,2,8". An empty text means all the library's own.
void takesTuning(CLI::Option* option);
RopeTuning readTuning(const std::string& text);

} // namespace tool
