// A rule that must be refused, and what its sentence says.
#pragma once

#include <vkrope/rope.h>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

// Nothing may have been written, with a reason or without one.
inline std::string ruleRefusal(const RopeRule& rule) {
    std::vector<double> frequencies(2 * ROPE_MAX_PAIRS, -7.0);
    const std::vector<double> untouched = frequencies;
    double scale = -7.0;
    RopeReason reason;
    EXPECT_EQ(ropeMakeFrequencies(&rule, frequencies.data(), &scale, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeMakeFrequencies(&rule, frequencies.data(), &scale, &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(frequencies, untouched);
    EXPECT_EQ(scale, -7.0);
    EXPECT_LT(std::strlen(reason.text), sizeof reason.text - 1) << "cut off: " << reason.text;
    return reason.text;
}

inline bool says(const std::string& sentence, const std::string& piece) {
    return sentence.find(piece) != std::string::npos;
}

#define EXPECT_SAYS(sentence, piece) EXPECT_PRED2(says, sentence, piece)
