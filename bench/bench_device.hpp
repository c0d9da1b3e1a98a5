// The device that is measured, with buffers on it and its clock. Failures are thrown.
#pragma once

#include "device.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace measure {

// The case does not fit the device. Other cases may still be measured.
class DoesNotFit : public std::runtime_error {
    using runtime_error::runtime_error;
};
// Results are wrong, so nothing was timed.
class WrongResult : public std::runtime_error {
    using runtime_error::runtime_error;
};

enum class Clock {
    kDevice, // between two timestamps
    kHost    // around submit and wait; the time of an empty dispatch is to be subtracted
};

class BenchDevice {
  public:
    BenchDevice(rope::Device device, Clock clock) : device_(std::move(device)), clock_(clock) {}

    rope::Device& device() { return device_; }
    const RopeLimits& limits() const { return device_.limits(); }
    Clock clock() const { return clock_; }

    void mustFit(uint64_t bytes) const; // `bytes`: all buffers together
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
    double timed(const std::function<bool(std::string*, double*)>& work) const;

    rope::Device device_;
    Clock clock_;
};

// Opens a device that has what the clock needs; throws where there is none.
BenchDevice openBenchDevice(const std::string& select, Clock clock);

std::vector<float> noise(size_t count, uint32_t* state); // between -1 and 1
std::vector<uint8_t> noiseBytes(RopeElement element, size_t count);

void mustPlan(RopeResult result, const RopePlan& plan);

} // namespace measure
