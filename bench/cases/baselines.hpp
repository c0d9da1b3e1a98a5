// The baselines: kernels that move the same bytes and compute nothing, as plans and as contestants.
#pragma once

#include "bench/harness/buffer_copies.hpp"
#include "bench/harness/round_robin.hpp"

namespace measure {

// Makes the rotation's loads and stores of its tensors, and flips the sign bits.
RopePlan negatePlan(const RopePlan& rotation);
// Copies slot Q to slot Q_OUT, 1, 2, 4 or 8 vectors of 16 bytes in each thread. `bytes` must be a multiple of 128.
RopePlan copyPlan(uint64_t bytes, uint32_t vectors, const RopeLimits& limits);
// Adds the copy kernels, and vkCmdCopyBuffer, from slot Q to slot Q_OUT. Each one's time counts `share` times.
void addCopies(BufferCopies* copies, const RopeBuffers& slots, uint64_t bytes, double share, const RopeLimits& limits,
               std::vector<Contestant>* contestants);
bool isCopyKernel(const std::string& contestant);
// Adds slot Q to slot Q_OUT, with two loads and a store for each element, as the addition of a table to float32 has.
RopePlan sumPlan(uint64_t bytes, const RopeLimits& limits);
// Dispatches one group that does nothing, with the bindings of another plan.
RopePlan emptyPlan(const RopePlan& like);

} // namespace measure
