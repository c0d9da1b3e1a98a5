// A model's position encoding, from its Hugging Face config.json.
#pragma once

#include "rope.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rope {

constexpr double kMaxHeadDim = 65536; // elements; a configuration or a file with more is refused

// What the caller wants otherwise than the configuration has it. Zeros: as it has it.
struct ConfigRequest {
    uint32_t rotary_dim = 0; // elements; in place of the configuration's own
    // Where the layers differ by type. Empty: full_attention (main, hybrid), or the only one.
    std::string layer_type;
    double length = 0; // the largest position so far plus 1, for rules that depend on it; 0: within the original
};

struct ModelEncoding {
    std::string model_type;          // empty where the configuration names none
    RopeRule rule = {};              // its lists are null: the frequencies have them in
    std::vector<double> frequencies; // radians per position, one per pair; below 0 where the model turns backwards
    double scale = 1;
    uint32_t head_dim = 0; // of the tensor that is rotated: q_pe and k_pe where a model splits them off
    uint32_t rotary_begin = 0;
    uint32_t rotary_dim = 0;
    RopePairing pairing = ROPE_PAIRING_DEFAULT;     // default: the configuration does not tell
    RopePairing pairing_out = ROPE_PAIRING_DEFAULT; // default: as pairing
    std::string layer_type;                         // the one that was read; empty where there are none
    std::vector<std::string> layer_types;
    std::vector<uint8_t> axes;              // of each pair; empty: one axis
    std::vector<std::string> axis_names;    // in the order that positions have them: t, h, w; empty: one axis
    uint32_t chunk_dim = 0;                 // half pairing inside chunks of so many elements; 0: of the whole part
    uint32_t skip_first = 0, skip_last = 0; // tokens that its own code leaves as they are: class and register tokens
    std::string ignored_note; // not empty: a key that the model's own code does not heed, nor does this, or what it
                              // does beside that is left to the caller
};

// From a configuration's text. What it cannot honour is refused by name: false, and one sentence in *error. Throws
// nothing but std::bad_alloc.
bool readConfig(const std::string& text, const ConfigRequest& request, ModelEncoding* model, std::string* error);

} // namespace rope
