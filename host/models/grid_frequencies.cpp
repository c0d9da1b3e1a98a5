#include "models/grid_frequencies.hpp"

#include "models/source.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace rope {
namespace config {
namespace {

constexpr double kMaxBase = 1.8e19;

bool checkGridRule(const Json& rule, const std::string& name, bool partial, std::string* error) {
    for (const auto& item : rule.items()) {
        const bool kind = isOneOf(item.key(), {"rope_type", "type"}) && item.value() == "default";
        const bool whole = item.key() == "partial_rotary_factor" && (partial || item.value() == 1);
        if (isOff(item.value()) || kind || whole || item.key() == "rope_theta") continue;
        return refuse(error, "the configuration's " + name + " has the key " + shown(item.key()) + " of " +
                                 shown(item.value()) + ", which its code does not take on a grid");
    }
    return true;
}

bool makeAxisFrequencies(uint32_t dim, double base, double stretch, std::vector<double>* frequencies,
                         std::string* error) {
    RopeRule rule = {};
    rule.kind = stretch == 1 ? ROPE_RULE_DEFAULT : ROPE_RULE_NTK;
    rule.rotary_dim = dim;
    rule.base = base;
    rule.factor = stretch;
    double scale;
    RopeReason reason;
    if (dim < 2 || dim % 2 != 0 || dim > 2 * ROPE_MAX_PAIRS) {
        return refuse(error, "an axis has " + std::to_string(dim) +
                                 " elements of a head; it must be even and from 2 to " +
                                 std::to_string(2 * ROPE_MAX_PAIRS));
    }
    frequencies->resize(dim / 2);
    return ropeMakeFrequencies(&rule, frequencies->data(), &scale, &reason) == ROPE_SUCCESS ||
           refuse(error, reason.text);
}

} // namespace

bool readGridBase(const Json& config, const char* key, bool partial, double* base, std::string* error) {
    double outer = NAN, inner = NAN;
    if (!readNumber(config, key, 1, kMaxBase, &outer, error)) return false;
    for (const char* name : {"rope_parameters", "rope_scaling"}) {
        const Json* rule = findKey(config, name);
        if (rule == nullptr) continue;
        if (!checkKind(config, name, JsonKind::object, error) || !checkGridRule(*rule, name, partial, error) ||
            !readNumber(*rule, "rope_theta", 1, kMaxBase, &inner, error))
            return false;
    }
    if (!std::isnan(outer) && !std::isnan(inner) && outer != inner)
        return refuse(error, "the configuration has two values of rope_theta, " + shown(outer) + " and " +
                                 shown(inner) + "; they must agree");
    if (!std::isnan(outer) || !std::isnan(inner)) *base = std::isnan(outer) ? inner : outer;
    return true;
}

bool checkGridKeys(const Grid& grid, const std::vector<std::string>& read, std::string* error) {
    for (const auto& item : grid.config.items()) {
        const std::string& key = item.key();
        if (isOff(item.value()) || !isAboutRotation(key)) continue;
        if (std::find(read.begin(), read.end(), key) != read.end()) continue;
        return refuse(error,
                      "the configuration's key " + shown(key) + " is not one that is read for " + shown(grid.type));
    }
    return true;
}

bool makeGridFrequencies(const GridFrequencies& wanted, ModelEncoding* model, std::string* error) {
    const size_t axes = wanted.dims.size();
    uint64_t elements = 0;
    for (const uint32_t dim : wanted.dims) elements += dim;
    if (elements > model->head_dim || elements > uint64_t{2} * ROPE_MAX_PAIRS) {
        return refuse(error, "axes of " + std::to_string(elements) + " elements do not fit into a head of " +
                                 std::to_string(model->head_dim) + ", or one of " + std::to_string(2 * ROPE_MAX_PAIRS));
    }
    model->rotary_dim = static_cast<uint32_t>(elements);
    model->rule.base = wanted.base;
    model->rule.rotary_dim = model->rotary_dim;
    model->frequencies.resize(elements / 2);
    model->axes.resize(elements / 2);
    std::vector<double> of_axis;
    for (size_t axis = 0, begin = 0; axis < axes; begin += wanted.dims[axis++] / 2) {
        const uint32_t dim = wanted.shared_sequence ? model->rotary_dim : wanted.dims[axis];
        if (!makeAxisFrequencies(dim, wanted.base, wanted.stretches.empty() ? 1 : wanted.stretches[axis], &of_axis,
                                 error))
            return false;
        for (size_t i = 0; i < wanted.dims[axis] / 2; ++i) {
            const size_t pair = wanted.round_robin ? i * axes + axis : begin + i;
            model->frequencies[pair] = wanted.position_factor * of_axis[wanted.shared_sequence ? i * axes + axis : i];
            model->axes[pair] = static_cast<uint8_t>(axis);
        }
    }
    return true;
}

std::vector<std::string> splitWords(const char* text) {
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string word; in >> word;) all.push_back(word);
    return all;
}

} // namespace config
} // namespace rope
