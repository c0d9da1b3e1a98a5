#include "models/numbers.hpp"

#include <cmath>

namespace rope {
namespace config {
namespace {

constexpr double kMaxBase = 1.8e19;
constexpr double kMaxLength = 9007199254740992.0; // 2^53

// `outer` stands at the top of the configuration, `inner` in the rule; NaN: absent. The inner value goes first where
// the rule is nested, or the class's own. Else the two must agree. *value is left as it is where both are absent.
bool chooseOuterOrInner(const Source& source, const char* key, double outer, double inner, double* value,
                        std::string* error) {
    const Rules& rules = source.rules;
    if (!rules.nested && !rules.implied && !std::isnan(outer) && !std::isnan(inner) && outer != inner) {
        return refuse(error, std::string("the configuration has two values of ") + key + ", " + shown(outer) +
                                 " and in its " + rules.key + " " + shown(inner) + "; they must agree");
    }
    if (!std::isnan(outer) || !std::isnan(inner)) *value = std::isnan(inner) ? outer : inner;
    return true;
}

} // namespace

bool readTextBase(const Source& source, double* base, std::string* error) {
    const Json& config = source.config;
    const bool nested_compress = source.rules.nested && source.has(kCompressLayers);
    const bool other = source.layer.is_second_type && !nested_compress;
    const Model* known = source.known;
    double own = NAN, inner = NAN, outer = NAN;
    if (!readAliased(config, {"rope_theta", "global_rope_theta", "rotary_emb_base", "rotary_embedding_base"}, 1,
                     kMaxBase, &outer, error) ||
        !readAliased(config, {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta", "compress_rope_theta"}, 1,
                     kMaxBase, &own, error) ||
        !readNumber(source.layer.rule, "rope_theta", 1, kMaxBase, &inner, error))
        return false;
    const Json* attention = findKey(config, "attn_config"); // DBRX's
    if (std::isnan(outer) && attention != nullptr && attention->is_object() &&
        !readNumber(*attention, "rope_theta", 1, kMaxBase, &outer, error))
        return false;
    const bool has_own = other && (!std::isnan(own) || (known != nullptr && known->second_base != 0));
    *base = known == nullptr ? 0 : other && known->second_base != 0 ? known->second_base : known->base;
    double ratio = 1; // ChatGLM's
    if (!chooseOuterOrInner(source, "rope_theta", has_own ? own : outer, inner, base, error) ||
        !readNumber(config, "rope_ratio", 1e-3, 1e9, &ratio, error))
        return false;
    *base *= ratio;
    if (*base != 0) return true;
    return refuse(error, source.type.empty()
                             ? "the configuration has neither rope_theta nor a model_type that implies one"
                             : "the configuration has no rope_theta, and the model type " + shown(source.type) +
                                   " is not one that is known to imply one");
}

bool readPartial(const Source& source, bool scaled, double* partial, Partials* given, std::string* error) {
    Partials all;
    if (!readAliased(source.config,
                     {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_percent", "rope_percent",
                      "rotary_emb_fraction"},
                     1e-6, 1, &all.outer, error) ||
        !readNumber(source.layer.rule, "partial_rotary_factor", 1e-6, 1, &all.inner, error))
        return false;
    *given = all;
    *partial = source.known != nullptr ? source.known->partial : 1;
    const bool own_nested = source.rules.nested && !source.rules.implied;
    if (own_nested && source.has(scaled ? kScaledPartial : kCompressLayers)) *partial = 1;
    if (own_nested && !scaled && source.has(kCompressLayers)) all.outer = NAN;
    if (source.has(kClassPartial) && scaled) {
        if (std::isnan(all.outer)) return true;
        all.inner = NAN;
    }
    if (source.has(kScaledPartial) && findKey(source.config, "partial_rotary_factor") != nullptr)
        (scaled ? all.inner : all.outer) = NAN;
    return chooseOuterOrInner(source, "partial_rotary_factor", all.outer, all.inner, partial, error);
}

bool readPositions(const Source& source, double* count, std::string* error) {
    for (const char* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"}) {
        if (findKey(source.config, key) != nullptr) return readNumber(source.config, key, 1, kMaxLength, count, error);
    }
    return true;
}

bool readOriginalLength(const Source& source, double* length, std::string* error) {
    const char* key = "original_max_position_embeddings";
    double outer = source.has(kPhisLongrope) ? 4096 : NAN, inner = NAN;
    return readPositions(source, length, error) && readNumber(source.config, key, 1, kMaxLength, &outer, error) &&
           readNumber(source.layer.rule, key, 1, kMaxLength, &inner, error) &&
           chooseOuterOrInner(source, key, outer, inner, length, error);
}

} // namespace config
} // namespace rope
