#include "tool/bench_report.hpp"

#include "../bench/rotation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

namespace tool {

using measure::Range;

void Measured::take(const measure::Turns& turns) {
    rounds = turns.rounds();
    seconds = turns.seconds(0);
    for (size_t i = 1; i < turns.size(); ++i) others.push_back({turns.name(i), turns.seconds(i), turns.ratio(i)});
}

const Measured::Other* Measured::find(const std::string& name) const {
    for (const Other& other : others) {
        if (other.name == name) return &other;
    }
    return nullptr;
}

const Measured::Other* Measured::fastestCopy() const {
    const Other* fastest = nullptr;
    for (const Other& other : others) {
        if (!measure::Rotation::isCopyKernel(other.name)) continue;
        if (fastest == nullptr || other.seconds.middle < fastest->seconds.middle) fastest = &other;
    }
    return fastest;
}

// ---- Lines ---------------------------------------------------------------------------------------------------------

namespace {

constexpr int kColumn = 10;

std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string number(double value, int digits) {
    if (!std::isfinite(value)) return "-";
    char text[48];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

int widthOf(const std::string& name) { return std::max(kColumn, static_cast<int>(name.size()) + 1); }

void cell(const std::string& name, const std::string& what) { std::printf("%*s", widthOf(name), what.c_str()); }

// Calls visit(name, value) for each column, in their order.
template <typename Visit> void visitLabels(const Measured& row, Visit visit) {
    size_t number = 0;
    for (const auto& label : row.labels.items()) {
        if (number++ + row.shown >= row.labels.size()) visit(label.key(), text(label.value()));
    }
}

template <typename Visit> void visitTimes(const Measured& row, Visit visit) {
    const double us = row.seconds.middle * 1e6, megabytes = row.bytes * 1e-6;
    visit("us", number(us, 1));
    visit("GB/s", number(us > 0 ? megabytes / us * 1e3 : NAN, us > megabytes * 1e3 ? 3 : 1));
    visit("us/MB", number(us / megabytes, 2));
    const Measured::Other* copy = row.fastestCopy();
    if (copy != nullptr) visit("best copy", number(copy->ratio.middle, 2));
    const std::vector<std::string>& plainer = measure::Rotation::plainer();
    for (const Measured::Other& other : row.others) {
        if (other.name == measure::kEmpty || std::count(plainer.begin(), plainer.end(), other.name) != 0) continue;
        visit(other.name, number(other.ratio.middle, 2));
    }
    for (const std::string& name : plainer) {
        if (!row.labels.contains("element")) break; // no rotation
        const Measured::Other* other = row.find(name);
        visit(name, number(other != nullptr ? other->ratio.middle : NAN, 2));
    }
    const Measured::Other* empty = row.find(measure::kEmpty);
    if (empty != nullptr) visit("empty us", number(empty->seconds.middle * 1e6, 1));
}

} // namespace

void print(const Measured& row, const Measured* above) {
    const bool begins = above == nullptr || above->group != row.group;
    const bool has_columns = row.trouble.empty();
    // A row that was not timed has no columns, and the next one that was has to show them.
    if (begins) std::printf("\n%s\n", row.group.c_str());
    if (has_columns && (begins || !above->trouble.empty())) {
        const auto head = [](const std::string& name, const std::string&) { cell(name, name); };
        visitLabels(row, head);
        visitTimes(row, head);
        std::printf("\n");
    }
    visitLabels(row, cell);
    if (has_columns) {
        visitTimes(row, cell);
        std::printf("\n");
    } else {
        std::printf("  %s%s\n", row.wrong ? "WRONG, not timed: " : "not timed: ", row.trouble.c_str());
    }
    std::fflush(stdout);
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

namespace {

Json inMicroseconds(const Range& range) {
    return {{"low", range.low * 1e6}, {"median", range.middle * 1e6}, {"high", range.high * 1e6}};
}

} // namespace

// Quotients that the clock cannot tell become null.
Json described(const Measured& row) {
    Json result = row.labels;
    if (!row.trouble.empty()) {
        result["verified"] = false;
        result[row.wrong ? "wrong" : "unfit"] = row.trouble;
        return result;
    }
    result["verified"] = true;
    result["bytes"] = static_cast<uint64_t>(row.bytes);
    result["rounds"] = row.rounds;
    result["us"] = inMicroseconds(row.seconds);
    result["gb_per_s"] = row.bytes / row.seconds.middle * 1e-9;
    result["us_per_mb"] = row.seconds.middle * 1e6 / (row.bytes * 1e-6);
    const Measured::Other* copy = row.fastestCopy();
    if (copy != nullptr) result["best_copy"] = copy->name;
    Json& others = result["beside"] = Json::array();
    for (const Measured::Other& other : row.others) {
        others.push_back(
            {{"name", other.name},
             {"us", inMicroseconds(other.seconds)},
             {"ratio", {{"low", other.ratio.low}, {"median", other.ratio.middle}, {"high", other.ratio.high}}}});
    }
    return result;
}

// ---- A picture -----------------------------------------------------------------------------------------------------

namespace {

// Bytes to the highest bandwidth at so many, drawn from the fewest on.
using Points = std::map<double, double>;

void addPoint(double bytes, double seconds, Points* points) {
    double& y = (*points)[bytes * 1e-6];
    if (seconds > 0) y = std::max(y, bytes / seconds * 1e-9);
}

rope::Line lineOf(const std::string& name, const Points& points, bool dashed) {
    rope::Line line = {name, {}, {}, dashed};
    for (const auto& point : points) {
        line.x.push_back(point.first);
        line.y.push_back(point.second);
    }
    return line;
}

// The labels in which rows differ, but for the length, which lies on an axis; the element always.
std::string nameOf(const Measured& row, const std::vector<Measured>& rows) {
    std::string name;
    for (const auto& label : row.labels.items()) {
        std::set<std::string> values;
        for (const Measured& other : rows) values.insert(text(other.labels[label.key()]));
        if (label.key() != "tokens" && (values.size() > 1 || label.key() == "element"))
            name += (name.empty() ? "" : ", ") + text(label.value());
    }
    return name;
}

} // namespace

rope::Chart bandwidth(const std::string& device, const std::vector<Measured>& rows) {
    rope::Chart chart = {"Bandwidth of the rotation, " + device, "MB read and written", "GB/s", true, true, {}};
    std::vector<std::string> names; // in the order of the rows
    std::map<std::string, Points> lines;
    std::map<std::string, Points> roofs;
    for (const Measured& row : rows) {
        if (!row.trouble.empty()) continue;
        const std::string name = nameOf(row, rows);
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        addPoint(row.bytes, row.seconds.middle, &lines[name]);
        const std::pair<const char*, const Measured::Other*> others[] = {{"the fastest copy kernel", row.fastestCopy()},
                                                                         {"vkCmdCopyBuffer", row.find("CopyBuffer")},
                                                                         {"negated in place", row.find("negate")}};
        for (const auto& other : others) {
            if (other.second != nullptr) addPoint(row.bytes, other.second->seconds.middle, &roofs[other.first]);
        }
    }
    for (const std::string& name : names) chart.lines.push_back(lineOf(name, lines[name], false));
    for (const auto& roof : roofs) chart.lines.push_back(lineOf(roof.first, roof.second, true));
    return chart;
}

} // namespace tool
