#include "config/layers.hpp"

#include <algorithm>

namespace rope {
namespace config {
namespace {

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
        if (name != nullptr && *name == "")
            return refuse(error, std::string("the configuration's ") + key + " is empty; it must be a rule's name");
    }
    return true;
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

// *alike: all types have the same rule.
std::vector<std::string> listLayerTypes(const Source& source, bool* alike) {
    std::vector<std::string> names;
    *alike = false;
    for (const auto& item : source.rules.values.items()) {
        const bool null = item.value().is_null() && !mayStandBesideNested(item.key());
        if (source.rules.nested && (item.value().is_object() || null)) addOnce(&names, item.key());
    }
    const bool zaya = source.type == "zaya";
    bool layered = source.has(kLayerTypes);
    for (const char* key : {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"})
        layered = layered || findKey(source.config, key) != nullptr;
    if (layered) {
        for (const char* name : {"full_attention", "sliding_attention"}) {
            const bool first = name == std::string("full_attention");
            addOnce(&names, source.has(kCompressLayers) ? (first ? "main" : "compress")
                            : zaya                      ? (first ? "hybrid" : "hybrid_sliding")
                                                        : name);
        }
    }
    if (!names.empty()) return names;
    const Json* types = findKey(source.config, "layer_types");
    *alike = findKey(source.config, "layer_rope_theta") == nullptr;
    for (const Json& type : types != nullptr ? *types : Json::array()) addOnce(&names, type.get<std::string>());
    return names;
}

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + shown(name);
    return text;
}

bool chooseLayerName(const std::vector<std::string>& names, bool alike, const std::string& wanted, std::string* name,
                     std::string* error) {
    const auto has = [&](const std::string& other) {
        return std::find(names.begin(), names.end(), other) != names.end();
    };
    name->clear();
    if (names.empty()) {
        return wanted.empty() || wanted == "full_attention" ||
               refuse(error, "the configuration has no layer types, and so none that is called " + shown(wanted));
    }
    if (!wanted.empty() && !has(wanted)) {
        return refuse(error, "the configuration has no layer type " + shown(wanted) + "; it has " + listed(names));
    }
    *name = wanted;
    for (const char* usual : {"full_attention", "main", "hybrid"}) {
        if (name->empty() && has(usual)) *name = usual;
    }
    if (name->empty() && (alike || names.size() == 1)) *name = names[0];
    return !name->empty() ||
           refuse(error, "the configuration's layer types differ, and none of them is chosen: " + listed(names));
}

// A list must have a number for each layer, and the model's code must read lists.
bool checkLayerList(const Source& source, const char* key, std::string* error) {
    const Json* list = findKey(source.config, key);
    const Json* types = findKey(source.config, "layer_types");
    const Json* count = findKey(source.config, "num_hidden_layers");
    const bool counted = types != nullptr || count != nullptr;
    if (source.known != nullptr ? !source.has(kLayerLists) : !counted) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*list) +
                                 "; it must be a number" +
                                 (source.known != nullptr ? "" : ", or a list beside num_hidden_layers"));
    }
    const double layers = types != nullptr   ? static_cast<double>(types->size())
                          : count != nullptr ? count->get<double>()
                                             : 0;
    if (static_cast<double>(list->size()) >= layers) return true;
    return refuse(error, std::string("the configuration's ") + key + " has " + std::to_string(list->size()) +
                             " numbers for " + shown(layers) + " layers; it must have one per layer");
}

// Reduces one list, and stores the number under the key `as`.
bool reduceLayerList(const char* key, const char* as, Source* source, std::string* error) {
    Json* config = &source->config;
    const std::string& layer = source->layer.name;
    const Json* list = findKey(*config, key);
    if (list == nullptr || !list->is_array()) return true;
    if (!checkLayerList(*source, key, error)) return false;
    const Json* types = findKey(*config, "layer_types");
    Json common;
    for (size_t i = 0; i < list->size(); ++i) {
        if (types != nullptr && !layer.empty() && (i >= types->size() || (*types)[i] != layer)) continue;
        if ((*list)[i] == 0) continue; // no rotation in that layer
        if (!common.is_null() && common != (*list)[i]) {
            return refuse(error, std::string("the configuration's ") + key + " has " + shown(common) + " and " +
                                     shown((*list)[i]) +
                                     (layer.empty() ? "" : " for layers of the type " + shown(layer)) +
                                     "; they must agree");
        }
        common = (*list)[i];
    }
    if (common.is_null())
        return refuse(error, std::string("the configuration's ") + key + " has no layer that is rotated");
    (*config)[key] = nullptr;
    (*config)[as] = common;
    return true;
}

} // namespace

bool findRules(Source* source, std::string* error) {
    return readRules(*source, &source->rules, error) && checkFlat(*source, error);
}

bool chooseTextLayer(const std::string& wanted, Source* source, ModelEncoding* model, std::string* error) {
    bool alike;
    Layer& layer = source->layer;
    const Rules& rules = source->rules;
    model->layer_types = listLayerTypes(*source, &alike);
    if (!chooseLayerName(model->layer_types, alike, wanted, &layer.name, error)) return false;
    model->layer_type = layer.name;
    layer.is_second_type = !alike && (layer.name == "compress" || layer.name.find("sliding") != layer.name.npos);
    if (rules.nested) {
        const Json* own = findKey(rules.values, layer.name.c_str());
        if (own != nullptr) layer.rule = *own;
        const Json* truncate = findKey(rules.values, "truncate");
        if (truncate != nullptr && !layer.rule.contains("truncate")) layer.rule["truncate"] = *truncate;
        return true;
    }
    const bool scaled = alike || source->has(kScalesAllLayers) || layer.is_second_type == source->has(kCompressLayers);
    if (scaled) layer.rule = rules.values;
    return true;
}

bool reduceLayerLists(Source* source, std::string* error) {
    return reduceLayerList("rope_theta", "rope_theta", source, error) &&
           reduceLayerList("layer_rope_theta", "rope_theta", source, error) &&
           reduceLayerList("partial_rotary_factors", "partial_rotary_factor", source, error);
}

} // namespace config
} // namespace rope
