// One layer's encoding: its head, the part that rotates, its pairing, its frequencies and their axes.
#include "models/config.hpp"

#include "models/text.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace {

using namespace config;

constexpr double kMaxWidth = 1 << 30;

// ---- The head, and the part that rotates ----------------------------------------------------------------------------

// Sets head_dim and nope_dim.
void readHead(const Layer& layer, ModelEncoding* encoding) {
    const Json& config = *layer.config;
    const Model& model = layer.model;
    const bool several = model.width_times > 1; // as the layer's input beside the embedding
    const uint32_t split = readCount(config, {"qk_rope_head_dim"}, kMaxHeadDim, model.rope_head_dim);
    const uint32_t global = readCount(config, {"global_head_dim"}, kMaxHeadDim, model.global_head_dim);
    uint32_t head = config.contains("head_dim") ? 0 : model.head_dim;
    if (!several) head = readCount(config, {"head_dim", "kv_channels"}, kMaxHeadDim, head);
    const uint32_t width =
        readCount(config, {"hidden_size", "n_embd", "d_model", "n_embed"}, kMaxWidth, model.hidden_size);
    const uint32_t heads = readCount(
        config, {"num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads"}, kMaxWidth, model.heads);
    if (split != 0 && !model.rotates_end)
        head = split;
    else if (model.global_head_dim != 0 && !layer.is_second_type)
        head = global;
    encoding->head_dim = head;
    if (head == 0 || several) {
        if (width == 0 || heads == 0)
            refuse("the configuration has neither head_dim nor both hidden_size and num_attention_heads");
        const uint64_t whole = uint64_t{model.width_times} * width;
        if (whole % heads != 0)
            refuse("the configuration's hidden_size, " + std::to_string(width) +
                   (several ? ", taken " + std::to_string(model.width_times) + " times" : ",") +
                   " is no multiple of num_attention_heads, " + std::to_string(heads) +
                   (several ? "" : ", and it has no head_dim"));
        encoding->head_dim = static_cast<uint32_t>(whole / heads);
    }
    const Json* nope = findKey(config, "qk_nope_head_dim");
    const bool splits =
        model.rope_head_dim != 0 || (findKey(config, "qk_rope_head_dim") != nullptr && !model.rotates_end);
    if (splits && (nope == nullptr || *nope != 0))
        encoding->nope_dim = readCount(config, {"qk_nope_head_dim"}, kMaxHeadDim, model.nope_head_dim);
}

// The parts of a head that rotate, as the configuration gives them at its top and in its rule; NaN: none.
struct Partials {
    double outer, inner;
};

// Reads the part of the head that rotates, from 0 to 1. `scaled`: by another rule than the default one.
double readPartial(const Layer& layer, bool scaled, Partials* given) {
    const Model& model = layer.model;
    const bool own_nested = layer.source.rules.nested && !layer.source.rules.implied;
    const bool outer_alone = model.partial_of_scaled == ScaledPartial::outer;
    const bool second_scaled = model.flat_rule == FlatRule::second;
    given->outer = readNumber(
        *layer.config,
        {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_percent", "rope_percent", "rotary_emb_fraction"},
        1e-6, 1, NAN);
    given->inner = readNumber(layer.rule, {"partial_rotary_factor"}, 1e-6, 1, NAN);
    Partials read = *given;
    double otherwise = model.partial;
    if (own_nested && (scaled ? outer_alone : second_scaled)) otherwise = 1;
    if (own_nested && !scaled && second_scaled) read.outer = NAN;
    if (model.partial_of_scaled == ScaledPartial::own && scaled) {
        if (std::isnan(read.outer)) return otherwise;
        read.inner = NAN;
    }
    if (outer_alone && findKey(*layer.config, "partial_rotary_factor") != nullptr)
        (scaled ? read.inner : read.outer) = NAN;
    return chooseOuterOrInner(layer, "partial_rotary_factor", read.outer, read.inner, otherwise);
}

// Reads the rotary part where the configuration gives it in elements; 0 where it does not.
uint32_t readRotaryDim(const Layer& layer) {
    const Json& config = *layer.config;
    const Model& model = layer.model;
    uint32_t elements = model.rotates_end ? readCount(config, {"qk_rope_head_dim"}, kMaxHeadDim, 0) : 0;
    elements = readCount(config, {"rotary_dim", "attn_rotary_emb"}, kMaxHeadDim, elements);
    if (elements == 0) elements = model.rotary_dim;
    if (!isOneOf("projection_dim", model.reads)) return elements;
    // CLVP's rotary part is half of a head's share of the projection, and at least 32 elements.
    const uint32_t projection = readCount(config, {"projection_dim"}, kMaxWidth, 768);
    const uint32_t heads = readCount(config, {"num_attention_heads"}, kMaxWidth, model.heads);
    return std::max(projection / (heads * 2), 32u);
}

// Sets rotary_dim, and the rule's rotating_pairs. Adds a note where the configuration has another part.
void findRotaryDim(const Layer& layer, ModelEncoding* encoding) {
    const Source& source = layer.source;
    const Model& model = layer.model;
    const uint32_t head = encoding->head_dim;
    const RopeRuleKind kind = encoding->rule.kind;
    const bool scaled = kind != ROPE_RULE_DEFAULT, proportional = kind == ROPE_RULE_PROPORTIONAL;
    Partials given;
    const double partial = readPartial(layer, scaled, &given);
    const uint32_t elements = readRotaryDim(layer);
    const uint32_t part = static_cast<uint32_t>(head * partial); // truncated, as the models' code does
    const bool ignores_partial = source.known && !model.partial_head && !scaled;
    if (proportional) encoding->rule.rotating_pairs = static_cast<uint32_t>(partial * head / 2);
    encoding->rotary_dim = model.rope_head_dim != 0 || proportional || ignores_partial ? head : part;
    const bool reads = !source.known || isOneOf("rotary_dim", model.reads) || isOneOf("projection_dim", model.reads) ||
                       model.rotates_end;
    const bool any = !std::isnan(given.outer) || !std::isnan(given.inner);
    if (elements != 0 && reads) {
        if (any && part != elements) {
            refuse("the configuration's rotary part is of " + std::to_string(elements) +
                   " elements, but its partial_rotary_factor makes it " + std::to_string(part) + "; they must agree");
        }
        encoding->rotary_dim = elements;
    }
    const uint32_t turning = proportional ? 2 * encoding->rule.rotating_pairs : encoding->rotary_dim;
    const Json* beside = findKey(*layer.config, "qk_nope_head_dim"); // the part may be that of the whole of Q's head
    const double whole = head + (beside != nullptr && beside->is_number() ? beside->get<double>() : 0);
    for (const double other : {given.outer, given.inner == given.outer ? NAN : given.inner}) {
        if (std::isnan(other) || static_cast<uint32_t>(other * head) == turning || other * whole == turning) continue;
        encoding->notes.push_back("the model type " + shown(source.type) + " turns " + std::to_string(turning) +
                                  " of a head's " + std::to_string(head) + " elements; the partial_rotary_factor of " +
                                  shown(other) + " is ignored, because its own code does not read it there");
    }
    if (elements == 0 || elements == encoding->rotary_dim) return;
    refuse("the configuration's rotary part is of " + std::to_string(elements) + " elements, but the model type " +
           shown(source.type) + " turns " + std::to_string(encoding->rotary_dim) +
           " whatever a rotary_dim says; they must agree");
}

// ---- The axis of each pair ------------------------------------------------------------------------------------------

constexpr size_t kAxisCount = 3; // t, h, w
constexpr double kMostPairs = ROPE_MAX_PAIRS;

using Sections = std::vector<uint32_t>;

// The configuration's own mrope_section goes first, then ERNIE's older key, then what the model type implies.
Sections readSections(const Layer& layer, const Json* own, uint32_t pairs) {
    const Source& source = layer.source;
    const Model& model = layer.model;
    const bool has_axes = model.axes != Axes::one;
    const uint32_t of_t = own == nullptr && isOneOf("freq_allocation", model.reads)
                              ? readCount(*layer.config, {"freq_allocation"}, kMostPairs, 0)
                              : 0;
    if (of_t != 0) {
        const uint32_t rest = of_t < pairs ? (pairs - of_t) / 2 : 0;
        return {rest, rest, of_t};
    }
    const Json implied = Json::parse(has_axes ? model.parameters : "{}");
    const Json* list = own != nullptr ? own : findKey(implied, "mrope_section");
    if (list == nullptr && has_axes) {
        refuse("the configuration has no mrope_section, which the code of the model type " + shown(source.type) +
               " reads from its " + source.rules.key + " and has no default for");
    }
    if (list == nullptr)
        refuse(std::string("the configuration's ") + source.rules.key +
               " has the rule 'mrope' without its mrope_section");
    Sections sections;
    for (const Json& item : *list) {
        const double count = item.get<double>();
        if (!(count >= 0 && count <= kMostPairs) || count != std::floor(count)) break;
        sections.push_back(static_cast<uint32_t>(count));
    }
    if (sections.size() == kAxisCount && list->size() == kAxisCount) return sections;
    refuseValue("mrope_section", *list, "three counts of pairs, as a rule those of t, h and w");
}

bool readRoundRobin(const Layer& layer) {
    const bool known = layer.source.known, own = layer.model.axes == Axes::round_robin;
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

// Takes the rotary part as found. Leaves the axes empty where the positions have one.
void findAxes(const Layer& layer, ModelEncoding* encoding) {
    const Json* list = findKey(layer.rule, "mrope_section");
    const bool own = layer.model.axes != Axes::one;
    if (list != nullptr && layer.source.known && !own) {
        refuse("the configuration has an mrope_section, and the model type " + shown(layer.source.type) +
               " has positions of one axis");
    }
    const bool named = readText(layer.rule, "type") == "mrope" || readText(layer.rule, "rope_type") == "mrope";
    const bool has = list != nullptr || own || named;
    if (!(isOneOf("rope_3d", layer.model.reads) ? readBool(*layer.config, "rope_3d", has) : has)) return;
    if (layer.source.rules.implied) list = nullptr;
    const uint32_t pairs = encoding->rotary_dim / 2;
    const Sections sections = readSections(layer, list, pairs);
    const bool round_robin = readRoundRobin(layer);
    const uint64_t sum = uint64_t{sections[0]} + sections[1] + sections[2];
    if (sum != pairs && list == nullptr) {
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
    if (layer.model.axes == Axes::sides_first) return setSidesFirst(encoding->rule, sections, encoding);
    const RopeAxesOrder order = round_robin ? ROPE_AXES_INTERLEAVED : ROPE_AXES_CONTIGUOUS;
    RopeReason reason;
    if (ropeSetAxes(order, sections.data(), kAxisCount, pairs, encoding->axes.data(), &reason) != ROPE_SUCCESS)
        refuse(reason.text);
}

// ---- The encoding ---------------------------------------------------------------------------------------------------

void makeFrequencies(const Layer& layer, ModelEncoding* encoding) {
    RopeRule& rule = encoding->rule;
    const uint32_t turning = rule.rotary_dim = encoding->rotary_dim;
    if (turning > 2 * ROPE_MAX_PAIRS || turning % 2 != 0 || turning == 0) {
        refuse("the rotary part has " + std::to_string(turning) + " elements; it must be even and from 2 to " +
               std::to_string(2 * ROPE_MAX_PAIRS));
    }
    const size_t pairs = turning / 2;
    std::vector<double>&shorter = encoding->short_factors, &longer = encoding->long_factors;
    if (rule.kind == ROPE_RULE_LONGROPE) {
        shorter = readFactorList(layer, "short_factor");
        longer = readFactorList(layer, "long_factor");
        if (shorter.size() != pairs || longer.size() != pairs) {
            refuse("the configuration's short_factor has " + std::to_string(shorter.size()) +
                   " numbers and its long_factor " + std::to_string(longer.size()) + ", but there are " +
                   std::to_string(pairs) + " pairs; it must be one per pair");
        }
        rule.short_factors = shorter.data();
        rule.long_factors = longer.data();
    }
    encoding->frequencies.resize(pairs);
    RopeReason reason;
    const RopeResult made = ropeMakeFrequencies(&rule, encoding->frequencies.data(), &encoding->scale, &reason);
    rule.short_factors = rule.long_factors = nullptr;
    if (made != ROPE_SUCCESS) refuse(std::string("the configuration's rule is refused: ") + reason.text);
    for (double& frequency : encoding->frequencies) frequency *= layer.model.position_factor;
}

// Reads the encoding of one layer, out of a source that is open.
ModelEncoding readLayer(const Source& source, const ConfigRequest& request) {
    ModelEncoding encoding;
    encoding.model_type = source.type;
    const Layer layer = chooseLayer(request, source, &encoding);
    readHead(layer, &encoding);
    encoding.rule = readRule(layer, request.length);
    findRotaryDim(layer, &encoding);
    const bool interleaves = readBool(*layer.config, "rope_interleave", true);
    const bool emb_interleaved = readBool(*layer.config, "rotary_emb_interleaved", false);
    const Pairing pairing = layer.model.pairing;
    const bool splits = pairing == Pairing::interleaved_to_half;
    const bool half = (pairing == Pairing::half && !emb_interleaved) || (splits && !interleaves);
    if (source.known) encoding.pairing = half ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
    if (source.known && splits && !half) encoding.pairing_out = ROPE_PAIRING_HALF;
    if (request.rotary_dim != 0) encoding.rotary_dim = request.rotary_dim;
    if (encoding.rotary_dim > encoding.head_dim) {
        refuse("a rotary part of " + std::to_string(encoding.rotary_dim) +
               " elements does not fit into the configuration's head of " + std::to_string(encoding.head_dim));
    }
    if (layer.model.rotates_end) encoding.rotary_begin = encoding.head_dim - encoding.rotary_dim;
    noteKeys(layer, &encoding);
    readScales(layer, request.length, &encoding);
    makeFrequencies(layer, &encoding);
    findAxes(layer, &encoding);
    return encoding;
}

// Types with rules of their own may rotate alike even so: OLMo 3's do where nothing is scaled.
void findEqualTypes(const Source& source, ConfigRequest request, ModelEncoding* encoding) {
    constexpr size_t kMostTypes = 8;
    if (!encoding->types_differ || encoding->layer_types.size() > kMostTypes) return;
    bool differ = false;
    const bool whole_type = !request.layer; // a layer may have other numbers than its type
    request.layer.reset();
    for (const std::string& type : encoding->layer_types) {
        if (whole_type && type == encoding->layer_type) continue;
        request.layer_type = type;
        try {
            const ModelEncoding other = readLayer(source, request);
            const bool same = other.frequencies == encoding->frequencies && other.scale == encoding->scale &&
                              other.head_dim == encoding->head_dim && other.rotary_begin == encoding->rotary_begin &&
                              other.pairing == encoding->pairing && other.axes == encoding->axes;
            differ = differ || !same;
            for (size_t i = 0; same && i < encoding->layers.size(); ++i)
                encoding->layers[i].answered = encoding->layers[i].answered || other.layers[i].answered;
        } catch (const Refusal&) { // its layers do not rotate, or by what is refused
            const auto turns = [&](const ModelLayer& layer) { return layer.type == type && layer.rotates; };
            differ = differ || std::any_of(encoding->layers.begin(), encoding->layers.end(), turns);
        }
    }
    encoding->types_differ = differ;
}

} // namespace

bool readConfig(const std::string& text, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    *model = {};
    try {
        const Json config = parseConfig(text);
        const std::optional<ModelEncoding> on_a_grid = readGrid(config, request);
        const bool sound = request.layer_type == "audio";
        ConfigRequest within = request;
        if (sound) within.layer_type.clear();
        if (on_a_grid) {
            *model = *on_a_grid;
            return true;
        }
        const Source source = openSource(config, sound);
        *model = readLayer(source, within);
        if (!sound) findEqualTypes(source, within, model);
        return true;
    } catch (const Refusal& refusal) {
        *model = {};
        model->needs_layer = refusal.needs_layer;
        *error = refusal.sentence;
        return false;
    }
}

} // namespace rope
