// The encodings beside RoPE, each verified against the CPU's bits and beside copies of as many bytes.
#pragma once

#include "round_robin.hpp"

namespace measure {

// One plan with its buffers; the last one added is what it writes.
class Other {
  public:
    explicit Other(Bench* bench) : bench_(bench) {}

    void add(RopeSlot slot, const void* data, uint64_t size);
    void verify(const std::vector<uint8_t>& wanted);
    std::vector<Contestant> contestants(); // which refer to this

    RopePlan plan;
    RopeBuffers slots = {};
    std::vector<rope::Buffer> buffers;
    uint64_t bytes = 0;  // read and written
    bool is_sum = false; // float32, and as many bytes are added as there are to add to

  private:
    Bench* bench_;
    rope::Buffer from_, to_;
};

struct OtherKind {
    const char* name;
    std::string of;              // "embeddings of 1024 elements"
    const char* unit;            // of a size: tokens or queries
    std::vector<uint32_t> sizes; // typical ones
    std::function<Other(Bench*, uint32_t)> make;
};
std::vector<OtherKind> otherKinds();

} // namespace measure
