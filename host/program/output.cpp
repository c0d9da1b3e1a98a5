#include "program/output.hpp"

#include "program/files/array_file.hpp"
#include "program/files/npy.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace tool {
namespace {

namespace fs = std::filesystem;

bool isSameFile(const std::string& a, const std::string& b) {
    std::error_code ignored;
    if (fs::equivalent(a, b, ignored)) return true;
    const fs::path left = fs::weakly_canonical(fs::absolute(rope::resolveLinks(a), ignored), ignored);
    const fs::path right = fs::weakly_canonical(fs::absolute(rope::resolveLinks(b), ignored), ignored);
    return !left.empty() && left == right;
}

ArrayPath placeOf(const PathOption& output) {
    if (output.holds == PathOption::Holds::drawing) return {ArrayPath::Kind::npy, output.path, ""};
    return output.name ? ArrayPath{kindOfFile(output.path), output.path, *output.name} : arrayPathOf(output.path);
}

// An output's array in a .safetensors is named as its option is, where the path gives no name: --q-out is q.
std::string nameOf(const PathOption& output) {
    const ArrayPath path = placeOf(output);
    if (output.name || !path.name.empty()) return path.name;
    std::string name = output.option.substr(output.option.find_first_not_of('-'));
    if (name.size() > 4 && name.compare(name.size() - 4, 4, "-out") == 0) name.resize(name.size() - 4);
    return name;
}

// Links to one file would be told apart when they are written, and one array would be lost.
bool mayShareFile(const PathOption& a, const PathOption& b) {
    const ArrayPath left = placeOf(a), right = placeOf(b);
    return left.kind == ArrayPath::Kind::safetensors && right.kind == left.kind && nameOf(a) != nameOf(b) &&
           fs::absolute(left.file).lexically_normal() == fs::absolute(right.file).lexically_normal();
}

// A file's ending must not promise another format than it gets.
bool checkEnding(const PathOption& output, const std::string& file, Failure* failure) {
    static const char* const kOthers[] = {".npz",  ".safetensors.index.json",
                                          ".json", ".txt",
                                          ".csv",  ".bin",
                                          ".pt",   ".pth",
                                          ".gguf", ".onnx",
                                          ".h5",   ".png",
                                          ".jpg",  ".pdf",
                                          ".html"};
    const bool drawing = output.holds == PathOption::Holds::drawing;
    const std::string right = drawing ? "a drawing is written to .svg" : "arrays are written to .npy and .safetensors";
    std::vector<std::string> others(std::begin(kOthers), std::end(kOthers));
    if (drawing) others.insert(others.end(), {".npy", ".safetensors"});
    if (!drawing) others.emplace_back(".svg");
    for (const std::string& other : others) {
        if (file.size() >= other.size() && file.compare(file.size() - other.size(), other.npos, other) == 0)
            return refuse(failure, output.option + " is " + output.path + "; " + right);
    }
    return output.path != "-" ||
           refuse(failure, output.option + " is -, and nothing is written to standard output; " + right);
}

// A rename onto a device or a pipe would replace it, so only regular files are outputs.
bool checkOutput(const PathOption& output, Failure* failure) {
    std::error_code ignored;
    if (output.path.empty()) return refuse(failure, output.option + " is empty; it takes the path of a file");
    const ArrayPath path = placeOf(output);
    const fs::file_status status = fs::status(path.file, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status))
        return refuse(failure, output.option + " is " + output.path + ", which is no file; outputs are files");
    if (!checkEnding(output, path.file, failure)) return false;
    const std::string problem = path.kind == ArrayPath::Kind::safetensors ? rope::whyNoTensorName(nameOf(output)) : "";
    if (!problem.empty()) return refuse(failure, output.option + " is " + output.path + "; " + problem);
    const std::string target = rope::resolveLinks(path.file);
    if (target.empty())
        return refuse(failure,
                      output.option + " is " + output.path + ", a link that leads to no file; outputs are files");
    const fs::path folder = fs::path(target).parent_path();
    if (!folder.empty() && !fs::is_directory(folder, ignored))
        return refuse(failure, output.option + " is " + output.path + ", but there is no folder " + folder.string());
    return true;
}

bool isNameUnknown(const PathOption& output) { return output.name && output.name->empty(); }

bool refuseLoss(const PathOption& output, const std::vector<std::string>& lost, Failure* failure) {
    constexpr size_t kNamesShown = 3;
    std::string names;
    for (size_t i = 0; i < std::min(lost.size(), kNamesShown); ++i)
        names += (i == 0 ? "" : ", ") + rope::quotedText(lost[i], 96);
    if (lost.size() > kNamesShown) names += " and " + std::to_string(lost.size() - kNamesShown) + " more";
    return refuse(failure, output.option + " would replace " + placeOf(output).file + ", and its " +
                               (lost.size() == 1 ? "tensor " : "tensors ") + names +
                               " would be lost; name another file, or delete it first");
}

// `written` are the names of all tensors that the output's file gets.
bool checkReplaced(const PathOption& output, const std::set<std::string>& written, Failure* failure) {
    std::error_code ignored;
    const std::string file = placeOf(output).file;
    if (!fs::exists(file, ignored) || fs::file_size(file, ignored) == 0) return true;
    rope::SafetensorsFile before;
    std::string error;
    if (!before.open(file, &error)) {
        return refuse(failure, output.option + " would replace " + error +
                                   "; what it holds is not known, so name another file, or delete it first");
    }
    std::vector<std::string> lost;
    for (const rope::SafetensorsEntry& entry : before.header().tensors) {
        if (written.count(entry.name) == 0) lost.push_back(entry.name);
    }
    return lost.empty() || refuseLoss(output, lost, failure);
}

} // namespace

bool checkNothingLost(const std::vector<PathOption>& outputs, Failure* failure) {
    std::map<std::string, std::set<std::string>> written; // by the file
    const auto isCollected = [](const PathOption& output) {
        return placeOf(output).kind == ArrayPath::Kind::safetensors;
    };
    const auto fileOf = [](const PathOption& output) {
        return fs::absolute(placeOf(output).file).lexically_normal().string();
    };
    for (const PathOption& output : outputs) {
        if (isCollected(output)) written[fileOf(output)].insert(nameOf(output));
    }
    for (const PathOption& output : outputs) {
        if (!isCollected(output)) continue;
        const auto names = written.find(fileOf(output));
        if (names == written.end()) continue; // it is checked already
        if (!checkReplaced(output, names->second, failure)) return false;
        written.erase(names);
    }
    return true;
}

bool checkPaths(const std::vector<PathOption>& inputs, const std::vector<PathOption>& outputs, Failure* failure) {
    std::vector<PathOption> before;
    for (const PathOption& output : outputs) {
        if (!checkOutput(output, failure)) return false;
        const std::string file = placeOf(output).file;
        for (const PathOption& input : inputs) {
            // A file of several arrays would lose the others.
            const bool its_own =
                input.path == output.may_replace && arrayPathOf(input.path).kind == ArrayPath::Kind::npy;
            if (input.path.empty() || its_own) continue;
            const std::vector<std::string> read = filesOf(input.path);
            if (std::any_of(read.begin(), read.end(), [&file](const std::string& at) { return isSameFile(file, at); }))
                return refuse(failure, output.option + " would overwrite " + file + ", which " + input.option +
                                           " reads; give it a path of its own");
        }
        for (const PathOption& other : before) {
            if (isSameFile(file, placeOf(other).file) && !mayShareFile(output, other))
                return refuse(failure, output.option + " and " + other.option + " are the same file, " + output.path +
                                           "; give each a path of its own");
        }
        before.push_back(output);
    }
    return std::any_of(outputs.begin(), outputs.end(), isNameUnknown) || checkNothingLost(outputs, failure);
}

bool writeFiles(const std::vector<OutputFile>& outputs, Failure* failure) {
    std::vector<rope::FileToWrite> files;
    for (const OutputFile& output : outputs) files.push_back({output.file.path, output.write});
    size_t failed = 0;
    std::string error;
    return rope::replaceFiles(files, &failed, &error) || refuse(failure, outputs[failed].file.option + ": " + error);
}

bool writeArrays(const std::vector<OutputArray>& outputs, Failure* failure, const rope::SafetensorsMetadata& metadata) {
    std::vector<OutputFile> files;
    std::vector<std::vector<rope::NamedArray>> tensors; // of each file
    for (const OutputArray& output : outputs) {
        const std::string path = placeOf(output.file).file;
        const auto same = std::find_if(files.begin(), files.end(),
                                       [&path](const OutputFile& file) { return isSameFile(file.file.path, path); });
        const size_t at = static_cast<size_t>(same - files.begin());
        if (same == files.end()) {
            files.push_back({{output.file.option, path, ""}, rope::npyToWrite(path, output.array).write});
            tensors.emplace_back();
        }
        tensors[at].push_back({nameOf(output.file), &output.array});
    }
    for (size_t i = 0; i < files.size(); ++i) {
        const std::string& path = files[i].file.path;
        if (kindOfFile(path) == ArrayPath::Kind::safetensors)
            files[i].write = rope::safetensorsToWrite(path, std::move(tensors[i]), metadata).write;
    }
    return writeFiles(files, failure);
}

bool writeText(const PathOption& file, const std::string& text, Failure* failure) {
    const auto write = [&text](const rope::PutBytes& put, std::string*) { return put(text.data(), text.size()); };
    return writeFiles({{file, write}}, failure);
}

} // namespace tool
