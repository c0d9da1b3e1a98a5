#include "clock_report.hpp"

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
    if (moved)
        std::snprintf(
            text, sizeof text,
            "the device's clock moved: the same piece of work took %.1f us in the first quarter of the run and "
            "%.1f us in the last",
            first * 1e6, last * 1e6);
    else if (spread)
        std::snprintf(text, sizeof text,
                      "the device's clock was not steady: the same piece of work took %.1f to %.1f us (its quartiles)",
                      seconds.low * 1e6, seconds.high * 1e6);
    return text;
}

} // namespace measure
