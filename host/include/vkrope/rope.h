/** @mainpage vkrope
 * Position encodings of transformer models as Vulkan compute, RoPE first. MIT licence. This header is the manual. It is
 * C99 and C++, and needs no other header of vkrope. Include it as <vkrope/rope.h>.
 *
 *     RopeRule --ropeMakeFrequencies--> doubles --ropeWriteFrequencies--> bytes of buffer FREQUENCIES
 *
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
 * A structure of zeros asks for the common case. Offsets and strides count elements. Sizes count bytes where the name
 * says so. "0: 16" in a comment means that 0 asks for 16. _MAX_ENUM members only give an enumeration its width.
 *
 * Token t and pair j of the rotary part, whose elements are x and y:
 *
 *     angle = position[axis[j]][t] * frequency[j]             radians, a double
 *     c = scale * cos(angle)      s = scale * sin(angle)      rounded to float32 once
 *     x' = x*c - y*s              y' = x*s + y*c              float32, each operation rounded, none fused; but products
 *                                                             are wider if scale is no power of two
 *
 * Promises. docs/accuracy.md has their parts, and how they are held.
 *   - Cos and sin are within 0.51 ulp of the true values at every position (0.515 with a scale) where the true values
 *     are 2^-30 or more, and within 2^-24.9 everywhere. Their bits are the same on every device and on the CPU.
 *   - A rotated element is off by 2 ulp of its pair's length at most (2.28 if rows' scale is not frequencies.scale).
 *   - The rotation's bits are the same wherever the device rounds float32 to nearest (ropePlanSelfTest), if inputs,
 *     products and results are zero or normal. Elements that do not rotate move as integers, bit for bit.
 *   - Nothing is read or written outside the bytes that the plan names, whatever the positions say.
 *   - The library allocates only where a call says so. It never submits, waits, inserts a barrier or throws. It calls
 *     only Vulkan functions of your vkGetDeviceProcAddr.
 *
 * All calls but ropeSetRounding and ropeDestroyContext may run on any threads at once. Arguments of a call may be freed
 * when it returns: docs/engines.md ("Threads and frames"). Hosts of volk read docs/engines.md ("Beside volk"). If a
 * pointer is null and its comment does not allow that, a call with a result refuses, and any other does nothing. */
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

/* ---- Results ----------------------------------------------------------------------------------------------------- */
/** Only recording returns ROPE_ERROR_NOT_PREPARED and the results that are listed after it. */
typedef enum RopeResult {
    ROPE_SUCCESS = 0,
    ROPE_ERROR_INVALID = -1,   /**< a value is wrong, by itself or for the limits; or a refused plan is recorded */
    ROPE_ERROR_TOO_LARGE = -2, /**< more than the limits allow, and no split helps; or more than 32 or 64 bits hold */
    ROPE_ERROR_NOT_PREPARED = -3,   /**< ropePrepare has not seen this plan */
    ROPE_ERROR_MISSING_BUFFER = -4, /**< the plan uses a slot that has no buffer */
    ROPE_ERROR_MISSING_SETS = -5,   /**< a context without push descriptors needs descriptor sets */
    ROPE_ERROR_OTHER_VERSION = -6,  /**< another version of the library made the plan */
    ROPE_ERROR_OTHER_LIMITS = -7,   /**< the plan needs more of a limit than the context has */
    ROPE_ERROR_MISALIGNED = -8,     /**< a buffer's offset is no multiple of the context's alignment */
    ROPE_ERROR_OVERLAP = -9         /**< out of place, a source and its destination begin at the same byte */
} RopeResult;

#define ROPE_REASON_SIZE 192
/** One sentence that says what was wrong and what would be right; empty on success. */
typedef struct RopeReason {
    char text[ROPE_REASON_SIZE];
} RopeReason;
ROPE_API const char* ropeResultName(RopeResult result); /**< "ROPE_SUCCESS" and so on, never null */

/* ---- Frequencies: any rule becomes an array of doubles ----------------------------------------------------------- */
/** d is rotary_dim, b the base, s the factor, L original_length, theta_i = b^(-2i/d). */
typedef enum RopeRuleKind {
    ROPE_RULE_DEFAULT = 0,          /**< theta_i, correctly rounded */
    ROPE_RULE_LINEAR = 1,           /**< theta_i / s: position interpolation */
    ROPE_RULE_NTK = 2,              /**< base b * s^(d/(d-2)); HunYuan's alpha is this s */
    ROPE_RULE_DYNAMIC_NTK = 3,      /**< beyond L: base b * (s * length/L - (s - 1))^(d/(d-2)) */
    ROPE_RULE_YARN = 4,             /**< Peng et al. 2023, as Hugging Face reads its configuration */
    ROPE_RULE_LONGROPE = 5,         /**< theta_i / short_factors[i]; where length > L, theta_i / long_factors[i] (su) */
    ROPE_RULE_LLAMA3 = 6,           /**< short wavelengths keep theta_i, long ones take theta_i / s, others a blend */
    ROPE_RULE_PROPORTIONAL = 7,     /**< theta_i / s for the first rotating_pairs pairs, 0 for the rest */
    ROPE_RULE_YARN_RAMPED = 8,      /**< MiniMind's early form: beta grows along the pairs. Up to length L: DEFAULT */
    ROPE_RULE_YARN_TEMPERATURE = 9, /**< theta_i / s^(t/(d/2) + gamma) */
    ROPE_RULE_NTK_MIXED = 10,       /**< theta_i / exp(a (i+1)^e), a = ln s / (d/2)^e: no pair is stretched past s */
    ROPE_RULE_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeRuleKind;

/** Every rule reads rotary_dim and base. It reads other members only if their comments name it. Llama 3.1:
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
    /** All but default: s, 2^-30 to 2^900 (yarn ramped: from 1; longrope: only its scale; proportional: 0 means 1). */
    double factor;
    /** dynamic, yarn, longrope, llama3, yarn ramped: L, the length that the model was trained for, 1 to 2^53. */
    double original_length;
    /** dynamic, longrope, yarn ramped: the largest position so far plus 1; 0 means L. */
    double length;
    /** The scale, 2^-20 to 2^20. 0 means: yarn 0.1 ln s + 1, longrope sqrt(1 + ln s / ln L); 1 if s is at most 1. */
    double attention_factor;
    /** yarn: 0 means 32 and 1; slow is at most fast. yarn ramped: 0 means 4 and 1. */
    double beta_fast, beta_slow;
    /** yarn, attention_factor 0: if both are set, the scale is g(mscale) / g(mscale_all_dim), g(m) = 0.1 m ln s + 1. */
    double mscale, mscale_all_dim;
    /** yarn: if 1, the ramp's bounds are not rounded to whole pairs ("truncate": false in configurations). */
    uint32_t keep_bounds;
    /** proportional: 1 to rotary_dim / 2. */
    uint32_t rotating_pairs;
    /** llama3: 0 means 1 and 4; they may be equal. */
    double low_freq_factor, high_freq_factor;
    /** longrope: rotary_dim / 2 of each, 2^-30 to 2^900. */
    const double* short_factors;
    const double* long_factors;
    /** yarn temperature: t and gamma; 0 means 0.25 and 0.8. */
    double temperature, gamma;
    /** ntk mixed: e, up to 16; 0 means 0.625. */
    double mixed_exponent;
} RopeRule;
#define ROPE_MAX_PAIRS 4096u
/** Writes rotary_dim / 2 doubles (radians per position), each with a relative error of at most 1e-15, and the scale of
 * cos and sin, the same on every platform. A refused rule writes nothing. `reason` may be null, as in every call. */
ROPE_API RopeResult ropeMakeFrequencies(const RopeRule* rule, double* frequencies, double* scale, RopeReason* reason);
/** Returns the kind in small letters, "default" to "ntk_mixed", and null for any other kind. */
ROPE_API const char* ropeRuleName(RopeRuleKind kind);

/** The frequencies that plans and shaders take, from a rule or your own: `{values, pairs, scale}`. The doubles count as
 * exact. A negative frequency rotates the other way; 0 leaves a pair where it is. */
typedef struct RopeFrequencies {
    /** Radians per position, each below 2^28 turns; `count` for each set. A plan checks the values; null is allowed. */
    const double* values;
    uint32_t count;
    /** Factor on cos and sin of all sets (YaRN, LongRoPE): 2^-20 to 2^20, either sign; 0 means 1. */
    double scale;
    /** The axis of each pair, 0 to ROPE_MAX_AXES - 1; null: all 0. */
    const uint8_t* axes;
    /** 0 means 1. If there are several sets, each token names its set in POSITIONS (RopePositions). */
    uint32_t sets;
} RopeFrequencies;

/** If positions have several axes (M-RoPE's t, h and w; rows and columns), at most ROPE_MAX_AXIS_PAIRS pairs rotate. */
#define ROPE_MAX_AXES 4u
#define ROPE_MAX_AXIS_PAIRS 256u
typedef enum RopeAxesOrder {
    ROPE_AXES_CONTIGUOUS = 0,  /**< all pairs of the first axis, then all of the second: Qwen2-VL, Wan */
    ROPE_AXES_INTERLEAVED = 1, /**< pair i has axis a = i % n where i / n < sections[a], else axis 0: Qwen3-VL */
    ROPE_AXES_ORDER_MAX_ENUM = 0x7FFFFFFF
} RopeAxesOrder;
/** Writes the axis of each pair. sections[a] is the number of pairs of axis a. */
ROPE_API RopeResult ropeSetAxes(RopeAxesOrder order, const uint32_t* sections, uint32_t section_count, uint32_t pairs,
                                uint8_t* axes, RopeReason* reason);
typedef enum RopeAngle {
    ROPE_ANGLE_EXACT = 0,      /**< position times the double, no rounding before the sine */
    ROPE_ANGLE_COMPATIBLE = 1, /**< float32(position) * float32(frequency), rounded: PyTorch's numbers */
    ROPE_ANGLE_MAX_ENUM = 0x7FFFFFFF
} RopeAngle;

ROPE_API size_t ropeFrequencyBytes(uint32_t count); /**< 16 bytes a pair */
/** Writes what FREQUENCIES holds: ropeFrequencyBytes(pairs of all sets) bytes, the same for every plan of a layer type.
 * Words of the other angle make cos and sin NaN. docs/encodings.md ("The words of frequencies") has the rest. */
ROPE_API RopeResult ropeWriteFrequencies(const RopeFrequencies* frequencies, RopeAngle angle, void* destination,
                                         RopeReason* reason);
/** Divides words of frequencies by float32 factors, one for each pair (LongRoPE's, Llama 3's in ggml), also in place.
 * ropePlanFactors gives the same bits; docs/encodings.md ("Dividing frequencies") has the rounding. */
ROPE_API RopeResult ropeDivideFrequencies(const void* words, const float* factors, uint32_t count, RopeAngle angle,
                                          void* destination, RopeReason* reason);
/** Splits a scale for rope_cos_sin_bits and rope_rotate_scaled of shaders/rope.glsl: its magnitude (0 means 1) is
 * mantissa * 2^(exponent - 31), and a negative scale has 256 added to the exponent. */
ROPE_API RopeResult ropeSplitScale(double scale, uint32_t* mantissa, int32_t* exponent, RopeReason* reason);

/* ---- Limits: what the device has --------------------------------------------------------------------------------- */
/** ropeLimitsFromDevice fills it in. */
typedef struct RopeLimits {
    /** Bytes that one binding may span (maxStorageBufferRange), 1 or more. */
    uint64_t storage_range;
    /** Bytes that a binding's offset must be a multiple of, a power of two up to 65536; 0: 16. */
    uint32_t storage_alignment;
    /** Work groups in x and y, 1 or more of each. In z the library counts on 65535, the least of Vulkan. */
    uint32_t group_count[2];
    /** group_size: invocations of one group; 0: 1. enabled: ROPE_ENABLED_ bits. */
    uint32_t group_size, enabled;
    /** Storage buffers of a stage; 0: 4. Bytes of a uniform binding; 0: 16384. Shared bytes of a group; 0: 16384. */
    uint32_t storage_buffers, uniform_range, shared_bytes;
    /** How many threads keep the device busy; 0: 16384, a GPU's. The number decides how work is cut into groups. So it
     * decides what is refused near the limit of groups. */
    uint32_t threads;
    /** Bytes that a uniform binding's offset must be a multiple of, a power of two; 0: 256. */
    uint32_t uniform_alignment;
} RopeLimits;

/** What you enabled beyond Vulkan 1.1. Only STORAGE_16 is ever needed: for 16-bit scores at odd places, and for blocks
 * that begin inside a word. PIPELINE_ROBUSTNESS leaves out a driver's checks of bounds, which no dispatch needs. */
#define ROPE_ENABLED_PUSH_DESCRIPTORS 1u     /**< VK_KHR_push_descriptor, or the feature of Vulkan 1.4 */
#define ROPE_ENABLED_STORAGE_16 2u           /**< the feature storageBuffer16BitAccess */
#define ROPE_ENABLED_DEBUG_UTILS 8u          /**< VK_EXT_debug_utils of the instance: names and labels */
#define ROPE_ENABLED_NATIVE_HALVES 16u       /**< no feature: the self-test finds it (ropeEnabledBySelfTest) */
#define ROPE_ENABLED_PIPELINE_ROBUSTNESS 32u /**< the feature pipelineRobustness: the extension's, or of Vulkan 1.4 */
/** Writes the least limits that Vulkan 1.1 promises. Null `limits` of a plan function mean these. */
ROPE_API void ropeMinimumLimits(RopeLimits* limits);
/** Copies the device's limits. It does not read apiVersion: refuse a device of Vulkan 1.0 yourself. */
ROPE_API void ropeLimitsFromDevice(const VkPhysicalDeviceProperties* properties, uint32_t enabled, RopeLimits* limits);
#define ROPE_API_VERSION VK_API_VERSION_1_1
#define ROPE_MAX_EXTENSIONS 4u
/** Writes the names of `available` that are worth enabling, up to ROPE_MAX_EXTENSIONS, and returns how many there are.
 * `available` is the device's list or the instance's. The call names no extension whose feature must be enabled. */
ROPE_API uint32_t ropeUsefulExtensions(const VkExtensionProperties* available, uint32_t available_count,
                                       const char** names);
/** Returns the ROPE_ENABLED_ bits of the extensions that you enabled, by their names. Add the bits of features. */
ROPE_API uint32_t ropeEnabledByExtensions(const char* const* names, uint32_t name_count);
/** Returns the name of one ROPE_ENABLED_ bit's extension, and null for a feature's bit and for any other value. */
ROPE_API const char* ropeExtensionName(uint32_t enabled_bit);

/* ---- Rotations --------------------------------------------------------------------------------------------------- */
/** Elements of tensors, rows and caches. 16-bit results are rounded to nearest even (docs/accuracy.md, "16-bit
 * elements"). Formats from I8 on are for caches alone; docs/formats.md has their formulas. */
typedef enum RopeElement {
    ROPE_ELEMENT_DEFAULT = 0, /**< of inputs and rows: float32; of outputs: the input's element */
    ROPE_ELEMENT_F32 = 1,
    ROPE_ELEMENT_F16 = 2,
    ROPE_ELEMENT_BF16 = 3,
    ROPE_ELEMENT_I8 = 4,       /**< int8 with a float32 scale for each slot and head */
    ROPE_ELEMENT_Q8_0 = 5,     /**< llama.cpp's blocks of 32: a float16 scale, then 32 int8; 34 bytes */
    ROPE_ELEMENT_Q4_0 = 6,     /**< a float16 scale and 32 integers of 4 bits; 18 bytes */
    ROPE_ELEMENT_Q4_1 = 7,     /**< a float16 scale, a float16 minimum and 32 integers of 4 bits; 20 bytes */
    ROPE_ELEMENT_Q5_0 = 8,     /**< a float16 scale, 32 fifth bits and 32 integers of 4 bits; 22 bytes */
    ROPE_ELEMENT_F8_E4M3 = 9,  /**< float8 e4m3fn: no infinities, at most 448 */
    ROPE_ELEMENT_F8_E5M2 = 10, /**< float8 e5m2: at most 57344 */
    ROPE_ELEMENT_Q5_1 = 11,    /**< as Q5_0, with a float16 minimum behind the scale; 24 bytes */
    ROPE_ELEMENT_IQ4_NL = 12,  /**< a float16 scale and 32 codes of 4 bits, which stand for 16 integers; 18 bytes */
    ROPE_ELEMENT_MAX_ENUM = 0x7FFFFFFF
} RopeElement;
ROPE_API uint32_t ropeElementBytes(RopeElement element); /**< 4, 2 or 1, and 0 of blocks */
/** Converts as the shaders do, float8 by a scale of 1. I8 and blocks are left alone. In place too if sizes agree. */
ROPE_API void ropeConvertElements(const void* from, RopeElement from_element, void* to, RopeElement to_element,
                                  size_t count);

/** Where each token's position comes from. A start plus an index wraps as int32 does. */
typedef enum RopePositionKind {
    ROPE_POSITIONS_PER_TOKEN = 0,          /**< one per token and axis, from buffer POSITIONS */
    ROPE_POSITIONS_START_PER_SEQUENCE = 1, /**< one per sequence and axis, plus the token's index in its sequence */
    ROPE_POSITIONS_COUNTED = 2,            /**< first plus the token's index, on every axis; no buffer */
    ROPE_POSITIONS_PACKED = 3,             /**< the index in its sequence, by cumulative lengths in POSITIONS */
    ROPE_POSITIONS_PACKED_STARTS = 4,      /**< as PACKED, plus a start for each sequence from POSITIONS */
    ROPE_POSITION_KIND_MAX_ENUM = 0x7FFFFFFF
} RopePositionKind;
/** Positions in 2^-32ths, as the angles take them: Q32.32. */
#define ROPE_WHOLE_POSITION(position) ((int64_t)(position)*4294967296)

/** What POSITIONS holds. A token with a value that is no position does not rotate and is counted. */
typedef enum RopePositionElement {
    ROPE_POSITION_INT32 = 0,
    ROPE_POSITION_INT64 = 1,   /**< PyTorch's own; a value that int32 does not hold is no position */
    ROPE_POSITION_FLOAT32 = 2, /**< whole or not, cut to 2^-32ths; magnitudes from 2^31 on and NaN are no positions */
    ROPE_POSITION_FIXED64 = 3, /**< Q32.32 in an int64: exact */
    ROPE_POSITION_ELEMENT_MAX_ENUM = 0x7FFFFFFF
} RopePositionElement;
ROPE_API uint32_t ropePositionBytes(RopePositionElement element); /**< 4 or 8 */
/** Returns a RopeRule's `length` for `count` entries: the largest position plus 1, or 0 without a position. */
ROPE_API double ropeLengthOfPositions(const void* positions, RopePositionElement element, uint64_t count);

/** POSITIONS holds a row for each axis that the frequencies name: [axes][batch][tokens] positions, or [axes][batch]
 * starts. Strides of 0 mean this layout. For a decoder's step `{ROPE_POSITIONS_COUNTED, step}` needs no buffer.
 *
 * Packed sequences follow each other in one batch. POSITIONS holds a row of sequences + 1 cumulative lengths, the first
 * 0, and then the row of starts; all axes share them. A token behind the last sequence does not rotate. With several
 * sets of frequencies a last row has the set of each token, start or packed sequence, as `kind` counts them (int32 if
 * positions are float32). A token whose set does not exist does not rotate and is counted. */
typedef struct RopePositions {
    RopePositionKind kind;
    /** COUNTED: token 0's position. */
    int32_t first;
    /** 1: every sequence reads the same positions, and batch_stride is not used. */
    uint32_t same_for_all_sequences;
    /** offset: elements before the first position. batch_stride: from one sequence to the next; 0: packed (starts: 1).
     * token_stride: from one token to the next; 0: 1. axis_stride: from one axis to the next; 0: packed. */
    uint64_t offset, batch_stride, token_stride, axis_stride;
    RopePositionElement element;
    /** PACKED kinds: the number of sequences; batch is 1. */
    uint32_t sequences;
} RopePositions;

/** Rows of cos and sin. Zeros mean the native row: `pairs` float32 cosines, then `pairs` sines. ropeSetRows fills in
 * the other formats in use, and any other strides work too. Separate arrays of cosines and sines lie in one buffer. */
typedef struct RopeRows {
    /** offset: elements before row 0's first cosine. row_stride: from row to row; 0: 2 * pairs. */
    uint64_t offset, row_stride;
    /** From a pair to the next; 0: 1. */
    uint32_t pair_stride;
    /** From a cosine to its sine, either way; 0: pairs. */
    int64_t sin_offset;
    /** From a value to the second copy that ropePlanTable writes; 0: no copy. Rotations ignore it. */
    uint32_t copy_offset;
    /** F32 (0 too), F16 or BF16. ropePlanTable writes float32 only. */
    RopeElement element;
    /** ROPE_SOURCE_TABLE: the position of row 0, and the number of rows of a set. Sets follow each other. */
    int32_t first_position;
    uint32_t count;
} RopeRows;
typedef enum RopeRowsFormat {
    ROPE_ROWS_SPLIT = 0,       /**< [row][pairs cosines, pairs sines]: the native one, vLLM's */
    ROPE_ROWS_DUPLICATED = 1,  /**< arrays cos, sin[row][2 * pairs], pair j at j and j + pairs: Hugging Face */
    ROPE_ROWS_INTERLEAVED = 2, /**< [row][cos, sin of each pair] */
    ROPE_ROWS_COMPLEX = 3,     /**< cos + i sin: the same bytes */
    ROPE_ROWS_TWO_ARRAYS = 4,  /**< arrays cos, sin[row][pairs]: ONNX */
    ROPE_ROWS_FORMAT_MAX_ENUM = 0x7FFFFFFF
} RopeRowsFormat;
/** Sets strides, offsets and `count` of `rows`. If sines have an array of their own, row_count says where it begins. */
ROPE_API void ropeSetRows(RopeRowsFormat format, uint32_t pairs, uint32_t row_count, RopeRows* rows);
typedef enum RopePairing {
    ROPE_PAIRING_DEFAULT = 0,     /**< pairing: half; pairing_out: the same as pairing */
    ROPE_PAIRING_HALF = 1,        /**< elements (i, i + rotary_dim/2): GPT-NeoX, Hugging Face Llama, ggml's NEOX */
    ROPE_PAIRING_INTERLEAVED = 2, /**< elements (2i, 2i + 1): GPT-J, the original Llama, ggml's NORMAL */
    ROPE_PAIRING_MAX_ENUM = 0x7FFFFFFF
} RopePairing;
typedef enum RopeOperation {
    ROPE_OPERATION_FORWARD = 0,
    ROPE_OPERATION_TRANSPOSE = 1, /**< -s, scale kept: the gradient */
    ROPE_OPERATION_INVERSE = 2,   /**< -s, 1/scale: gives the input back */
    ROPE_OPERATION_SHIFT = 3,     /**< scale 1: rotates by a delta what is already rotated */
    ROPE_OPERATION_MAX_ENUM = 0x7FFFFFFF
} RopeOperation;
/** Where cos and sin come from. */
typedef enum RopeSource {
    ROPE_SOURCE_INLINE = 0, /**< computed in the kernel from FREQUENCIES */
    ROPE_SOURCE_TABLE = 1,  /**< row (position - first_position) of ROWS; a token outside the table does not rotate */
    ROPE_SOURCE_ROWS = 2,   /**< row (batch * tokens + token) of ROWS; POSITIONS is read for packed lengths alone */
    ROPE_SOURCE_MAX_ENUM = 0x7FFFFFFF
} RopeSource;

/** Which elements rotate, and by what. The common case is `d.rotation.frequencies = f;`. Rows hold frequencies.scale:
 * docs/encodings.md ("Scales in rows") says what that means for inverse and shift. */
typedef struct RopeRotation {
    /** INLINE reads every member but values. TABLE and ROWS read scale (the one that the rows hold), sets and axes, and
     * count if axes is not null. */
    RopeFrequencies frequencies;
    /** Where the rotary part starts; how many elements it has, even (0: to the head's end). The rest passes through. */
    uint32_t rotary_begin, rotary_dim;
    /** HALF: pairs lie inside chunks of this many elements; 0: rotary_dim. Gemma 4's vision: rotary_dim / axes. */
    uint32_t chunk_dim;
    /** pairing_out: may differ from `pairing` only out of place. */
    RopePairing pairing, pairing_out;
    /** How many tokens at each sequence's begin and end do not rotate (class tokens). Each has its entry and row. */
    uint32_t skip_first, skip_last;
    RopeOperation operation;
    RopeSource source;
    /** INLINE: the angle that FREQUENCIES is written for. With the other angle, what rotates becomes NaN. */
    RopeAngle angle;
    /** Read by TABLE and ROWS. */
    RopeRows rows;
} RopeRotation;

/** Where a tensor's heads lie. All strides 0: packed, [batch, token, head, element]; otherwise a stride may be 0 only
 * where its count is 1. 16-bit elements move in twos: offsets, strides, rotary_begin and the distance of a pair's
 * elements must be even. For an odd number of pairs take float32, or weights that ropePairPermutation permuted. */
typedef struct RopeLayout {
    uint64_t offset, batch_stride, token_stride, head_stride;
} RopeLayout;
/** heads 0: there is no such tensor. `to` is read only out of place. */
typedef struct RopeTensor {
    uint32_t heads;
    RopeLayout from, to;
} RopeTensor;

/** How the work is cut into threads; 0: the library chooses. No bit depends on it. docs/bench.md: "Tuning". */
typedef struct RopeTuning {
    /** At most: threads of a group; heads of a thread, up to ROPE_MAX_TUNED_HEADS; pairs of a lane, 4 or 8. */
    uint32_t group_size, heads, pairs;
} RopeTuning;
#define ROPE_MAX_ROTATED_HEADS 8u
#define ROPE_MAX_TUNED_HEADS 1024u

/** Rotates Q and K, or one of them, in one dispatch where the device and the layouts allow it.
 *
 *     d.tokens = tokens, d.head_dim = 128, d.q.heads = 32, d.k.heads = 8, d.rotation.frequencies = f;
 *
 * Reads POSITIONS (unless counted, or by rows), FREQUENCIES (inline) or ROWS, and Q, K. Writes Q, K, or out of place
 * Q_OUT, K_OUT. Writes COUNTER too if count_outside is 1 and a token may lack a position or row. */
typedef struct RopeRotateDescription {
    /** Sequences (0: 1), tokens of each, and elements of a head. */
    uint32_t batch, tokens, head_dim;
    /** Q and K as they are read; 0: float32. As they are written; 0: `element`. Only out of place may it differ. */
    RopeElement element, element_out;
    RopeRotation rotation;
    RopePositions positions;
    RopeTensor q, k;
    /** 0: in place. 1: to Q_OUT and K_OUT, which must not overlap the sources. */
    uint32_t out_of_place;
    /** 1: COUNTER, which you clear, counts tokens that cannot rotate: without a position, or outside the table. */
    uint32_t count_outside;
    RopeTuning tuning;
} RopeRotateDescription;

/* ---- Plans: pure; every refusal, size and word is decided here --------------------------------------------------- */
/** The caller's buffers. */
typedef enum RopeSlot {
    ROPE_SLOT_POSITIONS = 0,
    ROPE_SLOT_FREQUENCIES = 1, /**< from ropeWriteFrequencies or ropePlanFactors, for the angle of the plan */
    ROPE_SLOT_ROWS = 2,
    ROPE_SLOT_Q = 3, /**< with ROPE_RELATIVE_VALUES: attention's weights */
    ROPE_SLOT_K = 4,
    ROPE_SLOT_Q_OUT = 5,
    ROPE_SLOT_K_OUT = 6,
    ROPE_SLOT_COUNTER = 7, /**< also the self-test's result */
    ROPE_SLOT_V = 8,
    ROPE_SLOT_V_OUT = 9,
    ROPE_SLOT_PARAMETERS = 10, /**< a uniform buffer */
    ROPE_SLOT_X = 11,          /**< what the other encodings add to: embeddings, scores, an attention's output */
    ROPE_SLOT_X_OUT = 12,
    ROPE_SLOT_FACTORS = 13,         /**< float32 factors that divide frequencies */
    ROPE_SLOT_FREQUENCIES_OUT = 14, /**< the quotients: FREQUENCIES of the plans that follow */
    ROPE_SLOT_SLOT_MAP = 15,        /**< cache slots of tokens, or a page table */
    ROPE_SLOT_Q_WEIGHTS = 16,       /**< weights of Q's norm */
    ROPE_SLOT_K_WEIGHTS = 17,       /**< weights of K's norm */
    ROPE_SLOT_BIASES = 18,          /**< biases of the projection */
    ROPE_SLOT_COUNT = 19
} RopeSlot;
ROPE_API const char* ropeSlotName(RopeSlot slot); /**< "positions" and so on; never null */

#define ROPE_BINDING_COUNT 13u   /**< bindings of set 0; a dispatch binds some of them */
#define ROPE_BINDING_UNIFORM 12u /**< the uniform buffer; all others are storage buffers */
#define ROPE_CONSTANT_COUNT 146u /**< specialization constants, ids 0 to 145, 4 bytes each */
#define ROPE_PUSH_WORDS 32u      /**< push constants, 128 bytes from offset 0 */
#define ROPE_MAX_PASSES 4u
#define ROPE_PLAN_BYTES 6336u /**< bytes of a plan that only the library reads */

/** SPIR-V 1.3 for Vulkan 1.1, entry point "main". `needs` has the ROPE_ENABLED_ bits that the device must have. */
typedef struct RopeShader {
    const char* name;
    const uint32_t* words;
    size_t bytes;
    uint32_t needs;
} RopeShader;
/** One shader over one tensor, or over several. */
typedef struct RopePass {
    const RopeShader* shader;
    /** bindings: bit i is set if the pass binds binding i. dispatches: several if one cannot take the whole tensor. */
    uint32_t bindings, dispatches;
    /** Threads of a group. Passes with an equal hash (of shader, constants and bindings) share a pipeline. */
    uint32_t group_size, pipeline_hash;
} RopePass;

/** A plan is a value: comparable, copyable, needing no release. It serves in the process that made it, as long as the
 * library is loaded: it points at the library's shaders. */
typedef struct RopePlan {
    /** ROPE_VERSION of the library that made it; 0: refused, or never made. */
    uint32_t version;
    uint32_t pass_count;
    RopePass passes[ROPE_MAX_PASSES];
    /** The limits that the plan needs: a context with less refuses it. `enabled` has what its shaders need. */
    RopeLimits limits;
    /** What each slot's buffer must offer from its offset on; 0: not used. */
    uint64_t bytes[ROPE_SLOT_COUNT];
    /** Why it was refused; empty on success. */
    RopeReason reason;
    /** The library's own: dispatches, constants and push words, which ropeGetDispatch hands out. */
    uint8_t internal[ROPE_PLAN_BYTES];
} RopePlan;

/** Fills in *plan, or refuses with plan->reason, as every plan function does. Null `limits` mean ropeMinimumLimits. */
ROPE_API RopeResult ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits, RopePlan* plan);
#define ROPE_MAX_RANGE_PLANS 8u
/** Writes plans for ropePrepare, and their number. Together they need every pipeline that the description takes with
 * `least` to `most` tokens. The call refuses, in plans[0], if a plan of `least` or `most` tokens is refused, or if more
 * plans are needed. docs/engines.md ("How many pipelines") says how many pipelines a model takes. */
ROPE_API RopeResult ropePlanRotateRange(const RopeRotateDescription* description, uint32_t least, uint32_t most,
                                        const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS],
                                        uint32_t* plan_count);
/** Returns 1 if both plans are the same in every byte, 0 if not, and 0 if either is null. */
ROPE_API int ropePlansEqual(const RopePlan* a, const RopePlan* b);
/** Prints the plan in a few lines, at most `size` bytes. Returns the bytes of the whole text, as snprintf does. */
ROPE_API size_t ropePrintPlan(const RopePlan* plan, char* buffer, size_t size);

/* ---- Recording: a context on your device, and your command buffers ----------------------------------------------- */
/** `{device, vkGetDeviceProcAddr, VK_NULL_HANDLE, NULL, limits}`. */
typedef struct RopeContextInfo {
    VkDevice device;
    PFN_vkGetDeviceProcAddr get_device_proc_addr;
    /** Optional. Make it without EXTERNALLY_SYNCHRONIZED_BIT if ropePrepare runs on several threads. */
    VkPipelineCache pipeline_cache;
    /** Optional; for the context itself and its Vulkan objects. */
    const VkAllocationCallbacks* allocator;
    RopeLimits limits;
} RopeContextInfo;
typedef struct RopeContext RopeContext;
/** Allocates the context, and creates no Vulkan object. On failure *context is null: VK_ERROR_OUT_OF_HOST_MEMORY, or
 * VK_ERROR_INITIALIZATION_FAILED where a pointer is null, plans refuse the limits, or the device lacks a function. */
ROPE_API VkResult ropeCreateContext(const RopeContextInfo* info, RopeContext** context);
/** No command buffer that uses the context's pipelines may be pending. Null is allowed. */
ROPE_API void ropeDestroyContext(RopeContext* context);

/** Makes the pipelines that are not there yet, each with its layouts. It allocates and compiles, 50 to 90 ms each on an
 * H100: call it at start-up or on a worker thread. The first plan that recording would refuse ends the call, with a
 * reason: VK_ERROR_FEATURE_NOT_PRESENT if the plan needs more than the context has, VK_ERROR_INITIALIZATION_FAILED if
 * the plan was refused or is of another version. Other results are Vulkan's, or VK_ERROR_OUT_OF_HOST_MEMORY. */
ROPE_API VkResult ropePrepare(RopeContext* context, const RopePlan* plans, uint32_t plan_count, RopeReason* reason);

/** The buffer's usage has VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, or UNIFORM_BUFFER_BIT in the slot PARAMETERS. `offset` is
 * a multiple of the device's min...BufferOffsetAlignment; a finer offset goes into a layout's offset, in elements. */
typedef struct RopeBuffer {
    VkBuffer buffer;
    VkDeviceSize offset;
} RopeBuffer;
/** `sets` come from ropeAllocateSets. They are not read if the context has push descriptors. */
typedef struct RopeBuffers {
    RopeBuffer slots[ROPE_SLOT_COUNT];
    const VkDescriptorSet* sets;
} RopeBuffers;

/** Records the plan: for each dispatch binds a compute pipeline, set 0 and 128 bytes of push constants, and dispatches.
 * Plan, buffers and offsets are checked first, in some nanoseconds; buffers' sizes and partial overlaps are not.
 *   Before: make the buffers that it reads visible to VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT,
 *           PARAMETERS to VK_ACCESS_UNIFORM_READ_BIT. Make earlier accesses to the buffers that it writes visible to
 *           VK_ACCESS_SHADER_READ_BIT | SHADER_WRITE_BIT.
 *   After:  make its writes (compute stage, VK_ACCESS_SHADER_WRITE_BIT) visible to what reads them, also a table's to
 *           rotations. Work that overwrites what the plan read, such as positions, waits for the compute stage.
 *   Clobbers: the compute bind point's pipeline, its set 0 and layout, and the push constants. */
ROPE_API RopeResult ropeCmdExecute(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                                   const RopeBuffers* buffers);

/** Does the same with groups from a buffer (INDIRECT_BUFFER_BIT). From `offset` on, a multiple of 4, the buffer has a
 * VkDispatchIndirectCommand for each dispatch (ropeGroups). docs/engines.md ("One recording for every step") says more.
 *   Before also: make the counts visible to VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, VK_ACCESS_INDIRECT_COMMAND_READ_BIT.
 *   After also: work that writes the counts waits for VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT. */
ROPE_API RopeResult ropeCmdExecuteIndirect(VkCommandBuffer command_buffer, const RopeContext* context,
                                           const RopePlan* plan, const RopeBuffers* buffers, VkBuffer groups,
                                           VkDeviceSize offset);
/** Writes the groups of a dispatch for the first `tokens` tokens of each sequence; 0 if it has none of these tokens. */
ROPE_API void ropeGroups(const RopePlan* plan, uint32_t index, uint32_t tokens, uint32_t groups[3]);

/** After ropePrepare, outside a frame: allocates ropeDispatchCount(plan) sets from your pool, and points them at the
 * buffers. A set has at most ROPE_BINDING_COUNT - 1 storage buffers and a uniform buffer. The call refuses a context
 * with push descriptors (VK_ERROR_FEATURE_NOT_PRESENT), and what recording refuses (VK_ERROR_INITIALIZATION_FAILED). */
ROPE_API VkResult ropeAllocateSets(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers,
                                   VkDescriptorPool pool, VkDescriptorSet* sets);
/** Points `buffers->sets` at other buffers. A set serves every dispatch, of any plan, that binds the same bindings. No
 * command buffer that binds these sets may be pending. ROPE_ERROR_INVALID: the context has push descriptors. */
ROPE_API RopeResult ropeUpdateSets(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers);

/* ---- Tables, factors and the self-test --------------------------------------------------------------------------- */
/** Makes rows of cos and sin. COUNTED positions make a table for ROPE_SOURCE_TABLE, `tokens` rows from positions.first
 * on. Other kinds make row (batch * tokens + token) of each token, for ROPE_SOURCE_ROWS. All layers share a step's
 * rows. Reads POSITIONS (unless counted) and FREQUENCIES. Writes ROWS.
 *
 *     d.frequencies = f, d.tokens = 4096, d.positions.kind = ROPE_POSITIONS_COUNTED; // positions 0 to 4095 */
typedef struct RopeTableDescription {
    RopeFrequencies frequencies;
    RopeAngle angle;
    /** Sequences (0: 1), and tokens of each. */
    uint32_t batch, tokens;
    RopePositions positions;
    RopeRows rows;
} RopeTableDescription;
ROPE_API RopeResult ropePlanTable(const RopeTableDescription* description, const RopeLimits* limits, RopePlan* plan);

/** Divides every set of frequencies, as ropeDivideFrequencies does, by the same factors. They lie on the device. Reads
 * FREQUENCIES and FACTORS. Writes FREQUENCIES_OUT, other memory: bind it as FREQUENCIES after a barrier. */
typedef struct RopeFactorsDescription {
    /** Pairs, 1 to ROPE_MAX_PAIRS. Sets; 0 means 1. */
    uint32_t count, sets;
    RopeAngle angle;
    /** Elements of FACTORS before the first. */
    uint64_t offset;
} RopeFactorsDescription;
ROPE_API RopeResult ropePlanFactors(const RopeFactorsDescription* description, const RopeLimits* limits,
                                    RopePlan* plan);

#define ROPE_SELF_TEST_WORDS 20u
/** Finds how the device rounds float32 and converts float16: writes ROPE_SELF_TEST_WORDS uint32 to COUNTER, for the two
 * calls below. docs/accuracy.md ("The self-test") says how. */
ROPE_API RopeResult ropePlanSelfTest(const RopeLimits* limits, RopePlan* plan);
typedef enum RopeRounding {
    ROPE_ROUNDING_UNKNOWN = 0, /**< no self-test was reported */
    ROPE_ROUNDING_NEAREST = 1, /**< the rotation's bits are the promised ones */
    ROPE_ROUNDING_OTHER = 2,   /**< accurate, but the last bit may differ from other devices */
    ROPE_ROUNDING_MAX_ENUM = 0x7FFFFFFF
} RopeRounding;
/** Returns what the words say of the device's rounding, for ropeSetRounding. */
ROPE_API RopeRounding ropeReadSelfTest(const uint32_t words[ROPE_SELF_TEST_WORDS]);
/** Returns ROPE_ENABLED_NATIVE_HALVES if the device converts float16 as the library does, else 0. Add it to
 * limits.enabled before you plan for this device and driver: plans may be faster, with the same bits. */
ROPE_API uint32_t ropeEnabledBySelfTest(const uint32_t words[ROPE_SELF_TEST_WORDS]);
/** These store and return what ropeReadSelfTest found. A context does nothing else with it. */
ROPE_API void ropeSetRounding(RopeContext* context, RopeRounding rounding);
ROPE_API RopeRounding ropeGetRounding(const RopeContext* context);

/* ---- Fused passes: from the projection to the cache -------------------------------------------------------------- */
/** @page fused Fused passes
 *
 * A fused pass moves Q, K and V from the projection to the attention and to the cache. Each of these tensors has a
 * record, a RopeFusedTensor. A tensor takes these steps in this order, and skips each step that its record leaves at 0:
 *
 *     load, biases, clip, norm, rotate, norm (with `after`), scale of queries, Hadamard, convert, store
 *
 * Q and K rotate, and V does not. The pass gives the bits of separate passes with float32 between them. K and V go to
 * the cache if cache.kind is set. All other tensors are written in place, or with out_of_place to their _OUT buffers.
 * In place a tensor keeps its element and its layout, and elements that no step changes are not read.
 *
 * Bind these buffers. plan.bytes is 0 for each buffer that the plan does not use.
 *
 *     Q, K, V                the projection's tensors, in place the results too; with packed_qkv Q holds all three
 *     Q_OUT, K_OUT, V_OUT    the results out of place; K_OUT and V_OUT are the caches (with one_buffer K_OUT alone)
 *     POSITIONS              positions; the counts of tokens (tokens_counted); the map with cache.map_in_positions
 *     SLOT_MAP               a slot for each token (SLOTS), or a row of pages for each sequence (PAGE_TABLE)
 *     FREQUENCIES, ROWS      where cos and sin come from, by rotation.source; neither if no tensor rotates
 *     Q_WEIGHTS, K_WEIGHTS   weights of norms whose `weights` is null
 *     BIASES                 biases of the projection
 *     PARAMETERS             a uniform buffer, which ropeWriteParameters fills from the description's arrays
 *     COUNTER                one uint32, which you clear (count_outside)
 *
 * Offsets in POSITIONS and SLOT_MAP count from the RopeBuffer's offset. A destination must not overlap the map, another
 * destination or, out of place, a source. Two tokens of a pass must not share a cache slot. docs/caches.md
 * ("Dispatches") says when a tensor takes its own dispatch, docs/caches.md ("Geometry") which multiples tensors need.
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
 *     DeepSeek V3: Q of 128 + 64 elements in place. K, the latent, has 512 + 64, and 512 are normed.
 *     d.tokens = tokens, d.head_dim = 192, d.element = ROPE_ELEMENT_BF16;
 *     d.rotation.frequencies = f, d.rotation.rotary_dim = 64, d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
 *     d.q.heads = 128, d.q.rotary_begin = 128;
 *     d.k.heads = 1, d.k.head_dim = 576, d.k.rotary_begin = 512;
 *     d.k.norm.kind = ROPE_NORM_RMS, d.k.norm.epsilon = 1e-6f, d.k.norm.dim = 512;
 *     d.cache.kind = ROPE_CACHE_PAGE_TABLE, d.cache.table_pages = 256;
 *     d.cache.slots = 64 * pages, d.cache.page_size = 64;
 *     b.slots[ROPE_SLOT_Q] = q, b.slots[ROPE_SLOT_K] = latent, b.slots[ROPE_SLOT_K_WEIGHTS] = latent_norm;
 *     b.slots[ROPE_SLOT_K_OUT] = pool, b.slots[ROPE_SLOT_SLOT_MAP] = table; */

/** docs/formats.md has the order of operations. */
typedef enum RopeNormKind {
    ROPE_NORM_NONE = 0,
    ROPE_NORM_RMS = 1,   /**< x / sqrt(mean of x*x + epsilon), times the weight; without weights Llama 4's "L2Norm" */
    ROPE_NORM_L2 = 2,    /**< x / sqrt(sum of x*x + epsilon), times the weight */
    ROPE_NORM_LAYER = 3, /**< (x - mean) / sqrt(variance + epsilon), times weight, plus bias: Cohere, StableLM */
    ROPE_NORM_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeNormKind;

/** A norm takes all of a head, or `dim` elements from `begin` on; the other elements pass. The common case:
 *
 *     d.q.norm.kind = ROPE_NORM_RMS, d.q.norm.epsilon = 1e-6f; // float32 weights in buffer Q_WEIGHTS
 *
 * GPUs load weights faster from the buffer than from an array, and fastest if offset and strides are multiples of 4. */
typedef struct RopeNorm {
    RopeNormKind kind;
    /** Finite, 0 or more. */
    float epsilon;
    /** after 1: the norm follows the rotation (HunYuan, Llama 4). all_heads 1: it takes all heads as one (OLMo 2). */
    uint32_t after, all_heads;
    /** The part of a head that is normed, multiples of 4; dim 0: all from `begin` on. */
    uint32_t begin, dim;
    /** 1: the norm has no weights (Llama 4, Gemma's V). */
    uint32_t no_weights;
    /** Your array (if `after`: in pairing_out's order). Null: weights lie in Q_WEIGHTS or K_WEIGHTS (V: refused). */
    const float* weights;
    /** LAYER: your array beside `weights`; null: none. */
    const float* biases;
    /** In the buffer: F32 (0 too), F16 or BF16, widened to float32. */
    RopeElement weights_element;
    /** In the buffer: elements before the first weight, at most 2^33. Another offset takes the same pipeline. */
    uint64_t weights_offset;
    /** From a head's weights to the next head's; 0: heads share them (with all_heads 0 means `dim`). From a token's to
     * the next token's; 0: tokens share them. With an array the first is 0 or `dim`, and the second is 0. */
    uint64_t weights_head_stride, weights_token_stride;
    /** Added to each weight: 1 for Gemma. */
    float weight_plus;
} RopeNorm;

/** A query is multiplied by values[floor((position + offset) / interval)]. The position is axis 0's, floored. A
 * negative index, and a token without a position, take values[0]. An index of `count` or more takes the last value. */
typedef struct RopeQueryScale {
    const float* values;
    /** count 0: no such scale. interval: Llama 4's floor_scale, Ministral 3's original length. offset: Llama 4: 1. */
    uint32_t count, interval, offset;
} RopeQueryScale;
/** Writes values[i] = 1 + beta * ln(1 + i), each rounded once, the same on every platform: Llama 4's attn_scale and
 * Ministral 3's llama_4_scaling_beta. |beta| is at most 2^20, and count is from 1 to 65536. */
ROPE_API RopeResult ropeMakeQueryScale(double beta, uint32_t count, float* values, RopeReason* reason);

/** Where a token's K and V go. A token writes nothing and is counted if it has no slot in the cache, or no position to
 * find the slot by. docs/caches.md ("Slots") has rings, packed sequences and what is not counted. */
typedef enum RopeCacheKind {
    ROPE_CACHE_NONE = 0,
    ROPE_CACHE_SLOTS = 1,      /**< the map [batch][tokens] has each token's slot (ggml's row numbers); -1: none */
    ROPE_CACHE_POSITIONS = 2,  /**< the slot is the position on axis 0; each sequence has a cache */
    ROPE_CACHE_RING = 3,       /**< the position modulo slots (sliding windows); each sequence has a cache */
    ROPE_CACHE_PAGE_TABLE = 4, /**< the page is table[sequence][position / page_size]; the map: [batch][table_pages] */
    ROPE_CACHE_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeCacheKind;
typedef enum RopeCacheOrder {
    ROPE_CACHE_NHD = 0, /**< [page][slot][head][element]; kinds POSITIONS and RING: an array a sequence */
    ROPE_CACHE_HND = 1, /**< [page][head][slot][element] */
    ROPE_CACHE_ORDER_MAX_ENUM = 0x7FFFFFFF
} RopeCacheOrder;

/** The layout of one tensor of a cache. All strides 0: packed in the cache's order. With blocks the numbers count the
 * elements that the blocks hold, and are multiples of 32. batch_stride goes from a sequence's cache to the next
 * (POSITIONS and RING), page_stride from page to page. */
typedef struct RopeCacheLayout {
    uint64_t offset, batch_stride, page_stride, token_stride, head_stride;
} RopeCacheLayout;
/** A scale that the host gives for a float8 tensor. It lies in PARAMETERS, so layers with other scales share a plan. */
typedef struct RopeCacheScale {
    const float* values;
    /** 0: the pass finds and stores a scale for each slot and head. Else 1 or the heads; values 2^-100 to 2^100. */
    uint32_t count;
    /** 0: elements are x / scale. 1: x * scale. */
    uint32_t multiplies;
} RopeCacheScale;

/** One tensor of a fused pass: Q, K or V. The common case is `d.q.heads = 32;`. */
typedef struct RopeFusedTensor {
    /** heads 0: the pass has no such tensor. head_dim: elements of a head; 0: the description's. rotary_begin: where
     * the rotary part starts; 0: rotation.rotary_begin. */
    uint32_t heads, head_dim, rotary_begin;
    /** 1: does not rotate, and keeps its order (layers without RoPE). V never rotates. */
    uint32_t no_rotation;
    RopeLayout from;
    /** Not read in place. token_stride goes from slot to slot of a cache. Without a cache there are no pages. */
    RopeCacheLayout to;
    /** The element that is written: any in a cache, else F32, F16 or BF16. 0, or in place: the description's. */
    RopeElement element;
    /** 1: the biases [heads][head_dim] of buffer BIASES are added to the tensor (Qwen2, GPT-NeoX, Phi). */
    uint32_t bias;
    /** Elements before the first bias: a constant of the pipeline. The RopeBuffer's offset adds no pipeline. */
    uint64_t bias_offset;
    RopeNorm norm;
    /** Elements of a block that Hadamard's matrix multiplies: 16 to 512, a power of two that divides the head; or 0. */
    uint32_t hadamard;
    /** I8, and float8 without a given scale: where scales lie in the cache's buffer. These numbers count float32s. */
    RopeCacheLayout stored_scales;
    /** Read for K and V in float8. */
    RopeCacheScale given_scale;
} RopeFusedTensor;

/** A tensor's cache must fit one binding (one_buffer: both). docs/caches.md has the way for larger caches. */
typedef struct RopeCache {
    RopeCacheKind kind;
    RopeCacheOrder order;
    /** Slots of all pages (POSITIONS, RING: of one sequence), at most 2^30. Slots of a page; 0: there are no pages. */
    uint32_t slots, page_size;
    /** The map's element: INT32 or INT64. */
    RopePositionElement map_element;
    /** 0: the map lies in SLOT_MAP. 1: in POSITIONS, behind or before the positions, which saves a storage buffer. */
    uint32_t map_in_positions;
    /** Elements before the map; from sequence to sequence; 0: tokens or table_pages. */
    uint64_t map_offset, map_batch_stride;
    /** PAGE_TABLE: pages of one sequence. */
    uint32_t table_pages;
    /** 1: V's cache is in K_OUT too, from v.to.offset on: behind all slots of K. 0: it is in V_OUT. */
    uint32_t one_buffer;
    /** SHIFT: how far cached keys rotate. Kind SLOTS, and delta 0: a key rotates by its entry of POSITIONS instead. */
    int32_t delta;
} RopeCache;

/** A fused pass: the five above, for instance. */
typedef struct RopeFusedDescription {
    /** Sequences (0: 1), and tokens of each. */
    uint32_t batch, tokens;
    /** Of each tensor whose own head_dim is 0. It must be 1 or more even if all have their own. */
    uint32_t head_dim;
    /** Of Q, K and V as they are read; 0: float32. */
    RopeElement element;
    RopeRotation rotation;
    RopePositions positions;
    RopeFusedTensor q, k, v;
    /** 0: a tensor without a cache is written in place. 1: to Q_OUT, K_OUT, V_OUT, apart from the sources. */
    uint32_t out_of_place;
    /** 1: COUNTER counts tokens that cannot rotate, as in a rotation, and tokens whose slot is outside the cache. */
    uint32_t count_outside;
    RopeTuning tuning;
    /** The element of BIASES: F32 (0 too), F16 or BF16, widened to float32. */
    RopeElement bias_element;
    /** Each element of Q, K and V is limited to [-clip, clip], NaN stays: OLMo's and DBRX's clip_qkv; 0: none. */
    float clip;
    RopeQueryScale query_scale;
    RopeCache cache;
    /** 1: K and V are read from slot Q; all strides 0: [batch][token][Q heads, then K heads, then V heads]. */
    uint32_t packed_qkv;
    /** 1: POSITIONS has each sequence's count of tokens, from tokens_offset on: docs/caches.md ("Counts"). */
    uint32_t tokens_counted;
    /** tokens_batch_stride: from one sequence's count to the next one's; 0: all sequences have one count. */
    uint64_t tokens_offset, tokens_batch_stride;
} RopeFusedDescription;

ROPE_API RopeResult ropePlanFused(const RopeFusedDescription* description, const RopeLimits* limits, RopePlan* plan);
/** Does what ropePlanRotateRange does. Maps and counts in POSITIONS must leave room for `most` tokens' positions. */
ROPE_API RopeResult ropePlanFusedRange(const RopeFusedDescription* description, uint32_t least, uint32_t most,
                                       const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS],
                                       uint32_t* plan_count);
/** Writes what PARAMETERS holds, plan.bytes[ROPE_SLOT_PARAMETERS] bytes: the arrays of weights and scales. */
ROPE_API RopeResult ropeWriteParameters(const RopeFusedDescription* description, void* destination, RopeReason* reason);

/* ---- Positions added to embeddings ------------------------------------------------------------------------------- */
typedef enum RopeSinusoidOrder {
    ROPE_SINUSOIDS_INTERLEAVED = 0, /**< pair i: the sine to element 2i, the cosine to 2i + 1; Vaswani et al. */
    ROPE_SINUSOIDS_HALVES = 1,      /**< to elements i and i + dim/2; tensor2tensor, fairseq, Whisper */
    ROPE_SINUSOID_ORDER_MAX_ENUM = 0x7FFFFFFF
} RopeSinusoidOrder;

/** Adds positions to embeddings: x' = x * scale + E[position], in float32, with sinusoids or rows of a learned table.
 * Nothing is added to a token without a position, or outside the table. docs/encodings.md ("Additions") has frequencies
 * and tables. Whisper's sinusoids, and OPT's table, whose first row belongs to position -2:
 *
 *     d.tokens = 1500, d.dim = 512, d.order = ROPE_SINUSOIDS_HALVES, d.frequencies = f;
 *     d.tokens = tokens, d.dim = 768, d.learned = 1, d.rows.count = 2050, d.rows.first_position = -2;
 *
 * Reads POSITIONS (unless counted, or by rows), FREQUENCIES (sinusoids, inline) or ROWS, and X. Writes X, or out of
 * place X_OUT, and COUNTER. */
typedef struct RopeAddDescription {
    /** Sequences (0: 1), and tokens of each. */
    uint32_t batch, tokens;
    /** Even; with sinusoids at most 2 * ROPE_MAX_PAIRS, otherwise at most 131070. */
    uint32_t dim;
    /** 1: a learned table; frequencies, order, source and angle are then not read. 0: sinusoids. */
    uint32_t learned;
    RopeSinusoidOrder order;
    /** Sinusoids: 1: sines and cosines change places (diffusers' flip_sin_to_cos). */
    uint32_t cosine_first;
    /** Embeddings as they are read; 0: float32. As they are written; 0: `element`. Only out of place may it differ. */
    RopeElement element, element_out;
    /** Factor on the embedding, in some models sqrt(dim); 2^-20 to 2^20, 0 means 1. */
    float scale;
    RopeSource source;
    RopeAngle angle;
    RopeFrequencies frequencies;
    RopePositions positions;
    RopeRows rows;
    /** [batch, token, element]; head_stride is not read. x_out: out of place only. */
    RopeLayout x, x_out;
    uint32_t out_of_place, count_outside;
} RopeAddDescription;
ROPE_API RopeResult ropePlanAdd(const RopeAddDescription* description, const RopeLimits* limits, RopePlan* plan);

/* ---- Biases on attention scores ---------------------------------------------------------------------------------- */
/** distance = first_key + j - position, of key j from its query. */
typedef enum RopeBiasKind {
    ROPE_BIAS_T5 = 0,      /**< W[bucket(distance)][head] */
    ROPE_BIAS_CLIPPED = 1, /**< B[clip(-distance, least, most) - least][head] */
    ROPE_BIAS_ALIBI = 2,   /**< slope[head] * distance, the product rounded; bidirectional: -slope[head] * |distance| */
    ROPE_BIAS_KIND_MAX_ENUM = 0x7FFFFFFF
} RopeBiasKind;

/** Adds a bias to scores in place, one float32 sum each, or writes the bias out. docs/encodings.md ("Biases") says how
 * the values lie in `rows`, and whose positions are read. T5's decoder at its step, and ALiBi's prefill:
 *
 *     d.heads = 8, d.queries = 1, d.keys = step + 1, d.positions = (RopePositions){ROPE_POSITIONS_COUNTED, step};
 *     d.kind = ROPE_BIAS_ALIBI, d.heads = 32, d.queries = d.keys = tokens, d.causal = 1;
 *
 * Reads POSITIONS (unless counted), ROWS, PARAMETERS (T5), X. Writes X. 16-bit X at odd places needs STORAGE_16. */
typedef struct RopeBiasDescription {
    RopeBiasKind kind;
    /** 1: X is the bias, [heads][queries][keys], and nothing of it is read; batch is then 1. */
    uint32_t write_only;
    /** Batch 0: 1. */
    uint32_t batch, heads, queries, keys;
    /** T5, ALiBi: 1: keys before and after the query have biases, by the bidirectional formula. */
    uint32_t bidirectional;
    /** 1: a score whose key stands after its query becomes -infinity, whatever it was. */
    uint32_t causal;
    /** T5: 0 means 32 and 128. */
    uint32_t buckets, max_distance;
    /** Clipped: the least and the most of query - key. first_key: position of key 0. */
    int32_t least, most, first_key;
    RopeElement element;
    RopePositions positions;
    RopeRows rows;
    /** token_stride: from a query to the next. All strides 0: [batch][heads][queries][keys]. */
    RopeLayout x;
} RopeBiasDescription;
ROPE_API RopeResult ropePlanBias(const RopeBiasDescription* description, const RopeLimits* limits, RopePlan* plan);
#define ROPE_MAX_BUCKETS 1024u
/** Returns T5's bucket of a distance (key less query) in exact arithmetic, or 0 if a plan refuses the buckets. */
ROPE_API uint32_t ropeT5Bucket(int32_t distance, uint32_t buckets, uint32_t max_distance, uint32_t bidirectional);
/** Writes ALiBi's slopes of 1 to 65536 heads as published, each rounded once, the same on every platform. */
ROPE_API RopeResult ropeMakeAlibiSlopes(uint32_t heads, float* slopes, RopeReason* reason);
/** Writes what PARAMETERS holds for T5: the same for equal buckets, max_distance and bidirectional. */
ROPE_API RopeResult ropeWriteBuckets(const RopeBiasDescription* description, void* destination, RopeReason* reason);
/** Returns how many vectors of four words ropeWriteBuckets writes, for shaders/bias.glsl. */
ROPE_API uint32_t ropeBucketVectors(uint32_t buckets, uint32_t bidirectional);

/* ---- Relative vectors -------------------------------------------------------------------------------------------- */
/** row = clip(first_key + j - position, least, most) - least. */
typedef enum RopeRelativeSide {
    ROPE_RELATIVE_KEYS = 0,   /**< score[i][j] += scale * (q[i] . R[row]) */
    ROPE_RELATIVE_VALUES = 1, /**< output[i] += sum over j of weight[i][j] * R[row] */
    ROPE_RELATIVE_SIDE_MAX_ENUM = 0x7FFFFFFF
} RopeRelativeSide;

/** Adds terms of Shaw et al.'s relative vectors to scores, or to an attention's output, in place. Every operation is
 * float32 and rounded, in the order of docs/encodings.md ("Relative vectors").
 *
 *     d.heads = 8, d.queries = d.keys = tokens, d.dim = 64, d.least = -16, d.most = 16;
 *
 * `rows` is [most - least + 1][dim], with pair_stride from a head's rows to the next one's (0: all have the same).
 * 16-bit elements lie at even places. Reads POSITIONS (unless counted), ROWS, Q and X. Writes X. */
typedef struct RopeRelativeDescription {
    RopeRelativeSide side;
    /** Batch 0: 1. */
    uint32_t batch, heads, queries, keys, dim;
    /** The least and the most of key - query, Shaw's -k and k. first_key: position of key 0. */
    int32_t least, most, first_key;
    /** Keys: factor on dot products: 1/sqrt(dim) for scores scaled so; 2^-20 to 2^20, 0 means 1. */
    float scale;
    /** The element of Q (0: float32), and of X (0: the same as Q's). */
    RopeElement element_q, element_x;
    RopePositions positions;
    RopeRows rows;
    /** Keys: queries and scores. Values: the attention's weights and output. [batch][heads][queries][...] */
    RopeLayout q, x;
} RopeRelativeDescription;
ROPE_API RopeResult ropePlanRelative(const RopeRelativeDescription* description, const RopeLimits* limits,
                                     RopePlan* plan);

/* ---- ggml -------------------------------------------------------------------------------------------------------- */
/** ggml's rope operator: copy the 64 bytes of op_params here. These bytes and head_dim can be a lookup key. */
typedef struct RopeGgml {
    /** n_past: not read. n_dims: elements that rotate (VISION: half of them). */
    int32_t n_past, n_dims;
    /** GGML_ROPE_TYPE_NORMAL 0, NEOX 2, MROPE 8, VISION 24 or IMROPE 40. */
    int32_t mode;
    /** n_ctx: not read. n_ctx_orig: read if ext_factor is not 0; n_ctx_orig 0: only pair 0 keeps its frequency. */
    int32_t n_ctx, n_ctx_orig;
    /** 1 or more, and more than 1 if ext_factor is not 0; less than 2^64. */
    float freq_base;
    /** Negative: rotates the other way. 0: rotates nothing. If ext_factor is not 0, freq_scale is more than 0. */
    float freq_scale;
    /** ext_factor: how much of YaRN's ramp is mixed in, -1024 to 1024. attn_factor: its product with YaRN's magnitude
     * is 2^-20 to 2^20, either sign. */
    float ext_factor, attn_factor;
    /** With ext_factor: 2^-60 to 2^60. */
    float beta_fast, beta_slow;
    /** MROPE, VISION and IMROPE: pairs of each axis of positions. */
    int32_t sections[4];
    /** Elements of the head before those that rotate. */
    int32_t n_offs;
} RopeGgml;

/** Writes what ggml's parameters mean into the rotation: rotary_begin, rotary_dim, chunk_dim, pairing and frequencies,
 * which point at `values` and `axes` (room for head_dim / 2 each). The other members are yours. A refusal writes
 * nothing. docs/llama.md ("What ggml's parameters mean") has the roundings and refusals. */
ROPE_API RopeResult ropeReadGgml(const RopeGgml* parameters, uint32_t head_dim, double* values, uint8_t* axes,
                                 RopeRotation* rotation, RopeReason* reason);

/** A tensor of ggml's by its own numbers. */
typedef struct RopeGgmlTensor {
    /** ne[0] 0: there is no such tensor. */
    int64_t ne[4];
    uint64_t nb[4];
    /** Bytes before its first element in the buffer that you give to the slot. */
    uint64_t offset;
    /** `unused` is 0. */
    uint32_t type, unused;
} RopeGgmlTensor;
/** A ROPE or ROPE_BACK of ggml's graph with the nodes that become one pass with it: docs/llama.md. Without positions
 * there is no ROPE. The structure has no padding, so its bytes may be a key of cached plans. */
typedef struct RopeGgmlNode {
    /** x: the first node's source (slot K; a shift: K_OUT). weights: MUL's (K_WEIGHTS). rows: SET_ROWS's row numbers
     * (SLOT_MAP; a shift: 0, 1, ...). out: the last node's result (K_OUT; in place: K); SET_ROWS: the whole tensor. */
    RopeGgmlTensor x, positions, weights, rows, out;
    /** RMS_NORM's epsilon. */
    float epsilon;
    /** norm 1: RMS_NORM before the rotation. backward 1: ROPE_BACK. in_place 1: out is x, in the same memory. */
    uint32_t norm, backward, in_place;
    /** Row length of the MUL_MAT whose hint says that its matrix is Hadamard's; 0: no such node. `unused` is 0. */
    uint32_t hadamard, unused;
} RopeGgmlNode;

/** Plans the node. `rotation` is ropeReadGgml's. It is not read without positions, and its operation and
 * frequencies.values are never read. A refusal names a member of the node, or of the description made of it. */
ROPE_API RopeResult ropePlanGgml(const RopeGgmlNode* node, const RopeRotation* rotation, const RopeLimits* limits,
                                 RopePlan* plan);

/* ---- A dispatch as plain data, for engines that own their pipelines and descriptors ------------------------------ */
typedef struct RopeBinding {
    RopeSlot slot;
    /** offset: bytes from the slot's own offset, a multiple of limits.storage_alignment. range 0: nothing is bound. */
    uint64_t offset, range;
} RopeBinding;
/** What such an engine has to know; docs/engines.md ("Plain dispatches") has more.
 *   - A pipeline's key: shader, constants, and the numbers of the bindings with a range. Its layout has ROPE_PUSH_WORDS
 *     push constants from offset 0. Push all of them for each dispatch. bindings[i] is binding i of set 0.
 *   - Pass all constants, id i as constants[i] (Vulkan ignores ids that a shader lacks), or fold them (ropeSpecialize).
 *   - A slot's own offset is a multiple of the device's alignment, and binding.offset is added to it. No binding ends
 *     beyond plan.bytes of its slot, rounded up to 4 bytes.
 *   - The barriers around a plan are ropeCmdExecute's. COUNTER is cleared before a plan that counts.
 *   - Neither planning nor ropeGetDispatch allocates; both may stand in a frame. */
typedef struct RopeDispatch {
    const RopeShader* shader;
    uint32_t constants[ROPE_CONSTANT_COUNT];
    RopeBinding bindings[ROPE_BINDING_COUNT];
    uint32_t push[ROPE_PUSH_WORDS];
    uint32_t groups[3];
} RopeDispatch;

/** A plan's dispatches may run in any order, without barriers between them. A plan that was refused, or of another
 * version, has no dispatch. ropeGetDispatch zeroes *dispatch unless `index` is below the count. */
ROPE_API uint32_t ropeDispatchCount(const RopePlan* plan);
ROPE_API void ropeGetDispatch(const RopePlan* plan, uint32_t index, RopeDispatch* dispatch);

/** Writes the SPIR-V of a dispatch with its constants folded in, for a layout of its bindings alone. Returns the bytes.
 * `words` has room for dispatch->shader->bytes; the shader is one of the library's. */
ROPE_API size_t ropeSpecialize(const RopeDispatch* dispatch, uint32_t* words);

/* ---- On the CPU -------------------------------------------------------------------------------------------------- */
/** Computes the shaders' own cos and sin of one pair in integers, bit for bit. `position` is in 2^-32ths, `frequency` 4
 * words of ropeWriteFrequencies. cos_sin[0] is the cosine. Both are NaN if the words are not of that angle. */
ROPE_API void ropeShaderAngle(int64_t position, const uint32_t frequency[4], double scale, RopeAngle angle,
                              float cos_sin[2]);
/** Computes the true cos and sin of position * frequency (COMPATIBLE: of the float32 angle), within 2^-51. */
ROPE_API void ropeReferenceAngle(int64_t position, double frequency, RopeAngle angle, double cos_sin[2]);
/** Writes head_dim entries that permute weights of the other pairing: element i of the order `to` is element
 * permutation[i] of the old order. */
ROPE_API RopeResult ropePairPermutation(uint32_t head_dim, uint32_t rotary_begin, uint32_t rotary_dim, RopePairing to,
                                        uint32_t* permutation, RopeReason* reason);

/* The CPU carries out a description in two ways at once: the shaders' own bits, and a reference in double that shares
 * no line with the shaders. Each array stands for the slot of its name, and has plan.bytes[slot] bytes. A source that
 * the description does not read may be null, and so may a result that you do not want. References have the
 * destination's layout. In place a result may be its source. `outside` counts as COUNTER does. Except for limits, a run
 * refuses what plans refuse. It also refuses null frequencies.values if it makes angles. */
typedef struct RopeHostTable {
    const void* positions;
    double* reference_rows;
    float* rows;
} RopeHostTable;
ROPE_API RopeResult ropeHostRunTable(const RopeTableDescription* description, const RopeHostTable* data,
                                     RopeReason* reason);

/** With TABLE or ROWS, null positions or frequencies.values make the references use the rows, and not true angles. */
typedef struct RopeHostRotate {
    const void *positions, *rows, *q, *k;
    double *reference_q, *reference_k;
    void *q_out, *k_out;
    uint32_t outside;
} RopeHostRotate;
ROPE_API RopeResult ropeHostRunRotate(const RopeRotateDescription* description, RopeHostRotate* data,
                                      RopeReason* reason);

/** The caches are k_out and v_out (with cache.one_buffer k_out alone). Their references hold elements that are not yet
 * quantized. A shift reads K from k_out too. With packed_qkv q holds K and V. k_out gets K even in place. */
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

/** x has the scores. */
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
