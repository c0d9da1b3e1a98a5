#include "paths.hpp"

#include <cstdlib>

namespace paths {
namespace {

std::string folderOf(const char* variable, const char* built) {
    const char* named = std::getenv(variable);
    return named != nullptr ? named : built;
}

} // namespace

std::string data(const std::string& name) {
    return folderOf("VKROPE_TEST_ROOT", VKROPE_TEST_ROOT) + "/tests/data/" + name;
}
std::string unpacked(const std::string& name) {
    return folderOf("VKROPE_TEST_BUILD", VKROPE_TEST_BUILD) + "/unpacked/" + name;
}
std::string shaders() { return folderOf("VKROPE_TEST_BUILD", VKROPE_TEST_BUILD) + "/shaders"; }

} // namespace paths
