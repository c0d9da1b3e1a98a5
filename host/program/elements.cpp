#include "program/elements.hpp"

#include "plan/element_formats.h"
#include "plan/pairing.h"

#include <cmath>
#include <cstring>

namespace tool {
namespace {

template <typename Format>
std::vector<std::string> namesFrom(const Format* first, const Format* last, const std::string& suffix) {
    std::vector<std::string> names;
    for (const Format* format = first; format <= last; ++format) names.push_back(format->name + suffix);
    return names;
}

} // namespace

std::vector<std::string> elementNames(const std::string& suffix) {
    return namesFrom(&rope::kElementFormats[1], &rope::kElementFormats[rope::kLastTensorElement], suffix);
}

std::vector<std::string> pairingNames(const std::string& suffix) {
    return namesFrom(&rope::kPairings[1], &rope::kPairings[rope::kLastPairing], suffix);
}

RopeElement elementOf(const std::string& name) {
    for (uint32_t element = 1; element <= rope::kLastTensorElement; ++element) {
        if (name == rope::kElementFormats[element].name) return static_cast<RopeElement>(element);
    }
    return ROPE_ELEMENT_DEFAULT;
}

RopePairing pairingOf(const std::string& name) {
    for (uint32_t pairing = 1; pairing <= rope::kLastPairing; ++pairing) {
        if (name == rope::kPairings[pairing].name) return static_cast<RopePairing>(pairing);
    }
    return ROPE_PAIRING_DEFAULT;
}

const char* elementName(RopeElement element) {
    return rope::kElementFormats[element != ROPE_ELEMENT_DEFAULT ? element : ROPE_ELEMENT_F32].name;
}

const char* pairingName(RopePairing pairing) {
    return pairing != ROPE_PAIRING_DEFAULT ? rope::kPairings[pairing].name : "unknown";
}

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
