#include "bench/harness/round_robin.hpp"

#include <algorithm>
#include <cmath>

namespace measure {

const char kEmptyDispatch[] = "empty";
const char kWarm[] = "warm";

uint32_t roundsFor(uint32_t tokens) { return tokens < 512 ? 101 : tokens <= 4096 ? 21 : 7; }

RoundRobin::RoundRobin(BenchDevice* bench, ClockProbe* clock, std::vector<Contestant> contestants)
    : bench_(bench), clock_(clock) {
    contestants_.reserve(contestants.size());
    for (Contestant& one : contestants)
        contestants_.push_back({one.name, one.share, RepeatedWork(&bench->device(), std::move(one.work)), 1, {}});
}

uint32_t moreRepeats(uint32_t repeats, double taken, double wanted, uint32_t most) {
    constexpr double kNearEnough = 0.7, kStep = 8;
    if (taken >= kNearEnough * wanted || repeats >= most) return repeats;
    const double more = std::min(std::max(wanted / std::max(taken, 1e-9), 1.5), kStep);
    return static_cast<uint32_t>(std::min<double>(most, std::ceil(repeats * more)));
}

Quartiles withoutSubmission(const Quartiles& all, double submission, double repeats, double left) {
    const double less = submission / repeats;
    const auto rest = [&](double seconds) { return (seconds - less) * repeats / left; };
    if (!(rest(all.low) > 0)) return {NAN, NAN, NAN};
    return {rest(all.low), rest(all.median), rest(all.high)};
}

void RoundRobin::chooseRepeats(Turns* turns) {
    const uint32_t most = turns->work.mostRepeats();
    uint32_t next = 1;
    do {
        turns->repeats = next;
        const double taken = bench_->time(&turns->work, turns->repeats);
        next = moreRepeats(turns->repeats, taken, bench_->submissionSeconds(), most);
    } while (next != turns->repeats);
}

RoundRobin::Turns* RoundRobin::emptyDispatch() {
    for (Turns& turns : contestants_) {
        if (turns.name == kEmptyDispatch) return &turns;
    }
    return nullptr;
}

void RoundRobin::warmUp() {
    std::string error;
    for (Turns& turns : contestants_) {
        if (!turns.work.prepare(&error)) throw std::runtime_error(error);
        bench_->time(&turns.work, 1);
    }
    if (clock_ != nullptr) clock_->keepWarm();
    for (Turns& turns : contestants_) chooseRepeats(&turns);
}

void RoundRobin::runRound() {
    const size_t count = contestants_.size(), number = rounds();
    if (clock_ != nullptr) clock_->keepWarm();
    std::vector<double> now(count);
    for (size_t i = 0; i < count; ++i) {
        const size_t which = (number + (number % 2 == 0 ? i : count - 1 - i)) % count;
        now[which] = bench_->time(&contestants_[which].work, contestants_[which].repeats);
    }
    Turns* empty = emptyDispatch();
    if (bench_->clock() == Clock::kHost && empty != nullptr) submissions_.push_back(bench_->time(&empty->work, 1));
    for (size_t i = 0; i < count; ++i)
        contestants_[i].times.push_back(now[i] * contestants_[i].share / contestants_[i].repeats);
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

// On the host's clock a turn's time has the submission of one empty dispatch in it, which is subtracted. The turn of
// the empty dispatch loses one repetition by that.
Quartiles RoundRobin::seconds(size_t i) const {
    const Turns& turns = contestants_[i];
    const Quartiles all = quartilesOf(turns.times);
    const bool empty = turns.name == kEmptyDispatch;
    if (submissions_.empty() || (empty && turns.repeats == 1)) return all;
    const double repeats = turns.repeats, left = empty ? repeats - 1 : repeats;
    return withoutSubmission(all, quartilesOf(submissions_).median * turns.share, repeats, left);
}

Quartiles RoundRobin::ratio(size_t i) const {
    if (bench_->clock() == Clock::kHost) { // times are differences
        const Quartiles a = seconds(0), b = seconds(i);
        return {a.low / b.high, a.median / b.median, a.high / b.low};
    }
    std::vector<double> ratios(rounds());
    for (size_t round = 0; round < ratios.size(); ++round)
        ratios[round] = contestants_[0].times[round] / contestants_[i].times[round];
    return quartilesOf(ratios);
}

} // namespace measure
