// A text model's encoding, step by step: the part of a configuration about the text and what is known of its type, its
// layers, and what one layer has.
#pragma once

#include "models/config.hpp"
#include "models/models.hpp"
#include "models/values.hpp"

#include <memory>
#include <optional>

namespace rope {
namespace config {

// The rules under one of their two keys, or those that the model type implies.
struct Rules {
    const char* key = "rope_parameters"; // or rope_scaling
    Json values = Json::object();
    bool found = false;   // in the configuration
    bool nested = false;  // values holds one rule for each layer type
    bool implied = false; // by the model type
};

// A key that the model type's own code does not read.
struct IgnoredKey {
    // In other types' code the key stands for this. The first base is that of the full layers.
    enum Means { rule, base, first_base, second_base, partial, size, head, length };
    std::string name;
    Json value;
    Means means;
};

// The keys that may hold a number for each layer, and the names that one layer's number is read by.
struct LayerKey {
    const char *list, *number;
};
constexpr LayerKey kLayerKeys[] = {{"rope_theta", "rope_theta"},
                                   {"layer_rope_theta", "rope_theta"},
                                   {"partial_rotary_factors", "partial_rotary_factor"}};

// The configuration's lists with an entry for each layer; null: it has none.
struct LayerLists {
    const Json* types = nullptr; // layer_types
    const Json* own = nullptr;   // the record's layer_list
    const Json* numbers[3] = {}; // those of kLayerKeys
};

struct Source {
    Json config; // the part about the text's attention
    std::string type;
    bool known = false;           // a record has the type
    const Model* model = nullptr; // the record, or one that says nothing
    Rules rules;                  // all layers'
    std::vector<IgnoredKey> ignored;
    std::vector<std::string> notes; // of the parts beside the one that is read
    LayerLists lists;               // within config
    std::vector<ModelLayer> layers; // empty where neither the configuration nor the record says how many there are
    std::vector<std::string> layer_types; // that they have
    bool types_differ = false;            // the types have rules of their own
};

// One layer of those that rotate, or all of them where they are alike.
struct Layer {
    const Source& source;
    const Model& model;
    const Json* config;                  // the source's, or `own`
    std::unique_ptr<Json> own = nullptr; // the configuration with the layer's numbers in the place of lists
    std::string name = {};               // of its type; empty: the layers have none
    bool is_second_type = false;
    Json rule = Json::object();
};

// ---- The part that is read, and its keys: source.cpp, keys.cpp ------------------------------------------------------

// Goes down to the part that reads text, or sound, and refuses models without a rotation and keys about rotation that
// are not read. Finds the rules and the layers.
Source openSource(const Json& config, bool sound);

// A key whose name is about rotation may not be ignored.
bool isAboutRotation(const std::string& key);

// Refuses a key about rotation that is not read, one of another kind than it is read as, even where the model would not
// read it, and what the record refuses. A configuration's many other keys pass.
void checkKeys(const Source& source);

// Finds the rules. Takes out the keys that the type's own code ignores. A type that is not known keeps all of them. One
// whose code is not that of Transformers does too, but for the original length beside a longrope.
void findRules(Source* source);

// Finds the configuration's own rules under either name.
Rules findOwnRules(const Json& config);

// Rules that are nested by layer type may have these numbers beside them.
bool mayStandBesideNested(const std::string& key);

// Adds a note for each key that was taken out and says another thing than what was read, and one for a type that is not
// known.
void noteKeys(const Layer& layer, ModelEncoding* encoding);

// ---- The layers: layers.cpp -----------------------------------------------------------------------------------------

// Sets the source's members about layers.
void readLayers(Source* source);

// Chooses the layer that the request asks for, or the one that is usual. Sets the encoding's members about layers.
Layer chooseLayer(const ConfigRequest& request, const Source& source, ModelEncoding* encoding);

// ---- The rule, its numbers, and what is scaled beside the rotation: rule.cpp ----------------------------------------

constexpr double kMaxBase = 1.8e19;

// Refuses rules that are of no kind that is read, that differ under their two names, or hold for no layer.
void checkRules(const Source& source);

// `outer` stands at the top of the configuration, `inner` in the rule; NaN: absent. The inner value goes first where
// the rule is nested, or the class's own. Else the two must agree.
double chooseOuterOrInner(const Layer& layer, const char* key, double outer, double inner, double otherwise);

// Reads all of the rule but the rotary part, and the lists of factors.
RopeRule readRule(const Layer& layer, double length);

// Reads one of longrope's lists.
std::vector<double> readFactorList(const Layer& layer, const char* key);

// Sets encoding->query_scaling. Adds a note about it, and one if the model's own code multiplies its softmax scale too,
// or by logn beyond a length. Takes the layers and the rule as found.
void readScales(const Layer& layer, double length, ModelEncoding* encoding);

// ---- Models whose tokens lie on a grid: grid.cpp --------------------------------------------------------------------

// Reads a vision tower, alone or as a vision_config, or a model of diffusers. Nothing: the configuration is a text
// model's.
std::optional<ModelEncoding> readGrid(const Json& config, const ConfigRequest& request);

} // namespace config
} // namespace rope
