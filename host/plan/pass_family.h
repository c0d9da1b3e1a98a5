// A family of shaders has names of its own for push words. It completes them for each dispatch. Passes point at their
// family, so a host that plans no fused pass does not link the family of fused passes.
#pragma once

#include "plan/pass.h"

namespace rope {

enum class PassKind { kFused, kRotation };

} // namespace rope

struct RopePassFamily {
    rope::PassKind kind;
    // Completes the words for one part of a pass, whose bindings begin at `places`. `push` holds the words that all
    // families share.
    void (*complete_words)(const RopePass& pass, const rope::PassPart& part, const rope::RopePlace* places,
                           uint32_t* push);
    // Sets the constants that say how a cache is cut into windows. Null: the family has no cache.
    void (*set_windows)(RopePass* pass);
};

namespace rope {

// True if the pass is of this kind. Tables, additions, biases, relative vectors and counts are of neither.
inline bool isOfKind(const RopePass& pass, PassKind kind) {
    return pass.family != nullptr && pass.family->kind == kind;
}

} // namespace rope
