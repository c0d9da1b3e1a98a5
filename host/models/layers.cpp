#include "models/layers.hpp"

#include "models/layer_list.hpp"
#include "models/layer_names.hpp"

#include <algorithm>

namespace rope {
namespace config {
namespace {

constexpr size_t kMostTypes = 64;

// Rules that are nested by layer type may have these numbers beside them.
bool mayStandBesideNested(const std::string& key) {
    return isOneOf(key, {"rope_theta", "rope_type", "type", "truncate", "partial_rotary_factor"});
}

bool checkRuleKinds(const Json& rule, std::string* error) {
    for (const char* key : {"rope_theta", "partial_rotary_factor", "factor", "original_max_position_embeddings",
                            "max_position_embeddings", "llama_4_scaling_beta", "attention_factor", "beta_fast",
                            "beta_slow", "mscale", "mscale_all_dim", "low_freq_factor", "high_freq_factor",
                            "short_mscale", "long_mscale", "alpha", "temperature", "gamma", "mixed_b"}) {
        if (!checkKind(rule, key, JsonKind::number, error)) return false;
    }
    for (const char* key : {"truncate", "finetuned", "mrope_interleaved", "interleaved"}) {
        if (!checkKind(rule, key, JsonKind::boolean, error)) return false;
    }
    for (const char* key : {"mrope_section", "long_factor", "short_factor"}) {
        if (!checkKind(rule, key, JsonKind::numbers, error)) return false;
    }
    for (const char* key : {"type", "rope_type"}) {
        const Json* name = findKey(rule, key);
        if (!checkKind(rule, key, JsonKind::text, error)) return false;
        if (name != nullptr && name->is_string() && name->get_ref<const std::string&>().empty())
            return refuse(error, std::string("the configuration's ") + key + " is empty; it must be a rule's name");
    }
    return true;
}

bool checkTypeCount(size_t types, std::string* error) {
    return types <= kMostTypes || refuse(error, "the configuration has " + std::to_string(types) +
                                                    " types of layers; there may be " + std::to_string(kMostTypes));
}

bool readRules(const Source& source, Rules* rules, std::string* error) {
    const Json* parameters = findKey(source.config, "rope_parameters");
    const Json* scaling = findKey(source.config, "rope_scaling");
    if (parameters != nullptr && scaling != nullptr && *parameters != *scaling)
        return refuse(error, "the configuration has rope_parameters and rope_scaling, and they differ; one is enough");
    const Json* found = parameters != nullptr ? parameters : scaling;
    if (found != nullptr) {
        rules->key = parameters != nullptr ? "rope_parameters" : "rope_scaling";
        rules->values = *found;
    } else if (source.known != nullptr && source.known->parameters != nullptr) {
        rules->values = Json::parse(source.known->parameters);
        rules->implied = true;
    }
    if (!checkRuleKinds(rules->values, error)) return false;
    for (const Json& value : rules->values) rules->nested = rules->nested || value.is_object();
    if (rules->nested && !checkTypeCount(rules->values.size(), error)) return false;
    for (const auto& item : rules->values.items()) {
        const Json& value = item.value();
        if (value.is_object() && !checkRuleKinds(value, error)) return false;
        if (rules->nested && !value.is_object() && !value.is_null() && !mayStandBesideNested(item.key())) {
            return refuse(error, "the configuration's " + rules->key +
                                     " is nested per layer type, and beside the types has " + shown(item.key()) +
                                     "; it belongs into one of them");
        }
    }
    return true;
}

// Refuses one rule for all layers where the model's code reads only nested ones.
bool checkFlat(const Source& source, std::string* error) {
    const Rules& rules = source.rules;
    const bool heeded = !source.has(kLayerTypes) || source.has(kCompressLayers) || rules.nested || rules.implied ||
                        (rules.key == "rope_scaling" && !source.has(kGlobalHeadDim));
    if (heeded || rules.values.empty()) return true;
    return refuse(error, "the configuration's " + rules.key +
                             " is one rule for all layers, but those of the model type " + shown(source.type) +
                             " differ; nest a rule for each of full_attention and sliding_attention");
}

void addOnce(std::vector<std::string>* names, const std::string& name) {
    if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

// The types that have rules of their own.
std::vector<std::string> listRuledTypes(const Source& source) {
    std::vector<std::string> names;
    for (const auto& item : source.rules.values.items()) {
        const bool null = item.value().is_null() && !mayStandBesideNested(item.key());
        if (source.rules.nested && (item.value().is_object() || null)) addOnce(&names, item.key());
    }
    const bool zaya = source.type == "zaya";
    bool layered = source.has(kLayerTypes);
    for (const char* key : {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"})
        layered = layered || findKey(source.config, key) != nullptr;
    if (!layered) return names;
    for (const char* name : {"full_attention", "sliding_attention"}) {
        const bool first = name == std::string("full_attention");
        addOnce(&names, source.has(kCompressLayers) ? (first ? "main" : "compress")
                        : zaya                      ? (first ? "hybrid" : "hybrid_sliding")
                                                    : name);
    }
    return names;
}

bool hasName(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string listed(const std::vector<std::string>& names) {
    constexpr size_t kMostNames = 8;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) text += (i == 0 ? "" : ", ") + shown(names[i]);
    return names.size() <= kMostNames ? text : text + " and " + std::to_string(names.size() - kMostNames) + " others";
}

// Transformers' own list, and the names that were in it before. Its classes refuse any other.
constexpr Keys kLayerTypeNames = {"full_attention",
                                  "sliding_attention",
                                  "chunked_attention",
                                  "linear_attention",
                                  "compressed_sparse_attention",
                                  "heavily_compressed_attention",
                                  "deepseek_sparse_attention",
                                  "minimax_m3_sparse",
                                  "conv",
                                  "hybrid",
                                  "hybrid_sliding",
                                  "sparse",
                                  "dense",
                                  "moe",
                                  "attention",
                                  "mamba",
                                  "mamba2",
                                  "recurrent"};

// The names that layer_types may have: where layers differ those that have a rule, else those of Transformers.
std::vector<std::string> listKnownTypes(const Source& source) {
    std::vector<std::string> names = listRuledTypes(source);
    if (source.has(kLayerTypes) && !source.has(kCompressLayers)) return names;
    for (const char* name : kLayerTypeNames) addOnce(&names, name);
    return names;
}

bool checkTypeNames(const Source& source, std::string* error) {
    const Json* types = findKey(source.config, "layer_types");
    if (types == nullptr || source.known == nullptr || source.has(kOtherCode)) return true;
    const std::vector<std::string> known = listKnownTypes(source);
    for (const Json& type : *types) {
        if (hasName(known, type.get<std::string>())) continue;
        return refuse(error, "the configuration's layer_types has " + shown(type) + ", which the model type " +
                                 shown(source.type) + " does not have; it may have " + listed(known));
    }
    return true;
}

// Lists the types, and says whether they differ. Layers of types that no rule names are forgotten: which of them has
// which rule is not known.
void listTypes(const Source& source, ModelEncoding* model) {
    model->layer_types = listRuledTypes(source);
    model->types_differ = !model->layer_types.empty();
    bool named = true;
    for (const ModelLayer& layer : model->layers) {
        if (!model->types_differ && !layer.type.empty()) addOnce(&model->layer_types, layer.type);
        named = named && (!model->types_differ || hasName(model->layer_types, layer.type) || !layer.rotates);
    }
    if (!named) model->layers.clear();
    for (const ModelLayer& layer : model->layers) {
        if (model->types_differ && !layer.type.empty()) addOnce(&model->layer_types, layer.type);
    }
}

// A type rotates where one of its layers does.
bool rotates(const Source& source, const ModelEncoding& model, const std::string& type) {
    bool any = false, known = false;
    for (const ModelLayer& layer : model.layers) {
        known = known || layer.type == type;
        any = any || (layer.type == type && layer.rotates);
    }
    return known ? any : typeRotates(source, type);
}

// A class may have a type of which this model has no layer.
bool occurs(const ModelEncoding& model, const std::string& type) {
    bool typed = false;
    for (const ModelLayer& layer : model.layers) {
        if (layer.type == type) return true;
        typed = typed || !layer.type.empty();
    }
    return !typed;
}

bool chooseLayerName(const Source& source, const ModelEncoding& model, const std::string& wanted, std::string* name,
                     std::string* error) {
    const std::vector<std::string>& names = model.layer_types;
    if (names.empty()) {
        return wanted.empty() || wanted == "full_attention" ||
               refuse(error, "the configuration has no layer types, and so none that is called " + shown(wanted));
    }
    if (!wanted.empty() && !hasName(names, wanted))
        return refuse(error, "the configuration has no layer type " + shown(wanted) + "; it has " + listed(names));
    std::vector<std::string> turning;
    for (const std::string& other : names) {
        if (rotates(source, model, other) && (other == wanted || occurs(model, other))) turning.push_back(other);
    }
    if (turning.empty()) return refuse(error, "no layer of the model rotates");
    if (!wanted.empty() && !hasName(turning, wanted)) {
        return refuse(error, "the model's layers of the type " + shown(wanted) + " do not rotate; those of the type " +
                                 listed(turning) + " do");
    }
    *name = wanted;
    for (const char* usual : {"full_attention", "main", "hybrid"}) {
        if (name->empty() && hasName(turning, usual)) *name = usual;
    }
    if (name->empty() && (!model.types_differ || turning.size() == 1)) *name = turning[0];
    return !name->empty() ||
           refuse(error, "the configuration's layer types differ, and none of them is chosen: " + listed(names));
}

bool checkOneLayer(const ConfigRequest& request, const Source& source, const ModelEncoding& model, std::string* error) {
    if (!model.layers.empty()) return checkLayerNumber(*request.layer, request.layer_type, model.layers, error);
    if (model.layer_types.size() >= 2) {
        return refuse(error, "the configuration does not say which of its layers are of which type: " +
                                 listed(model.layer_types));
    }
    return refuse(error, findKey(source.config, "num_hidden_layers") != nullptr
                             ? "only some layers of the model type " + shown(source.type) +
                                   " rotate, and the configuration has no list of layers, as layer_types is one, that "
                                   "says which"
                             : "the configuration has no num_hidden_layers, which would say what layers there are");
}

// Layers may have numbers of their own in lists. Marks those that share the chosen layer's, and moves these numbers to
// the names that they are read by.
bool chooseNumbers(const ConfigRequest& request, Source* source, ModelEncoding* model, std::string* error) {
    std::vector<ModelLayer>& layers = model->layers;
    const std::string& type = source->layer.name;
    bool found = false, differ = false;
    size_t chosen = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
        const bool fits = layers[i].rotates && (type.empty() || layers[i].type == type || layers[i].type.empty());
        if (!fits || (request.layer && i != *request.layer)) continue;
        if (!found) chosen = i;
        differ = differ || !haveSameNumbers(*source, chosen, i);
        found = true;
    }
    if (!layers.empty() && !found) return refuse(error, "no layer of the model rotates");
    for (size_t i = 0; i < layers.size(); ++i) {
        layers[i].answered = layers[i].rotates && haveSameNumbers(*source, chosen, i) &&
                             (!model->types_differ || layers[i].type == type || layers[i].type.empty());
    }
    if (differ) {
        const auto fits = [&](const ModelLayer& layer) {
            return layer.rotates && (type.empty() || layer.type == type || layer.type.empty());
        };
        const auto same = [&](const ModelLayer& layer) { return fits(layer) && layer.answered; };
        const auto other = [&](const ModelLayer& layer) { return fits(layer) && !layer.answered; };
        model->needs_layer = true;
        return refuse(error, nameLayers(layers, same) + " and " + nameLayers(layers, other) +
                                 " rotate by other frequencies; one layer is to be chosen by its number");
    }
    for (const LayerKey& key : kLayerKeys) {
        const Json* list = findLayerList(*source, key.list);
        if (list == nullptr) continue;
        const Json number = (*list)[chosen];
        for (const Json& other : layers.empty() ? *list : Json::array()) {
            if (other != number)
                return refuse(error, std::string("the configuration's ") + key.list + " has " + shown(number) +
                                         " and " + shown(other) +
                                         "; they must agree, or layer_types must say which layers are which");
        }
        source->config[key.list] = nullptr;
        source->config[key.number] = number;
    }
    return true;
}

void setLayerRule(Source* source, bool differ) {
    Layer& layer = source->layer;
    const Rules& rules = source->rules;
    layer.is_second_type = differ && (layer.name == "compress" || layer.name.find("sliding") != layer.name.npos);
    if (rules.nested) {
        const Json* own = findKey(rules.values, layer.name.c_str());
        if (own != nullptr) layer.rule = *own;
        const Json* truncate = findKey(rules.values, "truncate");
        if (truncate != nullptr && !layer.rule.contains("truncate")) layer.rule["truncate"] = *truncate;
        return;
    }
    const bool scaled =
        !differ || source->has(kScalesAllLayers) || layer.is_second_type == source->has(kCompressLayers);
    if (scaled) layer.rule = rules.values;
}

} // namespace

bool findRules(Source* source, std::string* error) {
    return readRules(*source, &source->rules, error) && checkFlat(*source, error);
}

bool chooseTextLayer(const ConfigRequest& request, Source* source, ModelEncoding* model, std::string* error) {
    if (!listLayers(*source, &model->layers, error) || !checkTypeNames(*source, error)) return false;
    listTypes(*source, model);
    if (!checkTypeCount(model->layer_types.size(), error)) return false;
    if (request.layer && !checkOneLayer(request, *source, *model, error)) return false;
    const std::string wanted = request.layer ? model->layers[*request.layer].type : request.layer_type;
    if (!chooseLayerName(*source, *model, wanted, &source->layer.name, error) ||
        !chooseNumbers(request, source, model, error))
        return false;
    model->layer_type = source->layer.name;
    setLayerRule(source, model->types_differ);
    return true;
}

} // namespace config
} // namespace rope
