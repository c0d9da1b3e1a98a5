// `vkrope bench --beside FILE`: a description of another project's shaders, read and compared with what they ask for.
#pragma once

#include "bench/cases/foreign.hpp"

namespace tool {

// Throws std::invalid_argument, with one sentence that names the key, if the description is at fault.
measure::Foreign readBeside(const std::string& path, rope::Device* device);

} // namespace tool
