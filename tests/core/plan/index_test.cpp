// The integer index arithmetic that GLSL and C++ share.
#include "plan/pass.h"
#include "shaders/numbers/index.h"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <set>

namespace {

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

// No run that a lane copies lies on both sides of the rotary part, in whole words too.
TEST(Index, CopiesRunsThatLieTogether) {
    for (const uint32_t part : {1u, 2u}) {
        for (uint32_t begin = 0; begin < 20; begin += part) {
            const uint32_t run = rope::copied_run(begin, part);
            EXPECT_EQ(run, begin % 4 == 0 ? 4u : part);
            for (uint32_t i = 0; i < 40; ++i) {
                const uint32_t first = i / run * run;
                ASSERT_EQ(rope::pass_element(i, begin, 5), rope::pass_element(first, begin, 5) + i - first) << begin;
            }
        }
    }
}

} // namespace
