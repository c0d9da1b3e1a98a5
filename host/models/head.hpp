// The length of a head, and the part of the head that rotates.
#pragma once

#include "models/source.hpp"

namespace rope {
namespace config {

bool readHeadDim(const Source& source, uint32_t* head_dim, std::string* error);

// Reads how many elements of a whole head stand before the part that the model splits off and rotates; 0: it splits
// nothing off.
bool readNopeDim(const Source& source, uint32_t* nope_dim, std::string* error);

// Takes the head and the rule's kind as found. Sets the rule's count of rotating pairs where the rule has one.
bool findRotaryDim(const Source& source, ModelEncoding* model, std::string* error);

} // namespace config
} // namespace rope
