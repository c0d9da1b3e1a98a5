// Numbers that may stand at the top of a configuration, in its rule, or in the table of models.
// All return false after a refusal, with one sentence in *error.
#pragma once

#include "config/source.hpp"

namespace rope {
namespace config {

bool readTextBase(const Source& source, double* base, std::string* error);

// Reads the part of the head that rotates, from 0 to 1. *given: the configuration itself has it.
bool readPartial(const Source& source, double* partial, bool* given, std::string* error);

bool readPositions(const Source& source, double* count, std::string* error);
bool readOriginalLength(const Source& source, double* length, std::string* error);

} // namespace config
} // namespace rope
