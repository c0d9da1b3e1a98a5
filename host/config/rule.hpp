// The rule that a configuration names, and its numbers.
#pragma once

#include "config/source.hpp"

namespace rope {
namespace config {

// All but the base, the part that turns, and the lists of factors.
bool readRule(const Source& source, double length, RopeRule* rule, std::string* error);

// A list of longrope.
bool readFactors(const Source& source, const char* key, std::vector<double>* factors, std::string* error);

} // namespace config
} // namespace rope
