// This header is a thin C++ face of rope.h: a move-only context, frequencies in a vector, plans by their description's
// type. It throws no exceptions of its own. A call that can fail returns rope.h's results.
#pragma once

#include "rope.h"

#include <string>
#include <utility>
#include <vector>

namespace rope {

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

// These make tensors in the layouts in use, with the same layout on both sides. `tokens` are those of one sequence.
// Strides that only several sequences or tokens need are filled in all the same.
inline RopeTensor tensorAt(uint32_t heads, const RopeLayout& layout) { return {heads, layout, layout, 0, 0}; }

// [batch, seq, heads, dim]
inline RopeTensor bshd(uint64_t tokens, uint32_t heads, uint64_t dim) {
    return tensorAt(heads, {0, tokens * heads * dim, heads * dim, dim});
}
// [batch, heads, seq, dim]
inline RopeTensor bhsd(uint64_t tokens, uint32_t heads, uint64_t dim) {
    return tensorAt(heads, {0, tokens * heads * dim, dim, tokens * dim});
}
// [tokens, heads, dim]: one batch, of packed sequences or of one
inline RopeTensor thd(uint32_t heads, uint64_t dim) { return tensorAt(heads, {0, 0, heads * dim, dim}); }

struct QueryAndKey {
    RopeTensor q, k;
};

// Returns Q and K inside rows of [Q heads | K heads | V heads], one row a token.
inline QueryAndKey packedQkv(uint64_t tokens, uint32_t q_heads, uint32_t kv_heads, uint64_t dim) {
    const uint64_t row = (q_heads + 2ull * kv_heads) * dim;
    return {tensorAt(q_heads, {0, tokens * row, row, dim}),
            tensorAt(kv_heads, {q_heads * dim, tokens * row, row, dim})};
}

// Returns Q and K of multi-head latent attention: the last rope_dim elements of each query head, behind nope_dim
// others, and one key head for all, behind the latent of kv_rank. The description's head_dim is rope_dim.
inline QueryAndKey latent(uint64_t tokens, uint32_t heads, uint64_t nope_dim, uint64_t rope_dim, uint64_t kv_rank) {
    const uint64_t head = nope_dim + rope_dim;
    const uint64_t row = kv_rank + rope_dim;
    return {tensorAt(heads, {nope_dim, tokens * heads * head, heads * head, head}),
            tensorAt(1, {kv_rank, tokens * row, row, rope_dim})};
}

// Describes the rotation of latent attention, as DeepSeek's code lays its tensors: Q of [batch, tokens, heads, nope_dim
// + rope_dim] and the one shared key head of [batch, tokens, kv_rank + rope_dim], in place. A kv_rank of 0 means a key
// head by itself. The caller adds frequencies and positions. Pairs are interleaved, as the weights have them. The code
// of DeepSeek-V3 writes them in halves, which changes no score: pairing_out HALF with out_of_place writes the same, and
// only the elements that turn.
inline RopeRotateDescription latentRotation(uint32_t batch, uint32_t tokens, uint32_t heads, uint32_t nope_dim,
                                            uint32_t rope_dim, uint32_t kv_rank) {
    const QueryAndKey tensors = latent(tokens, heads, nope_dim, rope_dim, kv_rank);
    RopeRotateDescription d = {};
    d.batch = batch;
    d.tokens = tokens;
    d.head_dim = rope_dim;
    d.pairing_in = ROPE_PAIRING_INTERLEAVED;
    d.q = tensors.q;
    d.k = tensors.k;
    return d;
}

// Frequencies owns a rule's frequencies.
class Frequencies {
  public:
    RopeResult make(const RopeRule& rule, RopeReason* reason = nullptr) {
        const bool fits = rule.rotary_dim >= 2 && rule.rotary_dim <= 2 * ROPE_MAX_PAIRS;
        values_.assign(fits ? rule.rotary_dim / 2 : 1, 0.0); // a rotary_dim that does not fit is refused
        const RopeResult result = ropeMakeFrequencies(&rule, values_.data(), &scale_, reason);
        if (result != ROPE_SUCCESS) values_.clear();
        return result;
    }
    void set(std::vector<double> values, double scale = 1) {
        values_ = std::move(values);
        scale_ = scale;
    }
    RopeFrequencies get() const { return {values_.data(), static_cast<uint32_t>(values_.size()), scale_, nullptr, 1}; }

    // Returns the words of ROPE_SLOT_FREQUENCIES. They are empty if the values are refused.
    std::vector<uint32_t> words(RopeAngle angle, RopeReason* reason = nullptr) const {
        std::vector<uint32_t> result(ropeFrequencyBytes(static_cast<uint32_t>(values_.size())) / sizeof(uint32_t));
        const RopeFrequencies f = get();
        if (ropeWriteFrequencies(&f, angle, result.data(), reason) != ROPE_SUCCESS) result.clear();
        return result;
    }

  private:
    std::vector<double> values_;
    double scale_ = 1;
};

class Context {
  public:
    Context() = default;
    ~Context() { ropeDestroyContext(handle_); }
    Context(Context&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Context& operator=(Context&& other) noexcept {
        std::swap(handle_, other.handle_);
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

} // namespace rope
