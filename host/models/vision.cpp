#include "models/grid_frequencies.hpp"

#include <cmath>

namespace rope {
namespace config {
namespace {

constexpr double kMaxCount = 1 << 30;
constexpr double kTwoPi = 6.283185307179586477;

bool readTowerHead(const Grid& grid, uint32_t* head_dim, std::string* error) {
    const Json& config = grid.config;
    uint32_t width = grid.tower->width, heads = grid.tower->heads, times = 1;
    *head_dim = 0;
    if (grid.has(kMemoryAttention)) {
        if (!readCount(config, "memory_attention_hidden_size", kMaxCount, &width, error) ||
            !readCount(config, "memory_attention_num_attention_heads", kMaxCount, &heads, error) ||
            !readCount(config, "memory_attention_downsample_rate", kMaxCount, &times, error))
            return false;
    } else if (!readCount(config, "head_dim", kMaxHeadDim, head_dim, error) ||
               !readCount(config, grid.has(kWidthIsEmbedDim) ? "embed_dim" : "hidden_size", kMaxCount, &width, error) ||
               (!grid.has(kWholeWidth) &&
                !readAliasedCount(config, {"num_heads", "num_attention_heads"}, kMaxCount, &heads, error))) {
        return false;
    }
    if (grid.has(kShortNames) &&
        (!readAliasedCount(config, {"hidden_size", "width"}, kMaxCount, &width, error) ||
         !readAliasedCount(config, {"num_attention_heads", "heads"}, kMaxCount, &heads, error)))
        return false;
    if (*head_dim != 0) return true;
    const uint64_t parts = uint64_t{heads} * times;
    if (width % parts != 0) {
        return refuse(error, "the configuration's width of " + std::to_string(width) + " elements is no multiple of " +
                                 std::to_string(parts) + ", and makes no whole heads");
    }
    *head_dim = static_cast<uint32_t>(width / parts);
    return true;
}

// Reads a number, or the first number of a list of two.
bool readSide(const Json& config, const char* key, double* side, std::string* error) {
    const Json* value = findKey(config, key);
    if (value == nullptr || !value->is_array()) return readNumber(config, key, 1, kMaxCount, side, error);
    if (value->empty()) return refuse(error, std::string("the configuration's ") + key + " is empty");
    return readNumber(Json{{key, value->front()}}, key, 1, kMaxCount, side, error);
}

// SAM 3's layers without windows take the whole image for one window: positions are scaled to the size of a window.
bool readWindowScale(const Json& config, double* times, std::string* error) {
    double window = 24, image = 1008, patch = 14;
    if (!readNumber(config, "window_size", 1, kMaxCount, &window, error) ||
        !readSide(config, "image_size", &image, error) || !readSide(config, "patch_size", &patch, error))
        return false;
    const double patches = std::floor(image / patch);
    if (patches < 1) return refuse(error, "the configuration's image_size is less than its patch_size");
    *times = window / patches;
    return true;
}

bool chooseTowerLayer(const Grid& grid, const std::string& wanted, ModelEncoding* model, std::string* error) {
    std::vector<std::string>& names = model->layer_types;
    names = {grid.has(kMemoryAttention) ? "memory_attention" : "vision"};
    if (grid.has(kWindowAttention)) names = {"full_attention", "window_attention"};
    model->layer_type = names[0];
    model->types_differ = names.size() > 1;
    if (wanted.empty() || wanted == names[0] || (wanted == "vision" && grid.has(kWindowAttention))) return true;
    model->layer_type = wanted;
    return (grid.has(kWindowAttention) && wanted == names[1]) ||
           refuse(error, "the configuration has no layer type " + shown(wanted) + "; it has " + shown(Json(names)));
}

bool readPrefix(const Grid& grid, uint32_t* prefix, std::string* error) {
    double registers = grid.tower->registers;
    if (!readNumber(grid.config, "num_register_tokens", 0, 1e6, &registers, error)) return false;
    *prefix = 1 + static_cast<uint32_t>(registers);
    return registers == std::floor(registers) || refuse(error, "the configuration's num_register_tokens is " +
                                                                   shown(registers) + "; it must be a whole number");
}

bool splitHead(const Grid& grid, const ModelEncoding& model, std::vector<uint32_t>* dims, std::string* error) {
    const uint32_t count = static_cast<uint32_t>(model.axis_names.size());
    const uint32_t dim = model.head_dim / count / 2 * 2;
    dims->assign(count, dim);
    return grid.has(kRoundsDown) || dim * count == model.head_dim ||
           refuse(error, "a head of " + std::to_string(model.head_dim) + " elements cannot be shared by " +
                             std::to_string(count) + " axes in whole pairs");
}

// Half of the width belongs to each axis. A partial_rotary_factor of the heads must say that too.
bool checkHalfWidth(const Grid& grid, const ModelEncoding& model, std::string* error) {
    const Json* rules = findKey(grid.config, "rope_parameters");
    double heads = 8, partial = NAN, inner = NAN;
    if (!readNumber(grid.config, "num_attention_heads", 1, kMaxCount, &heads, error) ||
        !readNumber(grid.config, "partial_rotary_factor", 1e-6, 1e6, &partial, error) ||
        (rules != nullptr && !readNumber(*rules, "partial_rotary_factor", 1e-6, 1e6, &inner, error)))
        return false;
    if (!std::isnan(inner)) partial = inner;
    if (std::isnan(partial)) partial = 4;
    return partial * model.head_dim / heads * 2 == model.head_dim ||
           refuse(error, "a partial_rotary_factor of " + shown(partial) + " of " + shown(heads) +
                             " heads does not fill the width; half of the heads' number does");
}

void noteTower(const Grid& grid, ModelEncoding* model) {
    std::vector<std::string>* notes = &model->notes;
    if (grid.has(kFromOne)) notes->emplace_back("positions start at 1 in this model's image tower");
    if (grid.has(kPatchCentres))
        notes->emplace_back("positions are the centres of patches, from -1 to 1 over the image");
    if (grid.has(kClassLearned))
        notes->emplace_back("the class token turns by angles that are learned, which are left to the caller");
    if (grid.has(kObjectQueries))
        notes->emplace_back("num_queries tokens more come first in the last num_blocks layers, and do not rotate");
    if (grid.has(kWholeWidth))
        notes->emplace_back("the whole width turns as one head, before the model's own code splits it into heads");
}

} // namespace

namespace {

void dropKey(Grid* grid, const char* key, std::vector<std::string>* notes) {
    const Json* found = findKey(grid->config, key);
    if (found == nullptr) return;
    const Json* inner = found->is_object() ? findKey(*found, "rope_theta") : found;
    if (inner != nullptr && *inner != grid->tower->base) {
        notes->push_back(std::string("the configuration's ") + key + " of " + shown(*found) +
                         " is ignored, because the code of the model type " + shown(grid->type) + " does not read it");
    }
    grid->config.erase(key);
}

// Takes out what the tower's own code ignores, after its kind was checked.
bool dropUnread(Grid* grid, std::vector<std::string>* notes, std::string* error) {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        if (!checkKind(grid->config, key, JsonKind::object, error)) return false;
        if (grid->has(kFlatBase)) dropKey(grid, key, notes);
    }
    const bool ruled = findKey(grid->config, "rope_parameters") != nullptr;
    if (!checkKind(grid->config, "rope_theta", JsonKind::number, error)) return false;
    if (grid->has(kOwnBase) && !ruled && findKey(grid->config, "rope_scaling") == nullptr)
        dropKey(grid, "rope_theta", notes);
    return true;
}

} // namespace

bool readTower(const Grid& found, const std::string& layer_type, ModelEncoding* model, std::string* error) {
    Grid grid = found;
    const Tower& tower = *grid.tower;
    if (!dropUnread(&grid, &model->notes, error)) return false;
    const char* base_key = grid.has(kMemoryAttention) ? "memory_attention_rope_theta" : "rope_theta";
    std::vector<std::string> read = {"memory_attention_rope_feat_sizes", "memory_attention_rope_dropout",
                                     "memory_attention_rope_k_sizes"};
    if (!grid.has(kMemoryAttention)) read.clear();
    if (grid.has(kReadsBase)) read.insert(read.end(), {base_key, "rope_parameters", "rope_scaling"});
    if (grid.has(kWholeWidth)) read.emplace_back("partial_rotary_factor");
    GridFrequencies frequencies;
    frequencies.base = tower.base;
    frequencies.shared_sequence = grid.has(kSharedSequence);
    frequencies.round_robin = grid.has(kRoundRobin);
    frequencies.position_factor = grid.has(kTimesTwoPi) ? kTwoPi : 1;
    model->axis_names = splitWords(tower.axes);
    model->pairing = tower.pairing;
    if (!chooseTowerLayer(grid, layer_type, model, error) || !checkGridKeys(grid, read, error) ||
        !readTowerHead(grid, &model->head_dim, error) ||
        (grid.has(kReadsBase) &&
         !readGridBase(grid.config, base_key, grid.has(kWholeWidth), &frequencies.base, error)) ||
        !splitHead(grid, *model, &frequencies.dims, error) ||
        (grid.has(kPrefixTokens) && !readPrefix(grid, &model->skip_first, error)))
        return false;
    if (grid.has(kWindowAttention) && model->layer_type == "full_attention" &&
        !readWindowScale(grid.config, &frequencies.position_factor, error))
        return false;
    if (grid.has(kWholeWidth) && !checkHalfWidth(grid, *model, error)) return false;
    if (grid.has(kClassLearned)) model->skip_first = 1;
    model->skip_last = grid.has(kClassLast) ? 1 : 0;
    model->chunk_dim = grid.has(kChunked) ? frequencies.dims[0] : 0;
    noteTower(grid, model);
    return makeGridFrequencies(frequencies, model, error);
}

} // namespace config
} // namespace rope
