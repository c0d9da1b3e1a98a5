// The records of text.json, vision.json, diffusers.json and gguf.json, as tables. records.def has the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rope {

// A list in a table of constants.
template <typename T> struct Listed {
    const T* first = nullptr;
    size_t count = 0;

    const T* begin() const { return first; }
    const T* end() const { return first + count; }
};

using Flag = bool;
using Number = double;
using Count = uint32_t;
using Text = const char*;   // null: the record says nothing
using Object = const char*; // JSON
using Name = char[40];      // no pointer, which a start of the program would have to relocate
enum class Origin { read, remembered };
using Words = Listed<const char*>;
using Counts = Listed<uint32_t>;

bool isIn(const Words& words, std::string_view word);

// A sentence about a model whose configuration has a key, or has it not.
struct Remark {
    enum class When { always, present, absent, equal };
    const char* key;
    When when;         // equal: the sentence is a refusal; else it is a note
    const char* value; // JSON, where it must be equal
    const char* text;
};
using Remarks = Listed<Remark>;

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
Listed<Model> listModels();
Listed<Tower> listTowers();
Listed<DiffusersModel> listDiffusersModels();
Listed<Architecture> listArchitectures();

// These return null where the name is not known. The type of a model of several parts stands for the part that reads
// text, and within a vision_config for the part that reads images.
const Model* findModel(const std::string& type);
const Tower* findTower(const std::string& type, bool within);
const DiffusersModel* findDiffusersModel(const std::string& name);
const Architecture* findArchitecture(const std::string& name);

// Returns why a type, or a class of diffusers, is not encoded by a rotation; null where nothing is known against it.
const char* whyNoRotation(const std::string& type);
const char* whyNoDiffusersRotation(const std::string& name);

// Returns what a type has in the place of a rotation, and the command that makes it; null where it is not known to have
// none. Some code of the type may make one all the same, where its configuration asks for it.
const char* insteadOfRotation(const std::string& type);
std::vector<std::string> typesWithAnotherEncoding();

// Returns what a whole model turns beside its text; null: nothing.
const char* whatElseTurns(const std::string& type);

// Transformers' names of layer types, and those of them that do not rotate.
Words layerTypeNames();
Words stillLayerTypes();

} // namespace rope
