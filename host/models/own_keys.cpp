#include "models/own_keys.hpp"

#include "models/layers.hpp"

#include <cmath>

namespace rope {
namespace config {
namespace {

// A key that only some types' code reads, in the place of one that the others' reads, `of`. Types stand between spaces.
struct Alias {
    const char* key;
    const char* of;
    IgnoredKey::Means means;
    const char* readers;
};

constexpr Alias kAliases[] = {
    {"rotary_emb_base", "rope_theta", IgnoredKey::base, " gpt_neox gpt_neox_japanese "},
    {"rotary_embedding_base", "rope_theta", IgnoredKey::base, " seamless_m4t wav2vec2-bert wav2vec2-conformer "},
    {"global_rope_theta", "rope_theta", IgnoredKey::first_base, " modernbert modernbert-decoder "},
    {"local_rope_theta", "", IgnoredKey::second_base, " modernbert modernbert-decoder "},
    {"rope_local_base_freq", "", IgnoredKey::second_base, " gemma3_text gemma3n_text t5gemma2_text t5gemma2_decoder "},
    {"swa_rope_theta", "", IgnoredKey::second_base, " "},
    {"rotary_pct", "partial_rotary_factor", IgnoredKey::partial, " gpt_neox gpt_neox_japanese "},
    {"rope_pct", "partial_rotary_factor", IgnoredKey::partial, " "},
    {"rotary_percent", "partial_rotary_factor", IgnoredKey::partial, " "},
    {"rope_percent", "partial_rotary_factor", IgnoredKey::partial, " "},
    {"rotary_emb_fraction", "partial_rotary_factor", IgnoredKey::partial, " "},
    {"kv_channels", "head_dim", IgnoredKey::head, " jetmoe "},
    {"n_embd", "hidden_size", IgnoredKey::size, " gptj codegen "},
    {"n_embed", "hidden_size", IgnoredKey::size, " falcon "},
    {"d_model", "hidden_size", IgnoredKey::size, " dbrx esmc "},
    {"n_head", "num_attention_heads", IgnoredKey::size, " gptj codegen "},
    {"n_heads", "num_attention_heads", IgnoredKey::size, " dbrx esmc "},
    {"decoder_num_attention_heads", "num_attention_heads", IgnoredKey::size, " moonshine "},
};

// Keys that a type's code never reads, though most types' code does. `alone`: it reads them beside a rule.
struct Unread {
    const char* types;
    const char* key;
    IgnoredKey::Means means;
    bool alone = false;
};

constexpr Unread kUnread[] = {
    {" gpt_neox gpt_neox_japanese modernbert modernbert-decoder gemma4_text gemma4_unified_text diffusion_gemma_text "
     "laguna mellum mimo_v2_flash zaya ",
     "rope_theta", IgnoredKey::base},
    {" gptj codegen roformer idefics clvp_encoder seamless_m4t wav2vec2-bert wav2vec2-conformer ", "rope_theta",
     IgnoredKey::base},
    {" bamba gptj codegen roformer idefics clvp_encoder seamless_m4t wav2vec2-bert wav2vec2-conformer ",
     "partial_rotary_factor", IgnoredKey::partial},
    {" cohere2_moe esm gptj codegen roformer idefics clvp_encoder seamless_m4t wav2vec2-bert wav2vec2-conformer ",
     "rope_scaling", IgnoredKey::rule},
    {" esm gptj codegen roformer idefics clvp_encoder seamless_m4t wav2vec2-bert wav2vec2-conformer ",
     "rope_parameters", IgnoredKey::rule},
    {" step3p5 ", "partial_rotary_factor", IgnoredKey::partial, true},
    {" deepseek_v4 ", "rotary_dim", IgnoredKey::rule},
    {" deepseek_v4 ", "attn_rotary_emb", IgnoredKey::rule},
    {" deepseek_ocr2_text ", "head_dim", IgnoredKey::head},
    {" longcat_flash ", "qk_rope_head_dim", IgnoredKey::head},
};

// These types' code takes rules nested by layer type as rope_parameters alone. A rope_scaling goes into the rule of the
// full layers, where a `type` is not read beside the rope_type that is there.
const char kFlatScaling[] = " gemma3_text gemma3n_text olmo3 modernbert modernbert-decoder t5gemma2_text "
                            "t5gemma2_decoder ";

// These types' code takes nested rules, though the default rule of all layers is the same.
const char kNestedToo[] = " cohere_compass_text deepseek_v4 ";

// This reader does these things otherwise than Transformers, where the configuration lacks the key, or has it.
struct Remark {
    const char* types;
    const char* key;
    bool present;
    const char* text;
};

constexpr Remark kRemarks[] = {
    {" phi3 phi4_multimodal ", "default_theta", true,
     "default_theta is not read; the code of Transformers takes it for a rope_theta that is missing"},
    {" dbrx ", "max_position_embeddings", true,
     "max_position_embeddings is read; the code of Transformers takes max_seq_len alone for the original length"},
    {" deepseek_v4 gemma3_text gemma3n_text olmo3 modernbert modernbert-decoder t5gemma2_text t5gemma2_decoder ",
     "original_max_position_embeddings", true,
     "original_max_position_embeddings is read; the code of Transformers takes max_position_embeddings for it"},
    {" deepseek_v32 glm_moe_dsa ", "indexer_rope_interleave", true,
     "indexer_rope_interleave is of the indexer's own rotation, which is not read here"},
    {" clvp_encoder ", "", false, "the model's own code turns values too, as it turns queries and keys"},
    {" seamless_m4t wav2vec2-bert wav2vec2-conformer ", "", false,
     "the model's own code turns hidden states, in heads of this size, before its projections of queries and keys"},
    {" qwen2_5_omni_dit ", "", false, "the model's own code turns the first head alone"},
    {" recurrent_gemma ", "", false,
     "a part of the head turns, as in the model's first code; the present code of Transformers turns all of it"},
    {" glm4v_text glm_image_text ", "partial_rotary_factor", false,
     "half of the head turns, as in the published files, which have the partial_rotary_factor of 0.5 that is missing "
     "here"},
    {" minimax_m3_vl_text ", "partial_rotary_factor", false,
     "as many elements turn as rotary_dim says, or 64; the code of Transformers reads partial_rotary_factor, which is "
     "missing here, and turns the whole head"},
    {" minimax minimax_m2 bamba ", "rotary_dim", true,
     "rotary_dim is read, as in the model's first code; that of Transformers reads partial_rotary_factor alone"},
    {" minimax minimax_m2 bamba ", "attn_rotary_emb", true,
     "attn_rotary_emb is read, as in the model's first code; that of Transformers does not read it"},
};

void ignore(Source* source, Json* object, const char* key, IgnoredKey::Means means) {
    const Json* found = findKey(*object, key);
    if (found == nullptr) return;
    source->ignored.push_back({key, *found, means});
    object->erase(key);
}

bool isNested(const Json& rules) {
    for (const Json& value : rules) {
        if (value.is_object()) return true;
    }
    return false;
}

// The class has rules of its own where the configuration has none, and they have the key.
bool isInOwnRules(const Source& source, const char* key) {
    if (source.known->parameters == nullptr) return false;
    const Json own = Json::parse(source.known->parameters);
    if (own.contains(key)) return true;
    for (const Json& rule : own) {
        if (rule.is_object() && rule.contains(key)) return true;
    }
    return false;
}

// In rules nested by layer type, truncate is read beside the types, and the original length inside them.
void dropOfNestedRules(Source* source, Json* rules) {
    const bool other = findKey(source->config, "max_position_embeddings") != nullptr;
    if (other) ignore(source, &source->config, "original_max_position_embeddings", IgnoredKey::rule);
    if (!isNested(*rules)) return ignore(source, rules, "truncate", IgnoredKey::rule);
    for (Json& rule : *rules) {
        if (rule.is_object()) ignore(source, &rule, "truncate", IgnoredKey::rule);
    }
}

void dropOfRules(Source* source, const char* key) {
    Json* config = &source->config;
    if (findKey(*config, key) == nullptr || !(*config)[key].is_object()) return;
    const bool scaling = key == std::string("rope_scaling");
    const bool flat_scaling = scaling && holds(kFlatScaling, source->known->type);
    const bool layered = source->has(kLayerTypes) || holds(kNestedToo, source->known->type);
    const bool unnamed = findKey((*config)[key], "rope_type") == nullptr && findKey((*config)[key], "type") != nullptr;
    if (isNested((*config)[key]) ? !layered || flat_scaling : flat_scaling && unnamed)
        return ignore(source, config, key, IgnoredKey::rule);
    if (source->has(kCompressLayers) && !isNested((*config)[key])) {
        ignore(source, &(*config)[key], "rope_theta", IgnoredKey::base);
        ignore(source, &(*config)[key], "partial_rotary_factor", IgnoredKey::partial);
    }
    if (source->has(kLayerTypes)) dropOfNestedRules(source, &(*config)[key]);
}

bool saysAnother(const IgnoredKey& key, const Source& source, const ModelEncoding& model) {
    if (!key.value.is_number() || key.means == IgnoredKey::size) return true;
    const double value = key.value.get<double>();
    switch (key.means) {
    case IgnoredKey::first_base:
        return !source.layer.is_second_type && value != model.rule.base;
    case IgnoredKey::second_base:
        return source.layer.is_second_type && value != model.rule.base;
    case IgnoredKey::base:
        return value != model.rule.base;
    case IgnoredKey::head:
        return value != model.head_dim;
    case IgnoredKey::length:
        return model.rule.original_length != 0 && value != model.rule.original_length;
    case IgnoredKey::partial:
        return std::floor(value * model.head_dim) != model.rotary_dim;
    default:
        return true;
    }
}

std::string insteadOf(const IgnoredKey& key, const ModelEncoding& model) {
    switch (key.means) {
    case IgnoredKey::partial:
        return "; " + std::to_string(model.rotary_dim) + " of a head's " + std::to_string(model.head_dim) +
               " elements turn";
    case IgnoredKey::size:
    case IgnoredKey::head:
        return "; a head has " + std::to_string(model.head_dim) + " elements";
    case IgnoredKey::length:
        return "; the original length is " + std::to_string(static_cast<uint64_t>(model.rule.original_length));
    case IgnoredKey::rule:
        return std::string("; the rule is '") + ropeRuleName(model.rule.kind) + "'";
    default:
        return "; the base is " + shown(model.rule.base);
    }
}

// Says what the plain reading of a configuration made of it.
std::string plainReading(const Source& source, const ModelEncoding& model) {
    const std::string rule = ropeRuleName(model.rule.kind), dims = std::to_string(model.rotary_dim);
    return (source.type.empty() ? "the configuration has no model_type"
                                : "the model type " + shown(source.type) + " is not known") +
           ", so its keys alone are read, and its own code may do otherwise: the rule is '" + rule + "'" +
           (source.layer.rule.empty() ? ", as the configuration names no rule" : "") + ", the base is " +
           shown(model.rule.base) + ", and " +
           (model.rotary_dim == model.head_dim
                ? "the whole head of " + dims + " elements turns"
                : dims + " of a head's " + std::to_string(model.head_dim) + " elements turn");
}

// The value at the top, or the class's default for it, goes before one in the rule.
void dropInnerLength(Source* source) {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        if (findKey(source->config, key) != nullptr)
            ignore(source, &source->config[key], "original_max_position_embeddings", IgnoredKey::length);
    }
}

void dropAliases(Source* source) {
    Json* config = &source->config;
    for (const Alias& alias : kAliases) {
        // Beside the other key it says the same, or is refused.
        if (findKey(*config, alias.of) == nullptr && !holds(alias.readers, source->known->type))
            ignore(source, config, alias.key, alias.means);
    }
}

void dropKeys(Source* source) {
    Json* config = &source->config;
    const auto ruled = [&] {
        return findKey(*config, "rope_parameters") != nullptr || findKey(*config, "rope_scaling") != nullptr;
    };
    dropAliases(source);
    for (const Unread& unread : kUnread) {
        if (holds(unread.types, source->known->type) && !(unread.alone && ruled()))
            ignore(source, config, unread.key, unread.means);
    }
    dropOfRules(source, "rope_parameters");
    dropOfRules(source, "rope_scaling");
    if (ruled()) return;
    if (isInOwnRules(*source, "rope_theta")) ignore(source, config, "rope_theta", IgnoredKey::base);
}

// InternLM's first files have the base and the rule in one object.
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

} // namespace

void renameOwnKeys(Source* source) {
    Json* config = &source->config;
    const Json* theta = findKey(*config, "theta");
    if (source->type == "lfm2" && theta != nullptr) (*config)["rope_theta"] = Json(*theta); // goes before rope_theta
    if (source->type == "internlm") spreadRotary(config);
}

bool dropIgnoredKeys(Source* source, std::string* error) {
    if (source->known == nullptr) return true;
    if (source->has(kPhisLongrope)) dropInnerLength(source);
    if (!source->has(kOtherCode)) dropKeys(source);
    if (source->ignored.empty()) return true;
    source->rules = {};
    return findRules(source, error);
}

void noteOwnKeys(const Source& source, ModelEncoding* model) {
    if (source.known == nullptr) model->notes.push_back(plainReading(source, *model));
    for (const std::string& note : source.notes) model->notes.push_back(note);
    for (const Remark& remark : kRemarks) {
        if (source.known == nullptr || !holds(remark.types, source.known->type)) continue;
        const bool here = findKey(source.config, remark.key) != nullptr;
        const bool in_rule = findKey(source.layer.rule, remark.key) != nullptr;
        if (remark.present ? here && !in_rule : !here && !in_rule) model->notes.emplace_back(remark.text);
    }
    for (const IgnoredKey& key : source.ignored) {
        if (!saysAnother(key, source, *model)) continue;
        model->notes.push_back("the configuration's " + key.name + " of " + shown(key.value) +
                               " is ignored, because the code of the model type " + shown(source.type) +
                               " does not read it" + insteadOf(key, *model));
    }
}

} // namespace config
} // namespace rope
