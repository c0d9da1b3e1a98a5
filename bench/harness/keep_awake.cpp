#include "bench/harness/keep_awake.hpp"

#include "bench/harness/clock_probe.hpp"

namespace measure {

KeepAwake::KeepAwake(BenchDevice* bench) : bench_(bench) {
    if (!bench->isCpu()) thread_ = std::thread(&KeepAwake::work, this);
}

KeepAwake::~KeepAwake() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
}

// Without a second device the bench goes on, and warms the first one up as before.
void KeepAwake::work() try {
    constexpr double kMoment = 0.01;
    constexpr std::chrono::microseconds kRest{200};         // lets the bench begin
    std::unique_lock<std::mutex> opening(bench_->timing()); // a self-test runs
    BenchDevice own = openBenchDevice(std::to_string(bench_->device().info().index), bench_->clock(), 0);
    opening.unlock();
    ClockProbe probe(&own);
    while (!ends_) {
        {
            const std::lock_guard<std::mutex> nothing_is_timed(bench_->timing());
            if (bench_->idleSeconds() > kMoment) probe.workOnce();
        }
        std::this_thread::sleep_for(kRest);
    }
} catch (const std::exception&) {
}

} // namespace measure
