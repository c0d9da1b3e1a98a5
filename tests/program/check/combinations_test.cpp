// A run has few combinations, and every choice that should occur together with others does.
#include "support/combinations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace {

using combinations::Choices;

// Adds every `left` choices that occur together before option `end` of a row, as text behind `text`.
void addTuples(const Choices& row, size_t end, uint32_t left, const std::string& text, std::set<std::string>* tuples) {
    if (left == 0) tuples->insert(text);
    for (size_t option = 0; left != 0 && option < end; ++option) {
        const std::string name = std::to_string(option) + "=" + std::to_string(row[option]) + " ";
        addTuples(row, option, left - 1, text + name, tuples);
    }
}

std::set<std::string> tuplesIn(const std::vector<Choices>& rows, uint32_t strength) {
    std::set<std::string> tuples;
    for (const Choices& row : rows) addTuples(row, row.size(), strength, "", &tuples);
    return tuples;
}

TEST(Combinations, OfAShortRunAreFewAndBringEveryTwoAndMostThreeChoicesTogether) {
    if (combinations::whole()) GTEST_SKIP() << "a whole run takes every combination";
    const std::vector<Choices> twos = combinations::of({7, 6, 3, 4, 3, 3}, 2);
    const std::vector<Choices> threes = combinations::of({7, 6, 3, 4, 3, 3}, 3);
    EXPECT_LT(twos.size(), 60u);    // 42 at least
    EXPECT_LT(threes.size(), 150u); // of 4536; 168 would be the least for all threes
    const size_t counts[] = {7, 6, 3, 4, 3, 3};
    size_t pairs = 0, triples = 0;
    for (size_t a = 0; a < 6; ++a) {
        for (size_t b = 0; b < a; ++b) {
            pairs += counts[a] * counts[b];
            for (size_t c = 0; c < b; ++c) triples += counts[a] * counts[b] * counts[c];
        }
    }
    EXPECT_EQ(tuplesIn(twos, 2).size(), pairs);
    EXPECT_EQ(tuplesIn(threes, 2).size(), pairs);
    EXPECT_GT(tuplesIn(threes, 3).size(), triples * 9 / 10);
    // The two setups of a device then share the shaders that the driver compiled.
    for (const Choices& two : twos) EXPECT_EQ(std::count(threes.begin(), threes.end(), two), 1);
}

TEST(Combinations, OfAWholeRunAreAllOrBringEveryFourChoicesTogether) {
    std::vector<Choices> all;
    for (uint32_t number = 0; number < 5120; ++number) {
        Choices choices = {static_cast<uint8_t>(number % 5)};
        for (uint32_t bit = 0; bit < 10; ++bit) choices.push_back(number / 5 >> bit & 1);
        all.push_back(choices);
    }
    const std::vector<Choices> fours = combinations::ofWholeRun(all);
    EXPECT_LT(fours.size(), 160u);
    EXPECT_EQ(tuplesIn(fours, 4).size(), 10u * 9 * 8 * 7 / 24 * 16 + 10u * 9 * 8 / 6 * 8 * 5);
    all.resize(5000);
    EXPECT_EQ(combinations::ofWholeRun(all).size(), 5000u);
}

TEST(Combinations, ThatAreDeniedTakeNoPairsWithThem) {
    if (combinations::whole()) GTEST_SKIP() << "a whole run takes every combination";
    const auto exist = [](const Choices& c) { return c[0] + c[1] < 7 && (c[2] != 1 || c[3] < 2); };
    std::vector<Choices> all;
    for (uint8_t a = 0; a < 6; ++a) {
        for (uint8_t b = 0; b < 5; ++b) {
            for (uint8_t c = 0; c < 3; ++c) {
                for (uint8_t d = 0; d < 4; ++d) {
                    if (exist({a, b, c, d})) all.push_back({a, b, c, d});
                }
            }
        }
    }
    for (const uint32_t strength : {2u, 3u})
        EXPECT_EQ(tuplesIn(combinations::of({6, 5, 3, 4}, strength, exist), 2), tuplesIn(all, 2));
    EXPECT_EQ(combinations::of({4, 3}, 2).size(), 12u);
}

TEST(Combinations, OfDrawsKeepWhatMeetsInAnyOfThem) {
    if (combinations::whole()) GTEST_SKIP() << "a whole run takes every draw";
    const auto choices_of = [](uint64_t number) {
        const uint64_t mixed = tool::scrambled(number + 1);
        return Choices{static_cast<uint8_t>(mixed % 3), static_cast<uint8_t>(mixed / 3 % 4),
                       static_cast<uint8_t>(mixed / 12 % 2), static_cast<uint8_t>(mixed / 24 % 3)};
    };
    std::vector<Choices> all, few;
    for (uint64_t number = 0; number < 500; ++number) all.push_back(choices_of(number));
    for (const uint64_t number : combinations::draws(500, 2, choices_of)) few.push_back(choices_of(number));
    EXPECT_EQ(tuplesIn(few, 2), tuplesIn(all, 2));
    EXPECT_LT(few.size(), 25u);
    const std::vector<uint64_t> some = combinations::draws(500, 2, choices_of, 3);
    std::vector<Choices> fewer;
    for (const uint64_t number : some) fewer.push_back(choices_of(number));
    EXPECT_LT(fewer.size(), few.size());
    EXPECT_GT(tuplesIn(fewer, 2).size(), tuplesIn(all, 2).size() * 9 / 10);
    const std::vector<uint64_t> least =
        combinations::draws(500, 1, choices_of, 3); // the four choices of the second option
    EXPECT_EQ(least.size(), 4u);
    EXPECT_TRUE(std::includes(some.begin(), some.end(), least.begin(), least.end()));
}

} // namespace
