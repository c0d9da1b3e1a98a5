// `vkrope bench --tune`: finds out how a device is best given its threads.
#pragma once

#include "program/bench/cases.hpp"
#include "program/tool.hpp"

namespace tool {

struct TuneOptions {
    std::string device;
    TimingOptions timing;
    CaseOptions cases;
    uint32_t rounds = 0;
    bool json = false;
};
bool runTune(const TuneOptions& options, Failure* failure);

} // namespace tool
