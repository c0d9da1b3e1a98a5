// One fused pass, from a description alone: made-up inputs, the device's result, the CPU's bits, and the passes that it
// replaces, one after the other with float32 between them.
#pragma once

#include "gpu.hpp"

#include <string>

namespace fusion {

// A description with the arrays that it points to. Copies would point to the original's.
struct Scene {
    RopeFusedDescription d = {};
    bool shifts = false; // K turns where it lies in the cache
    std::vector<double> frequencies;
    std::vector<uint8_t> axes;
    std::vector<float> q_weights, k_weights, values, k_scales, v_scales;
    int64_t present[2] = {}; // tokens of each sequence that are there, with tokens_counted; also what is no count
    RopeLimits most = {};    // to plan with: at most these of the device's

    Scene() = default;
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;
};

// Choices drawn from a seed; a plan accepts most of them, and refuses the rest in words.
void draw(uint64_t seed, Scene* scene);
RopeLimits limitsOf(const Scene& scene, const RopeLimits& device);
std::string describe(const Scene& scene);

// Returns the elements from the beginning of POSITIONS to behind the last position, length or set. It is 0 if there is
// none, or no plan.
uint64_t positionElements(const RopeFusedDescription& description);

// Every slot that the plan uses, filled: slots of a cache are taken once, some are -1 or outside.
gpu::Slots makeSlots(const Scene& scene, const RopePlan& plan, uint64_t seed);

// Runs the pass on the CPU, over slots as a device has them.
testing::AssertionResult runOnCpu(const RopeFusedDescription& d, gpu::Slots* slots, uint32_t* outside);

// Equal on the device and on the CPU, every byte of every slot, and the counter.
testing::AssertionResult checkHost(const Scene& scene, const RopePlan& plan, const gpu::Slots& before,
                                   const gpu::Slots& after);

// Equal to norm, rotation, norm, scale and conversion by passes of their own: on the device in a whole run, and on the
// CPU in a short one. Passes on the device take up to 15 pipelines a scene, which lavapipe compiles for seconds.
testing::AssertionResult checkUnfused(rope::Device* device, const Scene& scene, const gpu::Slots& before,
                                      const gpu::Slots& after);

} // namespace fusion
