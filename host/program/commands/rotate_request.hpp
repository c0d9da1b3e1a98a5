// The request of `vkrope rotate`: its options, and the rotation that they describe, with its inputs read from files.
#pragma once

#include "program/commands/encoding.hpp"
#include "program/commands/positions.hpp"
#include "program/files/arrays.hpp"

#include <optional>

namespace tool {

struct RotateOptions {
    EncodingOptions encoding;
    std::string positions, q, q_out, k, k_out;
    std::string order, pairing, pairing_out, element, element_out;
    std::optional<uint32_t> rotary_offset;
    bool transpose = false, inverse = false, shift = false;
};

struct RotateRequest {
    RopeRotateDescription description = {}; // points into `encoding`
    Encoding encoding;
    Positions positions;
    Tensor q, k;                 // k without heads: there is none
    uint32_t k_rotary_begin = 0; // of K's heads, which may be of another size than Q's
};

// Checks the options and reads all files that they name.
bool readRotateRequest(const RotateOptions& options, RotateRequest* request, Failure* failure);

// Takes K out where its heads are of another size than Q's: one request describes heads of one size. The result points
// into *request as that does.
std::optional<RotateRequest> takeOutK(RotateRequest* request);

} // namespace tool
