#include "bench/harness/buffer_copies.hpp"

#include <algorithm>

namespace measure {

BufferCopies::BufferCopies(BenchDevice* bench, std::vector<const rope::Buffer*> originals, uint32_t most_uses)
    : bench_(bench), most_uses_(most_uses) {
    constexpr uint64_t kAlignment = 256; // the largest that Vulkan lets a device ask for
    std::vector<uint64_t> strides;
    for (const rope::Buffer* original : originals) {
        strides.push_back((original->size() + kAlignment - 1) / kAlignment * kAlignment);
        set_bytes_ += strides.back();
    }
    sets_ = bench->setsFor(set_bytes_);
    if (sets_ == 1 && most_uses >= kUsesInPlace) { // the originals are the set, and are used less often than that
        most_uses_ = kAnyUses;
        return;
    }
    bench->mustFit(set_bytes_ * (sets_ + 1));
    for (size_t i = 0; i < originals.size(); ++i)
        copies_.push_back({originals[i], strides[i], bench->make(strides[i] * sets_)});
    refill(sets_);
}

// Copies the original once, then doubles what is there.
void BufferCopies::refill(uint32_t sets) {
    const rope::VulkanFunctions& vk = bench_->device().vk();
    VkMemoryBarrier memory = {};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    bench_->submit([&](VkCommandBuffer commands) {
        for (const Copy& copy : copies_) {
            const VkBufferCopy once = {0, 0, copy.original->size()};
            vk.CmdCopyBuffer(commands, copy.original->handle(), copy.buffer.handle(), 1, &once);
            const uint64_t all = copy.stride * sets;
            for (uint64_t done = copy.stride; done < all; done *= 2) {
                vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1,
                                      &memory, 0, nullptr, 0, nullptr);
                const VkBufferCopy more = {0, done, std::min(done, all - done)};
                vk.CmdCopyBuffer(commands, copy.buffer.handle(), copy.buffer.handle(), 1, &more);
            }
        }
    });
}

BufferSets BufferCopies::setsOf(const RopeBuffers& slots) const {
    BufferSets sets;
    sets.first = slots;
    for (uint32_t slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        for (const Copy& copy : copies_) {
            if (slots.slots[slot].buffer != copy.original->handle()) continue;
            sets.first.slots[slot].buffer = copy.buffer.handle();
            sets.stride[slot] = copy.stride;
        }
    }
    return sets;
}

Work BufferCopies::work(std::vector<RopePlan> plans, const std::vector<RopeBuffers>& slots) {
    Work work;
    work.plans = std::move(plans);
    for (const RopeBuffers& of_plan : slots) work.buffers.push_back(setsOf(of_plan));
    work.sets = sets_;
    if (most_uses_ == kAnyUses) return work;
    work.most_uses = most_uses_;
    work.before_uses = [this](uint32_t uses) { restore(uses, sets_); };
    return work;
}

Work BufferCopies::workOnOneSet(std::vector<RopePlan> plans, const std::vector<RopeBuffers>& slots) {
    Work one = work(std::move(plans), slots);
    one.sets = 1;
    if (one.before_uses != nullptr) one.before_uses = [this](uint32_t uses) { restore(uses, 1); };
    return one;
}

// Gives sets their first contents back before they are used too often, and counts the uses of so many sets.
void BufferCopies::restore(uint32_t uses, uint32_t sets) {
    const auto too_many_after = [&](uint32_t used) { return uses > most_uses_ - std::min(used, most_uses_); };
    if (sets != 1 && too_many_after(uses_)) {
        refill(sets);
        uses_ = first_set_uses_ = 0;
    } else if (too_many_after(first_set_uses_)) {
        refill(1);
        first_set_uses_ = 0;
    }
    if (sets != 1) uses_ += uses;
    first_set_uses_ += uses;
}

Work BufferCopies::copyCommand(const RopeBuffers& slots, uint64_t bytes) {
    Work copy = work({}, {slots});
    copy.transfer = [&vk = bench_->device().vk(), bytes](VkCommandBuffer commands, const RopeBuffers& buffers,
                                                         uint32_t) {
        const RopeBuffer &from = buffers.slots[ROPE_SLOT_Q], &to = buffers.slots[ROPE_SLOT_Q_OUT];
        const VkBufferCopy region = {from.offset, to.offset, bytes};
        vk.CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
    };
    return copy;
}

Work BufferCopies::fillCommand(const RopeBuffers& slots, uint64_t bytes) {
    Work fill = work({}, {slots});
    fill.transfer = [&vk = bench_->device().vk(), bytes](VkCommandBuffer commands, const RopeBuffers& buffers,
                                                         uint32_t) {
        const RopeBuffer& to = buffers.slots[ROPE_SLOT_Q_OUT];
        vk.CmdFillBuffer(commands, to.buffer, to.offset, bytes / 4 * 4, 0x3F000000);
    };
    return fill;
}

Work untouching(Work work) {
    work.sets = 1;
    work.before_uses = nullptr;
    work.most_uses = Work().most_uses;
    return work;
}

} // namespace measure
