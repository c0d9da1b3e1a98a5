// The encodings beside RoPE, each verified against the CPU's bits and beside copies of as many bytes.
#pragma once

#include "turns.hpp"

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
    bool is_sum = false; // as many bytes are added as there are to add to

  private:
    Bench* bench_;
    rope::Buffer from_, to_;
};

struct OtherKind {
    std::string name;
    std::vector<uint32_t> sizes; // tokens, or queries of 2048 keys
    std::function<Other(Bench*, uint32_t)> make;
};
std::vector<OtherKind> otherKinds();

} // namespace measure
