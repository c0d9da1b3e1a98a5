// Returns one entry by itself, as a float.
#ifndef ROPE_ROW_VALUE_GLSL
#define ROPE_ROW_VALUE_GLSL
#include "rows.glsl"

float row_value(uint at) {
    uvec4 one = uvec4(row_entry(at));
    if (kRowElement != ROPE_F32) one = widen(one, kRowElement);
    return uintBitsToFloat(one[0]);
}

#endif
