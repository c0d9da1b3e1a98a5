// Every rule's formula once more, in MPFR at 500 bits (150 digits), on the same doubles.
#include "real.h"
#include "refusal.hpp"
#include "rope.h"

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <mpfr.h>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Big {
  public:
    Big(double value = 0) {
        mpfr_init2(value_, 500);
        mpfr_set_d(value_, value, MPFR_RNDN);
    }
    Big(const Big& other) : Big() { mpfr_set(value_, other.value_, MPFR_RNDN); }
    Big& operator=(const Big& other) {
        mpfr_set(value_, other.value_, MPFR_RNDN);
        return *this;
    }
    ~Big() { mpfr_clear(value_); }
    double toDouble() const { return mpfr_get_d(value_, MPFR_RNDN); }

    using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
    using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
    static Big of(Binary function, const Big& a, const Big& b) {
        Big result;
        function(result.value_, a.value_, b.value_, MPFR_RNDN);
        return result;
    }
    static Big of(Unary function, const Big& a) {
        Big result;
        function(result.value_, a.value_, MPFR_RNDN);
        return result;
    }
    static Big pi() {
        Big result;
        mpfr_const_pi(result.value_, MPFR_RNDN);
        return result;
    }
    friend bool operator<(const Big& a, const Big& b) { return mpfr_less_p(a.value_, b.value_) != 0; }
    friend bool operator==(const Big& a, const Big& b) { return mpfr_equal_p(a.value_, b.value_) != 0; }
    friend Big floorOf(const Big& a) {
        Big result;
        mpfr_floor(result.value_, a.value_);
        return result;
    }

  private:
    mpfr_t value_;
};

Big operator+(const Big& a, const Big& b) { return Big::of(mpfr_add, a, b); }
Big operator-(const Big& a, const Big& b) { return Big::of(mpfr_sub, a, b); }
Big operator*(const Big& a, const Big& b) { return Big::of(mpfr_mul, a, b); }
Big operator/(const Big& a, const Big& b) { return Big::of(mpfr_div, a, b); }
Big power(const Big& a, const Big& b) { return Big::of(mpfr_pow, a, b); }
Big logOf(const Big& a) { return Big::of(mpfr_log, a); }
Big rootOf(const Big& a) { return Big::of(mpfr_sqrt, a); }
Big ceilOf(const Big& a) { return Big(0) - floorOf(Big(0) - a); }

double orElse(double value, double otherwise) { return value != 0 ? value : otherwise; }

// ---- The judge

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
    const Big ladder = theta(r.base, i, r.rotary_dim) / power(s, t / Big(r.rotary_dim / 2));
    return ladder * power(Big(1) / s, gamma);
}

// s^(((i + 1) / (d/2))^e) is exp(a (i + 1)^e).
Big trueMixed(const RopeRule& r, uint32_t i) {
    const Big share = power(Big(i + 1) / Big(r.rotary_dim / 2), Big(orElse(r.mixed_exponent, 0.625)));
    return theta(r.base, i, r.rotary_dim) / power(Big(r.factor), share);
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

// ---- Rules as models give them

RopeRule ruleOf(RopeRuleKind kind, uint32_t dim, double base, double factor, double original = 0, double length = 0) {
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

RopeRule yarnOf(uint32_t dim, double base, double factor, double original, double fast = 0, double slow = 0) {
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

std::vector<double> listOf(double first, double growth, uint32_t count) {
    std::vector<double> list(count);
    for (uint32_t i = 0; i < count; ++i) {
        list[i] = std::min(first + growth * i * i, 64.7);
    }
    return list;
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

// ---- Comparison

struct Made {
    std::vector<double> frequencies;
    double scale = 0;
};

Made made(const RopeRule& rule) {
    Made result = {std::vector<double>(rule.rotary_dim / 2), 0};
    RopeReason reason;
    EXPECT_EQ(ropeMakeFrequencies(&rule, result.frequencies.data(), &result.scale, &reason), ROPE_SUCCESS)
        << ropeRuleName(rule.kind) << ": " << reason.text;
    return result;
}

double relativeError(double value, const Big& truth) {
    if (truth == Big(0)) {
        return value == 0 ? 0 : kInfinity;
    }
    return std::fabs(((Big(value) - truth) / truth).toDouble());
}

double relativeError(const Real& value, const Big& truth) {
    Big sum;
    for (int i = 0; i < kFixedLimbs; ++i) {
        sum = sum + Big(std::ldexp(value.mantissa.limbs[i], 32 * (i - kFixedFractionLimbs)));
    }
    const Big error = sum * Big(std::ldexp(1.0, value.exponent)) / truth - Big(1);
    return std::fabs(error.toDouble());
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

// `count` rules of one kind: any base, dimension, factor and length, and what else the kind reads.
std::vector<RopeRule> randomRules(RopeRuleKind kind, int count,
                                  const std::function<void(RopeRule&, double)>& complete) {
    std::mt19937 generator(kind + 1);
    std::uniform_real_distribution<double> unit;
    std::vector<RopeRule> rules;
    for (int i = 0; i < count; ++i) {
        const uint32_t dim = 4 + 2 * (generator() % (i % 16 == 0 ? 500 : 62));
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

bool says(const std::string& sentence, const std::string& piece) { return sentence.find(piece) != std::string::npos; }

#define EXPECT_SAYS(sentence, piece) EXPECT_PRED2(says, sentence, piece)

const RopeRuleKind kAll[] = {ROPE_RULE_DEFAULT,          ROPE_RULE_LINEAR,       ROPE_RULE_NTK,
                             ROPE_RULE_DYNAMIC_NTK,      ROPE_RULE_YARN,         ROPE_RULE_LONGROPE,
                             ROPE_RULE_LLAMA3,           ROPE_RULE_PROPORTIONAL, ROPE_RULE_YARN_RAMPED,
                             ROPE_RULE_YARN_TEMPERATURE, ROPE_RULE_NTK_MIXED};

// One of each kind that is not refused.
RopeRule sample(RopeRuleKind kind) {
    RopeRule rule = longropeOf(64, 1e4, 4, 4096, 16384);
    rule.kind = kind;
    rule.rotating_pairs = 16;
    return rule;
}

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

// Where the kept bounds are one, the ramp rises over a thousandth of a pair: these have a whole pair within it.
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
        for (int i : {0, 1, 5, 10, 15, 50, 55, 63}) {
            EXPECT_EQ(extended.frequencies[i], (i < 20 ? plain : linear).frequencies[i]) << rule.kind << ", pair " << i;
        }
    }
    for (const RopeRule& rule :
         {ruleOf(ROPE_RULE_DYNAMIC_NTK, 128, 5e5, 7, 8192, 8192), ruleOf(ROPE_RULE_NTK, 128, 5e5, 1),
          ruleOf(ROPE_RULE_YARN_RAMPED, 128, 5e5, 7, 8192, 8192)}) {
        EXPECT_EQ(made(rule).frequencies, plain.frequencies) << rule.kind;
    }
}

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
    for (int kind = 0; kind < 11; ++kind) {
        EXPECT_STREQ(ropeRuleName(static_cast<RopeRuleKind>(kind)), names[kind]);
    }
    EXPECT_EQ(ropeRuleName(static_cast<RopeRuleKind>(11)), nullptr);
    EXPECT_EQ(ropeRuleName(ROPE_RULE_KIND_MAX_ENUM), nullptr);
}

// ---- Refusals

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

// ---- The arithmetic

TEST(Real, LogarithmsAndExponentialsAreTrueTo260Bits) {
    std::mt19937 generator(5);
    std::uniform_real_distribution<double> unit(-1, 1);
    for (int i = 0; i < 400; ++i) {
        const double value = i < 20 ? 1 + std::ldexp(i - 10, -52) : std::exp2(1000 * unit(generator));
        const double power = std::ldexp(unit(generator), i % 40 - 30);
        const Real back = realExp(realLog(realFromDouble(value))) / realFromDouble(value) - realFromInteger(1);
        ASSERT_TRUE(realIsZero(back) || back.exponent < -260) << value;
        const Real there = realLog(realExp(realFromDouble(power))) / realFromDouble(power) - realFromInteger(1);
        ASSERT_TRUE(realIsZero(there) || there.exponent < -240) << power;
        ASSERT_EQ(realToDouble(realExp(realFromDouble(power))), Big::of(mpfr_exp, power).toDouble()) << power;
        ASSERT_EQ(realToDouble(realLog(realFromDouble(value))), logOf(value).toDouble()) << value;
    }
}

TEST(Real, PiAndLogarithmOf2AreTrueTo318Bits) {
    EXPECT_LT(relativeError(realPi(), Big::pi()), 0x1p-318);
    EXPECT_LT(relativeError(realLog(realFromInteger(2)), logOf(2)), 0x1p-318);
}

TEST(Real, FloorsAndCeils) {
    for (double value : {0.0, 0.5, 1.0, 1.5, 2.0, 1e15 + 0.25, 1e300, 0x1p-1074, 31.999999999999996}) {
        for (double a : {value, -value}) {
            EXPECT_EQ(realToDouble(realFloor(realFromDouble(a))), std::floor(a));
            EXPECT_EQ(realToDouble(realCeil(realFromDouble(a))), std::ceil(a));
        }
    }
}

TEST(Real, AddsAndComparesWithSigns) {
    const double values[] = {0, 1, 1.5, -1, -1.5, 0x1p-60, -0x1p-60, 1e300, -1e300, 3, 1 - 0x1p-53};
    for (double a : values) {
        for (double b : values) {
            EXPECT_EQ(realFromDouble(a) < realFromDouble(b), a < b) << a << " " << b;
            EXPECT_EQ(realToDouble(realFromDouble(a) + realFromDouble(b)), a + b);
            EXPECT_EQ(realToDouble(realFromDouble(a) - realFromDouble(b)), a - b);
        }
    }
}

TEST(Real, RoundsToTheNearestDoubleAndTiesToEven) {
    const auto plus = [](double a, double b) { return realToDouble(realFromDouble(a) + realFromDouble(b)); };
    EXPECT_EQ(plus(1, 0x1p-53), 1.0);
    EXPECT_EQ(plus(1, 0x1.0000000000001p-53), 1 + 0x1p-52);
    EXPECT_EQ(plus(1 + 0x1p-52, 0x1p-53), 1 + 0x1p-51);
    EXPECT_EQ(plus(1 + 0x1p-52, 0x1.fffffffffffffp-54), 1 + 0x1p-52);
    EXPECT_EQ(plus(-2 + 0x1p-52, -0x1p-53), -2.0);
    EXPECT_EQ(plus(0x1p-1000, 0x1p-1053), 0x1p-1000);
    EXPECT_EQ(plus(0x1p-1000, 0x1p-1052), 0x1.0000000000001p-1000);
    EXPECT_EQ(plus(1, 0x1p-320), 1.0);
    EXPECT_EQ(realToDouble((realFromDouble(1 + 0x1p-53) + realFromDouble(0x1p-53)) + realFromDouble(0x1p-300)),
              1 + 0x1p-52);
}
