// A plan in words, and whether two are the same.
#include "plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace rope {
namespace {

struct Text {
    char* begin;
    size_t size;
    size_t length;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void print(Text* text, const char* format, ...) {
    const size_t left = text->length < text->size ? text->size - text->length : 0;
    va_list arguments;
    va_start(arguments, format);
    const int printed = vsnprintf(left != 0 ? text->begin + text->length : nullptr, left, format, arguments);
    va_end(arguments);
    if (printed > 0) text->length += static_cast<size_t>(printed);
}

void printPass(const RopePass& pass, Text* text) {
    print(text, "%s: %u x %u x %u (batches, tokens, heads)", pass.shader->name, pass.count[0], pass.count[1],
          pass.count[2]);
    if (pass.parts[0] != 1 || pass.parts[1] != 1 || pass.parts[2] != 1) {
        print(text, " in %u x %u x %u parts", pass.parts[0], pass.parts[1], pass.parts[2]);
    }
    print(text, ", group size %u, %u heads a thread; reads", pass.constants[ROPE_ID_GROUP_SIZE], pass.heads_per_thread);
    for (int i = 0; i < ROPE_BINDING_DESTINATION; ++i) {
        if (pass.access[i].extent != 0) print(text, " %s", slotName(pass.access[i].slot));
    }
    print(text, "; writes %s\n", slotName(pass.access[ROPE_BINDING_DESTINATION].slot));
}

} // namespace
} // namespace rope

using namespace rope;

size_t ropePrintPlan(const RopePlan* plan, char* buffer, size_t size) {
    Text text = {buffer, size, 0};
    if (size != 0) buffer[0] = '\0';
    if (plan->reason.text[0] != '\0') print(&text, "refused: %s\n", plan->reason.text);
    for (uint32_t i = 0; i < plan->pass_count; ++i) printPass(plan->passes[i], &text);
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan->bytes[slot] != 0) {
            print(&text, "%s: %llu bytes\n", slotName(static_cast<uint32_t>(slot)),
                  static_cast<unsigned long long>(plan->bytes[slot]));
        }
    }
    return text.length;
}

int ropePlansEqual(const RopePlan* a, const RopePlan* b) { return memcmp(a, b, sizeof *a) == 0; }
