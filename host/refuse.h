// How a refusal is put into words: a result, and one sentence in the caller's RopeReason.
#ifndef VKROPE_REFUSE_H
#define VKROPE_REFUSE_H

#include "rope.h"
#include <stdarg.h>
#include <stdio.h>

#if defined(__GNUC__)
inline RopeResult refuse(RopeReason* reason, RopeResult result, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
#endif

inline RopeResult refuse(RopeReason* reason, RopeResult result, const char* format, ...) {
    if (reason) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(reason->text, sizeof reason->text, format, arguments);
        va_end(arguments);
    }
    return result;
}

inline RopeResult accept(RopeReason* reason) {
    if (reason) {
        reason->text[0] = '\0';
    }
    return ROPE_SUCCESS;
}

#endif
