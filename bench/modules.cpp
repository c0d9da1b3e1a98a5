// vkrope-modules FOLDER writes every shader's SPIR-V, as it is compiled and with the constants of typical plans folded
// in.
#include "bench/cases/typical_passes.hpp"

#include "shaders/modules.h"

#include <cstdio>
#include <stdexcept>

namespace {

void writeModule(const std::string& path, const uint32_t* words, size_t bytes) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool written = file != nullptr && std::fwrite(words, 1, bytes, file) == bytes;
    if (file == nullptr || std::fclose(file) != 0 || !written) throw std::runtime_error(path + " cannot be written");
}

void writeModules(const std::string& folder) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 6;
    limits.enabled = ROPE_ENABLED_STORAGE_16;
#define ROPE_SHADER(name, file, family, needs, defines)                                                                \
    writeModule(folder + "/" #name ".spv", rope_shader_##name.words, rope_shader_##name.bytes);
#include "shaders/list.def"
#undef ROPE_SHADER
    for (const measure::TypicalPass& typical : measure::typicalPasses(limits)) {
        RopeDispatch dispatch;
        ropeGetDispatch(&typical.plan, 0, &dispatch);
        std::vector<uint32_t> words(dispatch.shader->bytes / 4);
        const size_t bytes = ropeSpecialize(&dispatch, words.data());
        writeModule(folder + "/" + typical.name + "." + dispatch.shader->name + ".spv", words.data(), bytes);
    }
}

} // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: vkrope-modules FOLDER\n");
        return 2;
    }
    try {
        writeModules(arguments[1]);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "vkrope-modules: %s\n", failure.what());
        return 1;
    }
    return 0;
}
