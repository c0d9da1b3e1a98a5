// Copies of a case's buffers, which lie one behind the other and are used in turns. All copies together are as large as
// the working set, so that none is found in a cache.
#pragma once

#include "bench/harness/bench_device.hpp"

namespace measure {

constexpr uint32_t kAnyUses = UINT32_MAX;
constexpr uint32_t kUsesInPlace = 1000; // before sums and roundings of results of results grow or die away

class BufferCopies {
  public:
    // The originals keep their contents where there is more than one copy, or where the uses of a copy are limited: a
    // copy gets its first contents back before it is used more often than that.
    BufferCopies(BenchDevice* bench, std::vector<const rope::Buffer*> originals, uint32_t most_uses = kAnyUses);
    BufferCopies(const BufferCopies&) = delete;
    BufferCopies& operator=(const BufferCopies&) = delete;

    uint32_t sets() const { return sets_; }
    // Returns true if one set fits a cache, and all of them do not.
    bool fitsCache() const { return sets_ > 1 && 4 * set_bytes_ <= bench_->workingSet(); }

    // Makes work of plans whose slots are originals or shared buffers. The work refers to this object.
    Work work(std::vector<RopePlan> plans, const std::vector<RopeBuffers>& slots);
    // Makes work on the first set alone. It is as large as a cache, so only its own first contents are given back:
    // those of all sets would lie in the cache when others are timed.
    Work workOnOneSet(std::vector<RopePlan> plans, const std::vector<RopeBuffers>& slots);
    // vkCmdCopyBuffer from slot Q to slot Q_OUT, and vkCmdFillBuffer of slot Q_OUT.
    Work copyCommand(const RopeBuffers& slots, uint64_t bytes);
    Work fillCommand(const RopeBuffers& slots, uint64_t bytes);

  private:
    struct Copy {
        const rope::Buffer* original;
        uint64_t stride; // bytes
        rope::Buffer buffer;
    };
    BufferSets setsOf(const RopeBuffers& slots) const;
    void refill(uint32_t sets);
    void restore(uint32_t uses, uint32_t sets);

    BenchDevice* bench_;
    uint64_t set_bytes_ = 0;
    uint32_t sets_ = 1, most_uses_;
    uint32_t uses_ = 0, first_set_uses_ = 0; // of all sets, and of the first, since their first contents
    std::vector<Copy> copies_;
};

// Returns work on its first buffer set alone. The work leaves the set as it is.
Work untouching(Work work);

} // namespace measure
