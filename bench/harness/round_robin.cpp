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

// Raises the number of repetitions until a submission takes long enough. On the host's clock the first ones are mostly
// the submission, which is why the number is raised in steps.
void RoundRobin::chooseRepeats(Turns* turns) {
    constexpr double kNearEnough = 0.7, kStep = 8;
    const double wanted = bench_->submissionSeconds();
    const uint32_t most = turns->work.mostRepeats();
    turns->repeats = 1;
    for (;;) {
        const double taken = bench_->time(&turns->work, turns->repeats);
        if (taken >= kNearEnough * wanted || turns->repeats >= most) return;
        const double more = std::min(std::max(wanted / std::max(taken, 1e-9), 1.5), kStep);
        turns->repeats = static_cast<uint32_t>(std::min<double>(most, std::ceil(turns->repeats * more)));
    }
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
    const double less = quartilesOf(submissions_).median * turns.share / repeats;
    const auto rest = [&](double seconds) { return (seconds - less) * repeats / left; };
    return {rest(all.low), rest(all.median), rest(all.high)};
}

Quartiles RoundRobin::ratio(size_t i) const {
    if (bench_->clock() == Clock::kHost) { // times are differences, which may be 0 or negative
        const Quartiles a = seconds(0), b = seconds(i);
        if (!(a.low > 0 && b.low > 0)) return {NAN, NAN, NAN};
        return {a.low / b.high, a.median / b.median, a.high / b.low};
    }
    std::vector<double> ratios(rounds());
    for (size_t round = 0; round < ratios.size(); ++round)
        ratios[round] = contestants_[0].times[round] / contestants_[i].times[round];
    return quartilesOf(ratios);
}

} // namespace measure
