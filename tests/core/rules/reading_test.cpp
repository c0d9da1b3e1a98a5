// Rules read the members that rope.h names for them, with the header's defaults, and no others.
#include "support/rule_samples.hpp"

#include <cfenv>
#include <gtest/gtest.h>

using namespace rules;

TEST(Rules, DefaultsAreThoseOfTheHeader) {
    const auto same = [](const RopeRule& a, const RopeRule& b) {
        EXPECT_EQ(made(a).frequencies, made(b).frequencies) << a.kind;
        EXPECT_EQ(made(a).scale, made(b).scale);
    };
    same(yarnOf(64, 1e4, 40, 4096), yarnOf(64, 1e4, 40, 4096, 32, 1));
    same(llama3Of(128, 5e5, 8, 0, 0), llama3Of(128, 5e5, 8, 1, 4));
    same(proportionalOf(512, 1e6, 64, 0), proportionalOf(512, 1e6, 64, 1));
    same(longropeOf(96, 1e4, 32, 4096, 0), longropeOf(96, 1e4, 32, 4096, 4096));
    RopeRule temperature = ruleOf(ROPE_RULE_YARN_TEMPERATURE, 128, 1e4, 8);
    temperature.temperature = 0.25;
    temperature.gamma = 0.8;
    same(ruleOf(ROPE_RULE_YARN_TEMPERATURE, 128, 1e4, 8), temperature);
    RopeRule ramped = ruleOf(ROPE_RULE_YARN_RAMPED, 64, 1e6, 4, 2048, 8192);
    ramped.beta_fast = 4;
    ramped.beta_slow = 1;
    same(ruleOf(ROPE_RULE_YARN_RAMPED, 64, 1e6, 4, 2048, 8192), ramped);
}

TEST(Rules, DoNotReadWhatTheyDoNotName) {
    RopeRule spoiled = {};
    spoiled.factor = spoiled.original_length = spoiled.length = spoiled.attention_factor = spoiled.beta_fast =
        spoiled.beta_slow = spoiled.mscale = spoiled.mscale_all_dim = spoiled.low_freq_factor =
            spoiled.high_freq_factor = spoiled.temperature = spoiled.gamma = kNan;
    spoiled.rotating_pairs = spoiled.keep_bounds = 77;
    spoiled.rotary_dim = 64;
    spoiled.base = 1e4;
    EXPECT_EQ(made(spoiled).frequencies, made(ruleOf(ROPE_RULE_DEFAULT, 64, 1e4, 0)).frequencies);
    spoiled.factor = 4;
    for (RopeRuleKind kind : {ROPE_RULE_LINEAR, ROPE_RULE_NTK}) {
        spoiled.kind = kind;
        EXPECT_EQ(made(spoiled).frequencies, made(ruleOf(kind, 64, 1e4, 4)).frequencies);
    }
    spoiled.kind = ROPE_RULE_LLAMA3;
    spoiled.original_length = 8192;
    spoiled.low_freq_factor = spoiled.high_freq_factor = 0;
    EXPECT_EQ(made(spoiled).frequencies, made(llama3Of(64, 1e4, 4, 1, 4)).frequencies);
}

TEST(Rules, DoNotHearTheRoundingMode) {
    for (RopeRuleKind kind : kAll) {
        const Made nearest = made(sample(kind));
        for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
            fesetround(mode);
            const Made other = made(sample(kind));
            fesetround(FE_TONEAREST);
            EXPECT_EQ(other.frequencies, nearest.frequencies) << ropeRuleName(kind);
            EXPECT_EQ(other.scale, nearest.scale) << ropeRuleName(kind);
        }
    }
}

TEST(Rules, HaveNames) {
    const char* const names[] = {"default", "linear",       "ntk",         "dynamic",          "yarn",     "longrope",
                                 "llama3",  "proportional", "yarn_ramped", "yarn_temperature", "ntk_mixed"};
    int kind = 0;
    for (const char* name : names) EXPECT_STREQ(ropeRuleName(static_cast<RopeRuleKind>(kind++)), name);
    EXPECT_EQ(ropeRuleName(static_cast<RopeRuleKind>(kind)), nullptr);
    EXPECT_EQ(ropeRuleName(ROPE_RULE_KIND_MAX_ENUM), nullptr);
}
