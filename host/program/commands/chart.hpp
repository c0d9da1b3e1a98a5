// Writes pictures as self-contained SVG, readable on light and dark pages: lines over two axes, arrows on circles, and
// maps of colours.
#pragma once

#include <string>
#include <vector>

namespace rope {

struct ChartLine {
    std::string name; // in the legend
    std::vector<double> x, y;
    bool dashed = false;
};

struct Chart {
    std::string title, x_label, y_label;
    bool log_x = false, log_y = false; // points that are not positive are left out
    std::vector<ChartLine> lines;
};

std::string drawChart(const Chart& chart);

// A dial is one row of circles. Each circle shows a vector of length 1 at one of the angles, and its label below.
// Angles are in radians, count from the right and turn left, as in mathematics.
struct Dial {
    std::string name;
    std::vector<double> angles;
    std::vector<std::string> labels;
};

std::string drawDials(const std::string& title, const std::vector<Dial>& dials);

// A heat map shows values from -1 to 1 as colours, row 0 on top.
struct HeatMap {
    std::string title, x_label, y_label;
    size_t columns = 0;
    std::vector<double> values; // rows of `columns`
};

std::string drawHeatMap(const HeatMap& map);

} // namespace rope
