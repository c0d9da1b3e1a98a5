#include "models/layer_list.hpp"

#include "models/layer_plans.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace config {
namespace {

constexpr uint32_t kMaxLayers = 4096;

// Only some layers of these types have an attention that rotates. Where neither layer_types nor a list of kOwnLists
// says which, no layer is named.
const char kMixedLayers[] = " bamba minimax_m1 minimax_text_01 nemotron-nas olmo_hybrid recurrent_gemma zamba2 ";

// A type's own list in the place of layer_types.
struct OwnList {
    const char* types; // model types between spaces
    const char* key;
    JsonKind kind; // texts: the layers' types; numbers: see `numbers`
    enum class Numbers { none, layers_with_attention, one_is_attention } numbers;
};

constexpr OwnList kOwnLists[] = {
    {" lfm2 ", "full_attn_idxs", JsonKind::numbers, OwnList::Numbers::layers_with_attention},
    {" minimax_m1 minimax_text_01 ", "attn_type_list", JsonKind::numbers, OwnList::Numbers::one_is_attention},
    {" zamba2 ", "layers_block_type", JsonKind::texts, OwnList::Numbers::none},
};

const OwnList* findOwnList(const Source& source) {
    if (findKey(source.config, "layer_types") != nullptr) return nullptr;
    for (const OwnList& list : kOwnLists) {
        if (holds(list.types, source.type) && findKey(source.config, list.key) != nullptr) return &list;
    }
    return nullptr;
}

const LayerPlan* planOf(const Source& source) {
    return source.known == nullptr ? nullptr : findLayerPlan(source.known->type);
}

bool isOfPlan(const Source& source, Rotating rotating) {
    const LayerPlan* plan = planOf(source);
    return plan != nullptr && plan->rotating == rotating;
}

// A list must have a number for each layer, and the model's code must read lists.
bool checkLayerList(const Source& source, const char* key, uint32_t layers, std::string* error) {
    const Json* list = findLayerList(source, key);
    if (list == nullptr) return true;
    const bool counted =
        findKey(source.config, "layer_types") != nullptr || findKey(source.config, "num_hidden_layers") != nullptr;
    if (source.known != nullptr ? !source.has(kLayerLists) : !counted) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*list) +
                                 "; it must be a number" +
                                 (source.known != nullptr ? "" : ", or a list beside num_hidden_layers"));
    }
    return (!list->empty() && list->size() >= layers) ||
           refuse(error, std::string("the configuration's ") + key + " has " + std::to_string(list->size()) +
                             " numbers for " + std::to_string(layers) + " layers; it must have one per layer");
}

// Reads the number of layers; 0: the configuration does not say it.
bool readLayerNumber(const Source& source, uint32_t* count, std::string* error) {
    double number = -1;
    for (const char* key : {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}) {
        if (number < 0 && !readNumber(source.config, key, 0, kMaxLayers, &number, error)) return false;
    }
    if (number != -1 && number != std::floor(number))
        return refuse(error, "the configuration has " + shown(number) + " layers; they must be a whole number");
    *count = number > 0 ? static_cast<uint32_t>(number) : 0;
    return true;
}

bool refuseTooMany(const char* key, size_t count, std::string* error) {
    return refuse(error, std::string("the configuration's ") + key + " has " + std::to_string(count) +
                             " entries; there may be " + std::to_string(kMaxLayers) + " layers at most");
}

// Checks the lists of numbers. If no layers are counted yet, the lists count them, and must be of one length.
bool countByLists(const Source& source, uint32_t* count, std::string* error) {
    const uint32_t counted = *count;
    const char* first = nullptr;
    for (const LayerKey& key : kLayerKeys) {
        const Json* list = findLayerList(source, key.list);
        if (!checkLayerList(source, key.list, counted, error)) return false;
        if (list == nullptr || counted != 0) continue;
        if (list->size() > kMaxLayers) return refuseTooMany(key.list, list->size(), error);
        if (first != nullptr && list->size() != *count) {
            return refuse(error, std::string("the configuration's ") + first + " has " + std::to_string(*count) +
                                     " numbers and its " + key.list + " " + std::to_string(list->size()) +
                                     "; both must have one per layer");
        }
        first = key.list;
        *count = static_cast<uint32_t>(list->size());
    }
    return true;
}

// num_hidden_layers, then the list of types, then the lists of numbers, then the model type say how many layers there
// are; 0: none of them does. Each list has an entry for each layer, or more.
bool countLayers(const Source& source, uint32_t* count, std::string* error) {
    const Json* types = findKey(source.config, "layer_types");
    const size_t typed = types != nullptr ? types->size() : 0;
    if (!readLayerNumber(source, count, error)) return false;
    if (types != nullptr && typed == 0)
        return refuse(error, "the configuration's layer_types is empty; it must have one per layer");
    if (typed > kMaxLayers) return refuseTooMany("layer_types", typed, error);
    if (*count == 0) *count = static_cast<uint32_t>(typed);
    const OwnList* own = findOwnList(source);
    if (*count == 0 && own != nullptr && own->numbers != OwnList::Numbers::layers_with_attention) {
        const size_t listed = findKey(source.config, own->key)->size();
        if (listed > kMaxLayers) return refuseTooMany(own->key, listed, error);
        *count = static_cast<uint32_t>(listed);
    }
    if (!countByLists(source, count, error)) return false;
    if (*count == 0 && planOf(source) != nullptr) *count = planOf(source)->layers;
    return types == nullptr || typed >= *count ||
           refuse(error, "the configuration's layer_types has " + std::to_string(typed) + " entries for " +
                             std::to_string(*count) + " layers; it must have one per layer");
}

// EXAONE's pattern may be a word of a letter for each layer of a period, "LLLG": the last layer is the global one.
bool readPeriod(const Source& source, const LayerPlan& plan, uint32_t* period, std::string* error) {
    *period = plan.period;
    if (plan.period_key == nullptr) return true;
    const Json* pattern = findKey(source.config, plan.period_key);
    if (pattern == nullptr || !pattern->is_string())
        return readCount(source.config, plan.period_key, kMaxLayers, period, error);
    const std::string word = pattern->get<std::string>();
    *period = static_cast<uint32_t>(word.size());
    return (word.size() > 1 && word.find('G') == word.size() - 1 && word.find_first_not_of("LG") == word.npos) ||
           refuse(error, std::string("the configuration's ") + plan.period_key + " is " + shown(*pattern) +
                             "; it must be a number, or letters L with a G at their end");
}

// Cohere 2's dense layers come first, and their period is counted by itself.
uint32_t countDense(const Source& source) {
    const Json* count = findKey(source.config, "first_k_dense_replace");
    const bool given = count != nullptr && count->is_number() && *count >= 0 && *count <= kMaxLayers;
    return given && isOfPlan(source, Rotating::sliding_or_dense) ? static_cast<uint32_t>(count->get<double>()) : 0;
}

// LFM2's first files list the layers that have an attention. Other lists have an entry for each layer.
bool setByOwnList(const Source& source, const OwnList& own, std::vector<ModelLayer>* layers, std::string* error) {
    if (!checkKind(source.config, own.key, own.kind, error)) return false;
    const Json& list = *findKey(source.config, own.key);
    const bool of_layers = own.numbers != OwnList::Numbers::layers_with_attention;
    if (of_layers && list.size() < layers->size()) {
        return refuse(error, std::string("the configuration's ") + own.key + " has " + std::to_string(list.size()) +
                                 " entries for " + std::to_string(layers->size()) +
                                 " layers; it must have one per layer");
    }
    for (size_t i = 0; i < layers->size(); ++i) {
        ModelLayer& layer = (*layers)[i];
        layer.type = own.kind == JsonKind::texts ? list[i].get<std::string>()
                     : !of_layers                ? "conv"
                     : list[i] == 1              ? "full_attention"
                                                 : "linear_attention";
    }
    for (size_t i = 0; i < list.size() && !of_layers; ++i) {
        const double at = list[i].get<double>();
        if (at >= 0 && at < static_cast<double>(layers->size()))
            (*layers)[static_cast<size_t>(at)].type = "full_attention";
    }
    return true;
}

bool setTypes(const Source& source, std::vector<ModelLayer>* layers, std::string* error) {
    const Json* types = findKey(source.config, "layer_types");
    if (const OwnList* own = findOwnList(source)) return setByOwnList(source, *own, layers, error);
    const LayerPlan* plan = planOf(source);
    const uint32_t count = static_cast<uint32_t>(layers->size()), dense = std::min(countDense(source), count);
    uint32_t period = 0, dense_period = 1;
    if (types == nullptr && plan != nullptr &&
        (!readPeriod(source, *plan, &period, error) ||
         !readCount(source.config, "prefix_dense_sliding_window_pattern", kMaxLayers, &dense_period, error)))
        return false;
    for (uint32_t i = 0; i < count; ++i) {
        ModelLayer& layer = (*layers)[i];
        if (types != nullptr) {
            layer.type = (*types)[i].get<std::string>();
        } else if (plan != nullptr && plan->rare_type != nullptr) {
            const bool rare = i < dense ? isRare(plan->rare, dense_period, i, dense)
                                        : isRare(plan->rare, period, i - dense, count - dense);
            layer.type = rare ? plan->rare_type : plan->usual_type;
        }
    }
    return true;
}

// ---- Which layers rotate --------------------------------------------------------------------------------------------

bool setBySliding(const Source& source, Rotating rotating, std::vector<ModelLayer>* layers, std::string* error) {
    const auto window = source.config.find("sliding_window");
    if (rotating == Rotating::sliding_or_all && window != source.config.end() && window->is_null()) return true;
    uint32_t dense_period = 1, dense = countDense(source);
    const Json* kinds = findKey(source.config, "mlp_layer_types");
    if (!readCount(source.config, "prefix_dense_sliding_window_pattern", kMaxLayers, &dense_period, error) ||
        !checkKind(source.config, "mlp_layer_types", JsonKind::texts, error))
        return false;
    const bool forced = rotating == Rotating::sliding_or_dense && dense_period == 1;
    for (size_t i = 0; i < layers->size(); ++i) {
        const bool is_dense = kinds != nullptr ? i < kinds->size() && (*kinds)[i] == "dense" : i < dense;
        (*layers)[i].rotates = (*layers)[i].type == "sliding_attention" || (forced && is_dense);
    }
    return true;
}

// A 1 in no_rope_layers is a layer that rotates. An empty list counts as none.
bool setByList(const Source& source, std::vector<ModelLayer>* layers, std::string* error) {
    const Json* list = findKey(source.config, "no_rope_layers");
    const LayerPlan* plan = planOf(source);
    const uint32_t count = static_cast<uint32_t>(layers->size());
    uint32_t period = plan != nullptr ? plan->period : 0;
    if (!readCount(source.config, "no_rope_layer_interval", kMaxLayers, &period, error)) return false;
    if (list != nullptr && !list->empty() && list->size() < count) {
        return refuse(error, "the configuration's no_rope_layers has " + std::to_string(list->size()) +
                                 " entries for " + std::to_string(count) + " layers; it must have one per layer");
    }
    for (uint32_t i = 0; i < count; ++i) {
        bool still = isRare(Rare::last, period, i, count);
        if (list != nullptr && !list->empty()) {
            const Json& rotates = (*list)[i];
            still = rotates.is_boolean() ? !rotates.get<bool>() : rotates == 0;
        }
        (*layers)[i].rotates = !still;
        // The types of Llama 4 follow that list.
        if (plan != nullptr && plan->rare_type != nullptr && findKey(source.config, "layer_types") == nullptr)
            (*layers)[i].type = still ? plan->rare_type : plan->usual_type;
    }
    return true;
}

bool setBySelf(const Source& source, std::vector<ModelLayer>* layers, std::string* error) {
    const char* key = "cross_attention_layers";
    if (!checkKind(source.config, key, JsonKind::numbers, error)) return false;
    const Json* found = findKey(source.config, key);
    const Json list = found != nullptr ? *found : Json{3, 8, 13, 18, 23, 28, 33, 38};
    for (const Json& layer : list) {
        const double number = layer.get<double>();
        if (number >= 0 && number < static_cast<double>(layers->size()))
            (*layers)[static_cast<size_t>(number)].rotates = false;
    }
    return true;
}

bool setRotating(const Source& source, std::vector<ModelLayer>* layers, std::string* error) {
    const LayerPlan* plan = planOf(source);
    const Rotating rotating = plan != nullptr           ? plan->rotating
                              : source.known == nullptr ? Rotating::listed
                                                        : Rotating::all;
    const bool sliding =
        rotating == Rotating::sliding || rotating == Rotating::sliding_or_all || rotating == Rotating::sliding_or_dense;
    if (sliding && !setBySliding(source, rotating, layers, error)) return false;
    if (rotating == Rotating::listed && !setByList(source, layers, error)) return false;
    if (rotating == Rotating::self && !setBySelf(source, layers, error)) return false;
    const bool has_list = findLayerList(source, "layer_rope_theta") != nullptr;
    for (uint32_t i = 0; i < layers->size(); ++i) {
        ModelLayer& layer = (*layers)[i];
        if (rotating == Rotating::based_or_usual && !has_list)
            layer.rotates = !isRare(plan->rare, plan->period, i, static_cast<uint32_t>(layers->size()));
        for (const char* key : {"rope_theta", "layer_rope_theta"}) { // a base of 0 stands for no rotation
            const Json* list = findLayerList(source, key);
            if (list != nullptr && (*list)[i] == 0) layer.rotates = false;
        }
        layer.rotates = layer.rotates && typeRotates(source, layer.type);
    }
    return true;
}

} // namespace

const Json* findLayerList(const Source& source, const char* key) {
    const Json* list = findKey(source.config, key);
    return list != nullptr && list->is_array() ? list : nullptr;
}

bool haveSameNumbers(const Source& source, size_t a, size_t b) {
    for (const LayerKey& key : kLayerKeys) {
        const Json* list = findLayerList(source, key.list);
        if (list != nullptr && (*list)[a] != (*list)[b]) return false;
    }
    return true;
}

bool typeRotates(const Source& source, const std::string& type) {
    if (isOneOf(type, {"linear_attention", "conv", "mamba", "mamba2", "recurrent"})) return false;
    const auto rule = source.rules.values.find(type);
    return !source.rules.nested || rule == source.rules.values.end() || !rule->is_null();
}

bool listLayers(const Source& source, std::vector<ModelLayer>* layers, std::string* error) {
    uint32_t count = 0;
    if (!countLayers(source, &count, error)) return false;
    const bool is_mixed = source.known != nullptr && holds(kMixedLayers, source.known->type);
    if (is_mixed && findKey(source.config, "layer_types") == nullptr && findOwnList(source) == nullptr) count = 0;
    layers->assign(count, {});
    return setTypes(source, layers, error) && setRotating(source, layers, error);
}

} // namespace config
} // namespace rope
