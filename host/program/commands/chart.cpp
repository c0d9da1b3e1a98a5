#include "program/commands/chart.hpp"

#include "program/tool.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rope {
namespace {

constexpr double kWidth = 760, kLeft = 84, kRight = 24, kTop = 48, kPlotHeight = 360, kBottom = 56, kLegendRow = 20;

// Most eyes tell these apart on white and on near black, also those that see colours otherwise.
const char* const kColours[] = {"#3b7dd8", "#d9822b", "#2e9e63", "#c2477f", "#8a63d2", "#12a0a8", "#b8433a", "#8a8a3a"};
constexpr size_t kColourCount = sizeof kColours / sizeof *kColours;

std::string svgNumber(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
}

std::string svgEscape(const std::string& text) {
    std::string escaped;
    for (const char c : tool::oneLine(text)) { // bytes that are no UTF-8 are no XML
        if (c == '&')
            escaped += "&amp;";
        else if (c == '<')
            escaped += "&lt;";
        else if (c == '>')
            escaped += "&gt;";
        else if (c == '"')
            escaped += "&quot;";
        else if (static_cast<unsigned char>(c) >= 32)
            escaped += c;
    }
    return escaped;
}

std::string svgText(double x, double y, const char* anchor, const std::string& text, const char* extra = "") {
    return "<text x=\"" + svgNumber(x) + "\" y=\"" + svgNumber(y) + "\" text-anchor=\"" + anchor + "\"" + extra + ">" +
           svgEscape(text) + "</text>\n";
}

std::string svgBegin(double width, double height, const std::string& title) {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + svgNumber(width) + " " + svgNumber(height) +
           "\" width=\"" + svgNumber(width) + "\" height=\"" + svgNumber(height) +
           "\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<title>" + svgEscape(title) +
           "</title>\n<style>\n"
           ".page { fill: #ffffff } text { fill: #1f2328 } .grid { stroke: #d8dee4 } .frame { stroke: #59636e }\n"
           "@media (prefers-color-scheme: dark) { .page { fill: #0d1117 } text { fill: #e6edf3 }\n"
           ".grid { stroke: #30363d } .frame { stroke: #9198a1 } }\n</style>\n"
           "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n" +
           svgText(width / 2, 26, "middle", title, " font-size=\"16\" font-weight=\"600\"");
}

// The range of an axis, and the place of a value on it.
struct ChartAxis {
    bool logarithmic;
    double low, high; // values, or their logarithms to base 10
    double from, to;  // on the page

    bool canShow(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }
    double scaled(double value) const { return logarithmic ? std::log10(value) : value; }
    double place(double value) const { return from + (scaled(value) - low) / (high - low) * (to - from); }
};

double roundTickStep(double span) {
    const double power = std::pow(10, std::floor(std::log10(span / 6)));
    for (const double step : {1.0, 2.0, 5.0}) {
        if (span / (step * power) <= 7) return step * power;
    }
    return 10 * power;
}

// Returns the places at which an axis may begin, end and be marked, from below `low` to above `high`: whole powers of
// ten, or 1, 2 and 5 of each, or equal steps.
std::vector<double> tickPlaces(const ChartAxis& axis, double low, double high) {
    std::vector<double> places;
    const double span = high - low;
    if (axis.logarithmic && span <= 2) {
        for (double power = std::floor(low); power <= std::ceil(high); ++power) {
            for (const double digit : {1.0, 2.0, 5.0}) places.push_back(power + std::log10(digit));
        }
        return places;
    }
    const double step = axis.logarithmic ? std::max(1.0, std::ceil(span / 9)) : roundTickStep(span);
    for (double at = std::floor(low / step); at <= std::ceil(high / step); ++at) places.push_back(at * step);
    return places;
}

// Fits the axis to the points that both axes show. With `round` the axis begins and ends at a mark.
void fitAxis(const std::vector<ChartLine>& lines, bool round, const ChartAxis& other, bool of_x, ChartAxis* axis) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const ChartLine& line : lines) {
        for (size_t i = 0; i < line.x.size() && i < line.y.size(); ++i) {
            const double value = of_x ? line.x[i] : line.y[i];
            if (!axis->canShow(value) || !other.canShow(of_x ? line.y[i] : line.x[i])) continue;
            low = std::min(low, axis->scaled(value));
            high = std::max(high, axis->scaled(value));
        }
    }
    if (!(low <= high)) low = 0, high = 1;
    if (high - low < 1e-9) low -= 0.5, high += 0.5;
    axis->low = low;
    axis->high = high;
    if (!round) return;
    for (const double mark : tickPlaces(*axis, low, high)) {
        if (mark <= low + 1e-9) axis->low = mark;
        if (mark >= high - 1e-9) {
            axis->high = mark;
            return;
        }
    }
}

std::string tickText(const ChartAxis& axis, double at) {
    char text[32];
    const double value = axis.logarithmic ? std::pow(10, at) : (std::fabs(at) < 1e-12 ? 0 : at);
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

std::string drawTicks(const ChartAxis& axis, bool of_x, const ChartAxis& other) {
    const double span = axis.high - axis.low;
    std::string svg;
    for (const double at : tickPlaces(axis, axis.low, axis.high)) {
        if (at < axis.low - 1e-9 || at > axis.high + 1e-9) continue;
        const double place = axis.from + (at - axis.low) / span * (axis.to - axis.from);
        const std::string p = svgNumber(place), a = svgNumber(other.from), b = svgNumber(other.to);
        svg += of_x ? "<path class=\"grid\" d=\"M" + p + " " + a + "V" + b + "\"/>\n"
                    : "<path class=\"grid\" d=\"M" + a + " " + p + "H" + b + "\"/>\n";
        svg += of_x ? svgText(place, other.from + 18, "middle", tickText(axis, at))
                    : svgText(other.from - 8, place + 4, "end", tickText(axis, at));
    }
    return svg;
}

// A point without a neighbour becomes a dot, as a path of one point shows nothing.
std::string drawLine(const ChartLine& line, const ChartAxis& x, const ChartAxis& y, const char* colour) {
    const size_t count = std::min(line.x.size(), line.y.size());
    const auto is_shown = [&](size_t i) { return i < count && x.canShow(line.x[i]) && y.canShow(line.y[i]); };
    std::string path, dots;
    for (size_t i = 0; i < count; ++i) {
        if (!is_shown(i)) continue;
        const bool follows = i > 0 && is_shown(i - 1);
        const std::string at_x = svgNumber(x.place(line.x[i])), at_y = svgNumber(y.place(line.y[i]));
        path += (follows ? "L" : "M") + at_x + " " + at_y;
        if (follows || is_shown(i + 1)) continue;
        dots += "<circle cx=\"" + at_x + "\" cy=\"" + at_y + "\" r=\"4\" fill=\"" + colour + "\"/>\n";
    }
    return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour +
           "\" stroke-width=\"2\" stroke-linejoin=\"round\"" + (line.dashed ? " stroke-dasharray=\"6 4\"" : "") +
           "/>\n" + dots;
}

size_t legendColumns(const std::vector<ChartLine>& lines) {
    const auto is_long = [](const ChartLine& line) { return line.name.size() > 38; };
    return std::any_of(lines.begin(), lines.end(), is_long) ? 1 : 2;
}

std::string drawLegend(const std::vector<ChartLine>& lines, double top) {
    const size_t columns = legendColumns(lines);
    std::string svg;
    for (size_t i = 0; i < lines.size(); ++i) {
        const double x = kLeft + static_cast<double>(i % columns) * (kWidth - kLeft - kRight) / 2,
                     y = top + static_cast<double>(i / columns) * kLegendRow;
        svg += "<path d=\"M" + svgNumber(x) + " " + svgNumber(y - 4) + "h26\" stroke=\"" + kColours[i % kColourCount] +
               "\" stroke-width=\"3\"" + (lines[i].dashed ? " stroke-dasharray=\"6 4\"" : "") + "/>\n" +
               svgText(x + 34, y, "start", lines[i].name);
    }
    return svg;
}

std::string drawArrow(double x, double y, double radius, double angle, const char* colour) {
    const double tip_x = x + radius * std::cos(angle), tip_y = y - radius * std::sin(angle);
    std::string head;
    for (const double side : {2.7, -2.7}) {
        head += (head.empty() ? "M" : "L" + svgNumber(tip_x) + " " + svgNumber(tip_y) + "L") +
                svgNumber(tip_x + 9 * std::cos(angle + side)) + " " + svgNumber(tip_y - 9 * std::sin(angle + side));
    }
    return "<circle class=\"grid\" cx=\"" + svgNumber(x) + "\" cy=\"" + svgNumber(y) + "\" r=\"" + svgNumber(radius) +
           "\" fill=\"none\"/>\n<path d=\"M" + svgNumber(x) + " " + svgNumber(y) + "L" + svgNumber(tip_x) + " " +
           svgNumber(tip_y) + head + "\" fill=\"none\" stroke=\"" + colour +
           "\" stroke-width=\"2\" stroke-linecap=\"round\"/>\n";
}

} // namespace

std::string drawChart(const Chart& chart) {
    ChartAxis x = {chart.log_x, 0, 1, kLeft, kWidth - kRight};
    ChartAxis y = {chart.log_y, 0, 1, kTop + kPlotHeight, kTop};
    fitAxis(chart.lines, false, y, true, &x);
    fitAxis(chart.lines, true, x, false, &y);
    const double legend = kTop + kPlotHeight + kBottom + 16;
    const size_t columns = legendColumns(chart.lines);
    const double height = legend + static_cast<double>((chart.lines.size() + columns - 1) / columns) * kLegendRow;
    std::string svg = svgBegin(kWidth, height, chart.title) + drawTicks(x, true, y) + drawTicks(y, false, x);
    svg += "<path class=\"frame\" fill=\"none\" d=\"M" + svgNumber(x.from) + " " + svgNumber(y.to) + "V" +
           svgNumber(y.from) + "H" + svgNumber(x.to) + "\"/>\n";
    for (size_t i = chart.lines.size(); i-- > 0;) svg += drawLine(chart.lines[i], x, y, kColours[i % kColourCount]);
    svg += svgText((x.from + x.to) / 2, y.from + 40, "middle", chart.x_label);
    const std::string middle = svgNumber((y.from + y.to) / 2);
    svg += svgText(20, (y.from + y.to) / 2, "middle", chart.y_label,
                   (" transform=\"rotate(-90 20 " + middle + ")\"").c_str());
    return svg + drawLegend(chart.lines, legend) + "</svg>\n";
}

std::string drawDials(const std::string& title, const std::vector<Dial>& dials) {
    constexpr double kRadius = 34, kCell = 88, kRow = 142;
    size_t columns = 1;
    for (const Dial& dial : dials) columns = std::max(columns, dial.angles.size());
    const double width = std::max(420.0, 32 + kCell * static_cast<double>(columns));
    std::string svg = svgBegin(width, 56 + kRow * static_cast<double>(dials.size()), title);
    for (size_t row = 0; row < dials.size(); ++row) {
        const double top = 56 + kRow * static_cast<double>(row);
        svg += svgText(24, top + 12, "start", dials[row].name);
        for (size_t i = 0; i < dials[row].angles.size(); ++i) {
            const double x = 16 + kCell * (static_cast<double>(i) + 0.5);
            svg += drawArrow(x, top + 62, kRadius, dials[row].angles[i], kColours[row % kColourCount]);
            if (i < dials[row].labels.size()) svg += svgText(x, top + 118, "middle", dials[row].labels[i]);
        }
    }
    return svg + "</svg>\n";
}

namespace {

constexpr int kLevels = 16; // levels of either sign

// The colours go from blue over a pale grey to orange; levels of opposite sign are equally light.
std::string colourOf(int level) {
    static const double kEnds[2][3] = {{0x24, 0x5C, 0xA8}, {0xC4, 0x62, 0x10}};
    const double share = std::abs(level) / static_cast<double>(kLevels);
    const double* end = kEnds[level > 0];
    char text[16];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<int>(0xF2 + share * (end[0] - 0xF2)),
                  static_cast<int>(0xF2 + share * (end[1] - 0xF2)), static_cast<int>(0xF2 + share * (end[2] - 0xF2)));
    return text;
}

int levelOf(double value) { return static_cast<int>(std::lround(std::fmax(-1, std::fmin(1, value)) * kLevels)); }

// Draws all cells of one level as one path; neighbours in a row are one piece.
std::string drawLevel(const HeatMap& map, int level, const ChartAxis& x, const ChartAxis& y) {
    std::string path;
    const size_t rows = map.values.size() / map.columns;
    for (size_t row = 0; row < rows; ++row) {
        for (size_t begin = 0; begin < map.columns; ++begin) {
            size_t end = begin;
            while (end < map.columns && levelOf(map.values[row * map.columns + end]) == level) ++end;
            if (end == begin) continue;
            path += "M" + svgNumber(x.place(static_cast<double>(begin))) + " " +
                    svgNumber(y.place(static_cast<double>(row))) + "H" + svgNumber(x.place(static_cast<double>(end))) +
                    "V" + svgNumber(y.place(static_cast<double>(row + 1))) + "H" +
                    svgNumber(x.place(static_cast<double>(begin))) + "Z";
            begin = end;
        }
    }
    return path.empty() ? "" : "<path d=\"" + path + "\" fill=\"" + colourOf(level) + "\"/>\n";
}

std::string drawScale(double top) {
    std::string svg;
    constexpr double kStep = 12, kFrom = (kWidth - kStep * (2 * kLevels + 1)) / 2;
    for (int level = -kLevels; level <= kLevels; ++level) {
        svg += "<rect x=\"" + svgNumber(kFrom + kStep * (level + kLevels)) + "\" y=\"" + svgNumber(top) +
               "\" width=\"" + svgNumber(kStep) + "\" height=\"12\" fill=\"" + colourOf(level) + "\"/>\n";
    }
    return svg + svgText(kFrom - 8, top + 10, "end", "-1") + svgText(kWidth - kFrom + 8, top + 10, "start", "1");
}

} // namespace

std::string drawHeatMap(const HeatMap& map) {
    const double columns = static_cast<double>(map.columns);
    const double rows = static_cast<double>(map.values.size() / map.columns);
    const ChartAxis x = {false, 0, columns, kLeft, kWidth - kRight};
    const ChartAxis y = {false, 0, rows, kTop, kTop + kPlotHeight};
    std::string svg = svgBegin(kWidth, kTop + kPlotHeight + kBottom + 40, map.title);
    svg += "<g shape-rendering=\"crispEdges\">\n";
    for (int level = -kLevels; level <= kLevels; ++level) svg += drawLevel(map, level, x, y);
    svg += "</g>\n";
    for (const double at : tickPlaces(x, 0, columns)) {
        if (at <= columns) svg += svgText(x.place(at), y.to + 18, "middle", tickText(x, at));
    }
    for (const double at : tickPlaces(y, 0, rows)) {
        if (at <= rows) svg += svgText(kLeft - 8, y.place(at) + 4, "end", tickText(y, at));
    }
    svg += svgText((x.from + x.to) / 2, y.to + 40, "middle", map.x_label);
    const std::string middle = svgNumber((y.from + y.to) / 2);
    svg += svgText(20, (y.from + y.to) / 2, "middle", map.y_label,
                   (" transform=\"rotate(-90 20 " + middle + ")\"").c_str());
    return svg + drawScale(kTop + kPlotHeight + kBottom + 8) + "</svg>\n";
}

} // namespace rope
