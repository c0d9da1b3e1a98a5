#include "bench/harness/clock_report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace measure {

bool hasSettled(const std::vector<double>& seconds, double before) {
    constexpr std::ptrdiff_t kFew = 5;
    constexpr double kAlike = 1.03, kAsBefore = 1.05;
    if (seconds.size() < kFew) return false;
    const auto range = std::minmax_element(seconds.end() - kFew, seconds.end());
    return *range.second <= kAlike * *range.first && (before == 0 || *range.second <= kAsBefore * before);
}

ClockReport judgeClock(const std::vector<double>& seconds) {
    constexpr size_t kFewest = 8;
    constexpr double kMoved = 1.1, kSpread = 1.2;
    ClockReport report;
    report.samples = seconds.size();
    if (seconds.empty()) return report;
    report.seconds = quartilesOf(seconds);
    const auto quarter = static_cast<ptrdiff_t>((seconds.size() + 3) / 4);
    report.first = quartilesOf({seconds.begin(), seconds.begin() + quarter}).median;
    report.last = quartilesOf({seconds.end() - quarter, seconds.end()}).median;
    if (seconds.size() < kFewest) return report;
    report.moved = std::max(report.first, report.last) > kMoved * std::min(report.first, report.last);
    report.spread = report.seconds.high > kSpread * report.seconds.low;
    return report;
}

std::string ClockReport::sentence() const {
    char text[240] = "";
    const char* why = "its clock moved, or other programs ran";
    if (moved)
        std::snprintf(
            text, sizeof text,
            "the device did not keep its speed: the same piece of work took %.1f us in the first quarter of the run "
            "and %.1f us in the last (%s)",
            first * 1e6, last * 1e6, why);
    else if (spread)
        std::snprintf(
            text, sizeof text,
            "the device did not keep its speed: the same piece of work took %.1f to %.1f us, its quartiles (%s)",
            seconds.low * 1e6, seconds.high * 1e6, why);
    return text;
}

} // namespace measure
