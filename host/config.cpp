#include "config.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>

namespace rope {
namespace {

using Json = nlohmann::json;

constexpr double kMaxHeadDim = 65536;
constexpr int kMaxDepth = 32;

// ---- What a model's own code decides and its configuration may leave out ----------------------------------------

struct Model {
    const char* type; // as model_type has it
    RopePairing pairing;
    double base;    // where rope_theta is absent
    double partial; // where partial_rotary_factor is absent
};

constexpr Model kModels[] = {
    {"llama", ROPE_PAIRING_HALF, 10000, 1},          {"mistral", ROPE_PAIRING_HALF, 10000, 1},
    {"mixtral", ROPE_PAIRING_HALF, 1000000, 1},      {"qwen2", ROPE_PAIRING_HALF, 10000, 1},
    {"qwen2_moe", ROPE_PAIRING_HALF, 10000, 1},      {"qwen3", ROPE_PAIRING_HALF, 10000, 1},
    {"qwen3_moe", ROPE_PAIRING_HALF, 10000, 1},      {"qwen3_next", ROPE_PAIRING_HALF, 10000, 0.25},
    {"gemma", ROPE_PAIRING_HALF, 10000, 1},          {"gemma2", ROPE_PAIRING_HALF, 10000, 1},
    {"phi", ROPE_PAIRING_HALF, 10000, 0.5},          {"phi3", ROPE_PAIRING_HALF, 10000, 1},
    {"olmo", ROPE_PAIRING_HALF, 10000, 1},           {"olmo2", ROPE_PAIRING_HALF, 10000, 1},
    {"olmoe", ROPE_PAIRING_HALF, 10000, 1},          {"granite", ROPE_PAIRING_HALF, 10000, 1},
    {"arcee", ROPE_PAIRING_HALF, 10000, 1},          {"smollm3", ROPE_PAIRING_HALF, 2000000, 1},
    {"minimax_m2", ROPE_PAIRING_HALF, 5000000, 1},   {"gpt_oss", ROPE_PAIRING_HALF, 150000, 1},
    {"stablelm", ROPE_PAIRING_HALF, 10000, 0.25},    {"persimmon", ROPE_PAIRING_HALF, 10000, 0.5},
    {"nemotron", ROPE_PAIRING_HALF, 10000, 0.5},     {"cohere", ROPE_PAIRING_INTERLEAVED, 10000, 1},
    {"cohere2", ROPE_PAIRING_INTERLEAVED, 10000, 1}, {"ernie4_5", ROPE_PAIRING_INTERLEAVED, 500000, 1},
    {"helium", ROPE_PAIRING_INTERLEAVED, 100000, 1}, {"glm", ROPE_PAIRING_INTERLEAVED, 10000, 0.5},
    {"glm4", ROPE_PAIRING_INTERLEAVED, 10000, 0.5},
};

// Beginnings of the types whose rotation is more than a base, a part of the head and a pairing.
struct Beyond {
    const char* prefix;
    const char* why;
};

constexpr Beyond kBeyond[] = {
    {"gemma3", "its layers of two types have bases of their own"},
    {"gemma4", "its layers of two types have rules of their own"},
    {"modernbert", "its layers of two types have bases of their own"},
    {"qwen2_vl", "its positions have several axes"},
    {"qwen2_5_vl", "its positions have several axes"},
    {"qwen2_5_omni", "its positions have several axes"},
    {"qwen3_vl", "its positions have several axes"},
    {"qwen3_5", "its positions have several axes"},
    {"qwen3_omni", "its positions have several axes"},
    {"glm4v", "its positions have several axes"},
    {"ernie4_5_vl", "its positions have several axes"},
    {"deepseek", "only a part of its own of Q and K is rotated"},
    {"nanochat", "it turns the other way"},
    {"vjepa2", "it is no rotation"},
    {"gpt_neox", "it has keys of its own, rotary_pct and rotary_emb_base"},
    {"gptj", "it has a key of its own, rotary_dim"},
    {"codegen", "it has a key of its own, rotary_dim"},
};

const Model* findModel(const std::string& type) {
    for (const Model& model : kModels) {
        if (type == model.type) return &model;
    }
    return nullptr;
}

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

// ---- Keys that are not read ----------------------------------------------------------------------------------------

bool isOneOf(const std::string& key, std::initializer_list<const char*> keys) {
    for (const char* other : keys) {
        if (key == other) return true;
    }
    return false;
}

bool isOff(const Json& value) { return value.is_null() || value == false; }

// Of the many keys of a configuration those that tell of the position encoding, and are not read.
bool checkKeys(const Json& config, std::string* error) {
    for (const auto& item : config.items()) {
        const std::string& key = item.key();
        if (isOff(item.value()) || isOneOf(key, {"rope_theta", "rope_scaling", "rope_parameters"})) continue;
        const bool nested = isOneOf(key, {"text_config", "llm_config", "language_config", "thinker_config"});
        const bool about = key.find("rope") != std::string::npos || key.find("rotary") != std::string::npos ||
                           isOneOf(key, {"alibi", "global_head_dim", "local_attention"});
        if (nested)
            return refuse(error, "the configuration is nested; give what its " + key + " holds as a file of its own");
        if (about && key != "partial_rotary_factor")
            return refuse(error, "the configuration's key " + shown(key) + " is not one that is read yet");
    }
    return true;
}

bool checkRuleKeys(const char* block, const Json& rule, const std::string& kind, std::string* error) {
    for (const auto& item : rule.items()) {
        const std::string& key = item.key();
        // Neither rule reads the two lengths, which some files give all the same.
        if (isOff(item.value()) || isOneOf(key, {"type", "rope_type", "rope_theta", "partial_rotary_factor", "factor",
                                                 "original_max_position_embeddings", "max_position_embeddings"}))
            continue;
        if (item.value().is_object())
            return refuse(error, std::string("the configuration's ") + block + " is nested per layer type, " +
                                     shown(key) + " and so on; give one layer type's as " + block);
        return refuse(error, std::string("the configuration's ") + block + " has the key " + shown(key) +
                                 ", which the rule '" + kind + "' does not take");
    }
    return true;
}

// ---- The rule
// --------------------------------------------------------------------------------------------------------

struct RuleBlock {
    const char* name = "rope_parameters";
    Json values = Json::object();
};

bool findRule(const Json& config, RuleBlock* block, std::string* error) {
    const Json* parameters = find(config, "rope_parameters");
    const Json* scaling = find(config, "rope_scaling");
    if (parameters != nullptr && scaling != nullptr && *parameters != *scaling)
        return refuse(error, "the configuration has rope_parameters and rope_scaling, and they differ; one is enough");
    const Json* found = parameters != nullptr ? parameters : scaling;
    if (found == nullptr) return true;
    block->name = parameters != nullptr ? "rope_parameters" : "rope_scaling";
    block->values = *found;
    if (found->is_object()) return true;
    return refuse(error, std::string("the configuration's ") + block->name + " is " + shown(*found) +
                             "; it must be an object in braces, or null");
}

bool readKind(const RuleBlock& block, std::string* kind, std::string* error) {
    std::string older, newer;
    if (!readText(block.values, "type", &older, error) || !readText(block.values, "rope_type", &newer, error))
        return false;
    if (!older.empty() && !newer.empty() && older != newer) {
        return refuse(error, std::string("the configuration's ") + block.name + " has type " + shown(older) +
                                 " and rope_type " + shown(newer) + "; they must agree");
    }
    *kind = !newer.empty() ? newer : older;
    if (kind->empty() && find(block.values, "factor") != nullptr) {
        return refuse(error, std::string("the configuration's ") + block.name +
                                 " has a factor and no rope_type; 'linear' would take one");
    }
    if (kind->empty()) *kind = "default";
    return true;
}

bool readRule(const RuleBlock& block, RopeRule* rule, std::string* error) {
    std::string kind;
    if (!readKind(block, &kind, error)) return false;
    if (kind != "default" && kind != "linear")
        return refuse(error, "the configuration's rule " + shown(kind) + " is not known; 'default' and 'linear' are");
    if (!checkRuleKeys(block.name, block.values, kind, error)) return false;
    double factor = 0;
    if (!readNumber(block.values, "factor", 1e-6, 1e6, &factor, error)) return false;
    if (kind == "linear" && factor == 0) {
        return refuse(error,
                      std::string("the configuration's ") + block.name + " has the rule 'linear' without its factor");
    }
    if (kind == "default" && factor != 0 && factor != 1) {
        return refuse(error, std::string("the configuration's ") + block.name +
                                 " has a factor, which the rule 'default' does not take");
    }
    rule->kind = kind == "linear" ? ROPE_RULE_LINEAR : ROPE_RULE_DEFAULT;
    rule->factor = factor;
    return true;
}

// A number that may stand at the top or in the rule's block, and if in both must be the same.
bool readEither(const Json& config, const RuleBlock& block, const char* key, double low, double high, double* value,
                std::string* error) {
    double outer = NAN, inner = NAN;
    if (!readNumber(config, key, low, high, &outer, error) || !readNumber(block.values, key, low, high, &inner, error))
        return false;
    if (!std::isnan(outer) && !std::isnan(inner) && outer != inner) {
        return refuse(error, std::string("the configuration has two values of ") + key + ", " +
                                 shown(*find(config, key)) + " and in its " + block.name + " " +
                                 shown(*find(block.values, key)) + "; they must agree");
    }
    if (!std::isnan(outer) || !std::isnan(inner)) *value = std::isnan(inner) ? outer : inner;
    return true;
}

// ---- The head
// --------------------------------------------------------------------------------------------------------

bool readHeadDim(const Json& config, uint32_t* head_dim, std::string* error) {
    uint32_t hidden = 0, heads = 0;
    *head_dim = 0;
    if (!readCount(config, "head_dim", kMaxHeadDim, head_dim, error) ||
        !readCount(config, "hidden_size", 1 << 30, &hidden, error) ||
        !readCount(config, "num_attention_heads", 1 << 30, &heads, error))
        return false;
    if (*head_dim != 0) return true;
    if (hidden == 0 || heads == 0)
        return refuse(error, "the configuration has neither head_dim nor both hidden_size and num_attention_heads");
    if (hidden % heads != 0) {
        return refuse(error, "the configuration's hidden_size, " + std::to_string(hidden) +
                                 ", is no multiple of num_attention_heads, " + std::to_string(heads) +
                                 ", and it has no head_dim");
    }
    *head_dim = hidden / heads;
    return true;
}

bool checkModel(const std::string& type, std::string* error) {
    for (const Beyond& beyond : kBeyond) {
        if (type.rfind(beyond.prefix, 0) == 0)
            return refuse(error, "the model type " + shown(type) + " is not read yet: " + beyond.why);
    }
    return true;
}

bool parse(const std::string& text, Json* config, std::string* error) {
    int deepest = 0; // values are copied, compared and printed by recursion
    const auto follow = [&](int depth, Json::parse_event_t, Json&) {
        deepest = depth > deepest ? depth : deepest;
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
    if (!config->is_object())
        return refuse(error, "the configuration is " + shown(*config) + "; it must be an object in braces");
    return true;
}

bool makeFrequencies(ModelEncoding* model, std::string* error) {
    model->rule.rotary_dim = model->rotary_dim;
    if (model->rotary_dim > 2 * ROPE_MAX_PAIRS || model->rotary_dim % 2 != 0 || model->rotary_dim == 0) {
        return refuse(error, "the rotary part has " + std::to_string(model->rotary_dim) +
                                 " elements; it must be even and from 2 to " + std::to_string(2 * ROPE_MAX_PAIRS));
    }
    model->frequencies.resize(model->rotary_dim / 2);
    RopeReason reason;
    if (ropeMakeFrequencies(&model->rule, model->frequencies.data(), &model->scale, &reason) != ROPE_SUCCESS)
        return refuse(error, reason.text);
    return true;
}

} // namespace

bool readConfig(const std::string& text, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    Json config;
    RuleBlock block;
    *model = {};
    if (!parse(text, &config, error) || !readText(config, "model_type", &model->model_type, error) ||
        !checkModel(model->model_type, error) || !checkKeys(config, error) || !findRule(config, &block, error) ||
        !readRule(block, &model->rule, error) || !readHeadDim(config, &model->head_dim, error))
        return false;
    const Model* known = findModel(model->model_type);
    double partial = known != nullptr ? known->partial : 1;
    model->rule.base = known != nullptr ? known->base : 0;
    if (!readEither(config, block, "rope_theta", 1, 1e19, &model->rule.base, error) ||
        !readEither(config, block, "partial_rotary_factor", 1e-6, 1, &partial, error))
        return false;
    if (model->rule.base == 0) {
        return refuse(error, model->model_type.empty()
                                 ? "the configuration has neither rope_theta nor a model_type that implies one"
                                 : "the configuration has no rope_theta, and the model type " +
                                       shown(model->model_type) + " is not one that is known to imply one");
    }
    model->pairing = known != nullptr ? known->pairing : ROPE_PAIRING_DEFAULT;
    model->rotary_dim = static_cast<uint32_t>(model->head_dim * partial); // truncated, as the models' code does
    if (request.rotary_dim != 0) model->rotary_dim = request.rotary_dim;
    if (model->rotary_dim > model->head_dim) {
        return refuse(error, "a rotary part of " + std::to_string(model->rotary_dim) +
                                 " elements does not fit into the configuration's head of " +
                                 std::to_string(model->head_dim));
    }
    return makeFrequencies(model, error);
}

} // namespace rope
