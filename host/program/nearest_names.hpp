// The names that a sentence offers in place of one that is not there.
#pragma once

#include <string>
#include <vector>

namespace tool {

// Lists a few names, first those that hold the wanted one, then those that begin as it does but for a few letters.
std::string nearestNames(std::vector<std::string> names, const std::string& wanted);

} // namespace tool
