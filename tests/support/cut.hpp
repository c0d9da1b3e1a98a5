// A device from which single things are cut off, alone or together: a wrapped function table above a real driver, or
// above the floor. A call that breaks a rule of what is left becomes a message.
#pragma once

#include <vkrope/loader.hpp>

namespace gpu {

// The name of each cut, as VKROPE_TEST_CUTS has it for programs.
#define ROPE_CUTS(X)                                                                                                   \
    X(kNoStorage16, "no-storage-16") /* as Adreno 630 */                                                               \
    X(kNoExtensions, "no-extensions")                                                                                  \
    X(kGroupsOf128, "groups-of-128") /* the least for each of these limits */                                          \
    X(kGroupsOf256, "groups-of-256")                                                                                   \
    X(kLeastShared, "least-shared")     /* 16 KiB */                                                                   \
    X(kLeastBindings, "least-bindings") /* 4 buffers of 128 MiB, 128 bytes of push constants, offsets of 256 */        \
    X(kFiveBuffers, "five-buffers")                                                                                    \
    X(kSmallAllocations, "small-allocations") /* 1 MiB */                                                              \
    X(kRobust, "robust")                      /* the host enabled every check of bounds that there is */               \
    X(kNotCoherent, "not-coherent")           /* the host and the device see writes only when told; atoms of 256 */    \
    X(kDiscrete, "discrete")                  /* buffers go by way of staging */                                       \
    X(kComputeFamily, "compute-family")       /* of compute alone, behind two that do not compute */                   \
    X(kNoCompute, "no-compute")                                                                                        \
    X(kNoTimestamps, "no-timestamps")                                                                                  \
    X(kNoTimestampPeriod, "no-timestamp-period") /* ticks that last no time */                                         \
    X(kFlushesHalves, "flushes-halves")          /* the self-test finds denormal halves flushed, */                    \
    X(kTruncatesHalves, "truncates-halves")      /* halves truncated or */                                             \
    X(kFusesFloats, "fuses-floats")              /* products fused with sums */                                        \
    X(kVulkan10, "vulkan-1.0")                   /* as Bifrost's older drivers */                                      \
    X(kPortability, "portability")               /* as MoltenVK: hidden and refused unless its extensions are enabled */

enum CutNumber {
#define ROPE_NUMBER(name, text) name##Number,
    ROPE_CUTS(ROPE_NUMBER)
#undef ROPE_NUMBER
        kCutCount
};
enum Cut : uint32_t {
#define ROPE_BIT(name, text) name = 1u << name##Number,
    ROPE_CUTS(ROPE_BIT)
#undef ROPE_BIT
};

// Returns the name of one cut.
const char* cutName(uint32_t number);

// Returns a function for DeviceOptions::get_instance_proc_addr. `below` is the loader's function or floorLoader's. The
// cuts hold for all devices until the next call.
PFN_vkGetInstanceProcAddr cutLoader(uint32_t cuts, PFN_vkGetInstanceProcAddr below);

// Returns the messages about broken rules since the program began.
const rope::Messages& brokenRules();

} // namespace gpu
