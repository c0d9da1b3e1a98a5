#include "bench/cases/host_costs.hpp"
#include "bench/cases/description.hpp"

#include "bench/harness/allocations.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

namespace measure {
namespace {

void mustSucceed(VkResult result, const char* what) {
    if (result != VK_SUCCESS) throw std::runtime_error(std::string(what) + " returned " + std::to_string(result));
}

// ---- Allocations through the context's callbacks
// ---------------------------------------------------------------------

uint64_t callback_allocations = 0;

#ifdef _WIN32 // its C library frees and grows aligned blocks by functions of their own
void* takeBlock(size_t size, size_t alignment) { return _aligned_malloc(size, alignment); }
void freeBlock(void* memory) { _aligned_free(memory); }
void* growBlock(void* memory, size_t size, size_t alignment) { return _aligned_realloc(memory, size, alignment); }
#else
void* takeBlock(size_t size, size_t alignment) {
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void freeBlock(void* memory) { std::free(memory); }

// Keeps the contents. No call asks for the old size, so realloc copies first.
void* growBlock(void* memory, size_t size, size_t alignment) {
    void* grown = std::realloc(memory, size);
    if (size == 0 || reinterpret_cast<uintptr_t>(grown) % alignment == 0) return grown;
    void* aligned = takeBlock(size, alignment);
    std::memcpy(aligned, grown, size);
    std::free(grown);
    return aligned;
}
#endif

VKAPI_ATTR void* VKAPI_CALL countedAllocate(void*, size_t size, size_t alignment, VkSystemAllocationScope) {
    ++callback_allocations;
    return takeBlock(size, alignment);
}
VKAPI_ATTR void VKAPI_CALL countedRelease(void*, void* memory) { freeBlock(memory); }

VKAPI_ATTR void* VKAPI_CALL countedReallocate(void*, void* memory, size_t size, size_t alignment,
                                              VkSystemAllocationScope) {
    ++callback_allocations;
    return growBlock(memory, size, alignment);
}

constexpr VkAllocationCallbacks kCounting = {nullptr,        countedAllocate, countedReallocate,
                                             countedRelease, nullptr,         nullptr};

// ---- A driver whose recording does nothing --------------------------------------------------------------------------

PFN_vkGetDeviceProcAddr real_proc_addr = nullptr;

template <typename Function> struct DoNothing;
template <typename... Arguments> struct DoNothing<void(VKAPI_PTR*)(Arguments...)> {
    static VKAPI_ATTR void VKAPI_CALL call(Arguments...) {}
};

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL silentProcAddr(VkDevice device, const char* name) {
#define ROPE_SILENT(function)                                                                                          \
    if (std::strcmp(name, #function) == 0) return reinterpret_cast<PFN_vkVoidFunction>(DoNothing<PFN_##function>::call);
    ROPE_SILENT(vkCmdBindPipeline)
    ROPE_SILENT(vkCmdBindDescriptorSets)
    ROPE_SILENT(vkCmdPushDescriptorSetKHR)
    ROPE_SILENT(vkCmdPushConstants)
    ROPE_SILENT(vkCmdDispatch)
#undef ROPE_SILENT
    return real_proc_addr(device, name);
}

using Time = std::chrono::steady_clock;

} // namespace

// ---- The state that probes work on ---------------------------------------------------------------------------------

class HostCostState {
  public:
    explicit HostCostState(BenchDevice* bench)
        : bench_(bench),
          case_({findModelShape("llama3-8b"), ROPE_PAIRING_HALF, false, ROPE_ELEMENT_F32, ROPE_SOURCE_INLINE, 1, {}}),
          described(case_), step(bench, case_) {
        VkCommandPoolCreateInfo pool = {};
        pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        pool.queueFamilyIndex = device().queueFamily();
        mustSucceed(vk().CreateCommandPool(device().handle(), &pool, nullptr, &pool_), "vkCreateCommandPool");
        VkCommandBufferAllocateInfo allocate = {};
        allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        allocate.commandPool = pool_;
        allocate.commandBufferCount = 1;
        mustSucceed(vk().AllocateCommandBuffers(device().handle(), &allocate, &commands), "vkAllocateCommandBuffers");
        load(&make_cache_, "vkCreatePipelineCache");
        load(&destroy_cache_, "vkDestroyPipelineCache");
        slots = step.slots();
        makeSets();
        real_proc_addr = vk().GetDeviceProcAddr;
        makeContext(silentProcAddr, VK_NULL_HANDLE, &silent);
        mustSucceed(ropePrepare(silent, &step.plan(), 1, nullptr), "ropePrepare");
    }
    HostCostState(const HostCostState&) = delete;
    HostCostState& operator=(const HostCostState&) = delete;
    ~HostCostState() {
        ropeDestroyContext(silent);
        ropeDestroyContext(fresh);
        destroy_cache_(device().handle(), cache_, nullptr);
        vk().DestroyDescriptorPool(device().handle(), descriptors_, nullptr);
        vk().DestroyCommandPool(device().handle(), pool_, nullptr);
    }

    rope::Device& device() { return bench_->device(); }
    const rope::VulkanFunctions& vk() { return device().vk(); }

    void makeContext(PFN_vkGetDeviceProcAddr functions, VkPipelineCache cache, RopeContext** context) {
        ropeDestroyContext(*context);
        RopeContextInfo info = {};
        info.device = device().handle();
        info.get_device_proc_addr = functions;
        info.pipeline_cache = cache;
        info.allocator = &kCounting;
        info.limits = bench_->limits();
        mustSucceed(ropeCreateContext(&info, context), "ropeCreateContext");
    }
    void makeFresh(VkPipelineCache cache) { makeContext(real_proc_addr, cache, &fresh); }

    // Returns a cache that holds the pipelines.
    VkPipelineCache cache() {
        if (cache_ == VK_NULL_HANDLE) {
            VkPipelineCacheCreateInfo info = {};
            info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
            mustSucceed(make_cache_(device().handle(), &info, nullptr, &cache_), "vkCreatePipelineCache");
            makeFresh(cache_);
            mustSucceed(ropePrepare(fresh, &step.plan(), 1, nullptr), "ropePrepare");
        }
        return cache_;
    }

    void beginRecording() {
        VkCommandBufferBeginInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        mustSucceed(vk().ResetCommandPool(device().handle(), pool_, 0), "vkResetCommandPool");
        mustSucceed(vk().BeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
    }

    // Opens a device that has never seen the plan, with the buffers that the plan takes.
    void openAnother() {
        another_step.reset();
        another = std::make_unique<BenchDevice>(openBenchDevice(std::to_string(device().info().index), Clock::kHost));
        another_step = std::make_unique<UnusedStep>(another.get(), case_);
    }

    struct UnusedStep {
        UnusedStep(BenchDevice* bench, const RotationCase& c) : described(c) {
            mustPlan(ropePlanRotate(&described.description, &bench->limits(), &plan), plan);
            const RopeSlot used[] = {ROPE_SLOT_Q, ROPE_SLOT_K, ROPE_SLOT_POSITIONS};
            for (const RopeSlot slot : used) keep(slot, bench->makeNoise(plan.bytes[slot], ROPE_ELEMENT_F32));
            keep(ROPE_SLOT_FREQUENCIES, bench->makeFrequencies(described.description.rotation.frequencies));
        }
        void keep(RopeSlot slot, rope::Buffer buffer) {
            buffers.push_back(std::move(buffer));
            slots.slots[slot] = buffers.back().slot();
        }
        CaseDescription described;
        RopePlan plan;
        std::deque<rope::Buffer> buffers;
        RopeBuffers slots = {};
    };

  private:
    template <typename Function> void load(Function* function, const char* name) {
        *function = reinterpret_cast<Function>(vk().GetDeviceProcAddr(device().handle(), name));
        if (*function == nullptr) throw std::runtime_error(std::string("the device has no ") + name);
    }

    // Makes descriptor sets if the device has no push descriptors.
    void makeSets() {
        if ((bench_->limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) != 0) return;
        sets_.resize(ropeDispatchCount(&step.plan()));
        const auto count = static_cast<uint32_t>(sets_.size());
        const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * (ROPE_BINDING_COUNT - 1)},
                                              {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count}};
        VkDescriptorPoolCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
        info.maxSets = count;
        info.poolSizeCount = 2;
        info.pPoolSizes = sizes;
        mustSucceed(vk().CreateDescriptorPool(device().handle(), &info, nullptr, &descriptors_),
                    "vkCreateDescriptorPool");
        mustSucceed(ropeAllocateSets(device().context(), &step.plan(), &slots, descriptors_, sets_.data()),
                    "ropeAllocateSets");
        slots.sets = sets_.data();
    }

    BenchDevice* bench_;
    RotationCase case_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    std::vector<VkDescriptorSet> sets_;
    PFN_vkCreatePipelineCache make_cache_ = nullptr;
    PFN_vkDestroyPipelineCache destroy_cache_ = nullptr;

  public:
    CaseDescription described;
    RotationBench step;
    RopeBuffers slots = {};
    RopePlan made = {};
    RopeDispatch dispatch = {};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    RopeContext *silent = nullptr, *fresh = nullptr;
    std::unique_ptr<BenchDevice> another;
    std::unique_ptr<UnusedStep> another_step;
};

HostCosts::HostCosts(BenchDevice* bench) : state_(std::make_unique<HostCostState>(bench)) {}
HostCosts::~HostCosts() = default;

static void mustRecord(RopeResult result) {
    if (result != ROPE_SUCCESS) throw std::runtime_error(std::string("recording returned ") + ropeResultName(result));
}

std::vector<HostProbe> HostCosts::probes() {
    HostCostState* s = state_.get();
    const RopePlan& plan = s->step.plan();
    const double dispatches = ropeDispatchCount(&plan);
    const auto nothing = [] {};
    const auto run = [s] { s->another->run(s->another_step->plan, s->another_step->slots); };
    return {
        {"plan", "a plan, frequencies given", 101, 1000, nothing,
         [s] { mustPlan(ropePlanRotate(&s->described.description, &s->device().limits(), &s->made), s->made); }},
        {"dispatch", "a dispatch out of a plan, as plain data", 101, 1000, nothing,
         [s, &plan] { ropeGetDispatch(&plan, 0, &s->dispatch); }},
        {"record", "recording, each dispatch, without the driver's part", 101, 1000, nothing,
         [s, &plan] { mustRecord(ropeCmdExecute(s->commands, s->silent, &plan, &s->slots)); }, dispatches},
        {"record_driver", "recording, each dispatch, with it", 101, 100, [s] { s->beginRecording(); },
         [s, &plan] { mustRecord(ropeCmdExecute(s->commands, s->device().context(), &plan, &s->slots)); }, dispatches},
        {"context", "a context, made", 21, 1,
         [s] {
             ropeDestroyContext(s->fresh);
             s->fresh = nullptr;
         },
         [s] { s->makeFresh(VK_NULL_HANDLE); }},
        {"pipelines", "the plan's pipelines, without a pipeline cache", 11, 1, [s] { s->makeFresh(VK_NULL_HANDLE); },
         [s, &plan] { mustSucceed(ropePrepare(s->fresh, &plan, 1, nullptr), "ropePrepare"); }},
        {"pipelines_cached", "the same from a VkPipelineCache that has them", 11, 1, [s] { s->makeFresh(s->cache()); },
         [s, &plan] { mustSucceed(ropePrepare(s->fresh, &plan, 1, nullptr), "ropePrepare"); }},
        {"first_use", "a new device's first use: pipelines, submission, wait", 5, 1, [s] { s->openAnother(); }, run},
        {"later_use", "any later use: submission, wait", 101, 1,
         [s, run] {
             if (s->another == nullptr) s->openAnother(), run();
         },
         run},
    };
}

double HostCosts::sample(const HostProbe& probe) const {
    probe.before();
    const Time::time_point begin = Time::now();
    for (uint32_t i = 0; i < probe.batch; ++i) probe.call();
    return std::chrono::duration<double>(Time::now() - begin).count() / probe.batch / probe.items;
}

HostCost HostCosts::measure(const HostProbe& probe) const {
    HostCost cost = {};
    probe.before();
    const uint64_t before = allocationsSoFar(), callbacks_before = callback_allocations;
    probe.call();
    cost.allocations = static_cast<double>(allocationsSoFar() - before);
    cost.through_callbacks = static_cast<double>(callback_allocations - callbacks_before);
    std::vector<double> seconds(probe.samples);
    for (double& one : seconds) one = sample(probe);
    cost.seconds = quartilesOf(seconds);
    return cost;
}

std::vector<ShaderSize> HostCosts::shaderSizes() const {
    RopeRotateDescription d = state_->described.description;
    RopeTableDescription table = {};
    table.frequencies = d.rotation.frequencies;
    table.tokens = 1;
    RopeFusedDescription fused = {};
    measure::setRotation(d, &fused);
    RopePlan table_plan, fused_plan;
    mustPlan(ropePlanTable(&table, nullptr, &table_plan), table_plan);
    mustPlan(ropePlanFused(&fused, nullptr, &fused_plan), fused_plan);
    std::vector<ShaderSize> shaderSizes;
    const RopePlan* const plans[] = {&state_->step.plan(), &table_plan, &fused_plan};
    for (const RopePlan* plan : plans)
        shaderSizes.push_back({plan->passes[0].shader->name, plan->passes[0].shader->bytes});
    return shaderSizes;
}

} // namespace measure
