// One case of `vkrope check` on one device.
#pragma once

#include "program/check/matrix.hpp"
#include "program/target.hpp"

namespace tool {

// The device of one thread, and its buffers.
struct CheckDevice {
    rope::Device opened;
    bool nearest; // float32 is rounded to nearest
    SlotBuffers buffers;
};

struct CaseErrors {
    uint64_t unequal = 0; // elements whose bits are not the CPU's
    double error = 0;     // the largest, in ulps
    double allowed = 0;
};

// `seed` draws the positions and elements. Both return false where the case could not be carried out.
bool checkTableCase(CheckDevice* device, const TableCase& given, uint64_t seed, CaseErrors* errors, Failure* failure);
bool checkRotationCase(CheckDevice* device, const RotateCase& given, uint64_t seed, CaseErrors* errors,
                       Failure* failure);

} // namespace tool
