// A completion completes the push words of each dispatch of a pass. Fused passes and rotations have one of their own; a
// pass of any other family needs none. Passes point at their completion, so a host that plans no fused pass does not
// link that of fused passes.
#pragma once

#include "plan/pass.h"

namespace rope {
struct TensorBegin {
    uint32_t binding;
    uint64_t element;
};
} // namespace rope

struct RopeCompletion {
    // Completes the words of one part of a pass, whose bindings begin at `places`. `push` has the planned words, those
    // that all families share already completed. Never null.
    void (*complete_words)(const RopePass& pass, const rope::PassPart& part, const rope::RopePlace* places,
                           uint32_t* push);
    // Finds the binding of a tensor (0 to 2) and the element of its buffer at which it begins. Returns false if the
    // pass does not read it there, or write it. Null: each tensor has a binding of its own, and begins where that does.
    bool (*find_begin)(const RopePass& pass, uint32_t tensor, bool source, rope::TensorBegin* begin);
    bool has_stages; // true: a fused pass
};
