// Layers of several types in one model: the type that is read, and its own rule.
#pragma once

#include "models/source.hpp"

namespace rope {
namespace config {

// Reads rope_parameters or rope_scaling, or takes what the model type implies.
bool findRules(Source* source, std::string* error);
// Chooses the layer or the type that is wanted, or the usual type. Sets source->layer, all of the model's members about
// layers, and in the source the numbers that lists have for the chosen layers.
bool chooseTextLayer(const ConfigRequest& request, Source* source, ModelEncoding* model, std::string* error);

} // namespace config
} // namespace rope
