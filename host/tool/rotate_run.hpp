// One rotation of Q, and K where there is one, and the two ways to carry it out.
#pragma once

#include "tool/input.hpp"
#include "tool/target.hpp"

namespace tool {

struct Rotation {
    RopeRotateDescription description = {}; // points into `encoding`
    Encoding encoding;
    Positions positions;
    std::vector<float> given_rows; // empty: made from the encoding
    Tensor q, k;                   // k without heads: there is none
};

struct Rotated {
    std::vector<uint8_t> q, k;
    uint32_t outside = 0; // tokens outside a given table
};

bool rotateOnDevice(rope::Device* device, Rotation* rotation, Rotated* rotated, Failure* failure);

// In double, rounded once to the output's element.
bool rotateOnReference(Rotation* rotation, Rotated* rotated, Failure* failure);

} // namespace tool
