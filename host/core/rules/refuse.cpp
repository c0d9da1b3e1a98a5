// Refusals: a result and a sentence.
#include "rules/refuse.h"

#include <stdarg.h>
#include <stdio.h>

namespace rope {

RopeResult refuse(RopeReason* reason, RopeResult result, const char* format, ...) {
    if (reason) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(reason->text, sizeof reason->text, format, arguments);
        va_end(arguments);
    }
    return result;
}

RopeResult refuseNull(RopeReason* reason, const char* names) {
    return refuse(reason, ROPE_ERROR_INVALID, "%s is null; it must be an address", names);
}

RopeResult checkChoices(const Choice* choices, uint32_t count, RopeReason* reason) {
    for (const Choice* choice = choices; choice != choices + count; ++choice) {
        if (choice->value < 0 || choice->value > choice->last) {
            return refuse(reason, ROPE_ERROR_INVALID, "%s is %d; it must be from 0 to %d", choice->name, choice->value,
                          choice->last);
        }
    }
    return ROPE_SUCCESS;
}

RopeResult checkChoice(const char* name, int value, int last, RopeReason* reason) {
    const Choice choice = {name, value, last};
    return checkChoices(&choice, 1, reason);
}

} // namespace rope
