// How a refusal is put into words: a result, and one sentence in the caller's RopeReason.
#ifndef VKROPE_REFUSE_H
#define VKROPE_REFUSE_H

#include "rope.h"

namespace rope {

RopeResult refuse(RopeReason* reason, RopeResult result, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

// A pointer is null; `names` are those that may not be.
RopeResult refuseNull(RopeReason* reason, const char* names);

// An enumerator by its number, and the last of them.
struct Choice {
    const char* name;
    int value;
    int last;
};
RopeResult checkChoices(const Choice* choices, uint32_t count, RopeReason* reason);
RopeResult checkChoice(const char* name, int value, int last, RopeReason* reason);

// What a function of the header begins with: those behind it touch a reason only to refuse.
inline void clear(RopeReason* reason) {
    if (reason) {
        reason->text[0] = '\0';
    }
}

} // namespace rope

#endif
