#include "rule_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rules {
namespace {

std::vector<double> listOf(double first, double growth, uint32_t count) {
    std::vector<double> list(count);
    for (uint32_t i = 0; i < count; ++i) {
        list[i] = std::min(first + growth * i * i, 64.7);
    }
    return list;
}

} // namespace

RopeRule ruleOf(RopeRuleKind kind, uint32_t dim, double base, double factor, double original, double length) {
    RopeRule rule = {};
    rule.kind = kind;
    rule.rotary_dim = dim;
    rule.base = base;
    rule.factor = factor;
    rule.original_length = original;
    rule.length = length;
    return rule;
}

RopeRule llama3Of(uint32_t dim, double base, double factor, double low, double high) {
    RopeRule rule = ruleOf(ROPE_RULE_LLAMA3, dim, base, factor, 8192);
    rule.low_freq_factor = low;
    rule.high_freq_factor = high;
    return rule;
}

RopeRule yarnOf(uint32_t dim, double base, double factor, double original, double fast, double slow) {
    RopeRule rule = ruleOf(ROPE_RULE_YARN, dim, base, factor, original);
    rule.beta_fast = fast;
    rule.beta_slow = slow;
    return rule;
}

RopeRule deepseekV3() {
    RopeRule rule = yarnOf(64, 1e4, 40, 4096, 32, 1);
    rule.mscale = rule.mscale_all_dim = 1;
    return rule;
}

RopeRule gptOss() {
    RopeRule rule = yarnOf(64, 150000, 32, 4096, 32, 1);
    rule.keep_bounds = 1;
    return rule;
}

const std::vector<double> kShort = listOf(1.0, 0.0003, 4096), kLong = listOf(1.05, 0.031, 4096);

RopeRule longropeOf(uint32_t dim, double base, double factor, double original, double length) {
    RopeRule rule = ruleOf(ROPE_RULE_LONGROPE, dim, base, factor, original, length);
    rule.short_factors = kShort.data();
    rule.long_factors = kLong.data();
    return rule;
}

RopeRule proportionalOf(uint32_t dim, double base, uint32_t rotating, double factor) {
    RopeRule rule = ruleOf(ROPE_RULE_PROPORTIONAL, dim, base, factor);
    rule.rotating_pairs = rotating;
    return rule;
}

RopeRule scaledBy(RopeRule rule, double attention_factor) {
    rule.attention_factor = attention_factor;
    return rule;
}

RopeRule sample(RopeRuleKind kind) {
    RopeRule rule = longropeOf(64, 1e4, 4, 4096, 16384);
    rule.kind = kind;
    rule.rotating_pairs = 16;
    return rule;
}

Made made(const RopeRule& rule) {
    Made result = {std::vector<double>(rule.rotary_dim / 2), 0};
    RopeReason reason;
    EXPECT_EQ(ropeMakeFrequencies(&rule, result.frequencies.data(), &result.scale, &reason), ROPE_SUCCESS)
        << ropeRuleName(rule.kind) << ": " << reason.text;
    return result;
}

} // namespace rules
