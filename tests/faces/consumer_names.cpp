// A host whose own names are those that the library has inside. Its functions are inline: a linker drops such a
// function without a word where a library defines another one of its name.
#include <vkrope/rope.h>

#include <stdio.h>
#include <string.h>

struct Real {
    double value;
    Real operator+(const Real& other) const { return {value + other.value}; }
    Real operator-(const Real& other) const { return {value - other.value}; }
    Real operator*(const Real& other) const { return {value * other.value}; }
    bool operator<(const Real& other) const { return value < other.value; }
};

struct Fixed {
    int cents;
};

struct Choice {
    const char* name;
};

inline double realToDouble(const Real& a) { return a.value; }
inline Real realFromInteger(uint32_t value) { return {static_cast<double>(value)}; }
inline bool realIsZero(const Real& a) { return a.value == 0; }

inline RopeResult refuse(RopeReason*, RopeResult, const char*, ...) { return ROPE_SUCCESS; }
inline RopeResult checkChoice(const char*, int, int, RopeReason*) { return ROPE_ERROR_TOO_LARGE; }
inline RopeResult checkChoices(const Choice*, uint32_t, RopeReason*) { return ROPE_ERROR_TOO_LARGE; }
inline RopeResult checkFrequencyScale(double, RopeReason*) { return ROPE_ERROR_TOO_LARGE; }
inline RopeResult checkFrequencies(const RopeFrequencies&, RopeReason*) { return ROPE_ERROR_TOO_LARGE; }
inline void clear(RopeReason* reason) { strcpy(reason->text, "the host's"); }

static int check(bool right, const char* what) {
    if (!right) fprintf(stderr, "wrong: %s\n", what);
    return right ? 0 : 1;
}

static int checkOwn() {
    RopeReason reason;
    clear(&reason);
    const RopeFrequencies none = {};
    const Choice choice = {"one"};
    const Real one = {1}, two = {2}, three = one + two;
    int wrong = check(three.value == 3 && (three - one).value == 2 && (two * three).value == 6, "1 + 2");
    wrong += check(one < two && !(two < one), "1 < 2");
    wrong += check(realToDouble(realFromInteger(4)) == 4 && realIsZero(three - (one + two)), "the host's numbers");
    wrong += check(strcmp(reason.text, "the host's") == 0, "the host's clear");
    wrong += check(refuse(&reason, ROPE_ERROR_INVALID, "%d", 1) == ROPE_SUCCESS, "the host's refuse");
    wrong += check(checkChoice("name", 0, 1, &reason) == ROPE_ERROR_TOO_LARGE, "the host's checkChoice");
    wrong += check(checkChoices(&choice, 1, &reason) == ROPE_ERROR_TOO_LARGE, "the host's checkChoices");
    wrong += check(checkFrequencyScale(1, &reason) == ROPE_ERROR_TOO_LARGE, "the host's checkFrequencyScale");
    return wrong + check(checkFrequencies(none, &reason) == ROPE_ERROR_TOO_LARGE, "the host's checkFrequencies");
}

static int checkLibrarys() {
    RopeRule rule = {};
    rule.kind = ROPE_RULE_LINEAR;
    rule.rotary_dim = 2;
    rule.base = 10000;
    rule.factor = 4;
    double frequency = 0, scale = 0;
    RopeReason reason;
    int wrong = check(ropeMakeFrequencies(&rule, &frequency, &scale, &reason) == ROPE_SUCCESS && frequency == 0.25 &&
                          scale == 1 && reason.text[0] == '\0',
                      "the library's frequency");
    uint32_t words[4];
    RopeFrequencies frequencies = {};
    frequencies.values = &frequency;
    frequencies.count = 1;
    wrong += check(ropeWriteFrequencies(&frequencies, ROPE_ANGLE_EXACT, words, &reason) == ROPE_SUCCESS,
                   "the library's words");
    frequencies.scale = -4194304;
    return wrong + check(ropeWriteFrequencies(&frequencies, ROPE_ANGLE_EXACT, words, &reason) == ROPE_ERROR_INVALID &&
                             strstr(reason.text, "frequencies.scale is -4194304") != nullptr,
                         "the library's refusal");
}

int main() { return checkOwn() + checkLibrarys() == 0 ? 0 : 1; }
