// The device that is measured, with buffers on it and its clock. Failures are thrown.
#pragma once

#include "bench/harness/repeats.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
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
    kHost    // around submit and wait; the time of submitting an empty dispatch is to be subtracted
};

// The working set is as many bytes of buffers as are used in turns, so that none is found in a cache.
constexpr uint64_t kDefaultWorkingSet = UINT64_MAX; // 256 MiB on a GPU, bounded by its memory; none on a CPU's driver

class BenchDevice {
  public:
    BenchDevice(rope::Device device, Clock clock, uint64_t working_set);

    rope::Device& device() { return device_; }
    const RopeLimits& limits() const { return device_.limits(); }
    Clock clock() const { return clock_; }
    bool isCpu() const { return device_.info().properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
    uint64_t workingSet() const { return working_set_; }
    // Returns how many sets of so many bytes make up the working set; at least 1.
    uint32_t setsFor(uint64_t set_bytes) const;

    void mustFit(uint64_t bytes) const; // `bytes`: all buffers together
    rope::Buffer make(uint64_t bytes);
    rope::Buffer make(const void* data, uint64_t bytes);
    rope::Buffer makeNoise(uint64_t bytes, RopeElement element); // between -1 and 1, with a period of some MiB
    rope::Buffer makeFrequencies(const RopeFrequencies& frequencies);
    std::vector<uint8_t> read(const rope::Buffer& buffer, uint64_t offset, uint64_t bytes);

    void run(const RopePlan* plans, uint32_t count, const RopeBuffers* slots);
    void run(const RopePlan& plan, const RopeBuffers& slots) { run(&plan, 1, &slots); }
    void submit(const std::function<void(VkCommandBuffer)>& record);

    double time(RepeatedWork* work, uint32_t repeats); // seconds of all repetitions together
    // Returns how long a timed submission should take, so that neither the clock's grain nor the submission counts.
    double submissionSeconds() const;
    double idleSeconds() const;               // since the last submission that was timed, or the device was opened
    std::mutex& timing() { return *timing_; } // is held while a submission is timed

  private:
    using Time = std::chrono::steady_clock;
    const rope::Buffer& noisePattern(RopeElement element);

    rope::Device device_;
    Clock clock_;
    uint64_t working_set_;
    std::map<RopeElement, rope::Buffer> noise_patterns_;
    std::unique_ptr<std::mutex> timing_ = std::make_unique<std::mutex>();
    Time::time_point last_work_ = Time::now(); // under timing_, where another thread looks
};

// Opens a device that has what the clock needs; throws where there is none.
BenchDevice openBenchDevice(const std::string& select, Clock clock, uint64_t working_set = kDefaultWorkingSet,
                            bool bounds_checks = false);

std::vector<float> noise(size_t count, uint32_t* state); // between -1 and 1
std::vector<uint8_t> noiseBytes(RopeElement element, size_t count);

void mustPlan(RopeResult result, const RopePlan& plan);

} // namespace measure
