// What stands around the kernel: planning, recording, pipelines, the first use and code, for the rotation of one decode
// step of Llama-3-8B in place.
#pragma once

#include "rotation.hpp"

namespace measure {

// Timed on the CPU.
struct Probe {
    std::string name, what;
    uint32_t samples;
    uint32_t batch;               // calls in one sample
    std::function<void()> before; // each sample
    std::function<void()> once;
    double items = 1; // in one call, of what the time is given for
};

struct Cost {
    Range seconds;            // for one item
    double allocations;       // for one call, of vkrope's own code
    double through_callbacks; // of these those made through VkAllocationCallbacks, and the driver's own through them
};

struct Code {
    std::string what;
    uint64_t bytes; // of SPIR-V
};

class CostState;

class Costs {
  public:
    explicit Costs(Bench* bench);
    ~Costs();

    std::vector<Probe> probes();             // they live as long as this
    double sample(const Probe& probe) const; // seconds for one item
    Cost measure(const Probe& probe) const;
    std::vector<Code> code() const;

  private:
    std::unique_ptr<CostState> state_;
};

} // namespace measure
