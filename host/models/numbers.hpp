// Numbers that may stand at the top of a configuration, in its rule, or in the table of models.
// All return false after a refusal, with one sentence in *error.
#pragma once

#include "models/source.hpp"

#include <cmath>

namespace rope {
namespace config {

bool readTextBase(const Source& source, double* base, std::string* error);

// The parts that the configuration gives, at its top and in its rule; NaN: none.
struct Partials {
    double outer = NAN, inner = NAN;
};

// Reads the part of the head that rotates, from 0 to 1. `scaled`: by another rule than the default one.
bool readPartial(const Source& source, bool scaled, double* partial, Partials* given, std::string* error);

bool readPositions(const Source& source, double* count, std::string* error);
bool readOriginalLength(const Source& source, double* length, std::string* error);

} // namespace config
} // namespace rope
