// This file reads --sections and --axes, which say which pair turns by which of a token's positions.
#include "program/commands/axes.hpp"

#include "program/option_values.hpp"
#include <vkrope/rope.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>

namespace tool {
namespace {

constexpr size_t kMaxNumbers = size_t{2} * ROPE_MAX_PAIRS; // more than any list may have

// Reads a list such as "16,24,24": whole numbers, each of at most 9 digits.
bool readNumberList(const std::string& text, std::vector<uint32_t>* numbers) {
    size_t at = 0;
    while (numbers->size() < kMaxNumbers) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string number = text.substr(at, end - at);
        if (number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != number.npos) return false;
        numbers->push_back(static_cast<uint32_t>(std::strtoul(number.c_str(), nullptr, 10)));
        if (end == text.size()) return true;
        at = end + 1;
    }
    return false;
}

std::string shortened(const std::string& text) { return text.size() > 40 ? text.substr(0, 32) + "..." : text; }

bool axesFromSections(const AxesOptions& options, uint32_t pairs, PairAxes* axes, Failure* failure) {
    std::vector<uint32_t> sections;
    if (!readNumberList(options.sections, &sections)) {
        return refuse(failure, "--sections takes the pairs of each axis, such as 16,24,24, not '" +
                                   shortened(options.sections) + "'");
    }
    if (sections.size() > ROPE_MAX_AXES) {
        return refuse(failure, "--sections names " + std::to_string(sections.size()) + " axes; at most " +
                                   std::to_string(ROPE_MAX_AXES) + " are possible");
    }
    uint64_t sum = 0;
    for (const uint32_t section : sections) sum += section;
    if (sum != pairs) {
        return refuse(failure, "--sections " + options.sections + " are " + std::to_string(sum) +
                                   " pairs together, but there are " + std::to_string(pairs));
    }
    const RopeAxesOrder order = options.axes == "interleaved" ? ROPE_AXES_INTERLEAVED : ROPE_AXES_CONTIGUOUS;
    axes->count = static_cast<uint32_t>(sections.size());
    axes->of_pair.resize(pairs);
    RopeReason reason;
    return ropeSetAxes(order, sections.data(), axes->count, pairs, axes->of_pair.data(), &reason) == ROPE_SUCCESS ||
           refuse(failure, reason.text);
}

bool axesFromList(const std::string& text, uint32_t pairs, PairAxes* axes, Failure* failure) {
    std::vector<uint32_t> list;
    if (!readNumberList(text, &list)) {
        return refuse(failure,
                      "--axes takes contiguous, interleaved, or the axis of each pair, such as 0,0,1,2, not '" +
                          shortened(text) + "'");
    }
    if (list.size() != pairs) {
        return refuse(failure, "--axes names the axes of " + std::to_string(list.size()) + " pairs, but there are " +
                                   std::to_string(pairs));
    }
    const uint32_t last = *std::max_element(list.begin(), list.end());
    if (last >= ROPE_MAX_AXES) {
        return refuse(failure, "--axes names axis " + std::to_string(last) + "; they are from 0 to " +
                                   std::to_string(ROPE_MAX_AXES - 1));
    }
    axes->count = last + 1;
    axes->of_pair.assign(list.begin(), list.end());
    return true;
}

} // namespace

void addAxesOptions(CLI::App* app, AxesOptions* options) {
    app->add_option("--sections", options->sections,
                    "how many pairs turn by each axis of the positions, such as 16,24,24; without it the model's");
    app->add_option(
        "--axes", options->axes,
        "how the sections' pairs lie: contiguous or interleaved; or, without sections, the axis of each pair, such "
        "as 0,0,1,2; without it contiguous");
}

bool areAxesGiven(const AxesOptions& options) { return !options.sections.empty() || !options.axes.empty(); }

bool readAxes(const AxesOptions& options, uint32_t pairs, PairAxes* axes, Failure* failure) {
    if (!areAxesGiven(options)) return true;
    const bool ordered = options.axes.empty() || options.axes == "contiguous" || options.axes == "interleaved";
    if (!options.sections.empty() && !ordered)
        return refuse(failure,
                      "--sections goes with --axes contiguous or interleaved, not '" + shortened(options.axes) + "'");
    if (options.sections.empty() && ordered)
        return refuse(failure, "--axes " + options.axes + " needs --sections, the pairs of each axis");
    if (!(ordered ? axesFromSections(options, pairs, axes, failure) : axesFromList(options.axes, pairs, axes, failure)))
        return false;
    if (axes->count == 1 || pairs <= ROPE_MAX_AXIS_PAIRS) return true;
    return refuse(failure, "there are " + std::to_string(pairs) + " pairs; with several axes at most " +
                               std::to_string(ROPE_MAX_AXIS_PAIRS) + " turn");
}

} // namespace tool
