// vkrope models: lists the models that are known, and what is known of them.
#include "models/models.hpp"
#include "models/words.hpp"
#include "program/elements.hpp"
#include "program/files/npy.hpp"
#include "program/option_values.hpp"
#include "program/tool.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>

namespace tool {
namespace {

struct ModelsOptions {
    std::string name;
    bool gguf = false, json = false;
};

struct KnownModel {
    std::string name;
    const char* kind; // what names it: a model_type of text or of images, a _class_name, an architecture
    std::string pairing;
    double base = 0;                 // 0: the file has it
    std::vector<std::string> traits; // in a few words each
};

const char* wordFor(rope::Pairing pairing) { return pairing == rope::Pairing::half ? "half" : "interleaved"; }

KnownModel describeText(const rope::Model& model) {
    KnownModel known = {model.name, "text", wordFor(model.pairing), model.base, {}};
    const auto reads = [&](const char* key) { return rope::isOneOf(key, model.reads); };
    const bool part = model.partial != 1 || model.rotary_dim != 0 || model.rotates_end || reads("projection_dim");
    const std::pair<bool, const char*> words[] = {
        {model.pairing == rope::Pairing::interleaved_to_half, "written as half pairs"},
        {model.rope_head_dim != 0, "split heads"},
        {part, "part of the head"},
        {model.layer_types.size() != 0 || reads("layer_rope_theta"), "layers differ"},
        {model.axes != rope::Axes::one, "axes t h w"},
        {model.position_factor < 0, "turns backwards"}};
    for (const auto& [is, word] : words) {
        if (is) known.traits.emplace_back(word);
    }
    if (model.asked_by != nullptr) known.traits.push_back(std::string("where ") + model.asked_by + " says so");
    if (model.own_code) known.traits.emplace_back("code of its own");
    return known;
}

// An odd number of half pairs puts 16-bit elements at odd places, which no plan takes.
KnownModel describeTower(const rope::Tower& tower) {
    KnownModel known = {tower.name, "image", wordFor(tower.pairing), tower.base, {}};
    known.traits.push_back(std::string("axes ") + tower.axes);
    const uint32_t axes = (static_cast<uint32_t>(std::strlen(tower.axes)) + 1) / 2; // names of one letter
    const uint32_t half = tower.width / tower.heads / 2;
    const uint32_t pairs = tower.rounds_down ? half / axes * axes : half;
    if (tower.pairing == rope::Pairing::half && pairs % 2 != 0)
        known.traits.push_back(std::to_string(pairs) +
                               " pairs: in float32, or in 16 bits with weights permuted to interleaved pairs");
    return known;
}

KnownModel describeArchitecture(const rope::Architecture& architecture) {
    using rope::Rotation;
    const Rotation rotation = architecture.rotation;
    KnownModel known = {architecture.name, "gguf", rotation == Rotation::interleaved ? "interleaved" : "half", 0, {}};
    if (rotation == Rotation::none || rotation == Rotation::unsupported) known.pairing = "none";
    if (rotation == Rotation::none) known.traits.emplace_back("no rotation");
    if (rotation == Rotation::unsupported) known.traits.emplace_back("not read");
    if (rotation == Rotation::axes) known.traits.emplace_back("axes");
    if (rotation == Rotation::axes_round_robin) known.traits.emplace_back("axes round robin");
    if (architecture.rotates_end) known.traits.emplace_back("end of the head");
    return known;
}

std::vector<KnownModel> listKnown(bool gguf) {
    std::vector<KnownModel> known;
    if (gguf) {
        for (const rope::Architecture& one : rope::kArchitectures) known.push_back(describeArchitecture(one));
        return known;
    }
    for (const rope::Model& model : rope::kModels) known.push_back(describeText(model));
    for (const rope::Tower& tower : rope::kTowers) known.push_back(describeTower(tower));
    for (const rope::DiffusersModel& model : rope::kDiffusersModels) {
        known.push_back(
            {model.name, "diffusers", wordFor(model.pairing), model.base, {std::string("axes ") + model.axes}});
    }
    return known;
}

// The type of a model of several parts stands for the parts that are known.
bool isNamed(const KnownModel& known, const std::string& name) {
    for (const char* ending : {"", "_text", "_text_model", "_vision", "_vision_encoder", "_vision_model"}) {
        if (known.name == name + ending) return true;
    }
    return false;
}

// ---- The names that a sentence offers in place of one that is not there

constexpr size_t kNamesShown = 8;
constexpr size_t kLettersCompared = 64;

// Letters and digits alone, in lower case: DeepseekV3 is deepseek_v3.
std::string plainLetters(const std::string& name) {
    std::string text;
    for (const char c : name.substr(0, kLettersCompared)) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (letter) text += c;
        if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

// Counts the letters of the begins that agree best, less four for each that is changed, missing or too many.
int likeness(const std::string& a, const std::string& b) {
    std::vector<int> edits(b.size() + 1); // from a begin of `a` to each begin of `b`
    std::iota(edits.begin(), edits.end(), 0);
    int best = 0;
    for (size_t row = 1; row <= a.size(); ++row) {
        int before = edits[0];
        edits[0] = static_cast<int>(row);
        for (size_t column = 1; column <= b.size(); ++column) {
            const int changed = before + (a[row - 1] == b[column - 1] ? 0 : 1);
            before = edits[column];
            edits[column] = std::min({changed, edits[column] + 1, edits[column - 1] + 1});
            best = std::max(best, static_cast<int>(row + column) - 4 * edits[column]);
        }
    }
    return best;
}

// The shorter of names that are equally like goes first.
int rankOf(const std::string& name, const std::string& wanted) {
    constexpr int kMostLetters = 1 << 10;
    const int letters = static_cast<int>(std::min<size_t>(name.size(), kMostLetters - 1));
    if (wanted.empty()) return 0;
    if (name.find(wanted) != name.npos) return INT_MAX - letters;
    return likeness(plainLetters(name), plainLetters(wanted)) * kMostLetters - letters;
}

// Lists a few names, first those that hold the wanted one, then those that begin as it does but for a few letters.
std::string nearestNames(std::vector<std::string> names, const std::string& wanted) {
    std::vector<std::pair<int, std::string>> ranked;
    ranked.reserve(names.size());
    for (std::string& name : names) ranked.emplace_back(rankOf(name, wanted), std::move(name));
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
        text += (i == 0 ? "" : ", ") + rope::quotedText(ranked[i].second, 96);
    if (names.size() > kNamesShown) text += " and " + std::to_string(names.size() - kNamesShown) + " more";
    return text;
}

// ---- The command

bool refuseModel(const ModelsOptions& options, const std::vector<KnownModel>& all, Failure* failure) {
    const std::string shown = rope::quotedText(options.name, 96);
    bool never;
    const char* why = rope::whyNoRotation(options.name, &never);
    if (why == nullptr) why = rope::whyNoDiffusersRotation(options.name);
    if (why != nullptr && !options.gguf)
        return refuse(failure, "the model " + shown + " has no rotation that is read: " + why);
    std::set<std::string> names; // some types stand in both lists
    for (const KnownModel& known : all) names.insert(known.name);
    if (!options.gguf)
        for (std::string& type : rope::typesWithAnotherEncoding()) names.insert(std::move(type));
    return refuse(failure, std::string(options.gguf ? "the architecture " : "the model ") + shown +
                               " is not known; there are " + nearestNames({names.begin(), names.end()}, options.name));
}

void printJson(const std::vector<KnownModel>& models) {
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    for (const KnownModel& known : models) {
        Json row = {{"name", known.name}, {"kind", known.kind}, {"pairing", known.pairing}};
        if (known.base != 0) row["base"] = known.base;
        row["traits"] = known.traits;
        list.push_back(row);
    }
    std::printf("%s\n", list.dump(1).c_str());
}

bool runModels(const ModelsOptions& options, Failure* failure) {
    const std::vector<KnownModel> all = listKnown(options.gguf);
    std::vector<KnownModel> models;
    for (const KnownModel& known : all) {
        if (options.name.empty() || isNamed(known, options.name)) models.push_back(known);
    }
    if (models.empty()) return refuseModel(options, all, failure);
    if (options.json) {
        printJson(models);
        return true;
    }
    size_t width = 0;
    for (const KnownModel& known : models) width = std::max(width, known.name.size());
    for (const KnownModel& known : models) {
        std::printf("%-*s  %s: ", static_cast<int>(width), known.name.c_str(), known.kind);
        if (known.pairing != "none") std::printf("%s%s", known.pairing.c_str(), known.traits.empty() ? "" : ", ");
        for (size_t i = 0; i < known.traits.size(); ++i)
            std::printf("%s%s", i == 0 ? "" : ", ", known.traits[i].c_str());
        if (known.base != 0) std::printf(", base %.10g", known.base);
        std::printf("\n");
    }
    return true;
}

const char kModelsFooter[] =
    "A row has the pairing and what the model's own code decides; a configuration may name another base. A model_type\n"
    "that is not here is read by its configuration's keys alone, and the program says so.\n\n"
    "example:\n"
    "  vkrope models gemma3";

} // namespace

RunCommand addModelsCommand(CLI::App* app) {
    const auto options = std::make_shared<ModelsOptions>();
    addOption(app, "name", &options->name,
              "a model_type of a config.json, or a _class_name of diffusers; without it all known ones");
    addFlag(app, "--gguf", &options->gguf, "list the architectures of .gguf files instead");
    addFlag(app, "--json", &options->json, "print JSON");
    addFooter(app, kModelsFooter);
    return [options](Failure* failure) { return runModels(*options, failure); };
}

} // namespace tool
