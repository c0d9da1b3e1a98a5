// This header reads a model's position encoding from the header of its .gguf file.
#pragma once

#include "models/config.hpp"

#include <cstddef>
#include <functional>

namespace rope {

struct GgufRequest {
    double length = 0;      // the largest position so far plus 1, for factors that depend on it; 0: within the original
    std::string layer_type; // "full_attention" or "sliding_attention", where the two differ
    uint32_t rotary_dim = 0; // elements; in place of the file's own
    // One layer by its number, from 0 on; with a layer_type it must be of that type.
    std::optional<uint32_t> layer = std::nullopt;
};

// GgufSource has bytes that are read piece by piece. `read` copies `count` bytes from `offset` on, all within `size`,
// or returns false.
struct GgufSource {
    uint64_t size = 0;
    std::function<bool(uint64_t offset, size_t count, uint8_t* to)> read;
};

// Reads versions 2 and 3, little endian: the metadata, the list of tensors, and the data of the frequencies' factors.
// No other tensor's data is read. model->rule holds what the keys say; factors go into the frequencies alone, and the
// rule's lists are null. A key that cannot be honoured is refused by name: the result is false, and *error has one
// sentence. The call throws nothing but std::bad_alloc.
bool parseGguf(const GgufSource& source, const GgufRequest& request, ModelEncoding* model, std::string* error);
bool parseGguf(const uint8_t* bytes, size_t size, const GgufRequest& request, ModelEncoding* model, std::string* error);

// Reads a file. A refusal's sentence begins with the path.
bool readGguf(const std::string& path, const GgufRequest& request, ModelEncoding* model, std::string* error);

} // namespace rope
