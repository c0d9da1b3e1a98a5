// The option matrix of `vkrope check` is as whole as it says.
#include "tool/matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

using tool::Choices;

const std::vector<Choices>& all() {
    static const std::vector<Choices> choices = tool::rotateChoices();
    return choices;
}

// Which three choices of different axes meet; the last two may be one, for the pairs.
struct Meetings {
    static constexpr size_t kChoices = 4; // of one axis at most
    size_t side = tool::axes().size() * kChoices;
    std::vector<bool> met = std::vector<bool>(side * side * side);

    explicit Meetings(const std::vector<Choices>& cases) {
        for (const Choices& choices : cases) {
            std::vector<size_t> present;
            for (size_t axis = 0; axis < choices.size(); ++axis) {
                if (choices[axis] != tool::kNone) present.push_back(axis * kChoices + choices[axis]);
            }
            for (const size_t a : present) {
                for (const size_t b : present) {
                    for (const size_t c : present) met[(a * side + b) * side + c] = true;
                }
            }
        }
    }
    bool pair(size_t a, size_t x, size_t b, size_t y) const {
        const size_t second = b * kChoices + y;
        return met[((a * kChoices + x) * side + second) * side + second];
    }
};

TEST(Matrix, IsTheProductOfItsOptions) {
    // Elements and pairings: 9 * 4 elsewhere and 3 * 2 in place. Orders: 2.
    const size_t tensors = (9 * 4 + 3 * 2) * 2;
    // Inline: angles, positions (all but the counted with fractions too), operations, scales. Else row elements, row
    // formats; inverse and shift not scaled.
    const size_t inline_cases = 2 * (3 + 2) * 4 * 2;
    const size_t rows = 3 * 4 * (2 * 2 + 2), table = 3 * rows;
    EXPECT_EQ(all().size(), tensors * (inline_cases + table + rows));
    std::set<Choices> different(all().begin(), all().end());
    EXPECT_EQ(different.size(), all().size());
}

// Packed sequences share no positions.
bool excludeEachOther(const std::string& a, const std::string& b) {
    return (a == "packing" && b == "sharing") || (b == "packing" && a == "sharing");
}

// Where a choice of another axis meets one of an axis in turn, it meets each.
TEST(Matrix, WhatGoesInTurnMeetsEveryOtherChoice) {
    const Meetings meetings(all());
    size_t in_turn = 0;
    for (size_t a = 0; a < tool::axes().size(); ++a) {
        const tool::Axis& turning = tool::axes()[a];
        ASSERT_LE(turning.names.size(), Meetings::kChoices);
        in_turn += turning.in_turn;
        for (size_t b = 0; b < tool::axes().size() && turning.in_turn; ++b) {
            if (excludeEachOther(turning.what, tool::axes()[b].what)) continue;
            for (size_t y = 0; b != a && y < tool::axes()[b].names.size(); ++y) {
                size_t times = 0;
                for (size_t x = 0; x < turning.names.size(); ++x) times += meetings.pair(a, x, b, y);
                EXPECT_TRUE(times == 0 || times == turning.names.size())
                    << turning.what << " with " << tool::axes()[b].names[y];
            }
        }
    }
    EXPECT_GT(in_turn, 0u);
}

// The alignments choose the shader's build, so they meet every two choices that meet.
TEST(Matrix, EveryAlignmentMeetsEveryTwoChoices) {
    const auto axis = std::find_if(tool::axes().begin(), tool::axes().end(),
                                   [](const tool::Axis& a) { return std::string(a.what) == "alignment"; });
    ASSERT_NE(axis, tool::axes().end());
    const size_t alignment = static_cast<size_t>(axis - tool::axes().begin());
    std::vector<Choices> by_alignment[3];
    for (const Choices& choices : all()) {
        std::vector<Choices>& with = by_alignment[choices[alignment]];
        with.push_back(choices);
        with.back()[alignment] = tool::kNone;
    }
    const Meetings met[3] = {Meetings(by_alignment[0]), Meetings(by_alignment[1]), Meetings(by_alignment[2])};
    const Meetings any(all());
    for (size_t a = 0; a < tool::axes().size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
            for (size_t x = 0; x < tool::axes()[a].names.size(); ++x) {
                for (size_t y = 0; y < tool::axes()[b].names.size(); ++y) {
                    if (a == alignment || b == alignment || !any.pair(a, x, b, y)) continue;
                    for (const Meetings& one : met) {
                        EXPECT_TRUE(one.pair(a, x, b, y))
                            << tool::axes()[a].names[x] << ", " << tool::axes()[b].names[y];
                    }
                }
            }
        }
    }
}

TEST(Matrix, AFewBringTogetherEveryThreeChoices) {
    const std::vector<Choices> few = tool::quickChoices(all());
    EXPECT_TRUE(Meetings(few).met == Meetings(all()).met);
    EXPECT_LT(few.size(), 400u);
}

RopeResult plan(const Choices& choices, RopePlan* plan) {
    RopeRotateDescription d = tool::rotateCase(choices).description;
    const std::vector<double> frequencies(d.frequencies.count * 3, 0.5);
    d.frequencies.values = frequencies.data();
    return ropePlanRotate(&d, nullptr, plan);
}

TEST(Matrix, AllButOddGeometryIsPlannedAtTheFloor) {
    size_t odd = 0;
    RopePlan made;
    for (Choices choices : all()) {
        if (plan(choices, &made) == ROPE_SUCCESS) continue;
        ++odd;
        EXPECT_TRUE(tool::alignForAll(&choices)) << made.reason.text;
        ASSERT_EQ(plan(choices, &made), ROPE_SUCCESS) << tool::rotateCase(choices).name << ": " << made.reason.text;
    }
    EXPECT_GT(odd, 0u);
    EXPECT_LT(odd, all().size() / 3);
}

} // namespace
