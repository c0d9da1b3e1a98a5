// Tests on real devices: every one the loader finds, under the validation layer with synchronization validation.
#pragma once

#include "device.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gpu {

// One way to reach a device. Every device that is present has one; the first of them but SwiftShader, which has
// no push descriptors, is reached without them once more. Where there is no device at all, lavapipe is named, so that
// it shows as skipped.
struct Way {
    std::string name;   // letters and digits
    std::string select; // as DeviceOptions takes it
    bool has_options;   // push descriptors, long words and debug utils, where the device offers them
    bool again = false; // a device that another way has reached already
};
inline void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }
const std::vector<Way>& ways();
std::string wayName(const testing::TestParamInfo<Way>& info);

// The opened device of a way, kept for the whole run; empty with *error where there is none.
rope::Device& open(const Way& way, std::string* error);

class OnDevice : public testing::TestWithParam<Way> {
  protected:
    void SetUp() override;
    void TearDown() override;
    rope::Device& device() { return *device_; }
    // How many choices a short run's combinations bring together: three, and two where another way has brought three.
    uint32_t together() const { return GetParam().again ? 2 : 3; }
    // Closes the device and opens it again: pipelines stay with their context, thousands of them would fill the memory.
    void renew();

  private:
    rope::Device* device_ = nullptr;
    uint32_t messages_before_ = 0;
    uint32_t beyond_before_ = 0;
};

// A slot's contents on the device, between two guards that nothing may touch. The guards also shift the slot's offset
// by one alignment, so that no test depends on a buffer's start.
class Guarded {
  public:
    bool make(rope::Device* device, const void* data, size_t bytes, std::string* error);
    RopeBuffer slot() const;
    // The slot's contents; false where a guard was touched.
    bool read(void* data, std::string* error) const;

  private:
    rope::Device* device_ = nullptr;
    rope::Buffer buffer_;
    size_t guard_ = 0;
    size_t bytes_ = 0;
};

// The slots of one plan as host bytes; run() sends them, runs the plan and brings all of them back.
struct Slots {
    std::vector<uint8_t> bytes[ROPE_SLOT_COUNT];

    template <typename T> void set(RopeSlot slot, const std::vector<T>& values) {
        const uint8_t* begin = reinterpret_cast<const uint8_t*>(values.data());
        bytes[slot].assign(begin, begin + values.size() * sizeof(T));
    }
    template <typename T> std::vector<T> get(RopeSlot slot) const {
        const T* begin = reinterpret_cast<const T*>(bytes[slot].data());
        return std::vector<T>(begin, begin + bytes[slot].size() / sizeof(T));
    }
};
testing::AssertionResult run(rope::Device* device, const RopePlan& plan, Slots* slots);

} // namespace gpu

#define ROPE_ON_EVERY_DEVICE(Suite) INSTANTIATE_TEST_SUITE_P(Every, Suite, testing::ValuesIn(gpu::ways()), gpu::wayName)
