#include "program/output.hpp"

#include "program/files/arrays.hpp"
#include "program/files/new_file.hpp"
#include "program/files/npy.hpp"

#include <filesystem>

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

// A file's ending must not promise another format than it gets.
bool checkEnding(const PathOption& output, Failure* failure) {
    const std::string& path = output.path;
    const std::string other = whyNoNpy(path);
    if (!other.empty()) return refuse(failure, output.option + " is " + path + "; " + other);
    for (const std::string ending : {".json", ".txt", ".csv", ".bin", ".pt", ".pth", ".gguf", ".onnx", ".h5", ".png",
                                     ".jpg", ".pdf", ".html", ".svg"}) {
        if (path.size() >= ending.size() && path.compare(path.size() - ending.size(), ending.npos, ending) == 0)
            return refuse(failure, output.option + " is " + path + "; arrays are written to .npy");
    }
    return path != "-" ||
           refuse(failure, output.option + " is -, and nothing is written to standard output; arrays are "
                                           "written to .npy");
}

// A rename onto a device or a pipe would replace it, so only regular files are outputs.
bool checkOutput(const PathOption& output, Failure* failure) {
    std::error_code ignored;
    const std::string is = output.option + " is " + output.path;
    const fs::file_status status = fs::status(output.path, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status))
        return refuse(failure, is + ", which is no file; outputs are files");
    if (!checkEnding(output, failure)) return false;
    const std::string target = rope::resolveLinks(output.path);
    if (target.empty()) return refuse(failure, is + ", a link that leads to no file; outputs are files");
    const fs::path folder = fs::path(target).parent_path();
    return folder.empty() || fs::is_directory(folder, ignored) ||
           refuse(failure, is + ", but there is no folder " + folder.string());
}

} // namespace

bool checkPaths(const std::vector<PathOption>& inputs, const std::vector<PathOption>& outputs, Failure* failure) {
    for (size_t i = 0; i < outputs.size(); ++i) {
        const PathOption& output = outputs[i];
        if (!checkOutput(output, failure)) return false;
        for (const PathOption& input : inputs) {
            if (input.path.empty() || input.path == output.may_replace || !isSameFile(output.path, input.path))
                continue;
            return refuse(failure, output.option + " would overwrite " + output.path + ", which " + input.option +
                                       " reads; give it a path of its own");
        }
        for (size_t other = 0; other < i; ++other) {
            if (isSameFile(output.path, outputs[other].path))
                return refuse(failure, output.option + " and " + outputs[other].option + " are the same file, " +
                                           output.path + "; give each a path of its own");
        }
    }
    return true;
}

bool writeArrays(const std::vector<OutputArray>& outputs, Failure* failure) {
    for (const OutputArray& output : outputs) {
        std::string error;
        if (!rope::writeNpy(output.file.path, output.array, &error))
            return refuse(failure, output.file.option + ": " + error);
    }
    return true;
}

} // namespace tool
