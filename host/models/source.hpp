// The source of a text model's encoding: the part of a configuration about the text, and what has been found in it.
#pragma once

#include "models/config.hpp"
#include "models/models.hpp"
#include "models/refusal.hpp"
#include "models/values.hpp"

namespace rope {
namespace config {

struct Rules {
    std::string key = "rope_parameters"; // or rope_scaling
    Json values = Json::object();
    bool nested = false;  // values holds one rule for each layer type
    bool implied = false; // by the model type
};

struct Layer {
    std::string name;
    bool is_second_type = false; // a sliding layer, or a compressing one
    Json rule = Json::object();
};

// A key that the model type's own code does not read.
struct IgnoredKey {
    // In other types' code the key stands for this. The first base is that of the full layers.
    enum Means { base, first_base, second_base, partial, size, head, rule, length };
    std::string name;
    Json value;
    Means means;
};

struct Source {
    Json config; // the part about the text's attention
    std::string type;
    const Model* known = nullptr; // the row of the table; null where no row has the type
    Rules rules;
    Layer layer;
    std::vector<IgnoredKey> ignored;
    std::vector<std::string> notes; // of the parts beside the one that is read

    bool has(unsigned trait) const { return known != nullptr && (known->traits & trait) != 0; }
};

// A key whose name is about rotation may not be ignored.
bool isAboutRotation(const std::string& key);

// Goes down to the part that reads text, or sound, and refuses models without a rotation and keys about rotation that
// are not read.
bool openSource(const Json& config, bool sound, Source* source, std::string* error);

} // namespace config
} // namespace rope
