// The factor on cos and sin.
#include "../shaders/angle.h"
#include "plan.h"

#include <math.h>

namespace rope {

double operationScale(RopeOperation operation, double scale) {
    switch (operation) {
    case ROPE_OPERATION_INVERSE:
        return 1 / scale;
    case ROPE_OPERATION_SHIFT:
        return 1;
    default:
        return scale;
    }
}

Scale splitScale(double scale) {
    int exponent = 0;
    const double fraction = frexp(scale, &exponent); // in [1/2, 1)
    double mantissa = floor(fraction * 4294967296.0 + 0.5);
    if (mantissa == 4294967296.0) {
        mantissa = 2147483648.0;
        ++exponent;
    }
    return {static_cast<uint32_t>(mantissa), exponent - 1};
}

uint32_t scaleGrid(const RopeRotateDescription& d) {
    const Scale scale = splitScale(operationScale(d.operation, d.frequencies.scale));
    return scale_grid(scale.mantissa, scale.exponent);
}

} // namespace rope
