// Where it is measured: a device, buffers on it and its clock. What fails is thrown.
#pragma once

#include "device.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace measure {

// The device takes less than this: what else is measured is not touched by it.
class Unfit : public std::runtime_error {
    using runtime_error::runtime_error;
};
// Results are wrong, so nothing was timed.
class Wrong : public std::runtime_error {
    using runtime_error::runtime_error;
};

enum class Clock {
    kDevice, // between two timestamps
    kHost    // around submit and wait; what an empty dispatch takes is to be subtracted
};

class Bench {
  public:
    Bench(rope::Device device, Clock clock) : device_(std::move(device)), clock_(clock) {}

    rope::Device& device() { return device_; }
    const RopeLimits& limits() const { return device_.limits(); }
    Clock clock() const { return clock_; }

    void mustFit(uint64_t bytes) const; // of all buffers together
    rope::Buffer make(uint64_t bytes);
    rope::Buffer make(const void* data, uint64_t bytes);
    rope::Buffer makeNoise(uint64_t bytes, RopeElement element); // between -1 and 1
    rope::Buffer makeFrequencies(const RopeFrequencies& frequencies);
    std::vector<uint8_t> read(const rope::Buffer& buffer, uint64_t offset, uint64_t bytes);

    double run(const RopePlan* plans, uint32_t count, const RopeBuffers* slots); // seconds
    double run(const RopePlan& plan, const RopeBuffers& slots) { return run(&plan, 1, &slots); }
    double copy(const rope::Buffer& from, const rope::Buffer& to, uint64_t bytes);
    double fill(const rope::Buffer& buffer);

  private:
    double submit(const std::function<void(VkCommandBuffer)>& record);
    double measured(const std::function<bool(std::string*, double*)>& work) const;

    rope::Device device_;
    Clock clock_;
};

// Opens a device that has what the clock takes; throws where there is none.
Bench openBench(const std::string& select, Clock clock);

std::vector<float> noise(size_t count, uint32_t* state);
void mustPlan(RopeResult result, const RopePlan& plan);

} // namespace measure
