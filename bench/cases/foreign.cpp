#include "bench/cases/foreign.hpp"

#include "bench/cases/baselines.hpp"

#include <cstring>

namespace measure {
namespace {

void must(VkResult result, const char* what) {
    if (result != VK_SUCCESS)
        throw std::runtime_error(std::string(what) + " failed: Vulkan's result is " + std::to_string(result));
}

rope::Buffer fill(BenchDevice* bench, const ForeignBuffer& buffer) {
    if (buffer.drawn != ROPE_ELEMENT_DEFAULT) return bench->makeNoise(buffer.bytes, buffer.drawn);
    std::vector<uint8_t> data(buffer.bytes);
    for (uint64_t i = 0; buffer.counted != 0 && (i + 1) * buffer.counted <= data.size(); ++i)
        std::memcpy(&data[i * buffer.counted], &i, buffer.counted); // its low bytes come first
    return bench->make(data.data(), data.size());
}

} // namespace

ForeignBench::~ForeignBench() {
    const rope::VulkanFunctions& vk = bench_->device().vk();
    const VkDevice device = bench_->device().handle();
    for (const Made& made : made_) {
        vk.DestroyPipeline(device, made.pipeline, nullptr);
        vk.DestroyShaderModule(device, made.module, nullptr);
        vk.DestroyPipelineLayout(device, made.layout, nullptr);
        vk.DestroyDescriptorSetLayout(device, made.set_layout, nullptr);
    }
    vk.DestroyDescriptorPool(device, pool_, nullptr);
}

void ForeignBench::make(const Foreign& foreign) {
    foreign_ = foreign;
    RopeBuffers slots = {};
    std::vector<const rope::Buffer*> originals;
    for (const ForeignBuffer& buffer : foreign.buffers) buffers_.push_back(fill(bench_, buffer));
    for (size_t i = 0; i < buffers_.size(); ++i) {
        slots.slots[i] = buffers_[i].slot();
        originals.push_back(&buffers_[i]);
    }
    copies_ = std::make_unique<BufferCopies>(bench_, originals);
    work_ = copies_->work({}, {slots});
    work_.transfer = [this](VkCommandBuffer commands, const RopeBuffers&, uint32_t set) { record(commands, set); };
    work_.dispatches = true;
    made_.resize(foreign.dispatches.size());
    for (size_t i = 0; i < made_.size(); ++i) makePipeline(foreign.dispatches[i], &made_[i]);
    makeSets();
    if (foreign.copied == 0) return;
    constexpr uint64_t kUnit = 256; // a copy's bytes are a multiple of its half
    const uint64_t half = (foreign.copied + kUnit - 1) / kUnit * kUnit / 2;
    copy_source_ = bench_->makeNoise(half, ROPE_ELEMENT_F32);
    copy_destination_ = bench_->make(half);
    copied_ =
        std::make_unique<BufferCopies>(bench_, std::vector<const rope::Buffer*>{&copy_source_, &copy_destination_});
}

void ForeignBench::makePipeline(const ForeignDispatch& dispatch, Made* made) {
    const rope::VulkanFunctions& vk = bench_->device().vk();
    const VkDevice device = bench_->device().handle();
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (const auto& [binding, buffer] : dispatch.bindings)
        bindings.push_back({binding, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    VkDescriptorSetLayoutCreateInfo sets = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0,
                                            static_cast<uint32_t>(bindings.size()), bindings.data()};
    must(vk.CreateDescriptorSetLayout(device, &sets, nullptr, &made->set_layout), "vkCreateDescriptorSetLayout");
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<uint32_t>(dispatch.push.size())};
    const VkPipelineLayoutCreateInfo layout = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               nullptr,
                                               0,
                                               1,
                                               &made->set_layout,
                                               dispatch.push.empty() ? 0u : 1u,
                                               &range};
    must(vk.CreatePipelineLayout(device, &layout, nullptr, &made->layout), "vkCreatePipelineLayout");
    const VkShaderModuleCreateInfo code = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0,
                                           dispatch.code.size() * 4, dispatch.code.data()};
    must(vk.CreateShaderModule(device, &code, nullptr, &made->module), "vkCreateShaderModule");
    std::vector<VkSpecializationMapEntry> entries;
    std::vector<uint32_t> words;
    for (const auto& [id, word] : dispatch.constants) {
        entries.push_back({id, static_cast<uint32_t>(words.size() * 4), 4});
        words.push_back(word);
    }
    const VkSpecializationInfo constants = {static_cast<uint32_t>(entries.size()), entries.data(), words.size() * 4,
                                            words.data()};
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  nullptr,
                  0,
                  VK_SHADER_STAGE_COMPUTE_BIT,
                  made->module,
                  dispatch.entry.c_str(),
                  &constants};
    info.layout = made->layout;
    must(vk.CreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &made->pipeline), "a pipeline");
}

void ForeignBench::makeSets() {
    const rope::VulkanFunctions& vk = bench_->device().vk();
    const VkDevice device = bench_->device().handle();
    const auto count = static_cast<uint32_t>(work_.sets * made_.size());
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * ROPE_SLOT_COUNT};
    const VkDescriptorPoolCreateInfo pool = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, count, 1, &size};
    must(vk.CreateDescriptorPool(device, &pool, nullptr, &pool_), "vkCreateDescriptorPool");
    for (uint32_t set = 0; set < work_.sets; ++set) {
        const RopeBuffers buffers = work_.buffers[0].at(set);
        for (size_t i = 0; i < made_.size(); ++i) {
            const VkDescriptorSetAllocateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, pool_, 1,
                                                      &made_[i].set_layout};
            must(vk.AllocateDescriptorSets(device, &info, &sets_.emplace_back()), "vkAllocateDescriptorSets");
            for (const auto& [binding, buffer] : foreign_.dispatches[i].bindings) {
                const RopeBuffer& slot = buffers.slots[buffer];
                const VkDescriptorBufferInfo range = {slot.buffer, slot.offset, foreign_.buffers[buffer].bytes};
                VkWriteDescriptorSet write = {};
                write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
                write.dstSet = sets_.back();
                write.dstBinding = binding;
                write.descriptorCount = 1;
                write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
                write.pBufferInfo = &range;
                vk.UpdateDescriptorSets(device, 1, &write, 0, nullptr);
            }
        }
    }
}

// A barrier stands between two dispatches, as the harness puts one between two repetitions.
void ForeignBench::record(VkCommandBuffer commands, uint32_t set) const {
    const rope::VulkanFunctions& vk = bench_->device().vk();
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    constexpr VkPipelineStageFlags kStage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    for (size_t i = 0; i < made_.size(); ++i) {
        const ForeignDispatch& dispatch = foreign_.dispatches[i];
        if (i != 0) vk.CmdPipelineBarrier(commands, kStage, kStage, 0, 1, &memory, 0, nullptr, 0, nullptr);
        vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, made_[i].pipeline);
        vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, made_[i].layout, 0, 1,
                                 &sets_[set * made_.size() + i], 0, nullptr);
        if (!dispatch.push.empty())
            vk.CmdPushConstants(commands, made_[i].layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                static_cast<uint32_t>(dispatch.push.size()), dispatch.push.data());
        vk.CmdDispatch(commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
    }
}

void ForeignBench::addContestants(std::vector<Contestant>* contestants) {
    contestants->push_back({"unchecked " + foreign_.name, work_});
    if (copied_ == nullptr) return;
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_Q] = copy_source_.slot();
    slots.slots[ROPE_SLOT_Q_OUT] = copy_destination_.slot();
    contestants->push_back(
        {"copy of " + foreign_.name, copied_->work({copyPlan(copy_source_.size(), 4, bench_->limits())}, {slots})});
}

} // namespace measure
