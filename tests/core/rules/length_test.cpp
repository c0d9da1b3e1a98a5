// The length that positions ask for.
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

template <typename T> double lengthOf(const std::vector<T>& positions, RopePositionElement element) {
    return ropeLengthOfPositions(positions.data(), element, positions.size());
}

TEST(Length, IsTheLargestPositionPlusOne) {
    EXPECT_EQ(lengthOf<int32_t>({3, 8191, -2, 0}, ROPE_POSITION_INT32), 8192);
    EXPECT_EQ(lengthOf<int32_t>({0}, ROPE_POSITION_INT32), 1);
    EXPECT_EQ(lengthOf<int32_t>({INT32_MAX, 5}, ROPE_POSITION_INT32), 0x1p31);
    EXPECT_EQ(lengthOf<int64_t>({7, 4096, 4095}, ROPE_POSITION_INT64), 4097);
    const std::vector<int32_t> of_axes = {0, 1, 2, /* h */ 9, 9, 9, /* w */ 3, 11, 4};
    EXPECT_EQ(lengthOf(of_axes, ROPE_POSITION_INT32), 12);
}

TEST(Length, TakesFractionsToTheLastBit) {
    const int64_t last = ROPE_WHOLE_POSITION(4095);
    EXPECT_EQ(lengthOf<int64_t>({last, last + 1, -last}, ROPE_POSITION_FIXED64), 4096 + 0x1p-32);
    EXPECT_EQ(lengthOf<int64_t>({1}, ROPE_POSITION_FIXED64), 1 + 0x1p-32);
    EXPECT_EQ(lengthOf<float>({2.5f, -7, 3.25f}, ROPE_POSITION_FLOAT32), 4.25);
    // A double holds 53 bits of these 63. A position beyond a length stays beyond it.
    const int64_t far = ROPE_WHOLE_POSITION(1 << 30);
    EXPECT_EQ(lengthOf<int64_t>({far}, ROPE_POSITION_FIXED64), 0x1p30 + 1);
    EXPECT_GT(lengthOf<int64_t>({far + 1}, ROPE_POSITION_FIXED64), 0x1p30 + 1);
    EXPECT_LT(lengthOf<int64_t>({far + 1}, ROPE_POSITION_FIXED64), 0x1p30 + 1 + 0x1p-21);
    EXPECT_EQ(lengthOf<int64_t>({INT64_MAX}, ROPE_POSITION_FIXED64), 0x1p31 + 1);
}

TEST(Length, LeavesOutWhatIsNoPosition) {
    EXPECT_EQ(lengthOf<int64_t>({5, int64_t{1} << 31, INT64_MAX, INT64_MIN}, ROPE_POSITION_INT64), 6);
    const float inf = std::numeric_limits<float>::infinity();
    EXPECT_EQ(lengthOf<float>({5, NAN, inf, 2147483648.0f, -inf}, ROPE_POSITION_FLOAT32), 6);
    EXPECT_EQ(lengthOf<float>({NAN}, ROPE_POSITION_FLOAT32), 0);
    EXPECT_EQ(lengthOf<int32_t>({-1, -4096, INT32_MIN}, ROPE_POSITION_INT32), 0);
    EXPECT_EQ(lengthOf<int64_t>({-1}, ROPE_POSITION_FIXED64), 0);
    EXPECT_EQ(ropeLengthOfPositions(nullptr, ROPE_POSITION_INT32, 4), 0);
    EXPECT_EQ(lengthOf<int32_t>({}, ROPE_POSITION_INT32), 0);
}

TEST(Length, IsWhatARuleTakes) {
    const double shorter[2] = {1, 1}, longer[2] = {2, 4};
    RopeRule rule = {};
    rule.kind = ROPE_RULE_LONGROPE;
    rule.rotary_dim = 4;
    rule.base = 10000;
    rule.factor = 32;
    rule.original_length = 4096;
    rule.short_factors = shorter;
    rule.long_factors = longer;
    for (const int32_t last : {-5, 0, 4095, 4096}) {
        double frequencies[2], scale;
        rule.length = ropeLengthOfPositions(&last, ROPE_POSITION_INT32, 1);
        ASSERT_EQ(ropeMakeFrequencies(&rule, frequencies, &scale, nullptr), ROPE_SUCCESS);
        EXPECT_EQ(frequencies[0], last < 4096 ? 1 : 0.5) << last;
    }
}

} // namespace
