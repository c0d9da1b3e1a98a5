// Passes from projection to cache, verified first, beside the passes that they replace with float32 between them in one
// submission, and beside vkCmdCopyBuffer of as many bytes.
#pragma once

#include "round_robin.hpp"

#include <deque>
#include <memory>

namespace measure {

struct FusedKind {
    const char* name;
    uint32_t q_heads, kv_heads;
    RopeElement from, cache;
    RopeNorm norm; // of Q and of K; any weights are noise
    bool scaled;
    bool shift; // turns whole pages of 16 tokens
    RopeSource source;

    bool takes(uint32_t tokens) const { return !shift || tokens >= 16; }
};
const std::vector<FusedKind>& fusedKinds();

class FusedCase;

class Fused {
  public:
    Fused(Bench* bench, const FusedKind& kind, uint32_t tokens);
    ~Fused();

    std::vector<Contestant> contestants(); // fused, unfused, CopyBuffer, empty; they live as long as this
    // Read and written; of tensors and cache what the tokens take, of the rest what the plans read, once a plan.
    uint64_t bytes() const;
    uint64_t unfusedBytes() const;

  private:
    std::unique_ptr<FusedCase> case_;
};

} // namespace measure
