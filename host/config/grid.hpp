// Configurations of models whose tokens lie on a grid: a vision tower's, by itself or as a vision_config, and those of
// diffusers.
#pragma once

#include "config/grid_models.hpp"
#include "config/values.hpp"

#include "config/config.hpp"

namespace rope {
namespace config {

struct Grid {
    Json config;
    std::string type; // model_type or _class_name
    const Tower* tower = nullptr;
    const Painter* painter = nullptr;

    bool has(unsigned trait) const { return tower != nullptr && (tower->traits & trait) != 0; }
};

// Finds the part that the layer type asks for. Neither a tower nor a painter: the configuration is a text model's.
bool findGrid(const Json& config, const std::string& layer_type, Grid* grid, std::string* error);

bool readGrid(const Grid& grid, const ConfigRequest& request, ModelEncoding* model, std::string* error);

} // namespace config
} // namespace rope
