// The request of `vkrope rotate`: its options, and the rotation that they describe, with its inputs read from files.
#pragma once

#include "program/commands/encoding.hpp"
#include "program/commands/positions.hpp"
#include "program/files/arrays.hpp"

#include <optional>

namespace tool {

struct RotateOptions {
    EncodingOptions encoding;
    std::string positions, cos, sin, q, q_out, k, k_out;
    std::string order, pairing, pairing_out, source, element, element_out, angle, device, outside;
    std::optional<uint32_t> rotary_offset, skip_first, skip_last;
    uint32_t chunk_dim = 0; // 0: not given
    bool transpose = false, inverse = false, shift = false;
};

struct RotateRequest {
    RopeRotateDescription description = {}; // points into `encoding`
    Encoding encoding;
    Positions positions;
    std::vector<float> given_rows; // empty: made from the encoding
    Tensor q, k;                   // k without heads: there is none
    uint64_t without_position = 0; // tokens that should turn, whose positions int32 does not hold
    uint32_t k_rotary_begin = 0;   // of K's heads, which may be of another size than Q's
};

// Checks the options and reads all files that they name.
bool readRotateRequest(const RotateOptions& options, RotateRequest* request, Failure* failure);

// Takes K out where its heads are of another size than Q's: one request describes heads of one size. The result points
// into *request as that does.
std::optional<RotateRequest> takeOutK(RotateRequest* request);

} // namespace tool
