// A new file that will take the place of another: how it is made, and whose it is, differs from system to system.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <system_error>

namespace rope {

struct NewFile {
    std::FILE* stream = nullptr; // the caller closes it
    std::string name;            // empty: the file has none yet, and is gone when it is closed
};

// Makes a file in the folder of `target`, without a name where the system can. It gets the owner, the group and the
// mode of the file at `target`, as far as the system permits; if there is none, what any new file gets.
std::error_code makeNewFile(const std::string& target, NewFile* file);

// Gives the file a name beside `target`, if it has none.
std::error_code nameNewFile(const std::string& target, NewFile* file);

// Calls `take` with names in the folder of `target` that begin with `stem`, until it finds one that no file has. The
// name of the target itself may be as long as the system permits, and has no room for more.
std::error_code takeUnusedName(const std::string& target, const char* stem, std::string* name,
                               const std::function<std::error_code(const std::string&)>& take);

} // namespace rope
