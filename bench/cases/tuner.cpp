#include "bench/cases/tuner.hpp"

#include "shaders/interface.h"

#include <algorithm>
#include <cmath>

namespace measure {
namespace {

// A lane of 8 pairs is one of 4 where elements have 32 bits. A group size is an upper limit: groups have whole heads.
constexpr uint32_t kGroupSizes[] = {64, 128, 256, 512}, kHeadCounts[] = {1, 2, 4, 8}, kLanePairs[] = {8, 4};
constexpr size_t kCandidatesKept = 3; // from one stage to the next
constexpr uint32_t kFewRounds = 5;

// Returns the tuning that the plan resolved. A description with it has the same plan.
RopeTuning resolvedTuning(const RopePlan& plan) {
    const RopePass& pass = plan.passes[0];
    return {pass.group_size, pass.constants[ROPE_ID_HEADS], 4 * pass.constants[ROPE_ID_QUADS]};
}

class Tuner {
  public:
    Tuner(BenchDevice* bench, ClockProbe* clock, const RotationCase& c)
        : bench_(bench), clock_(clock), case_(c), rotation_(bench, c) {}

    // Adds a candidate unless an earlier one has the same plan.
    void add(const RopeTuning& tuning) {
        const RopePlan plan = rotation_.planOf(tuning);
        for (const Candidate& known : candidates_) {
            if (ropePlansEqual(&known.plan, &plan) != 0) return;
        }
        if (ropePlansEqual(&plan, &rotation_.plan()) != 0) return;
        rotation_.verify(plan);
        candidates_.push_back({resolvedTuning(plan), plan});
        remaining_.push_back(candidates_.back());
    }

    // Times all remaining candidates, behind the library's own tuning, which is timed twice.
    RoundRobin timeAll(uint32_t rounds) {
        std::vector<Contestant> contestants = {contestant(rotation_.plan()), contestant(rotation_.plan())};
        for (const Candidate& candidate : remaining_) contestants.push_back(contestant(candidate.plan));
        if (bench_->clock() == Clock::kHost) contestants.push_back(rotation_.empty());
        RoundRobin round_robin(bench_, clock_, std::move(contestants));
        round_robin.runRounds(rounds, case_.tokens);
        return round_robin;
    }

    // Keeps the fastest few, the fastest first.
    void keepFastest(const RoundRobin& round_robin) {
        std::vector<size_t> order(remaining_.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            const double first = round_robin.seconds(a + 2).median, second = round_robin.seconds(b + 2).median;
            return std::isnan(second) ? !std::isnan(first) : first < second; // what drowned in noise comes last
        });
        std::vector<Candidate> kept;
        for (size_t i = 0; i < order.size() && i < kCandidatesKept; ++i) kept.push_back(remaining_[order[i]]);
        remaining_ = kept;
    }

    std::vector<RopeTuning> remaining() const {
        std::vector<RopeTuning> all;
        for (const Candidate& candidate : remaining_) all.push_back(candidate.tuning);
        return all;
    }
    size_t tried() const { return candidates_.size(); }
    RopeTuning own() const { return resolvedTuning(rotation_.plan()); }

  private:
    struct Candidate {
        RopeTuning tuning;
        RopePlan plan;
    };

    Contestant contestant(const RopePlan& plan) { return {"rotation", rotation_.work(plan)}; }

    BenchDevice* bench_;
    ClockProbe* clock_;
    RotationCase case_;
    RotationBench rotation_;
    std::vector<Candidate> candidates_, remaining_;
};

} // namespace

bool TuningResult::isSure() const { return gain.low > std::max(noise.high, 1.02); }

// Compares first the work of a thread in the group that the library takes for it, then the group sizes of the best of
// these, then the best with the library's own.
TuningResult tune(BenchDevice* bench, ClockProbe* clock, const RotationCase& c, uint32_t rounds) {
    Tuner tuner(bench, clock, c);
    TuningResult tuned;
    tuned.own = tuned.best = tuner.own();
    const uint32_t most_heads = std::max(c.model->q_heads, c.model->k_heads);
    for (const uint32_t pairs : kLanePairs) {
        for (const uint32_t heads : kHeadCounts) {
            if (heads < 2 * most_heads) tuner.add({0, heads, pairs});
        }
    }
    tuner.keepFastest(tuner.timeAll(kFewRounds));
    for (RopeTuning tuning : tuner.remaining()) {
        for (const uint32_t group : kGroupSizes) {
            tuning.group_size = group;
            if (group <= bench->limits().group_size) tuner.add(tuning);
        }
    }
    tuner.keepFastest(tuner.timeAll(kFewRounds));
    const std::vector<RopeTuning> finalists = tuner.remaining();
    const RoundRobin round_robin = tuner.timeAll(rounds);
    tuned.tried = tuner.tried();
    tuned.own_seconds = round_robin.seconds(0);
    tuned.noise = round_robin.ratio(1);
    for (size_t i = 0; i < finalists.size(); ++i) {
        const Quartiles gain = round_robin.ratio(i + 2);
        if (i != 0 && !(gain.median > tuned.gain.median)) continue;
        tuned.gain = gain;
        tuned.best = finalists[i];
        tuned.best_seconds = round_robin.seconds(i + 2);
    }
    return tuned;
}

} // namespace measure
