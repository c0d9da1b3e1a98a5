#include "program/files/array.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace rope {

const ArrayType& arrayTypeOf(NpyArray::Type type) { return kArrayTypes[static_cast<size_t>(type)]; }

const char* npyTypeName(NpyArray::Type type) { return arrayTypeOf(type).name; }

bool countArrayBytes(const std::vector<uint64_t>& shape, NpyArray::Type type, uint64_t* bytes) {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    uint64_t product = arrayTypeOf(type).bytes;
    bool empty = false;
    for (const uint64_t dimension : shape) {
        empty = empty || dimension == 0;
        if (dimension != 0) {
            if (product > kMost / dimension) return false;
            product *= dimension;
        }
    }
    *bytes = empty ? 0 : product;
    return true;
}

size_t NpyArray::elementBytes() const { return arrayTypeOf(type).bytes; }

uint64_t NpyArray::count() const {
    uint64_t bytes = 0;
    return countArrayBytes(shape, type, &bytes) ? bytes / elementBytes() : 0;
}

bool hostIsLittleEndian() {
    const uint16_t one = 1;
    uint8_t first;
    std::memcpy(&first, &one, 1);
    return first == 1;
}

void swapArrayBytes(NpyArray* array) {
    const size_t together = arrayTypeOf(array->type).swapped_bytes;
    for (size_t i = 0; i + together <= array->data.size(); i += together) {
        const auto first = array->data.begin() + static_cast<ptrdiff_t>(i);
        std::reverse(first, first + static_cast<ptrdiff_t>(together));
    }
}

std::string quotedText(const std::string& text, size_t most) {
    std::string plain = text.substr(0, most);
    for (char& c : plain) {
        if (c < ' ' || c > '~') c = '?';
    }
    return "'" + plain + (text.size() > most ? "...'" : "'");
}

} // namespace rope
