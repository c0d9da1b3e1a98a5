// Measures a rotation on a device: the case is verified when it is made, and timed beside kernels that move the same
// bytes and compute nothing.
#pragma once

#include "bench/cases/cases.hpp"
#include "bench/harness/buffer_copies.hpp"
#include "bench/harness/round_robin.hpp"

#include <deque>
#include <memory>

namespace measure {

// The description of a case, with the frequencies and axes that it points at.
class CaseDescription {
  public:
    explicit CaseDescription(const RotationCase& c);
    CaseDescription(const CaseDescription&) = delete;
    CaseDescription& operator=(const CaseDescription&) = delete;

    RopeRotateDescription description = {};

  private:
    std::vector<double> frequencies_;
    std::vector<uint8_t> axes_;
};

class RotationBench {
  public:
    RotationBench(BenchDevice* bench, const RotationCase& c);

    // Returns the rotation, then its baselines and plainer cases, which work on tensors of their own: a rotation might
    // be slow on the bits that they leave behind. They live as long as this object.
    std::vector<Contestant> contestants();
    Contestant empty();
    Work work(const RopePlan& plan);                          // a plan of the same case, on this case's tensors
    uint64_t bytes() const { return 2 * tensorBytes(case_); } // read and written

    // Carries out a plan of the same case, with any tuning, once and checks its results.
    void verify(const RopePlan& plan);
    RopePlan planOf(const RopeTuning& tuning) const;
    RopePlan unscaledPlan() const;
    const RopePlan& plan() const { return plan_; }
    const RopeBuffers& slots() const { return slots_; }

    // The names of the plainer cases. Not every case is timed beside them.
    static const std::vector<std::string>& companionNames();

  private:
    const rope::Buffer& keep(RopeSlot slot, rope::Buffer buffer, RopeBuffers* slots);
    void makeTensors(RopeBuffers* slots);
    void makeRows();
    std::vector<std::vector<uint8_t>> readTokens(bool results);
    bool isRight(const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted) const;
    std::vector<uint8_t> expected(int tensor, uint32_t token, const std::vector<uint8_t>& before,
                                  const std::vector<uint8_t>& around) const;
    uint32_t mostUses() const;
    BufferCopies* copiesOf(const RopeBuffers& slots, uint32_t most_uses);
    void addCopies(std::vector<Contestant>* contestants);
    void addCompanion(const std::string& name, const RotationCase& c, std::vector<Contestant>* contestants);

    BenchDevice* bench_;
    RotationCase case_;
    CaseDescription described_;
    RopePlan plan_;
    std::deque<rope::Buffer> buffers_;
    RopeBuffers slots_ = {};
    std::deque<BufferCopies> copies_;
    BufferCopies* tensors_ = nullptr; // the copies of this case's tensors, made when they are first asked for
    std::vector<std::unique_ptr<RotationBench>> companions_;
};

} // namespace measure
