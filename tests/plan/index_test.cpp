// The integer index arithmetic that GLSL and C++ share.
#include "../shaders/index.h"
#include "plan/pass.h"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <set>

namespace {

TEST(Index, DividesExactly) {
    sample::Random random(1);
    for (uint32_t divisor = 1; divisor < 5000; ++divisor) {
        const rope::Divisor d = rope::makeDivisor(divisor);
        for (uint32_t quotient = 1; quotient < 4; ++quotient) {
            for (uint32_t n = quotient * divisor - 1; n <= quotient * divisor; ++n) {
                ASSERT_EQ(rope::divide(n, d.magic, d.shift), n / divisor) << n << " / " << divisor;
            }
        }
        const uint32_t last = 0x7FFFFFFFu / divisor * divisor;
        for (const uint32_t n : {last, last - 1, 0x7FFFFFFFu, random.next() >> 1}) {
            ASSERT_EQ(rope::divide(n, d.magic, d.shift), n / divisor) << n << " / " << divisor;
        }
    }
    for (int i = 0; i < 2000000; ++i) {
        const uint32_t divisor = 1 + (random.next() >> (1 + random.below(31)));
        const uint32_t n = random.next() >> 1;
        const rope::Divisor d = rope::makeDivisor(divisor);
        ASSERT_EQ(rope::divide(n, d.magic, d.shift), n / divisor) << n << " / " << divisor;
    }
}

// Each element of the head once: the rotary ones in pairs, the others as passed.
TEST(Index, CoversEachElementOfAHeadOnce) {
    for (const uint32_t chunk : {0u, 1u, 2u, 3u}) {
        for (uint32_t head_dim = 1; head_dim < 40; ++head_dim) {
            for (uint32_t begin = 0; begin < head_dim; ++begin) {
                for (uint32_t pairs = 0; begin + 2 * pairs <= head_dim; ++pairs) {
                    if (chunk != 0 && pairs % chunk != 0) continue;
                    std::multiset<uint32_t> seen;
                    for (uint32_t j = 0; j < pairs; ++j) {
                        seen.insert(begin + rope::pair_first(j, chunk));
                        seen.insert(begin + rope::pair_first(j, chunk) + rope::pair_distance(pairs, chunk));
                    }
                    for (uint32_t i = 0; i < head_dim - 2 * pairs; ++i)
                        seen.insert(rope::pass_element(i, begin, pairs));
                    uint32_t next = 0;
                    for (const uint32_t e : seen) ASSERT_EQ(e, next++);
                    ASSERT_EQ(next, head_dim);
                }
            }
        }
    }
}

} // namespace
