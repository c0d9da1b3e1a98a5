// Rules that are refused, and the sentences of the refusals.
#include "support/refusal.hpp"
#include "support/rule_samples.hpp"

#include <gtest/gtest.h>
#include <vector>

using namespace rules;

TEST(Rules, RefuseAFactorThatIsNotPositiveAndFinite) {
    for (RopeRuleKind kind : kAll) {
        for (double factor : {0.0, -0.0, -2.0, 1e-10, 1e290, kInfinity, kNan, -kNan}) {
            RopeRule rule = sample(kind);
            rule.factor = factor;
            if (kind != ROPE_RULE_DEFAULT && !(kind == ROPE_RULE_PROPORTIONAL && factor == 0)) {
                EXPECT_SAYS(ruleRefusal(rule), "factor is ");
            }
        }
    }
    EXPECT_EQ(ruleRefusal(ruleOf(ROPE_RULE_LINEAR, 64, 1e4, -2)),
              "factor is -2; it must be greater than 0: from 2^-30 to 2^900");
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_YARN_RAMPED, 64, 1e4, 0.5, 2048, 4096)), "it must be from 1 to 2^900");
}

TEST(Rules, RefuseAMissingOriginalLength) {
    for (RopeRuleKind kind :
         {ROPE_RULE_DYNAMIC_NTK, ROPE_RULE_YARN, ROPE_RULE_LONGROPE, ROPE_RULE_LLAMA3, ROPE_RULE_YARN_RAMPED}) {
        for (double original : {0.0, -4096.0, 0.5, 1e300, kInfinity, kNan}) {
            RopeRule rule = sample(kind);
            rule.original_length = original;
            EXPECT_SAYS(ruleRefusal(rule), "original_length is ");
        }
    }
    EXPECT_EQ(ruleRefusal(yarnOf(64, 1e4, 4, 0)),
              "original_length is 0; it must be from 1 to 2^53: the positions that the model was trained on");
}

TEST(Rules, RefuseALengthThatIsNone) {
    for (RopeRuleKind kind : {ROPE_RULE_DYNAMIC_NTK, ROPE_RULE_LONGROPE, ROPE_RULE_YARN_RAMPED}) {
        for (double length : {-1.0, 1e300, kInfinity, kNan}) {
            RopeRule rule = sample(kind);
            rule.length = length;
            EXPECT_SAYS(ruleRefusal(rule), "length is ");
        }
    }
}

TEST(Rules, RefuseAnAttentionFactorThatNoPlanTakes) {
    for (RopeRuleKind kind : {ROPE_RULE_YARN, ROPE_RULE_LONGROPE}) {
        for (double factor : {-1.0, 1e-7, 2e6, kInfinity, kNan}) {
            EXPECT_SAYS(ruleRefusal(scaledBy(sample(kind), factor)), "attention_factor is ");
        }
    }
}

TEST(Rules, RefuseBetasThatAreNone) {
    for (RopeRuleKind kind : {ROPE_RULE_YARN, ROPE_RULE_YARN_RAMPED}) {
        for (double beta : {-1.0, 1e-300, 1e300, kInfinity, kNan}) {
            RopeRule rule = sample(kind);
            rule.beta_fast = beta;
            EXPECT_SAYS(ruleRefusal(rule), "beta_fast is ");
            rule.beta_fast = 0;
            rule.beta_slow = beta;
            EXPECT_SAYS(ruleRefusal(rule), "beta_slow is ");
        }
    }
    EXPECT_SAYS(ruleRefusal(yarnOf(64, 1e4, 4, 4096, 2, 3)), "beta_fast is 2 and beta_slow 3");
    EXPECT_SAYS(ruleRefusal(yarnOf(64, 1e4, 4, 4096, 0, 33)), "beta_fast must not be the smaller");
}

TEST(Rules, RefuseAYarnThatHasNoMeaning) {
    EXPECT_SAYS(ruleRefusal(yarnOf(64, 1, 4, 4096)), "base is 1; it must be greater");
    RopeRule rule = yarnOf(64, 1e4, 4, 4096);
    rule.keep_bounds = 2;
    EXPECT_SAYS(ruleRefusal(rule), "keep_bounds is 2; it must be 0 or 1");
    for (double mscale : {-0.5, kInfinity, kNan}) {
        rule = deepseekV3();
        rule.mscale = mscale;
        EXPECT_SAYS(ruleRefusal(rule), "mscale is ");
        rule = deepseekV3();
        rule.mscale_all_dim = mscale;
        EXPECT_SAYS(ruleRefusal(rule), "mscale_all_dim is ");
    }
    for (double mscale : {1e-300, 1e300}) {
        rule = deepseekV3();
        rule.mscale = 1 / mscale;
        rule.mscale_all_dim = mscale;
        EXPECT_SAYS(ruleRefusal(rule), "the scale on cos and sin comes out ");
    }
}

TEST(Rules, RefuseLongropeListsThatAreNone) {
    RopeRule rule = sample(ROPE_RULE_LONGROPE);
    rule.long_factors = nullptr;
    EXPECT_EQ(ruleRefusal(rule), "long_factors is null; it must point to rotary_dim / 2 = 32 factors");
    rule = sample(ROPE_RULE_LONGROPE);
    rule.short_factors = nullptr;
    EXPECT_SAYS(ruleRefusal(rule), "short_factors is null");
    for (double factor : {0.0, -1.0, 1e-10, 1e290, kInfinity, kNan}) {
        std::vector<double> list(32, 1.0);
        list[31] = factor;
        rule = sample(ROPE_RULE_LONGROPE);
        rule.short_factors = list.data();
        EXPECT_SAYS(ruleRefusal(rule), "short_factors[31] is ");
        rule = sample(ROPE_RULE_LONGROPE);
        rule.long_factors = list.data();
        EXPECT_SAYS(ruleRefusal(rule), "long_factors[31] is ");
    }
}

TEST(Rules, RefuseALongropeScaleThatIsNone) {
    EXPECT_SAYS(ruleRefusal(longropeOf(96, 1e4, 0, 4096, 0)),
                "factor is 0; it must be from 2^-30 to 2^900 where attention_factor is 0");
    EXPECT_SAYS(ruleRefusal(longropeOf(96, 1e4, 2, 1, 0)), "original_length is 1; it must be greater");
    EXPECT_SAYS(ruleRefusal(longropeOf(96, 1e4, 1e200, 1 + 0x1p-52, 0)), "the scale on cos and sin comes out ");
}

TEST(Rules, RefuseLlama3FactorsThatCross) {
    EXPECT_SAYS(ruleRefusal(llama3Of(64, 5e5, 8, 4, 1)), "low must not be the greater");
    EXPECT_SAYS(ruleRefusal(llama3Of(64, 5e5, 8, 5, 0)), "low_freq_factor is 5 and high_freq_factor 0");
    for (double factor : {-1.0, kInfinity, kNan}) {
        EXPECT_SAYS(ruleRefusal(llama3Of(64, 5e5, 8, factor, 4)), "low_freq_factor is ");
        EXPECT_SAYS(ruleRefusal(llama3Of(64, 5e5, 8, 1, factor)), "high_freq_factor is ");
    }
}

TEST(Rules, RefuseRotatingPairsBeyondThePairs) {
    EXPECT_EQ(ruleRefusal(proportionalOf(512, 1e6, 257, 0)),
              "rotating_pairs is 257; it must be from 1 to rotary_dim / 2 = 256");
    EXPECT_SAYS(ruleRefusal(proportionalOf(512, 1e6, 0, 0)), "rotating_pairs is 0;");
}

TEST(Rules, RefuseABaseStretchedOutOfItsRange) {
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_NTK, 2, 1e4, 8)), "rotary_dim is 2; it must be 4 or more");
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_DYNAMIC_NTK, 2, 1e4, 8, 4096)), "rotary_dim is 2; it must be 4 or more");
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_NTK, 128, 1e4, 1e-5)), "base 10000 is stretched to less than 1;");
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_NTK, 128, 1e4, 1e20)), "base 10000 is stretched to 2^64 or more;");
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_NTK, 4, 4294967296.0, 65536)), "2^64 or more"); // just 2^64
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_DYNAMIC_NTK, 128, 1e4, 1e9, 2, 1e15)), "2^64 or more");
}

TEST(Rules, RefuseATemperatureThatIsNone) {
    for (double value : {-1.0, kInfinity, kNan}) {
        RopeRule rule = sample(ROPE_RULE_YARN_TEMPERATURE);
        rule.temperature = value;
        EXPECT_SAYS(ruleRefusal(rule), "temperature is ");
        rule.temperature = 0;
        rule.gamma = value;
        EXPECT_SAYS(ruleRefusal(rule), "gamma is ");
    }
    for (double factor : {0x1p-20, 0x1p899}) {
        RopeRule rule = ruleOf(ROPE_RULE_YARN_TEMPERATURE, 64, 1e4, factor);
        rule.gamma = 2;
        EXPECT_SAYS(ruleRefusal(rule), "must be from 2^-30 to 2^900");
        rule.gamma = 1e300;
        rule.temperature = 1e300;
        EXPECT_SAYS(ruleRefusal(rule), "must be from 2^-30 to 2^900");
    }
}
