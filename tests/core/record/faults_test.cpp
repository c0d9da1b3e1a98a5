// The device target on a device with faults: every call failing in turn, a device that is lost, a fence that never
// signals, a function that is not there. A wrapped function table has them; below it are the validation layer, which
// tells what is left behind, and a real driver.
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include <chrono>
#include <cstring>

namespace {

struct Troubles {
    int fail_at = -1; // counts calls that return a result; -1: none fails
    VkResult failure = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    int calls = 0;
    const char* failing = ""; // only this one, and always
    const char* lacking = ""; // a function that is not there
    bool signals = true;      // whether submissions signal their fences
    bool two_kinds = false;   // the driver's first type of memory is listed twice, and its first listing has no room
} troubles;

PFN_vkGetInstanceProcAddr real_instance_functions = nullptr;
PFN_vkGetDeviceProcAddr real_device_functions = nullptr;

// Result calls of which any may fail. (vkWaitForFences has a function of its own below.)
#define FAULTS_CALLS(X)                                                                                                \
    X(CreateInstance)                                                                                                  \
    X(EnumeratePhysicalDevices)                                                                                        \
    X(CreateDevice)                                                                                                    \
    X(CreateCommandPool)                                                                                               \
    X(AllocateCommandBuffers)                                                                                          \
    X(CreateFence)                                                                                                     \
    X(CreateQueryPool)                                                                                                 \
    X(CreateDescriptorSetLayout)                                                                                       \
    X(CreatePipelineLayout)                                                                                            \
    X(CreateShaderModule)                                                                                              \
    X(CreateComputePipelines)                                                                                          \
    X(CreateDescriptorPool)                                                                                            \
    X(AllocateDescriptorSets)                                                                                          \
    X(CreateBuffer)                                                                                                    \
    X(AllocateMemory)                                                                                                  \
    X(BindBufferMemory)                                                                                                \
    X(MapMemory)                                                                                                       \
    X(FlushMappedMemoryRanges)                                                                                         \
    X(InvalidateMappedMemoryRanges)                                                                                    \
    X(ResetCommandPool)                                                                                                \
    X(BeginCommandBuffer)                                                                                              \
    X(EndCommandBuffer)                                                                                                \
    X(ResetFences)                                                                                                     \
    X(QueueSubmit)

VkResult troubleWith(const char* name) {
    if (std::strcmp(troubles.failing, name) == 0) return troubles.failure;
    return troubles.calls++ == troubles.fail_at ? troubles.failure : VK_SUCCESS;
}

#define FAULTS_NAME(Name)                                                                                              \
    struct Of##Name {                                                                                                  \
        static constexpr const char* kName = "vk" #Name;                                                               \
    };
FAULTS_CALLS(FAULTS_NAME)
#undef FAULTS_NAME

template <typename Of, typename Function> struct Wrapped;
template <typename Of, typename... Arguments> struct Wrapped<Of, VkResult (*)(Arguments...)> {
    static inline VkResult (*real)(Arguments...) = nullptr;
    static VkResult call(Arguments... arguments) {
        const VkResult result = troubleWith(Of::kName);
        return result == VK_SUCCESS ? real(arguments...) : result;
    }
};

template <typename Function> PFN_vkVoidFunction untyped(Function function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

template <typename Function> Function real(const char* name, VkDevice device) {
    return reinterpret_cast<Function>(real_device_functions(device, name));
}

// ---- Single troubles, each around the wrapped call

VkResult submitWithoutSignal(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    return Wrapped<OfQueueSubmit, PFN_vkQueueSubmit>::call(queue, count, infos,
                                                           troubles.signals ? fence : VkFence(VK_NULL_HANDLE));
}

PFN_vkWaitForFences real_wait = nullptr;
VkResult waitForFences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t timeout) {
    const VkResult result = real_wait(device, count, fences, all, timeout);
    return std::strcmp(troubles.failing, "vkWaitForFences") == 0 ? troubles.failure : result;
}

PFN_vkEnumerateDeviceExtensionProperties real_extensions = nullptr;
VkResult deviceExtensions(VkPhysicalDevice device, const char* layer, uint32_t* count, VkExtensionProperties* all) {
    if (std::strcmp(troubles.failing, "vkEnumerateDeviceExtensionProperties") == 0) return troubles.failure;
    return real_extensions(device, layer, count, all);
}

PFN_vkGetPhysicalDeviceMemoryProperties real_memory = nullptr;
void memoryProperties(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* memory) {
    real_memory(device, memory);
    if (!troubles.two_kinds) return;
    memory->memoryTypeCount = 2;
    memory->memoryTypes[1] = memory->memoryTypes[0];
}

PFN_vkGetBufferMemoryRequirements real_requirements = nullptr;
void bufferRequirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* needs) {
    real_requirements(device, buffer, needs);
    if (troubles.two_kinds) needs->memoryTypeBits = 3;
}

VkResult allocateMemory(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* allocator,
                        VkDeviceMemory* memory) {
    VkMemoryAllocateInfo first = *info;
    if (troubles.two_kinds && info->memoryTypeIndex == 0) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (troubles.two_kinds) first.memoryTypeIndex = 0;
    return Wrapped<OfAllocateMemory, PFN_vkAllocateMemory>::call(device, &first, allocator, memory);
}

// ---- The tables

#define FAULTS_WRAP(Name)                                                                                              \
    if (std::strcmp(name, "vk" #Name) == 0) {                                                                          \
        Wrapped<Of##Name, PFN_vk##Name>::real = reinterpret_cast<PFN_vk##Name>(function);                              \
        wrapped = untyped(Wrapped<Of##Name, PFN_vk##Name>::call);                                                      \
    }

template <typename Function> PFN_vkVoidFunction instead(Function* kept, PFN_vkVoidFunction function, Function ours) {
    *kept = reinterpret_cast<Function>(function);
    return untyped(ours);
}

PFN_vkVoidFunction deviceFunctions(VkDevice device, const char* name) {
    const PFN_vkVoidFunction function = real_device_functions(device, name);
    if (std::strcmp(name, troubles.lacking) == 0 || function == nullptr) return nullptr;
    PFN_vkVoidFunction wrapped = function;
    FAULTS_CALLS(FAULTS_WRAP)
    if (std::strcmp(name, "vkQueueSubmit") == 0) return untyped(submitWithoutSignal);
    if (std::strcmp(name, "vkAllocateMemory") == 0) return untyped(allocateMemory);
    if (std::strcmp(name, "vkGetBufferMemoryRequirements") == 0)
        return instead(&real_requirements, function, bufferRequirements);
    if (std::strcmp(name, "vkWaitForFences") == 0) return instead(&real_wait, function, waitForFences);
    return wrapped;
}

PFN_vkVoidFunction instanceFunctions(VkInstance instance, const char* name) {
    const PFN_vkVoidFunction function = real_instance_functions(instance, name);
    if (function == nullptr) return nullptr;
    PFN_vkVoidFunction wrapped = function;
    FAULTS_CALLS(FAULTS_WRAP)
    if (std::strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0)
        return instead(&real_extensions, function, deviceExtensions);
    if (std::strcmp(name, "vkGetPhysicalDeviceMemoryProperties") == 0)
        return instead(&real_memory, function, memoryProperties);
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0)
        return instead(&real_device_functions, function, deviceFunctions);
    return wrapped;
}

// ---- The tests

class Faults : public testing::TestWithParam<gpu::DeviceSetup> {
  protected:
    void SetUp() override {
        std::string error;
        const std::unique_ptr<rope::Instance> instance = rope::Instance::open(nullptr, nullptr, &error);
        if (!instance) GTEST_SKIP() << error;
        real_instance_functions = instance->vk().GetInstanceProcAddr;
        troubles = Troubles();
        options_.select = GetParam().select;
        options_.push_descriptors = GetParam().with_extensions;
        options_.validate = true;
        options_.messages = messages_;
        options_.get_instance_proc_addr = instanceFunctions;
        if (!rope::Device::open(options_, &error)) GTEST_SKIP() << GetParam().name << " was not found: " << error;
        ASSERT_EQ(messages_->count(), 0u) << messages_->text();

        rotate_.tokens = 10;
        rotate_.head_dim = 64;
        rotate_.q.heads = 3;
        rotate_.rotation.frequencies = {frequencies_.data(), 32, 1, nullptr, 1};
        rotate_.positions.kind = ROPE_POSITIONS_COUNTED;
        rotate_.positions.first = 100;
    }
    void TearDown() override { EXPECT_EQ(messages_->count(), 0u) << messages_->text(); }

    // A whole use of the device; true with the right bits, false with *error. Wrong bits fail the test.
    bool use(rope::Device* device, std::string* error) {
        RopePlan plan;
        EXPECT_EQ(ropePlanRotate(&rotate_, &device->limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        const std::vector<uint32_t> words = sample::words(frequencies_, ROPE_ANGLE_EXACT);
        const std::vector<float> input = sample::values(10 * 3 * 64, 1);
        std::vector<float> got(input.size()), wanted(input.size());
        rope::Buffer q, block;
        RopeBuffers buffers = {};
        if (!device->makeBuffer(input.size() * 4, &q, error) || !device->makeBuffer(words.size() * 4, &block, error)) {
            return false;
        }
        buffers.slots[ROPE_SLOT_Q] = q.slot();
        buffers.slots[ROPE_SLOT_FREQUENCIES] = block.slot();
        if (!device->upload(q, 0, input.data(), input.size() * 4, error) ||
            !device->upload(block, 0, words.data(), words.size() * 4, error) ||
            !device->run(&plan, 1, &buffers, error) || !device->download(q, 0, got.data(), got.size() * 4, error)) {
            return false;
        }
        RopeHostRotate host = {};
        host.q = input.data();
        host.q_out = wanted.data();
        EXPECT_EQ(ropeHostRunRotate(&rotate_, &host, nullptr), ROPE_SUCCESS);
        EXPECT_EQ(got, wanted);
        return true;
    }
    void expectUsable() {
        std::string error;
        rope::Device device = rope::Device::open(options_, &error);
        ASSERT_TRUE(device) << error;
        EXPECT_TRUE(use(&device, &error)) << error;
    }

    const std::vector<double> frequencies_ = sample::frequencies(10000, 64);
    const std::shared_ptr<rope::Messages> messages_ = std::make_shared<rope::Messages>();
    RopeRotateDescription rotate_ = {};
    rope::DeviceOptions options_;
};

TEST_P(Faults, OpeningLeavesNothingBehindWhicheverCallFails) {
    troubles.calls = 0;
    std::string error;
    ASSERT_TRUE(rope::Device::open(options_, &error)) << error;
    const int calls = troubles.calls;
    ASSERT_GE(calls, 15);
    for (int n = 0; n < calls; ++n) {
        troubles.calls = 0;
        troubles.fail_at = n;
        error.clear();
        EXPECT_FALSE(rope::Device::open(options_, &error)) << n;
        EXPECT_NE(error.find("VK_ERROR_OUT_OF_DEVICE_MEMORY"), std::string::npos) << n << ": " << error;
        EXPECT_EQ(messages_->count(), 0u) << n << ": " << messages_->text();
    }
    troubles.fail_at = -1;
    expectUsable();
}

TEST_P(Faults, TheDeviceGoesOnWhicheverCallFailed) {
    std::string error;
    rope::Device device = rope::Device::open(options_, &error);
    ASSERT_TRUE(device) << error;
    troubles.calls = 0;
    ASSERT_TRUE(use(&device, &error)) << error;
    const int calls = troubles.calls;
    ASSERT_GE(calls, 12);
    for (int n = 0; n < calls; ++n) {
        rope::Device fresh = rope::Device::open(options_, &error); // with no pipeline yet
        ASSERT_TRUE(fresh) << error;
        troubles.calls = 0;
        troubles.fail_at = n;
        error.clear();
        EXPECT_FALSE(use(&fresh, &error)) << n;
        EXPECT_NE(error.find("VK_ERROR_OUT_OF_DEVICE_MEMORY"), std::string::npos) << n << ": " << error;
        troubles.fail_at = -1;
        EXPECT_TRUE(use(&fresh, &error)) << n << ": " << error;
    }
}

TEST_P(Faults, ALostDeviceIsToldAndAnotherServes) {
    for (const char* call : {"vkQueueSubmit", "vkWaitForFences"}) {
        std::string error;
        rope::Device device = rope::Device::open(options_, &error);
        ASSERT_TRUE(device) << error;
        troubles.failing = call;
        troubles.failure = VK_ERROR_DEVICE_LOST;
        EXPECT_FALSE(use(&device, &error)) << call;
        EXPECT_NE(error.find("was lost"), std::string::npos) << error;
        device = rope::Device();
        troubles.failing = "";
        expectUsable();
    }
}

TEST_P(Faults, AFenceThatNeverSignalsIsWaitedForAsLongAsSaid) {
    options_.timeout_seconds = 0.3;
    options_.validate = false; // what is stuck is never destroyed
    std::string error;
    rope::Device device = rope::Device::open(options_, &error);
    ASSERT_TRUE(device) << error;
    troubles.signals = false;
    const auto before = std::chrono::steady_clock::now();
    EXPECT_FALSE(use(&device, &error));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    EXPECT_NE(error.find("did not finish within 0.3 s"), std::string::npos) << error;
    EXPECT_GE(seconds, 0.29);
    EXPECT_LT(seconds, 10);
    EXPECT_FALSE(use(&device, &error));
    EXPECT_NE(error.find("did not finish earlier work"), std::string::npos) << error;
    EXPECT_TRUE(device.isStuck());
    device = rope::Device();
    troubles.signals = true;
    expectUsable();
}

TEST_P(Faults, ADeviceWithoutExtensionsIsFoundAndNotOpened) {
    troubles.failing = "vkEnumerateDeviceExtensionProperties";
    std::string error;
    EXPECT_FALSE(rope::Device::open(options_, &error));
    EXPECT_EQ(error, "vkEnumerateDeviceExtensionProperties returned VK_ERROR_OUT_OF_DEVICE_MEMORY");
}

// A loader whose drivers find no device answers so.
TEST_P(Faults, ALoaderThatFindsNothingIsToldWhatToInstall) {
    troubles.failing = "vkEnumeratePhysicalDevices";
    troubles.failure = VK_ERROR_INITIALIZATION_FAILED;
    std::string error;
    EXPECT_FALSE(rope::Device::open(options_, &error));
    EXPECT_NE(error.find("no Vulkan device: the loader's drivers found none; install"), std::string::npos) << error;
}

TEST_P(Faults, AnotherKindOfMemoryServesWhereTheBestHasNoRoom) {
    troubles.two_kinds = true;
    expectUsable();
}

TEST_P(Faults, AFunctionThatIsAbsentIsNamed) {
    troubles.lacking = "vkCmdDispatch";
    std::string error;
    EXPECT_FALSE(rope::Device::open(options_, &error));
    EXPECT_NE(error.find("vkCmdDispatch"), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(Every, Faults, testing::ValuesIn(gpu::deviceSetups()), gpu::setupName);

} // namespace
