#include "models/text.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace config {
namespace {

constexpr uint32_t kMaxLayers = 4096;
constexpr const char *kLinearType = "linear_attention", *kConvType = "conv";

// Returns a type's own list in the place of layer_types; null: it has none.
const Json* findOwnList(const Source& source) {
    const char* key = source.model->layer_list;
    return key == nullptr || findKey(source.config, "layer_types") != nullptr ? nullptr : findKey(source.config, key);
}

[[noreturn]] void refuseCount(const char* key, size_t entries, const char* unit, size_t layers) {
    refuse(std::string("the configuration's ") + key + " has " + std::to_string(entries) + " " + unit + " for " +
           std::to_string(layers) + " layers; it must have one per layer");
}

[[noreturn]] void refuseTooMany(const char* key, size_t count) {
    refuse(std::string("the configuration's ") + key + " has " + std::to_string(count) + " entries; there may be " +
           std::to_string(kMaxLayers) + " layers at most");
}

// A list must have a number for each layer, and the model's code must read lists.
void checkLayerList(const Source& source, const char* key, uint32_t layers) {
    const Json* list = findLayerList(source, key);
    if (list == nullptr) return;
    const bool counted =
        findKey(source.config, "layer_types") != nullptr || findKey(source.config, "num_hidden_layers") != nullptr;
    if (source.known ? !source.reads("layer_rope_theta") : !counted)
        refuseValue(key, *list, source.known ? "a number" : "a number, or a list beside num_hidden_layers");
    if (list->empty() || list->size() < layers) refuseCount(key, list->size(), "numbers", layers);
}

// Returns the number of layers; 0: the configuration does not say it.
uint32_t readLayerNumber(const Source& source) {
    double number = -1;
    for (const char* key : {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}) {
        if (number < 0) number = readNumber(source.config, key, 0, kMaxLayers, number);
    }
    if (number != std::floor(number))
        refuse("the configuration has " + shown(number) + " layers; they must be a whole number");
    return number > 0 ? static_cast<uint32_t>(number) : 0;
}

// Checks the lists of numbers. If no layers are counted yet, the lists count them, and must be of one length.
uint32_t countByLists(const Source& source, const uint32_t counted) {
    uint32_t count = counted;
    const char* first = nullptr;
    for (const LayerKey& key : kLayerKeys) {
        const Json* list = findLayerList(source, key.list);
        checkLayerList(source, key.list, counted);
        if (list == nullptr || counted != 0) continue;
        if (list->size() > kMaxLayers) refuseTooMany(key.list, list->size());
        if (first != nullptr && list->size() != count) {
            refuse(std::string("the configuration's ") + first + " has " + std::to_string(count) + " numbers and its " +
                   key.list + " " + std::to_string(list->size()) + "; both must have one per layer");
        }
        first = key.list;
        count = static_cast<uint32_t>(list->size());
    }
    return count;
}

// num_hidden_layers, then the list of types, then the lists of numbers, then the record say how many layers there are;
// 0: none of them does. Each list has an entry for each layer, or more.
uint32_t countLayers(const Source& source) {
    const Model& model = *source.model;
    const Json* types = findKey(source.config, "layer_types");
    const size_t typed = types != nullptr ? types->size() : 0;
    uint32_t count = readLayerNumber(source);
    if (types != nullptr && typed == 0) refuse("the configuration's layer_types is empty; it must have one per layer");
    if (typed > kMaxLayers) refuseTooMany("layer_types", typed);
    if (count == 0) count = static_cast<uint32_t>(typed);
    const Json* own = findOwnList(source);
    if (count == 0 && own != nullptr && model.layer_list_has != LayerList::places) {
        if (own->size() > kMaxLayers) refuseTooMany(model.layer_list, own->size());
        count = static_cast<uint32_t>(own->size());
    }
    count = countByLists(source, count);
    if (count == 0) count = model.layers;
    if (types != nullptr && typed < count) refuseCount("layer_types", typed, "entries", count);
    return count;
}

bool isRare(Rare rare, uint32_t period, uint32_t layer, uint32_t layers) {
    if (period == 0) return false;
    const uint32_t from_end = layers - 1 - layer;
    if (rare == Rare::last_from_end) return from_end % period == 0;
    return (rare == Rare::first ? layer : layer + 1) % period == 0 || (rare == Rare::last_and_final && from_end == 0);
}

// EXAONE's pattern may be a word of a letter for each layer of a period, "LLLG": the last layer is the global one.
uint32_t readPeriod(const Source& source) {
    const Model& model = *source.model;
    if (model.period_key == nullptr) return model.period;
    const Json* pattern = findKey(source.config, model.period_key);
    if (pattern == nullptr || !pattern->is_string())
        return readCount(source.config, model.period_key, kMaxLayers, model.period);
    const std::string word = pattern->get<std::string>();
    if (word.size() > 1 && word.find('G') == word.size() - 1 && word.find_first_not_of("LG") == word.npos)
        return static_cast<uint32_t>(word.size());
    refuseValue(model.period_key, *pattern, "a number, or letters L with a G at their end");
}

// The dense layers before mixtures of experts, whose period is counted by itself.
struct Dense {
    uint32_t count = 0, period = 1;
};

Dense readDense(const Source& source) {
    Dense dense;
    const Json* count = findKey(source.config, "first_k_dense_replace");
    const bool given = count != nullptr && count->is_number() && *count >= 0 && *count <= kMaxLayers;
    if (given && source.model->rotating == Rotating::sliding_or_dense)
        dense.count = static_cast<uint32_t>(count->get<double>());
    dense.period = readCount(source.config, "prefix_dense_sliding_window_pattern", kMaxLayers, 1);
    return dense;
}

void setByOwnList(const Source& source, const Json& list, std::vector<ModelLayer>* layers) {
    const char* key = source.model->layer_list;
    const bool places = source.model->layer_list_has == LayerList::places;
    checkKind(source.config, key, JsonKind::numbers);
    if (!places && list.size() < layers->size()) refuseCount(key, list.size(), "entries", layers->size());
    for (size_t i = 0; i < layers->size(); ++i) {
        const bool attends = places ? std::find(list.begin(), list.end(), Json(i)) != list.end() : list[i] == 1;
        (*layers)[i].type = attends ? kFullType : places ? kConvType : kLinearType;
    }
}

void setTypes(const Source& source, std::vector<ModelLayer>* layers) {
    const Model& model = *source.model;
    const Json* types = findKey(source.config, "layer_types");
    if (const Json* own = findOwnList(source)) return setByOwnList(source, *own, layers);
    const uint32_t count = static_cast<uint32_t>(layers->size());
    if (types != nullptr) {
        for (uint32_t i = 0; i < count; ++i) (*layers)[i].type = (*types)[i].get<std::string>();
        return;
    }
    const bool planned = model.layers != 0;
    const uint32_t period = planned ? readPeriod(source) : 0;
    if (!planned || model.rare_type == nullptr) return;
    const Dense all = readDense(source);
    const uint32_t dense = std::min(all.count, count);
    for (uint32_t i = 0; i < count; ++i) {
        const bool rare =
            i < dense ? isRare(model.rare, all.period, i, dense) : isRare(model.rare, period, i - dense, count - dense);
        (*layers)[i].type = rare ? model.rare_type : model.usual_type;
    }
}

// ---- Which layers rotate --------------------------------------------------------------------------------------------

void setBySliding(const Source& source, std::vector<ModelLayer>* layers) {
    const auto window = source.config.find("sliding_window");
    const Rotating rotating = source.model->rotating;
    if (rotating == Rotating::sliding_or_all && window != source.config.end() && window->is_null()) return;
    const Dense dense = readDense(source);
    const Json* kinds = findKey(source.config, "mlp_layer_types");
    checkKind(source.config, "mlp_layer_types", JsonKind::texts);
    const bool forced = rotating == Rotating::sliding_or_dense && dense.period == 1;
    for (size_t i = 0; i < layers->size(); ++i) {
        const bool is_dense = kinds != nullptr ? i < kinds->size() && (*kinds)[i] == "dense" : i < dense.count;
        (*layers)[i].rotates = (*layers)[i].type == kSlidingType || (forced && is_dense);
    }
}

// A 1 in no_rope_layers is a layer that rotates. An empty list counts as none.
void setByList(const Source& source, std::vector<ModelLayer>* layers) {
    const Model& model = *source.model;
    const Json* list = findKey(source.config, "no_rope_layers");
    const uint32_t count = static_cast<uint32_t>(layers->size());
    const uint32_t period = readCount(source.config, "no_rope_layer_interval", kMaxLayers, model.period);
    const bool listed = list != nullptr && !list->empty();
    if (listed && list->size() < count) refuseCount("no_rope_layers", list->size(), "entries", count);
    for (uint32_t i = 0; i < count; ++i) {
        const bool still = listed ? isOff((*list)[i]) || (*list)[i] == 0 : isRare(Rare::last, period, i, count);
        (*layers)[i].rotates = !still;
        // The types of Llama 4 follow that list.
        if (model.rare_type != nullptr && findKey(source.config, "layer_types") == nullptr)
            (*layers)[i].type = still ? model.rare_type : model.usual_type;
    }
}

void setBySelf(const Source& source, std::vector<ModelLayer>* layers) {
    const char* key = "cross_attention_layers";
    checkKind(source.config, key, JsonKind::numbers);
    const Json* found = findKey(source.config, key);
    const Json list = found != nullptr ? *found : Json{3, 8, 13, 18, 23, 28, 33, 38};
    for (const Json& layer : list) {
        const double number = layer.get<double>();
        if (number >= 0 && number < static_cast<double>(layers->size()))
            (*layers)[static_cast<size_t>(number)].rotates = false;
    }
}

void setRotating(const Source& source, std::vector<ModelLayer>* layers) {
    const Model& model = *source.model;
    const uint32_t count = static_cast<uint32_t>(layers->size());
    switch (source.known ? model.rotating : Rotating::listed) {
    case Rotating::sliding:
    case Rotating::sliding_or_all:
    case Rotating::sliding_or_dense:
        setBySliding(source, layers);
        break;
    case Rotating::listed:
        setByList(source, layers);
        break;
    case Rotating::self:
        setBySelf(source, layers);
        break;
    case Rotating::based_or_usual:
        if (findLayerList(source, "layer_rope_theta") != nullptr) break;
        for (uint32_t i = 0; i < count; ++i) (*layers)[i].rotates = !isRare(model.rare, model.period, i, count);
        break;
    case Rotating::based: // by the lists below
    case Rotating::all:
        break;
    }
    for (uint32_t i = 0; i < count; ++i) {
        ModelLayer& layer = (*layers)[i];
        for (const char* key : {"rope_theta", "layer_rope_theta"}) { // a base of 0 stands for no rotation
            const Json* list = findLayerList(source, key);
            if (list != nullptr && (*list)[i] == 0) layer.rotates = false;
        }
        layer.rotates = layer.rotates && typeRotates(source, layer.type);
    }
}

} // namespace

const Json* findLayerList(const Source& source, const char* key) {
    const Json* list = findKey(source.config, key);
    return list != nullptr && list->is_array() ? list : nullptr;
}

bool haveSameNumbers(const Source& source, size_t a, size_t b) {
    return std::all_of(std::begin(kLayerKeys), std::end(kLayerKeys), [&](const LayerKey& key) {
        const Json* list = findLayerList(source, key.list);
        return list == nullptr || (*list)[a] == (*list)[b];
    });
}

bool typeRotates(const Source& source, const std::string& type) {
    if (isIn(stillLayerTypes(), type)) return false;
    const auto rule = source.rules.values.find(type);
    return !source.rules.nested || rule == source.rules.values.end() || !rule->is_null();
}

std::vector<ModelLayer> listLayers(const Source& source) {
    uint32_t count = countLayers(source);
    const bool listed = findKey(source.config, "layer_types") != nullptr || findOwnList(source) != nullptr;
    if (source.model->layers_unsaid && !listed) count = 0;
    std::vector<ModelLayer> layers(count);
    setTypes(source, &layers);
    setRotating(source, &layers);
    return layers;
}

} // namespace config
} // namespace rope
