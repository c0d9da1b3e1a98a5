// Measures the host's costs around the kernel: planning, recording, pipelines, first use and SPIR-V, for the rotation
// of one decode step of Llama-3-8B in place.
#pragma once

#include "bench/cases/rotation.hpp"

namespace measure {

// An action that is timed on the CPU.
struct HostProbe {
    std::string name, what;
    uint32_t samples;
    uint32_t batch;               // calls in one sample
    std::function<void()> before; // runs before each sample
    std::function<void()> call;
    double items = 1; // items in one call; times are given for one item
};

struct HostCost {
    Quartiles seconds;        // for one item
    double allocations;       // for one call, of vkrope's own code
    double through_callbacks; // of these those through VkAllocationCallbacks, and the driver's own through them
};

struct ShaderSize {
    std::string what;
    uint64_t bytes; // of SPIR-V
};

class HostCostState;

class HostCosts {
  public:
    explicit HostCosts(BenchDevice* bench);
    ~HostCosts();

    std::vector<HostProbe> probes();             // they live as long as this object
    double sample(const HostProbe& probe) const; // seconds for one item
    HostCost measure(const HostProbe& probe) const;
    std::vector<ShaderSize> shaderSizes() const;

  private:
    std::unique_ptr<HostCostState> state_;
};

} // namespace measure
