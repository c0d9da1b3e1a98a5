// Any bytes are either refused with one sentence, from memory and from a file alike, or give an encoding that is whole.
#include "models/gguf/gguf.hpp"
#include "support/folder.hpp"
#include "support/layers_agree.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

bool same(const rope::ModelEncoding& a, const rope::ModelEncoding& b) {
    return a.model_type == b.model_type && a.frequencies == b.frequencies && a.scale == b.scale &&
           a.head_dim == b.head_dim && a.rotary_begin == b.rotary_begin && a.rotary_dim == b.rotary_dim &&
           a.pairing == b.pairing && a.rule.kind == b.rule.kind;
}

void requireWhole(const rope::ModelEncoding& model) {
    require(model.pairing != ROPE_PAIRING_DEFAULT && !model.model_type.empty());
    require(model.rotary_dim >= 2 && model.rotary_dim == 2 * model.frequencies.size());
    require(model.rotary_begin + model.rotary_dim <= model.head_dim);
    require(model.scale > 0 && std::isfinite(model.scale));
    for (const double frequency : model.frequencies) require(frequency >= 0 && std::isfinite(frequency));
    require(layersAgree(model));
}

} // namespace

void fuzzGguf(const uint8_t* bytes, size_t size) {
    for (const char* type : {"", "full_attention", "sliding_attention"}) {
        for (const double length : {0.0, 1e6}) {
            for (const uint32_t rotary_dim : {0u, 16u}) {
                rope::ModelEncoding model;
                std::string error;
                const bool accepted = rope::parseGguf(bytes, size, {length, type, rotary_dim}, &model, &error);
                require(accepted == error.empty());
                if (accepted) requireWhole(model);
                rope::GgufRequest one = {length, type, rotary_dim};
                one.layer = 3;
                if (rope::parseGguf(bytes, size, one, &model, &error)) requireWhole(model);
            }
        }
    }
    static const Folder folder;
    const std::string path = folder / "in.gguf";
    std::FILE* file = std::fopen(path.c_str(), "wb");
    require(file != nullptr && (size == 0 || std::fwrite(bytes, 1, size, file) == size));
    std::fclose(file);
    rope::ModelEncoding model, again;
    std::string error, file_error;
    const bool accepted = rope::parseGguf(bytes, size, {}, &model, &error);
    require(rope::readGguf(path, {}, &again, &file_error) == accepted);
    require(accepted ? same(model, again) : file_error == path + ": " + error);
}

#ifdef VKROPE_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    fuzzGguf(bytes, size);
    return 0;
}
#endif
