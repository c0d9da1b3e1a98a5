// Configurations of models whose tokens lie on a grid: vision towers, alone or as a vision_config, and models of
// diffusers.
#pragma once

#include "models/config.hpp"
#include "models/grid_models.hpp"
#include "models/values.hpp"

namespace rope {
namespace config {

// At most one of `tower` and `diffusers` is set.
struct Grid {
    Json config;
    std::string type; // model_type or _class_name
    const Tower* tower = nullptr;
    const DiffusersModel* diffusers = nullptr;

    bool has(unsigned trait) const { return tower != nullptr && (tower->traits & trait) != 0; }
};

// Finds the part that the layer type asks for. If neither a tower nor a model of diffusers is found, the configuration
// is a text model's.
bool findGrid(const Json& config, const std::string& layer_type, Grid* grid, std::string* error);

bool readGrid(const Grid& grid, const ConfigRequest& request, ModelEncoding* model, std::string* error);

} // namespace config
} // namespace rope
