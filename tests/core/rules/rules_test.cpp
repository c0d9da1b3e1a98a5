// Every rule's formula is computed once more, in MPFR at 500 bits (150 digits), on the same doubles.
#include "support/big.hpp"
#include "support/refusal.hpp"
#include "support/rule_samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace big;
using namespace rules;

namespace {

double orElse(double value, double otherwise) { return value != 0 ? value : otherwise; }

// ---- The formulas in MPFR

// b^(-2i/d)
Big theta(const Big& base, uint32_t i, uint32_t d) { return Big(1) / power(base, Big(2.0 * i) / Big(d)); }

Big trueNtk(const RopeRule& r, const Big& stretch, uint32_t i) {
    const Big d(r.rotary_dim);
    return theta(Big(r.base) * power(stretch, d / (d - Big(2))), i, r.rotary_dim);
}

Big trueDynamic(const RopeRule& r, uint32_t i) {
    const Big s(r.factor), length(r.length > r.original_length ? r.length : r.original_length);
    return trueNtk(r, s * length / Big(r.original_length) - (s - Big(1)), i);
}

Big correction(const RopeRule& r, double beta) {
    const Big turns = Big(r.original_length) / (Big(2) * Big::pi() * Big(beta));
    return Big(r.rotary_dim) * logOf(turns) / (Big(2) * logOf(r.base));
}

Big trueYarn(const RopeRule& r, uint32_t i) {
    Big low = correction(r, orElse(r.beta_fast, 32)), high = correction(r, orElse(r.beta_slow, 1));
    if (!r.keep_bounds) {
        low = floorOf(low);
        high = ceilOf(high);
    }
    low = low < Big(0) ? Big(0) : low;
    const Big last(r.rotary_dim - 1.0);
    high = last < high ? last : high;
    if (low == high) {
        high = high + Big(1) / Big(1000);
    }
    Big ramp = (Big(i) - low) / (high - low);
    ramp = ramp < Big(0) ? Big(0) : Big(1) < ramp ? Big(1) : ramp;
    const Big plain = theta(r.base, i, r.rotary_dim);
    return plain / Big(r.factor) * ramp + plain * (Big(1) - ramp);
}

Big magnitude(const RopeRule& r, const Big& m) {
    return r.factor <= 1 ? Big(1) : m * logOf(r.factor) / Big(10) + Big(1);
}

Big trueYarnScale(const RopeRule& r) {
    if (r.attention_factor != 0) {
        return r.attention_factor;
    }
    return r.mscale != 0 && r.mscale_all_dim != 0 ? magnitude(r, r.mscale) / magnitude(r, r.mscale_all_dim)
                                                  : magnitude(r, 1);
}

Big trueLongrope(const RopeRule& r, uint32_t i) {
    const double* list = r.length > r.original_length ? r.long_factors : r.short_factors;
    return theta(r.base, i, r.rotary_dim) / Big(list[i]);
}

Big trueLongropeScale(const RopeRule& r) {
    if (r.attention_factor != 0) {
        return r.attention_factor;
    }
    return r.factor <= 1 ? Big(1) : rootOf(Big(1) + logOf(r.factor) / logOf(r.original_length));
}

Big trueLlama3(const RopeRule& r, uint32_t i) {
    const Big low(orElse(r.low_freq_factor, 1)), high(orElse(r.high_freq_factor, 4)), length(r.original_length);
    const Big plain = theta(r.base, i, r.rotary_dim);
    const Big wavelength = Big(2) * Big::pi() / plain;
    if (wavelength < length / high) {
        return plain;
    }
    if (length / low < wavelength) {
        return plain / Big(r.factor);
    }
    const Big blend = (length / wavelength - low) / (high - low);
    return (Big(1) - blend) * plain / Big(r.factor) + blend * plain;
}

Big trueRamped(const RopeRule& r, uint32_t i) {
    const uint32_t pairs = r.rotary_dim / 2;
    const Big plain = theta(r.base, i, r.rotary_dim), alpha(r.factor);
    if (!(r.length > r.original_length)) {
        return plain;
    }
    if (Big(r.original_length) < Big(2) * Big::pi() / plain) {
        return plain / alpha;
    }
    const double slow = orElse(r.beta_slow, 1), fast = orElse(r.beta_fast, 4);
    const Big beta = Big(slow) + (Big(fast) - Big(slow)) * Big(i) / Big(pairs > 1 ? pairs - 1 : 1);
    return plain * (beta * alpha - beta + Big(1)) / (beta * alpha);
}

Big trueTemperature(const RopeRule& r, uint32_t i) {
    const Big s(r.factor), t(orElse(r.temperature, 0.25)), gamma(orElse(r.gamma, 0.8));
    const Big stretched = theta(r.base, i, r.rotary_dim) / power(s, t / Big(r.rotary_dim / 2));
    return stretched * power(Big(1) / s, gamma);
}

// The paper's exp(a (i + 1)^e) is s^(((i + 1) / (d/2))^e).
Big trueMixed(const RopeRule& r, uint32_t i) {
    const Big exponent = power(Big(i + 1) / Big(r.rotary_dim / 2), Big(orElse(r.mixed_exponent, 0.625)));
    return theta(r.base, i, r.rotary_dim) / power(Big(r.factor), exponent);
}

Big trueFrequency(const RopeRule& r, uint32_t i) {
    switch (r.kind) {
    case ROPE_RULE_LINEAR:
        return theta(r.base, i, r.rotary_dim) / Big(r.factor);
    case ROPE_RULE_NTK:
        return trueNtk(r, r.factor, i);
    case ROPE_RULE_DYNAMIC_NTK:
        return trueDynamic(r, i);
    case ROPE_RULE_YARN:
        return trueYarn(r, i);
    case ROPE_RULE_LONGROPE:
        return trueLongrope(r, i);
    case ROPE_RULE_LLAMA3:
        return trueLlama3(r, i);
    case ROPE_RULE_PROPORTIONAL:
        return i < r.rotating_pairs ? theta(r.base, i, r.rotary_dim) / Big(orElse(r.factor, 1)) : Big(0);
    case ROPE_RULE_YARN_RAMPED:
        return trueRamped(r, i);
    case ROPE_RULE_YARN_TEMPERATURE:
        return trueTemperature(r, i);
    case ROPE_RULE_NTK_MIXED:
        return trueMixed(r, i);
    default:
        return theta(r.base, i, r.rotary_dim);
    }
}

Big trueScale(const RopeRule& r) {
    return r.kind == ROPE_RULE_YARN ? trueYarnScale(r) : r.kind == ROPE_RULE_LONGROPE ? trueLongropeScale(r) : Big(1);
}

// ---- Comparison

double relativeError(double value, const Big& truth) {
    if (truth == Big(0)) {
        return value == 0 ? 0 : kInfinity;
    }
    return std::fabs(((Big(value) - truth) / truth).toDouble());
}

struct Worst {
    double error = 0;
    size_t compared = 0;
    size_t not_nearest = 0;
    void take(double value, const Big& truth) {
        error = std::max(error, relativeError(value, truth));
        ++compared;
        not_nearest += value != truth.toDouble();
    }
};

Worst compare(const std::vector<RopeRule>& rules) {
    Worst worst;
    for (const RopeRule& rule : rules) {
        const Made result = made(rule);
        for (uint32_t i = 0; i < rule.rotary_dim / 2; ++i) {
            worst.take(result.frequencies[i], trueFrequency(rule, i));
        }
        worst.take(result.scale, trueScale(rule));
        EXPECT_LE(worst.error, 1e-15) << ropeRuleName(rule.kind) << ", rotary_dim " << rule.rotary_dim << ", base "
                                      << rule.base << ", factor " << rule.factor << ", L " << rule.original_length;
        if (worst.error > 1e-15) {
            break;
        }
    }
    return worst;
}

void expectTrue(const char* what, const std::vector<RopeRule>& rules) {
    const Worst worst = compare(rules);
    printf("%-17s %4zu rules, %6zu doubles: greatest relative error %.3g, %zu not the nearest\n", what, rules.size(),
           worst.compared, worst.error, worst.not_nearest);
    EXPECT_EQ(worst.not_nearest, 0u);
}

// Draws `count` rules of one kind, of any base, dimension, factor and length. `complete` sets the kind's other members.
std::vector<RopeRule> randomRules(RopeRuleKind kind, int count,
                                  const std::function<void(RopeRule&, double)>& complete) {
    std::mt19937 generator(static_cast<uint32_t>(kind) + 1);
    std::uniform_real_distribution<double> unit;
    std::vector<RopeRule> rules;
    for (int i = 0; i < count; ++i) {
        const uint32_t dim = 4 + 2 * static_cast<uint32_t>(generator() % (i % 16 == 0 ? 500 : 62));
        const double base = std::exp2(0.1 + unit(generator) * (i % 4 == 0 ? 63.8 : 24));
        RopeRule rule = ruleOf(kind, dim, base, std::exp2(unit(generator) * 20));
        rule.original_length = std::floor(std::exp2(8 + 12 * unit(generator)));
        rule.length = std::floor(rule.original_length * std::exp2(8 * unit(generator) - 2));
        complete(rule, unit(generator));
        rules.push_back(rule);
    }
    return rules;
}

std::vector<RopeRule> operator+(std::vector<RopeRule> a, const std::vector<RopeRule>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

const auto kNothingMore = [](RopeRule&, double) {};

} // namespace

TEST(Rules, LinearIsTrue) {
    expectTrue("linear", std::vector<RopeRule>{ruleOf(ROPE_RULE_LINEAR, 128, 1e6, 8), ruleOf(ROPE_RULE_LINEAR, 2, 1, 3),
                                               ruleOf(ROPE_RULE_LINEAR, 128, 1e4, 0x1p-30),
                                               ruleOf(ROPE_RULE_LINEAR, 8192, 1.8e19, 0x1.3p899)} +
                             randomRules(ROPE_RULE_LINEAR, 200, kNothingMore));
}

TEST(Rules, NtkIsTrue) {
    expectTrue("ntk", std::vector<RopeRule>{ruleOf(ROPE_RULE_NTK, 128, 1e4, 1000), // HunYuan's alpha
                                            ruleOf(ROPE_RULE_NTK, 128, 1e4, 1), ruleOf(ROPE_RULE_NTK, 128, 1e4, 0.5),
                                            ruleOf(ROPE_RULE_NTK, 4, 4, 0.5), ruleOf(ROPE_RULE_NTK, 8192, 1e4, 1e6)} +
                          randomRules(ROPE_RULE_NTK, 200, [](RopeRule& rule, double) {
                              rule.base = std::fmin(rule.base, 1e6);
                              rule.factor = std::fmin(rule.factor, 1e4);
                              rule.rotary_dim = std::max(rule.rotary_dim, 8u);
                          }));
}

TEST(Rules, DynamicNtkIsTrue) {
    std::vector<RopeRule> rules;
    for (double length : {0., 1., 4096., 32767., 32768., 32769., 40000., 65536., 200000., 1048576.}) {
        rules.push_back(ruleOf(ROPE_RULE_DYNAMIC_NTK, 128, 1e6, 2, 32768, length)); // InternLM 2
        rules.push_back(ruleOf(ROPE_RULE_DYNAMIC_NTK, 128, 5e7, 6, 32768, length)); // InternLM 3
    }
    expectTrue("dynamic", rules + randomRules(ROPE_RULE_DYNAMIC_NTK, 200, [](RopeRule& rule, double) {
                              rule.base = std::fmin(rule.base, 1e6);
                              rule.factor = std::fmin(rule.factor, 100);
                              rule.rotary_dim = std::max(rule.rotary_dim, 12u);
                          }));
}

TEST(Rules, YarnIsTrue) {
    RopeRule mscales = yarnOf(64, 1e4, 40, 4096);
    mscales.mscale = 0.707;
    mscales.mscale_all_dim = 0.5;
    RopeRule one_mscale = yarnOf(64, 1e4, 40, 4096);
    one_mscale.mscale = 0.707;
    RopeRule equal = yarnOf(64, 1e4, 4, 4096, 8, 8); // kept and equal: a step a thousandth of a pair wide
    equal.keep_bounds = 1;
    const std::vector<RopeRule> models = {deepseekV3(),
                                          gptOss(),
                                          mscales,
                                          one_mscale,
                                          equal,
                                          yarnOf(64, 5e4, 32, 4096, 1, 1),  // Kimi-K2
                                          yarnOf(128, 1e6, 4, 32768),       // Qwen
                                          yarnOf(128, 5e5, 8, 8192, 32, 1), // OLMo-3
                                          yarnOf(128, 1e6, 16, 16384),      // Ministral-3
                                          yarnOf(64, 100, 8, 32768),        // high clamps at d - 1
                                          yarnOf(64, 10, 8, 1e6),           // low too
                                          yarnOf(64, 1e4, 8, 4),            // high below 0
                                          yarnOf(64, 1e4, 8, 1.5, 3, 0.5),
                                          yarnOf(2, 1e4, 8, 4096),
                                          yarnOf(64, 1e4, 0.5, 4096), // no scale below 1
                                          yarnOf(64, 1e4, 1, 4096),
                                          scaledBy(yarnOf(64, 1e4, 16, 65536), 1.0), // DeepSeek-V4
                                          scaledBy(yarnOf(64, 1e4, 16, 65536), 1.3465735902799727)};
    expectTrue("yarn", models + randomRules(ROPE_RULE_YARN, 300, [](RopeRule& rule, double u) {
                           rule.keep_bounds = u < 0.5;
                           rule.beta_fast = u < 0.3 ? 0 : 1 + 60 * u;
                           rule.beta_slow = u < 0.6 ? 0 : u;
                           rule.mscale = u < 0.4 ? 0 : u;
                           rule.mscale_all_dim = u < 0.5 ? 0 : 3 * u * u;
                       }));
}

// If the kept bounds are equal, the ramp rises over a thousandth of a pair. These rules have a pair within the ramp.
TEST(Rules, YarnIsTrueWithinAThousandthOfAPair) {
    std::vector<RopeRule> rules;
    for (double before : {-0.0002, 0.0, 0.0002, 0.0004, 0.0008, 0.0012}) {
        const double length = 2 * 3.141592653589793 * 8 * std::pow(1e4, (10 - before) / 32);
        rules.push_back(yarnOf(64, 1e4, 4, length, 8, 8));
        rules.back().keep_bounds = 1;
    }
    expectTrue("yarn, a step", rules);
    const Made quarter = made(rules[3]), plain = made(rules[0]), linear = made(rules[5]);
    EXPECT_NEAR(quarter.frequencies[10] / plain.frequencies[10], 0.4 / 4 + 0.6, 1e-9);
    EXPECT_EQ(linear.frequencies[10], plain.frequencies[10] / 4);
}

TEST(Rules, LongropeIsTrue) {
    expectTrue("longrope",
               std::vector<RopeRule>{longropeOf(96, 1e4, 32, 4096, 0),
                                     longropeOf(96, 1e4, 32, 4096, 4096), // Phi-4-mini
                                     longropeOf(96, 1e4, 32, 4096, 4097), longropeOf(96, 1e4, 32, 4096, 131072),
                                     longropeOf(96, 1e4, 1, 4096, 131072), longropeOf(96, 1e4, 0.5, 1, 131072),
                                     scaledBy(longropeOf(128, 1e4, 0, 4096, 131072), 1.19023807)} +
                   randomRules(ROPE_RULE_LONGROPE, 200, [](RopeRule& rule, double) {
                       rule.short_factors = kShort.data();
                       rule.long_factors = kLong.data();
                   }));
}

TEST(Rules, Llama3IsTrue) {
    expectTrue("llama3",
               std::vector<RopeRule>{llama3Of(128, 5e5, 8, 1, 4),     // Llama-3.1
                                     llama3Of(64, 5e5, 32, 1, 4),     // Llama-3.2
                                     llama3Of(128, 5e5, 16, 1, 1),    // Llama-4 Scout: a step
                                     llama3Of(128, 5e5, 8, 0, 0),     // 1 and 4
                                     llama3Of(128, 1, 8, 1304, 1304), // L turns for every pair, 1303.8 of them
                                     llama3Of(128, 1, 8, 1303, 1304)} +
                   randomRules(ROPE_RULE_LLAMA3, 200, [](RopeRule& rule, double u) {
                       rule.low_freq_factor = u < 0.2 ? 0 : 4 * u;
                       rule.high_freq_factor = u < 0.2 ? 0 : u < 0.6 ? 4 * u : 9 * u;
                   }));
}

TEST(Rules, ProportionalIsTrue) {
    expectTrue("proportional", std::vector<RopeRule>{proportionalOf(512, 1e6, 64, 0), // Gemma-4
                                                     proportionalOf(512, 1e6, 64, 8), proportionalOf(512, 1e6, 256, 1),
                                                     proportionalOf(2, 1e6, 1, 3)} +
                                   randomRules(ROPE_RULE_PROPORTIONAL, 100, [](RopeRule& rule, double u) {
                                       rule.rotating_pairs = 1 + static_cast<uint32_t>(u * (rule.rotary_dim / 2 - 1));
                                   }));
}

TEST(Rules, YarnRampedIsTrue) {
    std::vector<RopeRule> rules = {ruleOf(ROPE_RULE_YARN_RAMPED, 2, 1e4, 4, 2048, 8192)};
    for (double length : {0., 2048., 2049., 32768.}) {
        rules.push_back(ruleOf(ROPE_RULE_YARN_RAMPED, 64, 1e6, 4, 2048, length));
        rules.push_back(ruleOf(ROPE_RULE_YARN_RAMPED, 96, 1e4, 16, 2, length));
        rules.push_back(ruleOf(ROPE_RULE_YARN_RAMPED, 96, 10, 16, 2048, length)); // every pair turns once
    }
    expectTrue("yarn_ramped", rules + randomRules(ROPE_RULE_YARN_RAMPED, 200, [](RopeRule& rule, double u) {
                                  rule.beta_fast = u < 0.3 ? 0 : 10 * u;
                                  rule.beta_slow = u < 0.4 ? 0 : 3 * u;
                              }));
}

TEST(Rules, YarnTemperatureIsTrue) {
    expectTrue("yarn_temperature", std::vector<RopeRule>{ruleOf(ROPE_RULE_YARN_TEMPERATURE, 128, 1e4, 8),
                                                         ruleOf(ROPE_RULE_YARN_TEMPERATURE, 2, 1e4, 0.1),
                                                         ruleOf(ROPE_RULE_YARN_TEMPERATURE, 128, 1e4, 1048576)} +
                                       randomRules(ROPE_RULE_YARN_TEMPERATURE, 200, [](RopeRule& rule, double u) {
                                           rule.temperature = u < 0.3 ? 0 : 3 * u;
                                           rule.gamma = u < 0.4 ? 0 : 1.3 * u;
                                       }));
}

TEST(Rules, NtkMixedIsTrue) {
    expectTrue("ntk_mixed",
               std::vector<RopeRule>{ruleOf(ROPE_RULE_NTK_MIXED, 128, 1e4, 8), ruleOf(ROPE_RULE_NTK_MIXED, 2, 1e4, 0.1),
                                     ruleOf(ROPE_RULE_NTK_MIXED, 64, 5e5, 1048576)} +
                   randomRules(ROPE_RULE_NTK_MIXED, 100,
                               [](RopeRule& rule, double u) { rule.mixed_exponent = u < 0.3 ? 0 : 3 * u; }));
    RopeRule rule = ruleOf(ROPE_RULE_NTK_MIXED, 128, 1e4, 8);
    for (double value : {-1.0, 16.5, kInfinity, kNan}) {
        rule.mixed_exponent = value;
        EXPECT_SAYS(ruleRefusal(rule), "mixed_exponent is ");
    }
}

TEST(Rules, YarnTemperatureGivesThePublishedExample) {
    const RopeRule rule = ruleOf(ROPE_RULE_YARN_TEMPERATURE, 128, 1e4, 8);
    const double frequency = made(rule).frequencies[32]; // 0.01 before
    EXPECT_NEAR(frequency * 30000, 0.00992 * 5684, 0.02);
    EXPECT_NEAR(frequency * 100, 0.00992 * 18.9, 1e-3);
    EXPECT_NEAR(frequency * 1000, 0.00992 * 189.5, 1e-2);
    RopeRule without_gamma = rule;
    without_gamma.gamma = std::numeric_limits<double>::min();
    EXPECT_NEAR(made(without_gamma).frequencies[32], 0.00992, 5e-6);
    EXPECT_NEAR(30000 * frequency / made(without_gamma).frequencies[32], 5684, 0.5);
}

TEST(Rules, LeaveUnextendedPairsAsTheDefaultRulesDoubles) {
    const Made plain = made(ruleOf(ROPE_RULE_DEFAULT, 128, 5e5, 0));
    const Made linear = made(ruleOf(ROPE_RULE_LINEAR, 128, 5e5, 7));
    for (const RopeRule& rule : {llama3Of(128, 5e5, 7, 1, 4), yarnOf(128, 5e5, 7, 8192)}) {
        const Made extended = made(rule);
        for (const size_t i : {0u, 1u, 5u, 10u, 15u, 50u, 55u, 63u}) {
            EXPECT_EQ(extended.frequencies[i], (i < 20 ? plain : linear).frequencies[i]) << rule.kind << ", pair " << i;
        }
    }
    for (const RopeRule& rule :
         {ruleOf(ROPE_RULE_DYNAMIC_NTK, 128, 5e5, 7, 8192, 8192), ruleOf(ROPE_RULE_NTK, 128, 5e5, 1),
          ruleOf(ROPE_RULE_YARN_RAMPED, 128, 5e5, 7, 8192, 8192)}) {
        EXPECT_EQ(made(rule).frequencies, plain.frequencies) << rule.kind;
    }
}
