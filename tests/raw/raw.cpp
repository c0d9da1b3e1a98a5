// For engines that own their pipelines and descriptors: a plan's dispatches as plain data, and no context. Queries and
// keys are normed and rotated in one pass, once with specialization constants and once without, and compared with the
// CPU's run of the same description.
#include "kernel.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace raw {
namespace {

using engine::require;

constexpr uint32_t kTokens = 12, kQueryHeads = 4, kKeyHeads = 2, kHeadDim = 64;

struct Model {
    double frequencies[kHeadDim / 2];
    float weights[kHeadDim];
    std::vector<float> q, k;
    int32_t positions[kTokens];
    RopeFusedDescription description = {};

    Model();
};

std::vector<float> someValues(size_t count, uint32_t step) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * step % 1009) / 256 - 2;
    return values;
}

Model::Model()
    : q(someValues(kTokens * kQueryHeads * kHeadDim, 337)), k(someValues(kTokens * kKeyHeads * kHeadDim, 613)) {
    RopeRule rule = {};
    rule.rotary_dim = kHeadDim;
    rule.base = 10000;
    double scale;
    require(ropeMakeFrequencies(&rule, frequencies, &scale, nullptr) == ROPE_SUCCESS, "ropeMakeFrequencies");
    for (uint32_t i = 0; i < kHeadDim; ++i) weights[i] = 1 + static_cast<float>(i) / 128;
    for (uint32_t i = 0; i < kTokens; ++i) positions[i] = static_cast<int32_t>(i * i * 1000);

    description.tokens = kTokens;
    description.head_dim = kHeadDim;
    description.rotation.frequencies = {frequencies, kHeadDim / 2, scale, nullptr, 1};
    description.q.heads = kQueryHeads;
    description.k.heads = kKeyHeads;
    description.q.norm.kind = description.k.norm.kind = ROPE_NORM_RMS;
    description.q.norm.weights = description.k.norm.weights = weights;
    description.q.norm.epsilon = description.k.norm.epsilon = 1e-6f;
}

void fill(const Model& model, const RopePlan& plan, const engine::Slice (&slots)[ROPE_SLOT_COUNT]) {
    std::memcpy(slots[ROPE_SLOT_Q].mapped, model.q.data(), plan.bytes[ROPE_SLOT_Q]);
    std::memcpy(slots[ROPE_SLOT_K].mapped, model.k.data(), plan.bytes[ROPE_SLOT_K]);
    std::memcpy(slots[ROPE_SLOT_POSITIONS].mapped, model.positions, plan.bytes[ROPE_SLOT_POSITIONS]);
    ropeWriteFrequencies(&model.description.rotation.frequencies, ROPE_ANGLE_EXACT, slots[ROPE_SLOT_FREQUENCIES].mapped,
                         nullptr);
    ropeWriteParameters(&model.description, slots[ROPE_SLOT_PARAMETERS].mapped, nullptr);
}

void submit(const engine::Gpu& gpu, const std::vector<std::unique_ptr<Kernel>>& kernels) {
    const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, gpu.family};
    VkCommandPool pool = VK_NULL_HANDLE;
    require(vkCreateCommandPool(gpu.device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
    const VkCommandBufferAllocateInfo allocate = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool,
                                                  VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    require(vkAllocateCommandBuffers(gpu.device, &allocate, &commands), "vkAllocateCommandBuffers");
    const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0, nullptr};
    require(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    for (const std::unique_ptr<Kernel>& kernel : kernels) kernel->record(commands); // in any order, no barrier between
    const VkMemoryBarrier to_host = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                     VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0,
                         nullptr, 0, nullptr);
    require(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    require(vkQueueSubmit(gpu.queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    require(vkQueueWaitIdle(gpu.queue), "vkQueueWaitIdle");
    vkDestroyCommandPool(gpu.device, pool, nullptr);
}

void compare(const Model& model, const engine::Slice (&slots)[ROPE_SLOT_COUNT]) {
    std::vector<float> q = model.q, k = model.k;
    RopeHostFused host = {};
    host.positions = model.positions;
    host.q = host.q_out = q.data();
    host.k = host.k_out = k.data();
    RopeFusedDescription description = model.description;
    require(ropeHostRunFused(&description, &host, nullptr) == ROPE_SUCCESS, "ropeHostRunFused");
    require(std::memcmp(q.data(), slots[ROPE_SLOT_Q].mapped, q.size() * sizeof(float)) == 0, "queries have the bits");
    require(std::memcmp(k.data(), slots[ROPE_SLOT_K].mapped, k.size() * sizeof(float)) == 0, "keys have the bits");
    require(q != model.q && k != model.k, "something happened to them");
}

void rotate(const engine::Gpu& gpu, const Model& model, Constants constants) {
    RopeLimits limits;
    ropeLimitsFromDevice(&gpu.properties, 0, &limits);
    RopePlan plan;
    require(ropePlanFused(&model.description, &limits, &plan) == ROPE_SUCCESS, plan.reason.text);

    engine::Arena arena(gpu, 1 << 20);
    engine::Slice slots[ROPE_SLOT_COUNT];
    for (uint32_t slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan.bytes[slot] != 0) slots[slot] = arena.cut(plan.bytes[slot]);
    }
    fill(model, plan, slots);
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (uint32_t i = 0; i < ropeDispatchCount(&plan); ++i) {
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, i, &dispatch);
        kernels.push_back(std::make_unique<Kernel>(gpu, dispatch, constants));
        kernels.back()->bind(slots);
    }
    submit(gpu, kernels);
    compare(model, slots);
    std::printf("%s: %zu dispatches of %s, constants %s: the CPU's bits\n", gpu.properties.deviceName, kernels.size(),
                plan.passes[0].shader->name, constants == Constants::kFolded ? "folded" : "beside");
}

bool runAll(const std::string& device, bool validate) {
    engine::Gpu gpu;
    if (!gpu.choose(device, validate)) return false;
    gpu.open({});
    const Model model;
    for (Constants constants : {Constants::kBeside, Constants::kFolded}) rotate(gpu, model, constants);
    return true;
}

} // namespace
} // namespace raw

int main(int count, char** arguments) {
    std::string device;
    bool validate = false;
    for (int i = 1; i < count; ++i) {
        if (std::strcmp(arguments[i], "--validate") == 0) validate = true;
        if (std::strcmp(arguments[i], "--device") == 0 && i + 1 < count) device = arguments[++i];
    }
    if (!raw::runAll(device, validate)) {
        std::printf("no device like '%s', or no validation layer\n", device.c_str());
        return engine::kSkipped;
    }
    std::printf("validation messages: %u\n", engine::messages());
    return engine::messages() == 0 ? 0 : 1;
}
