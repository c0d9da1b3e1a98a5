// The inputs that options name: positions, tensors, frequencies, given cos and sin.
#pragma once

#include "models/config.hpp"
#include "program/files/array.hpp"
#include "program/tool.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// Judges an array by its type and shape, before there is memory for its data.
using ArrayCheck = std::function<bool(const rope::NpyArray& header, Failure* failure)>;

// Reads the array at a path, or at FILE:NAME in a file of many, if the check finds nothing.
bool readArrayFile(const std::string& option, const std::string& path, const ArrayCheck& check, rope::NpyArray* array,
                   Failure* failure);

// Returns a text such as "[2, 5, 64]".
std::string shapeText(const rope::NpyArray& array);

// Refuses arrays that would not fit into this machine's memory.
bool fitsMemory(const std::string& what, double bytes, Failure* failure);

// ---- Positions ----------------------------------------------------------------------------------------------------

struct Positions {
    bool counted = false; // a range: first, first + 1, ...
    int32_t first = 0;
    uint32_t axes = 1;  // 1: the same on every axis
    uint32_t batch = 0; // 0: the same for every sequence
    uint32_t tokens = 0;
    bool whole = true;           // false: values are in units of 2^-32
    std::vector<int64_t> values; // [axes, batch, tokens], unless counted
};

extern const char kPositionsHelp[];

// Reads "first:last" or the file at a path. A range fits int32; int64 beyond it is no position. `axes` and `batch` tell
// what two dimensions mean: [axes, tokens] if the first dimension equals `axes`, else [batch, tokens]; if it equals
// both they are refused. `check` judges the counts of *positions before there is memory for the values.
bool readPositionsOption(const std::string& text, uint32_t axes, uint32_t batch, Positions* positions, Failure* failure,
                         const std::function<bool(Failure*)>& check = nullptr);

// Makes each sequence's positions as long as the sequence: the skipped tokens get places around those that turn, and
// their values are not read. The given positions may be those of all tokens or of the turning ones alone.
void padSkippedTokens(uint32_t tokens, uint32_t skip_first, uint32_t skip_last, Positions* positions);

void describePositions(const Positions& from, RopePositions* to);
// Positions are whole. Those that int32 does not hold are left out; 0 where no others are there.
int64_t lowestPosition(const Positions& positions);
int64_t highestPosition(const Positions& positions);
double lengthOfPositions(const Positions& positions); // the length that they ask a rule for

// Counts the tokens from `first` on and below `last` that int32 does not hold on some axis: they have no position.
uint64_t countBeyondInt32(const Positions& positions, uint32_t first, uint32_t last);

// --outside: what is done with positions for which there is no row, or which int32 does not hold.
void addOutside(CLI::App* app, std::string* outside, const char* what_passes);

// Both refuse the first position of the tokens from `first` on and below `last` that is outside: a table has rows of
// the positions from `first_row` on, and `table` names its option.
bool checkInTable(const Positions& positions, uint32_t first, uint32_t last, const char* table, int64_t first_row,
                  uint32_t rows, Failure* failure);
bool checkInInt32(const Positions& positions, uint32_t first, uint32_t last, Failure* failure);

extern const char kElementHelp[];

// ---- Tensors ------------------------------------------------------------------------------------------------------

struct Tensor {
    rope::NpyArray array;
    RopeElement element = ROPE_ELEMENT_DEFAULT;
    uint32_t batch = 0, tokens = 0, heads = 0, head_dim = 0;
    RopeLayout layout = {};
};

// `order` names the axes by their letters, as --order does: "bshd", "bhsd", "shd", "hsd". Without it, and with one of
// four letters where the rank is 3, that is [batch, seq, dim] of one head. `element` is what --element says, default
// where the option is not given.
bool readTensorFile(const std::string& option, const std::string& path, const std::string& order, RopeElement element,
                    Tensor* tensor, Failure* failure);

// Reads [batch, tokens, dim] or [tokens, dim] as a tensor of one head.
bool readEmbeddings(const std::string& option, const std::string& path, RopeElement element, Tensor* tensor,
                    Failure* failure);

rope::NpyArray::Type typeOf(RopeElement element);

// ---- Given tables ---------------------------------------------------------------------------------------------------

// A given table holds float32, float16 or bfloat16, or uint16 if `element` is bfloat16. `shape` tells in messages what
// its two axes are: "[positions, dim]".
struct GivenTable {
    rope::NpyArray array;
    RopeElement element = ROPE_ELEMENT_DEFAULT;
    uint32_t rows = 0, columns = 0;
};
bool readTable(const std::string& option, const std::string& path, const std::string& shape, RopeElement element,
               GivenTable* table, Failure* failure);

// ---- Frequencies --------------------------------------------------------------------------------------------------

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

// The axis of each pair. Without a list all pairs have one axis.
struct PairAxes {
    uint32_t count = 1; // rows of positions; the last may turn no pair
    std::vector<uint8_t> of_pair;
};

struct AxesOptions {
    std::string sections, axes;
};
void addAxesOptions(CLI::App* app, AxesOptions* options);
bool areAxesGiven(const AxesOptions& options);

// Leaves *axes unchanged where no option is given.
bool readAxes(const AxesOptions& options, uint32_t pairs, PairAxes* axes, Failure* failure);

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

// ---- Given cos and sin ----------------------------------------------------------------------------------------------

struct GivenRows {
    uint32_t batch = 0; // 0: the arrays have no batch axis
    uint32_t count = 0; // rows, of one sequence if there is a batch axis
    uint32_t pairs = 0;
    std::vector<float> values; // native rows: a row's cosines, then its sines
};

// The arrays hold float32, float16 or bfloat16, or uint16 if `element` is bfloat16.
bool readRows(const std::string& cos_path, const std::string& sin_path, RopeElement element, GivenRows* rows,
              Failure* failure);

} // namespace tool
