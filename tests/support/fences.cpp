#include "fences.hpp"

#ifdef _WIN32

namespace gpu {
bool fencesAsked() { return false; }
PFN_vkGetInstanceProcAddr fencesLoader() { return nullptr; }
} // namespace gpu

#else

#include "wrapped.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace gpu {
namespace {

#define FENCE_FUNCTIONS(X)                                                                                             \
    X(CreateBuffer)                                                                                                    \
    X(GetBufferMemoryRequirements)                                                                                     \
    X(AllocateMemory)                                                                                                  \
    X(FreeMemory)                                                                                                      \
    X(MapMemory)                                                                                                       \
    X(BindBufferMemory)                                                                                                \
    X(GetDeviceProcAddr)

// One buffer's memory: `begin` is where the buffer begins in it, and the page behind it is the fence.
struct Fenced {
    char* mapped = nullptr;
    VkDeviceSize bytes = 0, begin = 0;
    char* fence = nullptr;
};

struct Driver {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define FENCE_MEMBER(name) PFN_vk##name name = nullptr;
    FENCE_FUNCTIONS(FENCE_MEMBER)
#undef FENCE_MEMBER
    std::map<VkBuffer, VkDeviceSize> sizes;
    std::map<VkDeviceMemory, Fenced> memories;
} driver;

VkDeviceSize pageBytes() { return static_cast<VkDeviceSize>(sysconf(_SC_PAGESIZE)); }

VKAPI_ATTR VkResult VKAPI_CALL fenceCreateBuffer(VkDevice device, const VkBufferCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator, VkBuffer* buffer) {
    const VkResult result = driver.CreateBuffer(device, info, allocator, buffer);
    if (result == VK_SUCCESS) driver.sizes[*buffer] = info->size;
    return result;
}

// A driver may round the size up. The fence would then stand behind bytes that are no part of the buffer.
VKAPI_ATTR void VKAPI_CALL fenceGetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                            VkMemoryRequirements* requirements) {
    driver.GetBufferMemoryRequirements(device, buffer, requirements);
    requirements->size = driver.sizes[buffer];
}

VKAPI_ATTR VkResult VKAPI_CALL fenceAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                                   const VkAllocationCallbacks* allocator, VkDeviceMemory* memory) {
    const VkDeviceSize page = pageBytes();
    VkMemoryAllocateInfo larger = *info;
    larger.allocationSize += 4 * page;
    VkResult result = driver.AllocateMemory(device, &larger, allocator, memory);
    if (result != VK_SUCCESS) return result;
    Fenced fenced;
    void* mapped = nullptr;
    result = driver.MapMemory(device, *memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    if (result != VK_SUCCESS) return result;
    fenced.mapped = static_cast<char*>(mapped);
    fenced.bytes = info->allocationSize;
    const uintptr_t end = reinterpret_cast<uintptr_t>(mapped) + info->allocationSize + 2 * page;
    fenced.fence = reinterpret_cast<char*>(end / page * page);
    fenced.begin = static_cast<VkDeviceSize>(fenced.fence - fenced.mapped) - info->allocationSize;
    if (mprotect(fenced.fence, page, PROT_NONE) != 0) std::abort();
    driver.memories[*memory] = fenced;
    return result;
}

VKAPI_ATTR void VKAPI_CALL fenceFreeMemory(VkDevice device, VkDeviceMemory memory,
                                           const VkAllocationCallbacks* allocator) {
    mprotect(driver.memories[memory].fence, pageBytes(), PROT_READ | PROT_WRITE);
    driver.memories.erase(memory);
    driver.FreeMemory(device, memory, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL fenceMapMemory(VkDevice, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize,
                                              VkMemoryMapFlags, void** data) {
    const Fenced& fenced = driver.memories[memory];
    *data = fenced.mapped + fenced.begin + offset;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL fenceBindBufferMemory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                     VkDeviceSize offset) {
    return driver.BindBufferMemory(device, buffer, memory, driver.memories[memory].begin + offset);
}

#define FENCE_REPLACE(function)                                                                                        \
    if (std::strcmp(name, "vk" #function) == 0) return reinterpret_cast<PFN_vkVoidFunction>(fence##function);

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fenceGetDeviceProcAddr(VkDevice device, const char* name) {
    FENCE_FUNCTIONS(FENCE_REPLACE)
    return driver.GetDeviceProcAddr(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fenceGetInstanceProcAddr(VkInstance instance, const char* name) {
    if (instance == VK_NULL_HANDLE) return driver.GetInstanceProcAddr(instance, name);
#define FENCE_LOAD(function)                                                                                           \
    if (driver.function == nullptr)                                                                                    \
        driver.function = reinterpret_cast<PFN_vk##function>(driver.GetInstanceProcAddr(instance, "vk" #function));
    FENCE_FUNCTIONS(FENCE_LOAD)
    FENCE_FUNCTIONS(FENCE_REPLACE)
    return driver.GetInstanceProcAddr(instance, name);
}

void sayBeyond(int, siginfo_t* info, void*) {
    const char* const at = static_cast<const char*>(info->si_addr);
    for (const auto& entry : driver.memories) {
        const char* const fence = entry.second.fence;
        if (at < fence || at >= fence + pageBytes()) continue;
        std::fprintf(stderr, "a shader touched byte %lld of a buffer of %llu bytes\n",
                     static_cast<long long>(at - fence) + static_cast<long long>(entry.second.bytes),
                     static_cast<unsigned long long>(entry.second.bytes));
    }
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
}

} // namespace

bool fencesAsked() { return isAsked("VKROPE_TEST_FENCES"); }

PFN_vkGetInstanceProcAddr fencesLoader() {
    driver.GetInstanceProcAddr = systemLoader();
    if (driver.GetInstanceProcAddr == nullptr) return nullptr;
    struct sigaction action = {};
    action.sa_sigaction = sayBeyond;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    return fenceGetInstanceProcAddr;
}

} // namespace gpu

#endif
