// The two ways to carry out a request of `vkrope rotate`: on a device, and on the CPU.
#pragma once

#include "program/commands/rotate_request.hpp"
#include "program/target.hpp"

namespace tool {

struct RotateResult {
    std::vector<uint8_t> q, k;
    uint32_t outside = 0; // tokens outside a given table
};

bool rotateOnDevice(rope::Device* device, RotateRequest* request, RotateResult* result, Failure* failure);

// Has the shaders' own bits, or as the reference computes in double and rounds once to the output's element.
bool rotateOnCpu(const RotateRequest& request, bool reference, RotateResult* result, Failure* failure);

} // namespace tool
