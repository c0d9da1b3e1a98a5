// The layers: how many there are, of which types they are, which of them rotate, and the one that is read.
#include "models/text.hpp"
#include "models/words.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace config {
namespace {

constexpr uint32_t kMaxLayers = 4096;
constexpr size_t kMostTypes = 64;

using Names = std::vector<std::string>;

std::string listed(const Names& names) {
    constexpr size_t kMostNames = 8;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) text += (i == 0 ? "" : ", ") + shown(names[i]);
    return names.size() <= kMostNames ? text : text + " and " + std::to_string(names.size() - kMostNames) + " others";
}

[[noreturn]] void refuseCount(const char* key, size_t entries, const char* unit, size_t layers) {
    refuse(std::string("the configuration's ") + key + " has " + std::to_string(entries) + " " + unit + " for " +
           std::to_string(layers) + " layers; it must have one per layer");
}

[[noreturn]] void refuseTooMany(const char* key, size_t count) {
    refuse(std::string("the configuration's ") + key + " has " + std::to_string(count) + " entries; there may be " +
           std::to_string(kMaxLayers) + " layers at most");
}

// ---- How many layers there are, and of which types ------------------------------------------------------------------

// num_hidden_layers, then the list of types, then the lists of numbers, then the record say how many layers there are;
// 0: none of them does. Each list has an entry for each layer, or more.
uint32_t countLayers(const Source& source) {
    const LayerLists& lists = source.lists;
    const Model& model = *source.model;
    double number = -1;
    for (const char* key : {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}) {
        if (number < 0) number = readNumber(source.config, {key}, 0, kMaxLayers, number);
    }
    if (number != std::floor(number))
        refuse("the configuration has " + shown(number) + " layers; they must be a whole number");
    uint32_t count = number > 0 ? static_cast<uint32_t>(number) : 0;
    const size_t typed = lists.types != nullptr ? lists.types->size() : 0;
    if (lists.types != nullptr && typed == 0)
        refuse("the configuration's layer_types is empty; it must have one per layer");
    if (typed > kMaxLayers) refuseTooMany("layer_types", typed);
    if (count == 0) count = static_cast<uint32_t>(typed);
    if (count == 0 && lists.own != nullptr && model.layer_list_has != LayerList::places) {
        if (lists.own->size() > kMaxLayers) refuseTooMany(model.layer_list, lists.own->size());
        count = static_cast<uint32_t>(lists.own->size());
    }
    // The model's code must read lists of numbers. If no layers are counted yet, they count them.
    const bool known_count = lists.types != nullptr || findKey(source.config, "num_hidden_layers") != nullptr;
    const uint32_t counted = count;
    const char* first = nullptr;
    for (size_t i = 0; i < std::size(kLayerKeys); ++i) {
        const Json* list = lists.numbers[i];
        const char* key = kLayerKeys[i].list;
        if (list == nullptr) continue;
        if (source.known ? !isOneOf("layer_rope_theta", model.reads) : !known_count)
            refuseValue(key, *list, source.known ? "a number" : "a number, or a list beside num_hidden_layers");
        if (list->empty() || list->size() < counted) refuseCount(key, list->size(), "numbers", counted);
        if (counted != 0) continue;
        if (list->size() > kMaxLayers) refuseTooMany(key, list->size());
        if (first != nullptr && list->size() != count) {
            refuse(std::string("the configuration's ") + first + " has " + std::to_string(count) + " numbers and its " +
                   key + " " + std::to_string(list->size()) + "; both must have one per layer");
        }
        first = key;
        count = static_cast<uint32_t>(list->size());
    }
    if (count == 0) count = model.layers;
    if (lists.types != nullptr && typed < count) refuseCount("layer_types", typed, "entries", count);
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
        return readCount(source.config, {model.period_key}, kMaxLayers, model.period);
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
    dense.period = readCount(source.config, {"prefix_dense_sliding_window_pattern"}, kMaxLayers, 1);
    return dense;
}

// Marks the rare layers by the record's own list of them, or by the places that it has where that list is absent.
std::vector<bool> readRare(const Source& source, size_t layers) {
    const Model& model = *source.model;
    std::vector<bool> rare(layers);
    for (const uint32_t place : source.lists.own == nullptr ? model.rare_layers : Counts{}) {
        if (place < layers) rare[place] = true;
    }
    if (source.lists.own == nullptr) return rare;
    const Json& list = *findKey(source.config, model.layer_list, JsonKind::numbers);
    const bool places = model.layer_list_has == LayerList::places;
    if (!places && list.size() < layers) refuseCount(model.layer_list, list.size(), "entries", layers);
    for (size_t i = 0; i < layers; ++i)
        rare[i] = places ? std::find(list.begin(), list.end(), Json(i)) != list.end() : list[i] == 1;
    return rare;
}

void setTypes(const Source& source, std::vector<ModelLayer>* layers) {
    const Model& model = *source.model;
    const uint32_t count = static_cast<uint32_t>(layers->size());
    for (uint32_t i = 0; source.lists.types != nullptr && i < count; ++i)
        (*layers)[i].type = (*source.lists.types)[i].get<std::string>();
    if (source.lists.types != nullptr) return;
    if (source.lists.own != nullptr && model.rare_type != nullptr) {
        const std::vector<bool> rare = readRare(source, count);
        for (uint32_t i = 0; i < count; ++i) (*layers)[i].type = rare[i] ? model.rare_type : model.usual_type;
        return;
    }
    if (model.layers == 0) return;
    const uint32_t period = readPeriod(source);
    if (model.rare_type == nullptr) return;
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
    const Json* kinds = findKey(source.config, "mlp_layer_types", JsonKind::texts);
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
    const uint32_t period = readCount(source.config, {"no_rope_layer_interval"}, kMaxLayers, model.period);
    const bool has_list = list != nullptr && !list->empty();
    if (has_list && list->size() < count) refuseCount("no_rope_layers", list->size(), "entries", count);
    for (uint32_t i = 0; i < count; ++i) {
        const bool still = has_list ? isOff((*list)[i]) || (*list)[i] == 0 : isRare(Rare::last, period, i, count);
        (*layers)[i].rotates = !still;
        // The types of Llama 4 follow that list.
        if (model.rare_type != nullptr && source.lists.types == nullptr)
            (*layers)[i].type = still ? model.rare_type : model.usual_type;
    }
}

// Says whether layers of a type can rotate: they attend, and the rules have no null for them.
bool typeRotates(const Source& source, const std::string& type) {
    if (isOneOf(type, kStillLayerTypes)) return false;
    const auto rule = source.rules.values.find(type);
    return !source.rules.nested || rule == source.rules.values.end() || !rule->is_null();
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
    case Rotating::based_or_usual: {
        const std::vector<bool> rare = readRare(source, count);
        for (uint32_t i = 0; i < count; ++i)
            (*layers)[i].rotates =
                source.lists.numbers[1] != nullptr || (!rare[i] && !isRare(model.rare, model.period, i, count));
        break;
    }
    case Rotating::based: // by the lists below
    case Rotating::all:
        break;
    }
    for (uint32_t i = 0; i < count; ++i) {
        ModelLayer& layer = (*layers)[i];
        for (const Json* list : {source.lists.numbers[0], source.lists.numbers[1]}) { // a base of 0: no rotation
            if (list != nullptr && (*list)[i] == 0) layer.rotates = false;
        }
        layer.rotates = layer.rotates && typeRotates(source, layer.type);
    }
}

// The types that have rules of their own.
Names listRuledTypes(const Source& source) {
    static constexpr Words kFullAndSliding = {kFullType, kSlidingType};
    Names names;
    for (const auto& item : source.rules.values.items()) {
        const bool null = item.value().is_null() && !mayStandBesideNested(item.key());
        if (source.rules.nested && (item.value().is_object() || null)) names.push_back(item.key());
    }
    Words others = source.model->layer_types;
    for (const char* key : {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"}) {
        if (others.size() == 0 && findKey(source.config, key) != nullptr) others = kFullAndSliding;
    }
    for (const char* name : others) {
        if (!isOneOf(name, names)) names.emplace_back(name);
    }
    return names;
}

// ---- The layer that is read -----------------------------------------------------------------------------------------

std::string chooseName(const Source& source, const std::string& wanted) {
    const Names& names = source.layer_types;
    if (names.empty() && !wanted.empty() && wanted != kFullType)
        refuse("the configuration has no layer types, and so none that is called " + shown(wanted));
    if (names.empty()) return "";
    if (!wanted.empty() && !isOneOf(wanted, names))
        refuse("the configuration has no layer type " + shown(wanted) + "; it has " + listed(names));
    Names turning;
    for (const std::string& other : names) {
        bool typed = false, occurs = false, turns = false; // a class may have a type of which this model has no layer
        for (const ModelLayer& layer : source.layers) {
            typed = typed || !layer.type.empty();
            occurs = occurs || layer.type == other;
            turns = turns || (layer.type == other && layer.rotates);
        }
        if (!(occurs ? turns : typeRotates(source, other))) continue;
        if (other == wanted || occurs || !typed) turning.push_back(other);
    }
    if (turning.empty()) refuse("no layer of the model rotates");
    if (!wanted.empty() && !isOneOf(wanted, turning)) {
        refuse("the model's layers of the type " + shown(wanted) + " do not rotate; those of the type " +
               listed(turning) + " do");
    }
    if (!wanted.empty()) return wanted;
    for (const char* usual : {kFullType, "main", "hybrid"}) {
        if (isOneOf(usual, turning)) return usual;
    }
    if (!source.types_differ || turning.size() == 1) return turning[0];
    refuse("the configuration's layer types differ, and none of them is chosen: " + listed(names));
}

void checkOneLayer(const ConfigRequest& request, const Source& source) {
    if (!source.layers.empty()) return checkLayerNumber(*request.layer, request.layer_type, source.layers);
    if (source.layer_types.size() >= 2)
        refuse("the configuration does not say which of its layers are of which type: " + listed(source.layer_types));
    refuse(findKey(source.config, "num_hidden_layers") != nullptr
               ? "only some layers of the model type " + shown(source.type) +
                     " rotate, and the configuration has no list of layers, as layer_types is one, that says which"
               : "the configuration has no num_hidden_layers, which would say what layers there are");
}

// Layers may have numbers of their own in lists. Marks those that share the chosen layer's, and returns its number.
size_t chooseNumbers(const ConfigRequest& request, const Source& source, const std::string& type,
                     ModelEncoding* encoding) {
    std::vector<ModelLayer>& layers = encoding->layers;
    const auto fits = [&](const ModelLayer& layer) {
        return layer.rotates && (type.empty() || layer.type == type || layer.type.empty());
    };
    const auto same_numbers = [&](size_t a, size_t b) {
        return std::all_of(std::begin(source.lists.numbers), std::end(source.lists.numbers),
                           [&](const Json* list) { return list == nullptr || (*list)[a] == (*list)[b]; });
    };
    bool found = false, differ = false;
    size_t chosen = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
        if (!fits(layers[i]) || (request.layer && i != *request.layer)) continue;
        if (!found) chosen = i;
        differ = differ || !same_numbers(chosen, i);
        found = true;
    }
    if (!layers.empty() && !found) refuse("no layer of the model rotates");
    for (size_t i = 0; i < layers.size(); ++i) {
        layers[i].answered = layers[i].rotates && same_numbers(chosen, i) &&
                             (!encoding->types_differ || layers[i].type == type || layers[i].type.empty());
    }
    if (!differ) return chosen;
    const auto same = [&](const ModelLayer& layer) { return fits(layer) && layer.answered; };
    const auto other = [&](const ModelLayer& layer) { return fits(layer) && !layer.answered; };
    throw Refusal{nameLayers(layers, same) + " and " + nameLayers(layers, other) +
                      " rotate by other frequencies; one layer is to be chosen by its number",
                  true};
}

} // namespace

// Layers of types that no rule names are forgotten: which of them has which rule is not known.
void readLayers(Source* source) {
    const Json& config = source->config;
    const Model& model = *source->model;
    LayerLists& lists = source->lists;
    lists.types = findKey(config, "layer_types");
    if (model.layer_list != nullptr) lists.own = findKey(config, model.layer_list);
    for (size_t i = 0; i < std::size(kLayerKeys); ++i) {
        const Json* found = findKey(config, kLayerKeys[i].list);
        lists.numbers[i] = found != nullptr && found->is_array() ? found : nullptr;
    }
    const uint32_t count = countLayers(*source);
    const bool unsaid = model.layers_unsaid && lists.types == nullptr && lists.own == nullptr;
    std::vector<ModelLayer>& layers = source->layers;
    layers.resize(unsaid ? 0 : count);
    setTypes(*source, &layers);
    setRotating(*source, &layers);
    Names& names = source->layer_types = listRuledTypes(*source);
    // Where layers differ, the types that have a rule are all that there are, else those of Transformers. Its classes
    // refuse any other.
    Names allowed = names;
    const bool open = model.layer_types.size() == 0 || model.flat_rule == FlatRule::second;
    for (const char* name : open ? kLayerTypeNames : Words{}) {
        if (!isOneOf(name, allowed)) allowed.emplace_back(name);
    }
    for (const Json& type : lists.types != nullptr && source->known && !model.own_code ? *lists.types : Json::array()) {
        if (isOneOf(type.get<std::string>(), allowed)) continue;
        refuse("the configuration's layer_types has " + shown(type) + ", which the model type " + shown(source->type) +
               " does not have; it may have " + listed(allowed));
    }
    const Names ruled = names;
    const bool differ = source->types_differ = !ruled.empty();
    const auto is_unknown = [&](const ModelLayer& layer) {
        return differ && layer.rotates && !isOneOf(layer.type, ruled);
    };
    if (std::any_of(layers.begin(), layers.end(), is_unknown)) layers.clear();
    for (const ModelLayer& layer : layers) {
        if (!layer.type.empty() && !isOneOf(layer.type, names)) names.push_back(layer.type);
    }
    if (names.size() > kMostTypes)
        refuse("the configuration has " + std::to_string(names.size()) + " types of layers; there may be " +
               std::to_string(kMostTypes));
}

Layer chooseLayer(const ConfigRequest& request, const Source& source, ModelEncoding* encoding) {
    if (request.layer) checkOneLayer(request, source);
    const Model& model = *source.model;
    const Rules& rules = source.rules;
    Layer layer = {source, model, &source.config};
    layer.name = chooseName(source, request.layer ? source.layers[*request.layer].type : request.layer_type);
    encoding->layers = source.layers;
    encoding->layer_types = source.layer_types;
    encoding->types_differ = source.types_differ;
    encoding->layer_type = layer.name;
    const size_t chosen = chooseNumbers(request, source, layer.name, encoding);
    for (size_t i = 0; i < std::size(kLayerKeys); ++i) {
        const Json* list = source.lists.numbers[i];
        if (list == nullptr) continue;
        const Json number = (*list)[chosen];
        for (const Json& other : source.layers.empty() ? *list : Json::array()) {
            if (other != number)
                refuse(std::string("the configuration's ") + kLayerKeys[i].list + " has " + shown(number) + " and " +
                       shown(other) + "; they must agree, or layer_types must say which layers are which");
        }
        if (layer.own == nullptr) layer.own = std::make_unique<Json>(source.config);
        (*layer.own)[kLayerKeys[i].list] = nullptr;
        (*layer.own)[kLayerKeys[i].number] = number;
        layer.config = layer.own.get();
    }
    const bool is_second = model.layer_types.size() >= 2 && layer.name == model.layer_types.begin()[1];
    layer.is_second_type = source.types_differ && (is_second || layer.name.find("sliding") != layer.name.npos);
    const bool holds =
        model.flat_rule == FlatRule::both || layer.is_second_type == (model.flat_rule == FlatRule::second);
    if (!rules.nested && (!source.types_differ || holds)) layer.rule = rules.values;
    if (!rules.nested) return layer;
    if (const Json* ruled = findKey(rules.values, layer.name.c_str())) layer.rule = *ruled;
    const Json* truncate = findKey(rules.values, "truncate");
    if (truncate != nullptr && !layer.rule.contains("truncate")) layer.rule["truncate"] = *truncate;
    return layer;
}

} // namespace config
} // namespace rope
