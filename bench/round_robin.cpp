#include "round_robin.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace measure {

const char kEmptyDispatch[] = "empty";

Quartiles quartilesOf(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const size_t last = values.size() - 1;
    return {values[last / 4], values[values.size() / 2], values[last - last / 4]};
}

uint32_t roundsFor(uint32_t tokens) { return tokens < 512 ? 101 : tokens <= 4096 ? 21 : 7; }

RoundRobin::RoundRobin(std::vector<Contestant> contestants, Clock clock)
    : contestants_(std::move(contestants)), times_(contestants_.size()), clock_(clock) {}

void RoundRobin::warmUp() {
    for (const Contestant& contestant : contestants_) contestant.seconds();
}

void RoundRobin::runRound() {
    const size_t count = contestants_.size(), number = rounds();
    std::vector<double> now(count);
    for (size_t i = 0; i < count; ++i) {
        const size_t which = (number + (number % 2 == 0 ? i : count - 1 - i)) % count;
        now[which] = contestants_[which].seconds();
    }
    for (size_t i = 0; i < count; ++i) times_[i].push_back(now[i]);
}

void RoundRobin::runRounds(uint32_t rounds, uint32_t tokens) {
    using Time = std::chrono::steady_clock;
    constexpr uint32_t kLeast = 3;
    constexpr double kSeconds = 4;
    const uint32_t most = rounds != 0 ? rounds : roundsFor(tokens);
    warmUp();
    const Time::time_point begin = Time::now();
    for (uint32_t i = 0; i < most; ++i) {
        const bool late = std::chrono::duration<double>(Time::now() - begin).count() > kSeconds;
        if (rounds == 0 && i >= kLeast && late) break;
        runRound();
    }
}

// Returns the time that submit and wait take by themselves.
double RoundRobin::overhead() const {
    for (size_t i = 0; i < contestants_.size(); ++i) {
        if (clock_ == Clock::kHost && contestants_[i].name == kEmptyDispatch) return quartilesOf(times_[i]).median;
    }
    return 0;
}

Quartiles RoundRobin::seconds(size_t i) const {
    const Quartiles range = quartilesOf(times_[i]);
    const double less = contestants_[i].name == kEmptyDispatch ? 0 : overhead();
    return {range.low - less, range.median - less, range.high - less};
}

Quartiles RoundRobin::ratio(size_t i) const {
    if (clock_ == Clock::kHost) { // times are differences, which may be 0 or negative
        const Quartiles a = seconds(0), b = seconds(i);
        if (!(a.low > 0 && b.low > 0)) return {NAN, NAN, NAN};
        return {a.low / b.high, a.median / b.median, a.high / b.low};
    }
    std::vector<double> ratios(rounds());
    for (size_t round = 0; round < ratios.size(); ++round) ratios[round] = times_[0][round] / times_[i][round];
    return quartilesOf(ratios);
}

} // namespace measure
