// On the CPU, slots of a cache say where a token goes.
#pragma once

#include "reference/token.h"

namespace rope {

// kSkipped: the token needs no slot. kOutside: the token should have a slot and has none.
enum class SlotOutcome { kTaken, kSkipped, kOutside };

// Finds the slot of a token. `map` is the buffer of slots or page table. `number` counts the batch's tokens; `slot` is
// valid if the outcome is kTaken.
SlotOutcome findSlot(const RopeCache& cache, const void* map, uint32_t batch, uint32_t number, const HostToken& token,
                     uint64_t* slot);

// Returns the first element of a slot's first head.
uint64_t slotElement(const RopeCache& cache, const RopeCacheLayout& layout, uint32_t sequence, uint64_t slot);

} // namespace rope
