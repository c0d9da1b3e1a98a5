#include "program/files/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace rope {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxMetadata = 1 << 16;
constexpr char kMetadata[] = "__metadata__";
constexpr char kTensor[] = "; a tensor is as {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [0, 24]}";

bool refuseHeader(const std::string& sentence, std::string* error) {
    if (error != nullptr) *error = sentence;
    return false;
}

// Takes the header's JSON as it is parsed and keeps the tensors alone, so that a hostile header builds nothing larger.
class HeaderReader : public nlohmann::json_sax<Json> {
  public:
    explicit HeaderReader(SafetensorsHeader* header) : header_(header) {}
    const std::string& problem() const { return problem_; }

    bool null() override { return misplaced("null"); }
    bool boolean(bool) override { return misplaced("true or false"); }
    bool number_integer(number_integer_t) override { return misplaced("a negative number"); }
    bool number_float(number_float_t, const string_t&) override { return misplaced("a number that is no count"); }
    bool binary(binary_t&) override { return misplaced("binary data"); }

    bool number_unsigned(number_unsigned_t value) override {
        if (place_ != Place::list) return misplaced("a number");
        const size_t most = isKey("shape") ? kArrayMaxRank : 2;
        if (numbers_.size() == most) return tooMany();
        numbers_.push_back(value);
        return true;
    }

    bool string(string_t& text) override {
        if (place_ == Place::metadata) {
            if (header_->metadata.size() == kMaxMetadata)
                return refuse(where() + " has more than " + std::to_string(kMaxMetadata) + " entries");
            return header_->metadata.emplace(key_, text).second || refuse(where() + " has " + quoted(key_) + " twice");
        }
        if (place_ != Place::tensor || !isKey("dtype")) return misplaced("a string");
        for (const ArrayType& type : kArrayTypes) {
            if (text != type.safetensors) continue;
            tensor_.type = type.type;
            return true;
        }
        return refuse(where() + " has the dtype " + quoted(text) + ", which is not known; " + knownTypes() + " are");
    }

    bool start_object(size_t) override {
        if (place_ == Place::start) {
            place_ = Place::top;
        } else if (place_ == Place::top) {
            place_ = key_ == kMetadata ? Place::metadata : Place::tensor;
            tensor_ = {};
            tensor_.name = key_;
            have_ = {};
        } else {
            return misplaced("an object");
        }
        return true;
    }

    bool key(string_t& text) override {
        key_ = text;
        if (place_ != Place::tensor) return true;
        for (size_t i = 0; i < have_.size(); ++i) {
            // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): version 14 does not see the constant
            if (text != kKeys[i]) continue;
            if (have_[i]) return refuse(where() + " has " + quoted(text) + " twice");
            return have_[i] = true;
        }
        return refuse(where() + " has the unknown key " + quoted(text));
    }

    bool end_object() override {
        if (place_ == Place::top) return true;
        if (place_ == Place::tensor) {
            for (size_t i = 0; i < have_.size(); ++i) {
                // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): version 14 does not see the constant
                if (!have_[i]) return refuse(where() + " has no '" + kKeys[i] + "'");
            }
            if (header_->tensors.size() == kSafetensorsMaxTensors)
                return refuse("the header has more than " + std::to_string(kSafetensorsMaxTensors) + " tensors");
            header_->tensors.push_back(std::move(tensor_));
        } else if (have_metadata_) {
            return refuse(std::string("the header has '") + kMetadata + "' twice");
        }
        have_metadata_ = have_metadata_ || place_ == Place::metadata;
        place_ = Place::top;
        return true;
    }

    bool start_array(size_t) override {
        if (place_ != Place::tensor || isKey("dtype")) return misplaced("a list");
        place_ = Place::list;
        numbers_.clear();
        return true;
    }

    bool end_array() override {
        place_ = Place::tensor;
        if (isKey("shape")) {
            tensor_.shape = numbers_;
            return true;
        }
        if (numbers_.size() != 2) return refuse(where() + " has 'data_offsets' of other than two numbers");
        tensor_.begin = numbers_[0];
        tensor_.end = numbers_[1];
        return true;
    }

    bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
        return refuse("the header is no JSON from its byte " + std::to_string(position) + " on");
    }

  private:
    enum class Place { start, top, metadata, tensor, list };
    static constexpr const char* kKeys[3] = {"dtype", "shape", "data_offsets"};

    static std::string quoted(const std::string& text) { return quotedText(text, 96); }
    static std::string knownTypes() {
        std::string text;
        for (const ArrayType& type : kArrayTypes) text += (text.empty() ? "" : ", ") + std::string(type.safetensors);
        return text;
    }
    bool isKey(const char* name) const { return key_ == name; }
    std::string where() const {
        return place_ == Place::metadata ? "the header's metadata" : "the tensor " + quoted(tensor_.name);
    }

    bool refuse(const std::string& sentence) {
        problem_ = sentence;
        return false;
    }

    bool tooMany() {
        return refuse(where() + (isKey("shape") ? " has more than " + std::to_string(kArrayMaxRank) + " dimensions"
                                                : " has 'data_offsets' of other than two numbers"));
    }

    bool misplaced(const char* what) {
        if (place_ == Place::start) return refuse("the header is no JSON object");
        if ((place_ == Place::tensor || place_ == Place::list) && isKey("shape")) {
            return refuse(where() + " has " + what +
                          " at 'shape'; a shape is a list of counts, such as [2, 3], or [] "
                          "for a single element");
        }
        const bool of_metadata = place_ == Place::metadata || (place_ == Place::top && key_ == kMetadata);
        const std::string right = of_metadata ? "; metadata are an object of strings" : kTensor;
        if (place_ == Place::top) return refuse("the header's " + quoted(key_) + " is " + what + right);
        return refuse(where() + " has " + what + " at " + quoted(key_) + right);
    }

    SafetensorsHeader* header_;
    SafetensorsEntry tensor_;
    Place place_ = Place::start;
    std::string key_, problem_;
    std::vector<uint64_t> numbers_;
    std::array<bool, 3> have_ = {};
    bool have_metadata_ = false;
};

std::string named(const SafetensorsEntry& tensor) { return "the tensor " + quotedText(tensor.name, 96); }

// The shape must ask for the bytes between the offsets.
bool checkSize(const SafetensorsEntry& tensor, std::string* error) {
    uint64_t wanted = 0;
    if (!countArrayBytes(tensor.shape, tensor.type, &wanted))
        return refuseHeader(named(tensor) + " has a shape that asks for no whole bytes, or for more than 63 bits count",
                            error);
    if (tensor.end >= tensor.begin && tensor.end - tensor.begin == wanted) return true;
    return refuseHeader(named(tensor) + " takes " + std::to_string(wanted) +
                            " bytes by its shape, but its offsets are " + std::to_string(tensor.begin) + " to " +
                            std::to_string(tensor.end),
                        error);
}

bool checkNames(const std::vector<SafetensorsEntry>& tensors, std::string* error) {
    std::vector<const std::string*> names;
    for (const SafetensorsEntry& tensor : tensors) names.push_back(&tensor.name);
    const std::string* twice = findTwice(&names);
    return twice == nullptr || refuseHeader("the header has the tensor " + quotedText(*twice, 96) + " twice", error);
}

// The tensors follow each other from the first byte of the data to the last.
bool checkPlaces(const std::vector<SafetensorsEntry>& tensors, uint64_t data_bytes, std::string* error) {
    uint64_t end = 0;
    for (const SafetensorsEntry& tensor : tensors) {
        if (tensor.end > data_bytes) {
            return refuseHeader(named(tensor) + " ends at byte " + std::to_string(tensor.end) +
                                    " of the data, and the file has " + std::to_string(data_bytes),
                                error);
        }
        if (tensor.begin != end) {
            return refuseHeader(named(tensor) + " begins at byte " + std::to_string(tensor.begin) +
                                    " of the data, and the tensor before it ends at " + std::to_string(end),
                                error);
        }
        end = tensor.end;
    }
    return end == data_bytes || refuseHeader("the tensors end at byte " + std::to_string(end) +
                                                 " of the data, and the file has " + std::to_string(data_bytes),
                                             error);
}

bool openHeader(InputFile* file, SafetensorsHeader* header, uint64_t* data_offset, std::string* problem) {
    uint8_t bytes[kLengthBytes];
    if (file->size() < kLengthBytes) return refuseHeader("this is no .safetensors file", problem);
    if (!file->read(0, bytes, sizeof bytes, problem)) return false;
    uint64_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) length |= uint64_t{bytes[i]} << (8 * i);
    const uint64_t there = file->size() - kLengthBytes;
    if (length > there || length > kSafetensorsMaxHeaderBytes) {
        return refuseHeader("this is no .safetensors file: its header would be of " + std::to_string(length) +
                                " bytes, and " +
                                (length > there ? "the file has " + std::to_string(there)
                                                : "at most " + std::to_string(kSafetensorsMaxHeaderBytes) + " are"),
                            problem);
    }
    std::vector<uint8_t> text(static_cast<size_t>(length));
    *data_offset = kLengthBytes + length;
    return file->read(kLengthBytes, text.data(), text.size(), problem) &&
           parseSafetensorsHeader(text.data(), text.size(), there - length, header, problem);
}

bool formatHeader(const std::vector<NamedArray>& tensors, const SafetensorsMetadata& metadata, std::string* text,
                  std::string* why) {
    Json header = Json::object();
    for (const NamedArray& tensor : tensors) {
        const std::string problem = whyNoTensorName(tensor.name);
        if (!problem.empty()) return refuseHeader("it is not written: " + problem, why);
    }
    if (!metadata.empty()) header[kMetadata] = metadata;
    uint64_t end = 0;
    for (const NamedArray& tensor : tensors) {
        const uint64_t begin = end;
        end += tensor.array->data.size();
        header[tensor.name] = {{"dtype", arrayTypeOf(tensor.array->type).safetensors},
                               {"shape", tensor.array->shape},
                               {"data_offsets", {begin, end}}};
    }
    std::string json = header.dump();
    json.append((kLengthBytes - json.size() % kLengthBytes) % kLengthBytes, ' ');
    for (size_t i = 0; i < kLengthBytes; ++i) *text += static_cast<char>(json.size() >> (8 * i) & 255);
    *text += json;
    return true;
}

// The data's order of bytes is the little-endian one.
bool putData(const NpyArray& array, const PutBytes& put) {
    if (hostIsLittleEndian()) return put(array.data.data(), array.data.size());
    NpyArray swapped = array;
    swapArrayBytes(&swapped);
    return put(swapped.data.data(), swapped.data.size());
}

} // namespace

bool parseSafetensorsHeader(const uint8_t* text, size_t size, uint64_t data_bytes, SafetensorsHeader* header,
                            std::string* error) try {
    *header = {};
    HeaderReader reader(header);
    const uint8_t* const zero = std::find(text, text + size, 0); // the JSON's reader takes it for the end
    if (zero != text + size)
        return refuseHeader("the header is not JSON: its byte " + std::to_string(zero - text) + " is a zero", error);
    if (!Json::sax_parse(text, text + size, &reader)) return refuseHeader(reader.problem(), error);
    std::vector<SafetensorsEntry>& tensors = header->tensors;
    if (!std::all_of(tensors.begin(), tensors.end(),
                     [error](const SafetensorsEntry& tensor) { return checkSize(tensor, error); }))
        return false;
    std::stable_sort(tensors.begin(), tensors.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    return checkNames(tensors, error) && checkPlaces(tensors, data_bytes, error);
} catch (const std::bad_alloc&) {
    return refuseHeader("there is not enough memory for the header", error);
}

bool SafetensorsFile::open(const std::string& path, std::string* error) {
    std::string problem;
    path_ = path;
    try {
        if (file_.open(path, &problem) && openHeader(&file_, &header_, &data_offset_, &problem)) return true;
    } catch (const std::exception& e) {
        problem = e.what();
    }
    return refuseFile(path, problem, error);
}

bool SafetensorsFile::read(const SafetensorsEntry& entry, NpyArray* array, std::string* error) {
    std::string problem;
    try {
        array->type = entry.type;
        array->shape = entry.shape;
        array->data.resize(static_cast<size_t>(entry.end - entry.begin));
        if (!file_.read(data_offset_ + entry.begin, array->data.data(), array->data.size(), &problem))
            return refuseFile(path_, problem, error);
        if (!hostIsLittleEndian()) swapArrayBytes(array);
        return true;
    } catch (const std::exception&) { // bad_alloc or length_error
        return refuseFile(path_, "there is not enough memory for " + named(entry), error);
    }
}

std::string whyNoTensorName(const std::string& name) try {
    if (name == kMetadata) return std::string("no tensor can have the name '") + kMetadata + "'";
    Json(name).dump();
    return "";
} catch (const nlohmann::json::exception&) {
    return "a tensor cannot have the name " + quotedText(name, 96) + ", which is no UTF-8";
}

FileToWrite safetensorsToWrite(const std::string& path, std::vector<NamedArray> tensors,
                               const SafetensorsMetadata& metadata) {
    std::stable_sort(tensors.begin(), tensors.end(), [](const NamedArray& a, const NamedArray& b) {
        return arrayTypeOf(a.array->type).bits > arrayTypeOf(b.array->type).bits;
    });
    return {path, [tensors, metadata](const PutBytes& put, std::string* why) {
                std::string header;
                if (!formatHeader(tensors, metadata, &header, why)) return false;
                return put(header.data(), header.size()) &&
                       std::all_of(tensors.begin(), tensors.end(),
                                   [&put](const NamedArray& tensor) { return putData(*tensor.array, put); });
            }};
}

} // namespace rope
