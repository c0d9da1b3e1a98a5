// Model types without a rotation, and what they have instead.
#pragma once

#include <string>
#include <vector>

namespace rope {

// Returns why the model's positions cannot be encoded by a rotation; null where they can.
const char* whyNoRotation(const std::string& type);

// Returns what the type's own code has instead of a rotation, and the command that does it; null where that is not
// known. A configuration may still ask for a rotation that some other code of the type makes.
const char* insteadOfRotation(const std::string& type);
std::vector<std::string> typesWithAnotherEncoding(); // those that insteadOfRotation knows

} // namespace rope
