#include "config/grid_frequencies.hpp"

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
               !readAliasedCount(config, {"num_heads", "num_attention_heads"}, kMaxCount, &heads, error)) {
        return false;
    }
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
    if (wanted.empty() || wanted == names[0] || (wanted == "vision" && grid.has(kWindowAttention))) return true;
    model->layer_type = wanted;
    return (grid.has(kWindowAttention) && wanted == names[1]) ||
           refuse(error, "the configuration has no layer type " + shown(wanted) + "; it has " + shown(Json(names)));
}

bool readPrefix(const Grid& grid, uint32_t* prefix, std::string* error) {
    double registers = grid.type == "sapiens2" ? 8 : 0;
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

} // namespace

bool readTower(const Grid& grid, const std::string& layer_type, ModelEncoding* model, std::string* error) {
    const Tower& tower = *grid.tower;
    const char* base_key = grid.has(kMemoryAttention) ? "memory_attention_rope_theta" : "rope_theta";
    std::vector<std::string> read = {"memory_attention_rope_feat_sizes", "memory_attention_rope_dropout",
                                     "memory_attention_rope_k_sizes"};
    if (!grid.has(kMemoryAttention)) read.clear();
    if (grid.has(kReadsBase)) read.insert(read.end(), {base_key, "rope_parameters", "rope_scaling"});
    GridFrequencies frequencies;
    frequencies.base = tower.base;
    frequencies.shared_sequence = grid.has(kSharedSequence);
    frequencies.round_robin = grid.has(kRoundRobin);
    frequencies.position_factor = grid.has(kTimesTwoPi) ? kTwoPi : 1;
    model->axis_names = splitWords(tower.axes);
    model->pairing = tower.pairing;
    if (!chooseTowerLayer(grid, layer_type, model, error) || !checkGridKeys(grid, read, error) ||
        !readTowerHead(grid, &model->head_dim, error) ||
        (grid.has(kReadsBase) && !readGridBase(grid.config, base_key, &frequencies.base, error)) ||
        !splitHead(grid, *model, &frequencies.dims, error) ||
        (grid.has(kPrefixTokens) && !readPrefix(grid, &model->skip_first, error)))
        return false;
    if (grid.has(kWindowAttention) && model->layer_type == "full_attention" &&
        !readWindowScale(grid.config, &frequencies.position_factor, error))
        return false;
    model->skip_last = grid.has(kClassLast) ? 1 : 0;
    model->chunk_dim = grid.has(kChunked) ? frequencies.dims[0] : 0;
    if (grid.has(kFromOne)) model->notes.push_back("the model's own code counts coordinates from 1, as positions must");
    if (grid.has(kPatchCentres))
        model->notes.push_back("positions are the centres of patches, from -1 to 1 over the image");
    return makeGridFrequencies(frequencies, model, error);
}

} // namespace config
} // namespace rope
