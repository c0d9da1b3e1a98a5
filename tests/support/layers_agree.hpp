// A condition that the layers of every encoding meet.
#pragma once

#include "models/config.hpp"

// An encoding is that of at least one layer, and of none that does not rotate. Its sentence is one line.
inline bool layersAgree(const rope::ModelEncoding& model) {
    bool any = model.layers.empty();
    for (const rope::ModelLayer& layer : model.layers) {
        any = any || layer.answered;
        if (layer.answered && !layer.rotates) return false;
    }
    return any && describeLayers(model).find('\n') == std::string::npos;
}
