// The push words that each dispatch of a fused pass completes.
#pragma once

#include "plan/completion.h"

namespace rope {

// Returns what completes the push words of fused passes.
const RopeCompletion* fusedCompletion();

} // namespace rope
