// Writes files: all of them or none, and nothing beside them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace rope {

// Appends bytes to a file. False: the write has failed, or the program is asked to end.
using PutBytes = std::function<bool(const void* bytes, size_t size)>;

struct FileToWrite {
    std::string path;
    // Writes the whole file. Returns false once `put` does; for another reason it writes *why, such as "it is not
    // written: ...".
    std::function<bool(const PutBytes& put, std::string* why)> write;
};

// Follows links to the file that they lead to, which need not exist, so that a link stays a link. The result is empty
// if links form a circle.
std::string resolveLinks(const std::string& path);

// Each file is written beside its place, without a name where the system can, and then all take their places. On
// failure every place has what it had, *failed is the index of the file that failed, and the sentence in *error begins
// with its path. A signal that ends the program does so before the first file takes its place or after the last.
// A file that is replaced keeps its mode and, where permitted, its owner.
bool replaceFiles(const std::vector<FileToWrite>& files, size_t* failed, std::string* error);

} // namespace rope
