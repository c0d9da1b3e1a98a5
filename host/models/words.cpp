#include "models/words.hpp"

#include "models/values.hpp"

#include <algorithm>
#include <functional>

namespace rope {
namespace {

// A type as a line may hold it, whatever bytes a file has for it.
std::string plain(const std::string& type) {
    std::string text = type.substr(0, 45) + (type.size() > 45 ? "..." : "");
    for (char& c : text) {
        if (c < ' ' || c > '~') c = '?';
    }
    return text;
}

} // namespace

template <typename Words> bool isOneOf(std::string_view word, const Words& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}
template bool isOneOf(std::string_view, const std::initializer_list<const char*>&);
template bool isOneOf(std::string_view, const std::vector<std::string>&);

std::string nameLayers(const std::vector<ModelLayer>& layers, const LayerPredicate& is, const char* of_one,
                       const char* of_several) {
    std::string numbers;
    const ModelLayer* first = nullptr;
    constexpr size_t kMostRuns = 64; // more than any model has
    size_t count = 0, runs = 0;
    bool alike = true;
    for (size_t i = 0; i < layers.size(); ++i) {
        if (!is(layers[i])) continue;
        size_t end = i + 1;
        while (end < layers.size() && is(layers[end])) ++end;
        if (++runs <= kMostRuns)
            numbers +=
                (count == 0 ? "" : ", ") + std::to_string(i) + (end == i + 1 ? "" : "-" + std::to_string(end - 1));
        if (first == nullptr) first = &layers[i];
        for (count += end - i; i < end; ++i) alike = alike && layers[i].type == first->type;
    }
    if (count == 0) return "";
    if (runs > kMostRuns) numbers += " and others";
    const bool typed = alike && !first->type.empty();
    return (count == 1 ? "layer " : "layers ") + numbers + (typed ? " (" + plain(first->type) + ")" : "") +
           (count == 1 ? of_one : of_several);
}

std::string describeQueryScaling(const QueryScaling& scaling) {
    const std::string position =
        scaling.offset == 0 ? "position" : "(position + " + config::shown(scaling.offset) + ")";
    const std::string still = "of the layers that do not rotate ";
    return (scaling.of_still_layers ? still : "too, ") + "by 1 + " + config::shown(scaling.beta) + " * ln(1 + floor(" +
           position + " / " + config::shown(scaling.interval) +
           ")); `vkrope rotate` does not apply it, and the library's ropeMakeQueryScale or a fused pass does";
}

std::string describeLayers(const ModelEncoding& model) {
    if (model.layers.empty()) {
        constexpr size_t kMostNames = 8;
        std::string others;
        size_t count = 0;
        for (const std::string& type : model.layer_types) {
            if (type != model.layer_type && ++count <= kMostNames) others += (count == 1 ? "" : ", ") + plain(type);
        }
        if (count > kMostNames) others += " and " + std::to_string(count - kMostNames) + " more";
        if (!model.types_differ || others.empty()) return "";
        return "the frequencies are those of layers of the type " + plain(model.layer_type) +
               "; layers of other types have others: " + others;
    }
    const auto other = [](const ModelLayer& layer) { return layer.rotates && !layer.answered; };
    const auto still = [](const ModelLayer& layer) { return !layer.rotates; };
    if (std::all_of(model.layers.begin(), model.layers.end(), std::mem_fn(&ModelLayer::answered))) return "";
    std::string text = "the frequencies are those of " + nameLayers(model.layers, std::mem_fn(&ModelLayer::answered));
    for (const std::string& rest : {nameLayers(model.layers, other, " has others", " have others"),
                                    nameLayers(model.layers, still, " does not rotate", " do not rotate")})
        text += (rest.empty() ? "" : "; ") + rest;
    return text;
}

void checkLayerNumber(uint32_t number, const std::string& type, const std::vector<ModelLayer>& layers) {
    if (number >= layers.size()) {
        refuse("the model has " + std::to_string(layers.size()) + " layers, 0 to " + std::to_string(layers.size() - 1) +
               ", and no layer " + std::to_string(number));
    }
    const ModelLayer& layer = layers[number];
    const std::string name = "layer " + std::to_string(number);
    if (!type.empty() && type != layer.type)
        refuse(name + " is of " + (layer.type.empty() ? "no type" : "the type " + plain(layer.type)) +
               ", not of the type " + plain(type));
    if (layer.rotates) return;
    const std::string turning = nameLayers(layers, std::mem_fn(&ModelLayer::rotates), " rotates", " rotate");
    refuse(name + (layer.type.empty() ? "" : " (" + plain(layer.type) + ")") + " does not rotate; " +
           (turning.empty() ? "no layer of the model does" : turning));
}

} // namespace rope
