// Keys that most models' code reads and a model type's own does not: they are taken out of the configuration, and
// named.
#include "models/text.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace config {
namespace {

// A key that only some types' code reads, in the place of one that the others' reads, `of`.
struct Alias {
    const char *key, *of;
    IgnoredKey::Means means;
};

constexpr Alias kAliases[] = {
    {"rotary_emb_base", "rope_theta", IgnoredKey::base},
    {"rotary_embedding_base", "rope_theta", IgnoredKey::base},
    {"global_rope_theta", "rope_theta", IgnoredKey::first_base},
    {"local_rope_theta", "", IgnoredKey::second_base},
    {"rope_local_base_freq", "", IgnoredKey::second_base},
    {"swa_rope_theta", "", IgnoredKey::second_base},
    {"rotary_pct", "partial_rotary_factor", IgnoredKey::partial},
    {"rope_pct", "partial_rotary_factor", IgnoredKey::partial},
    {"rotary_percent", "partial_rotary_factor", IgnoredKey::partial},
    {"rope_percent", "partial_rotary_factor", IgnoredKey::partial},
    {"rotary_emb_fraction", "partial_rotary_factor", IgnoredKey::partial},
    {"kv_channels", "head_dim", IgnoredKey::head},
    {"n_embd", "hidden_size", IgnoredKey::size},
    {"n_embed", "hidden_size", IgnoredKey::size},
    {"d_model", "hidden_size", IgnoredKey::size},
    {"n_head", "num_attention_heads", IgnoredKey::size},
    {"n_heads", "num_attention_heads", IgnoredKey::size},
    {"decoder_num_attention_heads", "num_attention_heads", IgnoredKey::size},
};

// A key that a record ignores stands for this.
IgnoredKey::Means meansOf(const std::string& key) {
    if (key == "rope_theta") return IgnoredKey::base;
    if (key == "partial_rotary_factor") return IgnoredKey::partial;
    if (key == "num_attention_heads") return IgnoredKey::size;
    return isOneOf(key, {"head_dim", "qk_rope_head_dim"}) ? IgnoredKey::head : IgnoredKey::rule;
}

void ignore(Source* source, Json* object, const char* key, IgnoredKey::Means means) {
    const Json* found = findKey(*object, key);
    if (found == nullptr) return;
    source->ignored.push_back({key, *found, means});
    object->erase(key);
}

bool isNested(const Json& rules) {
    return std::any_of(rules.begin(), rules.end(), [](const Json& value) { return value.is_object(); });
}

// Finds the rules under either name. *key is the one that they stand under.
const Json* findRulesKey(const Json& config, const char** key) {
    for (const char* name : {"rope_parameters", "rope_scaling"}) {
        *key = name;
        if (const Json* found = findKey(config, name)) return found;
    }
    return nullptr;
}

// Takes a rule out, or keys in it.
void dropOfRules(Source* source, const char* key) {
    const Model& model = *source->model;
    Json* config = &source->config;
    if (findKey(*config, key) == nullptr) return;
    Json* rules = &(*config)[key];
    const bool nested = isNested(*rules);
    const bool flat_scaling = model.scaling_of_full_layers && key == std::string("rope_scaling");
    const bool unnamed = findKey(*rules, "rope_type") == nullptr && findKey(*rules, "type") != nullptr;
    if (nested ? !(source->layersDiffer() || model.nested_rules) || flat_scaling : flat_scaling && unnamed)
        return ignore(source, config, key, IgnoredKey::rule);
    if (source->secondTypeIsScaled() && !nested) {
        ignore(source, rules, "rope_theta", IgnoredKey::base);
        ignore(source, rules, "partial_rotary_factor", IgnoredKey::partial);
    }
    if (!source->layersDiffer()) return;
    // In rules nested by layer type, truncate is read beside the types, and the original length inside them.
    if (findKey(*config, "max_position_embeddings") != nullptr)
        ignore(source, config, "original_max_position_embeddings", IgnoredKey::rule);
    if (!nested) return ignore(source, rules, "truncate", IgnoredKey::rule);
    for (Json& rule : *rules) {
        if (rule.is_object()) ignore(source, &rule, "truncate", IgnoredKey::rule);
    }
}

void dropKeys(Source* source) {
    const Model& model = *source->model;
    Json* config = &source->config;
    for (const Alias& alias : kAliases) {
        // Beside the other key it says the same, or is refused.
        if (findKey(*config, alias.of) == nullptr && !source->reads(alias.key))
            ignore(source, config, alias.key, alias.means);
    }
    for (const char* key : model.ignores) ignore(source, config, key, meansOf(key));
    const char* rules_key = nullptr;
    for (const char* key : model.ignores_without_rule) {
        if (findRulesKey(*config, &rules_key) == nullptr) ignore(source, config, key, meansOf(key));
    }
    dropOfRules(source, "rope_parameters");
    dropOfRules(source, "rope_scaling");
}

// The value at the top, or the class's default for it, goes before one in the rule.
void dropInnerLength(Source* source) {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        if (findKey(source->config, key) != nullptr)
            ignore(source, &source->config[key], "original_max_position_embeddings", IgnoredKey::length);
    }
}

// Gives keys that the type's code has by names of its own the names that all others have.
void renameKeys(Source* source) {
    const Json names = parsed(source->model->own_names);
    for (const auto& name : names.items()) {
        const Json* own = findKey(source->config, name.key().c_str());
        if (own != nullptr) source->config[name.value().get<std::string>()] = Json(*own);
    }
    checkKind(source->config, "layer_types", JsonKind::texts);
}

// ---- The rules ------------------------------------------------------------------------------------------------------

constexpr size_t kMostTypes = 64;

void checkRuleKinds(const Json& rule) {
    checkKinds(rule,
               {"rope_theta", "partial_rotary_factor", "factor", "original_max_position_embeddings",
                "max_position_embeddings", "llama_4_scaling_beta", "attention_factor", "beta_fast", "beta_slow",
                "mscale", "mscale_all_dim", "low_freq_factor", "high_freq_factor", "short_mscale", "long_mscale",
                "alpha", "temperature", "gamma", "mixed_b"},
               JsonKind::number);
    checkKinds(rule, {"truncate", "finetuned", "mrope_interleaved", "interleaved"}, JsonKind::boolean);
    checkKinds(rule, {"mrope_section", "long_factor", "short_factor"}, JsonKind::numbers);
    for (const char* key : {"type", "rope_type"}) {
        checkKind(rule, key, JsonKind::text);
        if (findKey(rule, key) != nullptr && rule[key].get_ref<const std::string&>().empty())
            refuse(std::string("the configuration's ") + key + " is empty; it must be a rule's name");
    }
}

void checkRules(const Source& source) {
    const char* key = nullptr;
    const Json* rules = findRulesKey(source.config, &key);
    if (rules == nullptr) return;
    const Json* scaling = findKey(source.config, "rope_scaling");
    if (scaling != nullptr && *rules != *scaling)
        refuse("the configuration has rope_parameters and rope_scaling, and they differ; one is enough");
    const bool nested = isNested(*rules), scales = key == std::string("rope_scaling");
    checkRuleKinds(*rules);
    if (nested && rules->size() > kMostTypes)
        refuse("the configuration has " + std::to_string(rules->size()) + " types of layers; there may be " +
               std::to_string(kMostTypes));
    for (const auto& item : rules->items()) {
        const Json& value = item.value();
        if (value.is_object()) checkRuleKinds(value);
        if (nested && !value.is_object() && !value.is_null() && !mayStandBesideNested(item.key())) {
            refuse(std::string("the configuration's ") + key + " is nested per layer type, and beside the types has " +
                   shown(item.key()) + "; it belongs into one of them");
        }
    }
    const bool heeded = !source.layersDiffer() || source.secondTypeIsScaled() || nested ||
                        (scales && source.model->global_head_dim == 0);
    if (heeded || rules->empty()) return;
    refuse(std::string("the configuration's ") + key + " is one rule for all layers, but those of the model type " +
           shown(source.type) + " differ; nest a rule for each of full_attention and sliding_attention");
}

// ---- What is said of it ---------------------------------------------------------------------------------------------

bool saysAnother(const IgnoredKey& key, const Layer& layer, const ModelEncoding& encoding) {
    if (!key.value.is_number() || key.means == IgnoredKey::size) return true;
    const double value = key.value.get<double>();
    switch (key.means) {
    case IgnoredKey::first_base:
        return !layer.is_second_type && value != encoding.rule.base;
    case IgnoredKey::second_base:
        return layer.is_second_type && value != encoding.rule.base;
    case IgnoredKey::base:
        return value != encoding.rule.base;
    case IgnoredKey::head:
        return value != encoding.head_dim;
    case IgnoredKey::length:
        return encoding.rule.original_length != 0 && value != encoding.rule.original_length;
    case IgnoredKey::partial:
        return std::floor(value * encoding.head_dim) != encoding.rotary_dim;
    default:
        return true;
    }
}

std::string partOfHead(const ModelEncoding& encoding) {
    return std::to_string(encoding.rotary_dim) + " of a head's " + std::to_string(encoding.head_dim) + " elements turn";
}

std::string insteadOf(const IgnoredKey& key, const ModelEncoding& encoding) {
    switch (key.means) {
    case IgnoredKey::partial:
        return partOfHead(encoding);
    case IgnoredKey::size:
    case IgnoredKey::head:
        return "a head has " + std::to_string(encoding.head_dim) + " elements";
    case IgnoredKey::length:
        return "the original length is " + std::to_string(static_cast<uint64_t>(encoding.rule.original_length));
    case IgnoredKey::rule:
        return std::string("the rule is '") + ropeRuleName(encoding.rule.kind) + "'";
    default:
        return "the base is " + shown(encoding.rule.base);
    }
}

// Says what the plain reading of a configuration made of it.
std::string plainReading(const Layer& layer, const ModelEncoding& encoding) {
    const std::string& type = layer.source.type;
    const std::string whole = "the whole head of " + std::to_string(encoding.rotary_dim) + " elements turns";
    return (type.empty() ? "the configuration has no model_type" : "the model type " + shown(type) + " is not known") +
           ", so its keys alone are read, and its own code may do otherwise: the rule is '" +
           ropeRuleName(encoding.rule.kind) + "'" + (layer.rule.empty() ? ", as the configuration names no rule" : "") +
           ", the base is " + shown(encoding.rule.base) + ", and " +
           (encoding.rotary_dim == encoding.head_dim ? whole : partOfHead(encoding));
}

bool holds(const Remark& remark, const Layer& layer) {
    if (remark.when == Remark::When::equal) return false;
    const bool here = findKey(layer.config(), remark.key) != nullptr;
    const bool in_rule = findKey(layer.rule, remark.key) != nullptr;
    if (remark.when == Remark::When::always) return true;
    return here == (remark.when == Remark::When::present) && !in_rule;
}

} // namespace

bool mayStandBesideNested(const std::string& key) {
    return isOneOf(key, {"rope_theta", "rope_type", "type", "truncate", "partial_rotary_factor"});
}

void spreadRotary(Json* config) {
    const Json* found = findKey(*config, "rotary");
    const Json rotary = found != nullptr && found->is_object() ? *found : Json();
    const Json *type = findKey(rotary, "type"), *base = findKey(rotary, "base"),
               *factor = findKey(rotary, "scaling_factor");
    if (type == nullptr || (*type != "dynamic" && *type != "origin")) return;
    config->erase("rotary");
    if (base != nullptr) (*config)["rope_theta"] = *base;
    if (*type == "dynamic")
        (*config)["rope_scaling"] = {{"type", "dynamic"}, {"factor", factor != nullptr ? *factor : Json(1)}};
}

void findRules(Source* source) {
    const Model& model = *source->model;
    Rules& rules = source->rules;
    checkRules(*source);
    if (model.longrope_alone) dropInnerLength(source);
    const bool drops = source->known && !model.own_code;
    if (drops) dropKeys(source);
    renameKeys(source);
    const char* key = nullptr;
    const Json* found = findRulesKey(source->config, &key);
    if (found != nullptr) rules.key = key;
    rules.implied = found == nullptr && model.parameters != nullptr;
    rules.values = found != nullptr ? *found : parsed(model.parameters);
    rules.nested = isNested(rules.values);
    if (found != nullptr || !drops) return;
    bool has_base = rules.values.contains("rope_theta");
    for (const Json& rule : rules.values) has_base = has_base || (rule.is_object() && rule.contains("rope_theta"));
    if (has_base) ignore(source, &source->config, "rope_theta", IgnoredKey::base);
}

void noteKeys(const Layer& layer, ModelEncoding* encoding) {
    const Source& source = layer.source;
    std::vector<std::string>* notes = &encoding->notes;
    if (!source.known) notes->push_back(plainReading(layer, *encoding));
    if (layer.model().from == Origin::remembered)
        notes->push_back("what is known of the model type " + shown(source.type) +
                         " was not checked against the model's own code");
    notes->insert(notes->end(), source.notes.begin(), source.notes.end());
    for (const Remark& remark : layer.model().remarks) {
        if (holds(remark, layer)) notes->emplace_back(remark.text);
    }
    for (const IgnoredKey& key : source.ignored) {
        if (!saysAnother(key, layer, *encoding)) continue;
        notes->push_back("the configuration's " + key.name + " of " + shown(key.value) +
                         " is ignored, because the code of the model type " + shown(source.type) +
                         " does not read it; " + insteadOf(key, *encoding));
    }
}

} // namespace config
} // namespace rope
