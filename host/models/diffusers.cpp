#include "models/grid_frequencies.hpp"

#include <cmath>

namespace rope {
namespace config {
namespace {

bool readAxisDims(const Grid& grid, ModelEncoding* model, std::vector<uint32_t>* dims, std::string* error) {
    const DiffusersModel& row = *grid.diffusers;
    for (const uint32_t dim : row.dims) {
        if (dim != 0) dims->push_back(dim);
    }
    const Json* list = findKey(grid.config, row.dims_key);
    if (list != nullptr) {
        if (!checkKind(grid.config, row.dims_key, JsonKind::numbers, error)) return false;
        dims->clear();
        for (const Json& item : *list) {
            const double dim = item.get<double>();
            if (dim >= 2 && dim <= kMaxHeadDim && std::fmod(dim, 2) == 0) dims->push_back(static_cast<uint32_t>(dim));
        }
        if (dims->size() != list->size() || dims->size() < 2 || dims->size() > ROPE_MAX_AXES) {
            return refuse(error, std::string("the configuration's ") + row.dims_key + " is " + shown(*list) +
                                     "; it must be 2 to " + std::to_string(ROPE_MAX_AXES) + " even numbers");
        }
    }
    uint64_t sum = 0;
    for (const uint32_t dim : *dims) sum += dim;
    if (model->head_dim == 0) model->head_dim = static_cast<uint32_t>(sum);
    if (model->axis_names.size() != dims->size()) {
        model->axis_names.clear();
        for (size_t axis = 0; axis < dims->size(); ++axis) model->axis_names.push_back(std::to_string(axis));
    }
    return sum == model->head_dim ||
           refuse(error, std::string("the configuration's ") + row.dims_key + " is of " + std::to_string(sum) +
                             " elements, and a head has " + std::to_string(model->head_dim) + "; they must agree");
}

// CogVideoX rotates only where its configuration asks for that.
bool checkUsesRotation(const Grid& grid, std::string* error) {
    bool turns = grid.diffusers->split != AxisSplit::cogvideo || grid.type == "EasyAnimateTransformer3DModel";
    const char* key = "use_rotary_positional_embeddings";
    if (!readBool(grid.config, key, &turns, error)) return false;
    return turns ||
           refuse(error, std::string("the configuration's ") + key + " is not true: the model has no rotation");
}

bool readStretches(const Json& config, std::vector<double>* stretches, std::string* error) {
    *stretches = {2, 1, 1};
    const Json* list = findKey(config, "rope_scale");
    if (list == nullptr) return true;
    if (!checkKind(config, "rope_scale", JsonKind::numbers, error)) return false;
    *stretches = list->get<std::vector<double>>();
    bool fits = stretches->size() == 3;
    for (const double stretch : *stretches) fits = fits && stretch >= 1e-6 && stretch <= 1e6;
    return fits || refuse(error, "the configuration's rope_scale is " + shown(*list) +
                                     "; it must be three numbers from 1e-06 to 1e+06");
}

} // namespace

bool readDiffusersModel(const Grid& grid, ModelEncoding* model, std::string* error) {
    const DiffusersModel& row = *grid.diffusers;
    const bool cosmos = grid.type == "CosmosTransformer3DModel", wan = row.split == AxisSplit::wan;
    std::vector<std::string> read;
    if (row.split == AxisSplit::cogvideo) read = {"use_rotary_positional_embeddings"};
    if (wan) read = {cosmos ? "rope_scale" : "rope_max_seq_len", "rope_temporal_skip_len"};
    if (row.dims_key != nullptr) read = {row.dims_key, "use_layer3d_rope"};
    if (row.base_key != nullptr) read.emplace_back(row.base_key);
    GridFrequencies frequencies;
    frequencies.base = row.base;
    model->axis_names = splitWords(row.axes);
    model->pairing = row.pairing;
    model->head_dim = row.head_dim;
    if (!checkGridKeys(grid, read, error) || !checkUsesRotation(grid, error) ||
        !readCount(grid.config, "attention_head_dim", kMaxHeadDim, &model->head_dim, error) ||
        (row.base_key != nullptr && !readGridBase(grid.config, row.base_key, false, &frequencies.base, error)) ||
        (cosmos && !readStretches(grid.config, &frequencies.stretches, error)))
        return false;
    const uint32_t head = model->head_dim, sixth = 2 * (head / 6), eighths = head / 8 * 3, third = head / 3;
    if (wan) frequencies.dims = {head - 2 * sixth, sixth, sixth};
    if (row.split == AxisSplit::cogvideo) frequencies.dims = {head / 4, eighths, eighths};
    if (row.split == AxisSplit::thirds) frequencies.dims = {third, third, third};
    if (row.split == AxisSplit::listed && !readAxisDims(grid, model, &frequencies.dims, error)) return false;
    if (row.split == AxisSplit::thirds) model->chunk_dim = third;
    if (const char* note = positionNote(grid.type)) model->notes.emplace_back(note);
    return makeGridFrequencies(frequencies, model, error);
}

} // namespace config
} // namespace rope
