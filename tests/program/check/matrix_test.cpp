// The option matrix of `vkrope check` is as whole as it says.
#include "program/check/matrix.hpp"

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

// The triples of choices of different options that occur together. The last two may be equal, which gives the pairs.
struct CoveredTriples {
    static constexpr size_t kMaxChoices = 4; // choices of one option, at most
    size_t side = tool::matrixOptions().size() * kMaxChoices;
    std::vector<bool> covered = std::vector<bool>(side * side * side);

    explicit CoveredTriples(const std::vector<Choices>& cases) {
        for (const Choices& choices : cases) {
            std::vector<size_t> chosen;
            for (size_t option = 0; option < choices.size(); ++option) {
                if (choices[option] != tool::kNoChoice) chosen.push_back(option * kMaxChoices + choices[option]);
            }
            for (const size_t a : chosen) {
                for (const size_t b : chosen) {
                    for (const size_t c : chosen) covered[(a * side + b) * side + c] = true;
                }
            }
        }
    }
    bool pair(size_t a, size_t x, size_t b, size_t y) const {
        const size_t second = b * kMaxChoices + y;
        return covered[((a * kMaxChoices + x) * side + second) * side + second];
    }
};

TEST(Matrix, IsTheProductOfItsOptions) {
    // Elements and pairings: 9 * 4 out of place and 3 * 2 in place. Orders: 2.
    const size_t tensors = (9 * 4 + 3 * 2) * 2;
    // Inline cases have angles, positions (with fractions too, unless counted), operations and scales. The others have
    // row elements and row formats; inverse and shift are not scaled.
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

// If a choice of another option occurs with one choice of a sampled option, it occurs with each.
TEST(Matrix, WhatGoesInTurnMeetsEveryOtherChoice) {
    const CoveredTriples covered(all());
    size_t sampled = 0;
    for (size_t a = 0; a < tool::matrixOptions().size(); ++a) {
        const tool::MatrixOption& sampled_option = tool::matrixOptions()[a];
        ASSERT_LE(sampled_option.choices.size(), CoveredTriples::kMaxChoices);
        sampled += sampled_option.sampled;
        for (size_t b = 0; b < tool::matrixOptions().size() && sampled_option.sampled; ++b) {
            if (excludeEachOther(sampled_option.name, tool::matrixOptions()[b].name)) continue;
            for (size_t y = 0; b != a && y < tool::matrixOptions()[b].choices.size(); ++y) {
                size_t times = 0;
                for (size_t x = 0; x < sampled_option.choices.size(); ++x) times += covered.pair(a, x, b, y);
                EXPECT_TRUE(times == 0 || times == sampled_option.choices.size())
                    << sampled_option.name << " with " << tool::matrixOptions()[b].choices[y];
            }
        }
    }
    EXPECT_GT(sampled, 0u);
}

// The alignments choose the shader's build, so each occurs with every two choices that occur together.
TEST(Matrix, EveryAlignmentMeetsEveryTwoChoices) {
    const auto option = std::find_if(tool::matrixOptions().begin(), tool::matrixOptions().end(),
                                     [](const tool::MatrixOption& a) { return std::string(a.name) == "alignment"; });
    ASSERT_NE(option, tool::matrixOptions().end());
    const size_t alignment = static_cast<size_t>(option - tool::matrixOptions().begin());
    std::vector<Choices> by_alignment[3];
    for (const Choices& choices : all()) {
        std::vector<Choices>& with = by_alignment[choices[alignment]];
        with.push_back(choices);
        with.back()[alignment] = tool::kNoChoice;
    }
    const CoveredTriples covered[3] = {CoveredTriples(by_alignment[0]), CoveredTriples(by_alignment[1]),
                                       CoveredTriples(by_alignment[2])};
    const CoveredTriples any(all());
    for (size_t a = 0; a < tool::matrixOptions().size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
            for (size_t x = 0; x < tool::matrixOptions()[a].choices.size(); ++x) {
                for (size_t y = 0; y < tool::matrixOptions()[b].choices.size(); ++y) {
                    if (a == alignment || b == alignment || !any.pair(a, x, b, y)) continue;
                    for (const CoveredTriples& one : covered) {
                        EXPECT_TRUE(one.pair(a, x, b, y))
                            << tool::matrixOptions()[a].choices[x] << ", " << tool::matrixOptions()[b].choices[y];
                    }
                }
            }
        }
    }
}

TEST(Matrix, AFewBringTogetherEveryThreeChoices) {
    const std::vector<Choices> few = tool::quickChoices(all());
    EXPECT_TRUE(CoveredTriples(few).covered == CoveredTriples(all()).covered);
    EXPECT_LT(few.size(), 400u);
}

RopeResult plan(const Choices& choices, RopePlan* plan) {
    RopeRotateDescription d = tool::rotateCase(choices).description;
    const std::vector<double> frequencies(d.rotation.frequencies.count * 3, 0.5);
    d.rotation.frequencies.values = frequencies.data();
    return ropePlanRotate(&d, nullptr, plan);
}

TEST(Matrix, IsPlannedAtTheFloor) {
    RopePlan made;
    for (const Choices& choices : all())
        ASSERT_EQ(plan(choices, &made), ROPE_SUCCESS) << tool::rotateCase(choices).name << ": " << made.reason.text;
}

} // namespace
