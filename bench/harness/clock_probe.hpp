// Keeps the device warm, and times a fixed piece of work at intervals: an idle GPU lowers its clock within a second,
// and then everything takes several times as long.
#pragma once

#include "bench/harness/bench_device.hpp"
#include "bench/harness/clock_report.hpp"

#include <memory>

namespace measure {

// How long warming up may take, in seconds, and when warming up is needed.
struct WarmUpLimits {
    double least, most;     // the first time
    double most_later;      // after a pause
    double moment;          // a pause without work that is longer than this needs warming up
    double sample_interval; // between two samples of the clock
    double piece;           // about so long the fixed piece takes on a device that is not warm yet
    uint32_t rows;          // of the table whose making is the piece
};
// A CPU's driver has no idle clock worth the time.
WarmUpLimits warmUpLimits(bool cpu);

class ClockProbe {
  public:
    explicit ClockProbe(BenchDevice* bench) : ClockProbe(bench, warmUpLimits(bench->isCpu())) {}
    ClockProbe(BenchDevice* bench, const WarmUpLimits& limits) : bench_(bench), limits_(limits) {}

    // Warms the device up if it has not worked for a moment, and takes a sample if the last one is some time ago. To be
    // called before each round.
    void keepWarm();
    double workOnce(); // does the piece of work, and returns its seconds
    ClockReport report() const { return judgeClock(samples_); }
    uint32_t warmUps() const { return warm_ups_; }
    double warmUpSeconds() const { return warm_up_seconds_; } // of all of them

  private:
    using Time = std::chrono::steady_clock;
    void makePiece();
    void warmUp();

    BenchDevice* bench_;
    WarmUpLimits limits_;
    std::vector<double> frequencies_;
    rope::Buffer words_, rows_;
    std::unique_ptr<RepeatedWork> piece_;
    uint32_t repeats_ = 1;
    double settled_ = 0; // the least seconds of the piece on the warm device; 0: it was never warm
    uint32_t warm_ups_ = 0;
    double warm_up_seconds_ = 0;
    Time::time_point last_sample_;
    std::vector<double> samples_;
};

} // namespace measure
