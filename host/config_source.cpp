#include "config_source.hpp"

#include <set>

namespace rope {
namespace config {
namespace {

constexpr int kMaxDepth = 32;

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

} // namespace

bool openSource(const std::string& text, Source* source, std::string* error) {
    if (!parse(text, &source->config, error) || !readText(source->config, "model_type", &source->type, error) ||
        !descend(source, error))
        return false;
    source->known = findModel(source->type);
    return checkModel(*source, error) && checkKeys(*source, error);
}

} // namespace config
} // namespace rope
