// Keys that most models' code reads and a model type's own does not: they are taken out of the configuration, and
// named.
#pragma once

#include "models/source.hpp"

namespace rope {
namespace config {

// Gives keys that one type's code has by names of its own the names that all others have.
void renameOwnKeys(Source* source);

// Takes out the keys that the type's own code ignores, and finds the rules again where it took any. A type that is not
// known keeps all of them. One whose code is not that of Transformers does too, but for the original length in a Phi's
// rule.
bool dropIgnoredKeys(Source* source, std::string* error);

// Adds a note for each key that was taken out and says another thing than what was read, and one for a type that is not
// known.
void noteOwnKeys(const Source& source, ModelEncoding* model);

} // namespace config
} // namespace rope
