// A text model's encoding, step by step: the part of a configuration about the text and what is known of its type, its
// layers, and what one layer has.
#pragma once

#include "models/config.hpp"
#include "models/models.hpp"
#include "models/values.hpp"

#include <optional>

namespace rope {
namespace config {

struct Rules {
    std::string key = "rope_parameters"; // or rope_scaling
    Json values = Json::object();
    bool nested = false;  // values holds one rule for each layer type
    bool implied = false; // by the model type
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
    bool known = false; // a record has the type
    const Model* model; // the record, or one that says nothing
    Rules rules;        // all layers'
    std::vector<IgnoredKey> ignored;
    std::vector<std::string> notes; // of the parts beside the one that is read

    bool reads(const char* key) const { return isIn(model->reads, key); }
    bool isAskedBy(const std::string& key) const { return model->asked_by != nullptr && key == model->asked_by; }
    bool layersDiffer() const { return model->layer_types.count != 0; }
    // A flat rule is that of the second of two types, which no key of the configuration lists.
    bool secondTypeIsScaled() const { return model->flat_rule == FlatRule::second; }
};

// One layer of those that rotate, or all of them where they are alike.
struct Layer {
    explicit Layer(const Source& of) : source(of) {}

    const Source& source;
    std::string name; // of its type; empty: the layers have none
    bool is_second_type = false;
    Json rule = Json::object();
    Json own; // the configuration with the layer's numbers in the place of lists; null: there are no lists

    const Json& config() const { return own.is_null() ? source.config : own; }
    const Model& model() const { return *source.model; }
};

// A key whose name is about rotation may not be ignored.
bool isAboutRotation(const std::string& key);

// Rules that are nested by layer type may have these numbers beside them.
bool mayStandBesideNested(const std::string& key);

// Goes down to the part that reads text, or sound, and refuses models without a rotation and keys about rotation that
// are not read.
Source openSource(const Json& config, bool sound);

// The first files of some models have the base and the rule in one object, `rotary`.
void spreadRotary(Json* config);

// Finds the rules. Takes out the keys that the type's own code ignores. A type that is not known keeps all of them. One
// whose code is not that of Transformers does too, but for the original length beside a longrope.
void findRules(Source* source);

// Adds a note for each key that was taken out and says another thing than what was read, and one for a type that is not
// known.
void noteKeys(const Layer& layer, ModelEncoding* encoding);

// ---- The layers: layer_list.cpp, layers.cpp -------------------------------------------------------------------------

// The layers, the types that they have, and whether these have rules of their own.
struct Layers {
    std::vector<ModelLayer> all; // empty where neither the configuration nor the record says how many there are
    std::vector<std::string> types;
    bool types_differ = false;
};

std::vector<ModelLayer> listLayers(const Source& source);

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

Layers readLayers(const Source& source);

// Chooses the layer that the request asks for, or the one that is usual. Sets the encoding's members about layers.
Layer chooseLayer(const ConfigRequest& request, const Source& source, const Layers& layers, ModelEncoding* encoding);

// ---- The rule, its numbers, and what is scaled beside the rotation: rule.cpp ----------------------------------------

constexpr double kMaxBase = 1.8e19;

// Reads all of the rule but the rotary part, and the lists of factors.
RopeRule readRule(const Layer& layer, double length);

// Reads one of longrope's lists.
std::vector<double> readFactorList(const Layer& layer, const char* key);

// The parts of a head that rotate, as the configuration gives them at its top and in its rule; NaN: none.
struct Partials {
    double outer, inner;
};

// Reads the part of the head that rotates, from 0 to 1. `scaled`: by another rule than the default one.
double readPartial(const Layer& layer, bool scaled, Partials* given);

// Sets encoding->query_scaling, and adds a note about it. Takes the layers as found.
void readQueryScaling(const Layer& layer, ModelEncoding* encoding);

// Adds a note if the model's own code multiplies its softmax scale too, or by logn beyond a length.
void noteSoftmaxScale(const Layer& layer, double length, ModelEncoding* encoding);

// ---- The head: head.cpp ---------------------------------------------------------------------------------------------

// Each takes what those above it have found. findRotaryDim adds a note where the configuration has another part.
uint32_t readHeadDim(const Layer& layer);
uint32_t
readNopeDim(const Layer& layer); // of the elements before q_pe and k_pe; 0 where the model does not split them off
void findRotaryDim(const Layer& layer, ModelEncoding* encoding);
void findPairing(const Layer& layer, ModelEncoding* encoding);
void findAxes(const Layer& layer, ModelEncoding* encoding); // leaves the axes empty where the positions have one

// ---- Models whose tokens lie on a grid: grid.cpp
// ---------------------------------------------------------------------

// Reads a vision tower, alone or as a vision_config, or a model of diffusers. Nothing: the configuration is a text
// model's.
std::optional<ModelEncoding> readGrid(const Json& config, const ConfigRequest& request);

} // namespace config
} // namespace rope
