#include "program/element.hpp"

#include "plan/element_formats.h"

#include <cmath>
#include <cstring>

namespace tool {
double ulpOf(double magnitude, RopeElement element) {
    const rope::ElementFormat& format = rope::formatOf(element);
    const int exponent = magnitude > 0 && std::isfinite(magnitude) ? std::ilogb(magnitude) : format.lowest_exponent;
    return std::ldexp(1.0,
                      (exponent < format.lowest_exponent ? format.lowest_exponent : exponent) - format.mantissa_bits);
}

std::vector<uint8_t> roundedOnce(const std::vector<double>& values, RopeElement element,
                                 const std::vector<uint8_t>& fallback) {
    const size_t bytes = ropeElementBytes(element);
    std::vector<uint8_t> result(values.size() * bytes);
    for (size_t i = 0; i < values.size(); ++i) {
        const double ulp = ulpOf(std::fabs(values[i]), element);
        const float exact = static_cast<float>(std::nearbyint(values[i] / ulp) * ulp); // is one of the element's values
        ropeConvertElements(&exact, ROPE_ELEMENT_F32, &result[i * bytes], element, 1);
        if (std::isnan(values[i])) std::memcpy(&result[i * bytes], &fallback[i * bytes], bytes);
    }
    return result;
}

} // namespace tool
