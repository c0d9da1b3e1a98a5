// Where the tests find files: in the repository and the build folder that they were built from, or in those that
// VKROPE_TEST_ROOT and VKROPE_TEST_BUILD name, on a machine that the programs were carried to.
#pragma once

#include <string>

namespace paths {

std::string data(const std::string& name);     // tests/data/name
std::string unpacked(const std::string& name); // what the build unpacked of tests/name.tar.xz: data/onnx, corpus/npy
std::string shaders();                         // the build's SPIR-V

} // namespace paths
