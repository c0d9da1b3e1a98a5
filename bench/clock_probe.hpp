// Keeps the device warm, and times a fixed piece of work at intervals: an idle GPU lowers its clock within a second,
// and then everything takes several times as long.
#pragma once

#include "bench_device.hpp"
#include "clock_report.hpp"

#include <memory>

namespace measure {

class ClockProbe {
  public:
    explicit ClockProbe(BenchDevice* bench);

    // Warms the device up if it has not worked for a moment, and takes a sample if the last one is some time ago. To be
    // called before each round.
    void keepWarm();
    ClockReport report() const { return judgeClock(samples_); }

  private:
    using Time = std::chrono::steady_clock;
    // How long warming up may take, in seconds, and when it is needed.
    struct Limits {
        double least, most;     // the first time
        double most_later;      // after a pause
        double moment;          // a pause without work that is longer needs warming up
        double sample_interval; // between samples
        double piece;           // about so long the fixed piece takes on a device that is not warm yet
        uint32_t rows;          // of the table whose making is repeated
    };
    static Limits limitsOf(bool cpu);
    void makePiece();
    void warmUp();

    BenchDevice* bench_;
    Limits limits_;
    std::vector<double> frequencies_;
    rope::Buffer words_, rows_;
    std::unique_ptr<RepeatedWork> piece_;
    uint32_t repeats_ = 1;
    double settled_ = 0; // seconds of the piece when the device was last warm; 0: it was not yet
    Time::time_point last_sample_;
    std::vector<double> samples_;
};

} // namespace measure
