#include "models/models.hpp"

#include <algorithm>
#include <cstring>

namespace rope {
namespace {

struct NameAndText {
    Name name;
    const char* text;
};

} // namespace

#include <models_tables.inc>

namespace {

template <typename Rows> auto find(const Rows& rows, const std::string& name) -> decltype(std::begin(rows)) {
    for (auto low = std::begin(rows), high = std::end(rows); low != high;) {
        const auto middle = low + (high - low) / 2;
        const int order = name.compare(middle->name);
        if (order == 0) return middle;
        (order < 0 ? high : low) = order < 0 ? middle : middle + 1;
    }
    return nullptr;
}

} // namespace

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

const char* whyNoRotation(const std::string& type, bool* never) {
    *never = true;
    for (const NameAndText& row : kNever) { // the names begin with these
        if (type.compare(0, std::strlen(row.name), row.name) == 0) return row.text;
    }
    *never = false;
    const NameAndText* found = find(kInstead, type);
    return found != nullptr ? found->text : nullptr;
}

const char* whyNoDiffusersRotation(const std::string& name) {
    const NameAndText* found = find(kNeverOfDiffusers, name);
    return found != nullptr ? found->text : nullptr;
}

const char* whatElseTurns(const std::string& type) {
    const NameAndText* found = find(kWholes, type);
    return found != nullptr ? found->text : nullptr;
}

std::vector<std::string> typesWithAnotherEncoding() {
    std::vector<std::string> types;
    for (const NameAndText& instead : kInstead) types.emplace_back(instead.name);
    return types;
}

} // namespace rope
