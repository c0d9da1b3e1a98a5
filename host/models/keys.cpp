// The keys of a configuration: which are read, and which a model type's own code does not read. These are taken out of
// the configuration, and named.
//
// To read a key more of a config.json: kTopKeys here, or kRuleKeys in rule.cpp for a key of a rule, and the file that
// takes its value: config.cpp (the head), rule.cpp or layers.cpp.
#include "models/text.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace config {
namespace {

// A key at the top of a configuration.
struct TopKey {
    // Whose code reads it, where its name is about rotation. layered: types whose layers differ, and those that are not
    // known; unknown: these alone; some: none but those whose record says that it reads it, as any record may.
    enum Readers { all, layered, unknown, some };
    const char* name;
    JsonKind kind = JsonKind::any;
    Readers readers = all;
    IgnoredKey::Means means = IgnoredKey::rule;
    const char* of = nullptr; // only some types' code reads it, in the place of one that the others' reads, or of none
};

constexpr TopKey kTopKeys[] = {
    {"rope_theta", JsonKind::any, TopKey::all, IgnoredKey::base},
    {"rotary_emb_base", JsonKind::any, TopKey::all, IgnoredKey::base, "rope_theta"},
    {"rotary_embedding_base", JsonKind::any, TopKey::all, IgnoredKey::base, "rope_theta"},
    {"global_rope_theta", JsonKind::any, TopKey::layered, IgnoredKey::first_base, "rope_theta"},
    {"local_rope_theta", JsonKind::any, TopKey::layered, IgnoredKey::second_base, ""},
    {"rope_local_base_freq", JsonKind::any, TopKey::layered, IgnoredKey::second_base, ""},
    {"swa_rope_theta", JsonKind::any, TopKey::layered, IgnoredKey::second_base, ""},
    {"compress_rope_theta", JsonKind::any, TopKey::some},
    {"partial_rotary_factor", JsonKind::any, TopKey::all, IgnoredKey::partial},
    {"rotary_pct", JsonKind::any, TopKey::all, IgnoredKey::partial, "partial_rotary_factor"},
    {"rope_pct", JsonKind::any, TopKey::all, IgnoredKey::partial, "partial_rotary_factor"},
    {"rotary_percent", JsonKind::any, TopKey::all, IgnoredKey::partial, "partial_rotary_factor"},
    {"rope_percent", JsonKind::any, TopKey::all, IgnoredKey::partial, "partial_rotary_factor"},
    {"rotary_emb_fraction", JsonKind::any, TopKey::all, IgnoredKey::partial, "partial_rotary_factor"},
    {"max_position_embeddings", JsonKind::number},
    {"n_positions", JsonKind::number},
    {"max_seq_len", JsonKind::number},
    {"seq_length", JsonKind::number},
    {"n_ctx", JsonKind::number},
    {"num_hidden_layers", JsonKind::number},
    {"original_max_position_embeddings", JsonKind::number},
    {"head_dim", JsonKind::number, TopKey::all, IgnoredKey::head},
    {"kv_channels", JsonKind::number, TopKey::all, IgnoredKey::head, "head_dim"},
    {"hidden_size", JsonKind::number},
    {"n_embd", JsonKind::number, TopKey::all, IgnoredKey::size, "hidden_size"},
    {"n_embed", JsonKind::number, TopKey::all, IgnoredKey::size, "hidden_size"},
    {"d_model", JsonKind::number, TopKey::all, IgnoredKey::size, "hidden_size"},
    {"num_attention_heads", JsonKind::number, TopKey::all, IgnoredKey::size},
    {"n_head", JsonKind::number, TopKey::all, IgnoredKey::size, "num_attention_heads"},
    {"n_heads", JsonKind::number, TopKey::all, IgnoredKey::size, "num_attention_heads"},
    {"decoder_num_attention_heads", JsonKind::number, TopKey::all, IgnoredKey::size, "num_attention_heads"},
    {"attention_head_dim", JsonKind::number},
    {"qk_rope_head_dim", JsonKind::any, TopKey::unknown, IgnoredKey::head},
    {"no_rope_layer_interval", JsonKind::number},
    {"rotary_value", JsonKind::boolean},
    {"rope_full_precision", JsonKind::boolean}, // OLMo's; the caller rounds angles
    {"original_rope", JsonKind::boolean, TopKey::some},
    {"rope_3d", JsonKind::boolean, TopKey::some},
    {"use_dynamic_ntk", JsonKind::boolean},
    {"use_logn_attn", JsonKind::boolean},
    {"no_rope_layers", JsonKind::booleans},
    {"layer_rope_theta", JsonKind::numbers, TopKey::unknown},
    {"partial_rotary_factors", JsonKind::numbers},
    {"layer_types", JsonKind::texts},
    {"attn_config", JsonKind::object},
    {"rope_parameters", JsonKind::object},
    {"rope_scaling", JsonKind::object},
    {"rotary_dim"},
    {"attn_rotary_emb"},
    {"rope_interleave"},
    {"rotary_emb_interleaved"},
    {"rope"},
    {"rotary"},
    {"use_rope"},
    {"use_rotary_pos_emb"},
    {"use_rotary_embeddings"},
    {"use_rotary_embedding"},
    {"use_mem_rope"},
    {"rope_ratio", JsonKind::any, TopKey::some},
    {"indexer_rope_interleave", JsonKind::any, TopKey::some},
    {"rope_is_neox_style", JsonKind::any, TopKey::some},
    {"use_3d_rope", JsonKind::any, TopKey::some},
};

// Null: no code is known to read it.
const TopKey* findTopKey(const std::string& key) {
    for (const TopKey& row : kTopKeys) {
        if (key == row.name) return &row;
    }
    return nullptr;
}

// Takes a key out of the configuration, or out of a rule.
void ignore(Source* source, Json* object, const char* key, IgnoredKey::Means means) {
    const Json* found = findKey(*object, key);
    if (found == nullptr) return;
    source->ignored.push_back({key, *found, means});
    object->erase(key);
}

// Takes out the keys that the type's own code does not read, and the rules, or keys in them.
void dropKeys(Source* source) {
    const Model& model = *source->model;
    Json* config = &source->config;
    for (const TopKey& row : kTopKeys) {
        // Beside the other key it says the same, or is refused.
        if (!model.own_code && row.of != nullptr && findKey(*config, row.of) == nullptr &&
            !isOneOf(row.name, model.reads))
            ignore(source, config, row.name, row.means);
    }
    for (const Words* words : {&model.ignores, &model.ignores_without_rule}) {
        if (words == &model.ignores_without_rule && findOwnRules(*config).found) continue;
        for (const char* key : *words) {
            const TopKey* row = findTopKey(key);
            ignore(source, config, key, row != nullptr ? row->means : IgnoredKey::rule);
        }
    }
    if (model.own_code) return;
    const bool nested = findOwnRules(*config).nested; // rules under both keys are the same
    const bool differ = model.layer_types.size() != 0;
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        if (findKey(*config, key) == nullptr) continue;
        Json* rules = &(*config)[key];
        const bool flat_scaling = model.scaling_of_full_layers && key == std::string("rope_scaling");
        const bool unnamed = findKey(*rules, "rope_type") == nullptr && findKey(*rules, "type") != nullptr;
        if (nested ? !(differ || model.nested_rules) || flat_scaling : flat_scaling && unnamed) {
            ignore(source, config, key, IgnoredKey::rule);
            continue;
        }
        if (model.flat_rule == FlatRule::second && !nested) {
            ignore(source, rules, "rope_theta", IgnoredKey::base);
            ignore(source, rules, "partial_rotary_factor", IgnoredKey::partial);
        }
        if (!differ) continue;
        // In rules nested by layer type, truncate is read beside the types, and the original length inside them.
        if (findKey(*config, "max_position_embeddings") != nullptr)
            ignore(source, config, "original_max_position_embeddings", IgnoredKey::rule);
        if (!nested) ignore(source, rules, "truncate", IgnoredKey::rule);
        for (Json& rule : *rules) {
            if (nested && rule.is_object()) ignore(source, &rule, "truncate", IgnoredKey::rule);
        }
    }
}

// A file may list two parts of each layer, and count both. Each second entry is taken out where `part` is one of them.
void takePartsOut(const char* part, Json* config) {
    const Json* types = findKey(*config, "layer_types");
    if (types == nullptr || std::find(types->begin(), types->end(), Json(part)) == types->end()) return;
    Json wholes = Json::array();
    for (size_t i = 0; i < types->size(); i += 2) wholes.push_back((*types)[i]);
    (*config)["layer_types"] = wholes;
    const double count = readNumber(*config, {"num_hidden_layers"}, 0, 1e6, NAN);
    if (!std::isnan(count)) (*config)["num_hidden_layers"] = std::floor(count / 2);
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

} // namespace

bool isAboutRotation(const std::string& key) {
    for (const char* word : {"rope", "rotary", "mrope"}) {
        const size_t at = key.find(word);
        if (at == 0 || (at != key.npos && key[at - 1] == '_')) return true;
    }
    return key == "global_head_dim";
}

void checkKeys(const Source& source) {
    const Json& config = source.config;
    const Model& model = *source.model;
    const std::string of_type = " for the model type " + shown(source.type);
    readNumber(config, {"num_hidden_layers"}, 0, 1e6, 0);
    const bool axes = readBool(config, "position_encoding_2d", false);
    std::vector<const Json*> places = {&config}; // the configuration, its rules, and those nested in them
    if (const Json* rules = findKey(config, "rope_parameters")) {
        places.push_back(rules);
        for (const Json& rule : *rules) places.push_back(&rule);
    }
    for (const Remark& remark : model.remarks) { // some models of a type have no rotation, or one that is not read
        if (remark.when != Remark::When::equal) continue;
        const Json refused = Json::parse(remark.value);
        if (refused.is_boolean()) findKey(config, remark.key, JsonKind::boolean);
        for (const Json* place : places) {
            const auto found = place->find(remark.key);
            if (found != place->end() && *found == refused) refuse(remark.text);
        }
    }
    if (axes)
        refuse("the configuration's position_encoding_2d is true: its positions have two axes, each on a half of the "
               "head, which is not read");
    for (const TopKey& row : kTopKeys) findKey(config, row.name, row.kind); // even where nothing would read it
    // OpenAI publish gpt-oss with a configuration of their own, beside that for Transformers.
    if (config.contains("rope_scaling_factor") && config.contains("rope_ntk_alpha") &&
        config.contains("rope_ntk_beta") && config.contains("initial_context_length"))
        refuse(
            "the configuration is OpenAI's own of gpt-oss, with rope_ntk_alpha and rope_ntk_beta, which is not read; "
            "the config.json of the model_type gpt_oss, which Hugging Face has of the same model, is");
    for (const auto& item : config.items()) {
        const std::string& key = item.key();
        const bool one = isOneOf(key, {"rotary_scaling_factor", "rope_ratio"}) && item.value() == 1; // changes nothing
        if (isOff(item.value()) || one || !isAboutRotation(key)) continue;
        const TopKey* row = findTopKey(key);
        const bool open =
            row != nullptr && (row->readers == TopKey::all || (!source.known && row->readers < TopKey::some) ||
                               (model.layer_types.size() != 0 && row->readers == TopKey::layered));
        const bool own = (row != nullptr && isOneOf(key, model.reads)) ||
                         (key == "global_head_dim" && model.global_head_dim != 0) ||
                         (key == "qk_rope_head_dim" && model.rope_head_dim != 0);
        if (open || own) continue;
        refuse("the configuration's key " + shown(key) + " is not one that is read" + (source.known ? of_type : ""));
    }
    const Json* ntk = findKey(config, "use_dynamic_ntk");
    if (ntk != nullptr && *ntk == true && !isOneOf("use_dynamic_ntk", model.reads))
        refuse("the configuration's use_dynamic_ntk is true, which is not read" + (source.type.empty() ? "" : of_type) +
               "; a rope_scaling would name the rule");
}

bool mayStandBesideNested(const std::string& key) {
    return isOneOf(key, {"rope_theta", "rope_type", "type", "truncate", "partial_rotary_factor"});
}

Rules findOwnRules(const Json& config) {
    Rules rules;
    for (const char* name : {"rope_parameters", "rope_scaling"}) {
        const Json* found = rules.found ? nullptr : findKey(config, name);
        if (found == nullptr) continue;
        rules = {name, *found, true};
        for (const Json& value : *found) rules.nested = rules.nested || value.is_object();
    }
    return rules;
}

void findRules(Source* source) {
    const Model& model = *source->model;
    Json* config = &source->config;
    checkRules(*source);
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        // The length at the top, or the class's default for it, goes before one in the rule.
        if (model.longrope_alone && findKey(*config, key) != nullptr)
            ignore(source, &(*config)[key], "original_max_position_embeddings", IgnoredKey::length);
    }
    if (source->known) dropKeys(source);
    const Json names = Json::parse(model.own_names); // they become the names that all others have
    for (const auto& name : names.items()) {
        const Json* own = findKey(*config, name.key().c_str());
        if (own != nullptr) (*config)[name.value().get<std::string>()] = Json(*own);
    }
    findKey(*config, "layer_types", JsonKind::texts);
    if (model.part_type != nullptr) takePartsOut(model.part_type, config);
    Rules& rules = source->rules = findOwnRules(*config);
    if (rules.found) return;
    rules.values = Json::parse(model.parameters);
    rules.implied = !rules.values.empty();
    bool has_base = rules.values.contains("rope_theta");
    for (const Json& rule : rules.values) {
        rules.nested = rules.nested || rule.is_object();
        has_base = has_base || (rule.is_object() && rule.contains("rope_theta"));
    }
    if (source->known && !model.own_code && has_base) ignore(source, config, "rope_theta", IgnoredKey::base);
}

void noteKeys(const Layer& layer, ModelEncoding* encoding) {
    const Source& source = layer.source;
    std::vector<std::string>* notes = &encoding->notes;
    if (!source.known) notes->push_back(plainReading(layer, *encoding));
    if (layer.model.from == Origin::remembered)
        notes->push_back("what is known of the model type " + shown(source.type) +
                         " was not checked against the model's own code");
    notes->insert(notes->end(), source.notes.begin(), source.notes.end());
    for (const Remark& remark : layer.model.remarks) {
        const bool here = findKey(*layer.config, remark.key) != nullptr;
        const bool asked = here == (remark.when == Remark::When::present) && findKey(layer.rule, remark.key) == nullptr;
        const bool stands = remark.when != Remark::When::missing || source.rules.found;
        if (remark.when == Remark::When::always || (asked && stands && remark.when != Remark::When::equal))
            notes->emplace_back(remark.text);
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
