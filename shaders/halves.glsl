// This file converts a run of 16-bit elements, as they lie in memory, to and from float32 bits. A run of ROPE_LANE 4
// is two words, one of 2 is one word, one of 1 is the low half of a word, whose high half is 0. The includer defines
// the constant kNativeHalves: true where the device's own conversion of float16 is proven
// (ROPE_ENABLED_NATIVE_HALVES). The text of element.h converts otherwise. Both give the same bits, but for the payload
// of a NaN.
#ifndef WORDS
#if ROPE_LANE == 4
#define WORDS uvec4
#define SIGNED ivec4
#define VALUES vec4
#elif ROPE_LANE == 2
#define WORDS uvec2
#define SIGNED ivec2
#define VALUES vec2
#else
#define WORDS uint
#define SIGNED int
#define VALUES float
#endif
#endif
#ifndef ROPE_BITS
#include "element.glsl"
#endif
#if ROPE_LANE == 4
#define HALVES uvec2
#else
#define HALVES uint
#endif

// These are the device's own conversions, two at a time. The self-test takes these very functions.
uvec2 native_widened(uint halves) { return floatBitsToUint(unpackHalf2x16(halves)); }
uint native_narrowed(uvec2 bits) { return packHalf2x16(uintBitsToFloat(bits)); }

// The next functions take a run's numbers apart, into the low or the high half of a word each, and put them together
// again.
#if ROPE_LANE == 4
uvec4 low_halves(uvec2 run) { return uvec4(run.x & 0xFFFFu, run.x >> 16, run.y & 0xFFFFu, run.y >> 16); }
uvec4 high_halves(uvec2 run) { return uvec4(run.x << 16, run.x & 0xFFFF0000u, run.y << 16, run.y & 0xFFFF0000u); }
uvec2 run_of_low(uvec4 halves) { return halves.xz | halves.yw << 16; }
uvec2 run_of_high(uvec4 halves) { return halves.xz >> 16 | (halves.yw & 0xFFFF0000u); }
uvec4 native_widened(uvec2 run) { return uvec4(native_widened(run.x), native_widened(run.y)); }
uvec2 native_narrowed(uvec4 bits) { return uvec2(native_narrowed(bits.xy), native_narrowed(bits.zw)); }
#elif ROPE_LANE == 2
uvec2 low_halves(uint run) { return uvec2(run & 0xFFFFu, run >> 16); }
uvec2 high_halves(uint run) { return uvec2(run << 16, run & 0xFFFF0000u); }
uint run_of_low(uvec2 halves) { return halves.x | halves.y << 16; }
uint run_of_high(uvec2 halves) { return halves.x >> 16 | (halves.y & 0xFFFF0000u); }
#else
uint low_halves(uint run) { return run; }
uint high_halves(uint run) { return run << 16; }
uint run_of_low(uint half_bits) { return half_bits; }
uint run_of_high(uint half_bits) { return half_bits >> 16; }
#endif

WORDS native_widened_run(HALVES run) {
#if ROPE_LANE == 1
    return native_widened(run).x;
#else
    return native_widened(run);
#endif
}
HALVES native_narrowed_run(WORDS bits) {
#if ROPE_LANE == 1
    return native_narrowed(uvec2(bits)) & 0xFFFFu;
#else
    return native_narrowed(bits);
#endif
}

// This is narrow_bf16 with the result left in the high half, above bits that run_of_high takes off.
WORDS high_narrowed_bf16(WORDS bits) {
    WORDS rounded = bits + 0x7FFFu + ((bits >> 16) & 1u);
    return where_less(WORDS(0x7F800000u), bits & 0x7FFFFFFFu, bits | 0x400000u, rounded);
}

WORDS widen_run(HALVES run, uint element) {
    if (element == uint(ROPE_BF16)) return high_halves(run);
    return kNativeHalves ? native_widened_run(run) : widen_f16(low_halves(run));
}
HALVES narrow_run(WORDS bits, uint element) {
    if (element == uint(ROPE_BF16)) return run_of_high(high_narrowed_bf16(bits));
    return kNativeHalves ? native_narrowed_run(bits) : run_of_low(narrow_f16(bits));
}
