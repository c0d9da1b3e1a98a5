#include "models/gguf/header.hpp"

#include <cmath>
#include <cstdio>

namespace rope {
namespace gguf {
namespace {

constexpr size_t kMaxKept = 1024; // keys, and tensors of factors, that are kept
constexpr size_t kMaxName = 256;  // bytes; a longer text is none of the names that are looked for
constexpr size_t kMaxList = 4096; // numbers of a kept array

enum Type : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64, kTypeCount };
constexpr size_t kTypeBytes[kTypeCount] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr uint32_t kTensorF32 = 0, kTensorF16 = 1;

// The keys that are read, without the architecture and the dot before them. Other keys that begin with "rope." are kept
// too, to be refused by name.
constexpr const char* kKeys[] = {
    "context_length",
    "embedding_length",
    "block_count",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.key_length_mla",
    "attention.key_length_swa",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "attention.recurrent_layers",
    "attention.temperature_scale",
    "attention.temperature_length",
    "full_attention_interval",
    "nextn_predict_layers",
    "leading_dense_block_count",
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.dimension_count",
    "rope.dimension_count_swa",
    "rope.dimension_sections",
    "rope.scale_linear",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.alpha",
    "rope.scaling.attn_factor",
    "rope.scaling.original_context_length",
    "rope.scaling.finetuned",
    "rope.scaling.yarn_log_multiplier",
    "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
};

} // namespace

bool isIn(const char* names, const std::string& name) {
    return name.find(' ') == name.npos && std::string(names).find(" " + name + " ") != std::string::npos;
}

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

bool isKnown(const std::string& suffix) {
    return std::find(std::begin(kKeys), std::end(kKeys), suffix) != std::end(kKeys);
}

namespace {

std::string afterDot(const std::string& key) {
    const size_t dot = key.find('.');
    return dot == key.npos ? "" : key.substr(dot + 1);
}

bool isKept(const std::string& key) {
    const std::string suffix = afterDot(key);
    return key == "general.architecture" || key == "general.alignment" || key == "split.no" || isKnown(suffix) ||
           suffix.rfind("rope.", 0) == 0;
}

bool readTypedNumber(Cursor* file, uint32_t type, double* value) {
    uint64_t bits = 0;
    uint8_t bytes[8] = {};
    if (!file->take(kTypeBytes[type], bytes)) return false;
    for (size_t i = 8; i-- > 0;) bits = bits << 8 | bytes[i];
    const uint32_t low = static_cast<uint32_t>(bits);
    float single;
    std::memcpy(&single, &low, sizeof single);
    switch (type) {
    case i8:
        *value = static_cast<int8_t>(bits);
        break;
    case i16:
        *value = static_cast<int16_t>(bits);
        break;
    case i32:
        *value = static_cast<int32_t>(bits);
        break;
    case i64:
        *value = static_cast<double>(static_cast<int64_t>(bits));
        break;
    case f32:
        *value = static_cast<double>(single);
        break;
    case f64:
        std::memcpy(value, &bits, sizeof *value);
        break;
    default:
        *value = static_cast<double>(bits);
        break;
    }
    return true;
}

bool readArray(Cursor* file, const std::string& key, bool kept, Value* value) {
    uint32_t type = 0;
    uint64_t count = 0;
    if (!file->number(&type) || !file->number(&count)) return false;
    if (type == array) return file->fail("the key " + shown(key) + " is an array of arrays, which is not read");
    if (type >= kTypeCount)
        return file->fail("the key " + shown(key) + " has values of type " + std::to_string(type) +
                          ", which is not known");
    const size_t least = type == string ? 8 : kTypeBytes[type];
    if (count > file->left() / least) {
        return file->fail("the key " + shown(key) + " has " + std::to_string(count) +
                          " values, and the file ends before");
    }
    if (type == string) {
        std::string ignored;
        while (count-- != 0) {
            if (!file->text(0, &ignored)) return false;
        }
        return true;
    }
    if (!kept || count > kMaxList) return file->skip(count * least);
    value->kind = Value::Kind::list;
    value->numbers.resize(static_cast<size_t>(count));
    for (double& number : value->numbers) {
        if (!readTypedNumber(file, type, &number)) return false;
    }
    return true;
}

bool readKeyAndValue(Cursor* file, Header* header) {
    std::string key;
    uint32_t type = 0;
    if (!file->text(kMaxName, &key) || !file->number(&type)) return false;
    const bool kept = isKept(key);
    Value value;
    if (type >= kTypeCount) {
        return file->fail("the key " + shown(key) + " has a value of type " + std::to_string(type) +
                          ", which is not known");
    }
    if (type == array) {
        if (!readArray(file, key, kept, &value)) return false;
    } else if (type == string) {
        value.kind = Value::Kind::text;
        if (!file->text(kept ? kMaxName : 0, &value.text)) return false;
    } else {
        value.kind = Value::Kind::number;
        value.numbers.resize(1);
        if (!readTypedNumber(file, type, &value.numbers[0])) return false;
    }
    if (!kept) return true;
    if (header->values.size() == kMaxKept)
        return file->fail("the header has more than " + std::to_string(kMaxKept) + " keys about positions");
    return header->values.emplace(key, value).second || file->fail("the header has the key " + shown(key) + " twice");
}

// Removes the block that a name may begin with, as in "blk.0.rope_freqs.weight".
std::string withoutBlock(const std::string& name) {
    if (name.rfind("blk.", 0) != 0) return name;
    const size_t end = name.find_first_not_of("0123456789", 4);
    return end == name.npos || end == 4 || name[end] != '.' ? name : name.substr(end + 1);
}

bool readTensor(Cursor* file, Header* header) {
    FactorTensor tensor;
    std::string name;
    if (!file->text(kMaxName, &name) || !file->number(&tensor.dims)) return false;
    if (tensor.dims > 4)
        return file->fail("the tensor " + shown(name) + " has " + std::to_string(tensor.dims) +
                          " dimensions; there are at most 4");
    for (uint32_t i = 0; i < tensor.dims; ++i) {
        uint64_t length = 0;
        if (!file->number(&length)) return false;
        if (i == 0) tensor.count = length;
    }
    if (!file->number(&tensor.type) || !file->number(&tensor.offset)) return false;
    tensor.name = withoutBlock(name);
    if (!isIn(" rope_freqs.weight rope_factors_long.weight rope_factors_short.weight ", tensor.name)) return true;
    if (header->factors.size() == kMaxKept)
        return file->fail("the header has more than " + std::to_string(kMaxKept) + " tensors of factors");
    header->factors.push_back(tensor);
    return true;
}

bool readVersion(Cursor* file) {
    uint8_t magic[4] = {};
    uint32_t version = 0;
    if (file->left() < sizeof magic || !file->take(sizeof magic, magic) || std::memcmp(magic, "GGUF", 4) != 0)
        return file->fail("this is no .gguf file");
    if (!file->number(&version)) return false;
    if ((version & 0xFFFF) == 0 && version != 0)
        return file->fail("the file is big-endian, which is not read; little-endian files are");
    if (version != 2 && version != 3)
        return file->fail("format version " + std::to_string(version) + " is not read; 2 and 3 are");
    return true;
}

double fromHalf(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double value = exponent == 31  ? (mantissa == 0 ? INFINITY : NAN)
                         : exponent == 0 ? std::ldexp(mantissa, -24)
                                         : std::ldexp(mantissa + 1024, exponent - 25);
    return bits >> 15 != 0 ? -value : value;
}

bool decodeFactors(const FactorTensor& tensor, const std::vector<uint8_t>& bytes, std::vector<double>* factors,
                   std::string* error) {
    for (size_t i = 0; i < factors->size(); ++i) {
        double& factor = (*factors)[i];
        if (tensor.type == kTensorF16) {
            factor = fromHalf(static_cast<uint16_t>(bytes[2 * i] | bytes[2 * i + 1] << 8));
        } else {
            uint32_t bits = 0;
            for (size_t b = 4; b-- > 0;) bits = bits << 8 | bytes[4 * i + b];
            float single;
            std::memcpy(&single, &bits, sizeof single);
            factor = static_cast<double>(single);
        }
        if (!(factor >= 0x1p-30 && factor <= 0x1p100)) { // a factor of 1e30 stands for a pair that does not turn
            return refuse(error, "the tensor " + shown(tensor.name) + " has the factor " + shown(factor) +
                                     "; factors must be from 2^-30 to 2^100");
        }
    }
    return true;
}

bool readFactorTensor(Cursor* file, const Header& header, const FactorTensor& tensor, uint32_t pairs,
                      std::vector<double>* factors, std::string* error) {
    const std::string name = "the tensor " + shown(tensor.name);
    if (tensor.type != kTensorF32 && tensor.type != kTensorF16)
        return refuse(error, name + " is of type " + std::to_string(tensor.type) + "; F32 and F16 are read");
    if (tensor.dims != 1 || tensor.count != pairs) {
        return refuse(error, name + " has " + std::to_string(tensor.dims) + " dimensions and the first is " +
                                 std::to_string(tensor.count) + "; it must have one, of " + std::to_string(pairs) +
                                 " pairs");
    }
    if (tensor.offset % header.alignment != 0)
        return refuse(error, name + " begins at byte " + std::to_string(tensor.offset) + ", which is not aligned to " +
                                 std::to_string(header.alignment));
    const uint64_t size = file->at() + file->left();
    std::vector<uint8_t> bytes(pairs * (tensor.type == kTensorF16 ? size_t{2} : size_t{4}));
    if (header.data > size || tensor.offset > size - header.data || bytes.size() > size - header.data - tensor.offset)
        return refuse(error, name + " lies outside the file");
    if (!file->readAt(header.data + tensor.offset, bytes.size(), bytes.data())) return refuse(error, file->problem());
    factors->resize(pairs);
    return decodeFactors(tensor, bytes, factors, error);
}

} // namespace

bool readHeader(Cursor* file, Header* header) {
    uint64_t tensors = 0, pairs = 0;
    if (!readVersion(file) || !file->number(&tensors) || !file->number(&pairs)) return false;
    // The shortest key has an empty name and a byte; the shortest tensor an empty name, no dimension, a type and an
    // offset.
    constexpr uint64_t kLeastPair = 8 + 4 + 1, kLeastTensor = 8 + 4 + 4 + 8;
    if (pairs > file->left() / kLeastPair || tensors > file->left() / kLeastTensor) {
        return file->fail("the header has " + std::to_string(pairs) + " keys and " + std::to_string(tensors) +
                          " tensors, which do not fit into the file");
    }
    while (pairs-- != 0) {
        if (!readKeyAndValue(file, header)) return false;
    }
    while (tensors-- != 0) {
        if (!readTensor(file, header)) return false;
    }
    const auto found = header->values.find("general.alignment");
    const double alignment = found == header->values.end()       ? 32
                             : found->second.numbers.size() == 1 ? found->second.numbers[0]
                                                                 : 0;
    if (!(alignment >= 1 && alignment <= 1 << 30) || std::exp2(std::ilogb(alignment)) != alignment)
        return file->fail("the header's 'general.alignment' must be a power of two");
    header->alignment = static_cast<uint64_t>(alignment);
    header->data = (file->at() + header->alignment - 1) / header->alignment * header->alignment;
    return true;
}

bool readFactorTensors(Cursor* file, const Header& header, const char* name, uint32_t pairs,
                       std::vector<double>* factors, std::string* error) {
    for (const FactorTensor& tensor : header.factors) {
        if (tensor.name != name) continue;
        std::vector<double> others;
        if (!readFactorTensor(file, header, tensor, pairs, &others, error)) return false;
        if (!factors->empty() && *factors != others)
            return refuse(error, std::string("the file has several tensors '") + name + "', and they differ");
        *factors = others;
    }
    return true;
}

} // namespace gguf
} // namespace rope
