// This file computes the true cos and sin of position * frequency. It judges the shaders, so it uses nothing of theirs,
// and nothing of the code that writes the shaders' frequencies.
#include <vkrope/rope.h>

#include <cmath>
#include <limits>

namespace {

constexpr double kRadiansPerQuarter = 1.57079632679489661923;
constexpr double kFrequencyLimit = 1686629714.0; // 2^28 turns

// This is 1/(2 pi) in 192 bits, the least significant first.
constexpr int kTurnsPerRadianBits = 192;
constexpr uint32_t kTurnsPerRadianLimbs[6] = {0x4F10E410, 0x36D8A566, 0x7D4D3770, 0x7F09D5F4, 0x9391054A, 0x28BE60DB};

constexpr int kProductLimbs = 13; // 10 for the product, the rest zero

// Adds a * b * 2^(32 * at) to the product.
void addLimbProduct(uint32_t a, uint32_t b, int at, uint32_t product[kProductLimbs]) {
    uint64_t carry = static_cast<uint64_t>(a) * b;
    for (int i = at; i < kProductLimbs; ++i) {
        carry += product[i];
        product[i] = static_cast<uint32_t>(carry);
        carry >>= 32;
    }
}

// Returns 64 bits from `bit` on.
uint64_t bitsFrom(const uint32_t number[kProductLimbs], int bit) {
    const uint32_t* limb = number + bit / 32;
    const int shift = bit % 32;
    const uint64_t low = (static_cast<uint64_t>(limb[1]) << 32 | limb[0]) >> shift;
    return shift == 0 ? low : low | static_cast<uint64_t>(limb[2]) << (64 - shift);
}

// Reduces position * frequency to whole quarter turns and the rest of the angle, in [-pi/4, pi/4]. The position is in
// 2^-32ths, and the product from 1/2 to 2^62. The product of the position, the frequency's 53 bits and 1/(2 pi) is
// exact. The bits that 1/(2 pi) lacks make 2^-130 turns.
double reduceToQuarters(uint64_t position, double frequency, uint32_t* quarters) {
    int exponent;
    const double fraction = std::frexp(frequency, &exponent);
    const uint64_t mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
    uint32_t head[kProductLimbs] = {}; // position * mantissa, 4 limbs
    for (int i = 0; i < 2; ++i) {
        addLimbProduct(static_cast<uint32_t>(position >> 32 * i), static_cast<uint32_t>(mantissa), i, head);
        addLimbProduct(static_cast<uint32_t>(position >> 32 * i), static_cast<uint32_t>(mantissa >> 32), i + 1, head);
    }
    uint32_t product[kProductLimbs] = {};
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 6; ++j) addLimbProduct(head[i], kTurnsPerRadianLimbs[j], i + j, product);
    const int point = kTurnsPerRadianBits + 32 + 53 - exponent; // the bit of weight one turn
    const uint64_t turn = bitsFrom(product, point - 64);
    const uint64_t below = bitsFrom(product, point - 128);
    *quarters = static_cast<uint32_t>((turn + (1ull << 61)) >> 62);
    const int64_t rest = static_cast<int64_t>(turn - (static_cast<uint64_t>(*quarters) << 62));
    const double quarter = std::ldexp(static_cast<double>(rest) + std::ldexp(static_cast<double>(below), -64), -62);
    return quarter * kRadiansPerQuarter;
}

void trueCosSin(uint64_t position, double frequency, double cos_sin[2]) {
    uint32_t quarters = 0;
    double angle =
        std::ldexp(static_cast<double>(position), -32) * frequency; // rounding is near enough for a small angle
    if (angle >= 0.5) angle = reduceToQuarters(position, frequency, &quarters);
    const double c = std::cos(angle);
    const double s = std::sin(angle);
    cos_sin[0] = quarters == 0 ? c : quarters == 1 ? -s : quarters == 2 ? -c : s;
    cos_sin[1] = quarters == 0 ? s : quarters == 1 ? c : quarters == 2 ? -s : -c;
}

} // namespace

void ropeReferenceAngle(int64_t position, double frequency, RopeAngle angle, double cos_sin[2]) {
    if (cos_sin == nullptr) return;
    if (!(std::fabs(frequency) < kFrequencyLimit)) {
        cos_sin[0] = cos_sin[1] = std::numeric_limits<double>::quiet_NaN();
        return;
    }
    const bool backwards = (position < 0) != (frequency < 0);
    if (angle == ROPE_ANGLE_COMPATIBLE) {
        const float rounded = std::ldexp(static_cast<float>(position), -32);
        const float product = rounded * static_cast<float>(frequency);
        trueCosSin(1ull << 32, std::fabs(static_cast<double>(product)), cos_sin);
    } else {
        const uint64_t distance = position < 0 ? 0u - static_cast<uint64_t>(position) : static_cast<uint64_t>(position);
        trueCosSin(distance, std::fabs(frequency), cos_sin);
    }
    if (backwards && cos_sin[1] != 0) cos_sin[1] = -cos_sin[1];
}
