// What the options name: positions, tensors, frequencies, given cos and sin.
#pragma once

#include "config/config.hpp"
#include "tool/npy.hpp"
#include "tool/tool.hpp"

#include <string>
#include <vector>

namespace tool {

bool readArray(const std::string& option, const std::string& path, rope::NpyArray* array, Failure* failure);

// "2 x 5 x 64"
std::string shapeOf(const rope::NpyArray& array);

// Refuses what would not fit into this machine's memory.
bool fitsMemory(const std::string& what, double bytes, Failure* failure);

// ---- Positions ----------------------------------------------------------------------------------------------------

struct Positions {
    bool counted = false; // a range: first, first + 1, ...
    int32_t first = 0;
    uint32_t axes = 1;  // 1: the same on every axis
    uint32_t batch = 0; // 0: the same for every sequence
    uint32_t tokens = 0;
    bool ambiguous = false;      // two dimensions of one size, taken as [batch, tokens]
    bool whole = true;           // else in 2^-32ths
    std::vector<int64_t> values; // [axes, batch, tokens], unless counted
};

extern const char kPositionsHelp[];

// "first:last" or a path. Whole ones must fit int32. `axes` and `batch` tell what two dimensions mean: [batch, tokens],
// or [axes, tokens] where the first has as many as there are axes and no batch that has as many too.
bool readPositions(const std::string& text, uint32_t axes, uint32_t batch, Positions* positions, Failure* failure);

// Of each sequence's positions those of the tokens that turn, with the others' places around them, which are not read.
// There may be positions for all tokens or for these alone.
void surround(uint32_t tokens, uint32_t skip_first, uint32_t skip_last, Positions* positions);

void setPositions(const Positions& from, RopePositions* to);
int64_t lowest(const Positions& positions); // whole ones
int64_t highest(const Positions& positions);

// ---- Tensors ------------------------------------------------------------------------------------------------------

struct Tensor {
    rope::NpyArray array;
    RopeElement element = ROPE_ELEMENT_DEFAULT;
    uint32_t batch = 0, tokens = 0, heads = 0, head_dim = 0;
    RopeLayout layout = {};
};

// `element`: what --element says, default where it is not given.
bool readTensor(const std::string& option, const std::string& path, bool heads_first, RopeElement element,
                Tensor* tensor, Failure* failure);

// [batch, tokens, dim] or [tokens, dim], as a tensor of one head.
bool readEmbeddings(const std::string& option, const std::string& path, RopeElement element, Tensor* tensor,
                    Failure* failure);

rope::NpyArray::Type typeOf(RopeElement element); // bfloat16 travels as uint16

// ---- Given tables ---------------------------------------------------------------------------------------------------

// float32 or float16, and where `element` is bfloat16 uint16. `shape` tells what its two axes are: "[positions, dim]".
struct GivenTable {
    rope::NpyArray array;
    RopeElement element = ROPE_ELEMENT_DEFAULT;
    uint32_t rows = 0, columns = 0;
};
bool readTable(const std::string& option, const std::string& path, const std::string& shape, RopeElement element,
               GivenTable* table, Failure* failure);

// ---- Frequencies --------------------------------------------------------------------------------------------------

// A model, and of its layers and lengths which.
struct ModelOptions {
    std::string config, layer_type;
    double length = 0; // 0: not given
};
void addLayerOptions(CLI::App* app, ModelOptions* options); // all but --config
void addRotaryDim(CLI::App* app, uint32_t* rotary_dim);

// From a config.json, or a .gguf, which its first bytes tell. `rotary_dim`: 0 where the model's own is wanted.
bool readModel(const ModelOptions& options, uint32_t rotary_dim, rope::ModelEncoding* model, Failure* failure);

// The axis of each pair. Without a list all are of one.
struct Axes {
    uint32_t count = 1; // rows that positions have, though no pair may turn by the last
    std::vector<uint8_t> of_pair;
};

struct AxesOptions {
    std::string sections, axes;
};
void addAxesOptions(CLI::App* app, AxesOptions* options);
bool isGiven(const AxesOptions& options);

// Leaves *axes as they are where no option is given.
bool readAxes(const AxesOptions& options, uint32_t pairs, Axes* axes, Failure* failure);

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
    uint32_t rotary_begin = 0;
    Axes axes;
    uint32_t chunk_dim = 0;
    uint32_t skip_first = 0, skip_last = 0; // where positions leave them out
    RopePairing pairing = ROPE_PAIRING_DEFAULT;
    RopePairing pairing_out = ROPE_PAIRING_DEFAULT;
    std::string model_type;
    bool unknown_pairing = false; // the configuration does not tell
    std::string ignored_note;     // not empty: a key that is ignored
};

// From --config, or --frequencies and --scale.
bool readEncoding(const EncodingOptions& options, Encoding* encoding, Failure* failure);

// Of one set. Positions that are the same on every axis need none.
RopeFrequencies frequenciesOf(const Encoding& encoding, const Positions& positions);

// What the plans' slot of them holds, of values that readEncoding has let through.
std::vector<uint8_t> wordsOf(const RopeFrequencies& frequencies, RopeAngle angle);

// ---- Given cos and sin ----------------------------------------------------------------------------------------------

struct GivenRows {
    uint32_t batch = 0; // 0: the arrays have no batch axis
    uint32_t count = 0; // rows, of one sequence where there is a batch axis
    uint32_t pairs = 0;
    std::vector<float> values; // native rows: a row's cosines, then its sines
};

// float32 or float16, and where `element` is bfloat16 uint16.
bool readRows(const std::string& cos_path, const std::string& sin_path, RopeElement element, GivenRows* rows,
              Failure* failure);

} // namespace tool
