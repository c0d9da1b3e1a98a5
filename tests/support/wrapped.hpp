// Wrapped function tables share these: how they are asked for, and the loader below them.
#pragma once

#include <vkrope/loader.hpp>

#include <cstdlib>
#include <cstring>

namespace gpu {

// Returns true if an environment variable is set, and not to 0.
inline bool isAsked(const char* variable) {
    const char* asked = std::getenv(variable);
    return asked != nullptr && *asked != '\0' && std::strcmp(asked, "0") != 0;
}

// Returns the function of the system's loader; null where there is none.
inline PFN_vkGetInstanceProcAddr systemLoader() {
    std::string error;
    const std::unique_ptr<rope::Instance> instance = rope::Instance::open(nullptr, nullptr, &error);
    return instance == nullptr ? nullptr : instance->vk().GetInstanceProcAddr;
}

} // namespace gpu
