/// @file
/// This header is a thin C++ face of rope.h: a move-only context, descriptor sets that are kept, frequencies in a
/// vector, plans by their description's type. It throws no exceptions of its own. A call that can fail returns rope.h's
/// results. Memory of std::vector may run out, as everywhere in C++.
#pragma once

#include "rope.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace rope {
inline namespace ROPE_NAMESPACE {

inline RopeResult plan(const RopeTableDescription& description, const RopeLimits& limits, RopePlan* result) {
    return ropePlanTable(&description, &limits, result);
}
inline RopeResult plan(const RopeRotateDescription& description, const RopeLimits& limits, RopePlan* result) {
    return ropePlanRotate(&description, &limits, result);
}
inline RopeResult plan(const RopeFusedDescription& description, const RopeLimits& limits, RopePlan* result) {
    return ropePlanFused(&description, &limits, result);
}
inline RopeResult plan(const RopeAddDescription& description, const RopeLimits& limits, RopePlan* result) {
    return ropePlanAdd(&description, &limits, result);
}
inline RopeResult plan(const RopeBiasDescription& description, const RopeLimits& limits, RopePlan* result) {
    return ropePlanBias(&description, &limits, result);
}
inline RopeResult plan(const RopeRelativeDescription& description, const RopeLimits& limits, RopePlan* result) {
    return ropePlanRelative(&description, &limits, result);
}

inline std::string print(const RopePlan& plan) {
    std::string text(ropePrintPlan(&plan, nullptr, 0) + 1, '\0');
    ropePrintPlan(&plan, &text[0], text.size());
    text.pop_back();
    return text;
}

/// These make tensors in the layouts in use, with the same layout on both sides. `tokens` are those of one sequence.
/// Strides that only several sequences or tokens need are filled in all the same.
inline RopeTensor tensorAt(uint32_t heads, const RopeLayout& layout) { return {heads, layout, layout}; }

/// [batch, seq, heads, dim]
inline RopeTensor bshd(uint64_t tokens, uint32_t heads, uint64_t dim) {
    return tensorAt(heads, {0, tokens * heads * dim, heads * dim, dim});
}
/// [batch, heads, seq, dim]
inline RopeTensor bhsd(uint64_t tokens, uint32_t heads, uint64_t dim) {
    return tensorAt(heads, {0, tokens * heads * dim, dim, tokens * dim});
}
/// [tokens, heads, dim]: one batch, of packed sequences or of one
inline RopeTensor thd(uint32_t heads, uint64_t dim) { return tensorAt(heads, {0, 0, heads * dim, dim}); }

struct QueryAndKey {
    RopeTensor q, k;
};

/// Returns Q and K inside rows of [Q heads | K heads | V heads], one row a token.
inline QueryAndKey packedQkv(uint64_t tokens, uint32_t q_heads, uint32_t kv_heads, uint64_t dim) {
    const uint64_t row = (q_heads + 2ull * kv_heads) * dim;
    return {tensorAt(q_heads, {0, tokens * row, row, dim}),
            tensorAt(kv_heads, {q_heads * dim, tokens * row, row, dim})};
}

/// Returns Q and K of multi-head latent attention: the last rope_dim elements of each query head, behind nope_dim
/// others, and one key head for all, behind the latent of kv_rank. The description's head_dim is rope_dim.
inline QueryAndKey latent(uint64_t tokens, uint32_t heads, uint64_t nope_dim, uint64_t rope_dim, uint64_t kv_rank) {
    const uint64_t head = nope_dim + rope_dim;
    const uint64_t row = kv_rank + rope_dim;
    return {tensorAt(heads, {nope_dim, tokens * heads * head, heads * head, head}),
            tensorAt(1, {kv_rank, tokens * row, row, rope_dim})};
}

/// Describes the rotation of latent attention, as DeepSeek's code lays its tensors: Q of [batch, tokens, heads,
/// nope_dim
/// + rope_dim] and the one shared key head of [batch, tokens, kv_rank + rope_dim], in place. A kv_rank of 0 means a key
/// head by itself. The caller adds frequencies and positions. Pairs are interleaved, as the weights have them. The code
/// of DeepSeek-V3 writes them in halves, which changes no score: pairing_out HALF with out_of_place writes the same,
/// and only the elements that rotate.
inline RopeRotateDescription latentRotation(uint32_t batch, uint32_t tokens, uint32_t heads, uint32_t nope_dim,
                                            uint32_t rope_dim, uint32_t kv_rank) {
    const QueryAndKey tensors = latent(tokens, heads, nope_dim, rope_dim, kv_rank);
    RopeRotateDescription d = {};
    d.batch = batch;
    d.tokens = tokens;
    d.head_dim = rope_dim;
    d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
    d.q = tensors.q;
    d.k = tensors.k;
    return d;
}

/// Returns the words of ROPE_SLOT_FREQUENCIES. They are empty if the values are refused.
inline std::vector<uint32_t> frequencyWords(const RopeFrequencies& frequencies, RopeAngle angle, RopeReason* reason) {
    const uint32_t sets = frequencies.sets != 0 ? frequencies.sets : 1;
    const bool fits =
        frequencies.count != 0 && frequencies.count <= ROPE_MAX_PAIRS && sets <= 65536; ///< others are refused
    std::vector<uint32_t> result(fits ? ropeFrequencyBytes(frequencies.count) / sizeof(uint32_t) * sets : 1);
    if (ropeWriteFrequencies(&frequencies, angle, result.data(), reason) != ROPE_SUCCESS) result.clear();
    return result;
}

/// Frequencies owns a rule's frequencies.
class Frequencies {
  public:
    RopeResult make(const RopeRule& rule, RopeReason* reason = nullptr) {
        const bool fits = rule.rotary_dim >= 2 && rule.rotary_dim <= 2 * ROPE_MAX_PAIRS;
        values_.assign(fits ? rule.rotary_dim / 2 : 1, 0.0); ///< a rotary_dim that does not fit is refused
        const RopeResult result = ropeMakeFrequencies(&rule, values_.data(), &scale_, reason);
        if (result != ROPE_SUCCESS) values_.clear();
        return result;
    }
    void set(std::vector<double> values, double scale = 1) {
        values_ = std::move(values);
        scale_ = scale;
    }
    RopeFrequencies get() const { return {values_.data(), static_cast<uint32_t>(values_.size()), scale_, nullptr, 1}; }

    /// Returns the words of ROPE_SLOT_FREQUENCIES. They are empty if the values are refused.
    std::vector<uint32_t> words(RopeAngle angle, RopeReason* reason = nullptr) const {
        return frequencyWords(get(), angle, reason);
    }

  private:
    std::vector<double> values_;
    double scale_ = 1;
};

/// GgmlRotation owns what the parameters of ggml's rope operator mean (ropeReadGgml): a rotation and its
/// frequencies.
class GgmlRotation {
  public:
    GgmlRotation() = default;
    GgmlRotation(const GgmlRotation&) = delete; ///< the rotation points into this object
    GgmlRotation& operator=(const GgmlRotation&) = delete;

    /// Reads the 64 bytes of a node's op_params. A refusal leaves what was read before.
    RopeResult read(const void* op_params, uint32_t head_dim, RopeReason* reason = nullptr) {
        RopeGgml parameters = {};
        if (op_params != nullptr) std::memcpy(&parameters, op_params, sizeof parameters);
        const size_t pairs = (std::min)(head_dim / 2, ROPE_MAX_PAIRS); ///< more pairs are refused
        std::vector<double> values(pairs + 1);
        std::vector<uint8_t> axes(pairs + 1);
        const RopeResult result = ropeReadGgml(op_params != nullptr ? &parameters : nullptr, head_dim, values.data(),
                                               axes.data(), &rotation_, reason);
        if (result == ROPE_SUCCESS) {
            values_.swap(values); ///< the rotation points at what is swapped in
            axes_.swap(axes);
        }
        return result;
    }
    const RopeRotation& get() const { return rotation_; }
    /// Returns the words of ROPE_SLOT_FREQUENCIES. They are empty if nothing was read.
    std::vector<uint32_t> words(RopeAngle angle, RopeReason* reason = nullptr) const {
        return frequencyWords(rotation_.frequencies, angle, reason);
    }

  private:
    std::vector<double> values_;
    std::vector<uint8_t> axes_;
    RopeRotation rotation_ = {};
};

/// Returns what ropePlanGgml asks about a tensor of ggml's, which has the members `ne`, `nb` and `type`. `offset`
/// counts the bytes before its first element in the buffer of its slot.
template <typename Tensor> RopeGgmlTensor ggmlTensor(const Tensor& tensor, uint64_t offset) {
    RopeGgmlTensor result = {{}, {}, offset, static_cast<uint32_t>(tensor.type), 0};
    std::copy_n(tensor.ne, 4, result.ne);
    std::copy_n(tensor.nb, 4, result.nb);
    return result;
}
inline RopeResult plan(const RopeGgmlNode& node, const GgmlRotation& rotation, const RopeLimits& limits,
                       RopePlan* result) {
    return ropePlanGgml(&node, &rotation.get(), &limits, result);
}

class Context {
  public:
    Context() = default;
    ~Context() { ropeDestroyContext(handle_); }
    Context(Context&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Context& operator=(Context&& other) noexcept {
        if (this != &other) ropeDestroyContext(std::exchange(handle_, std::exchange(other.handle_, nullptr)));
        return *this;
    }

    VkResult create(const RopeContextInfo& info) {
        ropeDestroyContext(std::exchange(handle_, nullptr));
        return ropeCreateContext(&info, &handle_);
    }
    VkResult prepare(const RopePlan& plan, RopeReason* reason = nullptr) {
        return ropePrepare(handle_, &plan, 1, reason);
    }
    RopeResult execute(VkCommandBuffer command_buffer, const RopePlan& plan, const RopeBuffers& buffers) const {
        return ropeCmdExecute(command_buffer, handle_, &plan, &buffers);
    }
    RopeContext* get() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }

  private:
    RopeContext* handle_ = nullptr;
};

/// KeptSets records plans on devices with and without push descriptors. Without them it owns descriptor pools that
/// grow, keeps every set that it allocated, and points sets at the buffers of each call (ropeAllocateSets,
/// ropeUpdateSets), unless reuse() is told that the calls repeat. A set serves every dispatch that has the same
/// bindings, whatever the plan, so a plan may come and go.
///
///   Allocates: execute(), where a call finds too few sets that are free, makes sets for its plan, and host memory. If
///     the last pool has no room it makes a VkDescriptorPool, of 256 sets or as many as the plan takes if these are
///     more. A host that records the same plans after each reuse() allocates nothing any more. Nothing else allocates.
///   Waits: never. reuse() says that the host has waited.
///   Threads and frames: one thread at a time. Make one object for each thread that records, and for each frame in
///     flight; all may share one context.
///   Frees: the destructor destroys the pools, and so does create(). No command buffer that execute() recorded may be
///     pending then, nor be submitted later.
class KeptSets {
  public:
    static constexpr uint32_t kSetsOfPool = 256;

    KeptSets() = default;
    ~KeptSets() { destroy(); }
    KeptSets(const KeptSets&) = delete;
    KeptSets& operator=(const KeptSets&) = delete;

    /// `info` is what the context was made of. The context must outlast every call of execute(). The device and the
    /// allocator must outlast this object.
    VkResult create(const RopeContextInfo& info, const RopeContext* context) {
        destroy();
        if (context == nullptr || info.get_device_proc_addr == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
        const auto load = [&](const char* name) { return info.get_device_proc_addr(info.device, name); };
        create_pool_ = reinterpret_cast<PFN_vkCreateDescriptorPool>(load("vkCreateDescriptorPool"));
        destroy_pool_ = reinterpret_cast<PFN_vkDestroyDescriptorPool>(load("vkDestroyDescriptorPool"));
        if (create_pool_ == nullptr || destroy_pool_ == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
        device_ = info.device;
        allocator_ = info.allocator;
        takes_sets_ = (info.limits.enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0;
        context_ = context;
        return VK_SUCCESS;
    }

    /// All sets are free again. No command buffer that was recorded with them may be pending, nor be submitted later.
    /// `repeats`: the next calls are those since the last reuse(), in their order, with equal plans and the same
    /// buffers, none of which was destroyed. Their sets point there already, and stay as they are. More calls may
    /// follow them.
    void reuse(bool repeats = false) {
        for (Kept& kept : kept_) {
            kept.pointed = repeats && !refused_ ? kept.used : 0;
            kept.used = 0;
        }
        refused_ = false;
    }

    /// These do what ropeCmdExecute and ropeCmdExecuteIndirect do, with sets of their own: `buffers.sets` is not read.
    /// The plan was prepared. Nothing is recorded unless the result is ROPE_SUCCESS; ROPE_ERROR_MISSING_SETS says that
    /// Vulkan gave no pool or no sets. Sets that a refused call has taken are free again after reuse().
    RopeResult execute(VkCommandBuffer command_buffer, const RopePlan& plan, RopeBuffers buffers) {
        RopeResult result = bind(plan, &buffers);
        if (result == ROPE_SUCCESS) result = ropeCmdExecute(command_buffer, context_, &plan, &buffers);
        return noted(result);
    }
    RopeResult executeIndirect(VkCommandBuffer command_buffer, const RopePlan& plan, RopeBuffers buffers,
                               VkBuffer groups, VkDeviceSize offset) {
        RopeResult result = bind(plan, &buffers);
        if (result == ROPE_SUCCESS)
            result = ropeCmdExecuteIndirect(command_buffer, context_, &plan, &buffers, groups, offset);
        return noted(result);
    }

    size_t poolCount() const { return pools_.size(); }

  private:
    /// The sets of one layout, of which some were used since reuse().
    struct Kept {
        uint32_t bindings; ///< bit i stands for binding i
        size_t used;
        size_t pointed; ///< so many of the first are left as they are
        std::vector<VkDescriptorSet> sets;
    };

    /// Returns the place in kept_ of the sets with the pass's bindings.
    size_t keptFor(const RopePass& pass) {
        size_t place = 0;
        while (place < kept_.size() && kept_[place].bindings != pass.bindings) ++place;
        if (place == kept_.size()) kept_.push_back({pass.bindings, 0, 0, {}});
        return place;
    }

    /// A refused call has taken sets that it did not point.
    RopeResult noted(RopeResult result) {
        refused_ |= result != ROPE_SUCCESS;
        return result;
    }

    /// Gives the call sets that point at the buffers. Where there are none, recording says why.
    RopeResult bind(const RopePlan& plan, RopeBuffers* buffers) {
        bool points = false;
        buffers->sets = takes_sets_ ? take(plan, *buffers, &points) : nullptr;
        return points ? ropeUpdateSets(context_, &plan, buffers) : ROPE_SUCCESS;
    }

    /// Returns free sets, one for each dispatch of the plan, or null. Those of several passes are gathered in taken_.
    /// *points becomes true if one of them points at other buffers.
    const VkDescriptorSet* take(const RopePlan& plan, const RopeBuffers& buffers, bool* points) {
        const VkDescriptorSet* first = nullptr;
        taken_.clear();
        if (ropeDispatchCount(&plan) == 0) return nullptr; ///< it was refused, or another version made it
        for (uint32_t i = 0; i < plan.pass_count; ++i) {
            const size_t wanted = plan.passes[i].dispatches;
            const size_t place = keptFor(plan.passes[i]);
            while (kept_[place].sets.size() - kept_[place].used < wanted) {
                if (!grow(plan, buffers)) return nullptr;
            }
            Kept& kept = kept_[place];
            first = kept.sets.data() + kept.used;
            kept.used += wanted;
            *points = *points || kept.used > kept.pointed;
            if (plan.pass_count != 1) taken_.insert(taken_.end(), first, first + wanted);
        }
        return plan.pass_count == 1 ? first : taken_.data();
    }

    /// Allocates as many sets more as the plan takes.
    bool grow(const RopePlan& plan, const RopeBuffers& buffers) {
        const uint32_t count = ropeDispatchCount(&plan);
        if (room_ < count && !addPool((std::max)(count, kSetsOfPool))) return false;
        std::vector<VkDescriptorSet> made(count);
        const VkResult result = ropeAllocateSets(context_, &plan, &buffers, pools_.back(), made.data());
        if (result != VK_ERROR_INITIALIZATION_FAILED) room_ -= count; ///< which is a refusal, before any set is made
        if (result != VK_SUCCESS) return false;
        const VkDescriptorSet* next = made.data();
        for (uint32_t i = 0; i < plan.pass_count; ++i) {
            Kept& kept = kept_[keptFor(plan.passes[i])];
            kept.sets.insert(kept.sets.end(), next, next + plan.passes[i].dispatches);
            next += plan.passes[i].dispatches;
        }
        return true;
    }

    bool addPool(uint32_t sets) {
        const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, sets * (ROPE_BINDING_COUNT - 1)},
                                              {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, sets}};
        const VkDescriptorPoolCreateInfo info = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, sets, 2, sizes};
        pools_.push_back(VK_NULL_HANDLE);
        if (create_pool_(device_, &info, allocator_, &pools_.back()) == VK_SUCCESS) {
            room_ = sets;
            return true;
        }
        pools_.pop_back();
        return false;
    }

    void destroy() {
        for (VkDescriptorPool pool : pools_) destroy_pool_(device_, pool, allocator_);
        pools_.clear();
        kept_.clear();
        room_ = 0;
        takes_sets_ = false;
        context_ = nullptr;
    }

    VkDevice device_ = VK_NULL_HANDLE;
    const VkAllocationCallbacks* allocator_ = nullptr;
    const RopeContext* context_ = nullptr;
    PFN_vkCreateDescriptorPool create_pool_ = nullptr;
    PFN_vkDestroyDescriptorPool destroy_pool_ = nullptr;
    bool takes_sets_ = false;
    bool refused_ = false; ///< a call since reuse()
    std::vector<VkDescriptorPool> pools_;
    uint32_t room_ = 0; ///< sets that the last pool still gives
    std::vector<Kept> kept_;
    std::vector<VkDescriptorSet> taken_;
};

} // namespace ROPE_NAMESPACE
} // namespace rope
