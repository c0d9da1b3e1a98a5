// A folder for a test's files, removed with the object.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

class Folder {
  public:
    Folder() {
        std::random_device draw;
        do {
            path_ = std::filesystem::temp_directory_path() / ("vkrope-" + std::to_string(draw()));
        } while (!std::filesystem::create_directory(path_));
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    std::string path() const { return path_.string(); }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(path_))
            all.push_back(entry.path().filename().string());
        return all;
    }

  private:
    std::filesystem::path path_;
};
