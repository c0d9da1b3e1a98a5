// A device that its program owns, by way of volk: chosen by name, opened with one compute queue and timeline
// semaphores.
#pragma once

#include <volk.h>

#include <cstdint>
#include <string>
#include <vector>

namespace engine {

// Ends the program with a line on stderr. An engine would rather recover; these examples have nothing to go back to.
void require(bool condition, const char* what);
void require(VkResult result, const char* what);

// Counts the messages of the validation layer so far. Each is also printed.
uint32_t messages();

// Exit code of a program whose device or layer is not on the machine.
constexpr int kSkipped = 77;

class Gpu {
  public:
    Gpu() = default;
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    // The first device with `name` in its own name, and with timeline semaphores; false where there is none.
    bool choose(const std::string& name, bool validate);
    std::vector<VkExtensionProperties> extensions() const;
    void open(const std::vector<const char*>& names);
    const std::vector<const char*>& enabled() const { return enabled_; } // extensions of the instance and the device

    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    VkPhysicalDeviceProperties properties = {};
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    uint32_t family = 0;

  private:
    bool makeInstance(bool validate);
    bool suits(VkPhysicalDevice candidate, const std::string& name);

    VkInstance instance_ = VK_NULL_HANDLE;
    std::vector<const char*> enabled_;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

} // namespace engine
