// This file converts 16-bit elements, four in two words as they lie in memory, to and from float32 bits. The includer
// defines kNativeHalves: true if the device's own conversions are proven (ROPE_ENABLED_NATIVE_HALVES). Otherwise
// element.h converts. Both give the same bits, but for a NaN's payload.
#ifndef ROPE_HALVES_GLSL
#define ROPE_HALVES_GLSL

#define ROPE_BITS uvec4
#define ROPE_VALUES vec4
// A select: masks and logic would be five operations on a driver that does not optimize them.
#define ROPE_WHERE_LESS(a, b, yes, no) mix(no, yes, lessThan(a, b))

uvec4 shrunk_bits(uvec4 bits) {
    precise vec4 number = uintBitsToFloat(bits) * vec4(uintBitsToFloat(0x07800000u)); // 2^-112: exact
    precise vec4 lacking = number - vec4(uintBitsToFloat(0x38800000u)); // 2^-14: exact where it counts
    precise vec4 value = number + intBitsToFloat(min(floatBitsToInt(lacking), ivec4(0)));
    return floatBitsToUint(value);
}
#include "numbers/element.h"

// These put each 16-bit number into the low or the high half of a word of its own, and back.
uvec4 low_halves(uvec2 run) { return uvec4(run.x & 0xFFFFu, run.x >> 16, run.y & 0xFFFFu, run.y >> 16); }
uvec4 high_halves(uvec2 run) { return uvec4(run.x << 16, run.x & 0xFFFF0000u, run.y << 16, run.y & 0xFFFF0000u); }
uvec2 run_of_low(uvec4 halves) { return halves.xz | halves.yw << 16; }
uvec2 run_of_high(uvec4 halves) { return halves.xz >> 16 | (halves.yw & 0xFFFF0000u); }

// The device's own conversions are two at a time. The self-test takes these very functions.
uvec4 widen_run(uvec2 run, uint element) {
    return element == uint(ROPE_BF16) ? high_halves(run)
           : kNativeHalves            ? floatBitsToUint(vec4(unpackHalf2x16(run.x), unpackHalf2x16(run.y)))
                                      : widen_f16(low_halves(run));
}
uvec2 narrow_run(uvec4 bits, uint element) {
    vec4 x = uintBitsToFloat(bits);
    return element == uint(ROPE_BF16) ? run_of_high(high_narrowed_bf16(bits))
           : kNativeHalves            ? uvec2(packHalf2x16(x.xy), packHalf2x16(x.zw))
                                      : run_of_low(narrow_f16(bits));
}

#endif
