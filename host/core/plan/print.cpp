// This file prints a plan in words, and compares two plans: ropePrintPlan, ropePlansEqual.
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"
#include "plan/pass.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace rope {
namespace {

// Text that is cut at `size` bytes, while `length` counts all of it.
struct PlanText {
    char* begin;
    size_t size;
    size_t length;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void printTo(PlanText* text, const char* format, ...) {
    const size_t left = text->length < text->size ? text->size - text->length : 0;
    va_list arguments;
    va_start(arguments, format);
    const int printed = vsnprintf(left != 0 ? text->begin + text->length : nullptr, left, format, arguments);
    va_end(arguments);
    if (printed > 0) text->length += static_cast<size_t>(printed);
}

const char* elementType(uint32_t element) { return kElementFormats[element].type; }

// Prints what a fused pass does, and what its tensors become.
void printStages(const PassFacts& f, PlanText* text) {
    const auto phrase = [&](uint32_t stage, const char* name) { return (f.stages & stage) != 0 ? name : ""; };
    const uint32_t first = f.heads[0] != 0 ? 0 : f.heads[1] != 0 ? 1 : 2, cached = f.heads[1] != 0 ? 1 : 2;
    printTo(text, ": %s%s%s%s%sto %s", phrase(kNormBefore, "norm, "), phrase(kTurn, "turn, "),
            phrase(kNormAfter, "norm, "), phrase(kQueryScale, "scale, "), phrase(kHadamard, "Hadamard, "),
            elementType(f.elements[first]));
    if (f.heads[cached] != 0 && f.elements[cached] != f.elements[first])
        printTo(text, ", %s to %s", f.heads[2] != 0 ? "K and V" : "K", elementType(f.elements[cached]));
    printTo(text, "%s", kCacheKinds[f.cache].phrase);
}

void printPass(const PlanPass& pass, PlanText* text) {
    // A pass of several tensors counts only tokens.
    const PassFacts& f = pass.facts;
    const uint32_t heads = pass.blocks != 0 ? f.heads[0] + f.heads[1] + f.heads[2] : pass.count[kHead];
    const bool fused = (f.stages & kFused) != 0;
    printTo(text, "%s: %u x %u x %u (batches, tokens, heads)", pass.shader->name, pass.count[0], pass.count[1], heads);
    if (fused) printStages(f, text);
    if (pass.parts[0] != 1 || pass.parts[1] != 1 || pass.parts[2] != 1)
        printTo(text, " in %u x %u x %u parts", pass.parts[0], pass.parts[1], pass.parts[2]);
    printTo(text, ", group size %u, %u heads a thread", pass.group_size, pass.heads_per_thread);
    if (pass.group[2] > 1) printTo(text, ", %u tokens a group", pass.group[2]);
    if ((f.stages & kShares) != 0) printTo(text, ", shared angles");
    if (pass.tokens_per_thread > 1) printTo(text, ", %u tokens", pass.tokens_per_thread);
    printTo(text, "; reads");
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        const bool written = i >= ROPE_BINDING_DESTINATION && i <= ROPE_BINDING_DESTINATION_V;
        const bool in_place = (f.stages & kInPlace) != 0;
        if (pass.access[i].extent != 0 && (!written || in_place)) printTo(text, " %s", slotName(pass.access[i].slot));
    }
    printTo(text, "; writes");
    for (uint32_t i = ROPE_BINDING_DESTINATION; i <= ROPE_BINDING_DESTINATION_V; ++i)
        if (pass.access[i].extent != 0) printTo(text, " %s", slotName(pass.access[i].slot));
    printTo(text, "\n");
}

} // namespace
} // namespace rope

using namespace rope;

size_t ropePrintPlan(const RopePlan* plan, char* buffer, size_t size) {
    PlanText text = {buffer, size, 0};
    if (buffer == nullptr) text.size = size = 0;
    if (size != 0) buffer[0] = '\0';
    if (plan == nullptr) return 0;
    if (plan->version != 0 && plan->version != ROPE_VERSION) {
        printTo(&text, "of version %#x, not %#x\n", plan->version, ROPE_VERSION);
        return text.length;
    }
    if (plan->reason.text[0] != '\0') printTo(&text, "refused: %s\n", plan->reason.text);
    for (uint32_t i = 0; i < plan->pass_count; ++i) printPass(passAt(*plan, i), &text);
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan->bytes[slot] != 0) {
            printTo(&text, "%s: %llu bytes\n", slotName(static_cast<uint32_t>(slot)),
                    static_cast<unsigned long long>(plan->bytes[slot]));
        }
    }
    return text.length;
}

// A plan's padding is zero, so memcmp compares plans.
int ropePlansEqual(const RopePlan* a, const RopePlan* b) {
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    return a != nullptr && b != nullptr && memcmp(a, b, sizeof *a) == 0;
}
