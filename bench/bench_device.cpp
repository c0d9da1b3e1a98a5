#include "bench_device.hpp"

#include <algorithm>
#include <chrono>

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

rope::Buffer BenchDevice::makeNoise(uint64_t bytes, RopeElement element) {
    constexpr uint64_t kPiece = 1u << 20; // elements
    rope::Buffer buffer = make(bytes);
    const uint32_t element_bytes = ropeElementBytes(element);
    uint32_t state = 1;
    std::string error;
    std::vector<uint8_t> converted(kPiece * element_bytes);
    for (uint64_t done = 0; done < bytes; done += converted.size()) {
        const uint64_t now = std::min<uint64_t>(bytes - done, converted.size());
        ropeConvertElements(noise(now / element_bytes, &state).data(), ROPE_ELEMENT_F32, converted.data(), element,
                            now / element_bytes);
        if (!device_.upload(buffer, done, converted.data(), now, &error)) throw std::runtime_error(error);
    }
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

double BenchDevice::timed(const std::function<bool(std::string*, double*)>& work) const {
    using Time = std::chrono::steady_clock;
    std::string error;
    double seconds = 0;
    const Time::time_point begin = Time::now();
    if (!work(&error, clock_ == Clock::kDevice ? &seconds : nullptr)) throw std::runtime_error(error);
    if (clock_ == Clock::kHost) seconds = std::chrono::duration<double>(Time::now() - begin).count();
    return seconds;
}

double BenchDevice::run(const RopePlan* plans, uint32_t count, const RopeBuffers* slots) {
    return timed([&](std::string* error, double* seconds) { return device_.run(plans, count, slots, error, seconds); });
}

double BenchDevice::submit(const std::function<void(VkCommandBuffer)>& record) {
    return timed([&](std::string* error, double* seconds) { return device_.submit(record, error, seconds); });
}

double BenchDevice::copy(const rope::Buffer& from, const rope::Buffer& to, uint64_t bytes) {
    const VkBufferCopy region = {0, 0, bytes};
    return submit([&](VkCommandBuffer commands) {
        device_.vk().CmdCopyBuffer(commands, from.handle(), to.handle(), 1, &region);
    });
}

double BenchDevice::fill(const rope::Buffer& buffer) {
    return submit([&](VkCommandBuffer commands) {
        device_.vk().CmdFillBuffer(commands, buffer.handle(), 0, VK_WHOLE_SIZE, 0x3F000000);
    });
}

BenchDevice openBenchDevice(const std::string& select, Clock clock) {
    rope::DeviceOptions options;
    options.select = select;
    std::string error;
    rope::Device device = rope::Device::open(options, &error);
    if (!device) throw std::invalid_argument(error);
    if (clock == Clock::kDevice && !device.hasTimestamps())
        throw std::invalid_argument(device.info().name + " has no timestamps; --clock host measures from outside");
    return BenchDevice(std::move(device), clock);
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
