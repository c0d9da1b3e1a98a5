// How long a head is, and which part of it turns.
#pragma once

#include "config/source.hpp"

namespace rope {
namespace config {

bool readHeadDim(const Source& source, uint32_t* head_dim, std::string* error);

// Takes the head and the rule's kind as found, and sets the rule's count of pairs where it has one.
bool findRotaryDim(const Source& source, ModelEncoding* model, std::string* error);

} // namespace config
} // namespace rope
