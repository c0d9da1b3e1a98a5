// Configurations of models whose tokens lie on a grid: vision towers, alone or as a vision_config, and models of
// diffusers.
#pragma once

#include "models/text.hpp"

#include <optional>

namespace rope {
namespace config {

struct Grid {
    Json config;
    std::string type;             // model_type or _class_name
    const Tower* tower = nullptr; // one of the two is set
    const DiffusersModel* diffusers = nullptr;
};

// Finds the part that the layer type asks for. If neither a tower nor a model of diffusers is found, the configuration
// is a text model's.
std::optional<Grid> findGrid(const Json& config, const std::string& layer_type);

ModelEncoding readGrid(const Grid& grid, const ConfigRequest& request);

} // namespace config
} // namespace rope
