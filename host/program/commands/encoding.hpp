// The encoding of the model that options name.
#pragma once

#include "models/config.hpp"
#include "program/commands/positions.hpp"
#include <optional>
#include <string>
#include <vector>

namespace tool {

// A model's configuration, and which of its layers and lengths is meant.
struct ModelOptions {
    std::string config, layer_type;
    std::optional<uint32_t> layer;
    double length = 0; // 0: not given
};
void addModelOptions(CLI::App* app, ModelOptions* options);
void addRotaryDim(CLI::App* app, uint32_t* rotary_dim);

// Reads a config.json or a .gguf, told apart by the first bytes. A `rotary_dim` of 0 asks for the model's own.
bool readModel(const ModelOptions& options, uint32_t rotary_dim, rope::ModelEncoding* model, Failure* failure);

// The options that several commands have in common.
struct EncodingOptions {
    ModelOptions model;
    std::string angle, device;
    uint32_t rotary_dim = 0; // 0: not given
    RopeAngle angleKind() const { return angle == "compatible" ? ROPE_ANGLE_COMPATIBLE : ROPE_ANGLE_EXACT; }
};
void addEncodingOptions(CLI::App* app, EncodingOptions* options);

struct Encoding {
    rope::ModelEncoding model;
    uint32_t axes = 1;                // rows of positions; the last may rotate no pair
    std::string length;               // the length that the frequencies depend on; empty: they do not
    std::vector<std::string> remarks; // what the answer is for
};

// Says for which length a rule that depends on it was made: "short factors up to a length of 4096". Empty: it does not.
std::string describeLength(const rope::ModelEncoding& model);

bool readEncoding(const EncodingOptions& options, Encoding* encoding, Failure* failure);

// Reads the encoding anew for the length that the positions ask for, if --length is not given.
bool readEncodingFor(const Positions& positions, const EncodingOptions& options, Encoding* encoding, Failure* failure);

void sayRemarksAndNotes(const char* command, const Encoding& encoding);

// Describes one set of frequencies. The axes are left out if positions are the same on every axis.
RopeFrequencies describeFrequencies(const Encoding& encoding, const Positions& positions);

// Returns the contents of the frequencies' slot. The values must be ones that a plan accepted.
std::vector<uint8_t> frequencyWords(const RopeFrequencies& frequencies, RopeAngle angle);

} // namespace tool
