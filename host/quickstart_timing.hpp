// How the quickstart takes times: on a device that is warm, many times the same work in one submission, in turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

constexpr int kRounds = 11;

// Some work, with a barrier between each two times that it is done in one submission.
struct Timed {
    const char* what;
    double bytes; // read and written each time
    std::function<bool(uint32_t times, double* gpu_seconds)> work;
    uint32_t times = 1;
    std::vector<double> seconds = {}; // of each submission, divided by the times
};

double median(std::vector<double> seconds);

// Warms the device up with one of the works, then fills in times and seconds of all. False where some work failed.
bool timeInTurns(std::vector<Timed>& all, std::size_t heaviest, bool cpu);
