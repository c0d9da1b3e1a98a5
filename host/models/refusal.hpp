// How the readers of this folder refuse.
#pragma once

#include <string>

namespace rope {

// Writes the sentence and returns false.
inline bool refuse(std::string* error, const std::string& sentence) {
    *error = sentence;
    return false;
}

} // namespace rope
