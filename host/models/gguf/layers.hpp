// The layers of a .gguf model: full attention, and sliding attention where it rotates differently.
#pragma once

#include "models/gguf/gguf.hpp"
#include "models/gguf/keys.hpp"

namespace rope {
namespace gguf {

struct LayerRotation {
    uint32_t head_dim = 0;
    uint32_t rotary_dim = 0;
    RopeRule rule = {};
    double scale = 1;          // where the rule has none of its own
    bool takes_factors = true; // the tensors of factors divide its frequencies
};

// Takes in *layer the rotation of the full layers, and replaces it where the request asks for sliding ones, or where
// the sliding ones alone rotate. Sets all of the model's members about layers. `has_factors`: the file has tensors of
// factors.
bool chooseGgufLayer(const ArchitectureKeys& keys, const std::string& architecture, const GgufRequest& request,
                     bool has_factors, LayerRotation* layer, ModelEncoding* model, std::string* error);

} // namespace gguf
} // namespace rope
