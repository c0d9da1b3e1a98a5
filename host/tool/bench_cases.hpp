// What `vkrope bench` and `vkrope tune` measure: the options that choose cases, tuning and clock.
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

// Where no option chooses; each takes about a minute on a CPU's driver.
extern const measure::Choices kShort, kPicture, kTuned;

// What is not asked for is everything with --all, else what `otherwise` has.
measure::Choices choicesOf(const CaseOptions& options, const measure::Choices& otherwise);

void addClock(CLI::App* app, std::string* clock);
measure::Clock clockOf(const std::string& clock);

// "64,8,4,1": the members of RopeTuning; empty: all the library's own.
void takesTuning(CLI::Option* option);
RopeTuning readTuning(const std::string& text);

} // namespace tool
