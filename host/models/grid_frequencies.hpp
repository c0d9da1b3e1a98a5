// The frequencies of a grid's axes, and the readers that towers and models of diffusers share.
#pragma once

#include "models/grid.hpp"

namespace rope {
namespace config {

// How the frequencies of the axes are made.
struct GridFrequencies {
    std::vector<uint32_t> dims;    // elements of each axis
    std::vector<double> stretches; // the factor of the rule NTK on each axis; empty: no axis is stretched
    double base = 0;
    double position_factor = 1;   // the model multiplies positions by this number
    bool shared_sequence = false; // see kSharedSequence
    bool round_robin = false;     // see kRoundRobin
};

// Takes the head as found; sets the rotary part, the frequencies and their axes.
bool makeGridFrequencies(const GridFrequencies& wanted, ModelEncoding* model, std::string* error);

// Reads the base from the key, or from rope_theta in the rule. *base is left as it is where neither is there.
// `partial`: the rule may have a partial_rotary_factor.
bool readGridBase(const Json& config, const char* key, bool partial, double* base, std::string* error);

// Refuses keys about rotation that are not among those that are read.
bool checkGridKeys(const Grid& grid, const std::vector<std::string>& read, std::string* error);

std::vector<std::string> splitWords(const char* text); // at spaces

bool readTower(const Grid& found, const std::string& layer_type, ModelEncoding* model, std::string* error);
bool readDiffusersModel(const Grid& grid, ModelEncoding* model, std::string* error);

} // namespace config
} // namespace rope
