// The table of layers, by model type: how many there are, their types, and which of them rotate. A model's own code
// decides it, and its configuration may leave it out.
#pragma once

#include <cstdint>
#include <string>

namespace rope {
namespace config {

enum class Rotating {
    all,
    sliding,          // those of the type sliding_attention
    sliding_or_all,   // and all of them where there is no sliding_window
    sliding_or_dense, // and the dense ones before the mixtures of experts
    listed,           // those that no_rope_layers has a 1 for; without that list all but the rare ones
    based,            // those that layer_rope_theta has a base for; without that list all
    based_or_usual,   // without that list all but the rare ones
    self              // all but the cross_attention_layers
};

// The place of the rare layer in each period.
enum class Rare { first, last, last_from_end };

struct LayerPlan {
    const char* model; // the model type
    uint32_t layers;   // where num_hidden_layers is absent
    Rotating rotating;
    Rare rare;
    uint32_t period;        // where period_key is absent; 0: no types
    const char* period_key; // null: there is none
    const char* rare_type;  // null: the layers have no types unless layer_types says them
    const char* usual_type;
};

// Returns null where the model type has no row.
const LayerPlan* findLayerPlan(const std::string& model);

bool isRare(Rare rare, uint32_t period, uint32_t layer, uint32_t layers);

} // namespace config
} // namespace rope
