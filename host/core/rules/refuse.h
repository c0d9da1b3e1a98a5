// A refusal is a result, and one sentence in the caller's RopeReason.
#pragma once

#include <vkrope/rope.h>

namespace rope {

RopeResult refuse(RopeReason* reason, RopeResult result, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

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
