#include "tool/output.hpp"

#include <filesystem>
#include <fstream>

namespace tool {
namespace {

namespace fs = std::filesystem;

// Follows links to the file that they lead to, which need not exist, so that a link stays a link. The result is empty
// if links form a circle.
std::string resolveLinks(const std::string& path) {
    std::error_code failed;
    fs::path at = path;
    for (int links = 0; fs::is_symlink(fs::symlink_status(at, failed)); ++links) {
        const fs::path to = fs::read_symlink(at, failed);
        if (failed || links == 40) return "";
        at = to.is_absolute() ? to : at.parent_path() / to;
    }
    return at.string();
}

bool isSameFile(const std::string& a, const std::string& b) {
    std::error_code ignored;
    if (fs::equivalent(a, b, ignored)) return true;
    const fs::path left = fs::weakly_canonical(fs::absolute(resolveLinks(a), ignored), ignored);
    const fs::path right = fs::weakly_canonical(fs::absolute(resolveLinks(b), ignored), ignored);
    return !left.empty() && left == right;
}

// A rename onto a device or a pipe would replace it, so only regular files are outputs.
bool checkOutput(const PathOption& output, Failure* failure) {
    std::error_code ignored;
    const fs::file_status status = fs::status(output.path, ignored);
    if (output.path.empty()) return refuse(failure, output.option + " is empty; it takes the path of a file");
    if (fs::exists(status) && !fs::is_regular_file(status))
        return refuse(failure, output.option + " is " + output.path + ", which is no file; outputs are files");
    const std::string target = resolveLinks(output.path);
    if (target.empty())
        return refuse(failure,
                      output.option + " is " + output.path + ", a link that leads to no file; outputs are files");
    const fs::path folder = fs::path(target).parent_path();
    if (!folder.empty() && !fs::is_directory(folder, ignored))
        return refuse(failure, output.option + " is " + output.path + ", but there is no folder " + folder.string());
    return true;
}

void removeAll(const std::vector<std::string>& paths) {
    std::error_code ignored;
    for (const std::string& path : paths) fs::remove(path, ignored);
}

// Returns an unused name beside the target.
std::string unusedName(const std::string& target) {
    std::string name = target + ".vkrope-new";
    std::error_code failed;
    for (int i = 1; fs::symlink_status(name, failed).type() != fs::file_type::not_found && i < 1000; ++i)
        name = target + ".vkrope-new" + std::to_string(i);
    return name;
}

} // namespace

bool checkPaths(const std::vector<PathOption>& inputs, const std::vector<PathOption>& outputs, Failure* failure) {
    std::vector<PathOption> before;
    for (const PathOption& output : outputs) {
        if (!checkOutput(output, failure)) return false;
        for (const PathOption& input : inputs) {
            if (!input.path.empty() && input.path != output.may_replace && isSameFile(output.path, input.path))
                return refuse(failure, output.option + " would overwrite " + input.path + ", which " + input.option +
                                           " reads; give it a path of its own");
        }
        for (const PathOption& other : before) {
            if (isSameFile(output.path, other.path))
                return refuse(failure, output.option + " and " + other.option + " are the same file, " + output.path +
                                           "; give each a path of its own");
        }
        before.push_back(output);
    }
    return true;
}

// All arrays are written beside their places first, so that a full disk is met before anything is replaced.
bool writeArrays(const std::vector<OutputArray>& outputs, Failure* failure) {
    std::vector<std::string> targets, staged;
    std::string error;
    for (const OutputArray& output : outputs) {
        targets.push_back(resolveLinks(output.file.path));
        staged.push_back(unusedName(targets.back()));
        if (!rope::writeNpy(staged.back(), output.array, &error)) {
            removeAll(staged);
            return refuse(failure, output.file.option + ": " + error);
        }
    }
    for (size_t i = 0; i < targets.size(); ++i) {
        std::error_code failed;
        fs::rename(staged[i], targets[i], failed);
        if (failed) {
            removeAll(staged);
            removeAll({targets.begin(), targets.begin() + static_cast<ptrdiff_t>(i)});
            return refuse(failure, outputs[i].file.option + ": " + targets[i] + ": " + failed.message());
        }
    }
    return true;
}

bool writeText(const PathOption& file, const std::string& text, Failure* failure) {
    const std::string target = resolveLinks(file.path), staged = unusedName(target);
    std::ofstream stream(staged, std::ios::binary | std::ios::trunc);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.close();
    std::error_code failed;
    if (stream) fs::rename(staged, target, failed);
    if (stream && !failed) return true;
    removeAll({staged});
    return refuse(failure, file.option + ": " + target + " cannot be written" +
                               (failed ? ": " + failed.message() : std::string()));
}

} // namespace tool
