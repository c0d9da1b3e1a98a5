// How a plan's first pass is cut into groups.
#pragma once

#include "plan/pass.h"
#include <vkrope/rope.h>

#include "shaders/interface.h"

#include <gtest/gtest.h>

#include <cstring>
#include <ostream>

namespace group_cut {

struct Cut {
    uint32_t lanes, blocks, tokens;                 // of a group
    uint32_t parts, heads, pairs, shares, by_words; // the heads of an addition are sequences
};
inline bool operator==(const Cut& a, const Cut& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
inline void PrintTo(const Cut& c, std::ostream* out) {
    *out << c.lanes << " x " << c.blocks << " x " << c.tokens << ", parts " << c.parts << ", heads " << c.heads
         << ", pairs " << c.pairs << ", shares " << c.shares << ", by words " << c.by_words;
}

inline Cut cutOf(const RopePlan& plan) {
    const rope::PlanPass& pass = rope::passAt(plan, 0);
    const uint32_t* c = pass.constants;
    EXPECT_EQ(pass.group[0], c[ROPE_ID_GROUP_SIZE]);
    EXPECT_EQ(pass.group[1], c[ROPE_ID_GROUP_BLOCKS]);
    EXPECT_EQ(pass.group[2], c[ROPE_ID_GROUP_TOKENS]);
    EXPECT_EQ(pass.group_size, pass.group[0] * pass.group[1] * pass.group[2]);
    EXPECT_EQ(pass.lane_parts, c[ROPE_ID_LANE_PARTS]);
    EXPECT_EQ(pass.heads_per_thread, c[ROPE_ID_HEADS]);
    const uint32_t pairs = pass.shader != nullptr ? 4 * c[ROPE_ID_QUADS] : 0; // 0: nothing was planned
    return {pass.group[0],         pass.group[1], pass.group[2],     pass.lane_parts,
            pass.heads_per_thread, pairs,         c[ROPE_ID_SHARES], c[ROPE_ID_BY_WORDS]};
}

} // namespace group_cut
