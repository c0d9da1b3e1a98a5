#include "bench/harness/clock_probe.hpp"

#include <algorithm>
#include <cmath>

namespace measure {

WarmUpLimits warmUpLimits(bool cpu) {
    if (cpu) return {0, 0.02, 0.002, 1, 0.25, 2e-4, 64};
    return {0.25, 2, 2, 0.05, 0.05, 1e-3, 16384};
}

// The piece makes exact cosines and sines, which is heavy work and waits little for memory.
void ClockProbe::makePiece() {
    constexpr uint32_t kPairs = 64;
    for (uint32_t i = 0; i < kPairs; ++i) frequencies_.push_back(std::pow(10000.0, -static_cast<double>(i) / kPairs));
    RopeTableDescription d = {};
    d.frequencies = {frequencies_.data(), kPairs, 1, nullptr, 1};
    d.tokens = limits_.rows;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    Work work;
    work.plans.resize(1);
    mustPlan(ropePlanTable(&d, &bench_->limits(), &work.plans[0]), work.plans[0]);
    words_ = bench_->makeFrequencies(d.frequencies);
    rows_ = bench_->make(work.plans[0].bytes[ROPE_SLOT_ROWS]);
    work.buffers.resize(1);
    work.buffers[0].first.slots[ROPE_SLOT_FREQUENCIES] = words_.slot();
    work.buffers[0].first.slots[ROPE_SLOT_ROWS] = rows_.slot();
    piece_ = std::make_unique<RepeatedWork>(&bench_->device(), std::move(work));
    std::string error;
    if (!piece_->prepare(&error)) throw std::runtime_error(error);
    bench_->time(piece_.get(), 1); // the first use is slower
    const double once = bench_->time(piece_.get(), 1);
    const double wanted = std::ceil(limits_.piece / std::max(once, 1e-6));
    repeats_ = static_cast<uint32_t>(std::min(std::max(wanted, 1.0), static_cast<double>(piece_->mostRepeats())));
}

double ClockProbe::workOnce() {
    if (piece_ == nullptr) makePiece();
    return bench_->time(piece_.get(), repeats_);
}

void ClockProbe::warmUp() {
    const Time::time_point begin = Time::now();
    const bool first = settled_ == 0;
    std::vector<double> times;
    const double most = first ? limits_.most : limits_.most_later;
    double elapsed = 0;
    do {
        times.push_back(workOnce());
        elapsed = std::chrono::duration<double>(Time::now() - begin).count();
    } while (elapsed < most && !((!first || elapsed >= limits_.least) && hasSettled(times, settled_)));
    const auto few = static_cast<std::ptrdiff_t>(std::min<size_t>(5, times.size()));
    const double settled = quartilesOf({times.end() - few, times.end()}).median;
    settled_ = first || elapsed >= most ? settled : std::min(settled_, settled); // a throttled device stays slower
    ++warm_ups_;
    warm_up_seconds_ += elapsed;
}

void ClockProbe::keepWarm() {
    if (piece_ == nullptr || bench_->idleSeconds() > limits_.moment) warmUp();
    const Time::time_point now = Time::now();
    if (!samples_.empty() && std::chrono::duration<double>(now - last_sample_).count() < limits_.sample_interval)
        return;
    samples_.push_back(workOnce());
    last_sample_ = now;
}

} // namespace measure
