#include "program/bench/cases.hpp"

#include "program/option_values.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace tool {

using measure::CaseChoices;

namespace {

const std::vector<const measure::ModelShape*> kLlama = {measure::findModelShape("llama3-8b")};
const std::vector<RopeElement> kElements = {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16};

template <typename T> std::vector<std::string> namesOf(const std::vector<measure::Named<T>>& all) {
    std::vector<std::string> names;
    for (const measure::Named<T>& entry : all) names.push_back(entry.name);
    return names;
}

bool containsName(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// The values come in the order of the table, whatever the order of the options.
template <typename T>
void choose(const std::vector<measure::Named<T>>& all, const std::vector<std::string>& names, std::vector<T>* values) {
    if (names.empty()) return;
    values->clear();
    for (const measure::Named<T>& entry : all) {
        if (containsName(names, entry.name)) values->push_back(entry.value);
    }
}

// The option takes a name, or several with commas between them, and may be given again.
void takesNames(CLI::App* app, const char* name, const std::vector<std::string>& names, std::vector<std::string>* to,
                const char* help) {
    CLI::Option* option = addOption(app, name, to, help);
    takesList(option);
    takesOneOf(option, names);
}

bool readTuningNumbers(const std::string& text, uint32_t three[3]) {
    char rest = 0;
    const bool plain = text.find_first_not_of("0123456789,") == text.npos && text.size() < 32;
    return plain && std::sscanf(text.c_str(), "%9u,%9u,%9u%c", &three[0], &three[1], &three[2], &rest) == 3;
}

} // namespace

const CaseChoices kDefaultChoices = {kLlama,    {ROPE_PAIRING_HALF},  {false, true},
                                     kElements, {ROPE_SOURCE_INLINE}, {1, 32, 512, 4096}};

CaseChoices choicesOf(const CaseOptions& options, const CaseChoices& otherwise) {
    CaseChoices c = options.all ? measure::allChoices() : otherwise;
    if (!options.models.empty()) c.models.clear();
    for (const measure::ModelShape& model : measure::modelShapes()) {
        if (containsName(options.models, model.name)) c.models.push_back(&model);
    }
    choose(measure::elements(), options.elements, &c.elements);
    choose(measure::pairings(), options.pairings, &c.pairings);
    choose(measure::placements(), options.places, &c.out_of_place);
    choose(measure::sources(), options.sources, &c.sources);
    if (!options.tokens.empty()) c.tokens = options.tokens;
    return c;
}

void addCaseOptions(CLI::App* app, CaseOptions* options) {
    std::vector<std::string> models;
    for (const measure::ModelShape& model : measure::modelShapes()) models.emplace_back(model.name);
    takesNames(app, "--model", models, &options->models, "whose Q and K; several with commas between them");
    CLI::Option* tokens = addOption(app, "--tokens", &options->tokens, "how many; several with commas between them");
    takesList(tokens);
    takesCount(tokens, "a whole number of tokens", 1, 1u << 20);
    takesNames(app, "--element", namesOf(measure::elements()), &options->elements, "of Q and K");
    takesNames(app, "--pairing", namesOf(measure::pairings()), &options->pairings, "of Q and K");
    takesNames(app, "--place", namesOf(measure::placements()), &options->places, "where the result goes");
    takesNames(app, "--source", namesOf(measure::sources()), &options->sources, "of cos and sin");
    addFlag(app, "--all", &options->all, "take every value of each option that is not given: hours on a CPU's driver");
}

void addTimingOptions(CLI::App* app, TimingOptions* options) {
    takesOneOf(addOption(app, "--clock", &options->clock,
                         "device: its timestamps; host: around submit and wait, less what submitting an empty dispatch "
                         "takes"),
               {"device", "host"});
    takesCount(addOption(app, "--working-set", &options->working_set,
                         "MiB of buffers used in turns, so that no cache holds them; 0: one set of buffers; "
                         "without it 256, on a CPU's driver 0"),
               "a whole number of MiB", 0, 65536);
    addFlag(app, "--bounds-checks", &options->bounds_checks,
            "leave a driver's checks of bounds in all pipelines; without it they go without, if the device has "
            "VK_EXT_pipeline_robustness");
}

measure::BenchDevice openTimedDevice(const std::string& select, const TimingOptions& options) {
    const uint64_t working_set =
        options.working_set < 0 ? measure::kDefaultWorkingSet : static_cast<uint64_t>(options.working_set) << 20;
    return measure::openBenchDevice(select, options.clock == "host" ? measure::Clock::kHost : measure::Clock::kDevice,
                                    working_set, options.bounds_checks);
}

nlohmann::ordered_json clockJson(const measure::ClockProbe& clock) {
    const measure::ClockReport report = clock.report();
    nlohmann::ordered_json json = {
        {"warm_ups", clock.warmUps()}, {"warm_up_seconds", clock.warmUpSeconds()}, {"samples", report.samples}};
    if (report.samples == 0) return json;
    json["us"] = {{"low", report.seconds.low * 1e6},
                  {"median", report.seconds.median * 1e6},
                  {"high", report.seconds.high * 1e6}};
    json["first_quarter_us"] = report.first * 1e6;
    json["last_quarter_us"] = report.last * 1e6;
    json["moved"] = report.moved;
    json["spread"] = report.spread;
    return json;
}

void takesTuning(CLI::Option* option) {
    takesWhat(option, [](const std::string& given) {
        uint32_t three[3];
        return readTuningNumbers(given, three)
                   ? std::string()
                   : "takes group size, heads and pairs as 128,2,8, each 0 for the library's own, not '" + given + "'";
    });
}

RopeTuning readTuning(const std::string& text) {
    uint32_t three[3] = {};
    if (!text.empty()) readTuningNumbers(text, three);
    return {three[0], three[1], three[2]};
}

} // namespace tool
