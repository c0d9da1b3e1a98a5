#include "config.hpp"

#include "config_models.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rope {
namespace {

using Json = nlohmann::json;
using Keys = std::initializer_list<const char*>;

constexpr double kMaxHeadDim = 65536;
constexpr double kMaxBase = 1.8e19;
constexpr double kMaxLength = 9007199254740992.0; // 2^53
constexpr int kMaxDepth = 32;

// ---- Values out of the text --------------------------------------------------------------------------------------

bool refuse(std::string* error, const std::string& text) {
    *error = text;
    return false;
}

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 48) text = text.substr(0, 45) + "...";
    return text;
}

// The member, or null where it is absent or null.
const Json* find(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Leaves *value as it is where the key is absent.
bool readNumber(const Json& object, const char* key, double low, double high, double* value, std::string* error) {
    const Json* found = find(object, key);
    if (found == nullptr) return true;
    const double number = found->is_number() ? found->get<double>() : NAN;
    if (!(number >= low && number <= high)) {
        char range[64];
        std::snprintf(range, sizeof range, "a number from %g to %g", low, high);
        return refuse(error,
                      std::string("the configuration's ") + key + " is " + shown(*found) + "; it must be " + range);
    }
    *value = number;
    return true;
}

// One number that has several names. *value is NaN where there is none.
bool readNamed(const Json& object, Keys keys, double low, double high, double* value, std::string* error) {
    const char* name = nullptr;
    *value = NAN;
    for (const char* key : keys) {
        double number = NAN;
        if (!readNumber(object, key, low, high, &number, error)) return false;
        if (std::isnan(number)) continue;
        if (name != nullptr && number != *value) {
            return refuse(error, std::string("the configuration's ") + name + " is " + shown(object[name]) +
                                     " and its " + key + " " + shown(object[key]) + "; they must agree");
        }
        name = key;
        *value = number;
    }
    return true;
}

bool readCount(const Json& object, const char* key, double high, uint32_t* value, std::string* error) {
    double number = *value;
    if (!readNumber(object, key, 1, high, &number, error)) return false;
    if (number != std::floor(number)) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*find(object, key)) +
                                 "; it must be a whole number");
    }
    *value = static_cast<uint32_t>(number);
    return true;
}

// The first of the names that is there.
bool readFirstCount(const Json& object, Keys keys, double high, uint32_t* value, std::string* error) {
    for (const char* key : keys) {
        if (find(object, key) != nullptr) return readCount(object, key, high, value, error);
    }
    return true;
}

bool readText(const Json& object, const char* key, std::string* value, std::string* error) {
    const Json* found = find(object, key);
    if (found == nullptr) return true;
    if (!found->is_string()) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*found) +
                                 "; it must be a name in quotes");
    }
    *value = found->get<std::string>();
    return true;
}

bool readSwitch(const Json& object, const char* key, bool* value, std::string* error) {
    const Json* found = find(object, key);
    if (found == nullptr) return true;
    if (!found->is_boolean()) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*found) +
                                 "; it must be true or false");
    }
    *value = found->get<bool>();
    return true;
}

// ---- What is read --------------------------------------------------------------------------------------------------

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

// ---- The part of the configuration ---------------------------------------------------------------------------------

bool parse(const std::string& text, Json* config, std::string* error) {
    int deepest = 0;                         // values are copied, compared and printed by recursion
    std::vector<std::set<std::string>> keys; // of the objects that are open
    std::string twice;
    const auto follow = [&](int depth, Json::parse_event_t event, Json& value) {
        deepest = depth > deepest ? depth : deepest;
        if (event == Json::parse_event_t::object_start) keys.emplace_back();
        if (event == Json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
        const bool is_key = event == Json::parse_event_t::key && !keys.empty();
        if (is_key && !keys.back().insert(value.get<std::string>()).second) twice = shown(value);
        return depth <= kMaxDepth;
    };
    try {
        *config = Json::parse(text, follow);
    } catch (const Json::exception& exception) {
        const std::string what = exception.what();
        const size_t after = what.find("] "); // behind the library's own name of the error
        return refuse(error, "the configuration is not JSON: " + (after == what.npos ? what : what.substr(after + 2)));
    }
    if (deepest > kMaxDepth)
        return refuse(error, "the configuration is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    if (!twice.empty())
        return refuse(error, "the configuration has the key " + twice + " twice; it must be there once");
    if (!config->is_object())
        return refuse(error, "the configuration is " + shown(*config) + "; it must be an object in braces");
    return true;
}

// The models' code reads the inner one alone; a rule beside it would be lost without a word.
bool checkOuter(const Json& outer, const char* key, const Json& inner, std::string* error) {
    for (const char* name : {"rope_parameters", "rope_scaling", "rope_theta"}) {
        const Json* beside = find(outer, name);
        const Json* within = find(inner, name);
        const bool lost = within == nullptr && name != std::string("rope_theta");
        if (beside != nullptr && (lost || (within != nullptr && *within != *beside))) {
            return refuse(error, std::string("the configuration has ") + name + " beside its " + key + ", which has " +
                                     (within == nullptr ? "none" : "another") + "; only what " + key +
                                     " holds would be read");
        }
    }
    return true;
}

// Of a model of several parts the one that reads text.
bool descend(Source* source, std::string* error) {
    for (bool found = true; found;) {
        found = false;
        for (const char* key : {"text_config", "llm_config", "language_config", "thinker_config", "decoder_config",
                                "global_config", "decoder"}) {
            const Json* inner = find(source->config, key);
            if (inner == nullptr || !inner->is_object() || inner->empty()) continue;
            if (!checkOuter(source->config, key, *inner, error)) return false;
            const Json part = *inner;
            source->config = part;
            if (!readText(source->config, "model_type", &source->type, error)) return false;
            found = true;
            break;
        }
    }
    return true;
}

bool checkModel(const Source& source, std::string* error) {
    if (const char* why = whyNoRotation(source.type))
        return refuse(error, "the model type " + shown(source.type) + " is not encoded by a rotation: " + why);
    std::string embedding = source.has(kAsksType) ? "absolute" : "rope";
    if (!readText(source.config, "position_embedding_type", &embedding, error)) return false;
    const bool turns = embedding == "rope" || embedding == "rotary" || embedding == "rope_gptj";
    const bool unread = source.known != nullptr && !source.has(kAsksType) && embedding == "absolute";
    if (!turns && !unread) {
        return refuse(error, "the configuration's position_embedding_type is " + shown(embedding) +
                                 ", which is no rotation; rope and rotary are");
    }
    for (const char* key :
         {"rotary", "use_rope", "use_rotary_pos_emb", "use_rotary_embeddings", "use_mem_rope", "alibi"}) {
        const bool wanted = key != std::string("alibi");
        bool value = wanted;
        if (!readSwitch(source.config, key, &value, error)) return false;
        if (value != wanted)
            return refuse(error, std::string("the configuration's ") + key + " is " + (value ? "true" : "false") +
                                     ": the model has no rotation");
    }
    return true;
}

// ---- Keys that are not read ----------------------------------------------------------------------------------------

bool isOneOf(const std::string& key, Keys keys) {
    return std::any_of(keys.begin(), keys.end(), [&](const char* other) { return key == other; });
}

bool isOff(const Json& value) { return value.is_null() || value == false; }

bool tellsOfRotation(const std::string& key) {
    for (const char* word : {"rope", "rotary", "mrope"}) {
        const size_t at = key.find(word);
        if (at == 0 || (at != key.npos && key[at - 1] == '_')) return true;
    }
    return key == "global_head_dim";
}

// Of the many keys of a configuration those that tell of the position encoding, and are not read.
bool checkKeys(const Source& source, std::string* error) {
    for (const auto& item : source.config.items()) {
        const std::string& key = item.key();
        if (isOff(item.value()) || !tellsOfRotation(key) ||
            isOneOf(key, {"rope_theta",
                          "rope_scaling",
                          "rope_parameters",
                          "partial_rotary_factor",
                          "partial_rotary_factors",
                          "rotary_pct",
                          "rope_pct",
                          "rotary_percent",
                          "rope_percent",
                          "rotary_emb_fraction",
                          "rotary_emb_base",
                          "rotary_embedding_base",
                          "rotary_dim",
                          "attn_rotary_emb",
                          "layer_rope_theta",
                          "rope_interleave",
                          "rotary_emb_interleaved",
                          "no_rope_layers",
                          "no_rope_layer_interval",
                          "rotary",
                          "rotary_value",
                          "use_rope",
                          "use_rotary_pos_emb",
                          "use_rotary_embeddings",
                          "use_mem_rope"}))
            continue;
        const bool other = isOneOf(key, {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"});
        const bool layered = isOneOf(key, {"global_rope_theta"}) || other;
        if (layered && (source.known == nullptr || source.has(kLayers))) continue;
        if (key == "compress_rope_theta" && source.has(kCompress)) continue;
        if (key == "global_head_dim" && source.has(kGlobalHead)) continue;
        const bool split = source.known == nullptr || source.known->sizes.rope_head_dim != 0 || source.has(kTrailing);
        if (key == "qk_rope_head_dim" && split) continue;
        return refuse(error, "the configuration's key " + shown(key) + " is not one that is read" +
                                 (source.known == nullptr ? "" : " for the model type " + shown(source.type)));
    }
    return true;
}

// ---- Layer types ---------------------------------------------------------------------------------------------------

bool isScalarBeside(const std::string& key) { // of rules that are nested
    return isOneOf(key, {"rope_theta", "rope_type", "type", "truncate", "partial_rotary_factor"});
}

bool findRules(const Source& source, Rules* rules, std::string* error) {
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
    if (!rules->values.is_object()) {
        return refuse(error, "the configuration's " + rules->name + " is " + shown(*found) +
                                 "; it must be an object in braces, or null");
    }
    for (const Json& value : rules->values) rules->nested = rules->nested || value.is_object();
    for (const auto& item : rules->values.items()) {
        const Json& value = item.value();
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
    if (types == nullptr || !types->is_array()) return names;
    for (const Json& type : *types) {
        if (type.is_string()) add(&names, type.get<std::string>());
    }
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
        if (own != nullptr && !own->is_object()) {
            return refuse(error, "the configuration's " + rules.name + " has for " + shown(layer.name) + " " +
                                     shown(*own) + "; it must be an object in braces");
        }
        if (own != nullptr) layer.rule = *own;
        const Json* truncate = find(rules.values, "truncate");
        if (truncate != nullptr && !layer.rule.contains("truncate")) layer.rule["truncate"] = *truncate;
        return true;
    }
    const bool scaled = alike || source->has(kScaleBoth) || layer.other == source->has(kCompress);
    if (scaled) layer.rule = rules.values;
    return true;
}

// A list with a number for each layer becomes the number that the chosen layers have in common.
bool resolveList(const char* key, const char* as, const std::string& layer, Json* config, std::string* error) {
    const Json* list = find(*config, key);
    if (list == nullptr || !list->is_array()) return true;
    const Json* types = find(*config, "layer_types");
    const bool typed = types != nullptr && types->is_array() && types->size() <= list->size();
    Json common;
    for (size_t i = 0; i < list->size(); ++i) {
        if (typed && !layer.empty() && (i >= types->size() || (*types)[i] != layer)) continue;
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

// ---- Numbers that may stand at the top or in the rule --------------------------------------------------------------

// Of a rule that is nested its own goes first, of one that the model type implies what stands at the top; else the two
// must agree. *value is left as it is where there is neither.
bool pick(const Source& source, const char* key, double outer, double inner, double* value, std::string* error) {
    const Rules& rules = source.rules;
    if (!rules.nested && !rules.implied && !std::isnan(outer) && !std::isnan(inner) && outer != inner) {
        return refuse(error, std::string("the configuration has two values of ") + key + ", " + shown(outer) +
                                 " and in its " + rules.name + " " + shown(inner) + "; they must agree");
    }
    const bool outer_first = rules.implied || std::isnan(inner);
    const double first = outer_first ? outer : inner, second = outer_first ? inner : outer;
    if (!std::isnan(first) || !std::isnan(second)) *value = std::isnan(first) ? second : first;
    return true;
}

bool readBase(const Source& source, double* base, std::string* error) {
    const Json& config = source.config;
    const bool other = source.layer.other;
    const Model* known = source.known;
    double own = NAN, inner = NAN, outer = NAN;
    if (!readNamed(config, {"rope_theta", "global_rope_theta", "rotary_emb_base", "rotary_embedding_base"}, 1, kMaxBase,
                   &outer, error) ||
        !readNamed(config, {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta", "compress_rope_theta"}, 1,
                   kMaxBase, &own, error) ||
        !readNumber(source.layer.rule, "rope_theta", 1, kMaxBase, &inner, error))
        return false;
    const Json* attention = find(config, "attn_config"); // of DBRX
    if (std::isnan(outer) && attention != nullptr && attention->is_object() &&
        !readNumber(*attention, "rope_theta", 1, kMaxBase, &outer, error))
        return false;
    const bool has_own = other && (!std::isnan(own) || (known != nullptr && known->other_base != 0));
    *base = known == nullptr ? 0 : other && known->other_base != 0 ? known->other_base : known->base;
    if (!pick(source, "rope_theta", has_own ? own : outer, inner, base, error)) return false;
    if (*base != 0) return true;
    return refuse(error, source.type.empty()
                             ? "the configuration has neither rope_theta nor a model_type that implies one"
                             : "the configuration has no rope_theta, and the model type " + shown(source.type) +
                                   " is not one that is known to imply one");
}

// *given: the configuration says so itself.
bool readPartial(const Source& source, double* partial, bool* given, std::string* error) {
    double outer = NAN, inner = NAN;
    if (!readNamed(source.config,
                   {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_percent", "rope_percent",
                    "rotary_emb_fraction"},
                   1e-6, 1, &outer, error) ||
        !readNumber(source.layer.rule, "partial_rotary_factor", 1e-6, 1, &inner, error))
        return false;
    *partial = source.known != nullptr ? source.known->partial : 1;
    *given = !std::isnan(outer) || !std::isnan(inner);
    return pick(source, "partial_rotary_factor", outer, inner, partial, error);
}

bool readPositions(const Source& source, double* count, std::string* error) {
    for (const char* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"}) {
        if (find(source.config, key) != nullptr) return readNumber(source.config, key, 1, kMaxLength, count, error);
    }
    return true;
}

bool readOriginalLength(const Source& source, double* length, std::string* error) {
    const char* key = "original_max_position_embeddings";
    double outer = NAN, inner = NAN;
    return readPositions(source, length, error) && readNumber(source.config, key, 1, kMaxLength, &outer, error) &&
           readNumber(source.layer.rule, key, 1, kMaxLength, &inner, error) &&
           pick(source, key, outer, inner, length, error);
}

// ---- The head ------------------------------------------------------------------------------------------------------

bool readHeadDim(const Source& source, uint32_t* head_dim, std::string* error) {
    const Json& config = source.config;
    ModelSizes sizes = source.known != nullptr ? source.known->sizes : ModelSizes{};
    uint32_t split = sizes.rope_head_dim, global = 512;
    if (!readCount(config, "qk_rope_head_dim", kMaxHeadDim, &split, error) ||
        !readCount(config, "global_head_dim", kMaxHeadDim, &global, error))
        return false;
    *head_dim = split;
    if (split != 0 && !source.has(kTrailing)) return true;
    *head_dim = global;
    if (source.has(kGlobalHead) && !source.layer.other) return true;
    *head_dim = config.contains("head_dim") ? 0 : sizes.head_dim;
    const bool zamba = source.type == "zamba2";
    if (!readFirstCount(config, {"head_dim", "kv_channels", zamba ? "attention_head_dim" : "head_dim"}, kMaxHeadDim,
                        head_dim, error) ||
        !readFirstCount(config, {"hidden_size", "n_embd", "d_model", "n_embed"}, 1 << 30, &sizes.hidden_size, error) ||
        !readFirstCount(config, {"num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads"}, 1 << 30,
                        &sizes.heads, error))
        return false;
    if (*head_dim != 0) return true;
    if (sizes.hidden_size == 0 || sizes.heads == 0)
        return refuse(error, "the configuration has neither head_dim nor both hidden_size and num_attention_heads");
    if (sizes.hidden_size % sizes.heads != 0) {
        return refuse(error, "the configuration's hidden_size, " + std::to_string(sizes.hidden_size) +
                                 ", is no multiple of num_attention_heads, " + std::to_string(sizes.heads) +
                                 ", and it has no head_dim");
    }
    *head_dim = sizes.hidden_size / sizes.heads;
    return true;
}

// What turns, in elements, where the configuration says so outright. 0: it does not.
bool readRotaryDim(const Source& source, uint32_t* rotary_dim, std::string* error) {
    *rotary_dim = 0;
    if (source.has(kTrailing) && !readCount(source.config, "qk_rope_head_dim", kMaxHeadDim, rotary_dim, error))
        return false;
    if (!readFirstCount(source.config, {"rotary_dim", "attn_rotary_emb"}, kMaxHeadDim, rotary_dim, error)) return false;
    if (*rotary_dim == 0 && source.has(kRotary64)) *rotary_dim = 64;
    return true;
}

bool findRotaryDim(const Source& source, ModelEncoding* model, std::string* error) {
    double partial = 1;
    bool given = false;
    uint32_t outright = 0;
    if (!readPartial(source, &partial, &given, error) || !readRotaryDim(source, &outright, error)) return false;
    const bool split = source.known != nullptr && source.known->sizes.rope_head_dim != 0;
    const bool proportional = model->rule.kind == ROPE_RULE_PROPORTIONAL;
    const bool unheeded = source.known != nullptr && !source.has(kPartial) && model->rule.kind == ROPE_RULE_DEFAULT;
    const uint32_t part = static_cast<uint32_t>(model->head_dim * partial); // truncated, as the models' code does
    if (proportional) model->rule.rotating_pairs = static_cast<uint32_t>(partial * model->head_dim / 2);
    model->rotary_dim = split || proportional ? model->head_dim : part;
    if (outright != 0) {
        if (given && part != outright) {
            return refuse(error, "the configuration's rotary part is of " + std::to_string(outright) +
                                     " elements, but its partial_rotary_factor makes it " + std::to_string(part) +
                                     "; they must agree");
        }
        model->rotary_dim = outright;
    } else if (unheeded && !split && partial != 1) {
        model->rotary_dim = model->head_dim;
        model->ignored_note = "the model type " + shown(source.type) +
                              " turns the whole head whatever its partial_rotary_factor, which is ignored";
    }
    return true;
}

// ---- The rule ------------------------------------------------------------------------------------------------------

struct RuleName {
    const char* name;
    RopeRuleKind kind;
    const char* keys; // that it takes, each between spaces, beside those that any takes
};

constexpr RuleName kRuleNames[] = {
    {"default", ROPE_RULE_DEFAULT, " "},
    {"mrope", ROPE_RULE_DEFAULT, " "},
    {"linear", ROPE_RULE_LINEAR, " "},
    {"ntk", ROPE_RULE_NTK, " "},
    {"dynamic", ROPE_RULE_DYNAMIC_NTK, " "},
    {"yarn", ROPE_RULE_YARN, " attention_factor beta_fast beta_slow mscale mscale_all_dim truncate "},
    {"longrope", ROPE_RULE_LONGROPE, " attention_factor long_factor short_factor "},
    {"su", ROPE_RULE_LONGROPE, " attention_factor long_factor short_factor "},
    {"llama3", ROPE_RULE_LLAMA3, " low_freq_factor high_freq_factor "},
    {"proportional", ROPE_RULE_PROPORTIONAL, " "},
    {"yarn_ramped", ROPE_RULE_YARN_RAMPED, " beta_fast beta_slow "},
    {"yarn_temperature", ROPE_RULE_YARN_TEMPERATURE, " temperature gamma "},
};

// Some files give the lengths and the factor with any rule.
const char kAnyRulesKeys[] = " type rope_type rope_theta partial_rotary_factor factor original_max_position_embeddings "
                             "max_position_embeddings finetuned mrope_section mrope_interleaved llama_4_scaling_beta ";

bool holds(const char* words, const std::string& word) {
    return std::string(words).find(" " + word + " ") != std::string::npos;
}

bool readName(const Source& source, std::string* name, std::string* error) {
    const Json& rule = source.layer.rule;
    std::string older, newer;
    if (!readText(rule, "type", &older, error) || !readText(rule, "rope_type", &newer, error)) return false;
    // What once was called mrope is now default with an mrope_section; both names stand in some files.
    if (!older.empty() && !newer.empty() && older != newer && !(older == "mrope" && newer == "default")) {
        return refuse(error, "the configuration's " + source.rules.name + " has type " + shown(older) +
                                 " and rope_type " + shown(newer) + "; they must agree");
    }
    *name = !newer.empty() ? newer : older;
    if (name->empty() && find(rule, "factor") != nullptr) {
        return refuse(error, "the configuration's " + source.rules.name +
                                 " has a factor and no rope_type; 'linear' would take one");
    }
    if (name->empty()) *name = "default";
    if (source.has(kSuNames) && (*name == "su" || *name == "yarn")) *name = "longrope";
    return true;
}

bool checkRuleKeys(const Source& source, const RuleName& name, std::string* error) {
    for (const auto& item : source.layer.rule.items()) {
        const std::string& key = item.key();
        if (isOff(item.value()) || holds(kAnyRulesKeys, key) || holds(name.keys, key) || key == "truncate") continue;
        if (source.has(kAlpha) && name.kind == ROPE_RULE_DYNAMIC_NTK &&
            holds(" alpha beta_fast beta_slow mscale mscale_all_dim ", key))
            continue;
        if (source.has(kMscales) && holds(" short_mscale long_mscale ", key)) continue;
        return refuse(error, "the configuration's " + source.rules.name + " has the key " + shown(key) +
                                 ", which the rule '" + name.name + "' does not take");
    }
    return true;
}

bool readKind(const Source& source, RopeRule* rule, std::string* error) {
    std::string name;
    if (!readName(source, &name, error)) return false;
    for (const RuleName& known : kRuleNames) {
        if (name != known.name) continue;
        rule->kind = known.kind;
        return checkRuleKeys(source, known, error);
    }
    return refuse(error, "the configuration's rule " + shown(name) +
                             " is not known; default, linear, dynamic, yarn, longrope, llama3 and proportional are");
}

bool lacks(const Source& source, const RopeRule& rule, const char* key, std::string* error) {
    return refuse(error, "the configuration's " + source.rules.name + " has the rule '" + ropeRuleName(rule.kind) +
                             "' without its " + key);
}

bool require(const Source& source, const RopeRule& rule, const char* key, double* value, std::string* error) {
    if (find(source.layer.rule, key) == nullptr) return lacks(source, rule, key, error);
    return readNumber(source.layer.rule, key, 1e-6, 1e6, value, error);
}

bool readFactor(const Source& source, RopeRule* rule, std::string* error) {
    double factor = 0;
    if (!readNumber(source.layer.rule, "factor", 1e-6, 1e6, &factor, error)) return false;
    rule->factor = factor;
    if (rule->kind == ROPE_RULE_DEFAULT && factor != 0 && factor != 1) {
        return refuse(error, "the configuration's " + source.rules.name +
                                 " has a factor, which the rule 'default' does not take");
    }
    const bool ratio =
        rule->kind == ROPE_RULE_LONGROPE || (rule->kind == ROPE_RULE_YARN && source.layer.rule.contains("factor"));
    if (factor == 0 && ratio) {
        double positions = 0;
        if (!readPositions(source, &positions, error)) return false;
        rule->factor = positions / rule->original_length; // 0, and the rule says what it lacks
    }
    const bool free =
        rule->kind == ROPE_RULE_DEFAULT || rule->kind == ROPE_RULE_PROPORTIONAL || rule->kind == ROPE_RULE_LONGROPE;
    return rule->factor != 0 || free || lacks(source, *rule, "factor", error);
}

bool readLength(const Source& source, double length, RopeRule* rule, std::string* error) {
    const RopeRuleKind kind = rule->kind;
    const bool original = kind == ROPE_RULE_YARN || kind == ROPE_RULE_LONGROPE || kind == ROPE_RULE_LLAMA3 ||
                          kind == ROPE_RULE_YARN_RAMPED;
    rule->length = length;
    if (kind == ROPE_RULE_DYNAMIC_NTK) {
        if (!readPositions(source, &rule->original_length, error)) return false;
        return rule->original_length != 0 || lacks(source, *rule, "max_position_embeddings", error);
    }
    if (!original) return true;
    if (!readOriginalLength(source, &rule->original_length, error)) return false;
    return rule->original_length != 0 || lacks(source, *rule, "original_max_position_embeddings", error);
}

bool readYarn(const Source& source, RopeRule* rule, std::string* error) {
    const Json& values = source.layer.rule;
    bool truncate = true;
    if (source.has(kCompress)) rule->attention_factor = 1; // its code forces it
    if (!readNumber(values, "beta_fast", 1e-9, 1e9, &rule->beta_fast, error) ||
        !readNumber(values, "beta_slow", 1e-9, 1e9, &rule->beta_slow, error) ||
        !readNumber(values, "mscale", 0, 1e6, &rule->mscale, error) ||
        !readNumber(values, "mscale_all_dim", 0, 1e6, &rule->mscale_all_dim, error) ||
        !readSwitch(values, "truncate", &truncate, error))
        return false;
    rule->keep_bounds = truncate ? 0 : 1;
    return readNumber(values, "attention_factor", 1e-6, 1e6, &rule->attention_factor, error);
}

bool readFactors(const Source& source, const char* key, std::vector<double>* factors, std::string* error) {
    const Json* list = find(source.layer.rule, key);
    if (list == nullptr) {
        return refuse(error,
                      "the configuration's " + source.rules.name + " has the rule 'longrope' without its " + key);
    }
    bool numbers = list->is_array() && list->size() <= ROPE_MAX_PAIRS;
    for (size_t i = 0; numbers && i < list->size(); ++i) {
        numbers = (*list)[i].is_number();
        if (numbers) factors->push_back((*list)[i].get<double>());
    }
    if (numbers) return true;
    return refuse(error, std::string("the configuration's ") + key + " is " + shown(*list) +
                             "; it must be a list of numbers, one per pair");
}

// The model's own scales, and never its long factors: its code does not tell the rule how long a text is.
bool readMscales(const Source& source, RopeRule* rule, std::string* error) {
    const bool beyond = rule->length > rule->original_length;
    rule->length = 0;
    return require(source, *rule, beyond ? "long_mscale" : "short_mscale", &rule->attention_factor, error);
}

// HunYuan's alpha, which stretches the base up to max_position_embeddings; beyond it is lost.
bool readAlpha(const Source& source, RopeRule* rule, std::string* error) {
    double alpha = 0;
    if (!readNumber(source.layer.rule, "alpha", 1e-6, 1e9, &alpha, error)) return false;
    if (alpha == 0 || rule->length > rule->original_length) return true;
    rule->kind = ROPE_RULE_NTK;
    rule->factor = alpha;
    return true;
}

bool readRule(const Source& source, double length, RopeRule* rule, std::string* error) {
    const Json& values = source.layer.rule;
    if (!readKind(source, rule, error) || !readLength(source, length, rule, error) || !readFactor(source, rule, error))
        return false;
    switch (rule->kind) {
    case ROPE_RULE_DYNAMIC_NTK:
        return readAlpha(source, rule, error);
    case ROPE_RULE_YARN:
        return readYarn(source, rule, error);
    case ROPE_RULE_LONGROPE:
        if (source.has(kMscales)) return readMscales(source, rule, error);
        return readNumber(values, "attention_factor", 1e-6, 1e6, &rule->attention_factor, error);
    case ROPE_RULE_LLAMA3:
        return require(source, *rule, "low_freq_factor", &rule->low_freq_factor, error) &&
               require(source, *rule, "high_freq_factor", &rule->high_freq_factor, error);
    case ROPE_RULE_YARN_RAMPED:
        return readNumber(values, "beta_fast", 1e-9, 1e9, &rule->beta_fast, error) &&
               readNumber(values, "beta_slow", 1e-9, 1e9, &rule->beta_slow, error);
    case ROPE_RULE_YARN_TEMPERATURE:
        return readNumber(values, "temperature", 0, 1e6, &rule->temperature, error) &&
               readNumber(values, "gamma", 0, 1e6, &rule->gamma, error);
    default:
        return true;
    }
}

// ---- What comes out ------------------------------------------------------------------------------------------------

bool makeFrequencies(const Source& source, ModelEncoding* model, std::string* error) {
    RopeRule& rule = model->rule;
    rule.rotary_dim = model->rotary_dim;
    if (model->rotary_dim > 2 * ROPE_MAX_PAIRS || model->rotary_dim % 2 != 0 || model->rotary_dim == 0) {
        return refuse(error, "the rotary part has " + std::to_string(model->rotary_dim) +
                                 " elements; it must be even and from 2 to " + std::to_string(2 * ROPE_MAX_PAIRS));
    }
    const size_t pairs = model->rotary_dim / 2;
    std::vector<double> shorter, longer;
    if (rule.kind == ROPE_RULE_LONGROPE) {
        if (!readFactors(source, "short_factor", &shorter, error) ||
            !readFactors(source, "long_factor", &longer, error))
            return false;
        if (shorter.size() != pairs || longer.size() != pairs) {
            return refuse(error, "the configuration's short_factor has " + std::to_string(shorter.size()) +
                                     " numbers and its long_factor " + std::to_string(longer.size()) +
                                     ", but there are " + std::to_string(pairs) + " pairs; it must be one per pair");
        }
        rule.short_factors = shorter.data();
        rule.long_factors = longer.data();
    }
    model->frequencies.resize(pairs);
    RopeReason reason;
    const RopeResult made = ropeMakeFrequencies(&rule, model->frequencies.data(), &model->scale, &reason);
    rule.short_factors = rule.long_factors = nullptr;
    if (made != ROPE_SUCCESS) return refuse(error, std::string("the configuration's rule is refused: ") + reason.text);
    if (source.has(kBackwards)) {
        for (double& frequency : model->frequencies) frequency = -frequency;
    }
    return true;
}

bool findPairing(const Source& source, ModelEncoding* model, std::string* error) {
    bool interleaved = true, neighbours = false;
    if (!readSwitch(source.config, "rope_interleave", &interleaved, error) ||
        !readSwitch(source.config, "rotary_emb_interleaved", &neighbours, error))
        return false;
    if (source.known == nullptr) return true;
    const Turn turn = source.known->turn;
    const bool halves = (turn == Turn::halves && !neighbours) || (turn == Turn::neighbours_to_halves && !interleaved);
    model->pairing = halves ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
    if (turn == Turn::neighbours_to_halves && !halves) model->pairing_out = ROPE_PAIRING_HALF;
    return true;
}

void noteAxes(const Source& source, ModelEncoding* model) {
    const Json* section = find(source.layer.rule, "mrope_section");
    if (!source.has(kAxes) && section == nullptr) return;
    model->axes_note = "the positions of the model type " + shown(source.type) + " have several axes" +
                       (section != nullptr ? ", by its mrope_section " + shown(*section) : std::string());
}

bool open(const std::string& text, Source* source, std::string* error) {
    if (!parse(text, &source->config, error) || !readText(source->config, "model_type", &source->type, error) ||
        !descend(source, error))
        return false;
    source->known = findModel(source->type);
    return checkModel(*source, error) && checkKeys(*source, error) && findRules(*source, &source->rules, error) &&
           checkFlat(*source, error);
}

} // namespace

bool readConfig(const std::string& text, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    Source source;
    *model = {};
    if (!open(text, &source, error)) return false;
    model->model_type = source.type;
    if (!chooseLayer(request.layer_type, &source, model, error)) return false;
    const std::string& layer = source.layer.name;
    if (!resolveList("rope_theta", "rope_theta", layer, &source.config, error) ||
        !resolveList("layer_rope_theta", "rope_theta", layer, &source.config, error) ||
        !resolveList("partial_rotary_factors", "partial_rotary_factor", layer, &source.config, error) ||
        !readHeadDim(source, &model->head_dim, error) || !readBase(source, &model->rule.base, error) ||
        !readRule(source, request.length, &model->rule, error) || !findRotaryDim(source, model, error) ||
        !findPairing(source, model, error))
        return false;
    if (request.rotary_dim != 0) model->rotary_dim = request.rotary_dim;
    if (model->rotary_dim > model->head_dim) {
        return refuse(error, "a rotary part of " + std::to_string(model->rotary_dim) +
                                 " elements does not fit into the configuration's head of " +
                                 std::to_string(model->head_dim));
    }
    if (source.has(kTrailing)) model->rotary_begin = model->head_dim - model->rotary_dim;
    noteAxes(source, model);
    return makeFrequencies(source, model, error);
}

} // namespace rope
