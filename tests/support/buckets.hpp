// T5's buckets in whole numbers of any size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <gmp.h>
#include <string>
#include <vector>

namespace buckets {

constexpr uint32_t kFar = 1u << 20; // distances that are promised

struct Shape {
    uint32_t buckets, max_distance, bidirectional;
};
// T5, its encoder, the published text's, WavLM's, powers whose logarithms are whole, and odd ones.
inline const Shape kShapes[] = {{32, 128, 0},     {32, 128, 1}, {32, 32, 0},  {32, 32, 1},    {320, 800, 1},
                                {16, 64, 0},      {12, 97, 0},  {33, 65, 1},  {2, 2, 0},      {4, 1 << 20, 1},
                                {64, 1 << 20, 0}, {8, 256, 0},  {7, 1000, 0}, {1024, 4000, 0}};

// Every bucket from distance 0 to kFar on one side, by n^M >= D^k E^(M-k) in GMP's numbers.
inline std::vector<uint32_t> exactBuckets(const Shape& shape) {
    const uint32_t side = shape.bidirectional != 0 ? shape.buckets / 2 : shape.buckets;
    const uint32_t own = side / 2, all = side - own;
    std::vector<uint32_t> buckets(kFar + 1, 0);
    for (uint32_t n = 0; n <= kFar; ++n) buckets[n] = std::min(n, own);
    mpz_t power, bound, factor;
    mpz_inits(power, bound, factor, nullptr);
    for (uint32_t k = 1; k < all; ++k) {
        mpz_ui_pow_ui(bound, shape.max_distance, k);
        mpz_ui_pow_ui(factor, own, all - k);
        mpz_mul(bound, bound, factor);
        uint32_t low = own, high = shape.max_distance; // which reaches
        while (low < high) {
            const uint32_t middle = (low + high) / 2;
            mpz_ui_pow_ui(power, middle, all);
            if (mpz_cmp(power, bound) >= 0) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        for (uint32_t n = low; n <= kFar; ++n) ++buckets[n];
    }
    mpz_clears(power, bound, factor, nullptr);
    return buckets;
}

inline std::string nameOf(const Shape& s) {
    return std::to_string(s.buckets) + " buckets, distance " + std::to_string(s.max_distance) +
           (s.bidirectional != 0 ? ", both sides" : "");
}

} // namespace buckets
