// Where the layers of a model differ by type: which of them is read, and the rule that is its own.
#pragma once

#include "config/source.hpp"

namespace rope {
namespace config {

bool findRules(Source* source, std::string* error);
bool chooseLayer(const std::string& wanted, Source* source, ModelEncoding* model, std::string* error);

// Lists with a number for each layer become the number that the chosen layers have in common.
bool resolveLists(Source* source, std::string* error);

} // namespace config
} // namespace rope
