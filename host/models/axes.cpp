#include "models/axes.hpp"

#include <cmath>

namespace rope {
namespace config {
namespace {

constexpr size_t kAxisCount = 3; // t, h, w
constexpr double kMostPairs = ROPE_MAX_PAIRS;

using Sections = std::vector<uint32_t>;

bool readSections(const Json& list, Sections* sections, std::string* error) {
    for (const Json& item : list) {
        const double pairs = item.get<double>();
        if (!(pairs >= 0 && pairs <= kMostPairs) || pairs != std::floor(pairs)) break;
        sections->push_back(static_cast<uint32_t>(pairs));
    }
    return (sections->size() == kAxisCount && list.size() == kAxisCount) ||
           refuse(error, "the configuration's mrope_section is " + shown(list) +
                             "; it must be three counts of pairs, as a rule those of t, h and w");
}

// The configuration's mrope_section goes first, then ERNIE's older key, then what the model type implies.
bool findSections(const Source& source, uint32_t pairs, Sections* sections, std::string* error) {
    const Json* list = findKey(source.layer.rule, "mrope_section");
    if (list != nullptr && !source.rules.implied) return readSections(*list, sections, error);
    uint32_t of_t = 0;
    if (source.has(kErnieAxes) && !readCount(source.config, "freq_allocation", kMostPairs, &of_t, error)) return false;
    if (of_t != 0) {
        const uint32_t rest = of_t < pairs ? (pairs - of_t) / 2 : 0;
        *sections = {rest, rest, of_t};
        return true;
    }
    if (source.has(kNeedsSections)) {
        return refuse(error, "the configuration has no mrope_section, which the code of the model type " +
                                 shown(source.type) + " reads from its " + source.rules.key +
                                 " and has no default for");
    }
    const Json implied = Json::parse(source.has(kHasPositionAxes) ? source.known->parameters : "{}");
    if (implied.contains("mrope_section")) return readSections(implied["mrope_section"], sections, error);
    return refuse(error, "the configuration's " + source.rules.key + " has the rule 'mrope' without its mrope_section");
}

bool readRoundRobin(const Source& source, bool* round_robin, std::string* error) {
    *round_robin = source.has(kRoundRobinAxes);
    if (!readBool(source.layer.rule, "mrope_interleaved", round_robin, error)) return false;
    bool also = *round_robin;
    if (!readBool(source.layer.rule, "interleaved", &also, error)) return false;
    if (also == *round_robin && (source.known == nullptr || *round_robin == source.has(kRoundRobinAxes))) return true;
    return refuse(error, "the configuration's mrope_interleaved or interleaved says another order of axes than " +
                             (also == *round_robin ? "the model type " + shown(source.type) + " has whatever they say"
                                                   : std::string("the other")) +
                             "; they must agree");
}

bool setErnieAxes(const RopeRule& rule, const Sections& sections, ModelEncoding* model, std::string* error) {
    if (sections[0] != sections[1]) {
        return refuse(error, "the configuration's mrope_section gives h " + std::to_string(sections[0]) +
                                 " pairs and w " + std::to_string(sections[1]) + "; they must agree");
    }
    if (rule.kind != ROPE_RULE_DEFAULT) {
        return refuse(error, std::string("the configuration's rule is '") + ropeRuleName(rule.kind) +
                                 "'; the model's own code takes none but 'default'");
    }
    for (uint32_t i = 0; i < 2 * sections[0]; ++i) model->axes[i] = static_cast<uint8_t>(1 + i % 2);
    return true;
}

bool readHasAxes(const Source& source, bool* has, std::string* error) {
    const bool sections = findKey(source.layer.rule, "mrope_section") != nullptr;
    if (sections && source.known != nullptr && !source.has(kHasPositionAxes)) {
        return refuse(error, "the configuration has an mrope_section, and the model type " + shown(source.type) +
                                 " has positions of one axis");
    }
    std::string older, newer;
    if (!readText(source.layer.rule, "type", &older, error) || !readText(source.layer.rule, "rope_type", &newer, error))
        return false;
    *has = sections || source.has(kHasPositionAxes) || older == "mrope" || newer == "mrope";
    return !source.has(kErnieAxes) || readBool(source.config, "rope_3d", has, error);
}

} // namespace

bool findAxes(const Source& source, ModelEncoding* model, std::string* error) {
    const uint32_t pairs = model->rotary_dim / 2;
    Sections sections;
    bool has = false, round_robin = false;
    if (!readHasAxes(source, &has, error)) return false;
    if (!has) return true;
    if (!findSections(source, pairs, &sections, error) || !readRoundRobin(source, &round_robin, error)) return false;
    const uint64_t sum = uint64_t{sections[0]} + sections[1] + sections[2];
    const bool own = findKey(source.layer.rule, "mrope_section") != nullptr && !source.rules.implied;
    if (sum != pairs && !own) {
        return refuse(error, std::to_string(pairs) +
                                 " pairs turn, and the configuration has no mrope_section for them; " +
                                 "that of the model type " + shown(source.type) + ", where a file has none, is of " +
                                 std::to_string(sum) + " pairs");
    }
    if (sum != pairs) {
        return refuse(error, "the configuration's mrope_section is of " + std::to_string(sum) + " pairs, but " +
                                 std::to_string(pairs) + " turn; it must add up to them");
    }
    model->axes.assign(pairs, 0);
    model->axis_names = {"t", "h", "w"};
    if (source.has(kErnieAxes)) return setErnieAxes(model->rule, sections, model, error);
    const RopeAxesOrder order = round_robin ? ROPE_AXES_INTERLEAVED : ROPE_AXES_CONTIGUOUS;
    RopeReason reason;
    return ropeSetAxes(order, sections.data(), kAxisCount, pairs, model->axes.data(), &reason) == ROPE_SUCCESS ||
           refuse(error, reason.text);
}

} // namespace config
} // namespace rope
