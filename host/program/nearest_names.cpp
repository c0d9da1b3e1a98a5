#include "program/nearest_names.hpp"

#include "program/files/array.hpp"

#include <algorithm>
#include <climits>
#include <numeric>

namespace tool {
namespace {

constexpr size_t kNamesShown = 8;
constexpr size_t kLettersCompared = 64;

// Letters and digits alone, in lower case: DeepseekV3 is deepseek_v3.
std::string plainLetters(const std::string& name) {
    std::string text;
    for (const char c : name.substr(0, kLettersCompared)) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (letter) text += c;
        if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

// Counts the letters of the begins that agree best, less four for each that is changed, missing or too many.
int likeness(const std::string& a, const std::string& b) {
    std::vector<int> edits(b.size() + 1); // from a begin of `a` to each begin of `b`
    std::iota(edits.begin(), edits.end(), 0);
    int best = 0;
    for (size_t row = 1; row <= a.size(); ++row) {
        int before = edits[0];
        edits[0] = static_cast<int>(row);
        for (size_t column = 1; column <= b.size(); ++column) {
            const int changed = before + (a[row - 1] == b[column - 1] ? 0 : 1);
            before = edits[column];
            edits[column] = std::min({changed, edits[column] + 1, edits[column - 1] + 1});
            best = std::max(best, static_cast<int>(row + column) - 4 * edits[column]);
        }
    }
    return best;
}

// The shorter of names that are equally like goes first.
int rankOf(const std::string& name, const std::string& wanted) {
    constexpr int kMostLetters = 1 << 10;
    const int letters = static_cast<int>(std::min<size_t>(name.size(), kMostLetters - 1));
    if (wanted.empty()) return 0;
    if (name.find(wanted) != name.npos) return INT_MAX - letters;
    return likeness(plainLetters(name), plainLetters(wanted)) * kMostLetters - letters;
}

} // namespace

std::string nearestNames(std::vector<std::string> names, const std::string& wanted) {
    std::vector<std::pair<int, std::string>> ranked;
    ranked.reserve(names.size());
    for (std::string& name : names) ranked.emplace_back(rankOf(name, wanted), std::move(name));
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
        text += (i == 0 ? "" : ", ") + rope::quotedText(ranked[i].second, 96);
    if (names.size() > kNamesShown) text += " and " + std::to_string(names.size() - kNamesShown) + " more";
    return text;
}

} // namespace tool
