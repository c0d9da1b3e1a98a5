// Measures passes from projection to cache. Each is verified first, and timed beside the passes that it replaces, which
// have float32 between them in one submission, and beside copies of as many bytes.
#pragma once

#include "bench/harness/round_robin.hpp"

#include <deque>
#include <memory>

namespace measure {

struct FusedKind {
    const char* name;
    uint32_t q_heads, kv_heads;
    RopeElement from, cache;
    RopeNorm norm; // for Q and K; the weights are noise
    bool scaled;
    bool shift; // the pass turns whole pages of 16 tokens
    RopeSource source;
    bool latent = false; // DeepSeek's heads: K is one row, a latent that is normed and a part that turns, and V is none

    uint32_t hadamard = 0; // of Q and K; V's blocks are 64

    uint32_t vHeads() const { return latent ? 0 : kv_heads; }
    bool takes(uint32_t tokens) const { return !shift || tokens % 16 == 0; }
};
const std::vector<FusedKind>& fusedKinds();

class FusedBenchState;

class FusedBench {
  public:
    FusedBench(BenchDevice* bench, const FusedKind& kind, uint32_t tokens);
    ~FusedBench();

    std::vector<Contestant> contestants(); // fused, unfused, copies, empty; they live as long as this
    // Bytes read and written: the tokens' share of tensors and cache, and of the other slots what the plans read, once
    // for each plan.
    uint64_t bytes() const;
    uint64_t unfusedBytes() const;

  private:
    std::unique_ptr<FusedBenchState> case_;
};

} // namespace measure
