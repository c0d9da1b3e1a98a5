// Rules as models give them, and the frequencies that are made of them.
#pragma once

#include <vkrope/rope.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace rules {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

RopeRule ruleOf(RopeRuleKind kind, uint32_t dim, double base, double factor, double original = 0, double length = 0);
RopeRule llama3Of(uint32_t dim, double base, double factor, double low, double high);
RopeRule yarnOf(uint32_t dim, double base, double factor, double original, double fast = 0, double slow = 0);
RopeRule deepseekV3();
RopeRule gptOss();

// Factors of longropeOf.
extern const std::vector<double> kShort, kLong;
RopeRule longropeOf(uint32_t dim, double base, double factor, double original, double length);
RopeRule proportionalOf(uint32_t dim, double base, uint32_t rotating, double factor);
RopeRule scaledBy(RopeRule rule, double attention_factor);

constexpr RopeRuleKind kAll[] = {ROPE_RULE_DEFAULT,          ROPE_RULE_LINEAR,       ROPE_RULE_NTK,
                                 ROPE_RULE_DYNAMIC_NTK,      ROPE_RULE_YARN,         ROPE_RULE_LONGROPE,
                                 ROPE_RULE_LLAMA3,           ROPE_RULE_PROPORTIONAL, ROPE_RULE_YARN_RAMPED,
                                 ROPE_RULE_YARN_TEMPERATURE, ROPE_RULE_NTK_MIXED};

// A rule of the kind that is not refused.
RopeRule sample(RopeRuleKind kind);

struct Made {
    std::vector<double> frequencies;
    double scale = 0;
};

Made made(const RopeRule& rule);

} // namespace rules
