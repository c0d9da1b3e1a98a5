// A model's position encoding, from its Hugging Face config.json.
#pragma once

#include "rope.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rope {

// What the caller wants otherwise than the configuration has it. Zeros: as it has it.
struct ConfigRequest {
    uint32_t rotary_dim = 0; // elements; in place of the configuration's own
};

struct ModelEncoding {
    std::string model_type; // empty where the configuration names none
    RopeRule rule = {};
    std::vector<double> frequencies; // radians per position, one per pair
    double scale = 1;
    uint32_t head_dim = 0;
    uint32_t rotary_begin = 0;
    uint32_t rotary_dim = 0;
    RopePairing pairing = ROPE_PAIRING_DEFAULT; // default: the configuration does not tell
};

// From a configuration's text. What it cannot honour is refused by name: false, and one sentence in *error. Throws
// nothing but std::bad_alloc.
bool readConfig(const std::string& text, const ConfigRequest& request, ModelEncoding* model, std::string* error);

} // namespace rope
