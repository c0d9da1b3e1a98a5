// The file that --config names: a config.json, a .gguf, or a pipe that gives one of them.
#pragma once

#include "program/tool.hpp"

#include <memory>
#include <string>

namespace tool {

struct ConfigFile {
    bool is_gguf = false;                     // by its first bytes
    bool is_cut = false;                      // the pipe has more than is read
    std::shared_ptr<const std::string> bytes; // null: a .gguf that is no pipe, of which only parts are read
};

// A pipe can be read once, so what it gave is kept for the next call.
bool openConfigFile(const std::string& path, ConfigFile* file, Failure* failure);

} // namespace tool
