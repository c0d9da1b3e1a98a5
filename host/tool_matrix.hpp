// The option matrix that `vkrope check` runs through.
#pragma once

#include "rope.h"

#include <string>
#include <vector>

namespace tool {

struct RotateCase {
    std::string name;                       // "f16 to f32, table in f16, half to interleaved, ..."
    RopeRotateDescription description = {}; // all but frequencies.values; layouts and rows filled in
};

// Every combination of elements, source, pairings and operation; what else there is to choose changes from each to the
// next in no simple order.
std::vector<RotateCase> rotateCases();

struct TableCase {
    std::string name;
    RopeTableDescription description = {}; // all but frequencies.values
};
std::vector<TableCase> tableCases();

const char* elementName(RopeElement element);

} // namespace tool
