#include "tool/nearest_names.hpp"

#include "tool/array.hpp"

#include <algorithm>

namespace tool {
namespace {

constexpr size_t kNamesShown = 8;

size_t commonLength(const std::string& a, const std::string& b) {
    const size_t most = std::min(a.size(), b.size());
    return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most), b.begin()).first -
                               a.begin());
}

} // namespace

std::string nearestNames(std::vector<std::string> names, const std::string& wanted) {
    const auto rank = [&wanted](const std::string& name) {
        return wanted.empty() ? 0 : name.find(wanted) != name.npos ? name.npos : commonLength(name, wanted);
    };
    std::stable_sort(names.begin(), names.end(),
                     [&rank](const std::string& a, const std::string& b) { return rank(a) > rank(b); });
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
        text += (i == 0 ? "" : ", ") + rope::quotedText(names[i], 96);
    if (names.size() > kNamesShown) text += " and " + std::to_string(names.size() - kNamesShown) + " more";
    return text;
}

} // namespace tool
