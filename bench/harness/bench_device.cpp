#include "bench/harness/bench_device.hpp"

#include <algorithm>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace measure {

// Returns the machine's memory for a device without memory of its own, whose heaps may report any number; else the
// largest heap.
static uint64_t usableMemory(const rope::Device& device) {
#ifdef _SC_PHYS_PAGES
    if (device.info().properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
        return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
#endif
    VkPhysicalDeviceMemoryProperties memory;
    device.vk().GetPhysicalDeviceMemoryProperties(device.physicalDevice(), &memory);
    uint64_t most = 0;
    for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) most = std::max<uint64_t>(most, memory.memoryHeaps[i].size);
    return most;
}

BenchDevice::BenchDevice(rope::Device device, Clock clock, uint64_t working_set)
    : device_(std::move(device)), clock_(clock), working_set_(working_set) {
    constexpr uint64_t kOfGpu = uint64_t{256} << 20; // more than the last cache of any GPU but AMD's largest
    if (working_set == kDefaultWorkingSet) working_set_ = isCpu() ? 0 : std::min(kOfGpu, usableMemory(device_) / 32);
}

uint32_t BenchDevice::setsFor(uint64_t set_bytes) const {
    const bool pushes = (limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) != 0;
    const uint64_t most = pushes ? 16384 : 512; // descriptor sets are allocated for each buffer set
    const uint64_t wanted = (working_set_ + set_bytes - 1) / std::max<uint64_t>(set_bytes, 1);
    return static_cast<uint32_t>(std::min(most, std::max<uint64_t>(wanted, 1)));
}

void BenchDevice::mustFit(uint64_t bytes) const {
    const uint64_t most = usableMemory(device_) / 2; // other programs want some of it too
    if (bytes <= most) return;
    throw DoesNotFit("takes " + std::to_string(bytes >> 20) + " MiB, and " + std::to_string(most >> 20) +
                     " may be used");
}

rope::Buffer BenchDevice::make(uint64_t bytes) {
    rope::Buffer buffer;
    std::string error;
    if (!device_.makeBuffer(bytes, &buffer, &error)) throw DoesNotFit(error);
    return buffer;
}

rope::Buffer BenchDevice::make(const void* data, uint64_t bytes) {
    rope::Buffer buffer = make(bytes);
    std::string error;
    if (!device_.upload(buffer, 0, data, bytes, &error)) throw std::runtime_error(error);
    return buffer;
}

// The period is no multiple of a token's bytes, so that a token that is taken for another one has other values.
const rope::Buffer& BenchDevice::noisePattern(RopeElement element) {
    rope::Buffer& pattern = noise_patterns_[element];
    if (!pattern) {
        const std::vector<uint8_t> bytes = noiseBytes(element, (1u << 20) - 16 * 1023);
        pattern = make(bytes.data(), bytes.size());
    }
    return pattern;
}

rope::Buffer BenchDevice::makeNoise(uint64_t bytes, RopeElement element) {
    rope::Buffer buffer = make(bytes);
    const rope::Buffer& pattern = noisePattern(element);
    submit([&](VkCommandBuffer commands) {
        for (uint64_t done = 0; done < bytes; done += pattern.size()) {
            const VkBufferCopy region = {0, done, std::min<uint64_t>(bytes - done, pattern.size())};
            device_.vk().CmdCopyBuffer(commands, pattern.handle(), buffer.handle(), 1, &region);
        }
    });
    return buffer;
}

rope::Buffer BenchDevice::makeFrequencies(const RopeFrequencies& frequencies) {
    std::vector<uint32_t> words(ropeFrequencyBytes(frequencies.count) / 4);
    RopeReason reason;
    if (ropeWriteFrequencies(&frequencies, ROPE_ANGLE_EXACT, words.data(), &reason) != ROPE_SUCCESS)
        throw std::runtime_error(reason.text);
    return make(words.data(), words.size() * 4);
}

std::vector<uint8_t> BenchDevice::read(const rope::Buffer& buffer, uint64_t offset, uint64_t bytes) {
    std::vector<uint8_t> data(bytes);
    std::string error;
    if (!device_.download(buffer, offset, data.data(), bytes, &error)) throw std::runtime_error(error);
    return data;
}

void BenchDevice::run(const RopePlan* plans, uint32_t count, const RopeBuffers* slots) {
    std::string error;
    if (!device_.run(plans, count, slots, &error)) throw std::runtime_error(error);
}

void BenchDevice::submit(const std::function<void(VkCommandBuffer)>& record) {
    std::string error;
    if (!device_.submit(record, &error)) throw std::runtime_error(error);
}

double BenchDevice::time(RepeatedWork* work, uint32_t repeats) {
    const std::lock_guard<std::mutex> lock(*timing_);
    std::string error;
    double seconds = 0;
    const Time::time_point begin = Time::now();
    if (!work->run(repeats, &error, clock_ == Clock::kDevice ? &seconds : nullptr)) throw std::runtime_error(error);
    last_work_ = Time::now();
    if (seconds < 0) throw std::runtime_error("the device gave no timestamps; --clock host does without");
    return clock_ == Clock::kHost ? std::chrono::duration<double>(last_work_ - begin).count() : seconds;
}

double BenchDevice::submissionSeconds() const {
    constexpr double kOfGpu = 2e-3, kOfCpu = 3e-4; // a CPU's driver takes long for a dispatch, and has no idle clock
    constexpr double kTicks = 1000;
    const double ticks =
        clock_ == Clock::kDevice ? kTicks * device_.info().properties.limits.timestampPeriod * 1e-9 : 0;
    return std::max(isCpu() ? kOfCpu : kOfGpu, ticks);
}

double BenchDevice::idleSeconds() const { return std::chrono::duration<double>(Time::now() - last_work_).count(); }

BenchDevice openBenchDevice(const std::string& select, Clock clock, uint64_t working_set, bool bounds_checks) {
    rope::DeviceOptions options;
    options.select = select;
    options.bounds_checks = bounds_checks;
    std::string error;
    rope::Device device = rope::Device::open(options, &error);
    if (!device) throw std::invalid_argument(error);
    if (clock == Clock::kDevice && !device.hasTimestamps())
        throw std::invalid_argument(device.info().name + " has no timestamps; --clock host measures from outside");
    return BenchDevice(std::move(device), clock, working_set);
}

std::vector<float> noise(size_t count, uint32_t* state) {
    std::vector<float> values(count);
    for (float& value : values) {
        *state = *state * 1664525u + 1013904223u;
        value = static_cast<float>(*state >> 8) * 0x1p-23f - 1;
    }
    return values;
}

std::vector<uint8_t> noiseBytes(RopeElement element, size_t count) {
    uint32_t state = 1;
    const std::vector<float> values = noise(count, &state);
    std::vector<uint8_t> bytes(count * ropeElementBytes(element));
    ropeConvertElements(values.data(), ROPE_ELEMENT_F32, bytes.data(), element, count);
    return bytes;
}

void mustPlan(RopeResult result, const RopePlan& plan) {
    if (result == ROPE_ERROR_TOO_LARGE) throw DoesNotFit(plan.reason.text);
    if (result != ROPE_SUCCESS) throw std::invalid_argument(plan.reason.text);
}

} // namespace measure
