// This file converts 16-bit elements, as they lie in memory, to and from float32 bits: four in two words, or one (with
// ROPE_LANE 1) in the low half of a word. The includer defines kNativeHalves: true if the device's own conversions are
// proven (ROPE_ENABLED_NATIVE_HALVES). Otherwise element.h converts. Both give the same bits, but for a NaN's payload.
#if ROPE_LANE == 4
#define WORDS uvec4
#define SIGNED ivec4
#define VALUES vec4
#define HALVES uvec2
#else
#define WORDS uint
#define SIGNED int
#define VALUES float
#define HALVES uint
#endif
#include "element.glsl"

// These are the device's own conversions, two at a time. The self-test takes these very functions.
uvec2 native_widened(uint halves) { return floatBitsToUint(unpackHalf2x16(halves)); }
uint native_narrowed(uvec2 bits) { return packHalf2x16(uintBitsToFloat(bits)); }

// These put each 16-bit number into the low or the high half of a word of its own, and back, or convert them natively.
#if ROPE_LANE == 4
uvec4 low_halves(uvec2 run) { return uvec4(run.x & 0xFFFFu, run.x >> 16, run.y & 0xFFFFu, run.y >> 16); }
uvec4 high_halves(uvec2 run) { return uvec4(run.x << 16, run.x & 0xFFFF0000u, run.y << 16, run.y & 0xFFFF0000u); }
uvec2 run_of_low(uvec4 halves) { return halves.xz | halves.yw << 16; }
uvec2 run_of_high(uvec4 halves) { return halves.xz >> 16 | (halves.yw & 0xFFFF0000u); }
uvec4 native_widened_run(uvec2 run) { return uvec4(native_widened(run.x), native_widened(run.y)); }
uvec2 native_narrowed_run(uvec4 bits) { return uvec2(native_narrowed(bits.xy), native_narrowed(bits.zw)); }
#else
uint low_halves(uint run) { return run; }
uint high_halves(uint run) { return run << 16; }
uint run_of_low(uint half_bits) { return half_bits; }
uint run_of_high(uint half_bits) { return half_bits >> 16; }
uint native_widened_run(uint run) { return native_widened(run).x; }
uint native_narrowed_run(uint bits) { return native_narrowed(uvec2(bits)) & 0xFFFFu; }
#endif

WORDS widen_run(HALVES run, uint element) {
    if (element == uint(ROPE_BF16)) return high_halves(run);
    return kNativeHalves ? native_widened_run(run) : widen_f16(low_halves(run));
}
HALVES narrow_run(WORDS bits, uint element) {
    if (element == uint(ROPE_BF16)) return run_of_high(high_narrowed_bf16(bits));
    return kNativeHalves ? native_narrowed_run(bits) : run_of_low(narrow_f16(bits));
}
