// vkrope-compilers prints what a driver's compiler makes of the library's pipelines: their statistics and texts go to
// standard output for compilers.py. No GPU is needed where the driver stands over a stub of its kernel's.
//   --every      each shader, in plans typical of it
//   --heads      rotations of one head a thread and of two: compilers.py takes the cost of a head from them
//   --rotations  the rotation's wide build in every choice
//   --validate   prints the validation layer's messages too
#include "bench/cases/rotation.hpp"
#include "bench/cases/typical_passes.hpp"

#include "shaders/interface.h"
#include <vkrope/loader.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace {

using namespace measure;

struct Compiler {
    std::shared_ptr<rope::Messages> messages; // null: without validation
    std::unique_ptr<rope::Instance> instance;
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    RopeLimits limits = {};
};
Compiler compiler;

void mustHold(bool right, const std::string& what) {
    if (!right) throw std::runtime_error(what);
}

template <typename Function> Function deviceFunction(const char* name) {
    const auto function = reinterpret_cast<Function>(compiler.instance->vk().GetDeviceProcAddr(compiler.device, name));
    mustHold(function != nullptr, std::string("the driver has no ") + name);
    return function;
}

// Returns the 16-bit storage that the device offers and the shaders use.
VkPhysicalDevice16BitStorageFeatures offeredFeatures() {
    VkPhysicalDevice16BitStorageFeatures storage_16 = {};
    storage_16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    VkPhysicalDeviceFeatures2 features = {};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &storage_16;
    compiler.instance->vk().GetPhysicalDeviceFeatures2(compiler.physical_device, &features);
    storage_16.uniformAndStorageBuffer16BitAccess = storage_16.storagePushConstant16 = VK_FALSE;
    storage_16.storageInputOutput16 = VK_FALSE;
    return storage_16;
}

bool offersExtension(const char* name) {
    uint32_t count = 0;
    const auto enumerate = compiler.instance->vk().EnumerateDeviceExtensionProperties;
    enumerate(compiler.physical_device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> offered(count);
    enumerate(compiler.physical_device, nullptr, &count, offered.data());
    for (const auto& extension : offered) {
        if (std::strcmp(extension.extensionName, name) == 0) return true;
    }
    return false;
}

void createDevice(const void* features, const std::vector<const char*>& extensions) {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo create = {};
    create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    create.pNext = features;
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queue;
    create.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    create.ppEnabledExtensionNames = extensions.data();
    const VkResult made =
        compiler.instance->vk().CreateDevice(compiler.physical_device, &create, nullptr, &compiler.device);
    mustHold(made == VK_SUCCESS, "vkCreateDevice returned " + rope::resultName(made));
}

void openCompiler() {
    std::string error;
    compiler.instance = rope::Instance::open(nullptr, compiler.messages, &error);
    mustHold(compiler.instance != nullptr, error);
    std::vector<VkPhysicalDevice> found;
    mustHold(compiler.instance->physicalDevices(&found, &error), error);
    mustHold(!found.empty(), "no Vulkan device");
    compiler.physical_device = found[0];
    VkPhysicalDeviceProperties properties;
    compiler.instance->vk().GetPhysicalDeviceProperties(compiler.physical_device, &properties);
    std::printf("device %s\n", properties.deviceName);
    std::vector<const char*> extensions = {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME};
    mustHold(offersExtension(extensions[0]), std::string("the driver has no ") + extensions[0]);
    uint32_t enabled = 0;
    if (offersExtension(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) {
        extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
        enabled |= ROPE_ENABLED_PUSH_DESCRIPTORS;
    }
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR feature = {};
    feature.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
    feature.pipelineExecutableInfo = VK_TRUE;
    VkPhysicalDevice16BitStorageFeatures storage_16 = offeredFeatures();
    if (storage_16.storageBuffer16BitAccess) {
        feature.pNext = &storage_16;
        enabled |= ROPE_ENABLED_STORAGE_16;
    }
    createDevice(&feature, extensions);
    ropeLimitsFromDevice(&properties, enabled, &compiler.limits);
}

// Must come before the process' end, as the layer's own state ends first then.
void closeCompiler() {
    deviceFunction<PFN_vkDestroyDevice>("vkDestroyDevice")(compiler.device, nullptr);
    compiler.instance.reset();
}

std::string valueOf(const VkPipelineExecutableStatisticKHR& statistic) {
    switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        return std::to_string(statistic.value.b32);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        return std::to_string(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
        return std::to_string(statistic.value.f64);
    default:
        return std::to_string(statistic.value.u64);
    }
}

void printStatistics(const VkPipelineExecutableInfoKHR& info) {
    const auto get = deviceFunction<PFN_vkGetPipelineExecutableStatisticsKHR>("vkGetPipelineExecutableStatisticsKHR");
    uint32_t count = 0;
    get(compiler.device, &info, &count, nullptr);
    VkPipelineExecutableStatisticKHR blank = {};
    blank.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    std::vector<VkPipelineExecutableStatisticKHR> statistics(count, blank);
    get(compiler.device, &info, &count, statistics.data());
    for (const auto& statistic : statistics) std::printf("stat %s\t%s\n", statistic.name, valueOf(statistic).c_str());
}

// Each representation is printed with its name, and its lines are indented by a tab.
void printTexts(const VkPipelineExecutableInfoKHR& info) {
    const auto get = deviceFunction<PFN_vkGetPipelineExecutableInternalRepresentationsKHR>(
        "vkGetPipelineExecutableInternalRepresentationsKHR");
    uint32_t count = 0;
    get(compiler.device, &info, &count, nullptr);
    VkPipelineExecutableInternalRepresentationKHR blank = {};
    blank.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
    std::vector<VkPipelineExecutableInternalRepresentationKHR> texts(count, blank);
    get(compiler.device, &info, &count, texts.data());
    std::vector<std::string> contents;
    for (auto& text : texts) contents.emplace_back(text.dataSize, '\0');
    for (size_t i = 0; i < count; ++i) texts[i].pData = &contents[i][0];
    get(compiler.device, &info, &count, texts.data());
    for (size_t i = 0; i < count; ++i) {
        std::printf("text %s\n\t", texts[i].name);
        for (const char* c = contents[i].c_str(); *c != '\0'; ++c) std::printf(*c == '\n' ? "\n\t" : "%c", *c);
        std::printf("\n");
    }
}

// A driver may make several executables of a pipeline, such as one for each width of a subgroup.
void printExecutables(VkPipeline pipeline) {
    const auto get = deviceFunction<PFN_vkGetPipelineExecutablePropertiesKHR>("vkGetPipelineExecutablePropertiesKHR");
    VkPipelineInfoKHR asked = {};
    asked.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR;
    asked.pipeline = pipeline;
    uint32_t count = 0;
    get(compiler.device, &asked, &count, nullptr);
    VkPipelineExecutablePropertiesKHR blank = {};
    blank.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
    std::vector<VkPipelineExecutablePropertiesKHR> properties(count, blank);
    get(compiler.device, &asked, &count, properties.data());
    VkPipelineExecutableInfoKHR executable = {};
    executable.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
    executable.pipeline = pipeline;
    for (; executable.executableIndex < count; ++executable.executableIndex) {
        const auto& named = properties[executable.executableIndex];
        std::printf("executable %s, subgroups of %u\n", named.name, named.subgroupSize);
        printStatistics(executable);
        printTexts(executable);
    }
}

// Stands between the library's context and the driver, and prints each pipeline that the context makes.
VKAPI_ATTR VkResult VKAPI_CALL createAndPrint(VkDevice device, VkPipelineCache cache, uint32_t count,
                                              const VkComputePipelineCreateInfo* infos,
                                              const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
    VkComputePipelineCreateInfo asked = infos[0];
    asked.flags |=
        VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    const auto create = deviceFunction<PFN_vkCreateComputePipelines>("vkCreateComputePipelines");
    const VkResult result = create(device, cache, count, &asked, allocator, pipelines);
    if (result == VK_SUCCESS) printExecutables(pipelines[0]);
    return result;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL interceptedProcAddr(VkDevice device, const char* name) {
    if (std::string(name) == "vkCreateComputePipelines") return reinterpret_cast<PFN_vkVoidFunction>(createAndPrint);
    return compiler.instance->vk().GetDeviceProcAddr(device, name);
}

void makePipelines(const RopePlan& plan, const RopeLimits& limits) {
    RopeContextInfo info = {};
    info.device = compiler.device;
    info.get_device_proc_addr = interceptedProcAddr;
    info.limits = limits;
    RopeContext* context = nullptr;
    mustHold(ropeCreateContext(&info, &context) == VK_SUCCESS, "ropeCreateContext failed");
    const VkResult prepared = ropePrepare(context, &plan, 1, nullptr);
    ropeDestroyContext(context);
    mustHold(prepared == VK_SUCCESS, "ropePrepare returned " + rope::resultName(prepared));
}

// Prints the pipelines of a plan, and what compilers.py has to know of each: the pairs of a lane, whether a group makes
// its angles together, and how many runs of tensors the text loads.
void printRotation(const RotationCase& c, uint32_t heads, bool native) {
    const CaseDescription described(c);
    RopeRotateDescription description = described.description;
    description.tuning = {160, heads, 8}; // the widest lanes; plans take others too
    RopeLimits limits = compiler.limits;
    limits.enabled |= native ? ROPE_ENABLED_NATIVE_HALVES : 0;
    RopePlan plan;
    mustPlan(ropePlanRotate(&description, &limits, &plan), plan);
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    std::printf("pipeline %s %s %s %s %u %s %s\n", nameIn(elements(), c.element), nameIn(placements(), c.out_of_place),
                nameIn(sources(), c.source), nameIn(pairings(), c.pairing), heads, native ? "native" : "plain",
                dispatch.shader->name);
    std::printf("fact pairs\t%u\nfact shares\t%u\nfact runs\t%u\n", 4 * dispatch.constants[ROPE_ID_QUADS],
                dispatch.constants[ROPE_ID_SHARES],
                2 * dispatch.constants[ROPE_ID_HEADS] * (dispatch.constants[ROPE_ID_Q_BLOCKS] != 0 ? 2 : 1));
    makePipelines(plan, limits);
}

void printEveryShader() {
    RopeLimits limits = compiler.limits;
    limits.enabled |= ROPE_ENABLED_STORAGE_16;
    for (const TypicalPass& typical : typicalPasses(limits)) {
        const char* name = typical.plan.passes[0].shader->name;
        const bool offered = (typical.plan.limits.enabled & ~compiler.limits.enabled) == 0;
        std::printf("%s %s %s\n", offered ? "pipeline" : "lacking", typical.name.c_str(), name);
        if (offered) makePipelines(typical.plan, compiler.limits);
    }
}

void printRotations(const std::vector<RotationCase>& cases, const std::vector<uint32_t>& heads_of_a_thread) {
    for (const RotationCase& c : cases) {
        for (const uint32_t heads : heads_of_a_thread) {
            printRotation(c, heads, /* native= */ false);
            if (c.element == ROPE_ELEMENT_F16) printRotation(c, heads, /* native= */ true);
        }
    }
}

CaseChoices llamaChoices() {
    CaseChoices choices = allChoices();
    choices.models = {findModelShape("llama3-8b")};
    choices.tokens = {4096};
    return choices;
}

// In place, half; the angle's own cost is that of one head inline less that of one from a table.
void printHeads() {
    CaseChoices choices = llamaChoices();
    choices.pairings = {ROPE_PAIRING_HALF};
    choices.out_of_place = {false};
    choices.sources = {ROPE_SOURCE_TABLE};
    printRotations(casesOf(choices), {1, 2});
    choices.sources = {ROPE_SOURCE_INLINE};
    choices.elements = {ROPE_ELEMENT_F32};
    printRotations(casesOf(choices), {1, 2});
}

void print(const std::string& what) {
    if (what == "--every") printEveryShader();
    if (what == "--heads") printHeads();
    if (what == "--rotations") printRotations(casesOf(llamaChoices()), {1, 2, 4});
}

bool isKnown(const std::string& what) {
    return what == "--every" || what == "--heads" || what == "--rotations" || what == "--validate";
}

} // namespace

int main(int count, char** arguments) {
    const std::vector<std::string> asked(arguments + 1, arguments + count);
    if (asked.empty() || !std::all_of(asked.begin(), asked.end(), isKnown)) {
        std::fprintf(stderr,
                     "vkrope-compilers takes --every, --heads, --rotations or several of them, and --validate\n");
        return 2;
    }
    try {
        for (const std::string& what : asked) {
            if (what == "--validate") compiler.messages = std::make_shared<rope::Messages>();
        }
        openCompiler();
        for (const std::string& what : asked) print(what);
        closeCompiler();
        if (compiler.messages != nullptr && compiler.messages->count() != 0) {
            std::printf("messages %s\n", compiler.messages->text().c_str());
        }
        std::printf("end\n");
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "vkrope-compilers: %s\n", failure.what());
        return 1;
    }
    return 0;
}
