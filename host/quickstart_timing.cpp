#include "quickstart_timing.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

double median(std::vector<double> seconds) {
    std::nth_element(seconds.data(), seconds.data() + seconds.size() / 2, seconds.data() + seconds.size());
    return seconds[seconds.size() / 2];
}

namespace {

// The time between the device's timestamps; where it has none, the host's, submission and waiting included.
bool submit(Timed* timed, double* seconds) {
    const auto begin = std::chrono::steady_clock::now();
    if (!timed->work(timed->times, seconds)) {
        return false;
    }
    if (*seconds < 0) {
        *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    timed->seconds.push_back(*seconds / timed->times);
    return true;
}

// As many times as take 2 ms; few where a CPU's driver takes long.
uint32_t timesFor(double seconds) { return static_cast<uint32_t>(std::min(std::max(2e-3 / seconds, 1.0), 500.0)); }

// An idle GPU lowers its clock and takes a while to raise it: works until the last few times are alike, 2 s at most.
bool warmUp(Timed timed, bool cpu) {
    const auto begin = std::chrono::steady_clock::now();
    double ignored, elapsed = 0;
    for (bool settled = false; elapsed < 2 && !settled;) {
        if (!submit(&timed, &ignored)) {
            return false;
        }
        timed.times = timesFor(timed.seconds.back());
        elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        const size_t few = std::min<size_t>(timed.seconds.size(), 5);
        const auto range =
            std::minmax_element(timed.seconds.end() - static_cast<std::ptrdiff_t>(few), timed.seconds.end());
        settled = cpu || (few == 5 && elapsed > 0.25 && *range.second < 1.03 * *range.first);
    }
    return true;
}

} // namespace

bool timeInTurns(std::vector<Timed>& all, std::size_t heaviest, bool cpu) {
    if (!warmUp(all[heaviest], cpu)) {
        return false;
    }
    for (int i = -2; i < kRounds; ++i) { // in turns, so that other work on the machine meets all of them
        for (Timed& timed : all) {
            double seconds;
            if (!submit(&timed, &seconds)) {
                return false;
            }
            if (i < 0) { // the first use of all is slower than the others
                timed.times = timesFor(timed.seconds[0]);
                timed.seconds.clear();
            }
        }
    }
    return true;
}
