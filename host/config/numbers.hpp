// Numbers that may stand at the top of a configuration, in its rule, or in the table of models.
#pragma once

#include "config/source.hpp"

namespace rope {
namespace config {

bool readBase(const Source& source, double* base, std::string* error);

// *given: the configuration says so itself.
bool readPartial(const Source& source, double* partial, bool* given, std::string* error);

bool readPositions(const Source& source, double* count, std::string* error);
bool readOriginalLength(const Source& source, double* length, std::string* error);

} // namespace config
} // namespace rope
