// T5's buckets, decided in integers.
#pragma once

#include <vkrope/rope.h>

namespace rope {

constexpr uint32_t kMaxThresholds = ROPE_MAX_BUCKETS / 2;

struct Buckets {
    uint32_t side;  // buckets for the keys of one side
    uint32_t exact; // distances, from 0 on, that have a bucket each
    uint32_t max_distance;
    bool both; // the keys of each side have buckets of their own
};
Buckets bucketsOf(uint32_t buckets, uint32_t max_distance, uint32_t bidirectional);

inline uint32_t thresholdCount(const Buckets& b) { return b.side - b.exact - 1; }

// The least distance whose bucket is `exact + k` or higher; k is from 1 to thresholdCount.
uint32_t thresholdOf(const Buckets& b, uint32_t k);

} // namespace rope
