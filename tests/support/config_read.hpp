// Reads configurations that must be read, or refused, and writes their axes as text.
#pragma once

#include "models/config.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace config {

constexpr RopePairing kHalf = ROPE_PAIRING_HALF, kInterleaved = ROPE_PAIRING_INTERLEAVED;

inline rope::ModelEncoding read(const std::string& text, const std::string& layer_type = "", double length = 0) {
    rope::ConfigRequest request;
    request.layer_type = layer_type;
    request.length = length;
    rope::ModelEncoding model;
    std::string error;
    EXPECT_TRUE(rope::readConfig(text, request, &model, &error)) << text << ": " << error;
    return model;
}

inline std::string refusal(const std::string& text, const std::string& layer_type = "") {
    rope::ConfigRequest request;
    request.layer_type = layer_type;
    rope::ModelEncoding model;
    std::string error;
    EXPECT_FALSE(rope::readConfig(text, request, &model, &error)) << text;
    return error;
}

// Runs of pairs with the same axis: in "3*0 2*1" the first three pairs turn by axis 0, the next two by axis 1.
inline std::string axisRuns(const rope::ModelEncoding& model) {
    std::string text;
    for (size_t i = 0, run = 0; i < model.axes.size(); i += run) {
        for (run = 1; i + run < model.axes.size() && model.axes[i + run] == model.axes[i];) ++run;
        text += (i == 0 ? "" : " ") + std::to_string(run) + "*" + std::to_string(model.axes[i]);
    }
    return text;
}

inline std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

// The runs so many times, then the rest.
inline std::string repeated(int times, const std::string& runs, const std::string& rest) {
    std::string text = runs;
    for (int i = 1; i < times; ++i) text += " " + runs;
    return rest.empty() ? text : text + " " + rest;
}

} // namespace config
