// The scales of queries and of scores that a .gguf model has beside its rotation.
#pragma once

#include "models/gguf/keys.hpp"

namespace rope {
namespace gguf {

// Takes the model's layers and rule as found. Sets model->query_scaling, and adds a sentence for each scale.
bool readGgufScales(const ArchitectureKeys& keys, const std::string& architecture, ModelEncoding* model,
                    std::string* error);

} // namespace gguf
} // namespace rope
