#include "program/files/safetensors_index.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace rope {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxIndexBytes = kSafetensorsMaxHeaderBytes;

using Tensors = std::vector<std::pair<std::string, std::string>>;

bool readText(const std::string& path, std::string* text, std::string* problem) {
    InputFile file;
    if (!file.open(path, problem)) return false;
    if (file.size() > kMaxIndexBytes) {
        *problem = "it has " + std::to_string(file.size()) + " bytes; a list of tensors has at most " +
                   std::to_string(kMaxIndexBytes);
        return false;
    }
    text->resize(static_cast<size_t>(file.size()));
    return file.read(0, &(*text)[0], text->size(), problem);
}

// A file of the checkpoint lies in the list's folder or below it, so that no list reads from elsewhere.
bool isBeside(const fs::path& file) {
    return file.has_filename() && !file.has_root_path() && file.native().find('\0') == fs::path::string_type::npos &&
           std::find(file.begin(), file.end(), fs::path("..")) == file.end();
}

// Takes the list's JSON as it is parsed and keeps the map of tensors alone, so that a hostile list builds nothing
// larger.
class ListReader : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit ListReader(Tensors* tensors) : tensors_(tensors) {}
    const std::string& problem() const { return problem_; }
    bool hasMap() const { return has_map_; }

    bool null() override { return other(); }
    bool boolean(bool) override { return other(); }
    bool number_integer(number_integer_t) override { return other(); }
    bool number_unsigned(number_unsigned_t) override { return other(); }
    bool number_float(number_float_t, const string_t&) override { return other(); }
    bool binary(binary_t&) override { return other(); }

    bool string(string_t& text) override {
        if (!isInMap()) return true;
        const std::string tensor = "its tensor " + quotedText(key_, 96);
        if (!isBeside(text)) {
            return refuse(tensor + " has the file " + quotedText(text, 96) +
                          "; it must be a file's name, without .. and not from the root");
        }
        if (tensors_->size() == kSafetensorsMaxTensors)
            return refuse("it has more than " + std::to_string(kSafetensorsMaxTensors) + " tensors");
        tensors_->emplace_back(key_, text);
        return true;
    }

    bool key(string_t& text) override {
        if (isInMap()) key_ = text;
        if (depth_ == 1) at_map_ = text == "weight_map";
        return true;
    }

    bool start_object(size_t) override {
        if (!other()) return false;
        if (depth_ == 1 && at_map_ && has_map_) return refuse("it has \"weight_map\" twice");
        if (depth_ == 1) in_map_ = at_map_;
        has_map_ = has_map_ || in_map_;
        ++depth_;
        return true;
    }

    bool end_object() override {
        --depth_;
        return true;
    }

    bool start_array(size_t) override {
        if (depth_ == 0 || !other()) return false;
        if (depth_ == 1) in_map_ = false;
        ++depth_;
        return true;
    }

    bool end_array() override {
        --depth_;
        return true;
    }

    bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
        return refuse("it is no JSON from its byte " + std::to_string(position) +
                      " on; it must be an object with \"weight_map\", which says the file of each tensor");
    }

  private:
    bool isInMap() const { return depth_ == 2 && in_map_; }

    // A value that is no text names no file, and no map.
    bool other() {
        if (isInMap()) return refuse("its tensor " + quotedText(key_, 96) + " has no file's name");
        return true;
    }

    bool refuse(const std::string& sentence) {
        problem_ = sentence;
        return false;
    }

    Tensors* tensors_;
    std::string key_, problem_;
    size_t depth_ = 0;
    bool at_map_ = false, in_map_ = false, has_map_ = false; // `at`: behind its key
};

bool parseList(const std::string& text, Tensors* tensors, std::string* problem) {
    ListReader reader(tensors);
    const size_t zero = text.find('\0'); // the JSON's reader takes it for the end
    if (zero != text.npos) {
        *problem = "it is not JSON: byte " + std::to_string(zero) + " is a zero";
        return false;
    }
    if (!nlohmann::json::sax_parse(text, &reader) && !reader.problem().empty()) {
        *problem = reader.problem();
        return false;
    }
    if (!reader.hasMap()) {
        *problem = "it has no object \"weight_map\", which says the file of each tensor";
        return false;
    }
    std::sort(tensors->begin(), tensors->end());
    std::vector<const std::string*> names;
    for (const auto& tensor : *tensors) names.push_back(&tensor.first);
    const std::string* twice = findTwice(&names);
    if (twice != nullptr) *problem = "it has the tensor " + quotedText(*twice, 96) + " twice";
    return twice == nullptr;
}

} // namespace

bool SafetensorsIndex::open(const std::string& path, std::string* error) {
    std::string text, problem;
    try {
        if (!readText(path, &text, &problem) || !parseList(text, &tensors_, &problem))
            return refuseFile(path, problem, error);
        const fs::path folder = fs::path(path).parent_path();
        for (auto& tensor : tensors_) tensor.second = (folder / tensor.second).string();
        return true;
    } catch (const std::exception& e) {
        return refuseFile(path, e.what(), error);
    }
}

const SafetensorsEntry* SafetensorsIndex::find(size_t index, std::string* error) {
    const auto& [name, path] = tensors_[index];
    if (!file_ || opened_ != path) {
        file_ = std::make_unique<SafetensorsFile>();
        opened_.clear();
        if (!file_->open(path, error)) return nullptr;
        opened_ = path;
    }
    for (const SafetensorsEntry& entry : file_->header().tensors) {
        if (entry.name == name) return &entry;
    }
    refuseFile(path, "it has no tensor " + quotedText(name, 96) + ", which the list of tensors places here", error);
    return nullptr;
}

bool SafetensorsIndex::readHeader(size_t index, NpyArray* array, std::string* error) {
    const SafetensorsEntry* entry = find(index, error);
    if (entry != nullptr) *array = {entry->type, entry->shape, {}};
    return entry != nullptr;
}

bool SafetensorsIndex::read(size_t index, NpyArray* array, std::string* error) {
    const SafetensorsEntry* entry = find(index, error);
    return entry != nullptr && file_->read(*entry, array, error);
}

const SafetensorsMetadata& SafetensorsIndex::metadata() const {
    static const SafetensorsMetadata none;
    return file_ ? file_->header().metadata : none;
}

} // namespace rope
