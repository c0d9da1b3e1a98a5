// The rule of one layer, its numbers, and what is scaled beside the rotation.
#include "models/text.hpp"

#include "models/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

namespace rope {
namespace config {
namespace {

constexpr size_t kMostTypes = 64;
constexpr double kMaxLength = 9007199254740992.0; // 2^53
constexpr const char* kOriginalLength = "original_max_position_embeddings";

struct RuleName {
    const char* name;
    RopeRuleKind kind;
};

constexpr RuleName kRuleNames[] = {
    {"default", ROPE_RULE_DEFAULT},         {"mrope", ROPE_RULE_DEFAULT},
    {"linear", ROPE_RULE_LINEAR},           {"ntk", ROPE_RULE_NTK},
    {"dynamic", ROPE_RULE_DYNAMIC_NTK},     {"yarn", ROPE_RULE_YARN},
    {"longrope", ROPE_RULE_LONGROPE},       {"su", ROPE_RULE_LONGROPE},
    {"llama3", ROPE_RULE_LLAMA3},           {"proportional", ROPE_RULE_PROPORTIONAL},
    {"yarn_ramped", ROPE_RULE_YARN_RAMPED}, {"yarn_temperature", ROPE_RULE_YARN_TEMPERATURE},
};

constexpr uint32_t kYarn = 1u << ROPE_RULE_YARN, kLongrope = 1u << ROPE_RULE_LONGROPE, kLlama3 = 1u << ROPE_RULE_LLAMA3,
                   kRamped = 1u << ROPE_RULE_YARN_RAMPED, kTemperature = 1u << ROPE_RULE_YARN_TEMPERATURE,
                   kNtk = 1u << ROPE_RULE_NTK, kDynamic = 1u << ROPE_RULE_DYNAMIC_NTK, kAny = ~0u;

// A key of a rule, and the rules that take it. Some files give the lengths and the factor with every rule.
struct RuleKey {
    const char* name;
    JsonKind kind;
    uint32_t rules;
    const char* read_with = nullptr; // taken by types whose record reads this key; null: by all
};

constexpr RuleKey kRuleKeys[] = {
    {"rope_theta", JsonKind::number, kAny},
    {"partial_rotary_factor", JsonKind::number, kAny},
    {"factor", JsonKind::number, kAny},
    {kOriginalLength, JsonKind::number, kAny},
    {"max_position_embeddings", JsonKind::number, kAny},
    {"llama_4_scaling_beta", JsonKind::number, kAny},
    {"attention_factor", JsonKind::number, kYarn | kLongrope},
    {"beta_fast", JsonKind::number, kYarn | kRamped},
    {"beta_slow", JsonKind::number, kYarn | kRamped},
    {"mscale", JsonKind::number, kYarn},
    {"mscale_all_dim", JsonKind::number, kYarn},
    {"low_freq_factor", JsonKind::number, kLlama3},
    {"high_freq_factor", JsonKind::number, kLlama3},
    {"short_mscale", JsonKind::number, kAny, "short_mscale"},
    {"long_mscale", JsonKind::number, kAny, "short_mscale"},
    {"alpha", JsonKind::number, kDynamic, "alpha"},
    {"beta_fast", JsonKind::number, kDynamic, "alpha"},
    {"beta_slow", JsonKind::number, kDynamic, "alpha"},
    {"mscale", JsonKind::number, kDynamic, "alpha"},
    {"mscale_all_dim", JsonKind::number, kDynamic, "alpha"},
    {"temperature", JsonKind::number, kTemperature},
    {"gamma", JsonKind::number, kTemperature},
    {"mixed_b", JsonKind::number, kNtk, "mixed_b"},
    {"truncate", JsonKind::boolean, kAny},
    {"finetuned", JsonKind::boolean, kAny},
    {"mrope_interleaved", JsonKind::boolean, kAny},
    {"interleaved", JsonKind::boolean, kAny}, // beside an mrope_section
    {"mrope_section", JsonKind::numbers, kAny},
    {"long_factor", JsonKind::numbers, kLongrope},
    {"short_factor", JsonKind::numbers, kLongrope},
    {"type", JsonKind::text, kAny},
    {"rope_type", JsonKind::text, kAny},
};

[[noreturn]] void refuseRule(const Layer& layer, const std::string& what) {
    refuse(std::string("the configuration's ") + layer.source.rules.key + what);
}

[[noreturn]] void refuseMissing(const Layer& layer, RopeRuleKind kind, const char* key) {
    refuseRule(layer, std::string(" has the rule '") + ropeRuleName(kind) + "' without its " + key);
}

RopeRuleKind readRuleKind(const Layer& layer) {
    const Json& rule = layer.rule;
    const bool alone = layer.model.longrope_alone;
    const std::string older = readText(rule, "type"), newer = readText(rule, "rope_type");
    // Older files call the default rule with an mrope_section "mrope"; some files have both names.
    if (!older.empty() && !newer.empty() && older != newer && !(older == "mrope" && newer == "default"))
        refuseRule(layer, " has type " + shown(older) + " and rope_type " + shown(newer) + "; they must agree");
    std::string name = !newer.empty() ? newer : older;
    if (name.empty() && findKey(rule, "factor") != nullptr)
        refuseRule(layer, " has a factor and no rope_type; 'linear' would take one");
    if (alone && (name == "su" || name == "yarn")) name = "longrope";
    if (name.empty()) name = "default";
    const RuleName* found = nullptr;
    for (const RuleName& row : kRuleNames) found = name == row.name ? &row : found;
    if (found == nullptr)
        refuse("the configuration's rule " + shown(name) +
               " is not known; default, linear, dynamic, yarn, longrope, llama3 and proportional are");
    if (alone && found->kind != ROPE_RULE_DEFAULT && found->kind != ROPE_RULE_LONGROPE) {
        refuse("the configuration's rule is '" + name + "'; the code of the model type " + shown(layer.source.type) +
               " takes none but 'default' and 'longrope'");
    }
    for (const auto& item : rule.items()) {
        bool taken = isOff(item.value());
        for (const RuleKey& row : kRuleKeys) {
            const bool rule_takes = item.key() == row.name && (row.rules >> found->kind & 1) != 0;
            taken = taken || (rule_takes && (row.read_with == nullptr || isOneOf(row.read_with, layer.model.reads)));
        }
        const bool stray = item.key() == "interleaved" && findKey(rule, "mrope_section") == nullptr;
        if (taken && !(stray && !isOff(item.value()))) continue;
        refuseRule(layer, " has the key " + shown(item.key()) + ", which the rule '" + name + "' does not take");
    }
    return found->kind;
}

double readTextBase(const Layer& layer) {
    const Json& config = *layer.config;
    const Model& model = layer.model;
    const std::string& type = layer.source.type;
    const bool other = layer.is_second_type && !(layer.source.rules.nested && model.flat_rule == FlatRule::second);
    double outer = readNumber(config, {"rope_theta", "global_rope_theta", "rotary_emb_base", "rotary_embedding_base"},
                              1, kMaxBase, NAN);
    const double own =
        readNumber(config, {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta", "compress_rope_theta"}, 1,
                   kMaxBase, NAN);
    const double inner = readNumber(layer.rule, {"rope_theta"}, 1, kMaxBase, NAN);
    const Json* attention = findKey(config, "attn_config"); // DBRX's
    if (std::isnan(outer) && attention != nullptr && attention->is_object())
        outer = readNumber(*attention, {"rope_theta"}, 1, kMaxBase, outer);
    const double otherwise = !layer.source.known ? 0 : other && model.second_base != 0 ? model.second_base : model.base;
    const bool has_own = other && (!std::isnan(own) || model.second_base != 0);
    const double base = chooseOuterOrInner(layer, "rope_theta", has_own ? own : outer, inner, otherwise) *
                        readNumber(config, {"rope_ratio"}, 1e-3, 1e9, 1); // ChatGLM's
    if (base != 0) return base;
    refuse(type.empty() ? "the configuration has neither rope_theta nor a model_type that implies one"
                        : "the configuration has no rope_theta, and the model type " + shown(type) +
                              " is not one that is known to imply one");
}

// ---- What each rule takes -------------------------------------------------------------------------------------------

// Reads the lengths and the factor.
void readStretch(const Layer& layer, double length, RopeRule* rule) {
    const RopeRuleKind kind = rule->kind;
    const bool longrope = kind == ROPE_RULE_LONGROPE, dynamic = kind == ROPE_RULE_DYNAMIC_NTK;
    const bool has_length = ((kYarn | kLongrope | kLlama3 | kRamped) >> kind & 1) != 0;
    double positions = 0;
    for (const char* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"}) {
        if (positions == 0 && (dynamic || has_length)) positions = readNumber(*layer.config, {key}, 1, kMaxLength, 0);
    }
    rule->length = length;
    rule->original_length = positions;
    if (has_length) {
        const double own = layer.model.longrope_alone ? 4096 : NAN;
        const double outer = readNumber(*layer.config, {kOriginalLength}, 1, kMaxLength, own);
        const double inner = readNumber(layer.rule, {kOriginalLength}, 1, kMaxLength, NAN);
        rule->original_length = chooseOuterOrInner(layer, kOriginalLength, outer, inner, positions);
    }
    if ((dynamic || has_length) && rule->original_length == 0)
        refuseMissing(layer, kind, dynamic ? "max_position_embeddings" : kOriginalLength);
    const double factor = rule->factor = readNumber(layer.rule, {"factor"}, 1e-6, 1e6, 0);
    if (kind == ROPE_RULE_DEFAULT && factor != 0 && factor != 1)
        refuseRule(layer, " has a factor, which the rule 'default' does not take");
    if (factor == 0 && (longrope || (kind == ROPE_RULE_YARN && layer.rule.contains("factor"))))
        rule->factor = positions / rule->original_length; // a 0 is refused below, or by the rule
    if (rule->factor == 0 && longrope && !isOneOf("short_mscale", layer.model.reads) &&
        findKey(layer.rule, "attention_factor") == nullptr) {
        refuse(
            "the configuration has no max_position_embeddings, which gives the rule 'longrope' its scale where the " +
            std::string(layer.source.rules.key) + " has neither factor nor attention_factor");
    }
    const bool optional = kind == ROPE_RULE_DEFAULT || kind == ROPE_RULE_PROPORTIONAL || longrope;
    if (rule->factor == 0 && !optional) refuseMissing(layer, kind, "factor");
}

void readLongrope(const Layer& layer, RopeRule* rule) {
    if (!isOneOf("short_mscale", layer.model.reads)) {
        rule->attention_factor = readNumber(layer.rule, {"attention_factor"}, 1e-6, 1e6, rule->attention_factor);
        return;
    }
    // Phi-MoE takes its own scales, and never its long factors: its code does not pass the length of the text to the
    // rule.
    const char* key = rule->length > rule->original_length ? "long_mscale" : "short_mscale";
    if (findKey(layer.rule, key) == nullptr) refuseMissing(layer, rule->kind, key);
    rule->length = 0;
    rule->attention_factor = readNumber(layer.rule, {key}, 1e-6, 1e6, 0);
}

// HunYuan's alpha stretches the base up to max_position_embeddings. Beyond that length the alpha is ignored.
void readAlpha(const Layer& layer, RopeRule* rule) {
    const double alpha = readNumber(layer.rule, {"alpha"}, 1e-6, 1e9, 0);
    if (alpha == 0 || rule->length > rule->original_length) return;
    rule->kind = ROPE_RULE_NTK;
    rule->factor = alpha;
}

// Qwen's first code stretches the base as the text grows: by 1, 3, 7, 15, ..., a number for each doubling of seq_length
// that the text has begun.
void readSteppedNtk(const Layer& layer, double length, RopeRule* rule) {
    const bool stepped = readBool(*layer.config, "use_dynamic_ntk", true);
    const double original = readNumber(*layer.config, {"seq_length"}, 1, 1e9, 0);
    if (!stepped) return;
    rule->original_length = original;
    if (length == 0) return;
    if (original == 0)
        refuse("the configuration's use_dynamic_ntk is true, and it has no seq_length from which on the base is "
               "stretched");
    double times = 1;
    while (original * times < length) times *= 2;
    if (times == 1) return;
    rule->kind = ROPE_RULE_NTK;
    rule->factor = 2 * times - 1;
}

// ---- What is scaled beside the rotation -----------------------------------------------------------------------------

constexpr double kMostPositions = 1 << 30;
constexpr const char *kTuning = "attn_temperature_tuning", *kBeta = "llama_4_scaling_beta";

// Llama 4 counts from 1, and scales the queries of the layers that do not rotate.
QueryScaling readTuning(const Layer& layer, const ModelEncoding& encoding) {
    const Json* tuning = findKey(*layer.config, kTuning);
    if (tuning != nullptr && !tuning->is_boolean() && !tuning->is_number())
        refuseValue(kTuning, *tuning, "true or false");
    const bool on = tuning == nullptr || (tuning->is_boolean() ? tuning->get<bool>() : *tuning != 0);
    const std::vector<ModelLayer>& layers = encoding.layers;
    if (!on || std::all_of(layers.begin(), layers.end(), std::mem_fn(&ModelLayer::rotates))) return {};
    return {readNumber(*layer.config, {"attn_scale"}, -1e6, 1e6, 0.1),
            readCount(*layer.config, {"floor_scale"}, kMostPositions, 8192), 1, true};
}

// Rules of other names hold for no layer. A class whose flat rule is the second type's drops all where one is missing.
void checkNames(const Source& source, const Rules& rules) {
    const Model& model = *source.model;
    size_t ruled = 0;
    std::string names;
    for (const char* type : model.layer_types) {
        ruled += rules.values.contains(type) ? 1 : 0;
        names += (names.empty() ? "" : ", ") + shown(type);
    }
    const size_t wanted = model.flat_rule == FlatRule::second ? model.layer_types.size() : 1;
    if (!rules.nested || model.layer_types.size() == 0 || ruled >= wanted) return;
    refuse(std::string("the configuration's ") + rules.key + " is nested per layer type, and lacks " +
           (ruled == 0 ? "those" : "one") + " of the model type " + shown(source.type) + ", which are " + names);
}

} // namespace

void checkRules(const Source& source) {
    const Rules rules = findOwnRules(source.config);
    if (!rules.found) return;
    const std::string subject = std::string("the configuration's ") + rules.key;
    const Json* scaling = findKey(source.config, "rope_scaling");
    if (scaling != nullptr && rules.values != *scaling)
        refuse("the configuration has rope_parameters and rope_scaling, and they differ; one is enough");
    std::vector<const Json*> all = {&rules.values}; // the rules, and those nested in them
    for (const Json& rule : rules.values) {
        if (rule.is_object()) all.push_back(&rule);
    }
    for (const Json* rule : all) {
        for (const RuleKey& row : kRuleKeys) {
            const Json* found = findKey(*rule, row.name, row.kind);
            if (row.kind == JsonKind::text && found != nullptr && found->get_ref<const std::string&>().empty())
                refuse(std::string("the configuration's ") + row.name + " is empty; it must be a rule's name");
        }
    }
    if (rules.nested && rules.values.size() > kMostTypes)
        refuse("the configuration has " + std::to_string(rules.values.size()) + " types of layers; there may be " +
               std::to_string(kMostTypes));
    for (const auto& item : rules.values.items()) {
        const Json& value = item.value();
        if (!rules.nested || value.is_object() || value.is_null() || mayStandBesideNested(item.key())) continue;
        refuse(subject + " is nested per layer type, and beside the types has " + shown(item.key()) +
               "; it belongs into one of them");
    }
    checkNames(source, rules);
    const bool differ = source.model->layer_types.size() != 0, scales = rules.key == std::string("rope_scaling");
    const bool heeded = !differ || source.model->flat_rule == FlatRule::second || rules.nested ||
                        (scales && source.model->global_head_dim == 0);
    if (heeded || rules.values.empty()) return;
    refuse(subject + " is one rule for all layers, but those of the model type " + shown(source.type) +
           " differ; nest a rule for each of full_attention and sliding_attention");
}

double chooseOuterOrInner(const Layer& layer, const char* key, double outer, double inner, double otherwise) {
    const Rules& rules = layer.source.rules;
    if (!rules.nested && !rules.implied && !std::isnan(outer) && !std::isnan(inner) && outer != inner) {
        refuse(std::string("the configuration has two values of ") + key + ", " + shown(outer) + " and in its " +
               rules.key + " " + shown(inner) + "; they must agree");
    }
    return !std::isnan(inner) ? inner : !std::isnan(outer) ? outer : otherwise;
}

std::vector<double> readFactorList(const Layer& layer, const char* key) {
    const Json* list = findKey(layer.rule, key);
    if (list == nullptr) refuseMissing(layer, ROPE_RULE_LONGROPE, key);
    return list->get<std::vector<double>>();
}

RopeRule readRule(const Layer& layer, double length) {
    const Json& values = layer.rule;
    const Rules& rules = layer.source.rules;
    RopeRule rule = {};
    rule.base = readTextBase(layer);
    rule.kind = readRuleKind(layer);
    readStretch(layer, length, &rule);
    switch (rule.kind) {
    case ROPE_RULE_NTK:
        if (!isOneOf("mixed_b", layer.model.reads)) break;
        rule.kind = ROPE_RULE_NTK_MIXED;
        rule.mixed_exponent = readNumber(values, {"mixed_b"}, 1e-6, 16, 1);
        break;
    case ROPE_RULE_DYNAMIC_NTK:
        readAlpha(layer, &rule);
        break;
    case ROPE_RULE_LONGROPE:
        readLongrope(layer, &rule);
        break;
    case ROPE_RULE_LLAMA3:
        for (const char* key : {"low_freq_factor", "high_freq_factor"}) {
            if (findKey(values, key) == nullptr) refuseMissing(layer, rule.kind, key);
        }
        rule.low_freq_factor = readNumber(values, {"low_freq_factor"}, 1e-6, 1e6, 0);
        rule.high_freq_factor = readNumber(values, {"high_freq_factor"}, 1e-6, 1e6, 0);
        break;
    case ROPE_RULE_YARN_TEMPERATURE:
        rule.temperature = readNumber(values, {"temperature"}, 0, 1e6, rule.temperature);
        rule.gamma = readNumber(values, {"gamma"}, 0, 1e6, rule.gamma);
        break;
    case ROPE_RULE_DEFAULT:
        if (isOneOf("use_dynamic_ntk", layer.model.reads)) readSteppedNtk(layer, length, &rule);
        break;
    case ROPE_RULE_YARN:
        // Where a flat rule is the second type's, its code uses 1.
        if (layer.model.flat_rule == FlatRule::second && !rules.nested) rule.attention_factor = 1;
        rule.mscale = readNumber(values, {"mscale"}, 0, 1e6, rule.mscale);
        rule.mscale_all_dim = readNumber(values, {"mscale_all_dim"}, 0, 1e6, rule.mscale_all_dim);
        rule.keep_bounds = readBool(values, "truncate", true) ? 0 : 1;
        rule.attention_factor = readNumber(values, {"attention_factor"}, 1e-6, 1e6, rule.attention_factor);
        [[fallthrough]];
    case ROPE_RULE_YARN_RAMPED:
        rule.beta_fast = readNumber(values, {"beta_fast"}, 1e-9, 1e9, rule.beta_fast);
        rule.beta_slow = readNumber(values, {"beta_slow"}, 1e-9, 1e9, rule.beta_slow);
        break;
    default:
        break;
    }
    return rule;
}

void readScales(const Layer& layer, double length, ModelEncoding* encoding) {
    const Json& config = *layer.config;
    std::vector<std::string>* notes = &encoding->notes;
    const Json *logn = findKey(config, "use_logn_attn"), *from = findKey(config, "seq_length");
    const bool has_logn = logn != nullptr ? *logn == true : isOneOf("use_logn_attn", layer.model.reads);
    if (has_logn && length > (from != nullptr ? from->get<double>() : 0))
        notes->emplace_back("the configuration's use_logn_attn scales queries beyond its seq_length too, which is no "
                            "rotation and is left to the caller");
    const RopeRule& rule = encoding->rule;
    const SoftmaxScale whose = layer.model.softmax_scale;
    if (whose != SoftmaxScale::unscaled && rule.kind == ROPE_RULE_YARN && rule.mscale_all_dim != 0 && rule.factor > 1) {
        const bool first = whose == SoftmaxScale::first;
        const double root = 0.1 * rule.mscale_all_dim * std::log(rule.factor) + 1;
        char number[32];
        std::snprintf(number, sizeof number, "%.10g", root * root);
        notes->push_back(
            std::string(first ? "the model's first code" : "the model's own code") +
            " multiplies its softmax scale by " + number + ", the square of 1 + 0.1 * mscale_all_dim * ln(factor)" +
            (first ? ", which that of Transformers does not" : "") + "; this is no rotation and is left to the caller");
    }
    const bool tuned = isOneOf(kTuning, layer.model.reads);
    const Json* beta = findKey(layer.rule, kBeta);
    QueryScaling& scaling = encoding->query_scaling;
    if (tuned) {
        scaling = readTuning(layer, *encoding);
    } else if (beta != nullptr && *beta != 0.0 && findKey(layer.rule, kOriginalLength) != nullptr) {
        // Ministral 3 counts positions by the original length, and scales every layer's queries.
        scaling = {beta->get<double>(), readCount(layer.rule, {kOriginalLength}, kMostPositions, 0), 0, false};
    }
    if (scaling.beta == 0) return;
    const bool given = tuned ? findKey(config, kTuning) != nullptr : !layer.source.rules.implied;
    notes->push_back(std::string(given ? "the configuration's " : "the model type's default ") +
                     (tuned ? kTuning : kBeta) + " scales queries " + describeQueryScaling(scaling));
}

} // namespace config
} // namespace rope
