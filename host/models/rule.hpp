// The rule that a configuration names, and its numbers.
#pragma once

#include "models/source.hpp"

namespace rope {
namespace config {

// Reads all of the rule but the base, the rotary part, and the lists of factors.
bool readRule(const Source& source, double length, RopeRule* rule, std::string* error);

// Reads one of longrope's lists.
bool readFactorList(const Source& source, const char* key, std::vector<double>* factors, std::string* error);

} // namespace config
} // namespace rope
