// The axis of a .gguf model's positions that each pair turns by.
#pragma once

#include "models/gguf/keys.hpp"

namespace rope {
namespace gguf {

// Takes the rotary part as found. Leaves model->axes empty where the positions have one axis.
bool setGgufAxes(const ArchitectureKeys& keys, const std::string& architecture, ModelEncoding* model,
                 std::string* error);

} // namespace gguf
} // namespace rope
