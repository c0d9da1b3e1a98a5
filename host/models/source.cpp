#include "models/text.hpp"

#include <algorithm>

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
void checkBesidePart(const Json& outer, const char* key, const Json& inner) {
    for (const char* name : {"rope_parameters", "rope_scaling", "rope_theta"}) {
        const Json* beside = findKey(outer, name);
        const Json* within = name == std::string("rope_theta") ? baseOf(inner) : findKey(inner, name);
        if (beside != nullptr && (within == nullptr || *within != *beside)) {
            refuse(std::string("the configuration has ") + name + " beside its " + key + ", which has " +
                   (within == nullptr ? "none" : "another") + "; only what " + key + " holds would be read");
        }
    }
}

constexpr Keys kTextParts = {"text_config",    "llm_config",    "language_config", "thinker_config",
                             "decoder_config", "global_config", "decoder"};
constexpr Keys kSoundParts = {"thinker_config", "audio_config", "encoder_config"};

// Goes down to the first of the parts. Returns whether there is one.
bool enterPart(Keys parts, Source* source) {
    for (const char* key : parts) {
        const Json* inner = findKey(source->config, key);
        const bool named = key != std::string("decoder"); // "decoder" may mean something else
        if (named) checkKind(source->config, key, JsonKind::object);
        if (inner == nullptr || !inner->is_object() || inner->empty()) continue;
        const char* else_turns = whatElseTurns(source->type);
        if (else_turns != nullptr) source->notes.emplace_back(else_turns);
        if (else_turns == nullptr) checkBesidePart(source->config, key, *inner);
        Json part = *inner;
        source->config = std::move(part);
        source->type = readText(source->config, "model_type", source->type);
        return true;
    }
    return false;
}

// Goes down in a model of several parts. If no text part is there, and the model itself is not known, the part that
// reads sound is taken.
void enterParts(bool sound, Source* source) {
    bool any = false;
    while (enterPart(sound ? kSoundParts : kTextParts, source)) any = true;
    if (sound && !any) refuse("the configuration has neither an audio_config nor an encoder_config");
    if (!any && findModel(source->type) == nullptr && baseOf(source->config) == nullptr) enterPart(kSoundParts, source);
}

bool isNullAt(const Json& object, const char* key) {
    return object.is_object() && object.value(key, Json(0)).is_null();
}

// True if the base is null, of all layers or of a type's. Other types' code takes a null for a key that is absent.
bool hasNullBase(const Json& config) {
    const Json rules = config.value("rope_parameters", Json::object());
    return isNullAt(config, "rope_theta") || rules.is_null() || isNullAt(rules, "rope_theta") ||
           std::any_of(rules.begin(), rules.end(), [](const Json& rule) { return isNullAt(rule, "rope_theta"); });
}

// Some models of a type have no rotation, or one that is not read, though others of the type have one.
void checkVariant(const Source& source) {
    readNumber(source.config, "num_hidden_layers", 0, 1e6, 0);
    const bool axes = readBool(source.config, "position_encoding_2d", false);
    for (const Remark& remark : source.model->remarks) {
        const Json* value = remark.value != nullptr ? findKey(source.config, remark.key) : nullptr;
        if (value == nullptr) continue;
        const Json refused = Json::parse(remark.value);
        if (refused.is_boolean()) checkKind(source.config, remark.key, JsonKind::boolean);
        if (*value == refused) refuse(remark.text);
    }
    if (source.model->null_base_is_still && hasNullBase(source.config))
        refuse("the configuration's rope_parameters or rope_theta is null: the model has no rotation");
    if (axes)
        refuse("the configuration's position_encoding_2d is true: its positions have two axes, each on a half of the "
               "head, which is not read");
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

void checkTypeRotates(const Source& source) {
    if (const char* why = whyNoRotation(source.type))
        refuse("the model type " + shown(source.type) + " is not encoded by a rotation: " + why);
    const char *key = "position_embeddings_type", *instead = insteadOfRotation(source.type);
    const std::string embeddings = readText(source.config, key, "relative");
    const bool other = source.isAskedBy(key) && embeddings != "rotary";
    if (instead == nullptr || (!other && (source.known || asksForRotation(source.config)))) return;
    refuse("the model type " + shown(source.type) + " has no rotation" +
           (other ? ", unless its position_embeddings_type is rotary" : "") + ": " + instead);
}

// Refuses a key that switches the rotation off, or that would switch it on and is absent.
void checkSwitches(const Source& source) {
    const char* type_key = "position_embedding_type";
    const bool asked = source.isAskedBy(type_key);
    const std::string embedding = readText(source.config, type_key, asked ? "absolute" : "rope");
    const bool turns = isOneOf(embedding, {"rope", "rotary", "rope_gptj"});
    const bool unread = source.known && !asked && embedding == "absolute";
    if (!turns && !unread && findKey(source.config, type_key) == nullptr) {
        refuse("the configuration has no position_embedding_type, without which the model type " + shown(source.type) +
               " has no rotation; it may be rope or rotary");
    }
    if (!turns && !unread) {
        refuse("the configuration's position_embedding_type is " + shown(embedding) +
               ", which is no rotation; rope and rotary are");
    }
    for (const char* key : {"rope", "rotary", "use_rope", "use_rotary_pos_emb", "use_rotary_embeddings",
                            "use_rotary_embedding", "use_mem_rope", "alibi"}) {
        const bool wanted = key != std::string("alibi");
        if (readBool(source.config, key, source.isAskedBy(key) ? !wanted : wanted) == wanted) continue;
        if (source.isAskedBy(key) && findKey(source.config, key) == nullptr)
            refuse(std::string("the configuration has no ") + key + ", without which the model type " +
                   shown(source.type) + " has no rotation");
        refuse(std::string("the configuration's ") + key + " is " + (wanted ? "false" : "true") +
               ": the model has no rotation");
    }
}

// Some keys only some models' code reads.
bool isRead(const Source& source, const std::string& key) {
    const Model& model = *source.model;
    if (isOneOf(key, {"rope_theta",
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
                      "use_rope",
                      "use_rotary_pos_emb",
                      "use_rotary_embeddings",
                      "use_rotary_embedding",
                      "use_mem_rope",
                      "rope_full_precision"})) // the last is OLMo's; the caller rounds angles
        return true;
    if (isOneOf(key, {"global_rope_theta", "rope_local_base_freq", "local_rope_theta", "swa_rope_theta"}))
        return !source.known || source.layersDiffer();
    if (key == "layer_rope_theta" && !source.known) return true;
    if (key == "global_head_dim") return model.global_head_dim != 0;
    if (key == "qk_rope_head_dim" && (!source.known || model.rope_head_dim != 0)) return true;
    return isOneOf(key, {"layer_rope_theta", "compress_rope_theta", "qk_rope_head_dim", "rope_ratio", "original_rope",
                         "indexer_rope_interleave", "rope_is_neox_style", "use_3d_rope", "rope_3d"}) &&
           source.reads(key.c_str());
}

// Refuses a key about rotation that is not read, and one of another kind than it is read as, even where the model would
// not read it. A configuration's many other keys pass.
void checkKeys(const Source& source) {
    const Json& config = source.config;
    checkKinds(config,
               {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx", "num_hidden_layers",
                "original_max_position_embeddings", "head_dim", "kv_channels", "hidden_size", "n_embd", "d_model",
                "n_embed", "num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads",
                "attention_head_dim", "no_rope_layer_interval"},
               JsonKind::number);
    checkKinds(config,
               {"rotary_value", "rope_full_precision", "original_rope", "rope_3d", "use_dynamic_ntk", "use_logn_attn"},
               JsonKind::boolean);
    checkKinds(config, {"no_rope_layers"}, JsonKind::booleans);
    checkKinds(config, {"layer_rope_theta", "partial_rotary_factors"}, JsonKind::numbers);
    checkKinds(config, {"layer_types"}, JsonKind::texts);
    checkKinds(config, {"attn_config", "rope_parameters", "rope_scaling"}, JsonKind::object);
    // OpenAI publish gpt-oss with a configuration of their own, beside that for Transformers.
    if (config.contains("rope_scaling_factor") && config.contains("rope_ntk_alpha") &&
        config.contains("rope_ntk_beta") && config.contains("initial_context_length"))
        refuse(
            "the configuration is OpenAI's own of gpt-oss, with rope_ntk_alpha and rope_ntk_beta, which is not read; "
            "the config.json of the model_type gpt_oss, which Hugging Face has of the same model, is");
    const std::string of_type = " for the model type " + shown(source.type);
    for (const auto& item : config.items()) {
        const std::string& key = item.key();
        const bool one = isOneOf(key, {"rotary_scaling_factor", "rope_ratio"}) && item.value() == 1; // changes nothing
        if (isOff(item.value()) || one || !isAboutRotation(key)) continue;
        if (isRead(source, key)) continue;
        refuse("the configuration's key " + shown(key) + " is not one that is read" + (source.known ? of_type : ""));
    }
    const Json* ntk = findKey(config, "use_dynamic_ntk");
    if (ntk != nullptr && *ntk == true && !source.reads("use_dynamic_ntk"))
        refuse("the configuration's use_dynamic_ntk is true, which is not read" + (source.type.empty() ? "" : of_type) +
               "; a rope_scaling would name the rule");
}

} // namespace

bool isAboutRotation(const std::string& key) {
    for (const char* word : {"rope", "rotary", "mrope"}) {
        const size_t at = key.find(word);
        if (at == 0 || (at != key.npos && key[at - 1] == '_')) return true;
    }
    return key == "global_head_dim";
}

Source openSource(const Json& config, bool sound) {
    static const Model kNotKnown = [] { // it has no base
        Model model;
        model.base = 0;
        return model;
    }();
    Source source;
    source.config = config;
    source.type = readText(config, "model_type");
    enterParts(sound, &source);
    const Model* found = findModel(source.type);
    source.known = found != nullptr;
    source.model = source.known ? found : &kNotKnown;
    if (source.reads("rotary")) spreadRotary(&source.config);
    checkTypeRotates(source);
    checkSwitches(source);
    checkVariant(source);
    checkKeys(source);
    findRules(&source);
    return source;
}

} // namespace config
} // namespace rope
