// Slots of a cache on the CPU: where a token goes.
#pragma once

#include "reference/token.h"

namespace rope {

enum class SlotOutcome { kTaken, kSkipped, kOutside };

// `number` counts the batch's tokens; `slot` is written where it is kTaken.
SlotOutcome findSlot(const RopeCache& cache, const void* positions, uint32_t batch, uint32_t number,
                     const HostToken& token, uint64_t* slot);

// The first element of a slot's first head.
uint64_t slotElement(const RopeCache& cache, const RopeCacheLayout& layout, uint32_t sequence, uint64_t slot);

} // namespace rope
