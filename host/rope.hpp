// A thin C++ face of rope.h: a move-only context, frequencies in a vector, plans by their description's type. No
// exceptions; what can fail says so with rope.h's results.
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

inline std::string print(const RopePlan& plan) {
    std::string text(ropePrintPlan(&plan, nullptr, 0) + 1, '\0');
    ropePrintPlan(&plan, &text[0], text.size());
    text.pop_back();
    return text;
}

// A rule's frequencies with the memory they lie in.
class Frequencies {
  public:
    RopeResult make(const RopeRule& rule, RopeReason* reason = nullptr) {
        const bool fits = rule.rotary_dim >= 2 && rule.rotary_dim <= 2 * ROPE_MAX_PAIRS;
        values_.assign(fits ? rule.rotary_dim / 2 : 1, 0.0); // what does not fit is refused
        const RopeResult result = ropeMakeFrequencies(&rule, values_.data(), &scale_, reason);
        if (result != ROPE_SUCCESS) values_.clear();
        return result;
    }
    void set(std::vector<double> values, double scale = 1) {
        values_ = std::move(values);
        scale_ = scale;
    }
    RopeFrequencies get() const { return {values_.data(), static_cast<uint32_t>(values_.size()), scale_, nullptr, 1}; }

    // What ROPE_SLOT_FREQUENCIES holds; empty where the values are refused.
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
    VkResult prepare(const RopePlan& plan) { return ropePrepare(handle_, &plan, 1); }
    RopeResult execute(VkCommandBuffer command_buffer, const RopePlan& plan, const RopeBuffers& buffers) const {
        return ropeCmdExecute(command_buffer, handle_, &plan, &buffers);
    }
    RopeContext* get() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }

  private:
    RopeContext* handle_ = nullptr;
};

} // namespace rope
