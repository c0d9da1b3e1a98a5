// The option matrix that `vkrope check` runs through.
#pragma once

#include "rope.h"
#include "tool/covering.hpp"

#include <string>
#include <vector>

namespace tool {

struct Draft; // a rotation that is being chosen

// One thing to choose. Each knows the choices of those before it.
struct Axis {
    const char* what;
    bool in_turn;                   // one choice for each combination of the axes before it, else every choice
    std::vector<const char*> names; // one per choice
    void (*choose)(uint32_t choice, Draft* draft);
    bool (*applies)(const Draft& draft); // where not, it is the first choice and goes without a name
};
const std::vector<Axis>& axes();

// Every combination of the axes; neighbours share their pipelines.
std::vector<Choices> rotateChoices();
// Of these a few that still bring together every three choices that ever meet.
std::vector<Choices> quickChoices(const std::vector<Choices>& all);
// The same for a device without 16-bit storage; false where nothing had to change.
bool alignForAll(Choices* choices);

struct RotateCase {
    std::string name;                       // "by four, f16 in, f32 out, half in, ..."
    RopeRotateDescription description = {}; // all but frequencies.values; layouts and rows filled in
};
RotateCase rotateCase(const Choices& choices);

struct TableCase {
    std::string name;
    RopeTableDescription description = {}; // all but frequencies.values
};
std::vector<TableCase> tableCases();

const char* elementName(RopeElement element);

} // namespace tool
