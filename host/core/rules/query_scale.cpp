// The scale of queries that grows with the logarithm of the position, made in integers.
#include "rules/fixed.h"
#include "rules/real.h"
#include "rules/refuse.h"

namespace rope {
namespace {

constexpr uint32_t kMaxValues = 1u << 16;
constexpr int kLastBit = -200; // terms below 2^this are left out

// Finds ln n - ln (n-1), which is 2 artanh z with z = 1/(2n-1), for n of 2 or more.
Real logStep(uint32_t n) {
    const uint32_t divisor = 2 * n - 1;
    Real power = realFromInteger(1) / divisor;
    Real sum = power;
    for (uint32_t k = 3; power.exponent > kLastBit; k += 2) {
        power = power / divisor / divisor;
        sum = sum + power / k;
    }
    return realTimesPowerOfTwo(sum, 1);
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropeMakeQueryScale(double beta, uint32_t count, float* values, RopeReason* reason) {
    clear(reason);
    if (magnitudeBits(beta) > doubleBits(0x1p20))
        return refuse(reason, ROPE_ERROR_INVALID, "beta is %.17g; it must be from -2^20 to 2^20", beta);
    if (values == nullptr || count == 0 || count > kMaxValues) {
        return refuse(reason, ROPE_ERROR_INVALID, "count is %u of values at %s; it must be from 1 to %u, at an address",
                      count, values == nullptr ? "null" : "an address", kMaxValues);
    }
    const Real one = realFromInteger(1);
    const Real factor = realFromDouble(beta);
    Real log = {};
    for (uint32_t i = 0; i < count; ++i) {
        if (i != 0) log = log + logStep(i + 1);
        values[i] = realToFloat(one + factor * log);
    }
    return ROPE_SUCCESS;
}
