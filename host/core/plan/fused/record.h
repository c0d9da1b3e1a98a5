// The records of a dispatch's tensors, which its constants and push words hold.
#pragma once

#include "plan/fused/arrangement.h"

namespace rope {

// The fields of a record, as shaders/fused/record.h numbers them.
namespace field {
#define ROPE_FIELD(name, at) [[maybe_unused]] constexpr uint32_t name = at;
ROPE_RECORD(ROPE_FIELD)
ROPE_CACHE_RECORD(ROPE_FIELD)
#undef ROPE_FIELD
} // namespace field
constexpr uint32_t kRecordIds[] = {ROPE_ID_RECORD_Q, ROPE_ID_RECORD_K, ROPE_ID_RECORD_V};
inline uint32_t* record(uint32_t* constants, uint32_t role) { return constants + kRecordIds[role]; }

// Returns strides and offsets modulo 2^32, as shaders count.
inline uint32_t lowWord(uint64_t value) { return static_cast<uint32_t>(value); }

// Fills in the records of a dispatch, and the push words of its tensors.
void setRecords(const FusedGroup& group, const RopeLimits& limits, RopeFusedPush* push, PlanPass* pass);

} // namespace rope
