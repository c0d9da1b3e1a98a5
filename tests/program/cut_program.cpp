// This file is linked into programs with --wrap=dlsym, and cuts off what VKROPE_TEST_CUTS names from every device:
// names of tests/support/cut.hpp with spaces between them, and "floor" for all that Vulkan does not promise.
#include "support/cut.hpp"
#include "support/floor.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

extern "C" void* __real_dlsym(void* library, const char* name);

namespace {

uint32_t namedCut(const std::string& name) {
    for (uint32_t number = 0; number < gpu::kCutCount; ++number) {
        if (name == gpu::cutName(number)) return 1u << number;
    }
    std::fprintf(stderr, "VKROPE_TEST_CUTS: '%s' is no name of a cut\n", name.c_str());
    std::_Exit(2);
}

void tellBrokenRules() {
    const std::string text = gpu::brokenRules().text() + gpu::beyondFloor().text();
    if (!text.empty()) std::fprintf(stderr, "broken rules:\n%s", text.c_str());
}

PFN_vkGetInstanceProcAddr cutBy(const char* names, PFN_vkGetInstanceProcAddr below) {
    uint32_t cuts = 0;
    std::istringstream words(names);
    for (std::string name; words >> name;) {
        if (name == "floor") {
            below = gpu::floorLoader();
        } else {
            cuts |= namedCut(name);
        }
    }
    static const int kAtExit = std::atexit(tellBrokenRules);
    (void)kAtExit;
    return gpu::cutLoader(cuts, below);
}

} // namespace

extern "C" void* __wrap_dlsym(void* library, const char* name) {
    static bool inside = false; // the floor opens the loader too
    void* const found = __real_dlsym(library, name);
    const char* const names = std::getenv("VKROPE_TEST_CUTS");
    if (inside || names == nullptr || found == nullptr || std::strcmp(name, "vkGetInstanceProcAddr") != 0) return found;
    inside = true;
    const PFN_vkGetInstanceProcAddr cut = cutBy(names, reinterpret_cast<PFN_vkGetInstanceProcAddr>(found));
    inside = false;
    return reinterpret_cast<void*>(cut);
}
