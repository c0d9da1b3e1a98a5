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

RopeResult refuseByFirst(const RefusalRow* refusals, size_t count, const char* name, RopeReason* reason) {
    const RefusalRow* refusal = refusals;
    while (refusal != refusals + count && !refusal->applies) ++refusal;
    if (refusal == refusals + count) return ROPE_SUCCESS;
    if (reason == nullptr) return refusal->result;
    const Number* number = refusal->numbers;
    char* to = reason->text;
    char* const end = to + sizeof reason->text;
    for (const char* from = refusal->sentence; *from != '\0' && to < end; ++from) {
        const size_t room = static_cast<size_t>(end - to);
        if (*from != '%')
            to += snprintf(to, room, "%c", *from);
        else if (*++from == 's')
            to += snprintf(to, room, "%s", name);
        else if (*from == 'g')
            to += snprintf(to, room, "%.9g", number++->real);
        else if (*from == 'd') // enumerators are unsigned to some compilers
            to += snprintf(to, room, "%d", static_cast<int>(number++->whole));
        else
            to += snprintf(to, room, *from == 'u' ? "%llu" : "%lld", number++->whole);
    }
    return refusal->result;
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
