#include "tool/covering.hpp"

#include <algorithm>
#include <queue>

namespace tool {
namespace {

// Remembers which choices have met.
class Meetings {
  public:
    Meetings(const std::vector<Choices>& all, uint32_t together) : together_(together) {
        std::vector<size_t> counts;
        for (const Choices& choices : all) {
            counts.resize(std::max(counts.size(), choices.size()), 0);
            for (size_t axis = 0; axis < choices.size(); ++axis) {
                if (choices[axis] != kNone) counts[axis] = std::max<size_t>(counts[axis], choices[axis] + 1);
            }
        }
        for (const size_t count : counts) {
            first_.push_back(count_);
            count_ += count;
        }
        size_t meetings = 1;
        for (uint32_t i = 0; i < together; ++i) meetings *= count_;
        met_.resize(meetings);
    }

    size_t countNew(const Choices& choices) const {
        size_t found = 0;
        each(choices, [&](size_t meeting) { found += !met_[meeting]; });
        return found;
    }
    void add(const Choices& choices) {
        each(choices, [&](size_t meeting) { met_[meeting] = true; });
    }

  private:
    template <typename Function> void each(const Choices& choices, Function function) const {
        std::vector<size_t> present;
        for (size_t axis = 0; axis < choices.size(); ++axis) {
            if (choices[axis] != kNone) present.push_back(first_[axis] + choices[axis]);
        }
        eachBelow(present, present.size(), together_, 0, function);
    }
    // Numbers every `left` of the first `end` choices, behind those that `number` has already.
    template <typename Function>
    void eachBelow(const std::vector<size_t>& present, size_t end, uint32_t left, size_t number,
                   Function& function) const {
        if (left == 0) return function(number);
        for (size_t i = 0; i < end; ++i) eachBelow(present, i, left - 1, number * count_ + present[i], function);
    }

    uint32_t together_;
    std::vector<size_t> first_; // of each axis
    size_t count_ = 0;
    std::vector<bool> met_;
};

} // namespace

uint64_t scrambled(uint64_t index) {
    uint64_t x = index * 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x >> 8;
}

// Takes the case that brings most together, again and again. What a case brings only shrinks, so that a count from
// before is a bound: the queue's first is counted anew, and taken where no bound is above its count.
std::vector<size_t> fewNumbersOf(const std::vector<Choices>& all, uint32_t together) {
    struct Candidate {
        size_t bound;
        uint64_t order; // of those that bring as much
        size_t number;
        bool operator<(const Candidate& other) const {
            return bound != other.bound ? bound < other.bound : order < other.order;
        }
    };
    Meetings meetings(all, together);
    std::priority_queue<Candidate> queue;
    for (size_t number = 0; number < all.size(); ++number)
        queue.push({meetings.countNew(all[number]), scrambled(number + 1), number});
    std::vector<size_t> taken;
    while (!queue.empty()) {
        Candidate first = queue.top();
        queue.pop();
        first.bound = meetings.countNew(all[first.number]);
        if (first.bound == 0) continue;
        if (!queue.empty() && first < queue.top()) {
            queue.push(first);
            continue;
        }
        meetings.add(all[first.number]);
        taken.push_back(first.number);
    }
    std::sort(taken.begin(), taken.end());
    return taken;
}

std::vector<Choices> fewOf(const std::vector<Choices>& all, uint32_t together) {
    std::vector<Choices> few;
    for (const size_t number : fewNumbersOf(all, together)) few.push_back(all[number]);
    return few;
}

} // namespace tool
