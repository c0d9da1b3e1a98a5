// A model's position encoding, from the header of its .gguf file.
#pragma once

#include "config/config.hpp"

#include <cstddef>
#include <functional>

namespace rope {

struct GgufRequest {
    double length = 0;      // the largest position so far plus 1, for factors that depend on it; 0: within the original
    std::string layer_type; // "full_attention" or "sliding_attention", where the two differ
    uint32_t rotary_dim = 0; // elements; in place of the file's own
};

// Bytes that are read piece by piece. `read` copies `count` bytes from `offset` on, all within `size`, or returns
// false.
struct GgufSource {
    uint64_t size = 0;
    std::function<bool(uint64_t offset, size_t count, uint8_t* to)> read;
};

// Versions 2 and 3, little endian: the metadata, the list of tensors, and of their data the frequencies' factors alone.
// model->rule says what the keys say; factors are in the frequencies alone, and the rule's lists are null.
// What it cannot honour is refused by name: false, and one sentence in *error. Throws nothing but std::bad_alloc.
bool parseGguf(const GgufSource& source, const GgufRequest& request, ModelEncoding* model, std::string* error);
bool parseGguf(const uint8_t* bytes, size_t size, const GgufRequest& request, ModelEncoding* model, std::string* error);

// The sentence begins with the path.
bool readGguf(const std::string& path, const GgufRequest& request, ModelEncoding* model, std::string* error);

} // namespace rope
