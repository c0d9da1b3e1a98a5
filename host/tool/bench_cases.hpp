// The options of `vkrope bench` and `vkrope tune` that choose cases, tuning and clock.
#pragma once

#include "../bench/bench_device.hpp"
#include "../bench/cases.hpp"

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

// These are measured if no option chooses; each takes about a minute on a CPU's driver.
extern const measure::CaseChoices kDefaultChoices, kPlotChoices, kTuneChoices;

// A choice that no option makes is everything with --all, else the one that `otherwise` has.
measure::CaseChoices choicesOf(const CaseOptions& options, const measure::CaseChoices& otherwise);

void addClock(CLI::App* app, std::string* clock);
measure::Clock clockOf(const std::string& clock);

// The option takes the four members of RopeTuning, as "64,8,4,1". An empty text means all the library's own.
void takesTuning(CLI::Option* option);
RopeTuning readTuning(const std::string& text);

} // namespace tool
