#include "models/rule.hpp"

#include "models/numbers.hpp"

namespace rope {
namespace config {
namespace {

struct RuleName {
    const char* name;
    RopeRuleKind kind;
    const char* keys; // each between spaces, beside kAnyRulesKeys
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

// Any rule may have these keys: some files give the lengths and the factor with every rule.
const char kAnyRulesKeys[] = " type rope_type rope_theta partial_rotary_factor factor original_max_position_embeddings "
                             "max_position_embeddings finetuned mrope_section mrope_interleaved llama_4_scaling_beta ";

bool readRuleName(const Source& source, std::string* name, std::string* error) {
    const Json& rule = source.layer.rule;
    std::string older, newer;
    if (!readText(rule, "type", &older, error) || !readText(rule, "rope_type", &newer, error)) return false;
    // Older files call the default rule with an mrope_section "mrope"; some files have both names.
    if (!older.empty() && !newer.empty() && older != newer && !(older == "mrope" && newer == "default")) {
        return refuse(error, "the configuration's " + source.rules.key + " has type " + shown(older) +
                                 " and rope_type " + shown(newer) + "; they must agree");
    }
    *name = !newer.empty() ? newer : older;
    if (name->empty() && findKey(rule, "factor") != nullptr) {
        return refuse(error, "the configuration's " + source.rules.key +
                                 " has a factor and no rope_type; 'linear' would take one");
    }
    if (name->empty()) *name = "default";
    if (source.has(kPhisLongrope) && (*name == "su" || *name == "yarn")) *name = "longrope";
    return true;
}

bool checkRuleKeys(const Source& source, const RuleName& name, std::string* error) {
    for (const auto& item : source.layer.rule.items()) {
        const std::string& key = item.key();
        if (isOff(item.value()) || holds(kAnyRulesKeys, key) || holds(name.keys, key) || key == "truncate") continue;
        if (source.has(kDynamicAlpha) && name.kind == ROPE_RULE_DYNAMIC_NTK &&
            holds(" alpha beta_fast beta_slow mscale mscale_all_dim ", key))
            continue;
        if (source.has(kMixedNtk) && name.kind == ROPE_RULE_NTK && key == "mixed_b") continue;
        if (key == "interleaved" && findKey(source.layer.rule, "mrope_section") != nullptr)
            continue; // the key is about the axes
        if (source.has(kShortLongMscale) && holds(" short_mscale long_mscale ", key)) continue;
        return refuse(error, "the configuration's " + source.rules.key + " has the key " + shown(key) +
                                 ", which the rule '" + name.name + "' does not take");
    }
    return true;
}

bool readRuleKind(const Source& source, RopeRule* rule, std::string* error) {
    std::string name;
    if (!readRuleName(source, &name, error)) return false;
    for (const RuleName& known : kRuleNames) {
        if (name != known.name) continue;
        rule->kind = known.kind;
        const bool taken = rule->kind == ROPE_RULE_DEFAULT || rule->kind == ROPE_RULE_LONGROPE;
        if (source.has(kPhisLongrope) && !taken) {
            return refuse(error, "the configuration's rule is '" + name + "'; the code of the model type " +
                                     shown(source.type) + " takes none but 'default' and 'longrope'");
        }
        return checkRuleKeys(source, known, error);
    }
    return refuse(error, "the configuration's rule " + shown(name) +
                             " is not known; default, linear, dynamic, yarn, longrope, llama3 and proportional are");
}

bool refuseMissing(const Source& source, const RopeRule& rule, const char* key, std::string* error) {
    return refuse(error, "the configuration's " + source.rules.key + " has the rule '" + ropeRuleName(rule.kind) +
                             "' without its " + key);
}

bool readRequired(const Source& source, const RopeRule& rule, const char* key, double* value, std::string* error) {
    if (findKey(source.layer.rule, key) == nullptr) return refuseMissing(source, rule, key, error);
    return readNumber(source.layer.rule, key, 1e-6, 1e6, value, error);
}

bool readRuleFactor(const Source& source, RopeRule* rule, std::string* error) {
    double factor = 0;
    if (!readNumber(source.layer.rule, "factor", 1e-6, 1e6, &factor, error)) return false;
    rule->factor = factor;
    if (rule->kind == ROPE_RULE_DEFAULT && factor != 0 && factor != 1) {
        return refuse(error, "the configuration's " + source.rules.key +
                                 " has a factor, which the rule 'default' does not take");
    }
    const bool ratio =
        rule->kind == ROPE_RULE_LONGROPE || (rule->kind == ROPE_RULE_YARN && source.layer.rule.contains("factor"));
    if (factor == 0 && ratio) {
        double positions = 0;
        if (!readPositions(source, &positions, error)) return false;
        rule->factor = positions / rule->original_length; // a 0 is refused below, or by the rule
    }
    if (rule->factor == 0 && rule->kind == ROPE_RULE_LONGROPE && !source.has(kShortLongMscale) &&
        findKey(source.layer.rule, "attention_factor") == nullptr) {
        return refuse(error, "the configuration has no max_position_embeddings, which gives the rule 'longrope' its "
                             "scale where the " +
                                 source.rules.key + " has neither factor nor attention_factor");
    }
    const bool optional =
        rule->kind == ROPE_RULE_DEFAULT || rule->kind == ROPE_RULE_PROPORTIONAL || rule->kind == ROPE_RULE_LONGROPE;
    return rule->factor != 0 || optional || refuseMissing(source, *rule, "factor", error);
}

bool readLengths(const Source& source, double length, RopeRule* rule, std::string* error) {
    const RopeRuleKind kind = rule->kind;
    const bool original = kind == ROPE_RULE_YARN || kind == ROPE_RULE_LONGROPE || kind == ROPE_RULE_LLAMA3 ||
                          kind == ROPE_RULE_YARN_RAMPED;
    rule->length = length;
    if (kind == ROPE_RULE_DYNAMIC_NTK) {
        if (!readPositions(source, &rule->original_length, error)) return false;
        return rule->original_length != 0 || refuseMissing(source, *rule, "max_position_embeddings", error);
    }
    if (!original) return true;
    if (!readOriginalLength(source, &rule->original_length, error)) return false;
    return rule->original_length != 0 || refuseMissing(source, *rule, "original_max_position_embeddings", error);
}

bool readYarn(const Source& source, RopeRule* rule, std::string* error) {
    const Json& values = source.layer.rule;
    bool truncate = true;
    if (source.has(kCompressLayers) && !source.rules.nested) rule->attention_factor = 1; // its code uses 1 there
    if (!readNumber(values, "beta_fast", 1e-9, 1e9, &rule->beta_fast, error) ||
        !readNumber(values, "beta_slow", 1e-9, 1e9, &rule->beta_slow, error) ||
        !readNumber(values, "mscale", 0, 1e6, &rule->mscale, error) ||
        !readNumber(values, "mscale_all_dim", 0, 1e6, &rule->mscale_all_dim, error) ||
        !readBool(values, "truncate", &truncate, error))
        return false;
    rule->keep_bounds = truncate ? 0 : 1;
    return readNumber(values, "attention_factor", 1e-6, 1e6, &rule->attention_factor, error);
}

// Phi-MoE takes its own scales, and never its long factors: its code does not pass the length of the text to the rule.
bool readShortLongMscale(const Source& source, RopeRule* rule, std::string* error) {
    const bool beyond = rule->length > rule->original_length;
    rule->length = 0;
    return readRequired(source, *rule, beyond ? "long_mscale" : "short_mscale", &rule->attention_factor, error);
}

// HunYuan's alpha stretches the base up to max_position_embeddings. Beyond that length the alpha is ignored.
bool readAlpha(const Source& source, RopeRule* rule, std::string* error) {
    double alpha = 0;
    if (!readNumber(source.layer.rule, "alpha", 1e-6, 1e9, &alpha, error)) return false;
    if (alpha == 0 || rule->length > rule->original_length) return true;
    rule->kind = ROPE_RULE_NTK;
    rule->factor = alpha;
    return true;
}

// Qwen's first code stretches the base as the text grows: by 1, 3, 7, 15, ..., a number for each doubling of seq_length
// that the text has begun.
bool readSteppedNtk(const Source& source, double length, RopeRule* rule, std::string* error) {
    bool stepped = true;
    double original = 0;
    if (!readBool(source.config, "use_dynamic_ntk", &stepped, error) ||
        !readNumber(source.config, "seq_length", 1, 1e9, &original, error))
        return false;
    if (!stepped) return true;
    rule->original_length = original;
    if (length == 0) return true;
    if (original == 0)
        return refuse(error, "the configuration's use_dynamic_ntk is true, and it has no seq_length from which on the "
                             "base is stretched");
    double times = 1;
    while (original * times < length) times *= 2;
    if (times == 1) return true;
    rule->kind = ROPE_RULE_NTK;
    rule->factor = 2 * times - 1;
    return true;
}

} // namespace

bool readFactorList(const Source& source, const char* key, std::vector<double>* factors, std::string* error) {
    const Json* list = findKey(source.layer.rule, key);
    if (list == nullptr) {
        return refuse(error, "the configuration's " + source.rules.key + " has the rule 'longrope' without its " + key);
    }
    *factors = list->get<std::vector<double>>();
    return true;
}

bool readRule(const Source& source, double length, RopeRule* rule, std::string* error) {
    const Json& values = source.layer.rule;
    if (!readRuleKind(source, rule, error) || !readLengths(source, length, rule, error) ||
        !readRuleFactor(source, rule, error))
        return false;
    switch (rule->kind) {
    case ROPE_RULE_NTK:
        if (!source.has(kMixedNtk)) return true;
        rule->kind = ROPE_RULE_NTK_MIXED;
        rule->mixed_exponent = 1;
        return readNumber(values, "mixed_b", 1e-6, 16, &rule->mixed_exponent, error);
    case ROPE_RULE_DYNAMIC_NTK:
        return readAlpha(source, rule, error);
    case ROPE_RULE_YARN:
        return readYarn(source, rule, error);
    case ROPE_RULE_LONGROPE:
        if (source.has(kShortLongMscale)) return readShortLongMscale(source, rule, error);
        return readNumber(values, "attention_factor", 1e-6, 1e6, &rule->attention_factor, error);
    case ROPE_RULE_LLAMA3:
        return readRequired(source, *rule, "low_freq_factor", &rule->low_freq_factor, error) &&
               readRequired(source, *rule, "high_freq_factor", &rule->high_freq_factor, error);
    case ROPE_RULE_YARN_RAMPED:
        return readNumber(values, "beta_fast", 1e-9, 1e9, &rule->beta_fast, error) &&
               readNumber(values, "beta_slow", 1e-9, 1e9, &rule->beta_slow, error);
    case ROPE_RULE_YARN_TEMPERATURE:
        return readNumber(values, "temperature", 0, 1e6, &rule->temperature, error) &&
               readNumber(values, "gamma", 0, 1e6, &rule->gamma, error);
    case ROPE_RULE_DEFAULT:
        return !source.has(kSteppedNtk) || readSteppedNtk(source, length, rule, error);
    default:
        return true;
    }
}

} // namespace config
} // namespace rope
