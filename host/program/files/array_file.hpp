// Files of arrays: an .npy of one, and those that hold many by name. An option names an array of those by FILE:NAME.
#pragma once

#include "program/files/safetensors.hpp"
#include "program/tool.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tool {

struct ArrayPath {
    enum class Kind { npy, npz, safetensors, index };
    Kind kind = Kind::npy;
    std::string file, name; // no name: none is given
};

// Tells the kind by the file's ending; what has no ending of the others is an .npy.
ArrayPath::Kind kindOfFile(const std::string& file);

// Takes a text as the name of a file that is there, else as FILE:NAME where FILE has the ending of a file of many.
ArrayPath arrayPathOf(const std::string& text);

// The help of a command says this of the files that its options take; a footer goes on behind it.
extern const char kArrayFilesHelp[];

// The arrays of a file by their names; that of an .npy has none.
class ArraySet {
  public:
    virtual ~ArraySet() = default;
    virtual bool readHeader(size_t index, rope::NpyArray* array, std::string* error) = 0; // all but the data
    virtual bool read(size_t index, rope::NpyArray* array, std::string* error) = 0;
    virtual rope::SafetensorsMetadata metadata() const { return {}; }
    const std::vector<std::string>& names() const { return names_; }

  protected:
    std::vector<std::string> names_;
};

// Returns null, with a sentence, where the file cannot be read.
std::unique_ptr<ArraySet> openArrays(const std::string& option, const ArrayPath& path, Failure* failure);

// Returns the files that are read for a path: of a checkpoint in parts also the parts.
std::vector<std::string> filesOf(const std::string& text);

// Finds the array that the path names, the only one where it gives no name.
bool findArray(const std::string& option, const ArrayPath& path, const ArraySet& set, size_t* index, Failure* failure);

// Finds all arrays of a name in which a * stands for any text.
bool findArrays(const std::string& option, const ArrayPath& path, const ArraySet& set, std::vector<size_t>* indices,
                Failure* failure);

// Judges an array by its type and shape, before there is memory for its data.
using ArrayCheck = std::function<bool(const rope::NpyArray& header, Failure* failure)>;

// Reads the array at a path, or at FILE:NAME in a file of many, if the check finds nothing.
bool readArrayFile(const std::string& option, const std::string& path, const ArrayCheck& check, rope::NpyArray* array,
                   Failure* failure);

} // namespace tool
