// Configurations that are read or refused as they must be, and their axes in words.
#pragma once

#include "config/config.hpp"

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

inline std::string axisRuns(const rope::ModelEncoding& model) { // "3*0 2*1": runs of pairs and their axes
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

inline std::string repeated(int times, const std::string& turn, const std::string& rest) {
    std::string text = turn;
    for (int i = 1; i < times; ++i) text += " " + turn;
    return rest.empty() ? text : text + " " + rest;
}

} // namespace config
