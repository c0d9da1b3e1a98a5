#include "program/files/array_file.hpp"

#include "program/files/npy.hpp"
#include "program/files/npz.hpp"
#include "program/files/safetensors_index.hpp"
#include "program/nearest_names.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

namespace tool {
namespace {

namespace fs = std::filesystem;

using rope::NpyArray;

class NpySet : public ArraySet {
  public:
    explicit NpySet(const std::string& path) : path_(path) { names_ = {""}; }
    bool readHeader(size_t, NpyArray* array, std::string* error) override {
        return rope::readNpy(path_, array, error, rope::NpyPart::header);
    }
    bool read(size_t, NpyArray* array, std::string* error) override { return rope::readNpy(path_, array, error); }

  private:
    std::string path_;
};

class NpzSet : public ArraySet {
  public:
    bool open(const std::string& path, std::string* error) {
        if (!file_.open(path, error)) return false;
        for (const rope::NpzMember& member : file_.members()) names_.push_back(member.name);
        return true;
    }
    bool readHeader(size_t index, NpyArray* array, std::string* error) override {
        return file_.read(file_.members()[index], array, error, rope::NpyPart::header);
    }
    bool read(size_t index, NpyArray* array, std::string* error) override {
        return file_.read(file_.members()[index], array, error);
    }

  private:
    rope::NpzFile file_;
};

class SafetensorsSet : public ArraySet {
  public:
    bool open(const std::string& path, std::string* error) {
        if (!file_.open(path, error)) return false;
        for (const rope::SafetensorsEntry& entry : file_.header().tensors) names_.push_back(entry.name);
        return true;
    }
    bool readHeader(size_t index, NpyArray* array, std::string*) override {
        const rope::SafetensorsEntry& entry = file_.header().tensors[index];
        *array = {entry.type, entry.shape, {}};
        return true;
    }
    bool read(size_t index, NpyArray* array, std::string* error) override {
        return file_.read(file_.header().tensors[index], array, error);
    }
    rope::SafetensorsMetadata metadata() const override { return file_.header().metadata; }

  private:
    rope::SafetensorsFile file_;
};

class IndexSet : public ArraySet {
  public:
    bool open(const std::string& path, std::string* error) {
        if (!file_.open(path, error)) return false;
        for (const auto& tensor : file_.tensors()) names_.push_back(tensor.first);
        return true;
    }
    bool readHeader(size_t index, NpyArray* array, std::string* error) override {
        return file_.readHeader(index, array, error);
    }
    bool read(size_t index, NpyArray* array, std::string* error) override { return file_.read(index, array, error); }
    rope::SafetensorsMetadata metadata() const override { return file_.metadata(); }

  private:
    rope::SafetensorsIndex file_;
};

template <typename Set> std::unique_ptr<ArraySet> opened(const std::string& path, std::string* error) {
    auto set = std::make_unique<Set>();
    return set->open(path, error) ? std::move(set) : nullptr;
}

bool matches(const std::string& name, const std::string& pattern) {
    const size_t star = pattern.find('*');
    if (star == pattern.npos) return name == pattern;
    if (name.compare(0, star, pattern, 0, star) != 0) return false;
    // Each text between two stars is taken where it comes first, and the last one at the end.
    size_t at = star;
    for (size_t from = star + 1;;) {
        const size_t next = pattern.find('*', from);
        const std::string text = pattern.substr(from, next - from);
        if (next == pattern.npos)
            return name.size() - at >= text.size() && name.compare(name.size() - text.size(), text.npos, text) == 0;
        const size_t found = name.find(text, at);
        if (found == name.npos) return false;
        at = found + text.size();
        from = next + 1;
    }
}

bool refuseName(const std::string& option, const ArrayPath& path, const ArraySet& set, Failure* failure) {
    const std::string where = option + ": " + path.file, count = std::to_string(set.names().size());
    if (set.names().empty()) return refuse(failure, where + " holds no array");
    const std::string names = nearestNames(set.names(), path.name);
    if (path.name.empty())
        return refuse(failure, where + " holds " + count + " arrays; " + path.file + ":NAME says which, of " + names);
    return refuse(failure, where + " has no array " + rope::quotedText(path.name, 96) + "; it has " + names);
}

// A folder that is there tells that the colon in its name divides nothing.
bool isInColonFolder(const std::string& file) {
    std::error_code ignored;
    const fs::path folder = fs::path(file).parent_path();
    return folder.string().find(':') != std::string::npos && fs::is_directory(folder, ignored);
}

} // namespace

const char kArrayFilesHelp[] =
    "Arrays are read from .npy, from .npz without compression and from .safetensors. FILE.npz:NAME and\n"
    "FILE.safetensors:NAME choose one of several, and so does model.safetensors.index.json:NAME of a checkpoint\n"
    "in parts. Arrays are written to .npy and .safetensors; options that name one .safetensors share it, and\n"
    "without :NAME each array is named as its option is: q, k, cos, sin, out. A .safetensors that is there is\n"
    "replaced as a whole, and refused if it holds tensors of other names.\n\n";

ArrayPath::Kind kindOfFile(const std::string& file) {
    const struct {
        std::string ending;
        ArrayPath::Kind kind;
    } kinds[] = {{".safetensors.index.json", ArrayPath::Kind::index},
                 {".safetensors", ArrayPath::Kind::safetensors},
                 {".npz", ArrayPath::Kind::npz}};
    for (const auto& [ending, kind] : kinds) {
        if (file.size() > ending.size() && file.compare(file.size() - ending.size(), ending.npos, ending) == 0)
            return kind;
    }
    return ArrayPath::Kind::npy;
}

ArrayPath arrayPathOf(const std::string& text) {
    std::error_code ignored;
    const ArrayPath whole = {kindOfFile(text), text, ""};
    if (fs::exists(text, ignored)) return whole;
    std::optional<ArrayPath> first;
    for (size_t colon = text.find(':'); colon != text.npos; colon = text.find(':', colon + 1)) {
        const ArrayPath cut = {kindOfFile(text.substr(0, colon)), text.substr(0, colon), text.substr(colon + 1)};
        if (cut.kind == ArrayPath::Kind::npy) continue;
        if (fs::exists(cut.file, ignored) || isInColonFolder(cut.file)) return cut;
        if (!first) first = cut;
    }
    return isInColonFolder(text) ? whole : first.value_or(whole);
}

std::unique_ptr<ArraySet> openArrays(const std::string& option, const ArrayPath& path, Failure* failure) {
    std::string error;
    std::unique_ptr<ArraySet> set;
    switch (path.kind) {
    case ArrayPath::Kind::npy:
        return std::make_unique<NpySet>(path.file);
    case ArrayPath::Kind::npz:
        set = opened<NpzSet>(path.file, &error);
        break;
    case ArrayPath::Kind::safetensors:
        set = opened<SafetensorsSet>(path.file, &error);
        break;
    case ArrayPath::Kind::index:
        set = opened<IndexSet>(path.file, &error);
        break;
    }
    if (!set) refuse(failure, option + ": " + error);
    return set;
}

std::vector<std::string> filesOf(const std::string& text) {
    const ArrayPath path = arrayPathOf(text);
    std::vector<std::string> files = {path.file};
    rope::SafetensorsIndex index;
    if (path.kind == ArrayPath::Kind::index && index.open(path.file, nullptr)) {
        for (const auto& tensor : index.tensors()) files.push_back(tensor.second);
    }
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    return files;
}

bool findArray(const std::string& option, const ArrayPath& path, const ArraySet& set, size_t* index, Failure* failure) {
    const std::vector<std::string>& names = set.names();
    const auto found =
        path.name.empty() && names.size() == 1 ? names.begin() : std::find(names.begin(), names.end(), path.name);
    if (found == names.end() || (path.name.empty() && names.size() != 1)) return refuseName(option, path, set, failure);
    *index = static_cast<size_t>(found - names.begin());
    return true;
}

bool findArrays(const std::string& option, const ArrayPath& path, const ArraySet& set, std::vector<size_t>* indices,
                Failure* failure) {
    for (size_t i = 0; i < set.names().size() && path.name.find('*') != path.name.npos; ++i) {
        if (matches(set.names()[i], path.name)) indices->push_back(i);
    }
    if (!indices->empty()) return true;
    indices->resize(1);
    return findArray(option, path, set, indices->data(), failure);
}

bool readArrayFile(const std::string& option, const std::string& path, const ArrayCheck& check, NpyArray* array,
                   Failure* failure) {
    const ArrayPath place = arrayPathOf(path);
    const std::unique_ptr<ArraySet> set = openArrays(option, place, failure);
    size_t index = 0;
    std::string error;
    if (!set || !findArray(option, place, *set, &index, failure)) return false;
    if (!set->readHeader(index, array, &error)) return refuse(failure, option + ": " + error);
    if (!check(*array, failure)) return false;
    return set->read(index, array, &error) || refuse(failure, option + ": " + error);
}

} // namespace tool
