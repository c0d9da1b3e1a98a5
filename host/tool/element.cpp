#include "tool/element.hpp"

#include <cmath>
#include <cstring>

namespace tool {
namespace {

struct Format {
    int mantissa_bits; // below the leading one
    int lowest;        // exponent of the smallest normal value
};

Format formatOf(RopeElement element) {
    switch (element) {
    case ROPE_ELEMENT_F16:
        return {10, -14};
    case ROPE_ELEMENT_BF16:
        return {7, -126};
    default:
        return {23, -126};
    }
}

} // namespace

RopeElement elementOf(const std::string& name) {
    return name == "f32"    ? ROPE_ELEMENT_F32
           : name == "f16"  ? ROPE_ELEMENT_F16
           : name == "bf16" ? ROPE_ELEMENT_BF16
                            : ROPE_ELEMENT_DEFAULT;
}

double ulpOf(double magnitude, RopeElement element) {
    const Format format = formatOf(element);
    const int exponent = magnitude > 0 && std::isfinite(magnitude) ? std::ilogb(magnitude) : format.lowest;
    return std::ldexp(1.0, (exponent < format.lowest ? format.lowest : exponent) - format.mantissa_bits);
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
