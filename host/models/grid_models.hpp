// Models whose tokens lie on a grid, of an image or a video: what their code decides, one row a model.
#pragma once

#include <vkrope/rope.h>

#include <string>
#include <vector>

namespace rope {

enum GridTraits : unsigned {
    kSharedSequence = 1,    // the axes share one sequence of frequencies over all pairs: of n axes, axis a has the
                            // frequencies a, a + n, a + 2n, ...; else each axis has a sequence of its own
    kRoundRobin = 2,        // the pairs go to the axes round robin; else each axis has contiguous pairs
    kChunked = 4,           // half pairing inside each axis' own part
    kTimesTwoPi = 8,        // positions are multiplied by 2 pi
    kPrefixTokens = 16,     // a class token and num_register_tokens come first, and do not rotate
    kClassLast = 32,        // a class token comes last, and does not rotate
    kWidthIsEmbedDim = 64,  // the width is embed_dim; else hidden_size
    kReadsBase = 128,       // rope_theta is read
    kMemoryAttention = 256, // keys begin with memory_attention_
    kWindowAttention = 512, // layers without windows see their positions scaled
    kRoundsDown = 1024,     // an axis takes an even number of elements, and the rest of the head does not rotate
    kFromOne = 2048,        // the code adds 1 to its coordinates
    kPatchCentres = 4096,   // positions are centres of patches, from -1 to 1
    kClassLearned = 8192,   // a class token comes first, and turns by learned angles
    kWholeWidth = 16384,    // the whole width turns as one head, before it is split
    kObjectQueries = 32768, // num_queries tokens more come first in the last num_blocks layers, and do not rotate
    kFlatBase = 65536,      // the base is read at the top of the configuration alone
    kOwnBase = 131072,      // the base at the top is read only beside rope_parameters
    kShortNames = 262144    // width and heads are names of hidden_size and num_attention_heads
};

// A vision tower of Hugging Face Transformers: the part of a model that reads images.
struct Tower {
    const char* type; // as model_type has it
    RopePairing pairing;
    const char* axes;      // names, in the order of their pairs
    double base;           // where the configuration has none
    uint32_t width, heads; // where the configuration has none
    unsigned traits;
    uint32_t registers = 0; // where the configuration has no num_register_tokens
};

std::vector<const Tower*> listTowers();

// Returns null where the type is not known. Within a vision_config the type may lack its ending.
const Tower* findTower(const std::string& type, bool within);

// How the axes split a head's elements: by a list, or by a formula of the model's own code.
enum class AxisSplit { listed, wan, cogvideo, thirds };

// An image or video transformer of diffusers.
struct DiffusersModel {
    const char* name; // as _class_name has it
    AxisSplit split;
    const char* dims_key;         // the key that lists the elements of each axis; null unless listed
    uint32_t dims[ROPE_MAX_AXES]; // the elements of each axis where that key is absent
    const char* axes;
    RopePairing pairing;
    double base;
    const char* base_key; // null: none is read
    uint32_t head_dim;
};

std::vector<const DiffusersModel*> listDiffusersModels();

// Returns null where the class is not known.
const DiffusersModel* findDiffusersModel(const std::string& name);

// Returns why the class is no rotation by fixed frequencies; null where it is one, or is not known.
const char* whyNoDiffusersRotation(const std::string& name);

// Says how the class' code changes coordinates before they rotate anything; null: the code leaves them as they are.
const char* positionNote(const std::string& name);

} // namespace rope
