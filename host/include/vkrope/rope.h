/** @mainpage vkrope
 * Position encodings of transformer models as Vulkan compute, RoPE first. MIT licence. This header is the manual. It is
 * C99 and C++, and needs no other header of vkrope. Include it as <vkrope/rope.h>.
 *
 *     RopeRule --ropeMakeFrequencies--> doubles --ropeWriteFrequencies--> bytes of buffer FREQUENCIES
 *     RopeRotateDescription, RopeLimits --ropePlanRotate--> RopePlan (a value) --ropePrepare--> its pipelines
 *     RopePlan, RopeBuffers --ropeCmdExecute--> dispatches in your command buffer
 *
 * Q of 32 heads and K of 8 heads rotate in place, float32, as Llama 3 rotates them:
 *
 *     double values[64], scale;
 *     RopeRule rule = {0};
 *     rule.rotary_dim = 128, rule.base = 500000;
 *     ropeMakeFrequencies(&rule, values, &scale, NULL);
 *     RopeFrequencies f = {values, 64, scale};
 *     ropeWriteFrequencies(&f, ROPE_ANGLE_EXACT, mapped, NULL); // ropeFrequencyBytes(64) bytes, once a model
 *     RopeRotateDescription d = {0};
 *     d.tokens = tokens, d.head_dim = 128, d.q.heads = 32, d.k.heads = 8, d.rotation.frequencies = f;
 *     ropePlanRotate(&d, &limits, &plan);                       // every refusal: plan.reason.text
 *     ropePrepare(context, &plan, 1, NULL);                     // compiles, once
 *     b.slots[ROPE_SLOT_POSITIONS] = positions, b.slots[ROPE_SLOT_FREQUENCIES] = frequencies;
 *     b.slots[ROPE_SLOT_Q] = q, b.slots[ROPE_SLOT_K] = k;
 *     ropeCmdExecute(commands, context, &plan, &b);             // in each frame, between barriers of yours
 *
 * A structure of zeros asks for the common case. In comments "0: 16" means that 0 asks for 16, and "YARN: ..." holds
 * for YARN alone. Comments leave out the prefix of an enumerator: F16 is ROPE_ELEMENT_F16. A slot takes one of your
 * buffers, which then has the slot's name: POSITIONS is your buffer in ROPE_SLOT_POSITIONS. Offsets and strides count
 * elements, unless a comment says bytes. A description has `batch` sequences of `tokens` tokens, and a `batch` of 0
 * means 1. Members named _MAX_ENUM only give an enumeration its width. The comments use these words:
 *   - The rotary part of a head is the elements that rotate. It consists of pairs, and each pair has a frequency.
 *   - An axis has one position for each token. Text has one axis, and an image may have two, for height and width.
 *   - A set has one frequency for each pair. If there are several sets, POSITIONS says which set a token takes.
 *   - A row has the cosines and sines of one position, or of one token. A table has rows of consecutive positions.
 *   - A cache slot is the place of one token in a cache.
 *
 * Pair j of token t has the elements x and y, and becomes x' and y':
 *
 *     angle = position[axis[j]][t] * frequency[j]             in radians; frequency[j] is a double
 *     c = scale * cos(angle)      s = scale * sin(angle)      rounded to float32 once
 *     x' = x*c - y*s              y' = x*s + y*c              in float32; no operation is fused
 *
 * Each operation of the last line is rounded to float32. There is one exception: if the scale is no power of two, the
 * products are more exact than float32.
 *
 * The library promises the following. docs/accuracy.md derives the bounds.
 *   - At every position a cosine or sine is within 0.51 ulp of its true value. With a scale the bound is 0.515 ulp.
 *     Both bounds are for magnitudes of 2^-30 or more. A smaller cosine or sine without a scale is within 2^-24.9.
 *   - The bits of cosines and sines are the same on every device and on the CPU.
 *   - The error of a rotated element is at most 2 ulp of its pair's length. The bound is 2.28 ulp if you read rows that
 *     hold a scale and do not give that scale in frequencies.scale.
 *   - A rotation has the same bits on every device that rounds float32 to nearest, if inputs, products and results are
 *     zero or normal. ropePlanSelfTest tells how a device rounds. An element that is neither rotated nor converted
 *     keeps its bits.
 *   - Dispatches read and write only the bytes that the plan names, whatever the positions are.
 *   - The library allocates only where a call says so. It never submits, waits, inserts a barrier or throws. It calls
 *     only Vulkan functions that your vkGetDeviceProcAddr returns.
 *
 * While ropeSetRounding or ropeDestroyContext runs, no other call may use the context. All other calls may run at once
 * on several threads. You may free a call's arguments when it returns: docs/engines.md ("Threads and frames"). If you
 * use volk, read docs/engines.md ("Beside volk"). A pointer may be null only if its comment says so. If another pointer
 * is null, a call that returns a result refuses, and a call that returns none does nothing. */
#ifndef VKROPE_ROPE_H
#define VKROPE_ROPE_H

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#define ROPE_VERSION_MAJOR 0
#define ROPE_VERSION_MINOR 2
#define ROPE_VERSION_PATCH 0
#define ROPE_VERSION (ROPE_VERSION_MAJOR * 0x400000u + ROPE_VERSION_MINOR * 0x1000u + ROPE_VERSION_PATCH)

/* A shared library is built with VKROPE_SHARED and VKROPE_BUILDING defined, and its users define VKROPE_SHARED. */
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
/* The C++ headers put their names into this inline namespace. Programs write rope:: alone. */
#define ROPE_NAMESPACE ROPE_NAMESPACE_OF(ROPE_VERSION_MAJOR, ROPE_VERSION_MINOR, ROPE_VERSION_PATCH)
#define ROPE_NAMESPACE_OF(major, minor, patch) ROPE_JOIN_VERSION(major, minor, patch)
#define ROPE_JOIN_VERSION(major, minor, patch) v##major##_##minor##_##patch

extern "C" {
#endif

/* ---- Results ----------------------------------------------------------------------------------------------------- */
/** A refusal is one of these errors. Only calls that take a context return NOT_PREPARED or an error listed after it. */
typedef enum RopeResult {
    ROPE_SUCCESS = 0,
    ROPE_ERROR_INVALID = -1,      /**< a value is wrong, alone or beside other values; or a refused plan is recorded */
    ROPE_ERROR_TOO_LARGE = -2,    /**< even several dispatches exceed the limits, or a number overflows 32 or 64 bits */
    ROPE_ERROR_NOT_PREPARED = -3, /**< ropePrepare has not made the plan's pipelines */
    ROPE_ERROR_MISSING_BUFFER = -4, /**< the plan uses a slot that has no buffer */
    ROPE_ERROR_MISSING_SETS = -5,   /**< a context without push descriptors needs descriptor sets */
    ROPE_ERROR_OTHER_VERSION = -6,  /**< another version of the library made the plan */
    ROPE_ERROR_OTHER_LIMITS = -7,   /**< the plan needs more than the context's limits have */
    ROPE_ERROR_MISALIGNED = -8,     /**< a buffer's offset is no multiple of the context's alignment */
    ROPE_ERROR_OVERLAP = -9         /**< a source and a destination of an out-of-place plan begin at the same byte */
} RopeResult;
#define ROPE_REASON_SIZE 192
/** Why a call refused: one sentence that says what was wrong and what would be right. On success it is empty. */
typedef struct RopeReason {
    char text[ROPE_REASON_SIZE];
} RopeReason;
ROPE_API const char* ropeResultName(RopeResult result); /**< "ROPE_SUCCESS" and so on, never null */

/* ---- Frequencies: any rule becomes an array of doubles ----------------------------------------------------------- */
/** Formulas for the frequency of pair i: d is rotary_dim, b is base, s is factor, L is original_length, t is
 * temperature, and e is mixed_exponent (members of RopeRule). theta_i is b^(-2i/d). */
typedef enum RopeRuleKind {
    ROPE_RULE_DEFAULT = 0,          /**< theta_i, correctly rounded */
    ROPE_RULE_LINEAR = 1,           /**< theta_i / s (position interpolation) */
    ROPE_RULE_NTK = 2,              /**< theta_i with the base b * s^(d/(d-2)); HunYuan calls s alpha */
    ROPE_RULE_DYNAMIC_NTK = 3,      /**< theta_i; if length > L: with the base b * (s * length/L - (s - 1))^(d/(d-2)) */
    ROPE_RULE_YARN = 4,             /**< Peng et al. 2023, as Hugging Face reads its configuration */
    ROPE_RULE_LONGROPE = 5,         /**< theta_i / short_factors[i]; if length > L: theta_i / long_factors[i] */
    ROPE_RULE_LLAMA3 = 6,           /**< theta_i for short wavelengths, theta_i / s for long ones, between them a mix */
    ROPE_RULE_PROPORTIONAL = 7,     /**< theta_i / s for the first rotating_pairs pairs, 0 for the rest */
    ROPE_RULE_YARN_RAMPED = 8,      /**< MiniMind's early YaRN if length > L, else theta_i */
    ROPE_RULE_YARN_TEMPERATURE = 9, /**< theta_i / s^(t/(d/2) + gamma) */
    ROPE_RULE_NTK_MIXED = 10,       /**< theta_i / exp(a (i+1)^e), where a is ln s / (d/2)^e */
    ROPE_RULE_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeRuleKind;

/** Every rule reads rotary_dim and base. It reads other members only if their comments name the rule. Llama 3.1:
 *
 *     rule.kind = ROPE_RULE_LLAMA3, rule.rotary_dim = 128, rule.base = 500000, rule.factor = 8;
 *     rule.original_length = 8192; // low_freq_factor 1 and high_freq_factor 4 are what 0 means
 *
 * docs/encodings.md ("Rules that depend on the length") says what becomes of keys in a cache as `length` grows. */
typedef struct RopeRule {
    RopeRuleKind kind;
    /** Even, 2 to 2 * ROPE_MAX_PAIRS. */
    uint32_t rotary_dim;
    /** 1 or more and less than 2^64; 10000 in older models, 500000 or 1000000 in newer. */
    double base;
    /** s, 2^-30 to 2^900. All rules but DEFAULT read it. YARN_RAMPED needs 1 or more. In PROPORTIONAL 0 means 1.
     * LONGROPE reads it only for the scale, if attention_factor is 0. */
    double factor;
    /** DYNAMIC_NTK, YARN, LONGROPE, LLAMA3, YARN_RAMPED: L, the length that the model was trained for, 1 to 2^53. */
    double original_length;
    /** DYNAMIC_NTK, LONGROPE, YARN_RAMPED: the largest position so far plus 1; 0 means L. */
    double length;
    /** YARN, LONGROPE: the scale of cosines and sines, 2^-20 to 2^20. 0 means 0.1 ln s + 1 in YARN, and sqrt(1 + ln s /
     * ln L) in LONGROPE. If s is 1 or less, 0 means 1. */
    double attention_factor;
    /** YARN: 0 means 32 and 1; slow is at most fast. YARN_RAMPED: 0 means 4 and 1. */
    double beta_fast, beta_slow;
    /** YARN: if both are set and attention_factor is 0, the scale is g(mscale) / g(mscale_all_dim), where g(m) is 0.1 m
     * ln s + 1. */
    double mscale, mscale_all_dim;
    /** YARN: 1 keeps the bounds of the ramp from being rounded to whole pairs ("truncate": false in configurations). */
    uint32_t keep_bounds;
    /** PROPORTIONAL: 1 to rotary_dim / 2. */
    uint32_t rotating_pairs;
    /** LLAMA3: 0 means 1 and 4. The two may be equal. */
    double low_freq_factor, high_freq_factor;
    /** LONGROPE: rotary_dim / 2 factors each, 2^-30 to 2^900. */
    const double* short_factors;
    const double* long_factors;
    /** YARN_TEMPERATURE: t and gamma; 0 means 0.25 and 0.8. */
    double temperature, gamma;
    /** NTK_MIXED: e, up to 16; 0 means 0.625. */
    double mixed_exponent;
} RopeRule;
#define ROPE_MAX_PAIRS 4096u
/** Writes rotary_dim / 2 frequencies in radians per position, and the scale of cosines and sines. All bits are the same
 * on every platform. The relative error of a frequency is at most 1e-15. A refusal writes nothing. `reason` may be
 * null, as in every call. */
ROPE_API RopeResult ropeMakeFrequencies(const RopeRule* rule, double* frequencies, double* scale, RopeReason* reason);
/** Returns the rule's name in small letters, "default" to "ntk_mixed", or null if `kind` is no rule. */
ROPE_API const char* ropeRuleName(RopeRuleKind kind);

/** Frequencies for plans and shaders, from a rule or your own: `{values, pairs, scale}`. The doubles are taken as
 * exact. A negative frequency rotates the other way. A pair with the frequency 0 does not turn. */
typedef struct RopeFrequencies {
    /** `count` frequencies for each set: radians per position, each below 2^28 turns. Plan functions accept null. */
    const double* values;
    uint32_t count;
    /** Factor on the cosines and sines of all sets (YaRN, LongRoPE): 2^-20 to 2^20, either sign; 0 means 1. */
    double scale;
    /** The axis of each pair (ropeSetAxes), 0 to ROPE_MAX_AXES - 1; null: all pairs have axis 0. */
    const uint8_t* axes;
    /** The number of sets; 0 means 1. If there are several, POSITIONS says which set a token takes (RopePositions). */
    uint32_t sets;
} RopeFrequencies;

/** If there are several axes, such as M-RoPE's t, h and w, at most ROPE_MAX_AXIS_PAIRS pairs rotate. */
#define ROPE_MAX_AXES 4u
#define ROPE_MAX_AXIS_PAIRS 256u
typedef enum RopeAxesOrder {
    ROPE_AXES_CONTIGUOUS = 0,  /**< all pairs of the first axis, then all pairs of the second: Qwen2-VL, Wan */
    ROPE_AXES_INTERLEAVED = 1, /**< with n axes pair i has axis a = i % n if i / n < sections[a], else 0: Qwen3-VL */
    ROPE_AXES_ORDER_MAX_ENUM = 0x7FFFFFFF
} RopeAxesOrder;
/** Writes the axis of each pair. sections[a] is the number of pairs of axis a. */
ROPE_API RopeResult ropeSetAxes(RopeAxesOrder order, const uint32_t* sections, uint32_t section_count, uint32_t pairs,
                                uint8_t* axes, RopeReason* reason);
typedef enum RopeAngle {
    ROPE_ANGLE_EXACT = 0,      /**< position * frequency, not rounded before the cosine and sine */
    ROPE_ANGLE_COMPATIBLE = 1, /**< float32(position) * float32(frequency), rounded to float32 as in PyTorch */
    ROPE_ANGLE_MAX_ENUM = 0x7FFFFFFF
} RopeAngle;
ROPE_API size_t ropeFrequencyBytes(uint32_t count); /**< 16 bytes a pair */
/** Writes the bytes of FREQUENCIES, 16 for each pair of each set. All plans with these frequencies and this `angle`
 * share them. A plan with the other `angle` gets NaN from them: docs/encodings.md ("The words of frequencies"). */
ROPE_API RopeResult ropeWriteFrequencies(const RopeFrequencies* frequencies, RopeAngle angle, void* destination,
                                         RopeReason* reason);
/** Divides what ropeWriteFrequencies wrote by float32 factors, one for each pair: LongRoPE's, or Llama 3's in ggml.
 * `destination` may be `words`. ropePlanFactors gives the same bits: docs/encodings.md ("Dividing frequencies"). */
ROPE_API RopeResult ropeDivideFrequencies(const void* words, const float* factors, uint32_t count, RopeAngle angle,
                                          void* destination, RopeReason* reason);
/** Makes the arguments of rope_cos_sin_bits and rope_rotate_scaled (shaders/rope.glsl) from a scale. The magnitude of
 * the scale is mantissa * 2^(e - 31); a scale of 0 means 1. *exponent is e, or e + 256 if the scale is negative. */
ROPE_API RopeResult ropeSplitScale(double scale, uint32_t* mantissa, int32_t* exponent, RopeReason* reason);

/* ---- Limits: what the device has --------------------------------------------------------------------------------- */
/** What plans need to know of a device. ropeLimitsFromDevice fills it in. */
typedef struct RopeLimits {
    /** Bytes that one binding may span (maxStorageBufferRange), 1 or more. */
    uint64_t storage_range;
    /** A storage binding's offset is a multiple of this many bytes, a power of two up to 65536; 0: 16. */
    uint32_t storage_alignment;
    /** The most work groups in x and in y, 1 or more. In z the library relies on 65535, which every device has. */
    uint32_t group_count[2];
    /** group_size: the most invocations of a group; 0: 1. enabled: ROPE_ENABLED_ bits. */
    uint32_t group_size, enabled;
    /** Storage buffers of a stage; 0: 4. Bytes of a uniform binding, and of a group's shared memory; 0: 16384. */
    uint32_t storage_buffers, uniform_range, shared_bytes;
    /** How many threads keep the device busy; 0: 16384, for GPUs. The library cuts work into groups by this number. */
    uint32_t threads;
    /** A uniform binding's offset is a multiple of this many bytes, a power of two; 0: 256. */
    uint32_t uniform_alignment;
} RopeLimits;

/** What you enabled beyond Vulkan 1.1. Only STORAGE_16 is ever required, in two cases: ropePlanBias on 16-bit scores at
 * an odd offset, and a cache whose quantized blocks begin inside a 32-bit word. If PIPELINE_ROBUSTNESS is set,
 * pipelines go without the driver's bounds checks. No dispatch needs these checks. */
#define ROPE_ENABLED_PUSH_DESCRIPTORS 1u     /**< VK_KHR_push_descriptor, or the feature of Vulkan 1.4 */
#define ROPE_ENABLED_STORAGE_16 2u           /**< the feature storageBuffer16BitAccess */
#define ROPE_ENABLED_DEBUG_UTILS 8u          /**< VK_EXT_debug_utils of the instance: names and labels for tools */
#define ROPE_ENABLED_NATIVE_HALVES 16u       /**< the device converts float16 as vkrope does (ropeEnabledBySelfTest) */
#define ROPE_ENABLED_PIPELINE_ROBUSTNESS 32u /**< the feature pipelineRobustness, of the extension or of Vulkan 1.4 */
/** Writes the least limits that Vulkan 1.1 promises. If `limits` of a plan function is null, these are taken. */
ROPE_API void ropeMinimumLimits(RopeLimits* limits);
/** Writes the limits of a device. It does not check apiVersion: you refuse devices of Vulkan 1.0 yourself. */
ROPE_API void ropeLimitsFromDevice(const VkPhysicalDeviceProperties* properties, uint32_t enabled, RopeLimits* limits);
#define ROPE_API_VERSION VK_API_VERSION_1_1
#define ROPE_MAX_EXTENSIONS 4u
/** Writes which extensions of `available` are worth enabling, at most ROPE_MAX_EXTENSIONS, and returns how many.
 * `available` is the device's list or the instance's. Extensions with a feature to enable are left out. */
ROPE_API uint32_t ropeUsefulExtensions(const VkExtensionProperties* available, uint32_t available_count,
                                       const char** names);
/** Returns the ROPE_ENABLED_ bits of the extensions that you enabled. Add the bits of features yourself. */
ROPE_API uint32_t ropeEnabledByExtensions(const char* const* names, uint32_t name_count);
/** Returns the extension of one ROPE_ENABLED_ bit. For a bit of a feature, or any other value, it returns null. */
ROPE_API const char* ropeExtensionName(uint32_t enabled_bit);

/* ---- Rotations --------------------------------------------------------------------------------------------------- */
/** The element of a tensor, of rows or of a cache. 16-bit results are rounded to nearest even: docs/accuracy.md
 * ("16-bit elements"). Elements from I8 on are for caches alone. docs/formats.md has their formulas. */
typedef enum RopeElement {
    ROPE_ELEMENT_DEFAULT = 0, /**< of inputs and rows: F32; of outputs: the input's element */
    ROPE_ELEMENT_F32 = 1,
    ROPE_ELEMENT_F16 = 2,
    ROPE_ELEMENT_BF16 = 3,
    ROPE_ELEMENT_I8 = 4,       /**< int8, with a float32 scale for each cache slot and head */
    ROPE_ELEMENT_Q8_0 = 5,     /**< llama.cpp's blocks of 32 elements: a float16 scale, then 32 int8; 34 bytes */
    ROPE_ELEMENT_Q4_0 = 6,     /**< a float16 scale and 32 integers of 4 bits; 18 bytes */
    ROPE_ELEMENT_Q4_1 = 7,     /**< a float16 scale, a float16 minimum and 32 integers of 4 bits; 20 bytes */
    ROPE_ELEMENT_Q5_0 = 8,     /**< a float16 scale and 32 integers of 5 bits; 22 bytes */
    ROPE_ELEMENT_F8_E4M3 = 9,  /**< float8 e4m3fn: no infinities, at most 448 */
    ROPE_ELEMENT_F8_E5M2 = 10, /**< float8 e5m2: at most 57344 */
    ROPE_ELEMENT_Q5_1 = 11,    /**< a float16 scale, a float16 minimum and 32 integers of 5 bits; 24 bytes */
    ROPE_ELEMENT_IQ4_NL = 12,  /**< a float16 scale and 32 codes of 4 bits, which stand for 16 integers; 18 bytes */
    ROPE_ELEMENT_MAX_ENUM = 0x7FFFFFFF
} RopeElement;
ROPE_API uint32_t ropeElementBytes(RopeElement element); /**< 4, 2 or 1, but 0 for elements in blocks */
/** Converts floats as shaders do, float8 by a scale of 1. With I8 or blocks it writes nothing. `to` may be `from`
 * if both elements have the same size. */
ROPE_API void ropeConvertElements(const void* from, RopeElement from_element, void* to, RopeElement to_element,
                                  size_t count);

/** Where a token's position comes from. A token's index counts from 0 in its sequence. Sums wrap as int32 does. */
typedef enum RopePositionKind {
    ROPE_POSITIONS_PER_TOKEN = 0,          /**< POSITIONS has a position for each token and axis */
    ROPE_POSITIONS_START_PER_SEQUENCE = 1, /**< start + index; POSITIONS has a start for each sequence and axis */
    ROPE_POSITIONS_COUNTED = 2,            /**< RopePositions::first + index on every axis; POSITIONS is not read */
    ROPE_POSITIONS_PACKED = 3,             /**< the index; POSITIONS has the cumulative lengths of the sequences */
    ROPE_POSITIONS_PACKED_STARTS = 4,      /**< start + index; POSITIONS has lengths, and a start for each sequence */
    ROPE_POSITION_KIND_MAX_ENUM = 0x7FFFFFFF
} RopePositionKind;
/** A whole position in 2^-32ths (Q32.32), as ROPE_POSITION_FIXED64 and ropeShaderAngle take it. */
#define ROPE_WHOLE_POSITION(position) ((int64_t)(position)*4294967296)

/** The type of a position in POSITIONS. A token whose value is no position does not rotate. */
typedef enum RopePositionElement {
    ROPE_POSITION_INT32 = 0,
    ROPE_POSITION_INT64 = 1,   /**< PyTorch's type; a value beyond int32 is no position */
    ROPE_POSITION_FLOAT32 = 2, /**< cut to a multiple of 2^-32; NaN and magnitudes from 2^31 on are no positions */
    ROPE_POSITION_FIXED64 = 3, /**< multiples of 2^-32 as int64 (Q32.32) */
    ROPE_POSITION_ELEMENT_MAX_ENUM = 0x7FFFFFFF
} RopePositionElement;
ROPE_API uint32_t ropePositionBytes(RopePositionElement element); /**< 4 or 8 */
/** Returns the `length` of a RopeRule for `count` positions: the largest plus 1, or 0 if none is 0 or more. */
ROPE_API double ropeLengthOfPositions(const void* positions, RopePositionElement element, uint64_t count);

/** How POSITIONS lies in memory: in arrays, axis_stride apart. `{ROPE_POSITIONS_COUNTED, first}` needs no buffer.
 *   - PER_TOKEN: an array [batch][tokens] of positions for each axis.
 *   - START_PER_SEQUENCE: an array [batch] of starts for each axis.
 *   - PACKED: an array of sequences + 1 cumulative lengths, the first of which is 0. The sequences follow each other in
 *     one batch. A token behind the last sequence does not rotate.
 *   - PACKED_STARTS: the array of PACKED, and an array [sequences] of starts, which all axes share.
 *   - If there are several sets of frequencies, one more array has the set of each token (PER_TOKEN) or sequence:
 *     int32 if positions have 4 bytes, int64 if they have 8. A token whose set does not exist does not rotate. */
typedef struct RopePositions {
    RopePositionKind kind;
    /** COUNTED: the position of index 0. */
    int32_t first;
    /** 1: every sequence reads the same positions, and batch_stride is not used. */
    uint32_t same_for_all_sequences;
    /** offset: elements before the first array. batch_stride: from one sequence to the next; 0: without gaps.
     * token_stride: from one token to the next; 0: 1. axis_stride: from one array to the next; 0: without gaps. */
    uint64_t offset, batch_stride, token_stride, axis_stride;
    RopePositionElement element;
    /** PACKED, PACKED_STARTS: the number of sequences. The description's batch is 1. */
    uint32_t sequences;
} RopePositions;

/** How rows of cosines and sines lie in ROWS. Zeros mean the native row: a float32 cosine for each pair, then the
 * sines. ropeSetRows fills in other formats, and any strides work. Cosines and sines in separate arrays share ROWS. */
typedef struct RopeRows {
    /** offset: elements before the first cosine. row_stride: from one row to the next; 0: twice the pairs. */
    uint64_t offset, row_stride;
    /** From one pair to the next; 0: 1. */
    uint32_t pair_stride;
    /** From a cosine to its sine, forward or back; 0: the number of pairs. */
    int64_t sin_offset;
    /** From a value to the second copy that ropePlanTable writes; 0: no copy. Rotations ignore it. */
    uint32_t copy_offset;
    /** F32, F16 or BF16; 0: F32. ropePlanTable writes F32 alone. */
    RopeElement element;
    /** ROPE_SOURCE_TABLE: the position of the first row, and the number of rows of each set. Sets follow each other. */
    int32_t first_position;
    uint32_t count;
} RopeRows;
typedef enum RopeRowsFormat {
    ROPE_ROWS_SPLIT = 0,       /**< [row][the cosines, then the sines]: the native row, vLLM's */
    ROPE_ROWS_DUPLICATED = 1,  /**< arrays cos and sin, [row][2 * pairs]; pair j is at j and j + pairs: Hugging Face */
    ROPE_ROWS_INTERLEAVED = 2, /**< [row][cosine and sine of each pair] */
    ROPE_ROWS_COMPLEX = 3,     /**< complex numbers cos + i sin: the bytes of INTERLEAVED */
    ROPE_ROWS_TWO_ARRAYS = 4,  /**< arrays cos and sin, [row][pairs]: ONNX */
    ROPE_ROWS_FORMAT_MAX_ENUM = 0x7FFFFFFF
} RopeRowsFormat;
/** Sets the strides, sin_offset, copy_offset and count. An array of sines begins behind row_count rows of cosines. */
ROPE_API void ropeSetRows(RopeRowsFormat format, uint32_t pairs, uint32_t row_count, RopeRows* rows);
typedef enum RopePairing {
    ROPE_PAIRING_DEFAULT = 0,     /**< a `pairing` of 0 is HALF, and a `pairing_out` of 0 is `pairing` */
    ROPE_PAIRING_HALF = 1,        /**< elements i and i + rotary_dim/2: GPT-NeoX, Hugging Face Llama, ggml's NEOX */
    ROPE_PAIRING_INTERLEAVED = 2, /**< elements 2i and 2i + 1: GPT-J, the original Llama, ggml's NORMAL */
    ROPE_PAIRING_MAX_ENUM = 0x7FFFFFFF
} RopePairing;
typedef enum RopeOperation {
    ROPE_OPERATION_FORWARD = 0,
    ROPE_OPERATION_TRANSPOSE = 1, /**< with -s in place of s: the gradient */
    ROPE_OPERATION_INVERSE = 2,   /**< with -s in place of s and a scale of 1/scale: gives the input back */
    ROPE_OPERATION_SHIFT = 3,     /**< with a scale of 1: rotates keys further, by a difference of positions */
    ROPE_OPERATION_MAX_ENUM = 0x7FFFFFFF
} RopeOperation;
/** Where cosines and sines come from. */
typedef enum RopeSource {
    ROPE_SOURCE_INLINE = 0, /**< the shader computes them from FREQUENCIES */
    ROPE_SOURCE_TABLE = 1,  /**< row (position - first_position) of ROWS; a token outside the table does not rotate */
    ROPE_SOURCE_ROWS = 2,   /**< row b * tokens + t of ROWS for token t of sequence b, whatever its position is */
    ROPE_SOURCE_MAX_ENUM = 0x7FFFFFFF
} RopeSource;

/** Which elements rotate, and by which angles. The common case is `d.rotation.frequencies = f;`. If rows hold a scale,
 * set frequencies.scale to it. It is not applied a second time: docs/encodings.md ("Scales in rows"). */
typedef struct RopeRotation {
    /** INLINE uses all members but values. ROPE_SOURCE_ROWS uses scale. TABLE uses scale, sets, axes and count. */
    RopeFrequencies frequencies;
    /** rotary_begin: elements of a head before the rotary part. rotary_dim: elements of the rotary part, an even
     * number; 0: all up to the end of the head. The other elements do not rotate. */
    uint32_t rotary_begin, rotary_dim;
    /** HALF: the rotary part is cut into chunks of this many elements, and the halves of each chunk are paired; 0:
     * rotary_dim. In Gemma 4's vision part each axis has a chunk. */
    uint32_t chunk_dim;
    /** The pairing of what is read, and of what is written. They may differ only out of place. */
    RopePairing pairing, pairing_out;
    /** How many tokens at each sequence's begin and end do not rotate (class tokens). They have positions and rows. */
    uint32_t skip_first, skip_last;
    RopeOperation operation;
    RopeSource source;
    /** INLINE: the angle that FREQUENCIES was written for. With the other angle what rotates becomes NaN. */
    RopeAngle angle;
    RopeRows rows;
} RopeRotation;

/** Where the heads of a tensor lie. If all strides are 0, it is [batch][token][head][element] without gaps. If one
 * stride is set, the others must be set, too. Only a stride whose count is 1 (batch, tokens, heads) may stay 0. 16-bit
 * elements are moved in twos, so their offset, strides and rotary_begin must be even. In pairing HALF they also need
 * an even number of pairs a chunk. If it is odd, take F32, or permute weights to INTERLEAVED (ropePairPermutation). */
typedef struct RopeLayout {
    uint64_t offset, batch_stride, token_stride, head_stride;
} RopeLayout;
/** If heads is 0, there is no such tensor. `to` is read only out of place. */
typedef struct RopeTensor {
    uint32_t heads;
    RopeLayout from, to;
} RopeTensor;

/** How work is cut into threads; 0: the library chooses. No bit of a result depends on it: docs/bench.md ("Tuning"). */
typedef struct RopeTuning {
    /** group_size: the most threads of a group. heads: the most heads of a thread, up to ROPE_MAX_TUNED_HEADS. pairs:
     * the most pairs of a head that a thread takes at a time, 4 or 8. */
    uint32_t group_size, heads, pairs;
} RopeTuning;
#define ROPE_MAX_ROTATED_HEADS 8u
#define ROPE_MAX_TUNED_HEADS 1024u

/** A rotation of Q and K, or of one of them. One dispatch rotates both if the device and the layouts allow it. The plan
 * reads Q and K, FREQUENCIES or ROWS, and POSITIONS unless positions are COUNTED. It writes Q and K, or Q_OUT and
 * K_OUT. It writes COUNTER if count_outside is 1. plan.bytes is 0 for each buffer that it does not use. */
typedef struct RopeRotateDescription {
    uint32_t batch, tokens, head_dim;
    /** element: what is read; 0: F32. element_out: what is written; 0: `element`. They may differ only out of place. */
    RopeElement element, element_out;
    RopeRotation rotation;
    RopePositions positions;
    RopeTensor q, k;
    /** 0: the results replace Q and K. 1: they go to Q_OUT and K_OUT, which must not overlap Q and K. */
    uint32_t out_of_place;
    /** 1: COUNTER counts tokens without a position, without a set, or outside the table. You clear COUNTER before. */
    uint32_t count_outside;
    RopeTuning tuning;
} RopeRotateDescription;

/* ---- Plans: pure functions that decide every refusal and every size ---------------------------------------------- */
/** Each slot takes one of your buffers. */
typedef enum RopeSlot {
    ROPE_SLOT_POSITIONS = 0,
    ROPE_SLOT_FREQUENCIES = 1, /**< from ropeWriteFrequencies or ropePlanFactors, for the angle of the plan */
    ROPE_SLOT_ROWS = 2,
    ROPE_SLOT_Q = 3, /**< with ROPE_RELATIVE_VALUES: the attention's weights */
    ROPE_SLOT_K = 4,
    ROPE_SLOT_Q_OUT = 5,
    ROPE_SLOT_K_OUT = 6,
    ROPE_SLOT_COUNTER = 7, /**< a uint32, or the results of the self-test */
    ROPE_SLOT_V = 8,
    ROPE_SLOT_V_OUT = 9,
    ROPE_SLOT_PARAMETERS = 10, /**< a uniform buffer */
    ROPE_SLOT_X = 11,          /**< what positions are added to: embeddings, scores, an attention's output */
    ROPE_SLOT_X_OUT = 12,
    ROPE_SLOT_FACTORS = 13,         /**< float32 factors that divide frequencies */
    ROPE_SLOT_FREQUENCIES_OUT = 14, /**< the quotients; later plans take them as FREQUENCIES */
    ROPE_SLOT_SLOT_MAP = 15,        /**< the cache slots of tokens, or a page table */
    ROPE_SLOT_Q_WEIGHTS = 16,       /**< weights of Q's norm */
    ROPE_SLOT_K_WEIGHTS = 17,       /**< weights of K's norm */
    ROPE_SLOT_BIASES = 18,          /**< biases of the projection */
    ROPE_SLOT_COUNT = 19
} RopeSlot;
ROPE_API const char* ropeSlotName(RopeSlot slot); /**< "positions" and so on; never null */

#define ROPE_BINDING_COUNT 13u   /**< bindings of descriptor set 0; a dispatch binds some of them */
#define ROPE_BINDING_UNIFORM 12u /**< the uniform buffer; all others are storage buffers */
#define ROPE_CONSTANT_COUNT 146u /**< specialization constants, ids 0 to 145, 4 bytes each */
#define ROPE_PUSH_WORDS 32u      /**< push constants of 4 bytes each, from offset 0 */
#define ROPE_MAX_PASSES 4u
#define ROPE_PLAN_BYTES 6336u /**< bytes of a plan that only the library reads */

/** SPIR-V 1.3 for Vulkan 1.1, entry point "main". `needs` has the ROPE_ENABLED_ bits that the device must have. */
typedef struct RopeShader {
    const char* name;
    const uint32_t* words;
    size_t bytes;
    uint32_t needs;
} RopeShader;
/** A pass runs one shader over one tensor or several. */
typedef struct RopePass {
    const RopeShader* shader;
    /** bindings: bit i is set if the pass binds binding i. dispatches: several if one cannot take the whole tensor. */
    uint32_t bindings, dispatches;
    /** group_size: threads of a group. pipeline_hash: passes with an equal hash share a pipeline. */
    uint32_t group_size, pipeline_hash;
} RopePass;

/** A plan is a value: you may copy and compare it, and need not release it. It points at the library's shaders. So it
 * serves only in the process that made it, while the library is loaded. */
typedef struct RopePlan {
    /** ROPE_VERSION of the library that made it; 0: refused, or never made. */
    uint32_t version;
    uint32_t pass_count;
    RopePass passes[ROPE_MAX_PASSES];
    /** What the plan needs of a device. A context with less refuses the plan. */
    RopeLimits limits;
    /** The bytes that each slot's buffer must have from RopeBuffer::offset on; 0: the plan does not use the slot. */
    uint64_t bytes[ROPE_SLOT_COUNT];
    RopeReason reason;
    /** For the library alone. ropeGetDispatch returns what it holds. */
    uint8_t internal[ROPE_PLAN_BYTES];
} RopePlan;

/** Fills in *plan, or refuses with plan->reason, as every plan function does. For null limits see ropeMinimumLimits. */
ROPE_API RopeResult ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits, RopePlan* plan);
#define ROPE_MAX_RANGE_PLANS 8u
/** Writes plans for ropePrepare, and their number. Together they have every pipeline that the description takes with
 * `least` to `most` tokens. The call refuses, in plans[0], if the plan of `least` or of `most` tokens is refused, or if
 * ROPE_MAX_RANGE_PLANS plans are too few. docs/engines.md ("How many pipelines") says how many a model takes. */
ROPE_API RopeResult ropePlanRotateRange(const RopeRotateDescription* description, uint32_t least, uint32_t most,
                                        const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS],
                                        uint32_t* plan_count);
/** Returns 1 if the two plans are equal in every byte. Returns 0 if they are not, or if one is null. */
ROPE_API int ropePlansEqual(const RopePlan* a, const RopePlan* b);
/** Writes the plan as a few lines of text, at most `size` bytes. Returns the whole text's bytes, as snprintf does. */
ROPE_API size_t ropePrintPlan(const RopePlan* plan, char* buffer, size_t size);

/* ---- Recording: a context on your device, and your command buffers ----------------------------------------------- */
/** What a context is made of: `{device, vkGetDeviceProcAddr, VK_NULL_HANDLE, NULL, limits}`. */
typedef struct RopeContextInfo {
    VkDevice device;
    PFN_vkGetDeviceProcAddr get_device_proc_addr;
    /** Optional. If several threads call ropePrepare, make it without EXTERNALLY_SYNCHRONIZED_BIT. */
    VkPipelineCache pipeline_cache;
    /** Optional: for the context itself and for its Vulkan objects. */
    const VkAllocationCallbacks* allocator;
    RopeLimits limits;
} RopeContextInfo;
typedef struct RopeContext RopeContext;
/** Allocates the context, and creates no Vulkan object. On failure *context is null. VK_ERROR_INITIALIZATION_FAILED
 * means that a pointer is null, that plans refuse the limits, or that the device lacks a function. */
ROPE_API VkResult ropeCreateContext(const RopeContextInfo* info, RopeContext** context);
/** No command buffer that uses the context's pipelines may be pending. Null is allowed. */
ROPE_API void ropeDestroyContext(RopeContext* context);

/** Makes those pipelines of the plans that the context does not have yet. It allocates and compiles: a pipeline took 50
 * to 90 ms on an H100. So call it at start-up or on a worker thread. The first failure ends the call, with a reason.
 * VK_ERROR_FEATURE_NOT_PRESENT: a plan needs more than the context has. VK_ERROR_INITIALIZATION_FAILED: a plan was
 * refused, or another version made it. Other errors are Vulkan's. */
ROPE_API VkResult ropePrepare(RopeContext* context, const RopePlan* plans, uint32_t plan_count, RopeReason* reason);

/** The buffer's usage has VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, or in slot PARAMETERS VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT.
 * `offset` counts bytes: a multiple of limits.storage_alignment. In slot PARAMETERS it is a multiple of
 * limits.uniform_alignment. A finer offset goes into an offset of the description, such as RopeLayout::offset. */
typedef struct RopeBuffer {
    VkBuffer buffer;
    VkDeviceSize offset;
} RopeBuffer;
/** `sets` are descriptor sets from ropeAllocateSets. They are not read if the context has push descriptors. */
typedef struct RopeBuffers {
    RopeBuffer slots[ROPE_SLOT_COUNT];
    const VkDescriptorSet* sets;
} RopeBuffers;

/** Records the plan: for each dispatch it binds a pipeline and descriptor set 0, pushes 128 bytes of push constants,
 * and dispatches. It checks the plan, the buffers and their offsets first. It does not check sizes or partial overlaps.
 *   - Before: make what the plan reads visible to VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT, and
 *     PARAMETERS to VK_ACCESS_UNIFORM_READ_BIT. Make earlier accesses to the buffers that it writes visible to
 *     VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT.
 *   - After: make what it wrote (compute stage, VK_ACCESS_SHADER_WRITE_BIT) visible to what reads it. Work that
 *     overwrites what the plan reads, such as positions, waits for the compute stage.
 *   - The call changes the compute bind point's pipeline, its set 0 and layout, and the push constants. */
ROPE_API RopeResult ropeCmdExecute(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                                   const RopeBuffers* buffers);

/** Does the same, but the numbers of groups lie in the buffer `groups` (VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT). From byte
 * `offset` on, a multiple of 4, it has a VkDispatchIndirectCommand for each dispatch, as ropeGroups writes it.
 * docs/engines.md ("One recording for every step") says more.
 *   - Before, also: make `groups` visible to VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, VK_ACCESS_INDIRECT_COMMAND_READ_BIT.
 *   - After, also: work that overwrites `groups` waits for VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT. */
ROPE_API RopeResult ropeCmdExecuteIndirect(VkCommandBuffer command_buffer, const RopeContext* context,
                                           const RopePlan* plan, const RopeBuffers* buffers, VkBuffer groups,
                                           VkDeviceSize offset);
/** Writes how many groups dispatch `index` takes for the first `tokens` tokens of each sequence. */
ROPE_API void ropeGroups(const RopePlan* plan, uint32_t index, uint32_t tokens, uint32_t groups[3]);

/** Allocates ropeDispatchCount(plan) descriptor sets from your pool, and points them at the buffers. Call it after
 * ropePrepare. A set has at most ROPE_BINDING_COUNT - 1 storage buffers and one uniform buffer.
 * VK_ERROR_FEATURE_NOT_PRESENT: the context has push descriptors. VK_ERROR_INITIALIZATION_FAILED: recording would
 * refuse. */
ROPE_API VkResult ropeAllocateSets(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers,
                                   VkDescriptorPool pool, VkDescriptorSet* sets);
/** Points `buffers->sets` at `buffers->slots`. No command buffer that binds these sets may be pending. A set also
 * serves a dispatch of another plan that has the same bindings. The call refuses a context with push descriptors. */
ROPE_API RopeResult ropeUpdateSets(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers);

/* ---- Tables, factors and the self-test --------------------------------------------------------------------------- */
/** Makes rows of cosines and sines. From COUNTED positions it makes a table for ROPE_SOURCE_TABLE: `tokens` rows, the
 * first for position positions.first. From other positions it makes a row for each token, for ROPE_SOURCE_ROWS. All
 * layers of a step can share these rows. The plan reads FREQUENCIES, and POSITIONS unless COUNTED. It writes ROWS. A
 * table of positions 0 to 4095: `d.frequencies = f, d.tokens = 4096, d.positions.kind = ROPE_POSITIONS_COUNTED;` */
typedef struct RopeTableDescription {
    RopeFrequencies frequencies;
    RopeAngle angle;
    uint32_t batch, tokens;
    RopePositions positions;
    RopeRows rows;
} RopeTableDescription;
ROPE_API RopeResult ropePlanTable(const RopeTableDescription* description, const RopeLimits* limits, RopePlan* plan);

/** Divides each set of frequencies by the same factors, which lie on the device. The bits are those of
 * ropeDivideFrequencies. The plan reads FREQUENCIES and FACTORS. It writes FREQUENCIES_OUT, which you bind as
 * FREQUENCIES after a barrier. */
typedef struct RopeFactorsDescription {
    /** count: pairs of a set, 1 to ROPE_MAX_PAIRS. sets: the number of sets; 0: 1. */
    uint32_t count, sets;
    RopeAngle angle;
    /** Elements of FACTORS before the first factor. */
    uint64_t offset;
} RopeFactorsDescription;
ROPE_API RopeResult ropePlanFactors(const RopeFactorsDescription* description, const RopeLimits* limits,
                                    RopePlan* plan);
#define ROPE_SELF_TEST_WORDS 20u
/** Finds out how the device rounds float32 and converts float16. The plan writes ROPE_SELF_TEST_WORDS uint32 to
 * COUNTER. Read them back for ropeReadSelfTest and ropeEnabledBySelfTest: docs/accuracy.md ("The self-test"). */
ROPE_API RopeResult ropePlanSelfTest(const RopeLimits* limits, RopePlan* plan);
typedef enum RopeRounding {
    ROPE_ROUNDING_UNKNOWN = 0, /**< not tested */
    ROPE_ROUNDING_NEAREST = 1, /**< to nearest: rotations have the promised bits */
    ROPE_ROUNDING_OTHER = 2,   /**< accurate, but the last bit of a rotation may differ from other devices */
    ROPE_ROUNDING_MAX_ENUM = 0x7FFFFFFF
} RopeRounding;
/** Returns what the words of the self-test say of the device's rounding, for ropeSetRounding. */
ROPE_API RopeRounding ropeReadSelfTest(const uint32_t words[ROPE_SELF_TEST_WORDS]);
/** Returns ROPE_ENABLED_NATIVE_HALVES if the device converts float16 as the library does, else 0. Add it to
 * limits.enabled before you plan for this device and driver: plans may be faster, with the same bits. */
ROPE_API uint32_t ropeEnabledBySelfTest(const uint32_t words[ROPE_SELF_TEST_WORDS]);
/** A context keeps a RopeRounding for you, and does not use it itself. */
ROPE_API void ropeSetRounding(RopeContext* context, RopeRounding rounding);
ROPE_API RopeRounding ropeGetRounding(const RopeContext* context);

/* ---- Fused passes: from the projection to the cache -------------------------------------------------------------- */
/** @page fused Fused passes
 *
 * A fused pass moves Q, K and V from the projection to the attention and to the cache. Each of these tensors has a
 * RopeFusedTensor. A tensor takes these steps in this order, and skips each step that the description leaves at 0:
 *
 *     load, biases, clip, norm, rotate, scale of queries, Hadamard, convert, store
 *
 * If norm.after is 1, the norm follows the rotation. Q and K rotate, and V does not. The results have the bits of
 * separate passes that store float32. If cache.kind is set, K and V go to the cache. Other tensors go to their _OUT
 * buffers if out_of_place is 1. If it is 0, they are written in place, with the element and the layout that they have.
 *
 * Bind these buffers. plan.bytes is 0 for each buffer that the plan does not use.
 *
 *     Q, K, V                what the projection gives, and results in place; if packed_qkv is 1, Q has all three
 *     Q_OUT, K_OUT, V_OUT    results out of place; K_OUT and V_OUT are the caches, or K_OUT alone if one_buffer is 1
 *     POSITIONS              positions; it may also have counts (tokens_counted) and the map (cache.map_in_positions)
 *     SLOT_MAP               the map: a cache slot for each token (SLOTS), or the pages of each sequence (PAGE_TABLE)
 *     FREQUENCIES, ROWS      where cosines and sines come from (rotation.source); neither if no tensor rotates
 *     Q_WEIGHTS, K_WEIGHTS   weights of Q's norm and of K's norm, if RopeNorm::weights is null
 *     BIASES                 biases of the projection
 *     PARAMETERS             a uniform buffer, which ropeWriteParameters fills from the description's arrays
 *     COUNTER                a uint32 that you clear (count_outside)
 *
 * A destination must not overlap the map or another destination. Out of place it must not overlap a source. Two tokens
 * of a pass must not have the same cache slot. docs/caches.md ("Dispatches") says which tensors share a dispatch.
 * docs/caches.md ("Geometry") says which multiples offsets, strides and head_dim must be.
 *
 * Five passes follow. Put `RopeFusedDescription d = {0};` before each, and `ropePlanFused(&d, &limits, &plan);` behind
 * it. `f` is a RopeFrequencies, and `b` a RopeBuffers. Every pass binds POSITIONS and FREQUENCIES too.
 *
 *     Llama 3 8B: float16. Q, K and V of a token lie side by side. Q rotates in place, K and V go to pages of 16 slots.
 *     d.tokens = tokens, d.head_dim = 128, d.element = ROPE_ELEMENT_F16, d.rotation.frequencies = f;
 *     d.q.heads = 32, d.k.heads = 8, d.v.heads = 8, d.packed_qkv = 1;
 *     d.cache.kind = ROPE_CACHE_PAGE_TABLE, d.cache.table_pages = 512;
 *     d.cache.slots = 16 * pages, d.cache.page_size = 16;
 *     d.cache.one_buffer = 1, d.v.to.offset = (uint64_t)d.cache.slots * 8 * 128;
 *     b.slots[ROPE_SLOT_Q] = qkv, b.slots[ROPE_SLOT_K_OUT] = pool, b.slots[ROPE_SLOT_SLOT_MAP] = table;
 *
 *     Qwen3 8B: Q, K and V are float32 in three buffers. Q and K have norms with bfloat16 weights. Caches are float16.
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
 *     Ministral 3: queries are scaled by position. Each sequence has a ring of 4096 cache slots.
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
 *     ggml: K alone goes to a Q8_0 tensor, by row numbers. ropePlanGgml makes such a description of ggml's nodes.
 *     d.tokens = tokens, d.head_dim = 128, d.rotation.frequencies = f;
 *     d.k.heads = 8, d.k.element = ROPE_ELEMENT_Q8_0;
 *     d.cache.kind = ROPE_CACHE_SLOTS, d.cache.slots = rows, d.cache.map_element = ROPE_POSITION_INT64;
 *     b.slots[ROPE_SLOT_K] = k, b.slots[ROPE_SLOT_K_OUT] = cache, b.slots[ROPE_SLOT_SLOT_MAP] = row_numbers;
 *
 *     DeepSeek V3: A head of Q has 128 + 64 elements. K is the latent of 512, which is normed, and 64 that rotate.
 *     d.tokens = tokens, d.head_dim = 192, d.element = ROPE_ELEMENT_BF16;
 *     d.rotation.frequencies = f, d.rotation.rotary_dim = 64, d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
 *     d.q.heads = 128, d.q.rotary_begin = 128;
 *     d.k.heads = 1, d.k.head_dim = 576, d.k.rotary_begin = 512;
 *     d.k.norm.kind = ROPE_NORM_RMS, d.k.norm.epsilon = 1e-6f, d.k.norm.dim = 512;
 *     d.cache.kind = ROPE_CACHE_PAGE_TABLE, d.cache.table_pages = 256;
 *     d.cache.slots = 64 * pages, d.cache.page_size = 64;
 *     b.slots[ROPE_SLOT_Q] = q, b.slots[ROPE_SLOT_K] = latent, b.slots[ROPE_SLOT_K_WEIGHTS] = latent_norm;
 *     b.slots[ROPE_SLOT_K_OUT] = pool, b.slots[ROPE_SLOT_SLOT_MAP] = table; */

/** docs/formats.md ("Norms") has the order of operations. */
typedef enum RopeNormKind {
    ROPE_NORM_NONE = 0,
    ROPE_NORM_RMS = 1,   /**< x / sqrt(mean of x*x + epsilon), times the weight; without weights Llama 4's "L2Norm" */
    ROPE_NORM_L2 = 2,    /**< x / sqrt(sum of x*x + epsilon), times the weight */
    ROPE_NORM_LAYER = 3, /**< (x - mean) / sqrt(variance + epsilon), times weight, plus bias: Cohere, StableLM */
    ROPE_NORM_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeNormKind;

/** A norm takes each head, or `dim` elements of it from element `begin` on. The other elements stay. The common case is
 * `d.q.norm.kind = ROPE_NORM_RMS, d.q.norm.epsilon = 1e-6f;`, with float32 weights in Q_WEIGHTS. GPUs load these
 * weights faster than an array in PARAMETERS, and fastest if weights_offset and both strides are multiples of 4. */
typedef struct RopeNorm {
    RopeNormKind kind;
    float epsilon;
    /** If `after` is 1, the norm follows the rotation (HunYuan). If all_heads is 1, it spans all heads (OLMo 2). */
    uint32_t after, all_heads;
    /** The part of a head that is normed, in multiples of 4. A `dim` of 0 means all elements from `begin` on. */
    uint32_t begin, dim;
    /** 1: the norm has no weights (Llama 4, Gemma's V). */
    uint32_t no_weights;
    /** Your array of weights, in pairing_out's order if `after` is 1. Null: the weights lie in Q_WEIGHTS or K_WEIGHTS.
     * V has no such buffer: it takes an array or no weights. */
    const float* weights;
    /** LAYER: your array of biases, beside an array of weights; null: no biases. */
    const float* biases;
    /** The element of weights in a buffer: F32, F16 or BF16; 0: F32. */
    RopeElement weights_element;
    /** Elements of the buffer before the first weight, at most 2^33. */
    uint64_t weights_offset;
    /** weights_head_stride: from one head's weights to the next head's; 0: all heads share weights. If all_heads is 1,
     * 0 means `dim`. weights_token_stride: from one token's weights to the next token's; 0: all tokens share weights.
     * An array takes a head stride of 0 or `dim`, and a token stride of 0. */
    uint64_t weights_head_stride, weights_token_stride;
    /** Added to each weight: 1 for Gemma. */
    float weight_plus;
} RopeNorm;

/** A query is multiplied by values[floor((position + offset) / interval)]. The position is that of axis 0, rounded
 * down. A negative index or a missing position takes values[0]. An index of `count` or more takes the last value. */
typedef struct RopeQueryScale {
    const float* values;
    /** A count of 0: no scale. interval: Llama 4's floor_scale, Ministral 3's original length. offset: 1 in Llama 4. */
    uint32_t count, interval, offset;
} RopeQueryScale;
/** Writes values[i] = 1 + beta * ln(1 + i), each rounded once, the same on every platform. `beta` is Llama 4's
 * attn_scale or Ministral 3's llama_4_scaling_beta, from -2^20 to 2^20. `count` is 1 to 65536. */
ROPE_API RopeResult ropeMakeQueryScale(double beta, uint32_t count, float* values, RopeReason* reason);

/** How a token's cache slot is found. A token writes nothing if its slot is outside the cache, or if the slot depends
 * on a position that it does not have. docs/caches.md ("Slots") has rings, packed sequences and what is counted. */
typedef enum RopeCacheKind {
    ROPE_CACHE_NONE = 0,
    ROPE_CACHE_SLOTS = 1,      /**< the map [batch][tokens] has the slot of each token; -1: none */
    ROPE_CACHE_POSITIONS = 2,  /**< the slot is the position on axis 0; each sequence has its own cache */
    ROPE_CACHE_RING = 3,       /**< the slot is position % slots (sliding windows); each sequence has its own cache */
    ROPE_CACHE_PAGE_TABLE = 4, /**< the page is map[sequence][position / page_size] */
    ROPE_CACHE_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeCacheKind;
/** How a cache lies if all strides are 0. If each sequence has its own cache, the caches follow each other. */
typedef enum RopeCacheOrder {
    ROPE_CACHE_NHD = 0, /**< [page][slot][head][element] */
    ROPE_CACHE_HND = 1, /**< [page][head][slot][element] */
    ROPE_CACHE_ORDER_MAX_ENUM = 0x7FFFFFFF
} RopeCacheOrder;

/** Where a tensor lies in its cache. If all strides are 0, RopeCacheOrder says where. batch_stride goes from one
 * sequence's cache to the next, page_stride from page to page, and token_stride from slot to slot. If elements lie in
 * blocks (Q8_0 and so on), all these numbers count elements, in multiples of 32. */
typedef struct RopeCacheLayout {
    uint64_t offset, batch_stride, page_stride, token_stride, head_stride;
} RopeCacheLayout;
/** A scale that you give for float8 K or V. It lies in PARAMETERS, so layers with other scales can share a plan. */
typedef struct RopeCacheScale {
    const float* values;
    /** 1, or the number of heads; values 2^-100 to 2^100. 0: the pass finds and stores one for each slot and head. */
    uint32_t count;
    /** 0: an element is stored as x / scale. 1: as x * scale. */
    uint32_t multiplies;
} RopeCacheScale;

/** One tensor of a fused pass: Q, K or V. The common case is `d.q.heads = 32;`. */
typedef struct RopeFusedTensor {
    /** If heads is 0, there is no such tensor. A head_dim of 0 means the description's. rotary_begin: elements of a
     * head before the rotary part; 0: rotation.rotary_begin. */
    uint32_t heads, head_dim, rotary_begin;
    /** 1: the tensor does not rotate, and keeps the order of its elements (layers without RoPE). V never rotates. */
    uint32_t no_rotation;
    RopeLayout from;
    /** Ignored in place. Without a cache token_stride goes from token to token, and there are no pages. */
    RopeCacheLayout to;
    /** The element that is written; 0: the description's. In place it is the description's. Without a cache it is F32,
     * F16 or BF16. */
    RopeElement element;
    /** 1: the biases [heads][head_dim] of buffer BIASES are added to the tensor (Qwen2, GPT-NeoX, Phi). */
    uint32_t bias;
    /** Elements of BIASES before the first bias. A new value needs new pipelines. A new RopeBuffer::offset does not. */
    uint64_t bias_offset;
    RopeNorm norm;
    /** The block size of Hadamard's matrix: a power of two from 16 to 512 that divides head_dim; 0: no such step. */
    uint32_t hadamard;
    /** I8, and float8 without given_scale: where the scales lie in the cache's buffer. These numbers count float32s. */
    RopeCacheLayout stored_scales;
    RopeCacheScale given_scale;
} RopeFusedTensor;

/** A cache must fit one binding; if one_buffer is 1, both caches must. docs/caches.md has the way for larger ones. */
typedef struct RopeCache {
    RopeCacheKind kind;
    RopeCacheOrder order;
    /** slots: of all pages, or of one sequence's own cache, at most 2^30. page_size: slots of a page; 0: no pages. */
    uint32_t slots, page_size;
    RopePositionElement map_element;
    /** 0: the map is SLOT_MAP. 1: it lies in POSITIONS before or behind the positions, and saves a storage buffer. */
    uint32_t map_in_positions;
    /** map_offset: elements before the map. map_batch_stride: from one sequence to the next; 0: without gaps. */
    uint64_t map_offset, map_batch_stride;
    /** PAGE_TABLE: how many pages the map has for each sequence. */
    uint32_t table_pages;
    /** 0: V's cache is in V_OUT. 1: it is in K_OUT, behind K's cache, from v.to.offset on. */
    uint32_t one_buffer;
    /** SHIFT: by how many positions cached keys rotate. 0 (only with SLOTS): POSITIONS has the number for each key. */
    int32_t delta;
} RopeCache;

typedef struct RopeFusedDescription {
    uint32_t batch, tokens;
    /** The head_dim of each tensor whose own is 0. It must be 1 or more even if no tensor takes it. */
    uint32_t head_dim;
    /** Of Q, K and V as they are read; 0: F32. */
    RopeElement element;
    RopeRotation rotation;
    RopePositions positions;
    RopeFusedTensor q, k, v;
    /** For tensors that do not go to the cache. 0: in place. 1: to Q_OUT, K_OUT and V_OUT, which overlap no source. */
    uint32_t out_of_place;
    /** 1: COUNTER counts the same tokens as for a rotation, and tokens whose slot is outside the cache. */
    uint32_t count_outside;
    RopeTuning tuning;
    /** The element of BIASES: F32, F16 or BF16; 0: F32. */
    RopeElement bias_element;
    /** Limits each element of Q, K and V to [-clip, clip] (clip_qkv of OLMo and DBRX). NaN stays NaN. 0: no limit. */
    float clip;
    RopeQueryScale query_scale;
    RopeCache cache;
    /** 1: K and V are read from Q. If all strides are 0, Q is [batch][token][Q heads, then K heads, then V heads]. */
    uint32_t packed_qkv;
    /** 1: POSITIONS also has each sequence's number of tokens, from tokens_offset on: docs/caches.md ("Counts"). */
    uint32_t tokens_counted;
    /** tokens_batch_stride: from one sequence's number to the next; 0: all sequences have one number. */
    uint64_t tokens_offset, tokens_batch_stride;
} RopeFusedDescription;
ROPE_API RopeResult ropePlanFused(const RopeFusedDescription* description, const RopeLimits* limits, RopePlan* plan);
/** Does what ropePlanRotateRange does. A map or counts in POSITIONS must leave room for `most` tokens' positions. */
ROPE_API RopeResult ropePlanFusedRange(const RopeFusedDescription* description, uint32_t least, uint32_t most,
                                       const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS],
                                       uint32_t* plan_count);
/** Writes the bytes of PARAMETERS, plan.bytes[ROPE_SLOT_PARAMETERS] of them: the description's weights and scales. */
ROPE_API RopeResult ropeWriteParameters(const RopeFusedDescription* description, void* destination, RopeReason* reason);

/* ---- Positions added to embeddings ------------------------------------------------------------------------------- */
typedef enum RopeSinusoidOrder {
    ROPE_SINUSOIDS_INTERLEAVED = 0, /**< pair i: sine to element 2i, cosine to 2i + 1: Vaswani et al. */
    ROPE_SINUSOIDS_HALVES = 1,      /**< pair i: sine to i, cosine to i + dim/2: tensor2tensor, fairseq, Whisper */
    ROPE_SINUSOID_ORDER_MAX_ENUM = 0x7FFFFFFF
} RopeSinusoidOrder;

/** Adds positions to embeddings in float32: x' = x * scale + E[position]. E is sinusoids, or the rows of a learned
 * table. Nothing is added to a token that has no position or is outside the table. docs/encodings.md ("Additions") says
 * more of E. The plan reads X, FREQUENCIES or ROWS, and POSITIONS unless positions are COUNTED. It writes X or X_OUT.
 * It writes COUNTER if count_outside is 1. Whisper's sinusoids, and OPT's table, whose first row is for position -2:
 *
 *     d.tokens = 1500, d.dim = 512, d.order = ROPE_SINUSOIDS_HALVES, d.frequencies = f;
 *     d.tokens = tokens, d.dim = 768, d.learned = 1, d.rows.count = 2050, d.rows.first_position = -2; */
typedef struct RopeAddDescription {
    uint32_t batch, tokens;
    /** Elements of an embedding, an even number: at most 2 * ROPE_MAX_PAIRS with sinusoids, and 131070 with a table. */
    uint32_t dim;
    /** 0: sinusoids. 1: a learned table; frequencies, order, source and angle are not used. */
    uint32_t learned;
    RopeSinusoidOrder order;
    /** 1: the sines and cosines of sinusoids change places (diffusers' flip_sin_to_cos). */
    uint32_t cosine_first;
    /** element: what is read; 0: F32. element_out: what is written; 0: `element`. They may differ only out of place. */
    RopeElement element, element_out;
    /** Factor on the embedding, 2^-20 to 2^20, such as sqrt(dim); 0: 1. */
    float scale;
    RopeSource source;
    RopeAngle angle;
    RopeFrequencies frequencies;
    RopePositions positions;
    RopeRows rows;
    /** How [batch][token][element] lies in X and in X_OUT. head_stride is not read. x_out is read only out of place. */
    RopeLayout x, x_out;
    uint32_t out_of_place, count_outside;
} RopeAddDescription;
ROPE_API RopeResult ropePlanAdd(const RopeAddDescription* description, const RopeLimits* limits, RopePlan* plan);

/* ---- Biases on attention scores ---------------------------------------------------------------------------------- */
/** The distance of key j from a query is the key's position less the query's: first_key + j - position. */
typedef enum RopeBiasKind {
    ROPE_BIAS_T5 = 0,      /**< W[bucket(distance)][head] */
    ROPE_BIAS_CLIPPED = 1, /**< B[clip(-distance, least, most) - least][head] */
    ROPE_BIAS_ALIBI = 2,   /**< slope[head] * distance, rounded; if bidirectional is 1: -slope[head] * |distance| */
    ROPE_BIAS_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeBiasKind;

/** Adds a bias to attention scores in place, in float32. docs/encodings.md ("Biases") says how W, B and the slopes lie
 * in ROWS. The plan reads X, ROWS, PARAMETERS for T5, and POSITIONS unless positions are COUNTED. It writes X. 16-bit
 * scores need STORAGE_16 if the offset, a stride or `keys` is odd. A step of T5's decoder, and ALiBi's prefill:
 *
 *     d.heads = 8, d.queries = 1, d.keys = step + 1, d.positions = (RopePositions){ROPE_POSITIONS_COUNTED, step};
 *     d.kind = ROPE_BIAS_ALIBI, d.heads = 32, d.queries = d.keys = tokens, d.causal = 1; */
typedef struct RopeBiasDescription {
    RopeBiasKind kind;
    /** 1: X is not read, and gets the bias alone, [heads][queries][keys]. batch is then 1. */
    uint32_t write_only;
    uint32_t batch, heads, queries, keys;
    /** T5, ALIBI: 1 takes the bidirectional formula: keys after the query have biases, too. */
    uint32_t bidirectional;
    /** 1: the score of a key after its query becomes -infinity. */
    uint32_t causal;
    /** T5: 0 means 32 and 128. */
    uint32_t buckets, max_distance;
    /** CLIPPED: the least and the most of -distance. first_key: the position of key 0. */
    int32_t least, most, first_key;
    RopeElement element;
    RopePositions positions;
    RopeRows rows;
    /** token_stride: from one query to the next. If all strides are 0, X is [batch][heads][queries][keys]. */
    RopeLayout x;
} RopeBiasDescription;
ROPE_API RopeResult ropePlanBias(const RopeBiasDescription* description, const RopeLimits* limits, RopePlan* plan);
#define ROPE_MAX_BUCKETS 1024u
/** Returns T5's bucket of a distance, in exact arithmetic. It returns 0 if a plan refuses the buckets. */
ROPE_API uint32_t ropeT5Bucket(int32_t distance, uint32_t buckets, uint32_t max_distance, uint32_t bidirectional);
/** Writes ALiBi's published slopes of 1 to 65536 heads, each rounded once, the same on every platform. */
ROPE_API RopeResult ropeMakeAlibiSlopes(uint32_t heads, float* slopes, RopeReason* reason);
/** Writes the bytes of PARAMETERS for T5. They depend on buckets, max_distance and bidirectional alone. */
ROPE_API RopeResult ropeWriteBuckets(const RopeBiasDescription* description, void* destination, RopeReason* reason);
/** Returns how many vectors of four uint32 ropeWriteBuckets writes. shaders/bias.glsl takes that number. */
ROPE_API uint32_t ropeBucketVectors(uint32_t buckets, uint32_t bidirectional);

/* ---- Relative vectors -------------------------------------------------------------------------------------------- */
/** R is the vectors in ROWS. Key j of a query at p takes row clip(first_key + j - p, least, most) - least. */
typedef enum RopeRelativeSide {
    ROPE_RELATIVE_KEYS = 0,   /**< score[i][j] += scale * (q[i] . R[row]) */
    ROPE_RELATIVE_VALUES = 1, /**< output[i] += sum over j of weight[i][j] * R[row] */
    ROPE_RELATIVE_SIDE_MAX_ENUM = 0x7FFFFFFF
} RopeRelativeSide;

/** Adds terms of Shaw et al.'s relative vectors in place, to scores or to an attention's output: `d.heads = 8,
 * d.queries = d.keys = tokens, d.dim = 64, d.least = -16, d.most = 16;`. docs/encodings.md ("Relative vectors") has the
 * order of the float32 operations. R is [most - least + 1][dim]. rows.pair_stride goes from one head's R to the next;
 * 0: all heads have one R. 16-bit elements need even offsets and strides. Reads POSITIONS, ROWS, Q, X. Writes X. */
typedef struct RopeRelativeDescription {
    RopeRelativeSide side;
    uint32_t batch, heads, queries, keys, dim;
    /** Bounds of the key's position less the query's, Shaw's -k and k. first_key: the position of key 0. */
    int32_t least, most, first_key;
    /** KEYS: factor on dot products, 2^-20 to 2^20; 0: 1. If the scores hold 1/sqrt(dim), give 1/sqrt(dim). */
    float scale;
    /** element_q: of Q; 0: F32. element_x: of X; 0: Q's. */
    RopeElement element_q, element_x;
    RopePositions positions;
    RopeRows rows;
    /** KEYS: queries and scores. VALUES: the attention's weights and output. All are [batch][heads][queries][...]. */
    RopeLayout q, x;
} RopeRelativeDescription;
ROPE_API RopeResult ropePlanRelative(const RopeRelativeDescription* description, const RopeLimits* limits,
                                     RopePlan* plan);

/* ---- ggml -------------------------------------------------------------------------------------------------------- */
/** The parameters of ggml's rope operator: copy the 64 bytes of op_params here. */
typedef struct RopeGgml {
    /** n_past: not read. n_dims: elements that rotate (VISION: half of them). */
    int32_t n_past, n_dims;
    /** GGML_ROPE_TYPE_NORMAL 0, NEOX 2, MROPE 8, VISION 24 or IMROPE 40. */
    int32_t mode;
    /** n_ctx: not read. n_ctx_orig: read if ext_factor is not 0. */
    int32_t n_ctx, n_ctx_orig;
    /** From 1 to less than 2^64. If ext_factor is not 0, freq_base is more than 1. */
    float freq_base;
    /** Factor on the frequencies. A negative one rotates the other way. If ext_factor is not 0, it is positive. */
    float freq_scale;
    /** ext_factor: how much of YaRN's ramp is mixed in, -1024 to 1024. attn_factor: the scale, 2^-20 to 2^20 with
     * either sign. If ext_factor is not 0, the scale is attn_factor * (1 + 0.1 ln(1 / freq_scale)). */
    float ext_factor, attn_factor;
    /** Read if ext_factor is not 0: 2^-60 to 2^60. */
    float beta_fast, beta_slow;
    /** MROPE, VISION and IMROPE: pairs of each axis of positions. */
    int32_t sections[4];
    /** Elements of the head before those that rotate. */
    int32_t n_offs;
} RopeGgml;

/** Writes rotary_begin, rotary_dim, chunk_dim, pairing and frequencies of the rotation from ggml's parameters. The
 * other members are yours. The frequencies point at `values` and `axes`, which have room for head_dim / 2 each. A
 * refusal writes nothing. docs/llama.md ("What ggml's parameters mean") has the roundings and refusals. */
ROPE_API RopeResult ropeReadGgml(const RopeGgml* parameters, uint32_t head_dim, double* values, uint8_t* axes,
                                 RopeRotation* rotation, RopeReason* reason);

/** A tensor of ggml: ne, nb and type have ggml's values. If ne[0] is 0, there is no such tensor. `unused` is 0. */
typedef struct RopeGgmlTensor {
    int64_t ne[4];
    uint64_t nb[4];
    /** Bytes before its first element in the buffer that you bind. */
    uint64_t offset;
    uint32_t type, unused;
} RopeGgmlTensor;
/** A ROPE or ROPE_BACK node of ggml with the nodes that join its pass: docs/llama.md ("What ggml's parameters mean").
 * If there is no `positions` tensor, there is no ROPE node, and the pass consists of the other nodes. The structure has
 * no padding, so its bytes may be the key of a cached plan. */
typedef struct RopeGgmlNode {
    /** x: the source of the first node, in slot K. weights: MUL's, in K_WEIGHTS. rows: SET_ROWS's row numbers, in
     * SLOT_MAP. out: the result of the last node, in K_OUT, or in K if in_place is 1. With SET_ROWS `out` is the whole
     * tensor. When llama.cpp shifts a cache, x and out both lie in K_OUT, and SLOT_MAP has 0, 1, 2, ... */
    RopeGgmlTensor x, positions, weights, rows, out;
    float epsilon;
    /** If norm is 1, RMS_NORM comes first. If backward is 1, this is ROPE_BACK. If in_place is 1, out is x. */
    uint32_t norm, backward, in_place;
    /** hadamard: ne[0] of the matrix of a MUL_MAT that op_params mark as Hadamard's; 0: no such node. `unused` is 0. */
    uint32_t hadamard, unused;
} RopeGgmlNode;

/** Plans the node. `rotation` comes from ropeReadGgml, and may be null without `positions`. Its operation and
 * frequencies.values are not read. A refusal names a member of the node, or of the description made of it. */
ROPE_API RopeResult ropePlanGgml(const RopeGgmlNode* node, const RopeRotation* rotation, const RopeLimits* limits,
                                 RopePlan* plan);

/* ---- A dispatch as plain data, for engines that own their pipelines and descriptors ------------------------------ */
typedef struct RopeBinding {
    RopeSlot slot;
    /** offset: bytes to add to your buffer's offset, a multiple of limits.storage_alignment. range 0: not bound. */
    uint64_t offset, range;
} RopeBinding;
/** What you need to record a dispatch yourself. docs/engines.md ("Plain dispatches") has more.
 *   - Dispatches share a pipeline if their shaders and constants are equal, and the same bindings have a range.
 *   - bindings[i] is binding i of descriptor set 0. Bind it at your own offset in the slot's buffer plus
 *     binding.offset. Your own offset is a multiple of the device's alignment. From your own offset on, the
 *     buffer must have plan.bytes of its slot, rounded up to a multiple of 4. No binding ends beyond these bytes.
 *   - The pipeline layout has ROPE_PUSH_WORDS push constants from offset 0. Push all of them for each dispatch.
 *   - constants[i] is the specialization constant with id i. Pass all of them (Vulkan ignores ids that a shader lacks),
 *     or fold them into the shader (ropeSpecialize).
 *   - The barriers around a plan are those of ropeCmdExecute. You clear COUNTER before a plan that counts.
 *   - Plan functions and ropeGetDispatch do not allocate, so you may call them in a frame. */
typedef struct RopeDispatch {
    const RopeShader* shader;
    uint32_t constants[ROPE_CONSTANT_COUNT];
    RopeBinding bindings[ROPE_BINDING_COUNT];
    uint32_t push[ROPE_PUSH_WORDS];
    uint32_t groups[3];
} RopeDispatch;

/** A plan's dispatches may run in any order, without barriers between them. A plan that was refused, or that another
 * version made, has none. If `index` is not below the count, ropeGetDispatch writes zeros. */
ROPE_API uint32_t ropeDispatchCount(const RopePlan* plan);
ROPE_API void ropeGetDispatch(const RopePlan* plan, uint32_t index, RopeDispatch* dispatch);

/** Writes the SPIR-V of a dispatch with its constants folded in, and returns its size in bytes. The SPIR-V lacks code
 * that they rule out and bindings that the dispatch lacks. `words` has room for shader->bytes bytes. */
ROPE_API size_t ropeSpecialize(const RopeDispatch* dispatch, uint32_t* words);

/* ---- On the CPU -------------------------------------------------------------------------------------------------- */
/** Computes cos and sin of one pair with the shaders' bits. `position` is in 2^-32ths. `frequency` is the pair's 16
 * bytes from ropeWriteFrequencies. cos_sin[0] is the cosine. Both are NaN if these bytes have the other angle. */
ROPE_API void ropeShaderAngle(int64_t position, const uint32_t frequency[4], double scale, RopeAngle angle,
                              float cos_sin[2]);
/** Computes the true cos and sin of position * frequency, within 2^-51. With COMPATIBLE the product is float32. */
ROPE_API void ropeReferenceAngle(int64_t position, double frequency, RopeAngle angle, double cos_sin[2]);
/** Writes head_dim entries that permute weights from the other pairing to `to`: new element i is old permutation[i]. */
ROPE_API RopeResult ropePairPermutation(uint32_t head_dim, uint32_t rotary_begin, uint32_t rotary_dim, RopePairing to,
                                        uint32_t* permutation, RopeReason* reason);

/** These calls carry out a description on the CPU in two ways at once: with the shaders' own bits, and as a reference
 * in double, which shares no line with the shaders. Each array stands for the buffer of its name, and has plan.bytes of
 * that slot. A reference has a double for each element of the destination. In place one array may be source and result.
 * Sources that are not read and results that you do not want may be null. `outside` is what COUNTER would have. A call
 * refuses what plans refuse, except for limits. It also refuses null frequencies.values if it makes angles. */
typedef struct RopeHostTable {
    const void* positions;
    double* reference_rows;
    float* rows;
} RopeHostTable;
ROPE_API RopeResult ropeHostRunTable(const RopeTableDescription* description, const RopeHostTable* data,
                                     RopeReason* reason);

/** References take cos and sin from rows if positions or frequencies.values are null (sources TABLE and ROWS). */
typedef struct RopeHostRotate {
    const void *positions, *rows, *q, *k;
    double *reference_q, *reference_k;
    void *q_out, *k_out;
    uint32_t outside;
} RopeHostRotate;
ROPE_API RopeResult ropeHostRunRotate(const RopeRotateDescription* description, RopeHostRotate* data,
                                      RopeReason* reason);

/** k_out and v_out are the caches, or k_out alone if cache.one_buffer is 1. Their references are not quantized. A SHIFT
 * reads K from k_out. If packed_qkv is 1, q has K and V. In place, too, results go to q_out, k_out and v_out. */
typedef struct RopeHostFused {
    const void *positions, *rows, *q, *k, *v, *slot_map, *q_weights, *k_weights, *biases;
    double *reference_q, *reference_k, *reference_v;
    void *q_out, *k_out, *v_out;
    uint32_t outside;
} RopeHostFused;
ROPE_API RopeResult ropeHostRunFused(const RopeFusedDescription* description, RopeHostFused* data, RopeReason* reason);
typedef struct RopeHostAdd {
    const void *positions, *rows, *x;
    double* reference;
    void* x_out;
    uint32_t outside;
} RopeHostAdd;
ROPE_API RopeResult ropeHostRunAdd(const RopeAddDescription* description, RopeHostAdd* data, RopeReason* reason);

typedef struct RopeHostBias {
    const void *positions, *rows, *x;
    double* reference;
    void* x_out;
} RopeHostBias;
ROPE_API RopeResult ropeHostRunBias(const RopeBiasDescription* description, RopeHostBias* data, RopeReason* reason);

typedef struct RopeHostRelative {
    const void *positions, *rows, *q, *x;
    double* reference;
    void* x_out;
} RopeHostRelative;
ROPE_API RopeResult ropeHostRunRelative(const RopeRelativeDescription* description, RopeHostRelative* data,
                                        RopeReason* reason);

#ifdef __cplusplus
}
#endif
#endif
