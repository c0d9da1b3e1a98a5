// This file compares the device's own conversions of float16 with the library's, for the self-test and `vkrope check`.
// To try another conversion of the device's: its text in halves.glsl, and its trial here. selftest.comp and
// bench/cases/halves.comp (for `vkrope check`) take the trial, and ropeEnabledBySelfTest (host/core/plan/selftest.cpp)
// reads the result.
#ifndef ROPE_HALVES_PROOF_GLSL
#define ROPE_HALVES_PROOF_GLSL

const bool kNativeHalves = true;
#include "halves.glsl"

const uint kInfinity = 0x7F800000u, kHalfInfinity = 0x7C00u;

// Counts the numbers among four that are not what they should be. A NaN may have any payload.
uint count_wrong(uvec4 found, uvec4 wanted, uint infinity, uint magnitude) {
    uvec4 differ = uvec4(notEqual(found, wanted));
    uvec4 found_nan = uvec4(greaterThan(found & magnitude, uvec4(infinity)));
    uvec4 wanted_nan = uvec4(greaterThan(wanted & magnitude, uvec4(infinity)));
    uvec4 wrong = differ & ((found_nan & wanted_nan) ^ 1u);
    return wrong.x + wrong.y + wrong.z + wrong.w;
}

// Widens four halves. All numbers below 2^15 together make every half, in the low and in the high half of a word.
uint wrongly_widened(uint number) {
    uvec2 run = (number | number << 16) ^ uvec2(0x80000000u, 0x7FFFFFFFu);
    return count_wrong(widen_run(run, ROPE_F16), widen_f16(low_halves(run)), kInfinity, 0x7FFFFFFFu);
}

uint wrongly_narrowed(uvec4 bits, uvec4 wanted) {
    return count_wrong(low_halves(narrow_run(bits, ROPE_F16)), wanted, kHalfInfinity, 0x7FFFu);
}

#endif
