// T5's buckets, decided in integers.
//
// Let E be the exact distances, D the greatest distance and M the buckets beyond the exact ones. The bucket
// E + floor(ln(n/E) / ln(D/E) * M) is at least E + k where (n/E)^M >= (D/E)^k, which is n^M >= D^k * E^(M-k): a
// comparison of two whole numbers.
#include "rules/buckets.h"

#include <math.h>

namespace rope {
namespace {

constexpr uint32_t kLimbs = kMaxThresholds + 1; // one for each factor of a product, which is below 2^32

struct WholeNumber {
    uint32_t limbs[kLimbs]; // the least significant first
    uint32_t count;
};

void multiply(uint32_t factor, uint32_t times, WholeNumber* number) {
    for (uint32_t i = 0; i < times; ++i) {
        uint64_t carry = 0;
        for (uint32_t limb = 0; limb < number->count; ++limb) {
            carry += static_cast<uint64_t>(number->limbs[limb]) * factor;
            number->limbs[limb] = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
        if (carry != 0) number->limbs[number->count++] = static_cast<uint32_t>(carry);
    }
}

bool isLessThan(const WholeNumber& a, const WholeNumber& b) {
    if (a.count != b.count) return a.count < b.count;
    for (uint32_t i = a.count; i-- > 0;)
        if (a.limbs[i] != b.limbs[i]) return a.limbs[i] < b.limbs[i];
    return false;
}

// The distance n has bucket E + k, or a higher one.
bool reachesThreshold(const Buckets& b, uint32_t n, uint32_t k) {
    const uint32_t all = b.side - b.exact;
    WholeNumber power, bound;
    power.limbs[0] = bound.limbs[0] = 1;
    power.count = bound.count = 1;
    multiply(n, all, &power);
    multiply(b.max_distance, k, &bound);
    multiply(b.exact, all - k, &bound);
    return !isLessThan(power, bound);
}

} // namespace

Buckets bucketsOf(uint32_t buckets, uint32_t max_distance, uint32_t bidirectional) {
    const uint32_t side = bidirectional != 0 ? buckets / 2 : buckets;
    return {side, side / 2, max_distance, bidirectional != 0};
}

uint32_t thresholdOf(const Buckets& b, uint32_t k) {
    // Floating point makes a guess, and whole numbers correct it.
    const double share = static_cast<double>(k) / (b.side - b.exact);
    uint32_t n = static_cast<uint32_t>(b.exact * pow(static_cast<double>(b.max_distance) / b.exact, share));
    while (!reachesThreshold(b, n, k)) ++n;
    while (reachesThreshold(b, n - 1, k)) --n;
    return n;
}

} // namespace rope

using namespace rope;

uint32_t ropeT5Bucket(int32_t distance, uint32_t buckets, uint32_t max_distance, uint32_t bidirectional) {
    const Buckets b = bucketsOf(buckets, max_distance, bidirectional);
    if (b.exact == 0 || buckets > ROPE_MAX_BUCKETS || max_distance <= b.exact || max_distance >= 1u << 30) return 0;
    const uint32_t after = b.both && distance > 0 ? b.side : 0;
    uint32_t n = distance < 0 ? 0u - static_cast<uint32_t>(distance) : 0;
    if (after != 0) n = static_cast<uint32_t>(distance);
    if (n < b.exact) return after + n;
    uint32_t low = 0, high = thresholdCount(b); // the number of thresholds that n reaches lies between
    while (low < high) {
        const uint32_t middle = (low + high + 1) / 2;
        if (reachesThreshold(b, n, middle))
            low = middle;
        else
            high = middle - 1;
    }
    return after + b.exact + low;
}
