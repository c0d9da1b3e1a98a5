#include "config/head.hpp"

#include "config/numbers.hpp"

namespace rope {
namespace config {
namespace {

// Reads the rotary part where the configuration gives it in elements; *rotary_dim is 0 where it does not.
bool readRotaryDim(const Source& source, uint32_t* rotary_dim, std::string* error) {
    *rotary_dim = 0;
    if (source.has(kRotaryLast) && !readCount(source.config, "qk_rope_head_dim", kMaxHeadDim, rotary_dim, error))
        return false;
    if (!readAliasedCount(source.config, {"rotary_dim", "attn_rotary_emb"}, kMaxHeadDim, rotary_dim, error))
        return false;
    if (*rotary_dim == 0 && source.has(kRotary64)) *rotary_dim = 64;
    return true;
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
    const bool zamba = source.type == "zamba2"; // its kv_channels mean something else
    if (!readAliasedCount(config,
                          {zamba ? "attention_head_dim" : "head_dim", zamba ? "attention_head_dim" : "kv_channels"},
                          kMaxHeadDim, head_dim, error) ||
        !readAliasedCount(config, {"hidden_size", "n_embd", "d_model", "n_embed"}, 1 << 30, &sizes.hidden_size,
                          error) ||
        !readAliasedCount(config, {"num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads"}, 1 << 30,
                          &sizes.heads, error))
        return false;
    const bool split_off = split != 0 && !source.has(kRotaryLast),
               global_head = source.has(kGlobalHeadDim) && !source.layer.is_second_type;
    if (split_off || global_head) *head_dim = split_off ? split : global;
    if (*head_dim != 0) return true;
    if (sizes.hidden_size == 0 || sizes.heads == 0)
        return refuse(error, "the configuration has neither head_dim nor both hidden_size and num_attention_heads");
    if (sizes.hidden_size % sizes.heads != 0) {
        return refuse(error, "the configuration's hidden_size, " + std::to_string(sizes.hidden_size) +
                                 ", is no multiple of num_attention_heads, " + std::to_string(sizes.heads) +
                                 ", and it has no head_dim");
    }
    *head_dim = sizes.hidden_size / sizes.heads;
    return true;
}

bool findRotaryDim(const Source& source, ModelEncoding* model, std::string* error) {
    double partial = 1;
    bool given = false;
    uint32_t in_elements = 0;
    if (!readPartial(source, &partial, &given, error) || !readRotaryDim(source, &in_elements, error)) return false;
    const bool split = source.known != nullptr && source.known->sizes.rope_head_dim != 0;
    const bool proportional = model->rule.kind == ROPE_RULE_PROPORTIONAL;
    const bool ignores_partial =
        source.known != nullptr && !source.has(kPartialHead) && model->rule.kind == ROPE_RULE_DEFAULT;
    const uint32_t part = static_cast<uint32_t>(model->head_dim * partial); // truncated, as the models' code does
    if (proportional) model->rule.rotating_pairs = static_cast<uint32_t>(partial * model->head_dim / 2);
    model->rotary_dim = split || proportional ? model->head_dim : part;
    const bool reads = source.known == nullptr || source.has(kRotaryDim) || source.has(kRotaryLast);
    if (in_elements != 0 && reads) {
        if (given && part != in_elements) {
            return refuse(error, "the configuration's rotary part is of " + std::to_string(in_elements) +
                                     " elements, but its partial_rotary_factor makes it " + std::to_string(part) +
                                     "; they must agree");
        }
        model->rotary_dim = in_elements;
    } else if (ignores_partial && !split && partial != 1) {
        model->rotary_dim = model->head_dim;
        model->notes.push_back("the model type " + shown(source.type) +
                               " turns the whole head whatever its partial_rotary_factor, which is ignored");
    }
    return in_elements == 0 || reads || checkUnreadRotaryDim(source, in_elements, model->rotary_dim, error);
}

} // namespace config
} // namespace rope
