/* vkrope: position encodings of transformer models as Vulkan compute, RoPE first. MIT licence.
 *
 * This header is the manual. It is C99 and C++, and needs no other header of vkrope. Include it as <vkrope/rope.h>.
 *
 *   rule --ropeMakeFrequencies--> doubles --ropeWriteFrequencies--> bytes for a storage buffer
 *   description + limits --ropePlan...--> RopePlan (a value) --ropeCmdExecute--> dispatches in your command buffer
 *
 * A host with a context makes these calls:
 *   once a device   ropeLimitsFromDevice, ropeCreateContext, and ropePlanSelfTest with ropeReadSelfTest
 *   once a model    ropeMakeFrequencies, ropeWriteFrequencies, ropePlan..., ropePrepare, and without push descriptors
 *                   ropeAllocateSets
 *   in a frame      ropeCmdExecute, between barriers of your own
 * A host that owns its pipelines takes ropeGetDispatch in place of the context and its calls.
 *
 * Formulas. These hold for token t and pair j of the rotary part; x and y are the pair's two elements:
 *
 *     angle = position[axis[j]][t] * frequency[j]             frequency in radians per position, a double
 *     c = scale * cos(angle)      s = scale * sin(angle)      rounded to float32 once
 *     x' = x*c - y*s              y' = x*s + y*c              float32, every operation rounded, none fused; with a
 *                                                             scale that is no power of two, products nearly exact
 *
 * Promises.
 *   - Cos and sin are within 0.51 ulp of the true values at every position, whole or in 2^-32ths, wherever the true
 *     values are 2^-30 or more. They are within 2^-24.9 everywhere. With a scale, which is kept to 32 bits, 0.51
 *     becomes 0.515. Their bits are the same on every device and on the CPU.
 *   - Each element of a rotated pair is within 2 ulp of the pair's length from the true element: 0.72 from the
 *     roundings of cos and sin, 0.75 from those of the products and 0.5 from that of the sum, 1.97 in all. With a scale
 *     that is no power of two the first is 1.03 and the second 0.004, 1.54 in all (1.8 for an element below 2^-8 of the
 *     length, whose products may be rounded). This holds for every finite pair whose elements and results are zero or
 *     normal, and whose products are so too where the scale is a power of two.
 *   - The rotation's bits are the same wherever the device rounds float32 to nearest (see ropePlanSelfTest), for
 *     inputs, products and results that are zero or normal. Elements that pass through move as integers, bit for bit.
 *   - Nothing is read or written outside the bytes that the plan names, whatever the positions say.
 *   - The library allocates only where a call says so, never submits, waits, inserts a barrier or throws, and calls
 *     Vulkan only through the functions that it asks your vkGetDeviceProcAddr for.
 *
 * Units. Offsets and strides of tensors, rows and positions are in their elements.
 * Sizes are in bytes where the name says so. A structure filled with zeros asks for the common case. The _MAX_ENUM
 * members only give an enumeration its width.
 *
 * Threads. Functions without a context, and those that take a `const RopeContext*`, may run on any number of threads at
 * once. ropePrepare may too, also beside these functions: they find a plan prepared or not prepared, and nothing
 * between. Only ropeSetRounding and ropeDestroyContext need the context to themselves. Command buffers and descriptor
 * pools are yours to keep apart, as Vulkan asks. Your allocator is called on whichever thread calls.
 *
 * Frames. Descriptions, plans and RopeBuffers, with all that they point at, may change or go as soon as the call that
 * was given them returns; a context keeps only the device, the pipeline cache and the pointer to the allocator. Any
 * number of frames in flight may share one context, plan, table and frequencies: these are only read. Each frame writes
 * to buffers of its own, or you order the writes. Preparing takes nothing away from what is pending. Descriptor sets,
 * buffers (a table is one) and the context may go when no command buffer that uses them is pending. A command buffer
 * that was recorded with them must then not be submitted again.
 *
 * Null and out of range. A call that has a result refuses a null pointer, except where a comment says that it may be
 * null. It does not look at command buffers and pools. A call that has no result does nothing with a null pointer, and
 * returns zero or null. An index past the end makes a call write zeros.
 *
 * Vulkan's header. This header includes vulkan_core.h, with the prototypes unless VK_NO_PROTOTYPES is defined. volk
 * declares pointers of the same names, and two such declarations contradict each other. So a host of volk includes
 * volk.h first, or defines VK_NO_PROTOTYPES for its whole build. This header cannot leave the prototypes out by itself:
 * vulkan_core.h is read once, and a host that includes vulkan.h later and links the loader would then have none. */
#ifndef VKROPE_ROPE_H
#define VKROPE_ROPE_H

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#define ROPE_VERSION_MAJOR 0
#define ROPE_VERSION_MINOR 2
#define ROPE_VERSION_PATCH 0
#define ROPE_VERSION (ROPE_VERSION_MAJOR * 0x400000u + ROPE_VERSION_MINOR * 0x1000u + ROPE_VERSION_PATCH)

/* The build defines VKROPE_SHARED for a shared library and its users, and VKROPE_BUILDING for itself. */
#if defined(VKROPE_SHARED) && defined(_WIN32) && defined(VKROPE_BUILDING)
#define ROPE_API __declspec(dllexport)
#elif defined(VKROPE_SHARED) && defined(_WIN32)
#define ROPE_API __declspec(dllimport)
#elif defined(VKROPE_SHARED)
#define ROPE_API __attribute__((visibility("default")))
#else
#define ROPE_API
#endif

#ifdef __cplusplus
/* The C++ headers put their names into this inline namespace, as v0_2_0. So a linker keeps the inline functions of two
 * versions apart. Programs write rope:: alone. */
#define ROPE_NAMESPACE ROPE_NAMESPACE_OF(ROPE_VERSION_MAJOR, ROPE_VERSION_MINOR, ROPE_VERSION_PATCH)
#define ROPE_NAMESPACE_OF(major, minor, patch) ROPE_JOIN_VERSION(major, minor, patch)
#define ROPE_JOIN_VERSION(major, minor, patch) v##major##_##minor##_##patch

extern "C" {
#endif

/* ---- Results ------------------------------------------------------------------------------------------------- */

typedef enum RopeResult {
    ROPE_SUCCESS = 0,
    ROPE_ERROR_INVALID = -1,        /* the description contradicts itself or the formulas, or asks for more storage
                                       buffers or another feature than the limits have; recording: a refused plan */
    ROPE_ERROR_TOO_LARGE = -2,      /* more than the device's limits hold, and it cannot be split; or more than any
                                       device counts */
    ROPE_ERROR_NOT_PREPARED = -3,   /* recording: ropePrepare has not seen this plan */
    ROPE_ERROR_MISSING_BUFFER = -4, /* recording: a slot that the plan uses has no buffer */
    ROPE_ERROR_MISSING_SETS = -5,   /* recording: a context without push descriptors needs descriptor sets */
    ROPE_ERROR_OTHER_VERSION = -6,  /* recording: another version of the library made the plan */
    ROPE_ERROR_OTHER_LIMITS = -7,   /* recording: the plan takes more of some limit than the context has */
    ROPE_ERROR_MISALIGNED = -8,     /* recording: a buffer's offset is no multiple of the context's alignment */
    ROPE_ERROR_OVERLAP = -9 /* recording: a tensor goes out of place, and its source and destination begin at one
                               byte of one buffer (the slot's offset plus the layout's) */
} RopeResult;

/* One sentence that says what was wrong and what would be right; empty on success. */
#define ROPE_REASON_SIZE 192
typedef struct RopeReason {
    char text[ROPE_REASON_SIZE];
} RopeReason;

/* The name of a result, "ROPE_SUCCESS" and so on. Never null. */
ROPE_API const char* ropeResultName(RopeResult result);

/* ---- Frequencies: any rule becomes an array of doubles -------------------------------------------------------- */

/* d is rotary_dim, b the base, s the factor, L original_length, theta_i = b^(-2i/d). */
typedef enum RopeRuleKind {
    ROPE_RULE_DEFAULT = 0,          /* theta_i, correctly rounded */
    ROPE_RULE_LINEAR = 1,           /* theta_i / s: position interpolation */
    ROPE_RULE_NTK = 2,              /* base b * s^(d/(d-2)); HunYuan's alpha is this s */
    ROPE_RULE_DYNAMIC_NTK = 3,      /* beyond L: base b * (s * length/L - (s - 1))^(d/(d-2)) */
    ROPE_RULE_YARN = 4,             /* Peng et al. 2023, as Hugging Face reads its configuration */
    ROPE_RULE_LONGROPE = 5,         /* theta_i / short_factors[i], beyond L / long_factors[i]; once called su */
    ROPE_RULE_LLAMA3 = 6,           /* by wavelength: unchanged, divided by s, and blended between */
    ROPE_RULE_PROPORTIONAL = 7,     /* theta_i / s for the first rotating_pairs pairs, 0 for the rest */
    ROPE_RULE_YARN_RAMPED = 8,      /* the early form in MiniMind: beta grows along the pairs; only where length > L */
    ROPE_RULE_YARN_TEMPERATURE = 9, /* theta_i / s^(t/(d/2)) and positions times s^-gamma */
    ROPE_RULE_NTK_MIXED = 10,       /* theta_i / exp(a (i+1)^e), a = ln s / (d/2)^e: no pair is stretched past s */
    ROPE_RULE_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeRuleKind;

/* Members that a rule does not name are not read.
 *
 * A rule that takes `length` (the largest position so far plus 1) gives other frequencies as `length` grows. Keys that
 * were rotated before, and lie in a cache, then have another rotation than the queries to come. Either choose at the
 * start the length that will be reached, or rotate the cached keys anew (ROPE_OPERATION_INVERSE by the old frequencies,
 * forward by the new ones). Models that recompute `length` for each forward pass, as Hugging Face's dynamic and
 * longrope do, live with the mixture. ropeLengthOfPositions says which length given positions ask for. */
typedef struct RopeRule {
    RopeRuleKind kind;
    uint32_t rotary_dim;     /* even, 2 to 2 * ROPE_MAX_PAIRS */
    double base;             /* 1 or more and less than 2^64; 10000 in older models, 500000 or 1000000 in newer */
    double factor;           /* s: how much longer the context is, 2^-30 to 2^900; linear, ntk, dynamic, yarn of any
                                kind (ramped: 1 or more), llama3; longrope: for the scale; proportional: 0 means 1 */
    double original_length;  /* L: positions the model was trained on, 1 to 2^53; dynamic, yarn, longrope, llama3, yarn
                                ramped */
    double length;           /* dynamic, longrope, yarn ramped; 0: L */
    double attention_factor; /* yarn, longrope: the scale outright, 2^-20 to 2^20; 0: yarn's 0.1 ln s + 1 or from
                                mscale, longrope's sqrt(1 + ln s / ln L), 1 where s is 1 or less */
    double beta_fast;        /* yarn: 0 means 32; ramped: 0 means 4 */
    double beta_slow;        /* yarn, ramped: 0 means 1; yarn: at most beta_fast */
    double mscale; /* yarn: with mscale_all_dim, where neither is 0, the scale is g(mscale)/g(mscale_all_dim), */
    double mscale_all_dim;       /* g(m) = 0.1 m ln s + 1 */
    uint32_t keep_bounds;        /* yarn: 1: the ramp's bounds are not rounded to whole pairs ("truncate": false) */
    uint32_t rotating_pairs;     /* proportional: 1 to rotary_dim / 2 */
    double low_freq_factor;      /* llama3: 0 means 1 */
    double high_freq_factor;     /* llama3: 0 means 4; may equal low_freq_factor */
    const double* short_factors; /* longrope: rotary_dim / 2 of each, 2^-30 to 2^900 */
    const double* long_factors;
    double temperature;    /* yarn temperature: t, 0 means 0.25 */
    double gamma;          /* yarn temperature: 0 means 0.8 */
    double mixed_exponent; /* ntk mixed: e, up to 16; 0 means 0.625 */
} RopeRule;

#define ROPE_MAX_PAIRS 4096u

/* Writes rotary_dim / 2 doubles (radians per position) and the scale on cos and sin. The doubles are the same on every
 * platform and compiler. Those of the default rule are correctly rounded; those of every other rule are within 1e-15 of
 * themselves. A refused rule writes nothing. `reason` may be null. */
ROPE_API RopeResult ropeMakeFrequencies(const RopeRule* rule, double* frequencies, double* scale, RopeReason* reason);

/* "default", "linear", "ntk", "dynamic", "yarn", "longrope", "llama3", "proportional", "yarn_ramped",
 * "yarn_temperature", "ntk_mixed"; null for any other kind. */
ROPE_API const char* ropeRuleName(RopeRuleKind kind);

/* RopeFrequencies has the frequencies that the plans and the shaders take, from a rule or your own. A negative
 * frequency turns the other way; 0 leaves a pair where it is. The doubles are taken as exact: written out with 17
 * digits and read back, they give the same bits. */
typedef struct RopeFrequencies {
    const double* values; /* radians per position, `count` for each set, finite, each less than 2^28 turns. Only
                             ropeWriteFrequencies and the CPU's own runs need them: plans take null. A plan that
                             takes frequencies reads and checks the values that are given */
    uint32_t count;       /* pairs */
    double scale;         /* factor on cos and sin (YaRN, LongRoPE), 2^-20 to 2^20 or -2^20 to -2^-20, of all sets; 0
                             means 1 */
    const uint8_t* axes;  /* the axis of each pair, 0 to ROPE_MAX_AXES - 1; null: all 0 */
    uint32_t sets;        /* 0 or 1: one. Else each token names the set that it takes, see RopePositions */
} RopeFrequencies;

/* At most ROPE_MAX_AXIS_PAIRS pairs turn by positions of several axes (M-RoPE's t, h and w, rows and columns of an
 * image). */
#define ROPE_MAX_AXES 4u
#define ROPE_MAX_AXIS_PAIRS 256u

/* The order tells how sections become axes: `sections` has how many pairs each axis has, `axes` receives the axis of
 * each pair. */
typedef enum RopeAxesOrder {
    ROPE_AXES_CONTIGUOUS = 0,  /* all of the first axis, then all of the second: Qwen2-VL, Wan */
    ROPE_AXES_INTERLEAVED = 1, /* axis a of n has the pairs i with i % n = a and i / n < sections[a], and the first axis
                                  has all others: Qwen3-VL. If the first section is not the largest, the counts differ
                                  from the sections, as they do in the models' own code */
    ROPE_AXES_ORDER_MAX_ENUM = 0x7FFFFFFF
} RopeAxesOrder;
ROPE_API RopeResult ropeSetAxes(RopeAxesOrder order, const uint32_t* sections, uint32_t section_count, uint32_t pairs,
                                uint8_t* axes, RopeReason* reason);

/* The choice tells how the angle is formed. */
typedef enum RopeAngle {
    ROPE_ANGLE_EXACT = 0,      /* position times the double, no rounding before the sine */
    ROPE_ANGLE_COMPATIBLE = 1, /* float32(position) * float32(frequency), rounded once to float32, as PyTorch does it
                                 (a float32 position below 2^-8 is cut to 2^-32 before);
                                 for those who need their training framework's own numbers,
                                 and give its own frequencies */
    ROPE_ANGLE_MAX_ENUM = 0x7FFFFFFF
} RopeAngle;

/* Writes frequencies as the shaders read them, for ROPE_SLOT_FREQUENCIES: 16 bytes a pair, ropeFrequencyBytes(count
 * of one set, or of all) bytes at `destination`. The bytes depend on values, count, sets and angle alone, so one buffer
 * serves every plan of a layer type.
 *
 * A pair is four uint32, for EXACT and for COMPATIBLE angles:
 *
 *     word 0    bit 31: the frequency is negative. Bits 28 to 30: the mark, 2 for EXACT and 4 for COMPATIBLE.
 *               Bits 0 to 27: EXACT: the whole turns of |frequency|; COMPATIBLE: 0
 *     word 1    EXACT: the turns' fraction in 2^-96ths, its highest word; COMPATIBLE: the bits of float32 |frequency|
 *     2 and 3   EXACT: the fraction's other two words; COMPATIBLE: 0
 *
 * A plan's `angle` must be that of its frequencies. If a pair has the mark of the other angle or, as memory full of
 * zeros, no mark, its cos and sin are NaN, and everything that they turn or are added to becomes NaN. */
ROPE_API size_t ropeFrequencyBytes(uint32_t count);
ROPE_API RopeResult ropeWriteFrequencies(const RopeFrequencies* frequencies, RopeAngle angle, void* destination,
                                         RopeReason* reason);

/* Divides frequencies by float32 factors (LongRoPE's, Llama 3's in ggml), one for each pair. `words` are those of
 * `count` pairs, and as many words are written to `destination`, which may be `words`. ropePlanFactors does the same
 * with factors that lie on the device, and rope_divide_frequency of shaders/rope.glsl does it in a shader of your own:
 * words that a shader makes serve every plan as those of ropeWriteFrequencies do. All three compute in integers alone
 * and give the same bits.
 *
 * EXACT words hold turns: these are divided by the float32, and the quotient is rounded to the nearest 2^-96, halves
 * up. The words hold a frequency to 2^-97 turns, so the quotient's error is at most 2^-97 / |factor| + 2^-97 turns.
 * COMPATIBLE words hold a float32: the quotient of the two float32s is rounded to the nearest, halves to even, and
 * denormal quotients are kept.
 *
 * A negative factor turns the other way. An infinite factor makes the frequency 0. A frequency of 0 never gets a sign.
 * Four zeros are written, so that cos and sin become NaN, for a factor that is 0 or NaN, for a quotient of 2^28 turns
 * or more (COMPATIBLE: 2^96 radians or more), and for words that lack the mark of `angle`. */
ROPE_API RopeResult ropeDivideFrequencies(const void* words, const float* factors, uint32_t count, RopeAngle angle,
                                          void* destination, RopeReason* reason);

/* Splits a scale into the two numbers that rope_cos_sin_bits and rope_rotate_scaled of shaders/rope.glsl take. The
 * scale is rounded to 32 bits, as the plans keep it. Its magnitude is mantissa * 2^(exponent - 31); a negative scale
 * has 256 added to the exponent. 0 means 1. A scale that plans refuse is refused, and nothing is written. */
ROPE_API RopeResult ropeSplitScale(double scale, uint32_t* mantissa, int32_t* exponent, RopeReason* reason);

/* ---- Limits: what the device has ------------------------------------------------------------------------------ */

typedef struct RopeLimits {
    uint64_t storage_range;     /* bytes one binding may span (maxStorageBufferRange), 1 or more */
    uint32_t storage_alignment; /* bytes a binding's offset must be a multiple of, a power of two up to 65536; 0: 16 */
    uint32_t group_count[2];    /* work groups in x and y, 1 or more of each; in z there are 65535 at least */
    uint32_t group_size;        /* invocations in one group; 0: 1 */
    uint32_t enabled;           /* ROPE_ENABLED_ bits */
    uint32_t storage_buffers;   /* storage buffers of one stage (maxPerStageDescriptorStorageBuffers); 0: 4 */
    uint32_t uniform_range;     /* bytes one uniform binding may span (maxUniformBufferRange); 0: 16384 */
    uint32_t shared_bytes;      /* bytes of shared memory (maxComputeSharedMemorySize); 0: 16384 */
    uint32_t threads;           /* that keep the device busy; speed depends on it, and at the limits of a dispatch's
                                   groups what is refused. 0: 16384, a GPU's */
    uint32_t uniform_alignment; /* bytes a uniform binding's offset must be a multiple of, a power of two; 0: 256 */
} RopeLimits;

/* These bits tell what is enabled on the device beyond Vulkan 1.1. None is needed, but 16-bit scores at odd
 * places, and blocks that begin in the middle of a word, take ROPE_ENABLED_STORAGE_16. ROPE_ENABLED_NATIVE_HALVES is no
 * feature: the self-test finds it.
 *
 * No dispatch leaves its bindings, whatever they hold, so a driver need not look at every place again. NVIDIA's does,
 * unless it is told not to. With ROPE_ENABLED_PIPELINE_ROBUSTNESS the context's pipelines say so, also where the host
 * enabled robustBufferAccess for its own. A library that was built with headers older than the extension leaves the
 * checks in. */
#define ROPE_ENABLED_PUSH_DESCRIPTORS 1u /* VK_KHR_push_descriptor, or the feature pushDescriptor of Vulkan 1.4 */
#define ROPE_ENABLED_STORAGE_16 2u       /* the feature storageBuffer16BitAccess */
#define ROPE_ENABLED_DEBUG_UTILS 8u      /* VK_EXT_debug_utils, which is enabled on the instance: names and labels */
#define ROPE_ENABLED_NATIVE_HALVES 16u   /* packHalf2x16 and unpackHalf2x16 are proven: from ropeEnabledBySelfTest */
#define ROPE_ENABLED_PIPELINE_ROBUSTNESS 32u /* pipelineRobustness of VK_EXT_pipeline_robustness, or of Vulkan 1.4 */

/* The least that Vulkan 1.1 promises; every plan function takes null for it. */
ROPE_API void ropeMinimumLimits(RopeLimits* limits);
/* Copies the device's limits. It does not read apiVersion: a host refuses a device of Vulkan 1.0 itself, for such a
 * device need not take the shaders, which are SPIR-V 1.3. */
ROPE_API void ropeLimitsFromDevice(const VkPhysicalDeviceProperties* properties, uint32_t enabled, RopeLimits* limits);

/* The library asks for Vulkan 1.1 and for no feature of a device. This call writes those names of `available` (from
 * vkEnumerateDeviceExtensionProperties) that are worth enabling to `names`, which has room for ROPE_MAX_EXTENSIONS, and
 * returns how many there are. None of them is needed. The list of vkEnumerateInstanceExtensionProperties may be given
 * too: it can have VK_EXT_debug_utils, for hosts that want names and labels. Extensions that are worth enabling for
 * their feature alone are not named: ROPE_ENABLED_STORAGE_16 and ROPE_ENABLED_PIPELINE_ROBUSTNESS say which. */
#define ROPE_API_VERSION VK_API_VERSION_1_1
#define ROPE_MAX_EXTENSIONS 4u
ROPE_API uint32_t ropeUsefulExtensions(const VkExtensionProperties* available, uint32_t available_count,
                                       const char** names);

/* Returns the ROPE_ENABLED_ bits of the extensions that a host enabled, by their names. Names of the instance's and
 * of the device's extensions are taken alike. A name that the library has no use for adds nothing. Features have no
 * name: the host adds their bits. */
ROPE_API uint32_t ropeEnabledByExtensions(const char* const* names, uint32_t name_count);
/* Returns the name of one ROPE_ENABLED_ bit's extension, and null for a feature's bit and for any other value. */
ROPE_API const char* ropeExtensionName(uint32_t enabled_bit);

/* ---- Descriptions --------------------------------------------------------------------------------------------- */

/* The kind tells where each token's position comes from. Sums wrap as int32 does. */
typedef enum RopePositionKind {
    ROPE_POSITIONS_PER_TOKEN = 0,          /* one per token and axis, from ROPE_SLOT_POSITIONS */
    ROPE_POSITIONS_START_PER_SEQUENCE = 1, /* one per sequence and axis, plus the token's index in its sequence */
    ROPE_POSITIONS_COUNTED = 2,            /* first plus the token's index, on every axis; no buffer */
    ROPE_POSITIONS_PACKED = 3,        /* the index in its sequence, where sequences of any lengths follow each other in
                                         one batch: the buffer holds their cumulative lengths, sequences + 1 of them,
                                         from 0 up. A token behind the last sequence does not turn. If the lengths do
                                         not rise from 0, it is undefined which tokens turn */
    ROPE_POSITIONS_PACKED_STARTS = 4, /* as PACKED, plus a start for each sequence, in the row behind the lengths */
    ROPE_POSITION_KIND_MAX_ENUM = 0x7FFFFFFF
} RopePositionKind;

/* Positions in 2^-32ths, as the angles take them: Q32.32. */
#define ROPE_WHOLE_POSITION(position) ((int64_t)(position)*4294967296)

/* The element tells what the buffer holds. A token with a value that is no position is left unchanged and counted, as a
 * token outside a table is. (A row that is made for it is 1 and 0.) */
typedef enum RopePositionElement {
    ROPE_POSITION_INT32 = 0,
    ROPE_POSITION_INT64 = 1,   /* PyTorch's own; a value that int32 does not hold is no position */
    ROPE_POSITION_FLOAT32 = 2, /* whole or not, cut to 2^-32ths; magnitudes from 2^31 on and NaN are none */
    ROPE_POSITION_FIXED64 = 3, /* Q32.32 in an int64: exact */
    ROPE_POSITION_ELEMENT_MAX_ENUM = 0x7FFFFFFF
} RopePositionElement;
ROPE_API uint32_t ropePositionBytes(RopePositionElement element); /* 4 or 8 */

/* Returns the length that positions ask for, which is a RopeRule's `length`: the largest plus 1, in 2^-32ths too.
 * `positions` are the `count` entries of a buffer without gaps, of all axes and sequences together. A value that is no
 * position is left out. The length is 0 if no position is 0 or more; a rule takes 0 for the original length. A length
 * of more than 53 bits is rounded up. The last position of a range asks for the length of the whole range:
 *
 *     const int32_t last = first + (int32_t)tokens - 1;
 *     rule.length = ropeLengthOfPositions(&last, ROPE_POSITION_INT32, 1); */
ROPE_API double ropeLengthOfPositions(const void* positions, RopePositionElement element, uint64_t count);

/* The buffer holds rows of positions, one for each axis that the frequencies name: [axes][batch][tokens], or
 * [axes][batch] of starts, unless strides say otherwise. Packed sequences have the same positions on every axis, and a
 * row of cumulative lengths before any starts. If the frequencies have several sets, one more row follows, with the
 * token's, start's or sequence's set (a plain integer, int32 if positions are float32). A token whose set does not
 * exist is left unchanged and counted. */
typedef struct RopePositions {
    RopePositionKind kind;
    int32_t first;                   /* counted: token 0's position */
    uint32_t same_for_all_sequences; /* 1: every sequence reads the same positions, batch_stride is not used */
    uint64_t offset;                 /* elements before the first */
    uint64_t batch_stride;           /* elements; 0: packed (tokens * token_stride, or 1 for one start per sequence) */
    uint64_t token_stride;           /* elements; 0: 1 */
    uint64_t axis_stride;            /* elements from one row to the next; 0: packed */
    RopePositionElement element;
    uint32_t sequences; /* packed kinds: how many; batch is 1 */
} RopePositions;

/* Elements of tensors and of given rows. 16-bit results are the float32 result rounded to nearest even: a number that
 * is too large becomes infinite, a NaN stays a NaN, denormals are kept. A float32 sum rounds float16, or the device
 * does if its conversion is proven (ROPE_ENABLED_NATIVE_HALVES). So on a device whose sums do not round to nearest
 * (ROPE_ROUNDING_OTHER) the last bit of float16 may differ. (A denormal bfloat16 is a denormal float32, which a
 * device's arithmetic may take for 0.) */
typedef enum RopeElement {
    ROPE_ELEMENT_DEFAULT = 0, /* in, and of rows: float32; out: the same as in */
    ROPE_ELEMENT_F32 = 1,
    ROPE_ELEMENT_F16 = 2,
    ROPE_ELEMENT_BF16 = 3,
    ROPE_ELEMENT_I8 = 4,       /* caches only: int8 with a float32 scale for each slot and head */
    ROPE_ELEMENT_Q8_0 = 5,     /* caches only, as all that follow: llama.cpp's blocks: a float16 scale, then 32 int8 */
    ROPE_ELEMENT_Q4_0 = 6,     /* blocks of a float16 scale and 32 integers of 4 bits: 18 bytes */
    ROPE_ELEMENT_Q4_1 = 7,     /* blocks of a float16 scale, a float16 minimum and 32 integers of 4 bits: 20 bytes */
    ROPE_ELEMENT_Q5_0 = 8,     /* blocks of a float16 scale, 32 fifth bits and 32 integers of 4 bits: 22 bytes */
    ROPE_ELEMENT_F8_E4M3 = 9,  /* float8 e4m3fn: no infinities, at most 448 */
    ROPE_ELEMENT_F8_E5M2 = 10, /* float8 e5m2: at most 57344 */
    ROPE_ELEMENT_Q5_1 = 11, /* blocks of a float16 scale, a float16 minimum, 32 fifth bits and 32 integers of 4 bits */
    ROPE_ELEMENT_IQ4_NL = 12, /* blocks of a float16 scale and 32 codes of 4 bits, which stand for 16 integers */
    ROPE_ELEMENT_MAX_ENUM = 0x7FFFFFFF
} RopeElement;
/* Returns 4, 2 or 1; 0: blocks, whose 32 elements take 34 bytes (Q8_0), 18 (Q4_0, IQ4_NL), 20 (Q4_1), 22 (Q5_0) or 24
 * (Q5_1). */
ROPE_API uint32_t ropeElementBytes(RopeElement element);

/* Converts elements from one kind to another, and rounds them as the shaders do. `to` may be `from` if both kinds
 * have one size. Nothing is done with I8 and blocks. float8 is saturated, as in a cache with a scale of 1. */
ROPE_API void ropeConvertElements(const void* from, RopeElement from_element, void* to, RopeElement to_element,
                                  size_t count);

/* RopeRows describes rows of cos and sin. All zeros mean the native row, `pairs` float32 cosines and then `pairs`
 * sines; ropeSetRows fills in the other formats in use. Any row is read that strides describe. Cosines and sines of two
 * arrays lie in one buffer. */
typedef struct RopeRows {
    uint64_t offset;        /* elements before row 0's first cosine */
    uint64_t row_stride;    /* elements; 0: 2 * pairs */
    uint32_t pair_stride;   /* elements from a pair to the next; 0: 1 */
    int64_t sin_offset;     /* elements from a cosine to its sine, either way; 0: pairs */
    uint32_t copy_offset;   /* a table writes each value once more this many elements on; 0: once. Not read */
    RopeElement element;    /* a table is written in float32 only */
    int32_t first_position; /* ROPE_SOURCE_TABLE: the position of row 0 */
    uint32_t count; /* ROPE_SOURCE_TABLE: rows in the table; of several sets as many for each, one after the other */
} RopeRows;

typedef enum RopeRowsFormat {
    ROPE_ROWS_SPLIT = 0, /* [row][pairs cosines, pairs sines]: the native one, vLLM's */
    ROPE_ROWS_DUPLICATED =
        1, /* cos[row][2 * pairs], then sin[row][2 * pairs], pair j at j and j + pairs: Hugging Face */
    ROPE_ROWS_INTERLEAVED = 2, /* [row][cos, sin of each pair] */
    ROPE_ROWS_COMPLEX = 3,     /* cos + i sin: the same bytes */
    ROPE_ROWS_TWO_ARRAYS = 4,  /* cos[row][pairs], then sin[row][pairs]: ONNX */
    ROPE_ROWS_FORMAT_MAX_ENUM = 0x7FFFFFFF
} RopeRowsFormat;

/* Sets the strides and offsets of `rows`, and `count`, and leaves the other members as they are. If cosines and
 * sines are two arrays, row_count tells where the second begins. */
ROPE_API void ropeSetRows(RopeRowsFormat format, uint32_t pairs, uint32_t row_count, RopeRows* rows);

/* The plan makes rows of cos and sin. Rows by position take positions.kind ROPE_POSITIONS_COUNTED: they are `tokens`
 * rows from positions.first on. Rows by token are one per entry of the positions buffer, row batch * tokens + token;
 * fill them once per step and use them for Q, K and every layer.
 *
 * Reads POSITIONS (unless counted) and FREQUENCIES; writes ROWS. */
typedef struct RopeTableDescription {
    RopeFrequencies frequencies;
    RopeAngle angle; /* that FREQUENCIES is written for, else the rows are NaN */
    uint32_t batch;  /* 0: 1 */
    uint32_t tokens;
    RopePositions positions;
    RopeRows rows;
} RopeTableDescription;

/* The plan divides frequencies by factors that lie on the device, as ropeDivideFrequencies says. Every set is
 * divided by the same `count` factors.
 *
 * The plan reads FREQUENCIES and FACTORS, and writes FREQUENCIES_OUT, which must not overlap them. Bind it as
 * FREQUENCIES of the plans that follow, behind a barrier as before a table's readers. Their RopeFrequencies.values may
 * be null. */
typedef struct RopeFactorsDescription {
    uint32_t count;  /* pairs, 1 to ROPE_MAX_PAIRS */
    uint32_t sets;   /* 0 or 1: one */
    RopeAngle angle; /* that FREQUENCIES is written for, else four zeros come out of each pair */
    uint64_t offset; /* elements of FACTORS before the first */
} RopeFactorsDescription;

typedef enum RopePairing {
    ROPE_PAIRING_DEFAULT = 0,     /* in: half; out: the same as in */
    ROPE_PAIRING_HALF = 1,        /* pair i is elements (i, i + rotary_dim/2): GPT-NeoX, Hugging Face Llama; with
                                     chunk_dim: inside each chunk of the rotary part; ggml's NEOX */
    ROPE_PAIRING_INTERLEAVED = 2, /* pair i is elements (2i, 2i + 1): GPT-J, the original Llama, ggml's NORMAL */
    ROPE_PAIRING_MAX_ENUM = 0x7FFFFFFF
} RopePairing;

typedef enum RopeOperation {
    ROPE_OPERATION_FORWARD = 0,
    ROPE_OPERATION_TRANSPOSE = 1, /* -s, scale kept: the gradient */
    ROPE_OPERATION_INVERSE = 2,   /* -s, 1/scale: gives the input back */
    ROPE_OPERATION_SHIFT = 3,     /* scale 1: turns by a delta what is already rotated */
    ROPE_OPERATION_MAX_ENUM = 0x7FFFFFFF
} RopeOperation;

typedef enum RopeSource {
    ROPE_SOURCE_INLINE = 0, /* computed in the kernel from FREQUENCIES; no table */
    ROPE_SOURCE_TABLE = 1,  /* row (position - first_position) of ROWS, whole positions; a position outside the table
                               leaves its token unchanged (out of place: copied, in pairing_out) */
    ROPE_SOURCE_ROWS = 2,   /* row (batch * tokens + token) of ROWS; no position is read, and of packed
                                sequences with a window only the lengths */
    ROPE_SOURCE_MAX_ENUM = 0x7FFFFFFF
} RopeSource;

/* This says which elements rotate, and by what. Rotations and fused passes have one.
 *
 * The source's rows hold frequencies.scale, and are used as they are: a second factor would round twice. That scale
 * decides how products are rounded. (If the rows have a scale that frequencies.scale does not say, elements are within
 * 2.28 ulp.) Inverse and shift want another scale, so they are refused from rows unless the scale is 1. Make rows of
 * the wanted scale and say it in frequencies.scale: transpose by rows of 1/scale is the inverse, forward by rows of 1
 * the shift. */
typedef struct RopeRotation {
    RopeFrequencies frequencies; /* inline: all but values; table and rows: the scale that the rows hold, sets and axes.
                                    With axes their count is that of the pairs or 0; else it is not read */
    uint32_t rotary_begin;       /* element of the head where the rotary part starts */
    uint32_t rotary_dim;         /* even; 0: head_dim - rotary_begin. The rest of the head passes through bit for bit */
    uint32_t chunk_dim;          /* half pairing: pairs lie in chunks of so many elements, each of two halves; even, and
                                    rotary_dim a multiple; 0: rotary_dim, one chunk. Gemma 4's vision: rotary_dim /
                                    axes */
    RopePairing pairing;
    RopePairing pairing_out; /* another than `pairing` only out of place */
    uint32_t skip_first;     /* so many tokens at each sequence's begin are not turned (class and register tokens), */
    uint32_t skip_last;      /* and so many at its end; positions and rows have entries for them too, not used */
    RopeOperation operation;
    RopeSource source;
    RopeAngle angle; /* inline: that FREQUENCIES is written for, else what turns becomes NaN */
    RopeRows rows;   /* table and rows */
} RopeRotation;

/* The layout tells where a tensor's elements lie. The head's elements are consecutive. If all strides are 0, the tensor
 * is packed, [batch, token, head, element]; otherwise a stride may be 0 only where its count is 1.
 *
 * 16-bit elements move in twos, as whole words. A tensor of them is refused if an offset, a stride, rotary_begin or the
 * distance of a pair's elements is odd. Float32, or weights permuted to interleaved pairs (ropePairPermutation), serve
 * halves of an odd number of pairs. Scores may have odd rows: see RopeBiasDescription. */
typedef struct RopeLayout {
    uint64_t offset, batch_stride, token_stride, head_stride;
} RopeLayout;

typedef struct RopeTensor {
    uint32_t heads; /* 0: there is no such tensor */
    RopeLayout from;
    RopeLayout to; /* out of place only */
} RopeTensor;

/* RopeTuning cuts the work into threads. The library chooses each value that is 0 by the limits and the shape.
 * `vkrope bench --tuning` times other values. No bit of a result depends on them. */
typedef struct RopeTuning {
    uint32_t group_size; /* threads of a group, up to limits.group_size; for a rotation the maximum */
    uint32_t heads;      /* that one thread takes, up to ROPE_MAX_TUNED_HEADS; a rotation's at most
                            ROPE_MAX_ROTATED_HEADS, all of which it loads before it stores the first. Norms and
                            integers: at most 8, and what shared memory holds */
    uint32_t pairs; /* of one thread at most: 8 or 4. A thread may take eight where no side has float32, all elements
                       lie at multiples of eight, and the rotary part is a multiple of sixteen. Otherwise it takes four:
                       as vectors where all elements lie at multiples of four, or else word by word, 16-bit elements at
                       odd places one by one. A norm has a head's threads in one group: with four pairs they are more */
} RopeTuning;
#define ROPE_MAX_ROTATED_HEADS 8u
#define ROPE_MAX_TUNED_HEADS 1024u

/* Rotates Q and K, or one of them, in place or out of place. Both take one dispatch if one binding spans each tensor's
 * heads, if the same lanes fit both (all multiples of eight 16-bit elements, of four elements, or neither), and if
 * limits.storage_buffers has room for the tensors' two (out of place four) buffers, the frequencies or rows, and the
 * positions. Otherwise each takes a dispatch of its own. Tensors of odd 16-bit geometry go apart.
 *
 * Reads POSITIONS (unless counted; by rows only the lengths of packed sequences with a window), FREQUENCIES (inline) or
 * ROWS, and Q, K. Writes Q, K, or out of place Q_OUT, K_OUT. Adds to COUNTER where count_outside is set and a token can
 * be without a position: with a table, unless positions are counted and all inside it; with INT64 or FLOAT32 positions;
 * with several sets. With rows as source nothing is counted. */
typedef struct RopeRotateDescription {
    uint32_t batch; /* 0: 1 */
    uint32_t tokens;
    uint32_t head_dim;
    RopeElement element;     /* of Q and K; 0: float32 */
    RopeElement element_out; /* 0: the same; another one only out of place */
    RopeRotation rotation;
    RopePositions positions;
    RopeTensor q, k;
    uint32_t out_of_place;  /* 0: in place. 1: to Q_OUT and K_OUT, which must not overlap the sources */
    uint32_t count_outside; /* add 1 to COUNTER (a uint32 that you clear) for each token that should turn and has no
                               position, or a position outside the table */
    RopeTuning tuning;
} RopeRotateDescription;

/* This holds the parameters of ggml's rope operator, in the order in which a node of ggml's graph has them: a host
 * copies the 64 bytes of op_params here. The structure has no padding, so its bytes, with the size of a head, are a key
 * by which a host may keep what was made of them. */
typedef struct RopeGgml {
    int32_t n_past; /* not read */
    int32_t n_dims; /* elements that turn; VISION: half of them */
    int32_t mode;   /* GGML_ROPE_TYPE_NORMAL 0, NEOX 2, MROPE 8, VISION 24 or IMROPE 40 */
    int32_t n_ctx;  /* not read */
    int32_t
        n_ctx_orig;    /* read where ext_factor is not 0; 0: YaRN keeps pair 0 alone, as ggml's logarithm of 0 has it */
    float freq_base;   /* 1 or more (more than 1 where ext_factor is not 0), less than 2^64 */
    float freq_scale;  /* negative: turns the other way; 0: turns nothing. It is more than 0 if ext_factor is not 0 */
    float ext_factor;  /* how much of YaRN's ramp is mixed in, -1024 to 1024; 0: no YaRN at all */
    float attn_factor; /* times YaRN's magnitude from 2^-20 to 2^20, either way */
    float beta_fast;   /* 2^-60 to 2^60, read where ext_factor is not 0 */
    float beta_slow;
    int32_t sections[4]; /* MROPE, VISION and IMROPE: pairs of each axis of positions */
    int32_t n_offs;      /* elements of the head before those that turn */
} RopeGgml;

/* Writes what ggml's parameters mean for heads of head_dim elements into the rotation: rotary_begin, rotary_dim,
 * chunk_dim, pairing and frequencies. The other members are yours, such as ROPE_OPERATION_TRANSPOSE for the gradient.
 * The frequencies and their axes are written to `values` and `axes`, which have room for head_dim / 2 entries each; the
 * rotation points at them (at axes only where several are named) as long as you plan by it. Frequency factors are not
 * among the parameters: divide by them, in `values` or by ropePlanFactors.
 *
 * The frequencies are those that ggml's formulas mean, without its roundings to float32: theta is a power of freq_base
 * and no chain of products. Only the bounds of YaRN's ramp are whole numbers that float32 decides, and there every
 * operation is rounded as ggml rounds it. The doubles are the same on every platform. Positions of several axes lie in
 * a row for each axis, as ggml has them, and ggml has one row of each for the whole batch
 * (positions.same_for_all_sequences).
 *
 * The call refuses what ggml asserts against, and a logarithm of 0 or of a negative number. It refuses an attn_factor
 * of 0, which makes ggml write zeros, and a frequency of 2^28 turns or more, which every plan refuses. A refusal writes
 * nothing. */
ROPE_API RopeResult ropeReadGgml(const RopeGgml* parameters, uint32_t head_dim, double* values, uint8_t* axes,
                                 RopeRotation* rotation, RopeReason* reason);

/* This holds a tensor of ggml's. `type`, `ne` and `nb` are the tensor's own numbers, and `offset` counts the bytes that
 * lie before its first element in the buffer that you give to the slot. */
typedef struct RopeGgmlTensor {
    int64_t ne[4]; /* ne[0] 0: there is no such tensor */
    uint64_t nb[4];
    uint64_t offset;
    uint32_t type;
    uint32_t unused; /* 0 */
} RopeGgmlTensor;
/* This holds a ROPE or ROPE_BACK of ggml's graph and the nodes that become one pass with it: RMS_NORM before it, MUL
 * behind the norm, a MUL_MAT by Hadamard's matrix and SET_ROWS behind the rotation. With SET_ROWS the result may be of
 * any type that llama.cpp has a cache of. Without positions there is no ROPE: V takes the other nodes alone. With rows
 * and an x of blocks it is llama.cpp's shift of a cache: CPY to float32, MUL_MAT, ROPE, MUL_MAT and CPY back. The
 * structure has no padding: a host that finds the bytes of the last graph again may keep their plan. */
typedef struct RopeGgmlNode {
    RopeGgmlTensor x;         /* slot K, of a shift K_OUT; the source of the first node */
    RopeGgmlTensor positions; /* slot POSITIONS; 32-bit integers, of a shift those by which each token turns */
    RopeGgmlTensor weights;   /* slot K_WEIGHTS; MUL's other tensor, if there is one */
    RopeGgmlTensor rows;      /* slot SLOT_MAP; SET_ROWS's row numbers, if there are any; of a shift 0, 1, 2, ... */
    RopeGgmlTensor out;       /* slot K_OUT, or K in place; the result of the last node, with rows the whole tensor */
    float epsilon;            /* RMS_NORM's */
    uint32_t norm;            /* 1: RMS_NORM before the rotation */
    uint32_t backward;        /* 1: ROPE_BACK */
    uint32_t in_place;        /* 1: out is x, in the same memory */
    uint32_t hadamard;        /* elements of a row of the MUL_MAT behind the rotation whose hint says that its matrix is
                                 Hadamard's; 0: there is no such node */
    uint32_t unused;          /* 0 */
} RopeGgmlNode;

/* ---- Positions added to embeddings ---------------------------------------------------------------------------------
 *
 * For token t of position m, and its embedding x of `dim` elements:
 *
 *     x' = x * scale + E[m]      E[m]: sines and cosines, or a row of a learned table
 *
 * Both operations are float32 and rounded, and none is fused. Without a scale nothing is multiplied. The bits are
 * promised as a rotation's are. Nothing is added to a token without a position, or with a position outside the table:
 * without a scale the token stays, or is copied, bit for bit. Sines are within 2^-24.9, as everywhere. */

typedef enum RopeSinusoidOrder {
    ROPE_SINUSOIDS_INTERLEAVED = 0, /* pair i: the sine to element 2i, the cosine to 2i + 1; Vaswani et al. */
    ROPE_SINUSOIDS_HALVES = 1,      /* to elements i and i + dim/2; tensor2tensor, fairseq, Whisper */
    ROPE_SINUSOID_ORDER_MAX_ENUM = 0x7FFFFFFF
} RopeSinusoidOrder;

/* Adds positions to embeddings, in place or out of place.
 *
 * Sinusoids take the frequencies of dim / 2 pairs: the default rule with rotary_dim `dim` and a base of your own, or
 * any others (fairseq's: base^(-i / (dim/2 - 1))), of several axes too, and a factor on them in frequencies.scale.
 * Sinusoids that the kernel computes are bound by arithmetic. If the same positions come again, make rows with
 * ropePlanTable and read the rows, by position or by token, for the same bits.
 *
 * A learned table is [rows.count][dim], its first row for position rows.first_position (OPT, whose table has two rows
 * more at its beginning: -2), in rows.element. The plan reads offset, row_stride (0: dim), element, first_position
 * and count of `rows`, and positions must be whole; frequencies, order, source and angle are not read. A table of token
 * types is a learned table too: positions are then the types.
 *
 * Reads POSITIONS (unless counted; by rows nothing), FREQUENCIES (sinusoids, inline) or ROWS, and X. Writes X, or
 * out of place X_OUT. Adds to COUNTER as a rotation does. */
typedef struct RopeAddDescription {
    uint32_t batch; /* 0: 1 */
    uint32_t tokens;
    uint32_t dim;     /* even; with sinusoids at most 2 * ROPE_MAX_PAIRS, otherwise at most 131070 */
    uint32_t learned; /* 1: a learned table. 0: sinusoids */
    RopeSinusoidOrder order;
    uint32_t cosine_first; /* sinusoids: 1: sines and cosines change places (diffusers' flip_sin_to_cos) */
    RopeElement element;
    RopeElement element_out; /* 0: the same; another one only out of place */
    float scale;             /* of the embedding, sqrt(dim) in some models; 2^-20 to 2^20, 0 means 1 */
    RopeSource source;       /* of the sinusoids, as of a rotation's cos and sin */
    RopeAngle angle;         /* inline: that FREQUENCIES is written for, else the sums are NaN */
    RopeFrequencies frequencies;
    RopePositions positions;
    RopeRows rows;
    RopeLayout x;     /* [batch, token, element]; head_stride is not read */
    RopeLayout x_out; /* out of place only */
    uint32_t out_of_place;
    uint32_t count_outside;
} RopeAddDescription;

/* ---- Biases on attention scores ------------------------------------------------------------------------------------
 *
 * For head h, query i and key j, with the positions p of the query and first_key + j of the key:
 *
 *     score' = score + bias[h][distance]      distance = first_key + j - p, as int32 (sums wrap)
 *
 * score' is one float32 sum, or the bias alone is written out. Bits are promised as a rotation's are; T5's and clipped
 * biases are the given values, bit for bit. */

typedef enum RopeBiasKind {
    ROPE_BIAS_T5 = 0,      /* W[bucket(distance)][h] */
    ROPE_BIAS_CLIPPED = 1, /* B[clip(-distance, least, most) - least][h] */
    ROPE_BIAS_ALIBI = 2,   /* slope[h] * distance, the product rounded; bidirectional: -slope[h] * |distance| */
    ROPE_BIAS_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeBiasKind;

/* Returns T5's bucket of a distance (key less query). Integers decide it, as the formula in exact arithmetic does.
 * With n = max(0, -distance), S = buckets and E = S / 2, the bucket is n itself if n is below E, else
 *
 *     min(S - 1, E + floor(ln(n/E) / ln(max_distance/E) * (S - E)))
 *
 * bidirectional: n = |distance|, S = buckets / 2, and keys after their query have the second half of the buckets. (T5's
 * own code rounds logarithms to float32; with 32 buckets and a distance of 128 its buckets are the same.)
 * `buckets` is 2 to ROPE_MAX_BUCKETS, bidirectional 4 or more, max_distance more than E and less than 2^30. With other
 * numbers every bucket is 0. */
#define ROPE_MAX_BUCKETS 1024u
ROPE_API uint32_t ropeT5Bucket(int32_t distance, uint32_t buckets, uint32_t max_distance, uint32_t bidirectional);

/* Writes ALiBi's slopes of `heads` heads, up to 65536. If `heads` is a power of two, they are 2^(-8 (h+1) / heads).
 * Otherwise they are those of the power of two below, n, and then the first, third, fifth and so on of 2n heads, as
 * published. Each is rounded once, and is the same on every platform. */
ROPE_API RopeResult ropeMakeAlibiSlopes(uint32_t heads, float* slopes, RopeReason* reason);

/* Adds a bias to scores in place, or writes it out.
 *
 * `rows` has the given values. T5: a row for each bucket, with a value for each head, as [buckets][heads] (PyTorch's
 * Embedding). Clipped: most - least + 1 such rows, the first for query - key = least. ALiBi: one row, the slopes. The
 * plan reads offset, row_stride (0: heads), pair_stride (from a head to the next; 0: 1) and element of `rows`.
 *
 * Positions are the queries'; they are whole and not packed. For decode take ROPE_POSITIONS_COUNTED with `first`, or
 * ROPE_POSITIONS_START_PER_SEQUENCE from a buffer, so that one recording serves every step. Positions per query are
 * slower where a query's position does not follow the last query's. A query without a position leaves its scores as
 * they are; its bias is 0.
 *
 * 16-bit scores with an odd number of keys, or at odd offsets and strides, need ROPE_ENABLED_STORAGE_16.
 *
 * Reads POSITIONS (unless counted), ROWS, PARAMETERS (T5; ropeWriteBuckets) and X. Writes X. */
typedef struct RopeBiasDescription {
    RopeBiasKind kind;
    uint32_t write_only; /* 1: X is the bias, [heads][queries][keys], and nothing of it is read; batch is then 1 */
    uint32_t batch;      /* 0: 1 */
    uint32_t heads;
    uint32_t queries;
    uint32_t keys;
    uint32_t bidirectional; /* T5, ALiBi */
    uint32_t causal;        /* 1: where the key stands after its query, -infinity, whatever the score was */
    uint32_t buckets;       /* T5; 0: 32 */
    uint32_t max_distance;  /* T5; 0: 128. One published text has it equal the buckets */
    int32_t least, most;    /* clipped: of query - key */
    int32_t first_key;      /* position of key 0 */
    RopeElement element;    /* of X */
    RopePositions positions;
    RopeRows rows;
    RopeLayout x; /* token_stride: from a query to the next. All strides 0: [batch][heads][queries][keys] */
} RopeBiasDescription;

/* Writes what PARAMETERS holds for T5: plan.bytes[ROPE_SLOT_PARAMETERS] bytes, the same for every plan of the same
 * buckets, distance and sides. */
ROPE_API RopeResult ropeWriteBuckets(const RopeBiasDescription* description, void* destination, RopeReason* reason);
/* Returns how many vectors of four words these bytes are: rising thresholds, then words that no distance reaches. It
 * is for shaders/bias.glsl. */
ROPE_API uint32_t ropeBucketVectors(uint32_t buckets, uint32_t bidirectional);

/* ---- Relative vectors ----------------------------------------------------------------------------------------
 *
 * Shaw et al. add vectors of the clipped distance from query to key, of `dim` elements each:
 *
 *     keys:   score[i][j] += scale * (q[i] . R[row])              row = clip(first_key + j - p, least, most) - least
 *     values: output[i] += sum over j of weight[i][j] * R[row]
 *
 * Every operation is float32 and rounded, in one order: a dot product from element 0 up, then the scale. Values are
 * summed in this order: keys of neither end one after the other, then the first row times the sum of its keys' weights,
 * then the last row times the sum of its keys' weights. That sum is added to the output. */

typedef enum RopeRelativeSide {
    ROPE_RELATIVE_KEYS = 0,
    ROPE_RELATIVE_VALUES = 1,
    ROPE_RELATIVE_SIDE_MAX_ENUM = 0x7FFFFFFF
} RopeRelativeSide;

/* Adds relative vectors' terms to scores, or to an attention's output, in place.
 *
 * `rows` is [most - least + 1][dim], the first row for key - query = least. The plan reads offset, row_stride (0: dim),
 * pair_stride (from a head's rows to the next head's; 0: all heads have the same) and element of `rows`. Positions are
 * the queries', as a bias takes them. A query without a position is left as it is. 16-bit elements of Q and X lie at
 * even offsets and strides, an even number of them in a row.
 *
 * Reads POSITIONS (unless counted), ROWS, Q and X. Writes X. */
typedef struct RopeRelativeDescription {
    RopeRelativeSide side;
    uint32_t batch; /* 0: 1 */
    uint32_t heads;
    uint32_t queries;
    uint32_t keys;
    uint32_t dim;
    int32_t least, most; /* of key - query: -k and k */
    int32_t first_key;
    float scale;           /* keys: 1/sqrt(dim) where the scores have it already; 2^-20 to 2^20, 0 means 1 */
    RopeElement element_q; /* of Q */
    RopeElement element_x; /* of X; 0: the same */
    RopePositions positions;
    RopeRows rows;
    RopeLayout q; /* keys: queries, [batch][heads][queries][dim]; values: the attention's weights, [...][keys] */
    RopeLayout x; /* keys: scores, [batch][heads][queries][keys]; values: the output, [...][dim] */
} RopeRelativeDescription;

/* ---- Fused passes: from the projection to the cache -------------------------------------------------------------
 *
 * A fused pass moves Q, K and V from the projection to the attention and to the cache. Each of these tensors has a
 * record, a RopeFusedTensor. A tensor takes these steps in this order, and skips each step that its record leaves at 0:
 *
 *     load -> biases -> clip -> norm -> rotate -> norm (with `after`) -> scale of queries -> Hadamard -> convert ->
 * store
 *
 * Q and K rotate, and V does not. The pass gives the bits of separate passes with float32 between them.
 * docs/formats.md has the formulas of norms and of cache formats.
 *
 * K and V go to the cache if cache.kind is set. All other tensors are written in place, or with out_of_place to their
 * _OUT buffers. In place a tensor keeps its element and its layout, and what no step changes is not read.
 *
 * Bind these buffers. plan.bytes is 0 for each buffer that the plan does not use.
 *
 *     Q, K, V                the projection's tensors, in place the results too; with packed_qkv Q holds all three
 *     Q_OUT, K_OUT, V_OUT    the results out of place; K_OUT and V_OUT are the caches, K_OUT both with cache.one_buffer
 *     POSITIONS              positions; the counts of tokens (tokens_counted); the map with cache.map_in_positions
 *     SLOT_MAP               a slot for each token (SLOTS), or a row of pages for each sequence (PAGE_TABLE)
 *     FREQUENCIES, ROWS      where cos and sin come from, by rotation.source; neither if no tensor rotates
 *     Q_WEIGHTS, K_WEIGHTS   weights of norms that have no array
 *     BIASES                 biases of the projection
 *     PARAMETERS             a uniform buffer, which ropeWriteParameters fills from the description's arrays
 *     COUNTER                one uint32, which you clear (count_outside)
 *
 * POSITIONS and SLOT_MAP are bound from their beginnings. A destination must not overlap a source out of place, the
 * map, or another destination. Two tokens of a pass must not have the same slot.
 *
 * All tensors share one dispatch if limits.storage_buffers has room for their buffers. Otherwise, or for one of these
 * reasons, a tensor takes a dispatch of its own. The bits are the same, and no dispatch of a plan waits for another.
 *   - V: its elements move in other vectors than K's; or both are quantized and differ in head_dim, in element or in
 *     who gives the scale; or it lies by head ([heads][tokens][dim]) with other distances than K on the same side.
 *   - Q: the driver is one for CPUs; or its elements move in other vectors than K's; or only one of Q and K has a norm
 *     of all heads.
 *
 * Norms, biases, the scale of queries and caches of I8, float8 and blocks take heads of at most 1024 elements, with
 * head_dim a multiple of 4. 16-bit heads begin at even places. Caches of I8 or float8 have offsets and strides that are
 * multiples of 4. Blocks (Q8_0 and so on) have 32 elements: head_dim and the cache's offset and strides are multiples
 * of 32, and without ROPE_ENABLED_STORAGE_16 multiples of 64 in Q8_0, Q4_0, Q5_0 and IQ4_NL. A pass is fastest where
 * rotary_dim (and chunk_dim) is a multiple of 8, and where rotary_begin, offsets and strides are multiples of 4.
 *
 * Five passes, each with `RopeFusedDescription d = {0};` before it and `ropePlanFused(&d, &limits, &plan);` behind it.
 * `f` has frequencies, and `b` is a RopeBuffers. Every pass binds POSITIONS and FREQUENCIES too.
 *
 *     Llama 3 8B: float16 rows of 32 Q, 8 K and 8 V heads. Q rotates in place, K and V go to pages of 16 slots.
 *     d.tokens = tokens, d.head_dim = 128, d.element = ROPE_ELEMENT_F16, d.rotation.frequencies = f;
 *     d.q.heads = 32, d.k.heads = 8, d.v.heads = 8, d.packed_qkv = 1;
 *     d.cache.kind = ROPE_CACHE_PAGE_TABLE, d.cache.table_pages = 512;
 *     d.cache.slots = 16 * pages, d.cache.page_size = 16;
 *     d.cache.one_buffer = 1, d.v.to.offset = (uint64_t)d.cache.slots * 8 * 128;
 *     b.slots[ROPE_SLOT_Q] = qkv, b.slots[ROPE_SLOT_K_OUT] = pool, b.slots[ROPE_SLOT_SLOT_MAP] = table;
 *
 *     Qwen3 8B: float32 Q, K and V apart, norms with bfloat16 weights in the model's memory, float16 caches.
 *     d.tokens = tokens, d.head_dim = 128, d.rotation.frequencies = f;
 *     d.q.heads = 32, d.k.heads = 8, d.v.heads = 8;
 *     d.q.norm.kind = d.k.norm.kind = ROPE_NORM_RMS, d.q.norm.epsilon = d.k.norm.epsilon = 1e-6f;
 *     d.q.norm.weights_element = d.k.norm.weights_element = ROPE_ELEMENT_BF16;
 *     d.cache.kind = ROPE_CACHE_SLOTS, d.cache.slots = slots;
 *     d.k.element = d.v.element = ROPE_ELEMENT_F16;
 *     b.slots[ROPE_SLOT_Q] = q, b.slots[ROPE_SLOT_K] = k, b.slots[ROPE_SLOT_V] = v;
 *     b.slots[ROPE_SLOT_Q_WEIGHTS] = q_norm, b.slots[ROPE_SLOT_K_WEIGHTS] = k_norm;
 *     b.slots[ROPE_SLOT_K_OUT] = k_cache, b.slots[ROPE_SLOT_V_OUT] = v_cache, b.slots[ROPE_SLOT_SLOT_MAP] = map;
 *
 *     Ministral 3: queries scaled by their positions. Each sequence has a ring of 4096 slots, and there is no map.
 *     ropeMakeQueryScale(0.1, 16, scales, NULL);
 *     d.batch = batch, d.tokens = tokens, d.head_dim = 128, d.element = ROPE_ELEMENT_BF16;
 *     d.rotation.frequencies = f;
 *     d.q.heads = 32, d.k.heads = 8, d.v.heads = 8, d.packed_qkv = 1;
 *     d.query_scale.values = scales, d.query_scale.count = 16, d.query_scale.interval = 16384;
 *     d.cache.kind = ROPE_CACHE_RING, d.cache.slots = 4096;
 *     d.cache.one_buffer = 1, d.v.to.offset = (uint64_t)batch * 4096 * 8 * 128;
 *     ropeWriteParameters(&d, mapped, NULL); // after the plan: plan.bytes[ROPE_SLOT_PARAMETERS] bytes, once
 *     b.slots[ROPE_SLOT_Q] = qkv, b.slots[ROPE_SLOT_K_OUT] = rings, b.slots[ROPE_SLOT_PARAMETERS] = parameters;
 *
 *     ggml: K alone to a Q8_0 tensor by row numbers. ropePlanGgml makes such a description of ggml's nodes.
 *     d.tokens = tokens, d.head_dim = 128, d.rotation.frequencies = f;
 *     d.k.heads = 8, d.k.element = ROPE_ELEMENT_Q8_0;
 *     d.cache.kind = ROPE_CACHE_SLOTS, d.cache.slots = rows, d.cache.map_element = ROPE_POSITION_INT64;
 *     b.slots[ROPE_SLOT_K] = k, b.slots[ROPE_SLOT_K_OUT] = cache, b.slots[ROPE_SLOT_SLOT_MAP] = row_numbers;
 *
 *     DeepSeek V3: Q of 128 + 64 elements in place, beside the row of 512 + 64, whose 512 are normed.
 *     d.tokens = tokens, d.head_dim = 192, d.element = ROPE_ELEMENT_BF16;
 *     d.rotation.frequencies = f, d.rotation.rotary_dim = 64, d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
 *     d.q.heads = 128, d.q.rotary_begin = 128;
 *     d.k.heads = 1, d.k.head_dim = 576, d.k.rotary_begin = 512;
 *     d.k.norm.kind = ROPE_NORM_RMS, d.k.norm.epsilon = 1e-6f, d.k.norm.dim = 512;
 *     d.cache.kind = ROPE_CACHE_PAGE_TABLE, d.cache.table_pages = 256;
 *     d.cache.slots = 64 * pages, d.cache.page_size = 64;
 *     b.slots[ROPE_SLOT_Q] = q, b.slots[ROPE_SLOT_K] = latent, b.slots[ROPE_SLOT_K_WEIGHTS] = latent_norm;
 *     b.slots[ROPE_SLOT_K_OUT] = pool, b.slots[ROPE_SLOT_SLOT_MAP] = table; */

typedef enum RopeNormKind {
    ROPE_NORM_NONE = 0,
    ROPE_NORM_RMS = 1,   /* x / sqrt(mean of x*x + epsilon), times the weight; without weights Llama 4's "L2Norm" */
    ROPE_NORM_L2 = 2,    /* x / sqrt(sum of x*x + epsilon), times the weight */
    ROPE_NORM_LAYER = 3, /* (x - mean) / sqrt(mean of (x - mean)*(x - mean) + epsilon), times the weight, plus the bias:
                            Cohere, StableLM, Persimmon; each head by itself */
    ROPE_NORM_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeNormKind;

/* A norm takes all of a head, or `dim` elements from `begin` on; the other elements pass. GPUs load weights faster from
 * the buffer than from an array, and four at a time if the offset and both strides are multiples of four. The layers of
 * a model share a pipeline: the offset is no constant of it. */
typedef struct RopeNorm {
    RopeNormKind kind;
    float epsilon;        /* finite, 0 or more */
    uint32_t after;       /* 0: before the rotation (Qwen3, Gemma 3, OLMo 2). 1: after it (HunYuan, Llama 4) */
    uint32_t all_heads;   /* 0: each head by itself. 1: all heads of a token together (OLMo 2, MiniMax-M2) */
    uint32_t begin;       /* the first element of the head that the norm takes, a multiple of 4 */
    uint32_t dim;         /* elements that it takes, a multiple of 4; 0: all from `begin` on */
    uint32_t no_weights;  /* 1: the norm has no weights (Llama 4, Gemma's V) */
    const float* weights; /* your array, in the order of the elements that it meets (after: of pairing_out), which
                             ropeWriteParameters copies. Null: the weights lie in buffer Q_WEIGHTS or K_WEIGHTS, and V
                             is refused */
    const float* biases;  /* LAYER: your array beside `weights`; null: none */
    RopeElement weights_element;   /* in the buffer: F32 (0 too), F16 or BF16, widened to float32 */
    uint64_t weights_offset;       /* in the buffer: elements before the first weight, odd ones too: at most 2^33 */
    uint64_t weights_head_stride;  /* from one head's weights and biases to the next head's; 0: heads share them, with
                                      all_heads `dim`. In an array it is 0 or `dim` */
    uint64_t weights_token_stride; /* in the buffer: from one token's weights to the next token's, the same in every
                                      batch; 0: tokens share them */
    float weight_plus;             /* added to each weight: 1 for Gemma */
} RopeNorm;

/* Queries are multiplied by values[floor((position + offset) / interval)], with the position on axis 0 without its
 * fraction. Before the first value, and without a position, the first value is taken; behind the last value the last
 * one is. */
typedef struct RopeQueryScale {
    const float* values;
    uint32_t count;    /* 0: no such scale */
    uint32_t interval; /* positions of one value, 1 or more: Llama 4's floor_scale, Ministral 3's original length */
    uint32_t offset;   /* Llama 4: 1; Ministral 3: 0; less than 2^31 */
} RopeQueryScale;

/* Writes values[i] = 1 + beta * ln(1 + i), each rounded once, the same on every platform. It is both models' formula:
 * beta is Llama 4's attn_scale and Ministral 3's llama_4_scaling_beta. |beta| is at most 2^20, and count is from 1 to
 * 65536. */
ROPE_API RopeResult ropeMakeQueryScale(double beta, uint32_t count, float* values, RopeReason* reason);

/* The kind tells where a token's K and V go. A token whose slot is outside the cache writes nothing and is counted. If
 * slots go by the position, a token with a negative position, or with a value that is no position, writes nothing and
 * is counted too. A token with a slot of -1 (SLOTS) writes nothing and is not counted. A token of no packed sequence
 * has no slot. Two tokens of one pass must not take one slot. Each packed sequence has its cache, or its row of the
 * table.
 *
 * A ring takes a prefill of any length in one plan. A token that has `slots` or more tokens behind it in its sequence
 * of this pass writes nothing and is not counted, so that the last `slots` tokens stay. The length of a sequence is
 * that of the packed sequence, or the count of tokens (tokens_counted), or `tokens`. The tokens of a sequence that is
 * longer than its ring stand at consecutive positions, one after the other. Q is not concerned. */
typedef enum RopeCacheKind {
    ROPE_CACHE_NONE = 0,
    ROPE_CACHE_SLOTS = 1,      /* a slot for each token (ggml's row numbers), from the slot map at map_offset:
                                  [batch][tokens] */
    ROPE_CACHE_POSITIONS = 2,  /* its position on axis 0, in a cache for each sequence */
    ROPE_CACHE_RING = 3,       /* the position modulo slots (sliding windows), in a cache for each sequence. With more
                                  tokens than slots each sequence's last `slots` tokens are written: see above */
    ROPE_CACHE_PAGE_TABLE = 4, /* in page table[sequence][position / page_size]; the table of int32 or int64 is the
                                  slot map at map_offset: [batch][table_pages] */
    ROPE_CACHE_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeCacheKind;

typedef enum RopeCacheOrder {
    ROPE_CACHE_NHD = 0, /* [page][slot][head][element]; POSITIONS and RING: each sequence has such a cache */
    ROPE_CACHE_HND = 1, /* [page][head][slot][element] */
    ROPE_CACHE_ORDER_MAX_ENUM = 0x7FFFFFFF
} RopeCacheOrder;

/* This is the layout of one tensor of a cache, in elements. If all strides are 0, it is packed in the cache's order.
 * With blocks, the numbers count the elements that the blocks hold, and are multiples of 32. */
typedef struct RopeCacheLayout {
    uint64_t offset;
    uint64_t batch_stride; /* POSITIONS and RING: from a sequence's cache to the next; else not read */
    uint64_t page_stride;  /* with pages */
    uint64_t token_stride;
    uint64_t head_stride;
} RopeCacheLayout;

/* The host gives this scale of a float8 tensor. It lies in PARAMETERS, so layers share a plan. */
typedef struct RopeCacheScale {
    const float* values;
    uint32_t count;      /* 0: each slot and head has a scale of its own, which the pass finds and stores; 1: all heads
                            have the same; or as many as the tensor has heads. Each is from 2^-100 to 2^100 */
    uint32_t multiplies; /* 0: elements are x / scale. 1: x * scale */
} RopeCacheScale;

/* This is one tensor of a fused pass: Q, K or V. */
typedef struct RopeFusedTensor {
    uint32_t heads;        /* 0: the pass has no such tensor */
    uint32_t head_dim;     /* elements of a head; 0: the description's */
    uint32_t rotary_begin; /* element of a head where the rotary part starts; 0: rotation.rotary_begin. V: not read */
    uint32_t no_rotation;  /* 1: does not rotate, and its elements keep their order (layers without RoPE). V never
                              rotates. If no tensor does, source and operation are not read */
    RopeLayout from;
    RopeCacheLayout to;   /* in place: not read. A slot of a cache is a token; without a cache there are no pages */
    RopeElement element;  /* what it is written as: in a cache any element, else a float; 0: the description's. In place
                             no other */
    uint32_t bias;        /* 1: the projection's biases [heads][head_dim] are added as the tensor is loaded (Qwen2,
                             GPT-NeoX, Phi). Each sum is rounded to float32 once. They lie in ROPE_SLOT_BIASES */
    uint64_t bias_offset; /* elements before the first bias, a constant of the pipeline: layers share one if the
                             RopeBuffer's offset leads to each layer's biases */
    RopeNorm norm;
    uint32_t hadamard; /* elements of a block, a power of two from 16 to 512 that divides the head; 0: none. Each block
                          is multiplied by Hadamard's matrix over the root of its elements (llama.cpp's caches: Q and K
                          the same, V its own). SHIFT undoes it first */
    RopeCacheLayout stored_scales; /* K and V in I8, or in float8 without a given scale: where the float32 scales lie in
                                      the cache's buffer, which the offset counts in float32s; all strides 0: packed in
                                      the cache's order with heads of one element. They must not overlap the elements */
    RopeCacheScale given_scale;    /* K and V in float8 */
} RopeFusedTensor;

/* One binding spans the cache of each tensor, or of both tensors in one buffer. A larger cache takes a pass of K and V
 * for each of its parts, with SLOTS and a slot map of the part's own: -1 where a token's slot lies in another part. */
typedef struct RopeCache {
    RopeCacheKind kind;
    RopeCacheOrder order;
    uint32_t slots;     /* in all pages together; POSITIONS and RING: of one sequence. At most 2^30 */
    uint32_t page_size; /* slots in one page, slots a multiple of it; 0: no pages, PAGE_TABLE has them always */
    RopePositionElement map_element; /* INT32 or INT64, of slots or table */
    uint32_t map_in_positions; /* 0: slots or table lie in SLOT_MAP. 1: in POSITIONS, behind or before the positions,
                                  which saves a storage buffer */
    uint64_t map_offset;       /* elements of that kind from the beginning of the buffer. In POSITIONS what is read of
                                  the positions, the slot map and the count of tokens may not overlap */
    uint64_t map_batch_stride; /* 0: tokens, or table_pages. One for all token counts lets their plans share
                                  pipelines */
    uint32_t table_pages;      /* PAGE_TABLE: pages of one sequence */
    uint32_t one_buffer; /* 1: V's cache is in K_OUT too, from v.to.offset on (slots * k.heads * k.head_dim, and as
                            many for each sequence of POSITIONS and RING), else in V_OUT */
    int32_t delta;       /* operation SHIFT: positions by which each key turns; 0 with SLOTS: each by its position.
                            K then turns where it lies in the cache, without Q and V. Quantized elements are widened
                            to float32 (an integer times d, plus the minimum; float8 times its scale, or over it),
                            turned, and quantized again as above, with new scales or the given ones; a token that
                            does not turn is left as it lies. With several sets of frequencies a token without a
                            valid position does not turn by `delta` either. Each shift rounds once more, and equal
                            shifts err alike: shift seldom and far */
} RopeCache;

/* This is a fused pass. COUNTER gets one for each token that should turn and has no position, or a position outside the
 * table, or that has no slot in the cache. With rows as source the lengths of packed sequences are read for a cache, a
 * window or a scale of queries alone. A token behind the last sequence then turns in no tensor; without any of these
 * all tokens turn. Heads may lie apart by exactly all tokens, as in [batch][heads][tokens][dim]: their distance then
 * grows with the tokens, and is no constant of a pipeline. */
typedef struct RopeFusedDescription {
    uint32_t batch; /* 0: 1 */
    uint32_t tokens;
    uint32_t head_dim;   /* of tensors that do not say their own; 1 or more, also if all do */
    RopeElement element; /* of Q, K and V as they are read; 0: float32 */
    RopeRotation rotation;
    RopePositions positions;
    RopeFusedTensor q, k, v;
    uint32_t out_of_place; /* 0: a tensor without a cache is written in place. 1: to Q_OUT, K_OUT, V_OUT, which must not
                              overlap the sources */
    uint32_t count_outside; /* add 1 to COUNTER for each token without a position or a slot: see above */
    RopeTuning tuning;
    RopeElement bias_element; /* of BIASES: F32 (0 too), F16 or BF16, widened to float32 */
    float clip; /* each element of Q, K and V is limited to [-clip, clip], NaN stays: OLMo's and DBRX's clip_qkv; more
                   than 0, and finite; 0: none */
    RopeQueryScale query_scale;
    RopeCache cache;
    uint32_t packed_qkv;     /* 1: K and V are read from slot Q, by sources of their own. All strides of all three 0:
                                [batch][token][Q heads, then K heads, then V heads], offsets beside that. In place, and
                                without a cache, V stays as it lies, but for biases, clip and
                                its norm */
    uint32_t tokens_counted; /* 1: POSITIONS has the count of tokens that are there in each sequence, a plain integer of
                                positions.element (int32 for floats), at element tokens_offset. A negative count is
                                none, a count above `tokens` is all. The other tokens are not touched, and not counted.
                                Packed positions take no count: their lengths say it */
    uint64_t tokens_offset;
    uint64_t tokens_batch_stride; /* elements from one sequence's count of tokens to the next one's; 0: all have the
                                     same count */
} RopeFusedDescription;

/* Writes what PARAMETERS holds: the weights of norms, the values of the scale of queries, and the given scales of K and
 * V, as float32. Weights that lie on the device are not among them. The bytes are plan.bytes[ROPE_SLOT_PARAMETERS], the
 * same for every plan of the same norms and scales. */
ROPE_API RopeResult ropeWriteParameters(const RopeFusedDescription* description, void* destination, RopeReason* reason);

/* ---- Plans: pure; every refusal, size and word is decided here -------------------------------------------------- */

/* The caller's buffers. */
typedef enum RopeSlot {
    ROPE_SLOT_POSITIONS = 0,
    ROPE_SLOT_FREQUENCIES = 1, /* from ropeWriteFrequencies or ropePlanFactors, for the angle of the plan */
    ROPE_SLOT_ROWS = 2,
    ROPE_SLOT_Q = 3, /* with relative vectors of values the attention's weights */
    ROPE_SLOT_K = 4,
    ROPE_SLOT_Q_OUT = 5,
    ROPE_SLOT_K_OUT = 6,
    ROPE_SLOT_COUNTER = 7, /* also the self-test's result */
    ROPE_SLOT_V = 8,
    ROPE_SLOT_V_OUT = 9,
    ROPE_SLOT_PARAMETERS = 10, /* a uniform buffer */
    ROPE_SLOT_X = 11,          /* what the other encodings add to: embeddings, scores, an attention's output */
    ROPE_SLOT_X_OUT = 12,
    ROPE_SLOT_FACTORS = 13,         /* float32, what frequencies are divided by */
    ROPE_SLOT_FREQUENCIES_OUT = 14, /* the quotients: FREQUENCIES of the plans that follow */
    ROPE_SLOT_SLOT_MAP = 15,        /* slots or page table */
    ROPE_SLOT_Q_WEIGHTS = 16,       /* of Q's norm */
    ROPE_SLOT_K_WEIGHTS = 17,       /* of K's norm */
    ROPE_SLOT_BIASES = 18,          /* of the projection */
    ROPE_SLOT_COUNT = 19
} RopeSlot;

ROPE_API const char* ropeSlotName(RopeSlot slot); /* "positions" and so on; never null */

#define ROPE_BINDING_COUNT 13u   /* of set 0: storage buffers, but for */
#define ROPE_BINDING_UNIFORM 12u /* this one; a dispatch binds a few of them */
#define ROPE_CONSTANT_COUNT 146u /* specialization constants, ids 0 to 145, 4 bytes each */
#define ROPE_PUSH_WORDS 32u      /* push constants, 128 bytes from offset 0 */
#define ROPE_MAX_PASSES 4u
#define ROPE_PART_AXES 3u /* batches, tokens, heads */

typedef struct RopeShader {
    const char* name;
    const uint32_t* words; /* SPIR-V 1.3 for Vulkan 1.1, entry point "main" */
    size_t bytes;
    uint32_t needs; /* ROPE_ENABLED_ bits that the device must have */
} RopeShader;

/* This is one binding of one pass: the slot that it takes, and where its elements lie for each batch, token and head.
 * Without an extent the pass neither reads nor writes it, and nothing is bound there. A pass in place binds its tensor
 * once, as what it writes. */
typedef struct RopeAccess {
    uint32_t slot;
    uint32_t element_bytes;
    uint64_t offset;                 /* elements */
    uint64_t stride[ROPE_PART_AXES]; /* elements per batch, token and head */
    uint64_t extent;                 /* elements that one batch, token and head reaches over */
} RopeAccess;

/* This is what a rotation or a fused pass is made of: its tensors are Q, K and V. */
typedef struct RopePassFacts {
    uint32_t heads[3];       /* 0: the pass does not take the tensor */
    uint32_t elements[3];    /* that the tensors become: RopeElement */
    uint32_t from[3], to[3]; /* their bindings */
    uint64_t from_begin[3];  /* elements of a binding's slot before the tensor */
    uint64_t to_begin[3];
    uint32_t to_sequence[3]; /* from a sequence's cache to the next, where a part binds the caches of all sequences */
    uint32_t scale_sequence[2]; /* the same of stored scales */
    uint32_t position_token;    /* elements from a token's position to the next token's */
    uint32_t count_batch;       /* and from a sequence's count of tokens to the next one's */
    uint32_t stages;            /* what it does to them */
    uint32_t words;             /* how a dispatch completes the push words */
    uint32_t cache;             /* RopeCacheKind */
} RopePassFacts;

/* A pass is one shader over one tensor, over both of a rotation, or over all of a fused pass. It becomes as many
 * dispatches as the product of its parts: more than one if a tensor spans more than a binding or a dispatch may hold.
 */
typedef struct RopePass {
    const RopeShader* shader;
    uint32_t constants[ROPE_CONSTANT_COUNT];
    uint32_t push[ROPE_PUSH_WORDS]; /* of a whole part; ropeGetDispatch completes them */
    uint32_t count[ROPE_PART_AXES]; /* batches, tokens, heads; of both tensors of a rotation 1 head */
    uint32_t step[ROPE_PART_AXES];  /* of them in one part */
    uint32_t parts[ROPE_PART_AXES];
    uint32_t group_size;
    uint32_t heads_per_thread;
    uint32_t tokens_per_thread;
    uint32_t address_unit;   /* the source's and the destination's push words count so many as one */
    uint32_t group[3];       /* lanes, blocks of heads and tokens of one group */
    uint32_t lane_parts;     /* groups that one head's lanes take */
    uint32_t blocks;         /* of heads, of a pass of several tensors; 0: as many as push.heads make */
    uint32_t sequences;      /* of packed positions; 0: they are not packed */
    uint32_t joinable;       /* 1: sequences that follow each other as tokens do may be taken as one */
    uint32_t joined_tokens;  /* tokens of each sequence, where such sequences are taken as one; else 0 */
    uint32_t whole_bindings; /* bit i: binding i is a list of positions or slots, a table or a norm's weights, of which
                                every part binds all; its strides are constants and push words */
    uint32_t cache_bindings; /* bit i: binding i is a cache */
    uint32_t bindings;       /* bit i: the pass reads or writes binding i */
    uint32_t dispatches;     /* that it becomes */
    uint32_t pipeline_hash;  /* of shader, constants and bindings: a context finds the pipeline by it */
    RopePassFacts facts;
    RopeAccess access[ROPE_BINDING_COUNT];
} RopePass;

/* A plan is a value: zero-padded, comparable, copyable, needing no release. It points at shaders and functions of the
 * library, so it serves in the process that made it, as long as the library is loaded. A plan of another version is
 * refused by its first word. */
typedef struct RopePlan {
    uint32_t version; /* ROPE_VERSION of the library that made it; 0: refused, or never made */
    uint32_t pass_count;
    RopePass passes[ROPE_MAX_PASSES];
    RopeLimits limits; /* that it was made for. A context refuses a plan that takes more than the context has: bytes,
                          groups, threads of a group, buffers or `enabled` bits. It also refuses a plan for a smaller
                          storage_alignment than its own. uniform_alignment is not compared: recording checks the offset
                          of PARAMETERS by the context's. `enabled` has the bits that the plan's shaders need, never
                          NATIVE_HALVES; `threads` is 0 */
    uint64_t bytes[ROPE_SLOT_COUNT]; /* what each slot's buffer must offer from its offset on; 0: not used */
    RopeReason reason;               /* why it was refused; empty on success */
} RopePlan;

/* These fill *plan, or refuse with a result and plan->reason. A refused plan has no pass. Null `limits` are
 * ropeMinimumLimits' own. */
ROPE_API RopeResult ropePlanTable(const RopeTableDescription* description, const RopeLimits* limits, RopePlan* plan);
ROPE_API RopeResult ropePlanFactors(const RopeFactorsDescription* description, const RopeLimits* limits,
                                    RopePlan* plan);
ROPE_API RopeResult ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits, RopePlan* plan);
/* Makes plans for ropePrepare before the first token. Together they take every pipeline that ropePlanRotate's plans
 * take for the description with any number of tokens from `least` to `most`, whatever description->tokens says. The
 * call writes up to ROPE_MAX_RANGE_PLANS plans, and their number to *plan_count. It refuses if a plan of `least` or of
 * `most` tokens is refused, with the reason in plans[0]. It refuses with ROPE_ERROR_TOO_LARGE if more plans are needed.
 * Most models take one pipeline for few tokens and another for many on a GPU: many are 384 tokens or more, those of all
 * sequences together. 16-bit tensors that turn by rows or a table take a third on a GPU, from 16 384 tokens on. One
 * token alone may fit wider lanes, a counted token may leave the table, and tensors may go apart: each adds some. */
#define ROPE_MAX_RANGE_PLANS 8u
ROPE_API RopeResult ropePlanRotateRange(const RopeRotateDescription* description, uint32_t least, uint32_t most,
                                        const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS],
                                        uint32_t* plan_count);
ROPE_API RopeResult ropePlanFused(const RopeFusedDescription* description, const RopeLimits* limits, RopePlan* plan);
/* Makes such plans for ropePlanFused. Offsets of lists in POSITIONS must leave room for the positions of `most` tokens.
 * A model with its cache takes one or two pipelines: one for Q, K and V, or one for Q and one for K and V. One token
 * alone may fit wider lanes, sequences may grow longer than their ring, a counted token may leave the table, and Q may
 * go apart: each adds some. */
ROPE_API RopeResult ropePlanFusedRange(const RopeFusedDescription* description, uint32_t least, uint32_t most,
                                       const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS],
                                       uint32_t* plan_count);
/* Plans a node of ggml's graph. ropeReadGgml has filled in the rotation, which is not read without positions. Its
 * operation is the node's and is not read, and neither are frequencies.values. The tensors' elements lie beside each
 * other (nb[0]); their other strides are free. A refusal names a member of the node, or of the description that the
 * node means. The plan takes one dispatch, or more if a device is too small. */
ROPE_API RopeResult ropePlanGgml(const RopeGgmlNode* node, const RopeRotation* rotation, const RopeLimits* limits,
                                 RopePlan* plan);
ROPE_API RopeResult ropePlanAdd(const RopeAddDescription* description, const RopeLimits* limits, RopePlan* plan);
ROPE_API RopeResult ropePlanBias(const RopeBiasDescription* description, const RopeLimits* limits, RopePlan* plan);
ROPE_API RopeResult ropePlanRelative(const RopeRelativeDescription* description, const RopeLimits* limits,
                                     RopePlan* plan);

/* The self-test does a few float32 operations whose results tell how the device rounds: sums, products, and pairs
 * turned as a rotation turns them, by the units that turn them. The dispatch also converts every float16 to float32 by
 * unpackHalf2x16, and 800 000 floats, sums and products to float16 by packHalf2x16: some compilers make one operation
 * of a sum and its conversion, which rounds once. It counts the results that are not the library's. Writes
 * ROPE_SELF_TEST_WORDS uint32 to COUNTER. Read them back and give them to ropeReadSelfTest and to
 * ropeEnabledBySelfTest. */
#define ROPE_SELF_TEST_WORDS 20u
ROPE_API RopeResult ropePlanSelfTest(const RopeLimits* limits, RopePlan* plan);

typedef enum RopeRounding {
    ROPE_ROUNDING_UNKNOWN = 0, /* no self-test was reported */
    ROPE_ROUNDING_NEAREST = 1, /* the rotation's bits are the promised ones */
    ROPE_ROUNDING_OTHER = 2,   /* accurate, but the last bit may differ from other devices */
    ROPE_ROUNDING_MAX_ENUM = 0x7FFFFFFF
} RopeRounding;
/* Returns what the self-test's words say of the device's rounding, for ropeSetRounding. They say nothing of denormal
 * float32s, which a device may take for 0: no bit of these is promised. */
ROPE_API RopeRounding ropeReadSelfTest(const uint32_t words[ROPE_SELF_TEST_WORDS]);
/* Returns ROPE_ENABLED_NATIVE_HALVES if the words say that the device converted everything as the library does, else 0.
 * Add the bit to limits.enabled before you plan. Plans then may let the device convert float16, which is faster. No bit
 * of a result changes, but for the payload of a NaN. A context need not know the bit: no plan keeps it in its limits,
 * so a context made before the self-test takes these plans. No context refuses them either: a plan made with one
 * device's bit is for that device, with the driver that was tested. */
ROPE_API uint32_t ropeEnabledBySelfTest(const uint32_t words[ROPE_SELF_TEST_WORDS]);

/* Returns 1 if both plans are the same in every byte, 0 if not, and 0 if either is null. */
ROPE_API int ropePlansEqual(const RopePlan* a, const RopePlan* b);

/* Prints the plan as text, a few lines that end in a newline. It writes at most `size` bytes, the terminating zero
 * among them, and returns how many bytes the whole text takes without the zero, as snprintf does. */
ROPE_API size_t ropePrintPlan(const RopePlan* plan, char* buffer, size_t size);

/* ---- A dispatch as plain data, for engines that own their pipelines and descriptors ------------------------------
 *
 * This is all that such an engine has to know:
 *
 *   - A pipeline serves every dispatch that has the same shader, the same constants and the same bindings with a range.
 *     The shader, the constants and the numbers of the bound bindings are its key. The push words, the groups, the
 *     slots, offsets and ranges may differ.
 *   - The pipeline's layout has ROPE_PUSH_WORDS push constants from offset 0. Each dispatch pushes all of them.
 *   - The index of a binding is its number in set 0. ROPE_BINDING_UNIFORM is a uniform buffer, all others are storage
 *     buffers. Biases of T5 have the uniform buffer, and fused passes with a scale of queries, given scales, or weights
 *     of norms in arrays.
 *   - A binding whose range is 0 is neither read nor written. The words of ropeSpecialize do not declare it. A layout
 *     of your own may have its number: a buffer there is not used. The shader as it is declares more (ropeSpecialize).
 *   - The constants may be handed on whole, id i as constants[i]: Vulkan ignores ids that a shader lacks. The words of
 *     ropeSpecialize take none, and are read only while the pipeline is made.
 *   - A slot's own offset is a multiple of the device's alignment. The bytes behind such a multiple go into the
 *     layout's offset, in elements, and binding.offset is added to the slot's.
 *   - No binding ends (offset + range) beyond plan.bytes of its slot, rounded up to 4 bytes. A dispatch of the groups
 *     that ropeGetDispatch or ropeCmdExecuteIndirect allow stays inside its bindings, whatever these hold. So its
 *     pipeline may go without a driver's checks of bounds (VK_EXT_pipeline_robustness).
 *   - ropeWriteFrequencies' words depend on values, count, sets and angle: these are the key to cache them by.
 *   - shader->needs has the ROPE_ENABLED_ features that the shader takes. A plan has such a shader only where
 *     limits.enabled has them.
 *   - The barriers before and behind a plan are those of ropeCmdExecute. COUNTER is cleared before a plan that counts.
 *   - Neither planning nor ropeGetDispatch allocates; both may stand in a frame. */

typedef struct RopeBinding {
    RopeSlot slot;
    uint64_t offset; /* bytes from the slot's own offset, a multiple of limits.storage_alignment */
    uint64_t range;  /* bytes; 0: nothing is bound there, and the slot means nothing */
} RopeBinding;

typedef struct RopeDispatch {
    const RopeShader* shader;
    uint32_t constants[ROPE_CONSTANT_COUNT]; /* constant id i has the value constants[i]; a shader may lack some ids */
    RopeBinding bindings[ROPE_BINDING_COUNT];
    uint32_t push[ROPE_PUSH_WORDS];
    uint32_t groups[3];
} RopeDispatch;

/* The dispatches of a plan may run in any order and need no barrier between them. (If Q and K have dispatches of their
 * own and lie interleaved in one buffer, or if the parts of one tensor do, their bindings overlap, though no byte does.
 * Synchronization validation may take that for a hazard. Plans of Q and of K alone, with a barrier between them, keep
 * it quiet.) There is no dispatch at an index from the count on: *dispatch is then zeroed. A plan that was refused, or
 * a plan of another version, has no dispatch. */
ROPE_API uint32_t ropeDispatchCount(const RopePlan* plan);
ROPE_API void ropeGetDispatch(const RopePlan* plan, uint32_t index, RopeDispatch* dispatch);

/* Writes the SPIR-V of a dispatch with its constants folded in. It is for engines that know no specialization
 * constants, and for compilers that keep code which a constant rules out. A context's pipelines are made of it. A
 * layout of the dispatch's own bindings serves it: a storage buffer that the dispatch does not bind is named only by
 * code that a constant rules out, and gets a number that the dispatch binds. `words` has room for
 * dispatch->shader->bytes, and the shader is one of the library's. The call returns the bytes written, 0 for a null.
 *
 * A shader taken as it is, with specialization constants, declares more storage buffers than a dispatch binds: up to 6
 * in a rotation, and all 12 and the uniform buffer in a fused pass. The layout must have them too: one of all 12 and
 * the uniform buffer serves every shader. A host binds there what the nearest bound number below has, or the nearest
 * above, and any uniform buffer. That buffer is neither read nor written there, but synchronization validation may take
 * another buffer for a hazard. A device that has fewer takes the folded SPIR-V, which names no uniform buffer that the
 * dispatch does not bind. */
ROPE_API size_t ropeSpecialize(const RopeDispatch* dispatch, uint32_t* words);

/* Writes the groups that the dispatch takes for the first `tokens` tokens (of each sequence) of those that were
 * planned. A group has several tokens, so the last group may take some behind the first `tokens`: in place they turn
 * too, and a cache takes them. With tokens_counted nothing happens to them. A long ring needs tokens_counted, for it
 * keeps the last tokens of those that were planned. For more tokens the dispatch takes as many groups as for all. The
 * call writes 0 groups if none of the dispatch's tokens are there, or if there is no such dispatch. Some plans take
 * sequences that lie one after the other as one sequence, and always take as many groups as for all: tables, plain
 * rotations, additions, and biases and relative vectors of one head. */
ROPE_API void ropeGroups(const RopePlan* plan, uint32_t index, uint32_t tokens, uint32_t groups[3]);

/* ---- Context: pipelines on a borrowed device ----------------------------------------------------------------------
 */

typedef struct RopeContextInfo {
    VkDevice device;
    PFN_vkGetDeviceProcAddr get_device_proc_addr;
    VkPipelineCache pipeline_cache;         /* optional. Where ropePrepare runs on several threads, it was made without
                                               VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT */
    const VkAllocationCallbacks* allocator; /* optional; for the context itself and its Vulkan objects */
    RopeLimits limits;                      /* from ropeLimitsFromDevice */
} RopeContextInfo;

typedef struct RopeContext RopeContext;

/* Allocates the context, and makes nothing of Vulkan's: a pipeline comes with its layouts. On failure *context is null
 * and nothing is left behind. The result is VK_ERROR_OUT_OF_HOST_MEMORY where the allocation failed, and
 * VK_ERROR_INITIALIZATION_FAILED where a pointer is null, limits.storage_range or a limits.group_count is 0, an
 * alignment is no power of two, or the device lacks a function. Plans refuse the same limits. With
 * ROPE_ENABLED_DEBUG_UTILS in limits.enabled layouts and pipelines are named for tools, "vkrope rotate_wide" and so on,
 * and every plan is recorded inside a label of its shader's name; without it none of the extension's functions is asked
 * for. */
ROPE_API VkResult ropeCreateContext(const RopeContextInfo* info, RopeContext** context);

/* No command buffer that uses the context's pipelines may be pending. Null is allowed. */
ROPE_API void ropeDestroyContext(RopeContext* context);

/* Makes the pipelines that the plans will use and that are not there yet, each with a descriptor set layout and a
 * pipeline layout of the bindings that its dispatches have. The call allocates, and compiles each pipeline for
 * milliseconds: make it at start-up or on a worker thread, not in a frame. Plans of other sizes often share pipelines.
 * A plan that recording would refuse is refused here: VK_ERROR_FEATURE_NOT_PRESENT where it takes more than the
 * context's limits, VK_ERROR_INITIALIZATION_FAILED where it was refused or is of another version; `reason`, which may
 * be null, says so. The plans before that plan are then prepared. Any other result is Vulkan's, or
 * VK_ERROR_OUT_OF_HOST_MEMORY where the host's allocation failed. */
ROPE_API VkResult ropePrepare(RopeContext* context, const RopePlan* plans, uint32_t plan_count, RopeReason* reason);

/* These set and return ropeReadSelfTest's finding. The context only keeps it. */
ROPE_API void ropeSetRounding(RopeContext* context, RopeRounding rounding);
ROPE_API RopeRounding ropeGetRounding(const RopeContext* context);

/* ---- Recording ------------------------------------------------------------------------------------------------------
 */

typedef struct RopeBuffer {
    VkBuffer buffer;     /* with VK_BUFFER_USAGE_STORAGE_BUFFER_BIT; PARAMETERS with UNIFORM_BUFFER_BIT */
    VkDeviceSize offset; /* a multiple of minStorageBufferOffsetAlignment, and PARAMETERS' of
                            minUniformBufferOffsetAlignment; finer ones go into a layout's offset */
} RopeBuffer;

typedef struct RopeBuffers {
    RopeBuffer slots[ROPE_SLOT_COUNT];
    const VkDescriptorSet* sets; /* from ropeAllocateSets; only where the device has no push descriptors */
} RopeBuffers;

/* Allocates ropeDispatchCount(plan) sets from your pool, outside the frame, and points them at the buffers: for devices
 * without push descriptors. ropePrepare comes first: a set has the layout of its dispatch's pipeline. A set takes as
 * many descriptors as its dispatch binds: at most ROPE_BINDING_COUNT - 1 of type storage buffer and one of type uniform
 * buffer. The sets live as long as your pool, also those made before a failure. The result is
 * VK_ERROR_INITIALIZATION_FAILED where recording would refuse the plan or the buffers, also a plan that is not
 * prepared, and VK_ERROR_FEATURE_NOT_PRESENT where push descriptors are enabled. `buffers->sets` is not read.
 * rope::KeptSets in rope.hpp makes the pools too, keeps the sets and uses them again. */
ROPE_API VkResult ropeAllocateSets(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers,
                                   VkDescriptorPool pool, VkDescriptorSet* sets);

/* Points sets of ropeAllocateSets at other buffers, which costs less than new sets. They are `buffers->sets`, and were
 * allocated for this plan or for others: a set serves every dispatch that binds the same bindings, those whose range is
 * not 0 (ropeGetDispatch). No command buffer in which they are bound may be pending; those still to be submitted are
 * invalid from then on, as vkUpdateDescriptorSets says. The result is as ropeCmdExecute's, and ROPE_ERROR_INVALID where
 * push descriptors are enabled. */
ROPE_API RopeResult ropeUpdateSets(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers);

/* Records the plan: for each dispatch binds a compute pipeline, set 0 and 128 bytes of push constants, and dispatches.
 * Nothing is recorded unless the result is ROPE_SUCCESS. The plan, the buffers and their offsets are checked first, in
 * some nanoseconds. The host answers for what these cannot show: the buffers' sizes, and all overlaps but one: a tensor
 * that goes out of place is refused where its source and destination begin at one byte of one buffer, which is the
 * slot's offset plus the layout's. Caches are not compared.
 *   Before: make the buffers that it reads visible to VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT,
 *           PARAMETERS to VK_ACCESS_UNIFORM_READ_BIT, and what last touched those that it writes available to
 *           VK_ACCESS_SHADER_READ_BIT | SHADER_WRITE_BIT.
 *   After:  make what it wrote visible from that stage's VK_ACCESS_SHADER_WRITE_BIT. Making a table is such a write:
 *           a rotation that reads the table needs a barrier behind it. Work that writes what the plan read, as the next
 *           step's positions, waits for that stage: an execution dependency is enough.
 *   Clobbers: the compute bind point's pipeline, its set 0 and layout, and the push constants. */
ROPE_API RopeResult ropeCmdExecute(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                                   const RopeBuffers* buffers);

/* Does the same with the group counts in a buffer (with VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT). The buffer has a
 * VkDispatchIndirectCommand for each dispatch of the plan, from `offset` on, a multiple of 4. Write them with
 * ropeGroups before the command buffer is executed. So one recording serves every step of a decoder, with
 * tokens_counted where no token behind the step's may be touched. The first count may be more than the plan's, as long
 * as threads are fewer than 2^31, and groups of a bias fewer than 2^20: no token beyond the planned ones is touched,
 * nor, with tokens_counted, beyond the count. The second and third must be those of ropeGroups.
 *   Before also: make the counts visible to VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, VK_ACCESS_INDIRECT_COMMAND_READ_BIT.
 *   After also: work that writes the counts waits for VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT. */
ROPE_API RopeResult ropeCmdExecuteIndirect(VkCommandBuffer command_buffer, const RopeContext* context,
                                           const RopePlan* plan, const RopeBuffers* buffers, VkBuffer groups,
                                           VkDeviceSize offset);

/* ---- On the CPU
 * ------------------------------------------------------------------------------------------------------- */

/* Computes the shaders' own cos and sin of one pair, bit for bit, in integers. `position` is in 2^-32ths, `frequency`
 * one pair of ropeWriteFrequencies: 4 words. cos_sin[0] is the cosine. Both are NaN if the words are not of that
 * angle. */
ROPE_API void ropeShaderAngle(int64_t position, const uint32_t frequency[4], double scale, RopeAngle angle,
                              float cos_sin[2]);

/* The CPU carries out a description pair by pair, in two ways at once, each optional:
 *   - the reference: exactly reduced angles and plain double arithmetic, sharing no line with the shaders;
 *   - the shaders' own bits: ropeShaderAngle and float32 arithmetic, for hosts without a device.
 * Arrays stand in the place of the slots, as long as the plan of the same description says in `bytes`. Elements that
 * the description does not touch are left as they were. A run refuses what the plans refuse, in the same words, except
 * for what only a device's limits forbid. A run that makes angles refuses frequencies.values that are null. */
typedef struct RopeHostTable {
    const void* positions;
    double* reference_rows; /* in the description's row layout */
    float* rows;
} RopeHostTable;

typedef struct RopeHostRotate {
    const void* positions; /* rows: as the plan says, and for a reference by the true angle as an inline source's; may
                              be null where the plan reads none */
    const void* rows;      /* table and rows: what the shader's bits are made from; the reference takes it too where
                              frequencies.values is null, else the true angle */
    const void* q;
    const void* k;
    double* reference_q; /* in the destination's layout; in place: the source's */
    double* reference_k;
    void* q_out; /* in place: may be q itself */
    void* k_out;
    uint32_t outside; /* out: tokens that should turn and have no position, or one outside the table */
} RopeHostRotate;

/* slot_map is read without cache.map_in_positions, q_weights and k_weights where a norm has neither an array of weights
 * nor no_weights, and biases with `bias` of a tensor. The caches are k_out and v_out (with cache.one_buffer k_out
 * alone); the references have the same elements before they are quantized. A shift reads K from k_out too. With
 * `packed_qkv` K and V are read from q, and K in place goes to k_out, which may be q itself. */
typedef struct RopeHostFused {
    const void* positions;
    const void* rows;
    const void* q;
    const void* k;
    const void* v;
    const void* slot_map;
    const void* q_weights;
    const void* k_weights;
    const void* biases;
    double* reference_q;
    double* reference_k;
    double* reference_v;
    void* q_out;
    void* k_out;
    void* v_out;
    uint32_t outside; /* out: what COUNTER would count */
} RopeHostFused;

/* The reference takes the rows of a learned table too, and makes sinusoids as a rotation's cos and sin. In place x_out
 * may be x. */
typedef struct RopeHostAdd {
    const void* positions;
    const void* rows;
    const void* x;
    double* reference;
    void* x_out;
    uint32_t outside; /* out: what COUNTER would count */
} RopeHostAdd;

/* x has the scores. It is not read if the bias is written out. x_out may be x. */
typedef struct RopeHostBias {
    const void* positions;
    const void* rows;
    const void* x;
    double* reference;
    void* x_out;
} RopeHostBias;

/* x_out may be x. */
typedef struct RopeHostRelative {
    const void* positions;
    const void* rows;
    const void* q;
    const void* x;
    double* reference;
    void* x_out;
} RopeHostRelative;

/* These carry out the description on the arrays of `data`. A result whose pointer is null is left out.
 * `reason` may be null. */
ROPE_API RopeResult ropeHostRunTable(const RopeTableDescription* description, const RopeHostTable* data,
                                     RopeReason* reason);
ROPE_API RopeResult ropeHostRunRotate(const RopeRotateDescription* description, RopeHostRotate* data,
                                      RopeReason* reason);
ROPE_API RopeResult ropeHostRunFused(const RopeFusedDescription* description, RopeHostFused* data, RopeReason* reason);
ROPE_API RopeResult ropeHostRunAdd(const RopeAddDescription* description, RopeHostAdd* data, RopeReason* reason);
ROPE_API RopeResult ropeHostRunBias(const RopeBiasDescription* description, RopeHostBias* data, RopeReason* reason);
ROPE_API RopeResult ropeHostRunRelative(const RopeRelativeDescription* description, RopeHostRelative* data,
                                        RopeReason* reason);

/* Writes the permutation of weights that were made for the other pairing: element i of the new order is element
 * permutation[i] of the old. `to` is the new pairing; only the rotary part moves. There are head_dim entries. */
ROPE_API RopeResult ropePairPermutation(uint32_t head_dim, uint32_t rotary_begin, uint32_t rotary_dim, RopePairing to,
                                        uint32_t* permutation, RopeReason* reason);

/* Computes the true cos and sin of position * frequency (ROPE_ANGLE_COMPATIBLE: of the float32 angle), within 2^-51.
 * `position` is in 2^-32ths. */
ROPE_API void ropeReferenceAngle(int64_t position, double frequency, RopeAngle angle, double cos_sin[2]);

#ifdef __cplusplus
}
#endif
#endif
