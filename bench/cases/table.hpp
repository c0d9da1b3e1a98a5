// Measures the making of rows of cos and sin, one for each position from 0 on. The rows are verified, and timed beside
// vkCmdFillBuffer of as many bytes.
#pragma once

#include "bench/cases/models.hpp"
#include "bench/harness/buffer_copies.hpp"
#include "bench/harness/round_robin.hpp"

namespace measure {

class TableBench {
  public:
    TableBench(BenchDevice* bench, const ModelShape& model, uint32_t rows);

    std::vector<Contestant> contestants();
    uint64_t bytes() const { return plan_.bytes[ROPE_SLOT_ROWS]; } // written

  private:
    void verify(uint32_t rows);

    BenchDevice* bench_;
    std::vector<double> frequencies_;
    RopePlan plan_;
    rope::Buffer words_, rows_, filled_;
    RopeBuffers slots_ = {}, filled_slots_ = {};
    std::unique_ptr<BufferCopies> tables_, fills_;
};

} // namespace measure
