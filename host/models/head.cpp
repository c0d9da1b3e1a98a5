#include "models/head.hpp"

#include "models/numbers.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace config {
namespace {

// CLVP's rotary part is half of a head's share of the projection, and at least 32 elements.
bool readProjectionRotary(const Source& source, uint32_t* rotary_dim, std::string* error) {
    uint32_t projection = 768, heads = source.known->sizes.heads;
    if (!readCount(source.config, "projection_dim", 1 << 30, &projection, error) ||
        !readCount(source.config, "num_attention_heads", 1 << 30, &heads, error))
        return false;
    *rotary_dim = std::max(projection / (heads * 2), 32u);
    return true;
}

// Reads the rotary part where the configuration gives it in elements; *rotary_dim is 0 where it does not.
bool readRotaryDim(const Source& source, uint32_t* rotary_dim, std::string* error) {
    *rotary_dim = 0;
    if (source.has(kRotaryLast) && !readCount(source.config, "qk_rope_head_dim", kMaxHeadDim, rotary_dim, error))
        return false;
    if (!readAliasedCount(source.config, {"rotary_dim", "attn_rotary_emb"}, kMaxHeadDim, rotary_dim, error))
        return false;
    if (*rotary_dim == 0 && source.has(kRotary64)) *rotary_dim = 64;
    return !source.has(kProjectionRotary) || readProjectionRotary(source, rotary_dim, error);
}

// Refuses a rotary part in elements that the model's own code does not read and that differs from the part it rotates.
bool checkUnreadRotaryDim(const Source& source, uint32_t in_elements, uint32_t rotary_dim, std::string* error) {
    return in_elements == rotary_dim ||
           refuse(error, "the configuration's rotary part is of " + std::to_string(in_elements) +
                             " elements, but the model type " + shown(source.type) + " turns " +
                             std::to_string(rotary_dim) + " whatever a rotary_dim says; they must agree");
}

} // namespace

bool readHeadDim(const Source& source, uint32_t* head_dim, std::string* error) {
    const Json& config = source.config;
    ModelSizes sizes = source.known != nullptr ? source.known->sizes : ModelSizes{};
    uint32_t split = sizes.rope_head_dim, global = 512;
    if (!readCount(config, "qk_rope_head_dim", kMaxHeadDim, &split, error) ||
        !readCount(config, "global_head_dim", kMaxHeadDim, &global, error))
        return false;
    *head_dim = config.contains("head_dim") ? 0 : sizes.head_dim;
    const bool seamless = source.type == "seamless_m4t"; // the other counts are those of its decoders
    const bool zamba = source.type == "zamba2";          // its code computes the head, whatever other keys say
    if ((!zamba && !readAliasedCount(config, {"head_dim", "kv_channels"}, kMaxHeadDim, head_dim, error)) ||
        !readAliasedCount(config, {"hidden_size", "n_embd", "d_model", "n_embed"}, 1 << 30, &sizes.hidden_size,
                          error) ||
        !readAliasedCount(config,
                          {seamless ? "speech_encoder_attention_heads" : "num_attention_heads", "n_head", "n_heads",
                           "decoder_num_attention_heads"},
                          1 << 30, &sizes.heads, error))
        return false;
    const bool split_off = split != 0 && !source.has(kRotaryLast),
               global_head = source.has(kGlobalHeadDim) && !source.layer.is_second_type;
    if (split_off || global_head) *head_dim = split_off ? split : global;
    if (*head_dim != 0 && !zamba) return true;
    if (zamba) sizes.hidden_size *= 2; // the layer's input beside the embedding
    if (sizes.hidden_size == 0 || sizes.heads == 0)
        return refuse(error, "the configuration has neither head_dim nor both hidden_size and num_attention_heads");
    if (zamba && sizes.hidden_size % sizes.heads != 0) {
        return refuse(error, "the configuration's hidden_size, " + std::to_string(sizes.hidden_size / 2) +
                                 ", taken twice is no multiple of num_attention_heads, " + std::to_string(sizes.heads));
    }
    if (sizes.hidden_size % sizes.heads != 0) {
        return refuse(error, "the configuration's hidden_size, " + std::to_string(sizes.hidden_size) +
                                 ", is no multiple of num_attention_heads, " + std::to_string(sizes.heads) +
                                 ", and it has no head_dim");
    }
    *head_dim = sizes.hidden_size / sizes.heads;
    return true;
}

bool readNopeDim(const Source& source, uint32_t* nope_dim, std::string* error) {
    const ModelSizes sizes = source.known != nullptr ? source.known->sizes : ModelSizes{};
    const Json* key = findKey(source.config, "qk_nope_head_dim");
    const bool splits =
        sizes.rope_head_dim != 0 || (findKey(source.config, "qk_rope_head_dim") != nullptr && !source.has(kRotaryLast));
    *nope_dim = 0;
    if (!splits || (key != nullptr && *key == 0)) return true;
    *nope_dim = sizes.nope_head_dim;
    return readCount(source.config, "qk_nope_head_dim", kMaxHeadDim, nope_dim, error);
}

namespace {

void notePartial(const Source& source, double given, const ModelEncoding& model, std::vector<std::string>* notes) {
    const bool proportional = model.rule.kind == ROPE_RULE_PROPORTIONAL;
    const uint32_t turning = proportional ? 2 * model.rule.rotating_pairs : model.rotary_dim;
    const Json* beside = findKey(source.config, "qk_nope_head_dim"); // the part may be that of the whole of Q's head
    const double whole = model.head_dim + (beside != nullptr && beside->is_number() ? beside->get<double>() : 0);
    if (std::isnan(given) || static_cast<uint32_t>(given * model.head_dim) == turning || given * whole == turning)
        return;
    notes->push_back("the model type " + shown(source.type) + " turns " + std::to_string(turning) + " of a head's " +
                     std::to_string(model.head_dim) + " elements; the partial_rotary_factor of " + shown(given) +
                     " is ignored, because its own code does not read it there");
}

} // namespace

bool findRotaryDim(const Source& source, ModelEncoding* model, std::string* error) {
    double partial = 1;
    Partials given;
    uint32_t in_elements = 0;
    const bool scaled = model->rule.kind != ROPE_RULE_DEFAULT;
    if (!readPartial(source, scaled, &partial, &given, error) || !readRotaryDim(source, &in_elements, error))
        return false;
    const bool split = source.known != nullptr && source.known->sizes.rope_head_dim != 0;
    const bool proportional = model->rule.kind == ROPE_RULE_PROPORTIONAL;
    const bool ignores_partial = source.known != nullptr && !source.has(kPartialHead) && !scaled;
    const uint32_t part = static_cast<uint32_t>(model->head_dim * partial); // truncated, as the models' code does
    if (proportional) model->rule.rotating_pairs = static_cast<uint32_t>(partial * model->head_dim / 2);
    model->rotary_dim = split || proportional || ignores_partial ? model->head_dim : part;
    const bool reads =
        source.known == nullptr || source.has(kRotaryDim) || source.has(kRotaryLast) || source.has(kProjectionRotary);
    const bool any = !std::isnan(given.outer) || !std::isnan(given.inner);
    if (in_elements != 0 && reads) {
        if (any && part != in_elements) {
            return refuse(error, "the configuration's rotary part is of " + std::to_string(in_elements) +
                                     " elements, but its partial_rotary_factor makes it " + std::to_string(part) +
                                     "; they must agree");
        }
        model->rotary_dim = in_elements;
    }
    notePartial(source, given.outer, *model, &model->notes);
    if (given.inner != given.outer) notePartial(source, given.inner, *model, &model->notes);
    return in_elements == 0 || reads || checkUnreadRotaryDim(source, in_elements, model->rotary_dim, error);
}

} // namespace config
} // namespace rope
