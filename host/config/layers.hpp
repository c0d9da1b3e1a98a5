// Layers of several types in one model: the type that is read, and its own rule.
#pragma once

#include "config/source.hpp"

namespace rope {
namespace config {

// Reads rope_parameters or rope_scaling, or takes what the model type implies.
bool findRules(Source* source, std::string* error);
// Chooses the type that is wanted, or the usual one, and sets source->layer.
bool chooseTextLayer(const std::string& wanted, Source* source, ModelEncoding* model, std::string* error);

// Reduces lists with a number for each layer to the number that the layers of the chosen type share.
bool reduceLayerLists(Source* source, std::string* error);

} // namespace config
} // namespace rope
