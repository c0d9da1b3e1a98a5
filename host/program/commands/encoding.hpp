// The encoding that options name: a model's, or frequencies in a file.
#pragma once

#include "models/config.hpp"
#include "program/commands/axes.hpp"
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
void addLayerOptions(CLI::App* app, ModelOptions* options); // all but --config
void addRotaryDim(CLI::App* app, uint32_t* rotary_dim);

// Reads a config.json or a .gguf, told apart by the first bytes. A `rotary_dim` of 0 asks for the model's own.
bool readModel(const ModelOptions& options, uint32_t rotary_dim, rope::ModelEncoding* model, Failure* failure);

// The options that several commands have in common.
struct EncodingOptions {
    ModelOptions model;
    AxesOptions axes;
    std::string frequencies;
    double scale = 0;        // 0: not given
    uint32_t rotary_dim = 0; // 0: not given
    bool compatible = false;
};
void addEncodingOptions(CLI::App* app, EncodingOptions* options);

struct Encoding {
    std::vector<double> frequencies;
    double scale = 1;
    uint32_t head_dim = 0; // 0: any
    uint32_t nope_dim = 0; // elements before that head in whole heads that it may be split off from
    uint32_t rotary_begin = 0;
    PairAxes axes;
    uint32_t chunk_dim = 0;
    uint32_t skip_first = 0, skip_last = 0; // tokens that positions leave out
    RopePairing pairing = ROPE_PAIRING_DEFAULT;
    RopePairing pairing_out = ROPE_PAIRING_DEFAULT;
    std::string model_type;
    bool on_a_grid = false;           // an image's or a video's tokens, with an axis for each side
    bool unknown_pairing = false;     // the configuration does not tell
    std::string length;               // the length that the frequencies depend on; empty: they do not
    std::vector<std::string> notes;   // the model's
    std::vector<std::string> remarks; // what the answer is for
};

// Says for which length a rule that depends on it was made: "short factors up to a length of 4096". Empty: it does not.
std::string describeLength(const rope::ModelEncoding& model);

// Reads --config, or --frequencies and --scale.
bool readEncoding(const EncodingOptions& options, Encoding* encoding, Failure* failure);

// Reads the encoding anew for the length that the positions ask for, if --length is not given.
bool readEncodingFor(const Positions& positions, const EncodingOptions& options, Encoding* encoding, Failure* failure);

void sayRemarksAndNotes(const char* command, const Encoding& encoding);

// Describes one set of frequencies. The axes are left out if positions are the same on every axis.
RopeFrequencies describeFrequencies(const Encoding& encoding, const Positions& positions);

// Returns the contents of the frequencies' slot. The values must be ones that readEncoding accepted.
std::vector<uint8_t> frequencyWords(const RopeFrequencies& frequencies, RopeAngle angle);

} // namespace tool
