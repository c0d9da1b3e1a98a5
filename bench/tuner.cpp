#include "tuner.hpp"

#include "../shaders/interface.h"

#include <algorithm>
#include <cstring>

namespace measure {
namespace {

constexpr uint32_t kGroups[] = {32, 64, 128, 256}, kHeads[] = {1, 2, 4, 8, 16, 32};
constexpr struct { uint32_t pairs, in_flight; } kThreads[] = {{8, 1}, {4, 1}, {4, 2}, {2, 1}};
constexpr size_t kKept = 3; // from one stage to the next
constexpr uint32_t kFewRounds = 5;

// What the plan made of it, for Q.
RopeTuning tuningOf(const RopePlan& plan) {
    const RopePass& pass = plan.passes[0];
    rope::RopePush push;
    std::memcpy(&push, pass.push, sizeof push);
    const uint32_t pairs = push.pair_counts & 0xFFFF, lanes = push.pair_counts >> 16;
    return {pass.constants[ROPE_ID_GROUP_SIZE], pass.heads_per_thread,
            (pairs + lanes - 1) / lanes * pass.constants[ROPE_ID_LANES], pass.constants[ROPE_ID_IN_FLIGHT]};
}

class Tuner {
  public:
    Tuner(Bench* bench, const Case& c) : bench_(bench), case_(c), rotation_(bench, c) {}

    // Those whose plans are others than what was tried before.
    void add(const RopeTuning& tuning) {
        const RopePlan plan = rotation_.planOf(tuning);
        for (const Candidate& known : known_) {
            if (ropePlansEqual(&known.plan, &plan) != 0) return;
        }
        if (ropePlansEqual(&plan, &rotation_.plan()) != 0) return;
        rotation_.verify(plan);
        known_.push_back({tuning, plan});
        running_.push_back(known_.back());
    }

    // All that run, behind the library's own, measured twice.
    Turns race(uint32_t rounds) {
        std::vector<Contestant> contestants = {contestant(rotation_.plan()), contestant(rotation_.plan())};
        for (const Candidate& candidate : running_) contestants.push_back(contestant(candidate.plan));
        if (bench_->clock() == Clock::kHost) contestants.push_back(rotation_.empty());
        Turns turns(std::move(contestants), bench_->clock());
        turns.go(rounds, case_.tokens);
        return turns;
    }

    // Leaves the fastest few, the fastest first.
    void keepFastest(const Turns& turns) {
        std::vector<size_t> order(running_.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return turns.seconds(a + 2).middle < turns.seconds(b + 2).middle; });
        std::vector<Candidate> kept;
        for (size_t i = 0; i < order.size() && i < kKept; ++i) kept.push_back(running_[order[i]]);
        running_ = kept;
    }

    std::vector<RopeTuning> running() const {
        std::vector<RopeTuning> all;
        for (const Candidate& candidate : running_) all.push_back(candidate.tuning);
        return all;
    }
    size_t tried() const { return known_.size(); }
    RopeTuning own() const { return tuningOf(rotation_.plan()); }

  private:
    struct Candidate {
        RopeTuning tuning;
        RopePlan plan;
    };

    Contestant contestant(const RopePlan& plan) {
        return {"rotation", [this, plan] { return bench_->run(plan, rotation_.slots()); }};
    }

    Bench* bench_;
    Case case_;
    Rotation rotation_;
    std::vector<Candidate> known_, running_;
};

} // namespace

bool Tuned::isSure() const { return gain.low > std::max(noise.high, 1.02); }

// First what a thread takes, then the groups of the best of these, then the best against the library's own.
Tuned tune(Bench* bench, const Case& c, uint32_t rounds) {
    Tuner tuner(bench, c);
    Tuned tuned;
    tuned.own = tuned.best = tuner.own();
    const uint32_t most_heads = std::max(c.model->q_heads, c.model->k_heads);
    for (const auto& thread : kThreads) {
        for (const uint32_t heads : kHeads) {
            if (heads < 2 * most_heads) tuner.add({tuned.own.group_size, heads, thread.pairs, thread.in_flight});
        }
    }
    tuner.keepFastest(tuner.race(kFewRounds));
    for (RopeTuning tuning : tuner.running()) {
        for (const uint32_t group : kGroups) {
            tuning.group_size = group;
            if (group <= bench->limits().group_size) tuner.add(tuning);
        }
    }
    tuner.keepFastest(tuner.race(kFewRounds));
    const std::vector<RopeTuning> finalists = tuner.running();
    const Turns turns = tuner.race(rounds);
    tuned.tried = tuner.tried();
    tuned.own_seconds = turns.seconds(0);
    tuned.noise = turns.ratio(1);
    for (size_t i = 0; i < finalists.size(); ++i) {
        const Range gain = turns.ratio(i + 2);
        if (i != 0 && !(gain.middle > tuned.gain.middle)) continue;
        tuned.gain = gain;
        tuned.best = finalists[i];
        tuned.best_seconds = turns.seconds(i + 2);
    }
    return tuned;
}

} // namespace measure
