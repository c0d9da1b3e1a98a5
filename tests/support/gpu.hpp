// Tests on real devices: every device that the loader finds, under the validation layer with synchronization
// validation where that is installed.
#pragma once

#include <vkrope/device.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace gpu {

// A device, opened with one set of enabled extensions. Every device that is present has a setup with extensions. The
// first device but SwiftShader, which has no push descriptors, has a second setup without them. If there is no device
// at all, lavapipe is named, so that it shows as skipped.
struct DeviceSetup {
    std::string name;            // letters and digits
    std::string select;          // the text that DeviceOptions takes
    bool with_extensions;        // push descriptors, long words and debug utils, where the device offers them
    bool repeats_device = false; // another setup opens the same device
};
inline void PrintTo(const DeviceSetup& setup, std::ostream* out) { *out << setup.name; }
const std::vector<DeviceSetup>& deviceSetups();
std::string setupName(const testing::TestParamInfo<DeviceSetup>& info);

// Returns what a setup's device is opened with.
rope::DeviceOptions optionsOf(const DeviceSetup& setup);

// Returns the opened device of a setup, which stays open for the whole run; empty with *error where there is none.
rope::Device& open(const DeviceSetup& setup, std::string* error);

class OnDevice : public testing::TestWithParam<DeviceSetup> {
  protected:
    void SetUp() override;
    void TearDown() override;
    rope::Device& device() { return *device_; }
    // The strength of a short run's combinations: three choices together, and two if another setup of the device has
    // had three.
    uint32_t strength() const { return GetParam().repeats_device ? 2 : 3; }
    // True if this device takes a case of a short run. Drivers of the CPU that are there together take the cases in
    // turns, because each compiles the same kernels for seconds. A GPU takes all.
    bool takes(size_t number) const;
    template <typename T> std::vector<T> share(const std::vector<T>& all) const {
        std::vector<T> mine;
        for (size_t i = 0; i < all.size(); ++i) {
            if (takes(i)) mine.push_back(all[i]);
        }
        return mine;
    }
    // Closes the device and opens it again. Pipelines stay with their context, and thousands of them would fill the
    // memory.
    void reopenDevice();

  private:
    rope::Device* device_ = nullptr;
    uint32_t messages_before_ = 0;
    uint32_t beyond_before_ = 0;
};

// A slot's contents on the device, between two guards that nothing may touch. The guards also shift the slot's offset
// by one alignment, so that no test depends on a buffer's start.
class GuardedBuffer {
  public:
    bool make(rope::Device* device, const void* data, size_t bytes, std::string* error);
    RopeBuffer slot() const;
    // Reads the slot's contents; false where a guard was touched.
    bool read(void* data, std::string* error) const;

  private:
    rope::Device* device_ = nullptr;
    rope::Buffer buffer_;
    size_t guard_ = 0;
    size_t bytes_ = 0;
};

// The slots of one plan as host bytes. run() sends them, runs the plan and brings all of them back.
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

#define ROPE_ON_EVERY_DEVICE(Suite)                                                                                    \
    INSTANTIATE_TEST_SUITE_P(Every, Suite, testing::ValuesIn(gpu::deviceSetups()), gpu::setupName)
