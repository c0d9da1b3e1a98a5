// The table of text models, by model_type: it has what a model's own code decides and its configuration may leave out.
#pragma once

#include <vkrope/rope.h>

#include <string>
#include <vector>

namespace rope {

enum class PairingStyle {
    half,
    interleaved,
    interleaved_to_half // reads interleaved pairs, writes half pairs
};

enum ModelTraits : unsigned {
    kPartialHead = 1,                 // the default rule, too, rotates only partial_rotary_factor of the head
    kLayerTypes = 2,                  // layers of two types differ; a rule that is not nested holds for one of them
    kCompressLayers = 4,              // the two types are called main and compress
    kScalesAllLayers = 8,             // a rule that is not nested holds for both types
    kGlobalHeadDim = 16,              // the full layers' heads are of global_head_dim
    kRotaryLast = 32,                 // the rotary part is the head's end
    kBackwards = 64,                  // turns the other way
    kHasPositionAxes = 128,           // positions of three axes, t, h and w; each axis has contiguous pairs
    kNeedsSections = 33554432,        // with kHasPositionAxes: there is no default for mrope_section
    kRotary64 = 256,                  // 64 elements rotate where rotary_dim is absent
    kPhisLongrope = 512,              // no other rule, by the names su and yarn too; its original length is beside it
    kDynamicAlpha = 1024,             // the dynamic rule may have an alpha
    kShortLongMscale = 2048,          // longrope always by short_factor, scaled by short_mscale or long_mscale
    kEmbeddingTypeDecides = 4096,     // rotates only where position_embedding_type says so
    kLayerLists = 8192,               // bases and rotary parts may be lists, with a number for each layer
    kRotaryDim = 16384,               // reads rotary_dim, the rotary part in elements
    kRopeRatio = 32768,               // the base may be multiplied by rope_ratio
    kSteppedNtk = 65536,              // use_dynamic_ntk stretches the base, by steps
    kMixedNtk = 131072,               // the rule ntk is ntk_mixed, with the exponent mixed_b, else 1
    kRoundRobinAxes = 262144,         // with kHasPositionAxes: the pairs go to the axes round robin
    kErnieAxes = 524288,              // with kHasPositionAxes: pairs go to h and w round robin, then the rest to t
    kOtherCode = 1048576,             // the code is not that of Transformers: no key is known to be one that it ignores
    kClassPartial = 2097152,          // a scaled rule takes the class's own partial_rotary_factor, not that in the rule
    kScaledPartial = 4194304,         // partial_rotary_factor beside the rule holds for scaled rules alone
    kProjectionRotary = 8388608,      // the rotary part is half of projection_dim's share of a head, or 32
    kEmbeddingsTypeDecides = 16777216 // rotates only where position_embeddings_type is rotary
};

// A size of 0 is one that the model's code has no default for.
struct ModelSizes {
    uint32_t head_dim, hidden_size, heads, rope_head_dim;
    uint32_t nope_head_dim = 0; // beside a rope_head_dim
};

struct Model {
    const char* type; // as model_type has it
    PairingStyle pairing;
    double base;        // where the configuration has none
    double second_base; // of the sliding or the compressing layers; 0: base
    double partial;     // where partial_rotary_factor is absent
    ModelSizes sizes;   // where the configuration has none
    unsigned traits;
    const char* parameters; // rope_parameters where the configuration has none; null: the default rule. An
                            // mrope_section holds even where the configuration has other parameters. Its base and its
                            // partial_rotary_factor go before those at the top of the configuration
};

std::vector<const Model*> listModels();

// Returns null where the type is not known. The type of a model of several parts stands for the part that reads text.
const Model* findModel(const std::string& type);

} // namespace rope
