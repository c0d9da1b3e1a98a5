#include "combinations.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace combinations {
namespace {

constexpr size_t kMostOfWhole = 5000; // combinations of which a whole run takes all

std::vector<Choices> productOf(const std::vector<size_t>& counts) {
    std::vector<Choices> all = {Choices()};
    for (const size_t count : counts) {
        std::vector<Choices> longer;
        for (const Choices& choices : all) {
            for (size_t choice = 0; choice < count; ++choice) {
                longer.push_back(choices);
                longer.back().push_back(static_cast<uint8_t>(choice));
            }
        }
        all = longer;
    }
    return all;
}

// Returns the indices of a few of `all`. Those of a lower strength than `most` are among those of `most`, so that a
// driver has compiled the shaders of a device's second setup for its first.
std::vector<size_t> fewOf(const std::vector<Choices>& all, uint32_t strength, uint32_t most, size_t fewest) {
    const std::vector<size_t> few = tool::coveringIndices(all, most, fewest);
    if (strength >= most) return few;
    std::vector<size_t> fewer;
    for (const size_t index : fewOf(tool::casesAt(all, few), strength, most - 1, 1)) fewer.push_back(few[index]);
    return fewer;
}

} // namespace

bool whole() {
    const char* wanted = std::getenv("VKROPE_TEST_WHOLE");
    return wanted != nullptr && std::strcmp(wanted, "0") != 0;
}

std::vector<Choices> ofWholeRun(const std::vector<Choices>& all) {
    return all.size() <= kMostOfWhole ? all : tool::coveringArray(all, 4);
}

std::vector<Choices> of(const std::vector<size_t>& counts, uint32_t strength,
                        const std::function<bool(const Choices&)>& exist) {
    std::vector<Choices> all = productOf(counts);
    const auto is_denied = [&](const Choices& choices) { return exist && !exist(choices); };
    all.erase(std::remove_if(all.begin(), all.end(), is_denied), all.end());
    if (whole()) return ofWholeRun(all);
    // A case that brings two choices together for the first time brings as many new threes as there are other options.
    const size_t most = std::min<size_t>(counts.size(), 3), fewest = counts.size() - most + 1;
    return tool::casesAt(all, fewOf(all, strength, static_cast<uint32_t>(most), fewest));
}

std::vector<uint64_t> draws(uint64_t count, uint32_t strength, const std::function<Choices(uint64_t)>& choices_of,
                            size_t fewest) {
    std::vector<Choices> all;
    std::vector<uint64_t> numbers;
    for (uint64_t number = 0; number < count; ++number) {
        all.push_back(choices_of(number));
        numbers.push_back(number);
    }
    if (whole()) return numbers;
    const std::vector<size_t> few = fewOf(all, strength, 2, fewest);
    return std::vector<uint64_t>(few.begin(), few.end());
}

} // namespace combinations
