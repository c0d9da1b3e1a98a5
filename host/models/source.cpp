#include "models/source.hpp"

#include "models/no_rotation.hpp"
#include "models/own_keys.hpp"

namespace rope {
namespace config {
namespace {

// Finds the base of a part of a configuration, in either place; null where the part has none.
const Json* baseOf(const Json& part) {
    const Json* rules = findKey(part, "rope_parameters");
    const Json* base = findKey(part, "rope_theta");
    return base != nullptr || rules == nullptr || !rules->is_object() ? base : findKey(*rules, "rope_theta");
}

// The models' code reads the inner part alone. A key beside that part would be ignored without a word.
bool checkBesidePart(const Json& outer, const char* key, const Json& inner, std::string* error) {
    for (const char* name : {"rope_parameters", "rope_scaling", "rope_theta"}) {
        const Json* beside = findKey(outer, name);
        const Json* within = name == std::string("rope_theta") ? baseOf(inner) : findKey(inner, name);
        if (beside != nullptr && (within == nullptr || *within != *beside)) {
            return refuse(error, std::string("the configuration has ") + name + " beside its " + key + ", which has " +
                                     (within == nullptr ? "none" : "another") + "; only what " + key +
                                     " holds would be read");
        }
    }
    return true;
}

constexpr Keys kTextParts = {"text_config",    "llm_config",    "language_config", "thinker_config",
                             "decoder_config", "global_config", "decoder"};
constexpr Keys kSoundParts = {"thinker_config", "audio_config", "encoder_config"};

// Goes down to the first of the parts. *found: there is one.
bool enterPart(Keys parts, Source* source, bool* found, std::string* error) {
    *found = false;
    for (const char* key : parts) {
        const Json* inner = findKey(source->config, key);
        const bool named = key != std::string("decoder"); // "decoder" may mean something else
        if (named && !checkKind(source->config, key, JsonKind::object, error)) return false;
        if (inner == nullptr || !inner->is_object() || inner->empty()) continue;
        if (source->type == "musicflamingo") {
            source->notes.emplace_back(
                "the keys beside text_config turn what the audio's encoder writes, by angles that "
                "are products of two times; `vkrope rotate` takes their cosines and sines");
        } else if (!checkBesidePart(source->config, key, *inner, error)) {
            return false;
        }
        const Json part = *inner;
        source->config = part;
        *found = true;
        return readText(source->config, "model_type", &source->type, error);
    }
    return true;
}

// Goes down in a model of several parts. If no text part is there, and the model itself is not known, the part that
// reads sound is taken.
bool enterParts(bool sound, Source* source, std::string* error) {
    bool any = false;
    for (bool found = true; found; any = any || found) {
        if (!enterPart(sound ? kSoundParts : kTextParts, source, &found, error)) return false;
    }
    if (sound && !any) return refuse(error, "the configuration has neither an audio_config nor an encoder_config");
    if (any || findModel(source->type) != nullptr || baseOf(source->config) != nullptr) return true;
    return enterPart(kSoundParts, source, &any, error);
}

bool isNullAt(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_null();
}

// True if the base is null, of all layers or of a type's. Other types' code takes a null for a key that is absent.
bool hasNullBase(const Json& config) {
    const auto rules = config.find("rope_parameters");
    if (isNullAt(config, "rope_theta") || isNullAt(config, "rope_parameters")) return true;
    if (rules == config.end() || !rules->is_object()) return false;
    for (const auto& rule : *rules) {
        if (rule.is_object() && isNullAt(rule, "rope_theta")) return true;
    }
    return isNullAt(*rules, "rope_theta");
}

// Some models of a type have no rotation, or one that is not read, though others of the type have one.
bool checkVariant(const Source& source, std::string* error) {
    double layers = 0;
    bool axes = false;
    if (!readNumber(source.config, "num_hidden_layers", 0, 1e6, &layers, error) ||
        !readBool(source.config, "position_encoding_2d", &axes, error))
        return false;
    if (source.type == "baichuan" && layers == 40)
        return refuse(error, "the model is Baichuan 13B, by its num_hidden_layers of 40, and has no rotation: its "
                             "positions are biases (ALiBi)");
    if (source.type == "olmo_hybrid" && hasNullBase(source.config))
        return refuse(error, "the configuration's rope_parameters or rope_theta is null: the model has no rotation");
    bool long_context = false;
    if (source.type == "zamba2" && !readBool(source.config, "use_long_context", &long_context, error)) return false;
    if (long_context)
        return refuse(error, "the configuration's use_long_context is true, for which releases of the model's code "
                             "have different bases; give the base as rope_theta, and no use_long_context");
    if (axes)
        return refuse(error, "the configuration's position_encoding_2d is true: its positions have two axes, each on "
                             "a half of the head, which is not read");
    return true;
}

// Some code of a type without rotation makes one all the same, and its configuration says so.
bool asksForRotation(const Json& config) {
    for (const auto& item : config.items()) {
        if (!isOff(item.value()) && isAboutRotation(item.key())) return true;
    }
    const Json* attention = findKey(config, "attn_config"); // MPT's
    if (attention != nullptr && attention->is_object() && attention->value("rope", Json()) == true) return true;
    const Json* embedding = findKey(config, "position_embedding_type");
    return embedding != nullptr && (*embedding == "rope" || *embedding == "rotary");
}

bool checkRotates(const Source& source, std::string* error) {
    std::string embeddings = "relative";
    if (const char* why = whyNoRotation(source.type))
        return refuse(error, "the model type " + shown(source.type) + " is not encoded by a rotation: " + why);
    if (!readText(source.config, "position_embeddings_type", &embeddings, error)) return false;
    const bool other = source.has(kEmbeddingsTypeDecides) && embeddings != "rotary";
    const char* instead = insteadOfRotation(source.type);
    if (instead == nullptr || (!other && (source.known != nullptr || asksForRotation(source.config)))) return true;
    return refuse(error, "the model type " + shown(source.type) + " has no rotation" +
                             (other ? ", unless its position_embeddings_type is rotary" : "") + ": " + instead);
}

bool checkTextModel(const Source& source, std::string* error) {
    if (!checkRotates(source, error)) return false;
    std::string embedding = source.has(kEmbeddingTypeDecides) ? "absolute" : "rope";
    if (!readText(source.config, "position_embedding_type", &embedding, error)) return false;
    const bool turns = embedding == "rope" || embedding == "rotary" || embedding == "rope_gptj";
    const bool unread = source.known != nullptr && !source.has(kEmbeddingTypeDecides) && embedding == "absolute";
    if (!turns && !unread && findKey(source.config, "position_embedding_type") == nullptr) {
        return refuse(error, "the configuration has no position_embedding_type, without which the model type " +
                                 shown(source.type) + " has no rotation; it may be rope or rotary");
    }
    if (!turns && !unread) {
        return refuse(error, "the configuration's position_embedding_type is " + shown(embedding) +
                                 ", which is no rotation; rope and rotary are");
    }
    for (const char* key : {"rope", "rotary", "use_rope", "use_rotary_pos_emb", "use_rotary_embeddings",
                            "use_rotary_embedding", "use_mem_rope", "alibi"}) {
        const bool wanted = key != std::string("alibi");
        const bool asked = source.type == "zamba2" && key == std::string("use_mem_rope"); // it must be asked for
        bool value = wanted != asked;
        if (!readBool(source.config, key, &value, error)) return false;
        if (value == wanted) continue;
        return refuse(error, asked && findKey(source.config, key) == nullptr
                                 ? std::string("the configuration has no ") + key + ", without which the model type " +
                                       shown(source.type) + " has no rotation"
                                 : std::string("the configuration's ") + key + " is " + (value ? "true" : "false") +
                                       ": the model has no rotation");
    }
    return checkVariant(source, error);
}

// ---- Keys that are not read ----------------------------------------------------------------------------------------

} // namespace

bool isAboutRotation(const std::string& key) {
    for (const char* word : {"rope", "rotary", "mrope"}) {
        const size_t at = key.find(word);
        if (at == 0 || (at != key.npos && key[at - 1] == '_')) return true;
    }
    return key == "global_head_dim";
}

namespace {

constexpr Keys kKeysReadForAll = {"rope_theta",
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
                                  "rope_interleave",
                                  "rotary_emb_interleaved",
                                  "no_rope_layers",
                                  "no_rope_layer_interval",
                                  "rope",
                                  "rotary",
                                  "rotary_value",
                                  "rope_full_precision", // OLMo's; the caller decides how angles are rounded
                                  "use_rope",
                                  "use_rotary_pos_emb",
                                  "use_rotary_embeddings",
                                  "use_rotary_embedding",
                                  "use_mem_rope"};

// Only some models' code reads these.
bool isReadForType(const Source& source, const std::string& key) {
    const bool unknown = source.known == nullptr;
    const bool layered =
        isOneOf(key, {"global_rope_theta", "rope_local_base_freq", "local_rope_theta", "swa_rope_theta"});
    if (layered) return unknown || source.has(kLayerTypes);
    if (key == "layer_rope_theta") return unknown || source.has(kLayerLists);
    if (key == "compress_rope_theta") return source.has(kCompressLayers);
    if (key == "global_head_dim") return source.has(kGlobalHeadDim);
    if (key == "qk_rope_head_dim") return unknown || source.known->sizes.rope_head_dim != 0 || source.has(kRotaryLast);
    if (key == "rope_ratio" || key == "original_rope") return source.has(kRopeRatio);
    if (key == "indexer_rope_interleave") return isOneOf(source.type, {"glm_moe_dsa", "deepseek_v32"});
    if (isOneOf(key, {"rope_is_neox_style", "use_3d_rope"})) return source.type.rfind("paddleocr_vl", 0) == 0;
    return key == "rope_3d" && source.has(kErnieAxes);
}

// OpenAI publish gpt-oss with a configuration of their own, beside that for Transformers.
bool isOpenAisOwn(const Json& config) {
    return config.contains("rope_scaling_factor") && config.contains("rope_ntk_alpha") &&
           config.contains("rope_ntk_beta") && config.contains("initial_context_length");
}

// Refuses a key about rotation that is not read. A configuration's many other keys pass.
bool checkTextKeys(const Source& source, std::string* error) {
    if (isOpenAisOwn(source.config))
        return refuse(error,
                      "the configuration is OpenAI's own of gpt-oss, with rope_ntk_alpha and rope_ntk_beta, which "
                      "is not read; the config.json of the model_type gpt_oss, which Hugging Face has of the same "
                      "model, is");
    for (const auto& item : source.config.items()) {
        const std::string& key = item.key();
        const bool one = isOneOf(key, {"rotary_scaling_factor", "rope_ratio"}) && item.value() == 1; // changes nothing
        if (isOff(item.value()) || one || !isAboutRotation(key)) continue;
        if (isOneOf(key, kKeysReadForAll) || isReadForType(source, key)) continue;
        return refuse(error, "the configuration's key " + shown(key) + " is not one that is read" +
                                 (source.known == nullptr ? "" : " for the model type " + shown(source.type)));
    }
    return true;
}

// Only Qwen's first code reads use_dynamic_ntk, in a way of its own.
bool checkDynamicNtk(const Source& source, std::string* error) {
    const Json* ntk = findKey(source.config, "use_dynamic_ntk");
    if (ntk == nullptr || *ntk == false || source.has(kSteppedNtk)) return true;
    return refuse(error, "the configuration's use_dynamic_ntk is true, which is not read" +
                             (source.type.empty() ? "" : " for the model type " + shown(source.type)) +
                             "; a rope_scaling would name the rule");
}

struct KeysOfKind {
    JsonKind kind;
    Keys keys;
};

// A key of another kind is refused even where the model would not read it.
bool checkKeyKinds(const Json& config, std::string* error) {
    const KeysOfKind kKinds[] = {
        {JsonKind::number,
         {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx", "num_hidden_layers",
          "original_max_position_embeddings", "head_dim", "kv_channels", "hidden_size", "n_embd", "d_model", "n_embed",
          "num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads", "attention_head_dim",
          "no_rope_layer_interval"}},
        {JsonKind::boolean,
         {"rotary_value", "rope_full_precision", "original_rope", "rope_3d", "use_dynamic_ntk", "use_logn_attn"}},
        {JsonKind::booleans, {"no_rope_layers"}},
        {JsonKind::numbers, {"layer_rope_theta", "partial_rotary_factors"}},
        {JsonKind::texts, {"layer_types"}},
        {JsonKind::object, {"attn_config", "rope_parameters", "rope_scaling"}},
    };
    for (const KeysOfKind& kinds : kKinds) {
        for (const char* key : kinds.keys) {
            if (!checkKind(config, key, kinds.kind, error)) return false;
        }
    }
    return true;
}

} // namespace

bool openSource(const Json& config, bool sound, Source* source, std::string* error) {
    source->config = config;
    if (!readText(source->config, "model_type", &source->type, error) || !enterParts(sound, source, error))
        return false;
    source->known = findModel(source->type);
    renameOwnKeys(source);
    return checkTextModel(*source, error) && checkKeyKinds(source->config, error) && checkTextKeys(*source, error) &&
           checkDynamicNtk(*source, error);
}

} // namespace config
} // namespace rope
