// --positions: a range, or an array of int32 or int64.
#include "tool_input.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tool {
namespace {

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

bool narrow(const std::string& path, const rope::NpyArray& array, Positions* positions, Failure* failure) {
    const size_t count = static_cast<size_t>(array.count());
    positions->values.resize(count);
    if (array.type == rope::NpyArray::Type::i32) {
        std::memcpy(positions->values.data(), array.data.data(), count * 4);
        return true;
    }
    for (size_t i = 0; i < count; ++i) {
        int64_t value;
        std::memcpy(&value, array.data.data() + i * 8, 8);
        if (value < kLowest || value > kHighest) {
            return refuse(failure, "--positions: " + path + " has the position " + std::to_string(value) +
                                       ", which is beyond int32");
        }
        positions->values[i] = static_cast<int32_t>(value);
    }
    return true;
}

} // namespace

bool readPositions(const std::string& text, Positions* positions, Failure* failure) {
    *positions = {};
    int64_t first = 0, last = 0;
    if (isRange(text, &first, &last)) return takeRange(text, first, last, positions, failure);
    if (text.find(".npy") == text.npos && text.find(':') != text.npos) {
        return refuse(failure, "--positions is '" + text +
                                   "'; it takes first:last in whole numbers, such as 0:4096, or an .npy file");
    }
    rope::NpyArray array;
    if (!readArray("--positions", text, &array, failure)) return false;
    if (array.type != rope::NpyArray::Type::i32 && array.type != rope::NpyArray::Type::i64) {
        return refuse(failure, "--positions: " + text + " holds " + rope::npyTypeName(array.type) +
                                   "; positions are int32 or int64");
    }
    const size_t rank = array.shape.size();
    if ((rank != 1 && rank != 2) || array.count() == 0 || array.count() > uint64_t(kMaxTokens)) {
        return refuse(failure, "--positions: " + text + " has the shape " + shapeOf(array) +
                                   "; it must be [tokens] or [batch, tokens], and not empty");
    }
    positions->batch = rank == 2 ? static_cast<uint32_t>(array.shape[0]) : 0;
    positions->tokens = static_cast<uint32_t>(array.shape.back());
    return narrow(text, array, positions, failure);
}

void setPositions(const Positions& from, RopePositions* to) {
    *to = {};
    to->kind = from.counted ? ROPE_POSITIONS_COUNTED : ROPE_POSITIONS_PER_TOKEN;
    to->first = from.first;
    to->shared = from.batch == 0 ? 1 : 0;
}

int64_t lowest(const Positions& positions) {
    return positions.counted ? positions.first : *std::min_element(positions.values.begin(), positions.values.end());
}

int64_t highest(const Positions& positions) {
    return positions.counted ? int64_t{positions.first} + positions.tokens - 1
                             : *std::max_element(positions.values.begin(), positions.values.end());
}

} // namespace tool
