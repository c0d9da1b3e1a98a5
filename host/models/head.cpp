#include "models/text.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace config {
namespace {

constexpr double kMaxWidth = 1 << 30;

uint32_t shareOfWidth(const Layer& layer, uint64_t width, uint32_t heads) {
    if (width == 0 || heads == 0)
        refuse("the configuration has neither head_dim nor both hidden_size and num_attention_heads");
    const bool doubles = layer.model().doubles_width; // the layer's input beside the embedding
    const uint64_t whole = doubles ? 2 * width : width;
    if (whole % heads == 0) return static_cast<uint32_t>(whole / heads);
    refuse("the configuration's hidden_size, " + std::to_string(width) + (doubles ? ", taken twice" : ",") +
           " is no multiple of num_attention_heads, " + std::to_string(heads) +
           (doubles ? "" : ", and it has no head_dim"));
}

// Returns the rotary part where the configuration gives it in elements; 0 where it does not.
uint32_t readRotaryDim(const Layer& layer) {
    const Json& config = layer.config();
    const Model& model = layer.model();
    uint32_t elements = model.rotates_end ? readCount(config, "qk_rope_head_dim", kMaxHeadDim, 0) : 0;
    elements = readAliasedCount(config, {"rotary_dim", "attn_rotary_emb"}, kMaxHeadDim, elements);
    if (elements == 0) elements = model.rotary_dim;
    if (!layer.source.reads("projection_dim")) return elements;
    // CLVP's rotary part is half of a head's share of the projection, and at least 32 elements.
    const uint32_t projection = readCount(config, "projection_dim", kMaxWidth, 768);
    const uint32_t heads = readCount(config, "num_attention_heads", kMaxWidth, model.heads);
    return std::max(projection / (heads * 2), 32u);
}

void notePartial(const Layer& layer, double given, ModelEncoding* encoding) {
    const uint32_t head = encoding->head_dim;
    const bool proportional = encoding->rule.kind == ROPE_RULE_PROPORTIONAL;
    const uint32_t turning = proportional ? 2 * encoding->rule.rotating_pairs : encoding->rotary_dim;
    const Json* beside = findKey(layer.config(), "qk_nope_head_dim"); // the part may be that of the whole of Q's head
    const double whole = head + (beside != nullptr && beside->is_number() ? beside->get<double>() : 0);
    if (std::isnan(given) || static_cast<uint32_t>(given * head) == turning || given * whole == turning) return;
    encoding->notes.push_back("the model type " + shown(layer.source.type) + " turns " + std::to_string(turning) +
                              " of a head's " + std::to_string(head) + " elements; the partial_rotary_factor of " +
                              shown(given) + " is ignored, because its own code does not read it there");
}

// ---- The axis of each pair ------------------------------------------------------------------------------------------

constexpr size_t kAxisCount = 3; // t, h, w
constexpr double kMostPairs = ROPE_MAX_PAIRS;

using Sections = std::vector<uint32_t>;

Sections readSections(const Json& list) {
    Sections sections;
    for (const Json& item : list) {
        const double pairs = item.get<double>();
        if (!(pairs >= 0 && pairs <= kMostPairs) || pairs != std::floor(pairs)) break;
        sections.push_back(static_cast<uint32_t>(pairs));
    }
    if (sections.size() == kAxisCount && list.size() == kAxisCount) return sections;
    refuseValue("mrope_section", list, "three counts of pairs, as a rule those of t, h and w");
}

// The configuration's mrope_section, or null.
const Json* findOwnSections(const Layer& layer) {
    return layer.source.rules.implied ? nullptr : findKey(layer.rule, "mrope_section");
}

// The configuration's mrope_section goes first, then ERNIE's older key, then what the model type implies.
Sections findSections(const Layer& layer, uint32_t pairs) {
    const Source& source = layer.source;
    if (const Json* list = findOwnSections(layer)) return readSections(*list);
    const uint32_t of_t =
        source.reads("freq_allocation") ? readCount(layer.config(), "freq_allocation", kMostPairs, 0) : 0;
    if (of_t != 0) {
        const uint32_t rest = of_t < pairs ? (pairs - of_t) / 2 : 0;
        return {rest, rest, of_t};
    }
    const bool has_axes = layer.model().axes != Axes::one;
    const Json implied = has_axes ? parsed(layer.model().parameters) : Json::object();
    if (implied.contains("mrope_section")) return readSections(implied["mrope_section"]);
    if (has_axes) {
        refuse("the configuration has no mrope_section, which the code of the model type " + shown(source.type) +
               " reads from its " + source.rules.key + " and has no default for");
    }
    refuse("the configuration's " + source.rules.key + " has the rule 'mrope' without its mrope_section");
}

bool readRoundRobin(const Layer& layer) {
    const bool known = layer.source.known, own = layer.model().axes == Axes::round_robin;
    const bool round_robin = readBool(layer.rule, "mrope_interleaved", own);
    const bool also = readBool(layer.rule, "interleaved", round_robin);
    if (also == round_robin && (!known || round_robin == own)) return round_robin;
    refuse("the configuration's mrope_interleaved or interleaved says another order of axes than " +
           (also == round_robin ? "the model type " + shown(layer.source.type) + " has whatever they say"
                                : std::string("the other")) +
           "; they must agree");
}

void setSidesFirst(const RopeRule& rule, const Sections& sections, ModelEncoding* encoding) {
    if (sections[0] != sections[1]) {
        refuse("the configuration's mrope_section gives h " + std::to_string(sections[0]) + " pairs and w " +
               std::to_string(sections[1]) + "; they must agree");
    }
    if (rule.kind != ROPE_RULE_DEFAULT) {
        refuse(std::string("the configuration's rule is '") + ropeRuleName(rule.kind) +
               "'; the model's own code takes none but 'default'");
    }
    for (uint32_t i = 0; i < 2 * sections[0]; ++i) encoding->axes[i] = static_cast<uint8_t>(1 + i % 2);
}

bool readHasAxes(const Layer& layer) {
    const bool sections = findKey(layer.rule, "mrope_section") != nullptr, own = layer.model().axes != Axes::one;
    if (sections && layer.source.known && !own) {
        refuse("the configuration has an mrope_section, and the model type " + shown(layer.source.type) +
               " has positions of one axis");
    }
    const bool named = readText(layer.rule, "type") == "mrope" || readText(layer.rule, "rope_type") == "mrope";
    const bool has = sections || own || named;
    return layer.source.reads("rope_3d") ? readBool(layer.config(), "rope_3d", has) : has;
}

} // namespace

uint32_t readHeadDim(const Layer& layer) {
    const Json& config = layer.config();
    const Model& model = layer.model();
    const uint32_t split = readCount(config, "qk_rope_head_dim", kMaxHeadDim, model.rope_head_dim);
    const uint32_t global = readCount(config, "global_head_dim", kMaxHeadDim, model.global_head_dim);
    uint32_t head = config.contains("head_dim") ? 0 : model.head_dim;
    if (!model.doubles_width) head = readAliasedCount(config, {"head_dim", "kv_channels"}, kMaxHeadDim, head);
    const uint32_t width =
        readAliasedCount(config, {"hidden_size", "n_embd", "d_model", "n_embed"}, kMaxWidth, model.hidden_size);
    const uint32_t heads = readAliasedCount(
        config, {"num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads"}, kMaxWidth, model.heads);
    if (split != 0 && !model.rotates_end)
        head = split;
    else if (model.global_head_dim != 0 && !layer.is_second_type)
        head = global;
    return head != 0 && !model.doubles_width ? head : shareOfWidth(layer, width, heads);
}

uint32_t readNopeDim(const Layer& layer) {
    const Json& config = layer.config();
    const Model& model = layer.model();
    const Json* key = findKey(config, "qk_nope_head_dim");
    const bool splits =
        model.rope_head_dim != 0 || (findKey(config, "qk_rope_head_dim") != nullptr && !model.rotates_end);
    if (!splits || (key != nullptr && *key == 0)) return 0;
    return readCount(config, "qk_nope_head_dim", kMaxHeadDim, model.nope_head_dim);
}

void findRotaryDim(const Layer& layer, ModelEncoding* encoding) {
    const Source& source = layer.source;
    const Model& model = layer.model();
    const RopeRuleKind kind = encoding->rule.kind;
    const uint32_t head = encoding->head_dim;
    const bool scaled = kind != ROPE_RULE_DEFAULT, proportional = kind == ROPE_RULE_PROPORTIONAL;
    Partials given;
    const double partial = readPartial(layer, scaled, &given);
    const uint32_t elements = readRotaryDim(layer);
    const uint32_t part = static_cast<uint32_t>(head * partial); // truncated, as the models' code does
    const bool ignores_partial = source.known && !model.partial_head && !scaled;
    if (proportional) encoding->rule.rotating_pairs = static_cast<uint32_t>(partial * head / 2);
    encoding->rotary_dim = model.rope_head_dim != 0 || proportional || ignores_partial ? head : part;
    const bool reads =
        !source.known || source.reads("rotary_dim") || source.reads("projection_dim") || model.rotates_end;
    const bool any = !std::isnan(given.outer) || !std::isnan(given.inner);
    if (elements != 0 && reads) {
        if (any && part != elements) {
            refuse("the configuration's rotary part is of " + std::to_string(elements) +
                   " elements, but its partial_rotary_factor makes it " + std::to_string(part) + "; they must agree");
        }
        encoding->rotary_dim = elements;
    }
    notePartial(layer, given.outer, encoding);
    if (given.inner != given.outer) notePartial(layer, given.inner, encoding);
    if (elements == 0 || elements == encoding->rotary_dim) return;
    refuse("the configuration's rotary part is of " + std::to_string(elements) + " elements, but the model type " +
           shown(source.type) + " turns " + std::to_string(encoding->rotary_dim) +
           " whatever a rotary_dim says; they must agree");
}

void findAxes(const Layer& layer, ModelEncoding* encoding) {
    if (!readHasAxes(layer)) return;
    const uint32_t pairs = encoding->rotary_dim / 2;
    const Sections sections = findSections(layer, pairs);
    const bool round_robin = readRoundRobin(layer);
    const uint64_t sum = uint64_t{sections[0]} + sections[1] + sections[2];
    if (sum != pairs && findOwnSections(layer) == nullptr) {
        refuse(std::to_string(pairs) + " pairs turn, and the configuration has no mrope_section for them; " +
               "that of the model type " + shown(layer.source.type) + ", where a file has none, is of " +
               std::to_string(sum) + " pairs");
    }
    if (sum != pairs) {
        refuse("the configuration's mrope_section is of " + std::to_string(sum) + " pairs, but " +
               std::to_string(pairs) + " turn; it must add up to them");
    }
    encoding->axes.assign(pairs, 0);
    encoding->axis_names = {"t", "h", "w"};
    if (layer.model().axes == Axes::sides_first) return setSidesFirst(encoding->rule, sections, encoding);
    const RopeAxesOrder order = round_robin ? ROPE_AXES_INTERLEAVED : ROPE_AXES_CONTIGUOUS;
    RopeReason reason;
    if (ropeSetAxes(order, sections.data(), kAxisCount, pairs, encoding->axes.data(), &reason) != ROPE_SUCCESS)
        refuse(reason.text);
}

void findPairing(const Layer& layer, ModelEncoding* encoding) {
    const bool interleaves = readBool(layer.config(), "rope_interleave", true);
    const bool emb_interleaved = readBool(layer.config(), "rotary_emb_interleaved", false);
    const Pairing pairing = layer.model().pairing;
    if (!layer.source.known) return;
    const bool splits = pairing == Pairing::interleaved_to_half;
    const bool half = (pairing == Pairing::half && !emb_interleaved) || (splits && !interleaves);
    encoding->pairing = half ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
    if (splits && !half) encoding->pairing_out = ROPE_PAIRING_HALF;
}

} // namespace config
} // namespace rope
