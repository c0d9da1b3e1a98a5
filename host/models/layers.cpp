#include "models/text.hpp"
#include "models/words.hpp"

#include <algorithm>

namespace rope {
namespace config {
namespace {

constexpr size_t kMostTypes = 64;

using Names = std::vector<std::string>;

bool hasName(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

void addOnce(Names* names, const std::string& name) {
    if (!hasName(*names, name)) names->push_back(name);
}

std::string listed(const Names& names) {
    constexpr size_t kMostNames = 8;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) text += (i == 0 ? "" : ", ") + shown(names[i]);
    return names.size() <= kMostNames ? text : text + " and " + std::to_string(names.size() - kMostNames) + " others";
}

// The types that have rules of their own.
Names listRuledTypes(const Source& source) {
    Names names;
    for (const auto& item : source.rules.values.items()) {
        const bool null = item.value().is_null() && !mayStandBesideNested(item.key());
        if (source.rules.nested && (item.value().is_object() || null)) addOnce(&names, item.key());
    }
    for (const char* name : source.model->layer_types) addOnce(&names, name);
    if (source.layersDiffer()) return names;
    for (const char* key : {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"}) {
        if (findKey(source.config, key) == nullptr) continue;
        addOnce(&names, kFullType);
        addOnce(&names, kSlidingType);
    }
    return names;
}

// Where layers differ, the types that have a rule are all that there are, else those of Transformers. Its classes
// refuse any other.
void checkTypeNames(const Source& source) {
    const Json* types = findKey(source.config, "layer_types");
    if (types == nullptr || !source.known || source.model->own_code) return;
    Names known = listRuledTypes(source);
    if (!source.layersDiffer() || source.secondTypeIsScaled())
        for (const char* name : layerTypeNames()) addOnce(&known, name);
    for (const Json& type : *types) {
        if (hasName(known, type.get<std::string>())) continue;
        refuse("the configuration's layer_types has " + shown(type) + ", which the model type " + shown(source.type) +
               " does not have; it may have " + listed(known));
    }
}

bool any(const Layers& layers, const std::function<bool(const ModelLayer&)>& is) {
    return std::any_of(layers.all.begin(), layers.all.end(), is);
}

// A type rotates where one of its layers does.
bool rotates(const Source& source, const Layers& layers, const std::string& type) {
    if (!any(layers, [&](const ModelLayer& layer) { return layer.type == type; })) return typeRotates(source, type);
    return any(layers, [&](const ModelLayer& layer) { return layer.type == type && layer.rotates; });
}

// A class may have a type of which this model has no layer.
bool occurs(const Layers& layers, const std::string& type) {
    return any(layers, [&](const ModelLayer& layer) { return layer.type == type; }) ||
           !any(layers, [](const ModelLayer& layer) { return !layer.type.empty(); });
}

std::string chooseName(const Source& source, const Layers& layers, const std::string& wanted) {
    const Names& names = layers.types;
    if (names.empty() && !wanted.empty() && wanted != kFullType)
        refuse("the configuration has no layer types, and so none that is called " + shown(wanted));
    if (names.empty()) return "";
    if (!wanted.empty() && !hasName(names, wanted))
        refuse("the configuration has no layer type " + shown(wanted) + "; it has " + listed(names));
    Names turning;
    for (const std::string& other : names) {
        if (rotates(source, layers, other) && (other == wanted || occurs(layers, other))) turning.push_back(other);
    }
    if (turning.empty()) refuse("no layer of the model rotates");
    if (!wanted.empty() && !hasName(turning, wanted)) {
        refuse("the model's layers of the type " + shown(wanted) + " do not rotate; those of the type " +
               listed(turning) + " do");
    }
    if (!wanted.empty()) return wanted;
    for (const char* usual : {kFullType, "main", "hybrid"}) {
        if (hasName(turning, usual)) return usual;
    }
    if (!layers.types_differ || turning.size() == 1) return turning[0];
    refuse("the configuration's layer types differ, and none of them is chosen: " + listed(names));
}

void checkOneLayer(const ConfigRequest& request, const Source& source, const Layers& layers) {
    if (!layers.all.empty()) return checkLayerNumber(*request.layer, request.layer_type, layers.all);
    if (layers.types.size() >= 2)
        refuse("the configuration does not say which of its layers are of which type: " + listed(layers.types));
    refuse(findKey(source.config, "num_hidden_layers") != nullptr
               ? "only some layers of the model type " + shown(source.type) +
                     " rotate, and the configuration has no list of layers, as layer_types is one, that says which"
               : "the configuration has no num_hidden_layers, which would say what layers there are");
}

// Layers may have numbers of their own in lists. Marks those that share the chosen layer's, and returns its number.
size_t chooseNumbers(const ConfigRequest& request, const Source& source, const std::string& type,
                     ModelEncoding* encoding) {
    std::vector<ModelLayer>& layers = encoding->layers;
    const auto fits = [&](const ModelLayer& layer) {
        return layer.rotates && (type.empty() || layer.type == type || layer.type.empty());
    };
    bool found = false, differ = false;
    size_t chosen = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
        if (!fits(layers[i]) || (request.layer && i != *request.layer)) continue;
        if (!found) chosen = i;
        differ = differ || !haveSameNumbers(source, chosen, i);
        found = true;
    }
    if (!layers.empty() && !found) refuse("no layer of the model rotates");
    for (size_t i = 0; i < layers.size(); ++i) {
        layers[i].answered = layers[i].rotates && haveSameNumbers(source, chosen, i) &&
                             (!encoding->types_differ || layers[i].type == type || layers[i].type.empty());
    }
    if (!differ) return chosen;
    const auto same = [&](const ModelLayer& layer) { return fits(layer) && layer.answered; };
    const auto other = [&](const ModelLayer& layer) { return fits(layer) && !layer.answered; };
    throw Refusal{nameLayers(layers, same) + " and " + nameLayers(layers, other) +
                      " rotate by other frequencies; one layer is to be chosen by its number",
                  true};
}

// Puts the layer's numbers where they are read, in the place of lists.
void takeNumbers(const std::vector<ModelLayer>& layers, size_t chosen, Layer* layer) {
    for (const LayerKey& key : kLayerKeys) {
        const Json* list = findLayerList(layer->source, key.list);
        if (list == nullptr) continue;
        const Json number = (*list)[chosen];
        for (const Json& other : layers.empty() ? *list : Json::array()) {
            if (other != number)
                refuse(std::string("the configuration's ") + key.list + " has " + shown(number) + " and " +
                       shown(other) + "; they must agree, or layer_types must say which layers are which");
        }
        if (layer->own.is_null()) layer->own = layer->source.config;
        layer->own[key.list] = nullptr;
        layer->own[key.number] = number;
    }
}

void setRule(bool types_differ, Layer* layer) {
    const Rules& rules = layer->source.rules;
    const FlatRule flat = layer->source.model->flat_rule;
    const Words& own = layer->source.model->layer_types;
    const bool is_second = own.count >= 2 && layer->name == own.first[1];
    layer->is_second_type = types_differ && (is_second || layer->name.find("sliding") != layer->name.npos);
    if (!rules.nested) {
        const bool holds = flat == FlatRule::both || layer->is_second_type == (flat == FlatRule::second);
        if (!types_differ || holds) layer->rule = rules.values;
        return;
    }
    if (const Json* ruled = findKey(rules.values, layer->name.c_str())) layer->rule = *ruled;
    const Json* truncate = findKey(rules.values, "truncate");
    if (truncate != nullptr && !layer->rule.contains("truncate")) layer->rule["truncate"] = *truncate;
}

} // namespace

// Layers of types that no rule names are forgotten: which of them has which rule is not known.
Layers readLayers(const Source& source) {
    Layers layers;
    layers.all = listLayers(source);
    checkTypeNames(source);
    layers.types = listRuledTypes(source);
    layers.types_differ = !layers.types.empty();
    bool named = true;
    for (const ModelLayer& layer : layers.all) {
        if (!layers.types_differ && !layer.type.empty()) addOnce(&layers.types, layer.type);
        named = named && (!layers.types_differ || hasName(layers.types, layer.type) || !layer.rotates);
    }
    if (!named) layers.all.clear();
    for (const ModelLayer& layer : layers.all) {
        if (layers.types_differ && !layer.type.empty()) addOnce(&layers.types, layer.type);
    }
    if (layers.types.size() > kMostTypes)
        refuse("the configuration has " + std::to_string(layers.types.size()) + " types of layers; there may be " +
               std::to_string(kMostTypes));
    return layers;
}

Layer chooseLayer(const ConfigRequest& request, const Source& source, const Layers& layers, ModelEncoding* encoding) {
    if (request.layer) checkOneLayer(request, source, layers);
    const std::string wanted = request.layer ? layers.all[*request.layer].type : request.layer_type;
    Layer layer(source);
    layer.name = chooseName(source, layers, wanted);
    encoding->layers = layers.all;
    encoding->layer_types = layers.types;
    encoding->types_differ = layers.types_differ;
    encoding->layer_type = layer.name;
    takeNumbers(layers.all, chooseNumbers(request, source, layer.name, encoding), &layer);
    setRule(layers.types_differ, &layer);
    return layer;
}

} // namespace config
} // namespace rope
