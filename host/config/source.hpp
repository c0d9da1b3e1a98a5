// The part of a configuration that tells of the text's position encoding, and what has been found in it.
#pragma once

#include "config/config.hpp"
#include "config/models.hpp"
#include "config/values.hpp"

namespace rope {
namespace config {

struct Rules {
    std::string name = "rope_parameters"; // the key that they stand under
    Json values = Json::object();
    bool nested = false;  // by layer type
    bool implied = false; // by the model type: what the configuration has goes first
};

struct Layer {
    std::string name;
    bool other = false; // one of the sliding layers, or the compressing ones
    Json rule = Json::object();
};

struct Source {
    Json config; // the part that tells of the text's attention
    std::string type;
    const Model* known = nullptr;
    Rules rules;
    Layer layer;

    bool has(unsigned trait) const { return known != nullptr && (known->traits & trait) != 0; }
};

// The text's object, in which no key stands twice.
bool parseConfig(const std::string& text, Json* config, std::string* error);

// Whether a key's name is about rotation, so that it may not be passed over.
bool tellsOfRotation(const std::string& key);

// Goes down to the part that reads text, and refuses models without a rotation and keys about rotation that are not
// read.
bool openSource(const Json& config, Source* source, std::string* error);

} // namespace config
} // namespace rope
