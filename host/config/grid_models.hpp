// Models whose tokens lie on a grid, of an image or a video: what their code decides, one row a model.
#pragma once

#include "rope.h"

#include <string>

namespace rope {

enum GridTraits : unsigned {
    kEveryOther = 1,    // of one ladder over all pairs, axis a takes every other frequency from a on; else one each
    kInTurns = 2,       // the axes take pairs in turns; else together
    kChunked = 4,       // half pairing inside each axis' own part
    kTurnsOfPi = 8,     // positions are times 2 pi
    kPrefix = 16,       // a class token and num_register_tokens come first, and do not turn
    kClassLast = 32,    // a class token comes last, and does not turn
    kWidthEmbed = 64,   // the width is embed_dim; else hidden_size
    kReadsBase = 128,   // rope_theta
    kMemory = 256,      // keys begin with memory_attention_
    kWindows = 512,     // layers without windows see their positions scaled
    kRoundsDown = 1024, // an axis takes what it can of the head, and the rest of the head does not turn
    kFromOne = 2048,    // the code adds 1 to its coordinates
    kCentres = 4096     // positions are centres of patches, from -1 to 1
};

struct Tower {        // of vision, in Hugging Face Transformers
    const char* type; // as model_type has it
    RopePairing pairing;
    const char* axes; // names, in the order of their pairs
    double base;      // where there is none
    uint32_t width, heads;
    unsigned traits;
};

// Null where the type is not known. Within a vision_config it may be without its ending.
const Tower* findTower(const std::string& type, bool within);

enum class Share { listed, wan, cogvideo, thirds }; // how a head's elements are shared among the axes

struct Painter {      // of images and videos, in diffusers
    const char* name; // as _class_name has it
    Share share;
    const char* list;             // listed: the key of the axes' elements
    uint32_t dims[ROPE_MAX_AXES]; // listed: where there are none
    const char* axes;
    RopePairing pairing;
    double base;
    const char* base_key; // null: none is read
    uint32_t head_dim;
};

// Null where the class is not known.
const Painter* findPainter(const std::string& name);

// Why the class is no rotation by fixed frequencies; null where it is one, or not known.
const char* whyNoPainter(const std::string& name);

// What its code makes of coordinates before they turn anything; null: nothing.
const char* positionNote(const std::string& name);

} // namespace rope
