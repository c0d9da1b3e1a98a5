// What a model's own code decides and its configuration may leave out: one table, by model_type.
#pragma once

#include "rope.h"

#include <string>

namespace rope {

enum class PairingStyle {
    halves,
    neighbours,
    neighbours_to_halves // reads adjacent pairs, writes halves
};

enum ModelTraits : unsigned {
    kPartial = 1,        // the default rule turns only partial_rotary_factor of the head, too
    kLayers = 2,         // layers of two types differ; a rule that is not nested holds for one of them
    kCompress = 4,       // the two are called main and compress
    kScaleBoth = 8,      // a rule that is not nested holds for both
    kGlobalHead = 16,    // the full layers' heads are of global_head_dim
    kTrailing = 32,      // the rotary part is the head's end
    kBackwards = 64,     // turns the other way
    kAxes = 128,         // positions of three axes, t, h and w; each turns pairs that lie together
    kRotary64 = 256,     // 64 elements turn where rotary_dim is absent
    kSuNames = 512,      // su and yarn are names of longrope
    kAlpha = 1024,       // dynamic may have an alpha
    kMscales = 2048,     // longrope always by short_factor, scaled by short_mscale or long_mscale
    kAsksType = 4096,    // rotates only where position_embedding_type says so
    kLists = 8192,       // bases and parts may be lists, of one number per layer
    kRotaryDim = 16384,  // reads how many elements turn, outright
    kRatio = 32768,      // its base may be a multiple, rope_ratio
    kSteppedNtk = 65536, // use_dynamic_ntk stretches the base, by steps
    kMixedNtk = 131072,  // ntk is ntk_mixed, with the exponent mixed_b, else 1
    kDealtAxes = 262144, // of kAxes: the axes take pairs in turns
    kErnieAxes = 524288  // of kAxes: h and w take pairs in turns, then t the rest
};

struct ModelSizes { // 0: there is none
    uint32_t head_dim, hidden_size, heads, rope_head_dim;
};

struct Model {
    const char* type; // as model_type has it
    PairingStyle pairing;
    double base;       // where the configuration has none
    double other_base; // of the sliding layers, of the compressing ones; 0: as the others
    double partial;    // where partial_rotary_factor is absent
    ModelSizes sizes;  // where they are absent
    unsigned traits;
    const char* parameters; // rope_parameters where there are none; null: the default rule. An mrope_section goes in
                            // wherever there is none
};

// Null where the type is not known. A model of several parts stands for its text.
const Model* findModel(const std::string& type);

// Why the model's positions cannot be encoded by a rotation; null where they can.
const char* whyNoRotation(const std::string& type);

} // namespace rope
