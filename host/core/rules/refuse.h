// A refusal is a result, and one sentence in the caller's RopeReason.
#pragma once

#include <vkrope/rope.h>

namespace rope {

RopeResult refuse(RopeReason* reason, RopeResult result, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

// A number of a sentence: an integer, an enumerator or a float.
struct Number {
    long long whole;
    double real;
};
// What a description may not say. In the sentence each %u, %d and %g takes the next of the numbers, and each %s the
// name of what is checked.
struct RefusalRow {
    bool applies;
    RopeResult result;
    const char* sentence;
    Number numbers[4];
};
template <typename... T> RefusalRow invalid(bool applies, const char* sentence, T... numbers) {
    return {applies, ROPE_ERROR_INVALID, sentence, {{static_cast<long long>(numbers), double(numbers)}...}};
}
template <typename... T> RefusalRow tooLarge(bool applies, const char* sentence, T... numbers) {
    return {applies, ROPE_ERROR_TOO_LARGE, sentence, {{static_cast<long long>(numbers), double(numbers)}...}};
}
// Refuses by the first that applies.
RopeResult refuseByFirst(const RefusalRow* refusals, size_t count, const char* name, RopeReason* reason);
template <size_t kCount>
RopeResult refuseByFirst(const RefusalRow (&refusals)[kCount], RopeReason* reason, const char* name = "") {
    return refuseByFirst(refusals, kCount, name, reason);
}

// Refuses a null pointer. `names` lists the pointers that may not be null.
RopeResult refuseNull(RopeReason* reason, const char* names);

// A value of an enumeration, and the last enumerator.
struct Choice {
    const char* name;
    int value;
    int last;
};
RopeResult checkChoices(const Choice* choices, uint32_t count, RopeReason* reason);
RopeResult checkChoice(const char* name, int value, int last, RopeReason* reason);

// Each function of rope.h clears the reason first. The functions that it calls write a reason only to refuse.
inline void clear(RopeReason* reason) {
    if (reason) reason->text[0] = '\0';
}

} // namespace rope
