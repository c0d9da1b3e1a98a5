// The keys of one architecture become a rule, scales beside the rotation, and layers.
#pragma once

#include "models/gguf/header.hpp"
#include "models/models.hpp"

namespace rope {
namespace gguf {

// ---- The frequency rule, its numbers, and what is scaled beside the rotation: rule.cpp ------------------------------

struct Scaling {
    std::string type;  // empty: none is named
    double factor = 0; // 0: none is given
    bool yarn = false;
    double attention = 1; // llama.cpp multiplies cos and sin by it whatever the type
};

Scaling readScaling(const ArchitectureKeys& keys, const Architecture& architecture);

// `why` begins the refusal of a file without a length: it names what needs one.
double readGgufOriginalLength(const ArchitectureKeys& keys, const std::string& why);

RopeRule readGgufRule(const ArchitectureKeys& keys, const Architecture& architecture, const Scaling& scaling);

// Takes the encoding's layers and rule as found. Sets its query_scaling. Adds a sentence for each scale, and one if the
// file has numbers of yarn that llama.cpp does not read.
void readGgufScales(const ArchitectureKeys& keys, const Architecture& architecture, ModelEncoding* encoding);

// ---- The layers: layers.cpp -----------------------------------------------------------------------------------------

struct LayerRotation {
    uint32_t head_dim = 0;
    uint32_t rotary_dim = 0;
    RopeRule rule = {};
    double scale = 1;          // where the rule has none of its own
    bool takes_factors = true; // the tensors of factors divide its frequencies
};

// Full attention, and sliding attention where it rotates differently. Takes the rotation of the full layers, and
// returns that of the sliding ones where the request asks for them, or where they alone rotate. Sets all of the
// encoding's members about layers. `has_factors`: the file has tensors of factors.
LayerRotation chooseGgufLayer(const ArchitectureKeys& keys, const Architecture& architecture,
                              const GgufRequest& request, bool has_factors, const LayerRotation& full,
                              ModelEncoding* encoding);

} // namespace gguf
} // namespace rope
