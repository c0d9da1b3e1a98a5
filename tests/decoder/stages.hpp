// vkrope does these steps in each layer of the decoder, from the packed projection to the cache.
#pragma once

#include "model.hpp"
#include <vkrope/rope.h>

namespace decoder {

enum class Path {
    kUnfused,      // norm, rotate, scatter
    kFused,        // all of it in one pass
    kTurnedAsRead, // K goes to the cache normed and unturned; the attention turns it
};
enum class Submission {
    kRecordedEachStep, // for as many tokens as there are
    kRecordedOnce,     // for MOST_TOKENS; the kernels stop at the count that they read
    kIndirect,         // recorded once too; the host writes the group counts
};
// A fault that is made on purpose: the comparison must find it.
enum class Fault {
    kNone,
    kSlot,  // of one token
    kPage,  // one entry of the table, from some token on
    kSign,  // of the angles; the attention's own are right
    kDelta, // the shift's sign
};

struct Options {
    Path path;
    Submission submission;
    RopeCacheKind cache; // SLOTS or PAGE_TABLE
    Fault fault = Fault::kNone;
    bool excess = false; // counts of groups and tokens beyond what is there, which must do no harm
};

struct Stage {
    RopeFusedDescription d;
    bool rotates_only; // ropePlanRotate plans it
};
std::vector<Stage> stages(const Options& options, const Layer& layer, uint32_t tokens);

// Turns what is in the cache by `delta`.
RopeFusedDescription shiftStage(const Options& options, uint32_t tokens, int32_t delta);

const std::vector<double>& frequencies(bool backward);

} // namespace decoder
