// ALiBi's slopes, made in integers.
#include "rules/real.h"
#include "rules/refuse.h"

namespace rope {
namespace {

constexpr uint32_t kMaxHeads = 1u << 16;

// 2^(-8 step / heads)
float slopeOf(uint32_t step, uint32_t heads) {
    const Real exponent = -(realFromInteger(8 * step) / heads);
    return realToFloat(realExp(exponent * realLog(realFromInteger(2))));
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropeMakeAlibiSlopes(uint32_t heads, float* slopes, RopeReason* reason) {
    clear(reason);
    if (slopes == nullptr || heads == 0 || heads > kMaxHeads) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "heads is %u, of slopes at %s; it must be from 1 to %u, at an address", heads,
                      slopes == nullptr ? "null" : "an address", kMaxHeads);
    }
    uint32_t power = 1;
    while (2 * power <= heads) power *= 2;
    for (uint32_t h = 0; h < heads; ++h)
        slopes[h] = h < power ? slopeOf(h + 1, power) : slopeOf(2 * (h - power) + 1, 2 * power);
    return ROPE_SUCCESS;
}
