// Prints a hash over the bits of every frequency and scale of a fixed list of rules, and a few of the doubles. No
// floating point arithmetic is done here: numbers that are not exact integers are written in hexadecimal.
#include <vkrope/rope.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

uint64_t hash = 0xcbf29ce484222325; // FNV-1a
double frequencies[ROPE_MAX_PAIRS];
double short_factors[ROPE_MAX_PAIRS];
double long_factors[ROPE_MAX_PAIRS];

uint64_t bitsOf(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void take(double value) {
    for (int i = 0; i < 64; i += 8) {
        hash = (hash ^ (bitsOf(value) >> i & 0xFF)) * 0x100000001b3;
    }
}

// A double from 1 to 2^9, the same everywhere.
double fill(uint64_t i) {
    const uint64_t bits = (1023ull + i % 9) << 52 | (i * 0x9E3779B97F4A7C15) >> 12;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

RopeRule extended(RopeRuleKind kind, uint32_t rotary_dim, double base) {
    RopeRule rule = {};
    rule.kind = kind;
    rule.rotary_dim = rotary_dim;
    rule.base = base;
    rule.factor = 0x1.4cccccccccccdp3; // 10.4
    rule.original_length = 4096;
    rule.length = 40000;
    rule.rotating_pairs = rotary_dim / 4 + 1;
    rule.short_factors = short_factors;
    rule.long_factors = long_factors;
    return rule;
}

void make(const RopeRule& rule, bool print) {
    double scale;
    RopeReason reason;
    if (ropeMakeFrequencies(&rule, frequencies, &scale, &reason) != ROPE_SUCCESS) {
        printf("refused: %s\n", reason.text);
        exit(1);
    }
    take(scale);
    for (uint32_t i = 0; i < rule.rotary_dim / 2; ++i) {
        take(frequencies[i]);
    }
    if (print) {
        printf("%-16s %016llx %016llx scale %016llx\n", ropeRuleName(rule.kind),
               static_cast<unsigned long long>(bitsOf(frequencies[1])),
               static_cast<unsigned long long>(bitsOf(frequencies[rule.rotary_dim / 4 - 3])),
               static_cast<unsigned long long>(bitsOf(scale)));
    }
}

// The words that the shaders read are made of the doubles: they too are the same everywhere.
void write(RopeAngle angle) {
    uint32_t words[4 * 32];
    const RopeFrequencies values = {frequencies, 32, 0, nullptr, 1};
    if (ropeWriteFrequencies(&values, angle, words, nullptr) != ROPE_SUCCESS) {
        exit(1);
    }
    for (uint32_t i = 0; i < 32 * 4; ++i) {
        hash = (hash ^ words[i]) * 0x100000001b3;
    }
}

} // namespace

int main() {
    for (uint32_t i = 0; i < ROPE_MAX_PAIRS; ++i) {
        short_factors[i] = fill(i);
        long_factors[i] = fill(i + 77777);
    }
    for (int kind = 0; ropeRuleName(static_cast<RopeRuleKind>(kind)); ++kind) {
        const bool is_stretched = kind == ROPE_RULE_NTK || kind == ROPE_RULE_DYNAMIC_NTK;
        for (uint32_t rotary_dim : {64u, 96u, 128u, 512u}) {
            for (double base : {10000.0, 500000.0, 150000.0, 0x1.0000000000001p0, 0x1.9p60}) {
                if (is_stretched && base == 0x1.9p60) {
                    continue; // out of range
                }
                const bool print = rotary_dim == 128 && base == 500000.0;
                make(extended(static_cast<RopeRuleKind>(kind), rotary_dim, base), print);
                write(ROPE_ANGLE_EXACT);
                write(ROPE_ANGLE_COMPATIBLE);
            }
        }
    }
    RopeRule rule = extended(ROPE_RULE_YARN, 64, 150000);
    rule.keep_bounds = 1;
    make(rule, true);
    rule.mscale = 0x1.6a09e667f3bcdp-1;
    rule.mscale_all_dim = 0.5;
    make(rule, true);
    rule = extended(ROPE_RULE_LLAMA3, 128, 500000);
    rule.low_freq_factor = rule.high_freq_factor = 1;
    make(rule, true);
    rule = extended(ROPE_RULE_LINEAR, 8192, 0x1.fffffffffffffp63);
    rule.factor = 0x1.23456789abcdep899; // to below 2^-960
    make(rule, true);
    printf("all %016llx\n", static_cast<unsigned long long>(hash));
    return 0;
}
