// Layers in sentences.
#pragma once

#include "models/config.hpp"

#include <functional>

namespace rope {

// Names the layers that `is` holds for: "layers 0-2, 4-6", "layer 3", and behind the numbers the type in parentheses
// where all of them share one.
using LayerPredicate = std::function<bool(const ModelLayer&)>;
std::string nameLayers(const std::vector<ModelLayer>& layers, const LayerPredicate& is);

// "layers 3, 7 do not rotate", "layer 3 does not rotate"; empty where all rotate.
std::string nameStillLayers(const std::vector<ModelLayer>& layers);

// Refuses a number that no layer has, or whose layer is of another type than a `type` that is not empty, or does not
// rotate.
bool checkLayerNumber(uint32_t number, const std::string& type, const std::vector<ModelLayer>& layers,
                      std::string* error);

} // namespace rope
