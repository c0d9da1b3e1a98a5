// A configuration's text as JSON.
#pragma once

#include "models/values.hpp"

namespace rope {
namespace config {

// Parses a text as one object. An object with the same key twice is refused, and one that is too deep or too long.
bool parseConfig(const std::string& text, Json* config, std::string* error);

} // namespace config
} // namespace rope
