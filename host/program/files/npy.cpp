// To read a type of elements more: an enumerator of NpyArray::Type, and its row of kArrayTypes.
#include "program/files/npy.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace rope {
namespace {

struct ArrayType {
    NpyArray::Type type;
    const char* name;
    const char* npy; // without its byte order
    uint8_t bytes;
    uint8_t swapped_bytes; // that lie together in the order of bytes
};
// The rows have the order of the enumerators. NumPy has no bfloat16, which travels as uint16.
constexpr ArrayType kArrayTypes[] = {
    {NpyArray::Type::f32, "float32", "f4", 4, 4},   {NpyArray::Type::f64, "float64", "f8", 8, 8},
    {NpyArray::Type::f16, "float16", "f2", 2, 2},   {NpyArray::Type::u16, "uint16", "u2", 2, 2},
    {NpyArray::Type::i32, "int32", "i4", 4, 4},     {NpyArray::Type::i64, "int64", "i8", 8, 8},
    {NpyArray::Type::b8, "bool", "b1", 1, 1},       {NpyArray::Type::i8, "int8", "i1", 1, 1},
    {NpyArray::Type::u8, "uint8", "u1", 1, 1},      {NpyArray::Type::i16, "int16", "i2", 2, 2},
    {NpyArray::Type::u32, "uint32", "u4", 4, 4},    {NpyArray::Type::u64, "uint64", "u8", 8, 8},
    {NpyArray::Type::c64, "complex64", "c8", 8, 4},
};

constexpr bool areArrayTypesInOrder() {
    for (size_t i = 0; i < sizeof kArrayTypes / sizeof kArrayTypes[0]; ++i) {
        if (kArrayTypes[i].type != static_cast<NpyArray::Type>(i)) return false;
    }
    return true;
}
static_assert(areArrayTypesInOrder());

const ArrayType& arrayTypeOf(NpyArray::Type type) { return kArrayTypes[static_cast<size_t>(type)]; }

// Multiplies the shape to bytes. Dimensions of 0 do not excuse the others. False where 63 bits do not hold the product.
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

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr size_t kAlignment = 64;
constexpr size_t kGrowthDigits = 21; // NumPy leaves room for the first dimension to grow to this many digits

constexpr char kSupported[] = " not supported; bool, whole numbers and floats of up to 64 bits and complex64 are";

bool refuseNpy(std::string* error, const std::string& sentence) {
    if (error != nullptr) *error = sentence;
    return false;
}

// The header is a Python dictionary. Only what NumPy writes is understood: three keys, strings without escapes, True
// and False, and one tuple of whole numbers.
class Dictionary {
  public:
    Dictionary(const char* begin, const char* end, bool allow_long) : at_(begin), end_(end), allow_long_(allow_long) {}

    bool parse(NpyHeader* header, std::string* error) {
        header_ = header;
        if (!pairs()) return refuseNpy(error, problem_);
        if (!have_descr_ || !have_order_ || !have_shape_)
            return refuseNpy(error, std::string("the header has no ") + (!have_descr_   ? "'descr'"
                                                                         : !have_order_ ? "'fortran_order'"
                                                                                        : "'shape'"));
        return true;
    }

  private:
    bool refuseHeader(const std::string& sentence) {
        problem_ = sentence;
        return false;
    }

    void space() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
    }

    bool take(char c) {
        space();
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        return true;
    }

    bool pairs() {
        if (!take('{')) return refuseHeader("the header is not a dictionary");
        bool more = true;
        while (!take('}')) {
            if (!more) return refuseHeader("the header's dictionary has no comma between its entries");
            if (!pair()) return false;
            more = take(',');
        }
        space();
        return at_ == end_ || refuseHeader("the header goes on after its dictionary");
    }

    bool pair() {
        std::string key;
        if (!string(&key)) return refuseHeader("the header's dictionary has a key that is no string");
        if (!take(':')) return refuseHeader("the header's key " + quotedText(key) + " has no value");
        bool* have = key == "descr"           ? &have_descr_
                     : key == "fortran_order" ? &have_order_
                     : key == "shape"         ? &have_shape_
                                              : nullptr;
        if (have == nullptr) return refuseHeader("the header's key " + quotedText(key) + " is unknown");
        if (*have) return refuseHeader("the header has " + quotedText(key) + " twice");
        *have = true;
        return have == &have_descr_ ? descr() : have == &have_order_ ? order() : shape();
    }

    bool string(std::string* text) {
        space();
        if (at_ == end_ || (*at_ != '\'' && *at_ != '"')) return false;
        const char* begin = at_ + 1;
        const char* close = std::find(begin, end_, *at_);
        if (close == end_ || std::find(begin, close, '\\') != close) return false;
        text->assign(begin, close);
        at_ = close + 1;
        return true;
    }

    bool descr() {
        std::string text;
        if (take('[')) return refuseHeader(std::string("structured dtypes are") + kSupported);
        if (!string(&text)) return refuseHeader("the header's 'descr' is no string");
        const char order = text.empty() ? ' ' : text[0];
        for (const ArrayType& entry : kArrayTypes) {
            if (text.empty() || text.compare(1, text.npos, entry.npy) != 0) continue;
            if (order != '<' && order != '>' && order != '=' && (order != '|' || entry.bytes != 1)) continue;
            header_->type = entry.type;
            header_->swapped = order == (hostIsLittleEndian() ? '>' : '<');
            return true;
        }
        return refuseHeader("dtype " + quotedText(text) + " is" + kSupported);
    }

    bool order() {
        space();
        for (const bool value : {false, true}) {
            const std::string word = value ? "True" : "False";
            if (static_cast<size_t>(end_ - at_) >= word.size() && std::equal(word.begin(), word.end(), at_)) {
                at_ += word.size();
                header_->fortran_order = value;
                return true;
            }
        }
        return refuseHeader("the header's 'fortran_order' is neither True nor False");
    }

    bool shape() {
        if (!take('(')) return refuseHeader("the header's 'shape' is no tuple");
        header_->shape.clear();
        bool comma = true;
        while (!take(')')) {
            if (!comma) return refuseHeader("the header's 'shape' has no comma between its numbers");
            if (header_->shape.size() == kNpyMaxRank) return refuseHeader("the shape has more than 32 dimensions");
            uint64_t value = 0;
            if (!number(&value)) return false;
            header_->shape.push_back(value);
            comma = take(',');
        }
        return comma || header_->shape.size() != 1 || refuseHeader("the header's 'shape' is a number and no tuple");
    }

    bool number(uint64_t* value) {
        space();
        const char* begin = at_;
        for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
            const uint64_t digit = static_cast<uint64_t>(*at_ - '0');
            if (*value > (std::numeric_limits<uint64_t>::max() - digit) / 10)
                return refuseHeader("the shape has a number of more than 64 bits");
            *value = *value * 10 + digit;
        }
        const auto digits = at_ - begin;
        if (digits == 0 || (digits > 1 && *begin == '0'))
            return refuseHeader("the header's 'shape' holds something else than whole numbers");
        if (allow_long_ && at_ != end_ && *at_ == 'L') // Python 2 wrote 3L
            ++at_;
        return true;
    }

    const char* at_;
    const char* end_;
    bool allow_long_;
    NpyHeader* header_ = nullptr;
    bool have_descr_ = false, have_order_ = false, have_shape_ = false;
    std::string problem_;
};

// Finds the place of the dictionary from the bytes before it.
bool findDictionary(const uint8_t* bytes, size_t size, uint64_t* begin, uint64_t* length, std::string* error) {
    if (size < kMagicBytes || std::memcmp(bytes, kMagic, kMagicBytes) != 0)
        return refuseNpy(error, "this is no .npy file");
    if (size < kMagicBytes + 2) return refuseNpy(error, "the file ends within its header");
    const unsigned major = bytes[kMagicBytes], minor = bytes[kMagicBytes + 1];
    if (major < 1 || major > 3 || minor != 0) {
        return refuseNpy(error, "format version " + std::to_string(major) + "." + std::to_string(minor) +
                                    " is not supported; 1.0, 2.0 and 3.0 are");
    }
    const size_t length_bytes = major == 1 ? 2 : 4;
    *begin = kMagicBytes + 2 + length_bytes;
    if (size < *begin) return refuseNpy(error, "the file ends within its header");
    *length = 0;
    for (size_t i = 0; i < length_bytes; ++i) *length |= static_cast<uint64_t>(bytes[kMagicBytes + 2 + i]) << (8 * i);
    return true;
}

// Walks the destination in order; `index` counts as an odometer does, and `from` follows it through the source.
std::vector<uint8_t> toRowMajor(const std::vector<uint64_t>& shape, size_t bytes, const std::vector<uint8_t>& data) {
    std::vector<uint8_t> result(data.size());
    std::vector<uint64_t> stride(shape.size()), index(shape.size());
    uint64_t product = bytes;
    for (size_t d = 0; d < shape.size(); ++d) {
        stride[d] = product;
        product *= shape[d];
    }
    uint64_t from = 0;
    for (uint64_t to = 0; to < result.size(); to += bytes) {
        std::memcpy(&result[to], &data[from], bytes);
        for (size_t d = shape.size(); d-- > 0;) {
            from += stride[d];
            if (++index[d] < shape[d]) break;
            from -= stride[d] * shape[d];
            index[d] = 0;
        }
    }
    return result;
}

} // namespace

const char* npyTypeName(NpyArray::Type type) { return arrayTypeOf(type).name; }

size_t NpyArray::elementBytes() const { return arrayTypeOf(type).bytes; }

uint64_t NpyArray::count() const {
    uint64_t bytes = 0;
    return countArrayBytes(shape, type, &bytes) ? bytes / elementBytes() : 0;
}

std::string quotedText(const std::string& text, size_t most) {
    std::string plain = text.substr(0, most);
    for (char& c : plain) {
        if (c < ' ' || c > '~') c = '?';
    }
    return "'" + plain + (text.size() > most ? "...'" : "'");
}

bool parseNpyHeader(const uint8_t* bytes, size_t size, uint64_t file_size, NpyHeader* header, std::string* error) {
    uint64_t begin = 0, length = 0;
    if (!findDictionary(bytes, size, &begin, &length, error)) return false;
    if (begin + length > file_size) return refuseNpy(error, "the file ends within its header");
    if (begin + length > size || begin + length > kNpyMaxHeaderBytes)
        return refuseNpy(error, "the header is longer than " + std::to_string(kNpyMaxHeaderBytes) + " bytes");
    const char* text = reinterpret_cast<const char*>(bytes) + begin;
    const bool allow_long = bytes[kMagicBytes] < 3;
    if (!Dictionary(text, text + length, allow_long).parse(header, error)) return false;
    header->data_offset = begin + length;
    if (!countArrayBytes(header->shape, header->type, &header->data_bytes))
        return refuseNpy(error, "the shape asks for more bytes than 64 bits count");
    const uint64_t there = file_size - header->data_offset;
    if (there != header->data_bytes) {
        return refuseNpy(error, "the header asks for " + std::to_string(header->data_bytes) +
                                    " bytes of data, and the file has " + std::to_string(there));
    }
    return true;
}

void arrangeNpy(const NpyHeader& header, NpyArray* array) {
    array->type = header.type;
    array->shape = header.shape;
    if (header.swapped) swapArrayBytes(array);
    if (header.fortran_order && header.shape.size() > 1)
        array->data = toRowMajor(header.shape, array->elementBytes(), array->data);
}

std::string formatNpyHeader(const NpyArray& array) {
    uint64_t bytes = 0;
    const ArrayType& type = arrayTypeOf(array.type);
    if (array.shape.size() > kNpyMaxRank || !countArrayBytes(array.shape, array.type, &bytes) ||
        bytes != array.data.size())
        return {};
    std::string shape;
    for (size_t d = 0; d < array.shape.size(); ++d) shape += (d == 0 ? "" : ", ") + std::to_string(array.shape[d]);
    if (array.shape.size() == 1) shape += ",";
    std::string header = std::string("{'descr': '") +
                         (type.bytes == 1        ? '|'
                          : hostIsLittleEndian() ? '<'
                                                 : '>') +
                         type.npy + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    if (!array.shape.empty()) header.append(kGrowthDigits - std::to_string(array.shape[0]).size(), ' ');
    const size_t before = kMagicBytes + 4;
    header.append(kAlignment - (before + header.size() + 1) % kAlignment, ' '); // at least one space, as NumPy does
    header += '\n';
    std::string prefix(kMagic, kMagicBytes);
    prefix += {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    return prefix + header;
}

} // namespace rope
