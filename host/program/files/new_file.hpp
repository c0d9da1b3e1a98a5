// Writes a file beside its name and renames it, so that a run that is interrupted leaves no half file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rope {

// Follows links to the file that they lead to, which need not exist, so that a link stays a link. The result is empty
// if links form a circle.
std::string resolveLinks(const std::string& path);

struct FilePart {
    const void* bytes;
    size_t size;
};

// Writes the parts one after the other. A file that stood there is replaced as a whole, and its mode stays. Returns why
// the file cannot be written, else nothing; what stood there then stays. A signal that ends the program waits until
// either file stands alone.
std::string replaceFile(const std::string& path, const std::vector<FilePart>& parts);

} // namespace rope
