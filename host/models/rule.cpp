#include "models/text.hpp"

#include "models/words.hpp"

#include <cmath>
#include <cstdio>

namespace rope {
namespace config {
namespace {

constexpr double kMaxLength = 9007199254740992.0; // 2^53

struct RuleName {
    const char* name;
    RopeRuleKind kind;
    Keys keys; // beside those of any rule
};

const RuleName kRuleNames[] = {
    {"default", ROPE_RULE_DEFAULT, {}},
    {"mrope", ROPE_RULE_DEFAULT, {}},
    {"linear", ROPE_RULE_LINEAR, {}},
    {"ntk", ROPE_RULE_NTK, {}},
    {"dynamic", ROPE_RULE_DYNAMIC_NTK, {}},
    {"yarn", ROPE_RULE_YARN, {"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"}},
    {"longrope", ROPE_RULE_LONGROPE, {"attention_factor", "long_factor", "short_factor"}},
    {"su", ROPE_RULE_LONGROPE, {"attention_factor", "long_factor", "short_factor"}},
    {"llama3", ROPE_RULE_LLAMA3, {"low_freq_factor", "high_freq_factor"}},
    {"proportional", ROPE_RULE_PROPORTIONAL, {}},
    {"yarn_ramped", ROPE_RULE_YARN_RAMPED, {"beta_fast", "beta_slow"}},
    {"yarn_temperature", ROPE_RULE_YARN_TEMPERATURE, {"temperature", "gamma"}},
};

const std::string& keyOfRules(const Layer& layer) { return layer.source.rules.key; }

[[noreturn]] void refuseRule(const Layer& layer, const std::string& what) {
    refuse("the configuration's " + keyOfRules(layer) + what);
}

std::string readRuleName(const Layer& layer) {
    const std::string older = readText(layer.rule, "type"), newer = readText(layer.rule, "rope_type");
    // Older files call the default rule with an mrope_section "mrope"; some files have both names.
    if (!older.empty() && !newer.empty() && older != newer && !(older == "mrope" && newer == "default"))
        refuseRule(layer, " has type " + shown(older) + " and rope_type " + shown(newer) + "; they must agree");
    const std::string name = !newer.empty() ? newer : older;
    if (name.empty() && findKey(layer.rule, "factor") != nullptr)
        refuseRule(layer, " has a factor and no rope_type; 'linear' would take one");
    if (layer.model().longrope_alone && (name == "su" || name == "yarn")) return "longrope";
    return name.empty() ? "default" : name;
}

bool mayHaveKey(const Layer& layer, const RuleName& name, const std::string& key) {
    const Source& source = layer.source;
    // Any rule may have these: some files give the lengths and the factor with every rule.
    if (isOneOf(key, {"type", "rope_type", "rope_theta", "partial_rotary_factor", "factor", "finetuned",
                      "mrope_section", "original_max_position_embeddings", "max_position_embeddings",
                      "mrope_interleaved", "truncate", "llama_4_scaling_beta"}) ||
        isOneOf(key, name.keys))
        return true;
    if (name.kind == ROPE_RULE_DYNAMIC_NTK && source.reads("alpha") &&
        isOneOf(key, {"alpha", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"}))
        return true;
    if (key == "interleaved") return findKey(layer.rule, "mrope_section") != nullptr; // the key is about the axes
    if (key == "mixed_b") return name.kind == ROPE_RULE_NTK && source.reads("mixed_b");
    return isOneOf(key, {"short_mscale", "long_mscale"}) && source.reads("short_mscale");
}

RopeRuleKind readRuleKind(const Layer& layer) {
    const std::string name = readRuleName(layer);
    for (const RuleName& known : kRuleNames) {
        if (name != known.name) continue;
        const bool taken = known.kind == ROPE_RULE_DEFAULT || known.kind == ROPE_RULE_LONGROPE;
        if (layer.model().longrope_alone && !taken) {
            refuse("the configuration's rule is '" + name + "'; the code of the model type " +
                   shown(layer.source.type) + " takes none but 'default' and 'longrope'");
        }
        for (const auto& item : layer.rule.items()) {
            if (isOff(item.value()) || mayHaveKey(layer, known, item.key())) continue;
            refuseRule(layer,
                       " has the key " + shown(item.key()) + ", which the rule '" + known.name + "' does not take");
        }
        return known.kind;
    }
    refuse("the configuration's rule " + shown(name) +
           " is not known; default, linear, dynamic, yarn, longrope, llama3 and proportional are");
}

[[noreturn]] void refuseMissing(const Layer& layer, RopeRuleKind kind, const char* key) {
    refuseRule(layer, std::string(" has the rule '") + ropeRuleName(kind) + "' without its " + key);
}

double readRequired(const Layer& layer, RopeRuleKind kind, const char* key) {
    if (findKey(layer.rule, key) == nullptr) refuseMissing(layer, kind, key);
    return readNumber(layer.rule, key, 1e-6, 1e6, 0);
}

// ---- Numbers that may stand at the top of a configuration, in its rule, or in a record ------------------------------

// `outer` stands at the top of the configuration, `inner` in the rule; NaN: absent. The inner value goes first where
// the rule is nested, or the class's own. Else the two must agree.
double chooseOuterOrInner(const Layer& layer, const char* key, double outer, double inner, double otherwise) {
    const Rules& rules = layer.source.rules;
    if (!rules.nested && !rules.implied && !std::isnan(outer) && !std::isnan(inner) && outer != inner) {
        refuse(std::string("the configuration has two values of ") + key + ", " + shown(outer) + " and in its " +
               rules.key + " " + shown(inner) + "; they must agree");
    }
    return !std::isnan(inner) ? inner : !std::isnan(outer) ? outer : otherwise;
}

double readTextBase(const Layer& layer) {
    const Json& config = layer.config();
    const Model& model = layer.model();
    const std::string& type = layer.source.type;
    const bool other = layer.is_second_type && !(layer.source.rules.nested && layer.source.secondTypeIsScaled());
    double outer = readAliased(config, {"rope_theta", "global_rope_theta", "rotary_emb_base", "rotary_embedding_base"},
                               1, kMaxBase);
    const double own = readAliased(
        config, {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta", "compress_rope_theta"}, 1, kMaxBase);
    const double inner = readNumber(layer.rule, "rope_theta", 1, kMaxBase, NAN);
    const Json* attention = findKey(config, "attn_config"); // DBRX's
    if (std::isnan(outer) && attention != nullptr && attention->is_object())
        outer = readNumber(*attention, "rope_theta", 1, kMaxBase, outer);
    const double otherwise = other && model.second_base != 0 ? model.second_base : model.base;
    const bool has_own = other && (!std::isnan(own) || model.second_base != 0);
    const double base = chooseOuterOrInner(layer, "rope_theta", has_own ? own : outer, inner, otherwise) *
                        readNumber(config, "rope_ratio", 1e-3, 1e9, 1); // ChatGLM's
    if (base != 0) return base;
    refuse(type.empty() ? "the configuration has neither rope_theta nor a model_type that implies one"
                        : "the configuration has no rope_theta, and the model type " + shown(type) +
                              " is not one that is known to imply one");
}

// Returns 0 where no key says it.
double readPositions(const Layer& layer) {
    for (const char* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"}) {
        if (findKey(layer.config(), key) != nullptr) return readNumber(layer.config(), key, 1, kMaxLength, 0);
    }
    return 0;
}

double readOriginalLength(const Layer& layer) {
    const char* key = "original_max_position_embeddings";
    const double positions = readPositions(layer);
    const double outer = readNumber(layer.config(), key, 1, kMaxLength, layer.model().longrope_alone ? 4096 : NAN);
    const double inner = readNumber(layer.rule, key, 1, kMaxLength, NAN);
    return chooseOuterOrInner(layer, key, outer, inner, positions);
}

// ---- What each rule takes -------------------------------------------------------------------------------------------

void readFactor(const Layer& layer, RopeRule* rule) {
    const bool longrope = rule->kind == ROPE_RULE_LONGROPE;
    const double factor = rule->factor = readNumber(layer.rule, "factor", 1e-6, 1e6, 0);
    if (rule->kind == ROPE_RULE_DEFAULT && factor != 0 && factor != 1)
        refuseRule(layer, " has a factor, which the rule 'default' does not take");
    if (factor == 0 && (longrope || (rule->kind == ROPE_RULE_YARN && layer.rule.contains("factor"))))
        rule->factor = readPositions(layer) / rule->original_length; // a 0 is refused below, or by the rule
    if (rule->factor == 0 && longrope && !layer.source.reads("short_mscale") &&
        findKey(layer.rule, "attention_factor") == nullptr) {
        refuse(
            "the configuration has no max_position_embeddings, which gives the rule 'longrope' its scale where the " +
            keyOfRules(layer) + " has neither factor nor attention_factor");
    }
    const bool optional = rule->kind == ROPE_RULE_DEFAULT || rule->kind == ROPE_RULE_PROPORTIONAL || longrope;
    if (rule->factor == 0 && !optional) refuseMissing(layer, rule->kind, "factor");
}

void readLengths(const Layer& layer, double length, RopeRule* rule) {
    const RopeRuleKind kind = rule->kind;
    rule->length = length;
    if (kind == ROPE_RULE_DYNAMIC_NTK) {
        rule->original_length = readPositions(layer);
        if (rule->original_length == 0) refuseMissing(layer, kind, "max_position_embeddings");
    }
    if (kind != ROPE_RULE_YARN && kind != ROPE_RULE_LONGROPE && kind != ROPE_RULE_LLAMA3 &&
        kind != ROPE_RULE_YARN_RAMPED)
        return;
    rule->original_length = readOriginalLength(layer);
    if (rule->original_length == 0) refuseMissing(layer, kind, "original_max_position_embeddings");
}

void readBetas(const Layer& layer, RopeRule* rule) {
    rule->beta_fast = readNumber(layer.rule, "beta_fast", 1e-9, 1e9, rule->beta_fast);
    rule->beta_slow = readNumber(layer.rule, "beta_slow", 1e-9, 1e9, rule->beta_slow);
}

void readYarn(const Layer& layer, RopeRule* rule) {
    const Json& values = layer.rule;
    if (layer.source.secondTypeIsScaled() && !layer.source.rules.nested)
        rule->attention_factor = 1; // its code uses 1 there
    readBetas(layer, rule);
    rule->mscale = readNumber(values, "mscale", 0, 1e6, rule->mscale);
    rule->mscale_all_dim = readNumber(values, "mscale_all_dim", 0, 1e6, rule->mscale_all_dim);
    rule->keep_bounds = readBool(values, "truncate", true) ? 0 : 1;
    rule->attention_factor = readNumber(values, "attention_factor", 1e-6, 1e6, rule->attention_factor);
}

void readLongrope(const Layer& layer, RopeRule* rule) {
    if (!layer.source.reads("short_mscale")) {
        rule->attention_factor = readNumber(layer.rule, "attention_factor", 1e-6, 1e6, rule->attention_factor);
        return;
    }
    // Phi-MoE takes its own scales, and never its long factors: its code does not pass the length of the text to the
    // rule.
    const bool beyond = rule->length > rule->original_length;
    rule->length = 0;
    rule->attention_factor = readRequired(layer, rule->kind, beyond ? "long_mscale" : "short_mscale");
}

// HunYuan's alpha stretches the base up to max_position_embeddings. Beyond that length the alpha is ignored.
void readAlpha(const Layer& layer, RopeRule* rule) {
    const double alpha = readNumber(layer.rule, "alpha", 1e-6, 1e9, 0);
    if (alpha == 0 || rule->length > rule->original_length) return;
    rule->kind = ROPE_RULE_NTK;
    rule->factor = alpha;
}

// Qwen's first code stretches the base as the text grows: by 1, 3, 7, 15, ..., a number for each doubling of seq_length
// that the text has begun.
void readSteppedNtk(const Layer& layer, double length, RopeRule* rule) {
    const bool stepped = readBool(layer.config(), "use_dynamic_ntk", true);
    const double original = readNumber(layer.config(), "seq_length", 1, 1e9, 0);
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
constexpr const char* kTuning = "attn_temperature_tuning";

// Ministral 3 counts positions by the original length, and scales every layer's queries.
QueryScaling readBeta(const Layer& layer) {
    const Json* beta = findKey(layer.rule, "llama_4_scaling_beta");
    const char* length = "original_max_position_embeddings";
    if (beta == nullptr || *beta == 0.0 || findKey(layer.rule, length) == nullptr) return {};
    return {beta->get<double>(), readCount(layer.rule, length, kMostPositions, 0), 0, false};
}

// Llama 4 counts from 1, and scales the queries of the layers that do not rotate.
QueryScaling readTuning(const Layer& layer, const ModelEncoding& encoding) {
    const Json* tuning = findKey(layer.config(), kTuning);
    if (tuning != nullptr && !tuning->is_boolean() && !tuning->is_number())
        refuseValue(kTuning, *tuning, "true or false");
    const bool on = tuning == nullptr || (tuning->is_boolean() ? tuning->get<bool>() : *tuning != 0);
    if (!on || nameStillLayers(encoding.layers).empty()) return {};
    return {readNumber(layer.config(), "attn_scale", -1e6, 1e6, 0.1),
            readCount(layer.config(), "floor_scale", kMostPositions, 8192), 1, true};
}

} // namespace

std::vector<double> readFactorList(const Layer& layer, const char* key) {
    const Json* list = findKey(layer.rule, key);
    if (list == nullptr) refuseMissing(layer, ROPE_RULE_LONGROPE, key);
    return list->get<std::vector<double>>();
}

double readPartial(const Layer& layer, bool scaled, Partials* given) {
    const Model& model = layer.model();
    const bool own_nested = layer.source.rules.nested && !layer.source.rules.implied;
    const bool outer_alone = model.partial_of_scaled == ScaledPartial::outer;
    given->outer = readAliased(
        layer.config(),
        {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_percent", "rope_percent", "rotary_emb_fraction"},
        1e-6, 1);
    given->inner = readNumber(layer.rule, "partial_rotary_factor", 1e-6, 1, NAN);
    Partials read = *given;
    double otherwise = model.partial;
    if (own_nested && (scaled ? outer_alone : layer.source.secondTypeIsScaled())) otherwise = 1;
    if (own_nested && !scaled && layer.source.secondTypeIsScaled()) read.outer = NAN;
    if (model.partial_of_scaled == ScaledPartial::own && scaled) {
        if (std::isnan(read.outer)) return otherwise;
        read.inner = NAN;
    }
    if (outer_alone && findKey(layer.config(), "partial_rotary_factor") != nullptr)
        (scaled ? read.inner : read.outer) = NAN;
    return chooseOuterOrInner(layer, "partial_rotary_factor", read.outer, read.inner, otherwise);
}

RopeRule readRule(const Layer& layer, double length) {
    const Json& values = layer.rule;
    RopeRule rule = {};
    rule.base = readTextBase(layer);
    rule.kind = readRuleKind(layer);
    readLengths(layer, length, &rule);
    readFactor(layer, &rule);
    switch (rule.kind) {
    case ROPE_RULE_NTK:
        if (!layer.source.reads("mixed_b")) break;
        rule.kind = ROPE_RULE_NTK_MIXED;
        rule.mixed_exponent = readNumber(values, "mixed_b", 1e-6, 16, 1);
        break;
    case ROPE_RULE_DYNAMIC_NTK:
        readAlpha(layer, &rule);
        break;
    case ROPE_RULE_YARN:
        readYarn(layer, &rule);
        break;
    case ROPE_RULE_LONGROPE:
        readLongrope(layer, &rule);
        break;
    case ROPE_RULE_LLAMA3:
        rule.low_freq_factor = readRequired(layer, rule.kind, "low_freq_factor");
        rule.high_freq_factor = readRequired(layer, rule.kind, "high_freq_factor");
        break;
    case ROPE_RULE_YARN_RAMPED:
        readBetas(layer, &rule);
        break;
    case ROPE_RULE_YARN_TEMPERATURE:
        rule.temperature = readNumber(values, "temperature", 0, 1e6, rule.temperature);
        rule.gamma = readNumber(values, "gamma", 0, 1e6, rule.gamma);
        break;
    case ROPE_RULE_DEFAULT:
        if (layer.source.reads("use_dynamic_ntk")) readSteppedNtk(layer, length, &rule);
        break;
    default:
        break;
    }
    return rule;
}

void readQueryScaling(const Layer& layer, ModelEncoding* encoding) {
    const bool tuned = layer.source.reads(kTuning);
    const QueryScaling scaling = tuned ? readTuning(layer, *encoding) : readBeta(layer);
    encoding->query_scaling = scaling;
    if (scaling.beta == 0) return;
    const bool given = tuned ? findKey(layer.config(), kTuning) != nullptr : !layer.source.rules.implied;
    encoding->notes.push_back(std::string(given ? "the configuration's " : "the model type's default ") +
                              (tuned ? kTuning : "llama_4_scaling_beta") + " scales queries " +
                              describeQueryScaling(scaling));
}

void noteSoftmaxScale(const Layer& layer, double length, ModelEncoding* encoding) {
    const Json* logn = findKey(layer.config(), "use_logn_attn");
    const Json* from = findKey(layer.config(), "seq_length");
    const bool has_logn = logn != nullptr ? *logn == true : layer.source.reads("use_logn_attn");
    if (has_logn && length > (from != nullptr ? from->get<double>() : 0))
        encoding->notes.emplace_back(
            "the configuration's use_logn_attn scales queries beyond its seq_length too, which "
            "is no rotation and is left to the caller");
    const RopeRule& rule = encoding->rule;
    const SoftmaxScale whose = layer.model().softmax_scale;
    if (whose == SoftmaxScale::unscaled || rule.kind != ROPE_RULE_YARN || rule.mscale_all_dim == 0 || rule.factor <= 1)
        return;
    const bool first = whose == SoftmaxScale::first;
    const double root = 0.1 * rule.mscale_all_dim * std::log(rule.factor) + 1;
    char number[32];
    std::snprintf(number, sizeof number, "%.10g", root * root);
    encoding->notes.push_back(
        std::string(first ? "the model's first code" : "the model's own code") + " multiplies its softmax scale by " +
        number + ", the square of 1 + 0.1 * mscale_all_dim * ln(factor)" +
        (first ? ", which that of Transformers does not" : "") + "; this is no rotation and is left to the caller");
}

} // namespace config
} // namespace rope
