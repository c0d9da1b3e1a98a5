#include "program/check/covering.hpp"

#include <algorithm>
#include <queue>

namespace tool {
namespace {

// Remembers which tuples of choices some selected case has.
class CoveredTuples {
  public:
    CoveredTuples(const std::vector<Choices>& all, uint32_t strength) : strength_(strength) {
        std::vector<size_t> counts;
        for (const Choices& choices : all) {
            counts.resize(std::max(counts.size(), choices.size()), 0);
            for (size_t option = 0; option < choices.size(); ++option) {
                if (choices[option] != kNoChoice)
                    counts[option] = std::max<size_t>(counts[option], choices[option] + 1);
            }
        }
        for (const size_t count : counts) {
            first_choice_.push_back(choice_count_);
            choice_count_ += count;
        }
        size_t tuples = 1;
        for (uint32_t i = 0; i < strength; ++i) tuples *= choice_count_;
        covered_.resize(tuples);
    }

    size_t countNew(const Choices& choices) const {
        size_t count = 0;
        forEachTuple(choices, [&](size_t tuple) { count += !covered_[tuple]; });
        return count;
    }
    void add(const Choices& choices) {
        forEachTuple(choices, [&](size_t tuple) { covered_[tuple] = true; });
    }

  private:
    template <typename Function> void forEachTuple(const Choices& choices, Function function) const {
        std::vector<size_t> chosen;
        for (size_t option = 0; option < choices.size(); ++option) {
            if (choices[option] != kNoChoice) chosen.push_back(first_choice_[option] + choices[option]);
        }
        forEachTupleBelow(chosen, chosen.size(), strength_, 0, function);
    }
    // Numbers every tuple of `left` of the first `end` choices, behind those that `index` holds already.
    template <typename Function>
    void forEachTupleBelow(const std::vector<size_t>& chosen, size_t end, uint32_t left, size_t index,
                           Function& function) const {
        if (left == 0) return function(index);
        for (size_t i = 0; i < end; ++i)
            forEachTupleBelow(chosen, i, left - 1, index * choice_count_ + chosen[i], function);
    }

    uint32_t strength_;
    std::vector<size_t> first_choice_; // the number of each option's first choice
    size_t choice_count_ = 0;
    std::vector<bool> covered_;
};

} // namespace

uint64_t scrambled(uint64_t index) {
    uint64_t x = index * 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x >> 8;
}

// Greedily selects the case that covers the most new tuples. A case's count of new tuples only shrinks, so that an
// earlier count is a bound: the queue's first case is counted anew, and selected where no bound is above its count.
std::vector<size_t> coveringIndices(const std::vector<Choices>& all, uint32_t strength, size_t fewest) {
    struct Candidate {
        size_t bound;
        uint64_t order; // decides between cases with the same bound
        size_t index;
        bool operator<(const Candidate& other) const {
            return bound != other.bound ? bound < other.bound : order < other.order;
        }
    };
    CoveredTuples covered(all, strength);
    std::priority_queue<Candidate> queue;
    for (size_t index = 0; index < all.size(); ++index)
        queue.push({covered.countNew(all[index]), scrambled(index + 1), index});
    std::vector<size_t> selected;
    while (!queue.empty()) {
        Candidate first = queue.top();
        queue.pop();
        first.bound = covered.countNew(all[first.index]);
        if (first.bound < fewest) continue;
        if (!queue.empty() && first < queue.top()) {
            queue.push(first);
            continue;
        }
        covered.add(all[first.index]);
        selected.push_back(first.index);
    }
    std::sort(selected.begin(), selected.end());
    return selected;
}

std::vector<Choices> casesAt(const std::vector<Choices>& all, const std::vector<size_t>& indices) {
    std::vector<Choices> few;
    for (const size_t index : indices) few.push_back(all[index]);
    return few;
}

std::vector<Choices> coveringArray(const std::vector<Choices>& all, uint32_t strength) {
    return casesAt(all, coveringIndices(all, strength));
}

} // namespace tool
