// To read a key more of a .gguf file: kKeys, and the file of this folder that takes its value.
#include "models/gguf/header.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace rope {
namespace gguf {
namespace {

constexpr uint64_t kMaxHeader = 512ull << 20; // bytes; the largest tokenizers take a tenth of it
constexpr size_t kMaxKept = 1024;             // keys, and tensors of factors, that are kept
constexpr size_t kMaxName = 256;              // bytes; a longer text is none of the names that are looked for
constexpr size_t kMaxList = 4096;             // numbers of a kept array

enum Type : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64, kTypeCount };
constexpr size_t kTypeBytes[kTypeCount] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr uint32_t kTensorF32 = 0, kTensorF16 = 1;

// The keys that are read, without the architecture and the dot before them. Other keys that begin with "rope." are kept
// too, to be refused by name.
bool isKnown(const std::string& suffix) {
    const auto has = [&suffix](const std::string& prefix, std::initializer_list<const char*> words) {
        return suffix.compare(0, prefix.size(), prefix) == 0 && isOneOf(suffix.c_str() + prefix.size(), words);
    };
    return has("attention.", {"head_count", "head_count_kv", "key_length", "key_length_mla", "key_length_swa",
                              "sliding_window", "sliding_window_pattern", "recurrent_layers", "rope_pattern",
                              "temperature_scale", "temperature_length"}) ||
           has("rope.scaling.",
               {"type", "factor", "alpha", "attn_factor", "original_context_length", "finetuned", "yarn_log_multiplier",
                "yarn_ext_factor", "yarn_attn_factor", "yarn_beta_fast", "yarn_beta_slow"}) ||
           has("rope.", {"freq_base", "freq_base_swa", "dimension_count", "dimension_count_swa", "dimension_sections",
                         "scale_linear"}) ||
           has("", {"context_length", "embedding_length", "block_count", "full_attention_interval",
                    "nextn_predict_layers", "leading_dense_block_count"});
}

bool isKept(const std::string& key) {
    const size_t dot = key.find('.');
    const std::string suffix = dot == key.npos ? "" : key.substr(dot + 1);
    return key == "general.architecture" || key == "general.alignment" || key == "split.no" || isKnown(suffix) ||
           suffix.rfind("rope.", 0) == 0;
}

double fromBits32(uint32_t bits) {
    float single;
    std::memcpy(&single, &bits, sizeof single);
    return static_cast<double>(single);
}

double fromBits64(uint64_t bits) {
    double number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}

double fromHalf(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double value = exponent == 31  ? (mantissa == 0 ? INFINITY : NAN)
                         : exponent == 0 ? std::ldexp(mantissa, -24)
                                         : std::ldexp(mantissa + 1024, exponent - 25);
    return bits >> 15 != 0 ? -value : value;
}

double readTypedNumber(Cursor* file, uint32_t type) {
    uint64_t bits = 0;
    uint8_t bytes[8] = {};
    file->take(kTypeBytes[type], bytes);
    for (size_t i = 8; i-- > 0;) bits = bits << 8 | bytes[i];
    switch (type) {
    case i8:
        return static_cast<int8_t>(bits);
    case i16:
        return static_cast<int16_t>(bits);
    case i32:
        return static_cast<int32_t>(bits);
    case i64:
        return static_cast<double>(static_cast<int64_t>(bits));
    case f32:
        return fromBits32(static_cast<uint32_t>(bits));
    case f64:
        return fromBits64(bits);
    default:
        return static_cast<double>(bits);
    }
}

void readArray(Cursor* file, const std::string& key, bool kept, Value* value) {
    const uint32_t type = file->number<uint32_t>();
    uint64_t count = file->number<uint64_t>();
    if (type == array) refuse("the key " + shown(key) + " is an array of arrays, which is not read");
    if (type >= kTypeCount)
        refuse("the key " + shown(key) + " has values of type " + std::to_string(type) + ", which is not known");
    const size_t least = type == string ? 8 : kTypeBytes[type];
    if (count > file->left() / least)
        refuse("the key " + shown(key) + " has " + std::to_string(count) + " values, and the file ends before");
    if (type == string) {
        while (count-- != 0) file->text(0);
        return;
    }
    if (!kept || count > kMaxList) return file->skip(count * least);
    value->kind = Value::Kind::list;
    value->numbers.resize(static_cast<size_t>(count));
    for (double& number : value->numbers) number = readTypedNumber(file, type);
}

void readKeyAndValue(Cursor* file, Header* header) {
    const std::string key = file->text(kMaxName);
    const uint32_t type = file->number<uint32_t>();
    const bool kept = isKept(key);
    Value value;
    if (type >= kTypeCount)
        refuse("the key " + shown(key) + " has a value of type " + std::to_string(type) + ", which is not known");
    if (type == array) {
        readArray(file, key, kept, &value);
    } else if (type == string) {
        value.kind = Value::Kind::text;
        value.text = file->text(kept ? kMaxName : 0);
    } else {
        value.kind = Value::Kind::number;
        value.numbers = {readTypedNumber(file, type)};
    }
    if (!kept) return;
    if (header->values.size() == kMaxKept)
        refuse("the header has more than " + std::to_string(kMaxKept) + " keys about positions");
    if (!header->values.emplace(key, value).second) refuse("the header has the key " + shown(key) + " twice");
}

// Removes the block that a name may begin with, as in "blk.0.rope_freqs.weight".
std::string withoutBlock(const std::string& name) {
    if (name.rfind("blk.", 0) != 0) return name;
    const size_t end = name.find_first_not_of("0123456789", 4);
    return end == name.npos || end == 4 || name[end] != '.' ? name : name.substr(end + 1);
}

void readTensor(Cursor* file, Header* header) {
    FactorTensor tensor;
    const std::string name = file->text(kMaxName);
    tensor.dims = file->number<uint32_t>();
    if (tensor.dims > 4)
        refuse("the tensor " + shown(name) + " has " + std::to_string(tensor.dims) +
               " dimensions; there are at most 4");
    for (uint32_t i = 0; i < tensor.dims; ++i) {
        const uint64_t length = file->number<uint64_t>();
        if (i == 0) tensor.count = length;
    }
    tensor.type = file->number<uint32_t>();
    tensor.offset = file->number<uint64_t>();
    tensor.name = withoutBlock(name);
    if (!isOneOf(tensor.name, {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"})) return;
    if (header->factors.size() == kMaxKept)
        refuse("the header has more than " + std::to_string(kMaxKept) + " tensors of factors");
    header->factors.push_back(tensor);
}

void readVersion(Cursor* file) {
    uint8_t magic[4] = {};
    if (file->left() >= sizeof magic) file->take(sizeof magic, magic);
    if (std::memcmp(magic, "GGUF", 4) != 0) refuse("this is no .gguf file");
    const uint32_t version = file->number<uint32_t>();
    if ((version & 0xFFFF) == 0 && version != 0)
        refuse("the file is big-endian, which is not read; little-endian files are");
    if (version != 2 && version != 3) refuse("format version " + std::to_string(version) + " is not read; 2 and 3 are");
}

std::vector<double> readFactorTensor(Cursor* file, const Header& header, const FactorTensor& tensor, uint32_t pairs) {
    const std::string name = "the tensor " + shown(tensor.name);
    if (tensor.type != kTensorF32 && tensor.type != kTensorF16)
        refuse(name + " is of type " + std::to_string(tensor.type) + "; F32 and F16 are read");
    if (tensor.dims != 1 || tensor.count != pairs) {
        refuse(name + " has " + std::to_string(tensor.dims) + " dimensions and the first is " +
               std::to_string(tensor.count) + "; it must have one, of " + std::to_string(pairs) + " pairs");
    }
    if (tensor.offset % header.alignment != 0)
        refuse(name + " begins at byte " + std::to_string(tensor.offset) + ", which is not aligned to " +
               std::to_string(header.alignment));
    const uint64_t size = file->at() + file->left();
    const bool half = tensor.type == kTensorF16;
    std::vector<uint8_t> bytes(pairs * (half ? size_t{2} : size_t{4}));
    if (header.data > size || tensor.offset > size - header.data || bytes.size() > size - header.data - tensor.offset)
        refuse(name + " lies outside the file");
    file->readAt(header.data + tensor.offset, bytes.size(), bytes.data());
    std::vector<double> factors(pairs);
    for (size_t i = 0; i < pairs; ++i) {
        const uint8_t* at = &bytes[(half ? 2 : 4) * i];
        factors[i] = half ? fromHalf(static_cast<uint16_t>(at[0] | at[1] << 8))
                          : fromBits32(at[0] | at[1] << 8 | at[2] << 16 | uint32_t{at[3]} << 24);
        if (!(factors[i] >= 0x1p-30 &&
              factors[i] <= 0x1p100)) { // a factor of 1e30 stands for a pair that does not rotate
            refuse("the tensor " + shown(tensor.name) + " has the factor " + shown(factors[i]) +
                   "; factors must be from 2^-30 to 2^100");
        }
    }
    return factors;
}

} // namespace

std::string shown(const std::string& text) {
    constexpr size_t kMost = 64;
    std::string plain = text.substr(0, kMost);
    for (char& c : plain) {
        if (c < ' ' || c > '~') c = '?';
    }
    return "'" + plain + (text.size() > kMost ? "...'" : "'");
}

std::string shown(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", number);
    return text;
}

// ---- The file, byte by byte -----------------------------------------------------------------------------------------

Cursor::Cursor(const GgufSource& source)
    : source_(source), window_(static_cast<size_t>(std::min<uint64_t>(source.size, 1 << 16))) {}

void Cursor::skip(uint64_t count) {
    if (count > left()) refuse("the file ends within its header");
    at_ += count;
    if (at_ > kMaxHeader) refuse("the header is longer than " + std::to_string(kMaxHeader) + " bytes");
}

void Cursor::take(size_t count, uint8_t* to) {
    const uint64_t from = at_;
    skip(count);
    while (count != 0) {
        const uint64_t begin = at_ - count;
        if (begin < window_at_ || begin >= window_at_ + filled_) {
            const uint64_t most = std::min<uint64_t>(window_.size(), source_.size - begin);
            filled_ = 0;
            readAt(begin, static_cast<size_t>(most), window_.data());
            window_at_ = begin;
            filled_ = static_cast<size_t>(most);
        }
        const size_t offset = static_cast<size_t>(begin - window_at_);
        const size_t piece = std::min(count, filled_ - offset);
        std::memcpy(to + (begin - from), &window_[offset], piece);
        count -= piece;
    }
}

std::string Cursor::text(size_t most) {
    const uint64_t length = number<uint64_t>();
    if (length > left()) {
        refuse("the header has a text of " + std::to_string(length) + " bytes, and the file has " +
               std::to_string(left()) + " more");
    }
    std::string text(length > most ? 0 : static_cast<size_t>(length), ' ');
    if (length > most) skip(length);
    if (!text.empty()) take(text.size(), reinterpret_cast<uint8_t*>(&text[0]));
    return text;
}

void Cursor::readAt(uint64_t offset, size_t count, uint8_t* to) {
    if (!source_.read(offset, count, to)) refuse("it cannot be read at byte " + std::to_string(offset));
}

// ---- Keys and tensors -----------------------------------------------------------------------------------------------

Header readHeader(Cursor* file) {
    Header header;
    readVersion(file);
    uint64_t tensors = file->number<uint64_t>(), pairs = file->number<uint64_t>();
    // The shortest key has an empty name and a byte; the shortest tensor an empty name, no dimension, a type and an
    // offset.
    constexpr uint64_t kLeastPair = 8 + 4 + 1, kLeastTensor = 8 + 4 + 4 + 8;
    if (pairs > file->left() / kLeastPair || tensors > file->left() / kLeastTensor) {
        refuse("the header has " + std::to_string(pairs) + " keys and " + std::to_string(tensors) +
               " tensors, which do not fit into the file");
    }
    while (pairs-- != 0) readKeyAndValue(file, &header);
    while (tensors-- != 0) readTensor(file, &header);
    const auto found = header.values.find("general.alignment");
    const bool given = found != header.values.end();
    const double alignment = !given ? 32 : found->second.numbers.size() == 1 ? found->second.numbers[0] : 0;
    if (!(alignment >= 1 && alignment <= 1 << 30) || std::exp2(std::ilogb(alignment)) != alignment)
        refuse("the header's 'general.alignment' must be a power of two");
    header.alignment = static_cast<uint64_t>(alignment);
    header.data = (file->at() + header.alignment - 1) / header.alignment * header.alignment;
    return header;
}

std::vector<double> readFactorTensors(Cursor* file, const Header& header, const char* name, uint32_t pairs) {
    std::vector<double> factors;
    for (const FactorTensor& tensor : header.factors) {
        if (tensor.name != name) continue;
        const std::vector<double> others = readFactorTensor(file, header, tensor, pairs);
        if (!factors.empty() && factors != others)
            refuse(std::string("the file has several tensors '") + name + "', and they differ");
        factors = others;
    }
    return factors;
}

const Value* ArchitectureKeys::find(const char* suffix) const {
    const auto found = header_.values.find(prefix_ + suffix);
    return found == header_.values.end() ? nullptr : &found->second;
}

void ArchitectureKeys::refuse(const char* suffix, const std::string& what) const {
    rope::refuse("the key " + name(suffix) + " " + what);
}

double ArchitectureKeys::number(const char* suffix, double low, double high, double otherwise) const {
    const Value* found = find(suffix);
    if (found == nullptr) return otherwise;
    const bool numeric = found->kind == Value::Kind::number || found->kind == Value::Kind::list;
    if (!numeric || found->numbers.empty()) refuse(suffix, "is no number");
    for (const double number : found->numbers) {
        if (!(number >= low && number <= high))
            refuse(suffix, "is " + shown(number) + "; it must be from " + shown(low) + " to " + shown(high));
        if (number != found->numbers[0])
            refuse(suffix, "differs from layer to layer: " + shown(found->numbers[0]) + " and " + shown(number));
    }
    return found->numbers[0];
}

uint32_t ArchitectureKeys::count(const char* suffix, double high, uint32_t otherwise) const {
    if (find(suffix) == nullptr) return otherwise;
    const double number = this->number(suffix, 1, high, otherwise);
    if (number != std::floor(number)) refuse(suffix, "is " + shown(number) + "; it must be a whole number");
    return static_cast<uint32_t>(number);
}

const Value* ArchitectureKeys::list(const char* suffix, size_t layers) const {
    const Value* found = find(suffix);
    if (found == nullptr || found->kind != Value::Kind::list) return nullptr;
    if (found->numbers.size() >= layers) return found;
    refuse(suffix,
           "has " + std::to_string(found->numbers.size()) + " entries for " + std::to_string(layers) + " layers");
}

void ArchitectureKeys::checkUnknown() const {
    for (const auto& entry : header_.values) {
        if (entry.first.compare(0, prefix_.size(), prefix_) == 0 && !isKnown(entry.first.substr(prefix_.size())))
            rope::refuse("the key " + shown(entry.first) + " is not one that is read");
    }
}

} // namespace gguf
} // namespace rope
