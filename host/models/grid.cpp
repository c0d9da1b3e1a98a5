#include "models/grid.hpp"

#include "models/grid_frequencies.hpp"
#include "models/no_rotation.hpp"

namespace rope {
namespace config {
namespace {

// Older files have the whole model's type in the vision part too.
bool isVisionPart(const Json& config) {
    return config.contains("num_heads") && config.contains("depth") && !config.contains("num_attention_heads") &&
           !config.contains("vision_config") && !config.contains("text_config");
}

bool openDiffusersGrid(const Json& config, const std::string& layer_type, Grid* grid, std::string* error) {
    if (!readText(config, "_class_name", &grid->type, error)) return false;
    if (const char* why = whyNoDiffusersRotation(grid->type))
        return refuse(error, "the class " + shown(grid->type) + " is no rotation by fixed frequencies: " + why);
    grid->diffusers = findDiffusersModel(grid->type);
    if (grid->diffusers == nullptr)
        return refuse(error, "the class " + shown(grid->type) + " is not one that is known");
    grid->config = config;
    return layer_type.empty() ||
           refuse(error, "the configuration has no layer types, and so none that is called " + shown(layer_type));
}

// Goes down to the part that has the layer type. The part's model_type may be the whole model's.
bool openTowerPart(const Json& config, const std::string& layer_type, Grid* grid, std::string* error) {
    const bool memory = layer_type == "memory_attention";
    const std::string last = memory ? "tracker_config" : "vision_config";
    bool found = false;
    grid->config = config;
    for (const char* key :
         {"thinker_config", "detector_config", "tracker_config", "vision_config", "backbone_config"}) {
        const Json* inner = findKey(grid->config, key);
        const bool other = memory != (key == std::string("tracker_config"));
        if (!checkKind(grid->config, key, JsonKind::object, error)) return false;
        if (inner == nullptr || other) continue;
        found = found || key == last;
        const Json part = *inner;
        grid->config = part;
        if (!readText(part, "model_type", &grid->type, error)) return false;
    }
    if (!found) return refuse(error, "the configuration has no " + last);
    grid->tower = findTower(grid->type, true);
    if (const char* instead = grid->tower == nullptr ? insteadOfRotation(grid->type) : nullptr)
        return refuse(error,
                      "the part " + last + " of the model type " + shown(grid->type) + " has no rotation: " + instead);
    return grid->tower != nullptr ||
           refuse(error, "the part " + last + " of the model type " + shown(grid->type) + " is not one that is known");
}

} // namespace

bool findGrid(const Json& config, const std::string& layer_type, Grid* grid, std::string* error) {
    if (config.contains("_class_name") && !config.contains("model_type"))
        return openDiffusersGrid(config, layer_type, grid, error);
    if (!readText(config, "model_type", &grid->type, error)) return false;
    grid->tower = findTower(grid->type, isVisionPart(config));
    grid->config = config;
    const bool asked = isOneOf(layer_type, {"vision", "window_attention", "memory_attention"});
    return grid->tower != nullptr || !asked || openTowerPart(config, layer_type, grid, error);
}

bool readGrid(const Grid& grid, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    model->model_type = grid.type;
    model->on_a_grid = true;
    if (request.layer) {
        return refuse(error, "the layers of " + shown(grid.type) +
                                 (grid.has(kWindowAttention) ? " are told apart by their types" : " rotate alike") +
                                 ", and are not told apart by their numbers; --layer chooses among those of a text");
    }
    const bool read = grid.diffusers != nullptr ? readDiffusersModel(grid, model, error)
                                                : readTower(grid, request.layer_type, model, error);
    if (!read || request.rotary_dim == 0 || request.rotary_dim == model->rotary_dim) return read;
    return refuse(error, "the axes of " + shown(grid.type) + " share " + std::to_string(model->rotary_dim) +
                             " elements; a part of " + std::to_string(request.rotary_dim) + " is of another model");
}

} // namespace config
} // namespace rope
