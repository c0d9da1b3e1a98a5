#include "models/models.hpp"

#include <algorithm>
#include <cstring>

namespace rope {
namespace {

struct NameAndText {
    Name name;
    const char* text;
};

#include <models_tables.inc>

template <typename Row, size_t count> const Row* find(const Row (&rows)[count], const std::string& name) {
    const auto less = [](const Row& row, const std::string& wanted) { return wanted.compare(row.name) > 0; };
    const Row* row = std::lower_bound(rows, rows + count, name, less);
    return row != rows + count && name == row->name ? row : nullptr;
}

template <size_t count> const char* findText(const NameAndText (&rows)[count], const std::string& name) {
    const NameAndText* row = find(rows, name);
    return row != nullptr ? row->text : nullptr;
}

} // namespace

bool isIn(const Words& words, std::string_view word) {
    return std::any_of(words.begin(), words.end(), [&](const char* other) { return word == other; });
}

Listed<Model> listModels() { return {kModels, std::size(kModels)}; }
Listed<Tower> listTowers() { return {kTowers, std::size(kTowers)}; }
Listed<DiffusersModel> listDiffusersModels() { return {kDiffusersModels, std::size(kDiffusersModels)}; }
Listed<Architecture> listArchitectures() { return {kArchitectures, std::size(kArchitectures)}; }

const Model* findModel(const std::string& type) {
    for (const char* ending : {"", "_text", "_text_model"}) {
        if (const Model* found = find(kModels, type + ending)) return found;
    }
    return nullptr;
}

const Tower* findTower(const std::string& type, bool within) {
    for (const char* ending : {"", "_vision", "_vision_encoder", "_vision_model"}) {
        if (const Tower* found = find(kTowers, type + ending)) return found;
        if (!within) break;
    }
    return nullptr;
}

const DiffusersModel* findDiffusersModel(const std::string& name) { return find(kDiffusersModels, name); }
const Architecture* findArchitecture(const std::string& name) { return find(kArchitectures, name); }

const char* whyNoRotation(const std::string& type) {
    for (const NameAndText& never : kNever) { // the names begin with these
        if (type.compare(0, std::strlen(never.name), never.name) == 0) return never.text;
    }
    return nullptr;
}

const char* whyNoDiffusersRotation(const std::string& name) { return findText(kNeverOfDiffusers, name); }
const char* insteadOfRotation(const std::string& type) { return findText(kInstead, type); }
const char* whatElseTurns(const std::string& type) { return findText(kWholes, type); }

std::vector<std::string> typesWithAnotherEncoding() {
    std::vector<std::string> types;
    for (const NameAndText& instead : kInstead) types.emplace_back(instead.name);
    return types;
}

Words layerTypeNames() { return kLayerTypes; }
Words stillLayerTypes() { return kStill; }

} // namespace rope
