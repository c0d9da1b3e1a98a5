// This header reads a model's position encoding from its Hugging Face config.json.
#pragma once

#include <vkrope/rope.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rope {

constexpr double kMaxHeadDim = 65536; // elements; a configuration or a file with more is refused

// ConfigRequest overrides the configuration. A member that is 0 or empty keeps what the configuration has.
struct ConfigRequest {
    uint32_t rotary_dim = 0; // elements
    // The type of the layers to read, if layers differ by type. Empty: full_attention (main, hybrid), or the only type.
    std::string layer_type;
    double length = 0; // the largest position so far plus 1, for rules that depend on it; 0: within the original length
    // One layer by its number, from 0 on; with a layer_type it must be of that type.
    std::optional<uint32_t> layer = std::nullopt;
};

struct ModelLayer {
    std::string type; // empty where the layers have no types
    bool rotates = true;
    bool answered = true; // the encoding is this layer's
};

// Queries are multiplied by 1 + beta * ln(1 + floor((position + offset) / interval)). This is no rotation, but a part
// of the model.
struct QueryScaling {
    double beta = 0; // 0: there is none
    uint32_t interval = 0, offset = 0;
    bool of_still_layers = false; // of the layers that do not rotate; else of those that do
};

struct ModelEncoding {
    std::string model_type; // empty where the configuration names none
    RopeRule rule = {};     // its lists are null: the frequencies already contain them
    std::vector<double> factors, short_factors, long_factors; // these lists; the first divides by itself, as ggml's
    std::vector<double> frequencies; // radians per position, one per pair; below 0 where the model rotates backwards
    double scale = 1;
    uint32_t head_dim = 0; // of the tensor that is rotated: q_pe and k_pe where a model splits them off
    uint32_t rotary_begin = 0;
    uint32_t rotary_dim = 0;
    RopePairing pairing = ROPE_PAIRING_DEFAULT;     // default: the configuration does not say
    RopePairing pairing_out = ROPE_PAIRING_DEFAULT; // default: as pairing
    uint32_t nope_dim = 0;  // elements before q_pe and k_pe in the whole heads that the model splits them off from
    std::string layer_type; // the type that was read; empty where the layers have none
    std::vector<std::string> layer_types;
    bool needs_layer = false;       // of a refusal: the request must choose one layer by its number
    bool types_differ = false;      // the layer types have encodings of their own
    std::vector<ModelLayer> layers; // empty: the configuration does not say which layers there are
    QueryScaling query_scaling;
    std::vector<uint8_t> axes;           // the axis of each pair; empty: one axis
    std::vector<std::string> axis_names; // in the order that positions have them: t, h, w; empty: one axis
    bool on_a_grid = false;              // tokens lie in an image or a video, with an axis for each side
    uint32_t chunk_dim = 0; // elements of a chunk, inside which half pairing stays; 0: across the whole part
    uint32_t skip_first = 0, skip_last = 0; // tokens that the model's code does not rotate: class, register tokens
    std::vector<std::string> notes; // a sentence for each key that is ignored, and for each step of the model's own
                                    // code that is left to the caller
};

// Reads a configuration's text. A key that cannot be honoured is refused by name: the result is false, and *error has
// one sentence. The call throws nothing but std::bad_alloc.
bool readConfig(const std::string& text, const ConfigRequest& request, ModelEncoding* model, std::string* error);

// Says which layers the encoding is for, which layers have another encoding, and which do not rotate. The text is empty
// if all layers are alike.
std::string describeLayers(const ModelEncoding& model);

} // namespace rope
