// One case of `vkrope check` on one device.
#pragma once

#include "tool/matrix.hpp"
#include "tool/target.hpp"

namespace tool {

// Of one thread.
struct Bench {
    rope::Device device;
    bool nearest; // it rounds float32 so
    Buffers buffers;
};

struct Found {
    uint64_t unequal = 0; // elements whose bits are not the CPU's
    double error = 0;     // the worst
    double allowed = 0;
    bool refused = false; // odd 16-bit geometry on a device without 16-bit storage: nothing was run
};

// `seed` is of the positions and elements. False where the case could not be carried out.
bool checkTable(Bench* bench, const TableCase& given, uint64_t seed, Found* found, Failure* failure);
bool checkRotation(Bench* bench, const RotateCase& given, uint64_t seed, Found* found, Failure* failure);

} // namespace tool
