// The axis of a text's positions that each pair turns by.
#pragma once

#include "models/source.hpp"

namespace rope {
namespace config {

// Takes the rule and the rotary part as found. Leaves model->axes empty where the positions have one axis.
bool findAxes(const Source& source, ModelEncoding* model, std::string* error);

} // namespace config
} // namespace rope
