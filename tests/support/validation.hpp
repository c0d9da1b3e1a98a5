// The tests ask this of the validation layer by its environment. Newer layers leave out what shaders access unless they
// are asked, since they take the whole of a binding for accessed, and fall silent after ten messages of a kind.
#pragma once

#include <cstdlib>

inline void askLayerForShaders() {
    static const char* const settings[][2] = {{"VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "1"},
                                              {"VK_LAYER_ENABLE_MESSAGE_LIMIT", "0"}};
    for (const auto& setting : settings) {
#ifdef _WIN32
        _putenv_s(setting[0], setting[1]);
#else
        setenv(setting[0], setting[1], 1);
#endif
    }
}
