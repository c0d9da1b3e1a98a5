// The layers of a text model one by one: their types, whether they rotate, and the numbers that lists have for each.
#pragma once

#include "models/source.hpp"

namespace rope {
namespace config {

// Leaves *layers empty where neither the configuration nor the model type says how many there are.
bool listLayers(const Source& source, std::vector<ModelLayer>* layers, std::string* error);

// Says whether layers of a type can rotate: they attend, and the rules have no null for them.
bool typeRotates(const Source& source, const std::string& type);

// The keys that may hold a number for each layer, and the names that one layer's number is read by.
struct LayerKey {
    const char *list, *number;
};
constexpr LayerKey kLayerKeys[] = {{"rope_theta", "rope_theta"},
                                   {"layer_rope_theta", "rope_theta"},
                                   {"partial_rotary_factors", "partial_rotary_factor"}};

// Returns the list under a key; null where the key is absent or holds no list.
const Json* findLayerList(const Source& source, const char* key);

// Two layers have the same numbers in all lists.
bool haveSameNumbers(const Source& source, size_t a, size_t b);

} // namespace config
} // namespace rope
