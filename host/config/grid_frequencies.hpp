// Frequencies of several axes, and what the readers of towers and painters have in common.
#pragma once

#include "config/grid.hpp"

namespace rope {
namespace config {

struct Ladders {
    std::vector<uint32_t> dims;    // elements of each axis
    std::vector<double> stretches; // of each axis' base, as the rule NTK does it; empty: none
    double base = 0;
    double times = 1; // positions are so many times what is given
    bool every_other = false, in_turns = false;
};

// Takes the head as found; sets the rotary part, the frequencies and their axes.
bool makeFrequencies(const Ladders& ladders, ModelEncoding* model, std::string* error);

// From the key, or as rope_theta from the rule. *base is left as it is where there is none.
bool readBase(const Json& config, const char* key, double* base, std::string* error);

// Refuses keys about rotation but those that are read.
bool checkKeys(const Grid& grid, const std::vector<std::string>& read, std::string* error);

std::vector<std::string> words(const char* text);

bool readTower(const Grid& grid, const std::string& layer_type, ModelEncoding* model, std::string* error);
bool readPainter(const Grid& grid, ModelEncoding* model, std::string* error);

} // namespace config
} // namespace rope
