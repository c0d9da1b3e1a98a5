#include "config/layers.hpp"

#include <algorithm>

namespace rope {
namespace config {
namespace {

bool isScalarBeside(const std::string& key) { // of rules that are nested
    return isOneOf(key, {"rope_theta", "rope_type", "type", "truncate", "partial_rotary_factor"});
}

bool checkRuleKinds(const Json& rule, std::string* error) {
    for (const char* key : {"rope_theta", "partial_rotary_factor", "factor", "original_max_position_embeddings",
                            "max_position_embeddings", "llama_4_scaling_beta", "attention_factor", "beta_fast",
                            "beta_slow", "mscale", "mscale_all_dim", "low_freq_factor", "high_freq_factor",
                            "short_mscale", "long_mscale", "alpha", "temperature", "gamma", "mixed_b"}) {
        if (!checkKind(rule, key, Kind::number, error)) return false;
    }
    for (const char* key : {"truncate", "finetuned", "mrope_interleaved", "interleaved"}) {
        if (!checkKind(rule, key, Kind::choice, error)) return false;
    }
    for (const char* key : {"mrope_section", "long_factor", "short_factor"}) {
        if (!checkKind(rule, key, Kind::numbers, error)) return false;
    }
    for (const char* key : {"type", "rope_type"}) {
        const Json* name = find(rule, key);
        if (!checkKind(rule, key, Kind::name, error)) return false;
        if (name != nullptr && *name == "")
            return refuse(error, std::string("the configuration's ") + key + " is empty; it must be a rule's name");
    }
    return true;
}

bool readRules(const Source& source, Rules* rules, std::string* error) {
    const Json* parameters = find(source.config, "rope_parameters");
    const Json* scaling = find(source.config, "rope_scaling");
    if (parameters != nullptr && scaling != nullptr && *parameters != *scaling)
        return refuse(error, "the configuration has rope_parameters and rope_scaling, and they differ; one is enough");
    const Json* found = parameters != nullptr ? parameters : scaling;
    if (found != nullptr) {
        rules->name = parameters != nullptr ? "rope_parameters" : "rope_scaling";
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
        if (rules->nested && !value.is_object() && !value.is_null() && !isScalarBeside(item.key())) {
            return refuse(error, "the configuration's " + rules->name +
                                     " is nested per layer type, and beside the types has " + shown(item.key()) +
                                     "; it belongs into one of them");
        }
    }
    return true;
}

// A rule for all where the model's code heeds only nested ones.
bool checkFlat(const Source& source, std::string* error) {
    const Rules& rules = source.rules;
    const bool heeded = !source.has(kLayers) || source.has(kCompress) || rules.nested || rules.implied ||
                        (rules.name == "rope_scaling" && !source.has(kGlobalHead));
    if (heeded || rules.values.empty()) return true;
    return refuse(error, "the configuration's " + rules.name +
                             " is one rule for all layers, but those of the model type " + shown(source.type) +
                             " differ; nest a rule for each of full_attention and sliding_attention");
}

void add(std::vector<std::string>* names, const std::string& name) {
    if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

// *alike: they are of one rule.
std::vector<std::string> layerTypes(const Source& source, bool* alike) {
    std::vector<std::string> names;
    *alike = false;
    for (const auto& item : source.rules.values.items()) {
        const bool null = item.value().is_null() && !isScalarBeside(item.key());
        if (source.rules.nested && (item.value().is_object() || null)) add(&names, item.key());
    }
    const bool zaya = source.type == "zaya";
    bool layered = source.has(kLayers);
    for (const char* key : {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"})
        layered = layered || find(source.config, key) != nullptr;
    if (layered) {
        for (const char* name : {"full_attention", "sliding_attention"}) {
            const bool first = name == std::string("full_attention");
            add(&names, source.has(kCompress) ? (first ? "main" : "compress")
                        : zaya                ? (first ? "hybrid" : "hybrid_sliding")
                                              : name);
        }
    }
    if (!names.empty()) return names;
    const Json* types = find(source.config, "layer_types");
    *alike = find(source.config, "layer_rope_theta") == nullptr;
    for (const Json& type : types != nullptr ? *types : Json::array()) add(&names, type.get<std::string>());
    return names;
}

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + shown(name);
    return text;
}

bool chooseName(const std::vector<std::string>& names, bool alike, const std::string& wanted, std::string* name,
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

// A list is of one number per layer, or it is no list that a model's code would read.
bool checkList(const Source& source, const char* key, std::string* error) {
    const Json* list = find(source.config, key);
    const Json* types = find(source.config, "layer_types");
    const Json* count = find(source.config, "num_hidden_layers");
    const bool counted = types != nullptr || count != nullptr;
    if (source.known != nullptr ? !source.has(kLists) : !counted) {
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

// A list with a number for each layer becomes the number that the chosen layers have in common.
bool resolveList(const char* key, const char* as, Source* source, std::string* error) {
    Json* config = &source->config;
    const std::string& layer = source->layer.name;
    const Json* list = find(*config, key);
    if (list == nullptr || !list->is_array()) return true;
    if (!checkList(*source, key, error)) return false;
    const Json* types = find(*config, "layer_types");
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

bool chooseLayer(const std::string& wanted, Source* source, ModelEncoding* model, std::string* error) {
    bool alike;
    Layer& layer = source->layer;
    const Rules& rules = source->rules;
    model->layer_types = layerTypes(*source, &alike);
    if (!chooseName(model->layer_types, alike, wanted, &layer.name, error)) return false;
    model->layer_type = layer.name;
    layer.other = !alike && (layer.name == "compress" || layer.name.find("sliding") != layer.name.npos);
    if (rules.nested) {
        const Json* own = find(rules.values, layer.name.c_str());
        if (own != nullptr) layer.rule = *own;
        const Json* truncate = find(rules.values, "truncate");
        if (truncate != nullptr && !layer.rule.contains("truncate")) layer.rule["truncate"] = *truncate;
        return true;
    }
    const bool scaled = alike || source->has(kScaleBoth) || layer.other == source->has(kCompress);
    if (scaled) layer.rule = rules.values;
    return true;
}

bool resolveLists(Source* source, std::string* error) {
    return resolveList("rope_theta", "rope_theta", source, error) &&
           resolveList("layer_rope_theta", "rope_theta", source, error) &&
           resolveList("partial_rotary_factors", "partial_rotary_factor", source, error);
}

} // namespace config
} // namespace rope
