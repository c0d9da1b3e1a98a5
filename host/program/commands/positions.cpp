// This file reads --positions: a range, or an array.
#include "program/commands/positions.hpp"
#include "program/files/arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tool {
namespace {

using Type = rope::NpyArray::Type;

constexpr int64_t kLowest = INT32_MIN;
constexpr int64_t kHighest = INT32_MAX;
constexpr int64_t kMaxTokens = int64_t{1} << 30;

bool readWhole(const std::string& text, int64_t* value) {
    const size_t digits = text.find_first_of("0123456789");
    const bool signs = digits == 0 || (digits == 1 && (text[0] == '-' || text[0] == '+'));
    if (!signs || text.find_first_not_of("0123456789", digits) != text.npos || text.size() > 12) return false;
    *value = std::strtoll(text.c_str(), nullptr, 10);
    return true;
}

bool isRange(const std::string& text, int64_t* first, int64_t* last) {
    const size_t colon = text.find(':');
    return colon != text.npos && readWhole(text.substr(0, colon), first) && readWhole(text.substr(colon + 1), last);
}

bool takeRange(const std::string& text, int64_t first, int64_t last, Positions* positions, Failure* failure) {
    if (last <= first)
        return refuse(failure, "--positions " + text + " is empty; the last is excluded and must be above the first");
    if (first < kLowest || last > kHighest + 1)
        return refuse(failure, "--positions " + text + " goes beyond int32, -2147483648 to 2147483647");
    if (last - first > kMaxTokens) return refuse(failure, "--positions " + text + " are more than 2^30 positions");
    positions->counted = true;
    positions->first = static_cast<int32_t>(first);
    positions->tokens = static_cast<uint32_t>(last - first);
    return true;
}

template <typename From, typename To> std::vector<To> valuesOf(const rope::NpyArray& array) {
    std::vector<To> values(static_cast<size_t>(array.count()));
    for (size_t i = 0; i < values.size(); ++i) {
        From value;
        std::memcpy(&value, array.data.data() + i * sizeof value, sizeof value);
        values[i] = value;
    }
    return values;
}

// Takes positions of float32 or float64. If all are whole they stay whole, so that a table may be read by them. Else
// each becomes the nearest multiple of 2^-32, which is exact for float32 from 2^-9 up and float64 from 2^20 up.
bool takeFloatPositions(const std::string& path, const std::vector<double>& floats, Positions* positions,
                        Failure* failure) {
    for (const double position : floats) {
        if (!(std::fabs(position) < 0x1p31)) {
            char value[32];
            std::snprintf(value, sizeof value, "%.17g", position);
            return refuse(failure, "--positions: " + path + " has the position " + value +
                                       "; it must be finite and less than 2^31 from 0");
        }
        positions->whole = positions->whole && position == std::floor(position);
    }
    const double unit = positions->whole ? 1 : 0x1p32;
    for (const double position : floats) positions->values.push_back(std::llrint(position * unit));
    return true;
}

bool isWholeType(Type type) { return type == Type::i32 || type == Type::i64; }

bool checkPositionType(const std::string& path, const rope::NpyArray& array, Failure* failure) {
    if (isWholeType(array.type) || array.type == Type::f32 || array.type == Type::f64) return true;
    return refuse(failure, "--positions: " + path + " holds " + rope::npyTypeName(array.type) +
                               "; positions are int32, int64, float32 or float64");
}

bool takePositions(const std::string& path, const rope::NpyArray& array, Positions* positions, Failure* failure) {
    if (!isWholeType(array.type)) {
        const bool narrow = array.type == Type::f32;
        return takeFloatPositions(path, narrow ? valuesOf<float, double>(array) : valuesOf<double, double>(array),
                                  positions, failure);
    }
    const bool narrow = array.type == Type::i32;
    positions->values = narrow ? valuesOf<int32_t, int64_t>(array) : valuesOf<int64_t, int64_t>(array);
    return true;
}

// Hints at a row of a text's positions before those of the axes. Empty: there is none too many.
std::string hintAtTextRow(uint32_t rows, uint32_t axes) {
    return axes == 1 || rows != axes + 1 ? ""
                                         : "; if the first of the " + std::to_string(rows) +
                                               " rows has the text's positions, as recent versions of Transformers "
                                               "put them there, leave it out";
}

bool takePositionShape(const std::string& path, const rope::NpyArray& array, uint32_t axes, uint32_t batch,
                       Positions* positions, Failure* failure) {
    const size_t rank = array.shape.size();
    if (rank < 1 || rank > 3 || array.count() == 0 || array.count() > uint64_t(kMaxTokens)) {
        return refuse(failure, "--positions: " + path + " has the shape " + shapeText(array) +
                                   "; it must be [tokens], [batch, tokens] or [axes, batch, tokens], and not empty");
    }
    const uint32_t first = static_cast<uint32_t>(array.shape[0]);
    positions->tokens = static_cast<uint32_t>(array.shape.back());
    const bool by_axis = rank == 2 && axes > 1 && first == axes;
    if (by_axis && first == batch) {
        const std::string tokens = std::to_string(positions->tokens) + "]", count = std::to_string(first);
        return refuse(failure, "--positions: " + path + " has the shape " + shapeText(array) +
                                   ", which may be [axes, tokens] or [batch, tokens]; [" + count + ", 1, " + tokens +
                                   " says the first, and [1, " + count + ", " + tokens + " the second");
    }
    if (rank == 2 && first != batch && !hintAtTextRow(first, axes).empty()) { // and no tensor has as many sequences
        return refuse(failure, "--positions: " + path + " has the shape " + shapeText(array) +
                                   ", but the pairs turn by " + std::to_string(axes) + " axes" +
                                   hintAtTextRow(first, axes) + "; [1, " + std::to_string(first) + ", " +
                                   std::to_string(positions->tokens) + "] says " + std::to_string(first) +
                                   " sequences");
    }
    if (rank == 3 || by_axis) positions->axes = first;
    if (rank == 3) positions->batch = static_cast<uint32_t>(array.shape[1]);
    if (rank == 2 && !by_axis) positions->batch = first;
    if (positions->axes == 1 || positions->axes == axes) return true;
    return refuse(failure, "--positions: " + path + " has the shape " + shapeText(array) + ", positions of " +
                               std::to_string(first) + " axes, but the pairs turn by " + std::to_string(axes) +
                               hintAtTextRow(first, axes));
}

} // namespace

const char kPositionsHelp[] =
    "first:last, last excluded, or a file of int32, int64, float32 or float64: [tokens], [batch, tokens] or [axes, "
    "batch, tokens]; with several axes also [axes, tokens], unless the batch has as many; positions without axes serve "
    "all axes";

bool readPositionsOption(const std::string& text, uint32_t axes, uint32_t batch, Positions* positions, Failure* failure,
                         const std::function<bool(Failure*)>& check) {
    *positions = {};
    int64_t first = 0, last = 0;
    if (isRange(text, &first, &last))
        return takeRange(text, first, last, positions, failure) && (!check || check(failure));
    std::error_code ignored;
    if (text.find(".npy") == text.npos && whyNoNpy(text).empty() && !std::filesystem::exists(text, ignored)) {
        return refuse(failure,
                      "--positions is '" + text + "', which is neither a range first:last, such as 0:4096, nor a file");
    }
    const auto check_header = [&](const rope::NpyArray& header, Failure* why) {
        return takePositionShape(text, header, axes, batch, positions, why) && checkPositionType(text, header, why) &&
               (!check || check(why));
    };
    rope::NpyArray array;
    return readArrayFile("--positions", text, check_header, &array, failure) &&
           takePositions(text, array, positions, failure);
}

void padSkippedTokens(uint32_t tokens, uint32_t skip_first, uint32_t skip_last, Positions* positions) {
    const uint32_t kept = tokens - skip_first - skip_last;
    const bool all = positions->tokens == tokens;
    if (kept == 0 || (all && positions->counted)) return;
    if (positions->counted) {
        positions->counted = false;
        for (uint32_t i = 0; i < kept; ++i) positions->values.push_back(int64_t{positions->first} + i);
    }
    // Skipped tokens get the value of a turning neighbour, which widens no table.
    std::vector<int64_t> whole;
    for (size_t row = 0; row < positions->values.size(); row += positions->tokens) {
        const auto first = positions->values.begin() + static_cast<ptrdiff_t>(row + (all ? skip_first : 0));
        const auto last = first + static_cast<ptrdiff_t>(kept);
        whole.insert(whole.end(), skip_first, *first);
        whole.insert(whole.end(), first, last);
        whole.insert(whole.end(), skip_last, last[-1]);
    }
    positions->values = std::move(whole);
    positions->tokens = tokens;
}

void describePositions(const Positions& from, RopePositions* to) {
    *to = {};
    to->kind = from.counted ? ROPE_POSITIONS_COUNTED : ROPE_POSITIONS_PER_TOKEN;
    to->element = from.whole ? ROPE_POSITION_INT64 : ROPE_POSITION_FIXED64;
    to->first = from.first;
    to->same_for_all_sequences = from.batch == 0 ? 1 : 0;
}

bool checkInInt32(const Positions& positions, uint32_t first, uint32_t last, Failure* failure) {
    const size_t sequences = std::max(positions.batch, 1u);
    for (size_t i = 0; i < positions.values.size() && positions.whole; ++i) {
        const size_t token = i % positions.tokens, sequence = i / positions.tokens;
        const int64_t value = positions.values[i];
        if (token < first || token >= last || (value >= kLowest && value <= kHighest)) continue;
        return refuse(failure,
                      "--positions has " + std::to_string(value) + " for token " + std::to_string(token) +
                          (positions.batch == 0 ? "" : " of sequence " + std::to_string(sequence % sequences)) +
                          (positions.axes == 1 ? "" : " on axis " + std::to_string(sequence / sequences)) +
                          ", outside int32, " + std::to_string(kLowest) + " to " + std::to_string(kHighest));
    }
    return true;
}

double lengthOfPositions(const Positions& positions) {
    if (!positions.counted)
        return ropeLengthOfPositions(positions.values.data(),
                                     positions.whole ? ROPE_POSITION_INT64 : ROPE_POSITION_FIXED64,
                                     positions.values.size());
    const int64_t last = int64_t{positions.first} + positions.tokens - 1;
    return ropeLengthOfPositions(&last, ROPE_POSITION_INT64, 1);
}

} // namespace tool
