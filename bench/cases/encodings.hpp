// Measures the encodings other than RoPE: positions added to embeddings, biases on scores, relative vectors. Each is
// verified against the CPU's bits and measured beside copies of as many bytes.
#pragma once

#include "bench/harness/buffer_copies.hpp"
#include "bench/harness/round_robin.hpp"

namespace measure {

// One plan with its buffers. The plan writes the buffer that was added last.
class EncodingBench {
  public:
    explicit EncodingBench(BenchDevice* bench) : bench_(bench) {}

    void add(RopeSlot slot, const void* data, uint64_t size);
    void verify(const std::vector<uint8_t>& wanted);
    std::vector<Contestant> contestants(); // they refer to this object

    RopePlan plan;
    RopeBuffers slots = {};
    std::vector<rope::Buffer> buffers;
    uint64_t bytes = 0;   // read and written
    bool is_fill = false; // the plan only writes
    bool is_sum = false;  // the plan adds as many bytes of float32 as it adds to

  private:
    BenchDevice* bench_;
    rope::Buffer copy_source_, copy_destination_;
    std::unique_ptr<BufferCopies> encoded_, copied_;
};

struct EncodingKind {
    const char* name;
    std::string of;              // "embeddings of 1024 elements"
    const char* unit;            // the unit of a size: tokens or queries
    std::vector<uint32_t> sizes; // sizes to measure
    std::function<EncodingBench(BenchDevice*, uint32_t)> make;
};
std::vector<EncodingKind> encodingKinds();

} // namespace measure
