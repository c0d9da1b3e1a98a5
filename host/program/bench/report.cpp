#include "program/bench/report.hpp"

#include "bench/cases/baselines.hpp"
#include "bench/cases/rotation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tool {

using measure::Quartiles;

void BenchRow::takeTimes(const measure::RoundRobin& round_robin) {
    rounds = round_robin.rounds();
    dispatches = round_robin.repeats(0);
    seconds = round_robin.seconds(0);
    for (size_t i = 1; i < round_robin.size(); ++i)
        comparisons.push_back(
            {round_robin.name(i), round_robin.seconds(i), round_robin.ratio(i), round_robin.repeats(i)});
}

const BenchRow::Comparison* BenchRow::find(const std::string& name) const {
    for (const Comparison& comparison : comparisons) {
        if (comparison.name == name) return &comparison;
    }
    return nullptr;
}

const BenchRow::Comparison* BenchRow::fastestCopy() const {
    const Comparison* fastest = nullptr;
    for (const Comparison& comparison : comparisons) {
        if (!measure::isCopyKernel(comparison.name)) continue;
        if (std::isnan(comparison.seconds.median)) continue;
        if (fastest == nullptr || comparison.seconds.median < fastest->seconds.median) fastest = &comparison;
    }
    return fastest;
}

// ---- Lines ---------------------------------------------------------------------------------------------------------

namespace {

constexpr int kColumn = 10;

std::string labelText(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string decimal(double value, int digits) {
    if (!std::isfinite(value)) return "-";
    char text[48];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

std::string microseconds(double us) { return std::isnan(us) ? "noise" : decimal(us, us < 10 ? 2 : 1); }

int widthOf(const std::string& name) { return std::max(kColumn, static_cast<int>(name.size()) + 1); }

void printCell(const std::string& name, const std::string& what) { std::printf("%*s", widthOf(name), what.c_str()); }

// Calls visit(name, value) for each column, in their order.
template <typename Visit> void visitLabels(const BenchRow& row, Visit visit) {
    size_t number = 0;
    for (const auto& label : row.labels.items()) {
        if (number++ + row.shown >= row.labels.size()) visit(label.key(), labelText(label.value()));
    }
}

template <typename Visit> void visitTimes(const BenchRow& row, Visit visit) {
    const double us = row.seconds.median * 1e6, megabytes = row.bytes * 1e-6;
    const BenchRow::Comparison* warm = row.find(measure::kWarm);
    visit("us", microseconds(us));
    if (row.has_warm_column) visit("warm us", warm != nullptr ? microseconds(warm->seconds.median * 1e6) : "-");
    visit("GB/s", decimal(megabytes / us * 1e3, us > megabytes * 1e3 ? 3 : 1));
    visit("us/MB", decimal(us / megabytes, 2));
    const BenchRow::Comparison* copy = row.fastestCopy();
    if (copy != nullptr) visit("best copy", decimal(copy->ratio.median, 2));
    const std::vector<std::string>& companions = measure::RotationBench::companionNames();
    for (const BenchRow::Comparison& comparison : row.comparisons) {
        if (comparison.name == measure::kEmptyDispatch || comparison.name == measure::kWarm ||
            std::count(companions.begin(), companions.end(), comparison.name) != 0)
            continue;
        visit(comparison.name, decimal(comparison.ratio.median, 2));
    }
    for (const std::string& name : companions) {
        if (!row.labels.contains("element")) break; // the row is no rotation
        const BenchRow::Comparison* comparison = row.find(name);
        visit(name, decimal(comparison != nullptr ? comparison->ratio.median : NAN, 2));
    }
    const BenchRow::Comparison* empty = row.find(measure::kEmptyDispatch);
    if (empty != nullptr) visit("empty us", microseconds(empty->seconds.median * 1e6));
}

} // namespace

void printRow(const BenchRow& row, const BenchRow* above) {
    const bool begins = above == nullptr || above->group != row.group;
    const bool has_columns = row.untimed_reason.empty();
    // A row that was not timed has no columns, and the next row that was timed has to show them.
    if (begins) std::printf("\n%s\n", row.group.c_str());
    if (has_columns && (begins || !above->untimed_reason.empty())) {
        const auto head = [](const std::string& name, const std::string&) { printCell(name, name); };
        visitLabels(row, head);
        visitTimes(row, head);
        std::printf("\n");
    }
    visitLabels(row, printCell);
    if (has_columns) {
        visitTimes(row, printCell);
        std::printf("\n");
    } else {
        std::printf("  %s%s\n",
                    row.wrong    ? "WRONG, not timed: "
                    : row.failed ? "FAILED: "
                                 : "not timed: ",
                    row.untimed_reason.c_str());
    }
    std::fflush(stdout);
}

void printClockReport(const measure::ClockReport& report) {
    const std::string sentence = report.sentence();
    if (!sentence.empty()) std::printf("\n%s\n", sentence.c_str());
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

namespace {

// Leaves out what is no number: a time that drowned in noise, and its ratio.
void setQuartiles(const char* name, const Quartiles& quartiles, double unit, Json* to) {
    if (std::isnan(quartiles.median)) return;
    (*to)[name] = {{"low", quartiles.low * unit}, {"median", quartiles.median * unit}, {"high", quartiles.high * unit}};
}

} // namespace

Json caseLabels(const measure::RotationCase& c) {
    return {{"model", c.model->name},
            {"pairing", measure::nameIn(measure::pairings(), c.pairing)},
            {"place", measure::nameIn(measure::placements(), c.out_of_place)},
            {"tokens", c.tokens},
            {"element", measure::nameIn(measure::elements(), c.element)},
            {"source", measure::nameIn(measure::sources(), c.source)}};
}

Json deviceJson(const rope::DeviceInfo& info) {
    return {{"name", info.name}, {"type", info.type}, {"driver", info.driver}};
}

Json rowJson(const BenchRow& row) {
    Json result = row.labels;
    if (!row.untimed_reason.empty()) {
        result["verified"] = false;
        result[row.wrong ? "wrong" : row.failed ? "failed" : "unfit"] = row.untimed_reason;
        return result;
    }
    result["verified"] = true;
    result["bytes"] = static_cast<uint64_t>(row.bytes);
    if (row.unfused_bytes != 0) result["unfused_bytes"] = static_cast<uint64_t>(row.unfused_bytes);
    result["rounds"] = row.rounds;
    result["dispatches"] = row.dispatches;
    setQuartiles("us", row.seconds, 1e6, &result);
    if (std::isnan(row.seconds.median)) {
        result["noise"] = "the time drowns in the noise of the submissions that are subtracted from it";
    } else {
        result["gb_per_s"] = row.bytes / row.seconds.median * 1e-9;
        result["us_per_mb"] = row.seconds.median * 1e6 / (row.bytes * 1e-6);
    }
    const BenchRow::Comparison* copy = row.fastestCopy();
    if (copy != nullptr) result["best_copy"] = copy->name;
    Json& comparisons = result["beside"] = Json::array();
    for (const BenchRow::Comparison& comparison : row.comparisons) {
        Json one = {{"name", comparison.name}, {"dispatches", comparison.dispatches}};
        setQuartiles("us", comparison.seconds, 1e6, &one);
        setQuartiles("ratio", comparison.ratio, 1, &one);
        comparisons.push_back(one);
    }
    return result;
}

} // namespace tool
