// The option matrix that `vkrope check` runs through.
#pragma once

#include "program/check/covering.hpp"
#include <vkrope/rope.h>

#include <string>
#include <vector>

namespace tool {

struct PartialCase; // a rotation whose options are chosen one after the other

// An option of a rotation, with its choices. Each option knows the choices of the options before it.
struct MatrixOption {
    const char* name;
    bool sampled; // one choice, by a hash, for each combination of the options before; else every choice
    std::vector<std::string> choices; // their names
    void (*choose)(uint32_t choice, PartialCase* partial);
    bool (*applies)(const PartialCase& partial); // if not, the first choice is made and not named
};
const std::vector<MatrixOption>& matrixOptions();

// Returns every combination of the options; neighbours share their pipelines.
std::vector<Choices> rotateChoices();
// Selects a few of these that still contain every three choices which occur together in any.
std::vector<Choices> quickChoices(const std::vector<Choices>& all);

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

} // namespace tool
