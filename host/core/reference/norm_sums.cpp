// This file has the sums that norms go by, on the CPU.
#include "reference/norm_sums.h"

#include <math.h>

#if !defined(VKROPE_NO_REFERENCE) && !defined(VKROPE_NO_FUSED)
namespace rope {

Factor sumOfElements(const ElementValue* values, uint32_t count) {
    Factor sum = {};
    float totals[4] = {};
    float four[4];
    for (uint32_t e = 0; e < count; ++e) {
        sum.reference += values[e].reference;
        four[e % 4] = floatOf(values[e].bits);
        if (e % 4 != 3) continue;
        const float run = (four[0] + four[1]) + (four[2] + four[3]);
        totals[e / 4 % 4] = totals[e / 4 % 4] + run;
    }
    sum.float32 = (totals[0] + totals[1]) + (totals[2] + totals[3]);
    return sum;
}

Factor meanOf(const Factor& sum, uint32_t count) {
    return {sum.reference / count, product(sum.float32, 1.0f / static_cast<float>(count))};
}

Factor sumOfSquares(const ElementValue* values, uint32_t count) {
    Factor sum = {};
    float totals[4] = {};
    float squares[4];
    for (uint32_t e = 0; e < count; ++e) {
        sum.reference += values[e].reference * values[e].reference;
        squares[e % 4] = product(floatOf(values[e].bits), floatOf(values[e].bits));
        if (e % 4 != 3) continue;
        const float run = (squares[0] + squares[1]) + (squares[2] + squares[3]);
        totals[e / 4 % 4] = totals[e / 4 % 4] + run;
    }
    sum.float32 = (totals[0] + totals[1]) + (totals[2] + totals[3]);
    return sum;
}

float reciprocalRoot(float value) { return static_cast<float>(1.0 / sqrt(static_cast<double>(value))); }

} // namespace rope
#endif
