// The records of text.json, vision.json, diffusers.json and gguf.json, as tables. records.def has the keys.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace rope {

using Flag = bool;
using Number = double;
using Count = uint32_t;
using Text = const char*;   // null: the record says nothing
using Object = const char*; // JSON; {}: the record says nothing
using Name = char[40];      // no pointer, which a start of the program would have to relocate
enum class Origin { read, remembered };
using Words = std::initializer_list<const char*>;
using Counts = std::initializer_list<uint32_t>;

// A sentence about a model whose configuration has a key, or has it not.
struct Remark {
    enum class When { always, present, absent, missing, equal };
    const char* key;
    When when;         // missing: absent beside a rule; equal: the sentence is a refusal; else it is a note
    const char* value; // JSON, where it must be equal
    const char* text;
};
using Remarks = std::initializer_list<Remark>;

#define ROPE_CHOICE(name, ...)                                                                                         \
    enum class name { __VA_ARGS__ };                                                                                   \
    using Choice_##name = name;
#include "models/records.def"

#define ROPE_MEMBER(kind, key, otherwise) kind key = otherwise;

struct Model {
    Name name = "";
#define ROPE_TEXT ROPE_MEMBER
#include "models/records.def"
};

struct Tower {
    Name name = "";
#define ROPE_VISION ROPE_MEMBER
#include "models/records.def"
};

struct DiffusersModel {
    Name name = "";
#define ROPE_DIFFUSERS ROPE_MEMBER
#include "models/records.def"
};

struct Architecture {
    Name name = "";
#define ROPE_GGUF ROPE_MEMBER
#include "models/records.def"
};

#undef ROPE_MEMBER

// All of them, in the order of their names' bytes.
extern const std::initializer_list<Model> kModels;
extern const std::initializer_list<Tower> kTowers;
extern const std::initializer_list<DiffusersModel> kDiffusersModels;
extern const std::initializer_list<Architecture> kArchitectures;

// These return null where the name is not known. The type of a model of several parts stands for the part that reads
// text, and within a vision_config for the part that reads images.
const Model* findModel(const std::string& type);
const Tower* findTower(const std::string& type, bool within);
const DiffusersModel* findDiffusersModel(const std::string& name);
const Architecture* findArchitecture(const std::string& name);

// Returns why a type is not encoded by a rotation, or what it has in the place of one, and the command that makes that;
// null where nothing is known against it. Where it has another encoding, *never is false: some code of the type may
// make a rotation all the same, where its configuration asks for it.
const char* whyNoRotation(const std::string& type, bool* never);
std::vector<std::string> typesWithAnotherEncoding();

// Returns why a class of diffusers is not encoded by a rotation; null where nothing is known against it.
const char* whyNoDiffusersRotation(const std::string& name);

// Returns what a whole model turns beside its text; null: nothing.
const char* whatElseTurns(const std::string& type);

// Transformers' names of layer types, and those of them that do not rotate.
extern const Words kLayerTypeNames, kStillLayerTypes;

} // namespace rope
