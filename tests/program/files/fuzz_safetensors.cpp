// Any bytes are either refused with one sentence, or give tensors that are the same after they were written and read
// again. As a list of parts they are refused or give names.
#include "program/files/safetensors_index.hpp"
#include "support/folder.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

bool isSentence(const std::string& error, const std::string& path) {
    return error.compare(0, path.size() + 2, path + ": ") == 0 && error.size() > path.size() + 2;
}

// Reads all tensors, in the order of their names.
std::vector<rope::NpyArray> readAll(rope::SafetensorsFile* file, std::vector<std::string>* names) {
    std::vector<rope::SafetensorsEntry> entries = file->header().tensors;
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    std::vector<rope::NpyArray> arrays(entries.size());
    std::string error;
    for (size_t i = 0; i < entries.size(); ++i) {
        require(file->read(entries[i], &arrays[i], &error));
        names->push_back(entries[i].name);
    }
    return arrays;
}

// A part of a checkpoint, with one tensor, that a list of parts may name.
void writePart(const std::string& path) {
    const rope::NpyArray array = {rope::NpyArray::Type::f32, {2}, {0, 0, 128, 63, 0, 0, 0, 64}};
    std::string error;
    size_t failed = 0;
    require(rope::replaceFiles({rope::safetensorsToWrite(path, {{"a", &array}}, {{"format", "pt"}})}, &failed, &error));
}

// Reads what a list of parts names.
void readParts(rope::SafetensorsIndex* index) {
    std::string error;
    for (size_t i = 0; i < index->tensors().size(); ++i) {
        const std::string& part = index->tensors()[i].second;
        rope::NpyArray header, array;
        const bool there = index->readHeader(i, &header, &error);
        require(there || isSentence(error, part));
        require(index->read(i, &array, &error) == there && (there || isSentence(error, part)));
        require(!there || (header.shape == array.shape && header.type == array.type && header.data.empty()));
    }
    (void)index->metadata();
}

} // namespace

void fuzzSafetensors(const uint8_t* bytes, size_t size) {
    static const Folder folder;
    static const bool has_part = (writePart(folder / "part.safetensors"), true);
    require(has_part);
    const std::string path = folder / "in.safetensors", copy = folder / "out.safetensors";
    std::FILE* stream = std::fopen(path.c_str(), "wb");
    require(stream != nullptr && (size == 0 || std::fwrite(bytes, 1, size, stream) == size));
    std::fclose(stream);

    std::string error;
    rope::SafetensorsIndex index;
    require(index.open(path, &error) || isSentence(error, path));
    readParts(&index);
    rope::SafetensorsFile file, again;
    if (!file.open(path, &error)) return require(isSentence(error, path));
    std::vector<std::string> names, written_names;
    const std::vector<rope::NpyArray> arrays = readAll(&file, &names);
    std::vector<rope::NamedArray> tensors;
    size_t total = 0, failed = 0;
    for (size_t i = 0; i < arrays.size(); ++i) {
        tensors.push_back({names[i], &arrays[i]});
        total += arrays[i].data.size();
    }
    require(total <= size);
    require(rope::replaceFiles({rope::safetensorsToWrite(copy, tensors, file.header().metadata)}, &failed, &error));
    require(again.open(copy, &error) && again.header().metadata == file.header().metadata);
    const std::vector<rope::NpyArray> written = readAll(&again, &written_names);
    require(written_names == names);
    for (size_t i = 0; i < arrays.size(); ++i)
        require(written[i].type == arrays[i].type && written[i].shape == arrays[i].shape &&
                written[i].data == arrays[i].data);
}

#ifdef VKROPE_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    fuzzSafetensors(bytes, size);
    return 0;
}
#endif
