// The part of a configuration that is read, and what says that nothing in it rotates.
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
        const bool named = key != std::string("decoder"); // "decoder" may mean something else
        const Json* inner = findKey(source->config, key, named ? JsonKind::object : JsonKind::any);
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

// The first files of some models have the base and the rule in one object, `rotary`.
void spreadRotary(Json* config) {
    const Json* found = findKey(*config, "rotary");
    const Json rotary = found != nullptr && found->is_object() ? *found : Json();
    const Json *type = findKey(rotary, "type"), *base = findKey(rotary, "base"),
               *factor = findKey(rotary, "scaling_factor");
    if (type == nullptr || (*type != "dynamic" && *type != "origin")) return;
    Json rule = {{"rope_type", *type == "dynamic" ? "dynamic" : "default"}};
    if (base != nullptr) rule["rope_theta"] = *base;
    if (*type == "dynamic") rule["factor"] = factor != nullptr ? *factor : Json(1);
    config->erase("rotary");
    (*config)["rope_parameters"] = rule;
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

// Refuses a type without rotation, and a key that switches the rotation off, or that would switch it on and is absent.
void checkRotates(const Source& source) {
    const Json& config = source.config;
    const std::string subject = "the model type " + shown(source.type);
    const std::string asking = source.model->asked_by != nullptr ? source.model->asked_by : "";
    const char* key = "position_embeddings_type";
    bool never;
    const char* why = whyNoRotation(source.type, &never);
    if (never) refuse(subject + " is not encoded by a rotation: " + why);
    const std::string embeddings = readText(config, key, "relative");
    const bool other = asking == key && embeddings != "rotary";
    if (why != nullptr && (other || (!source.known && !asksForRotation(config))))
        refuse(subject + " has no rotation" + (other ? ", unless its position_embeddings_type is rotary" : "") + ": " +
               why);
    key = "position_embedding_type";
    const std::string embedding = readText(config, key, asking == key ? "absolute" : "rope");
    const bool unread = source.known && asking != key && embedding == "absolute";
    if (!unread && !isOneOf(embedding, {"rope", "rotary", "rope_gptj"})) {
        refuse(findKey(config, key) == nullptr ? "the configuration has no position_embedding_type, without which " +
                                                     subject + " has no rotation; it may be rope or rotary"
                                               : "the configuration's position_embedding_type is " + shown(embedding) +
                                                     ", which is no rotation; rope and rotary are");
    }
    for (const char* name : {"rope", "rotary", "use_rope", "use_rotary_pos_emb", "use_rotary_embeddings",
                             "use_rotary_embedding", "use_mem_rope", "alibi"}) {
        const bool wanted = name != std::string("alibi");
        if (readBool(config, name, asking == name ? !wanted : wanted) == wanted) continue;
        if (asking == name && findKey(config, name) == nullptr)
            refuse(std::string("the configuration has no ") + name + ", without which " + subject + " has no rotation");
        refuse(std::string("the configuration's ") + name + " is " + (wanted ? "false" : "true") +
               ": the model has no rotation");
    }
}

} // namespace

Source openSource(const Json& config, bool sound) {
    static const Model kNotKnown;
    Source source;
    source.config = config;
    source.type = readText(config, "model_type");
    bool any = false;
    while (enterPart(sound ? kSoundParts : kTextParts, &source)) any = true;
    if (sound && !any) refuse("the configuration has neither an audio_config nor an encoder_config");
    // If no text part is there, and the model itself is not known, the part that reads sound is taken.
    if (!any && findModel(source.type) == nullptr && baseOf(source.config) == nullptr) enterPart(kSoundParts, &source);
    const Model* found = findModel(source.type);
    source.known = found != nullptr;
    source.model = source.known ? found : &kNotKnown;
    if (isOneOf("rotary", source.model->reads)) spreadRotary(&source.config);
    checkRotates(source);
    checkKeys(source);
    findRules(&source);
    readLayers(&source);
    return source;
}

} // namespace config
} // namespace rope
