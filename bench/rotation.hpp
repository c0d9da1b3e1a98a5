// A case on a device: verified when it is made, and its rivals, which move the same bytes and compute nothing.
#pragma once

#include "cases.hpp"
#include "round_robin.hpp"

#include <deque>
#include <memory>

namespace measure {

// What a case describes, with the frequencies and axes that it points at.
class Described {
  public:
    explicit Described(const Case& c);
    Described(const Described&) = delete;
    Described& operator=(const Described&) = delete;

    RopeRotateDescription description = {};

  private:
    std::vector<double> frequencies_;
    std::vector<uint8_t> axes_;
};

class Rotation {
  public:
    Rotation(Bench* bench, const Case& c);

    // The rotation, then what it stands beside, on tensors of their own: on the bits that they leave behind, a rotation
    // might be slow. They live as long as this.
    std::vector<Contestant> contestants();
    Contestant empty();
    uint64_t bytes() const { return 2 * tensorBytes(case_); } // read and written

    // Carries it out once, of the same case with another tuning, and looks at the results.
    void verify(const RopePlan& plan);
    RopePlan planOf(const RopeTuning& tuning) const;
    RopePlan unscaledPlan() const;
    const RopePlan& plan() const { return plan_; }
    const RopeBuffers& slots() const { return slots_; }

    static bool isCopyKernel(const std::string& name);
    // The names of plainer cases that not every case has beside it.
    static const std::vector<std::string>& plainer();

  private:
    const rope::Buffer& keep(RopeSlot slot, rope::Buffer buffer, RopeBuffers* slots);
    void makeTensors(RopeBuffers* slots);
    void makeRows();
    std::vector<std::vector<uint8_t>> readTokens(bool results);
    bool isRight(const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted) const;
    std::vector<uint8_t> expected(int tensor, uint32_t token, const std::vector<uint8_t>& before) const;
    Contestant rival(const std::string& name, const RopePlan& plan, const RopeBuffers& slots);
    void addCopies(std::vector<Contestant>* contestants);
    void addBeside(const std::string& name, const Case& c, std::vector<Contestant>* contestants);

    Bench* bench_;
    Case case_;
    Described described_;
    RopePlan plan_;
    std::deque<rope::Buffer> buffers_;
    RopeBuffers slots_ = {};
    std::vector<std::unique_ptr<Rotation>> beside_;
};

} // namespace measure
