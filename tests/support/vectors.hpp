// Rotations that other projects' own code has made (tests/data), run on a device, and their arrays.
#pragma once

#include "gpu.hpp"
#include "program/files/npy.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace vectors {

using nlohmann::json;
using rope::NpyArray;
using Bytes = std::vector<uint8_t>;

// How far a result may be from the one given: absolutely, or in ulps of the stored type at the length of the pair.
struct Tolerance {
    double absolute;
    double ulps;
};

// Elements are below 8 and their float32 ulp is at most 2^-21. Ours and theirs round two products, of which only one
// reaches the length's binade (0.5 + 0.25), and a sum (0.5): 2.5 ulps apart at most, 1.2e-6. Their cos and sin, where
// not given, are within 1 ulp of the angle's and ours within 0.51: sqrt(2) * 1.51 * 2^-24 * 4.7 (the longest pair's
// length) is 0.6e-6 more.
constexpr Tolerance kFloat32 = {2e-6, 0};

struct Case {
    std::string name;
    RopeRotateDescription description = {};
    Tolerance tolerance = kFloat32;
    Bytes rows;
    Bytes positions; // int64, as PyTorch has them
    std::vector<double> frequencies;
    std::vector<uint8_t> axes; // of each pair; empty: all of one
    Bytes in[2], wanted[2];    // q and k
};

double valueAt(const Bytes& bytes, RopeElement element, uint64_t index);

class Vectors : public gpu::OnDevice {
  protected:
    void run(Case c);
};

json readManifest(const std::string& path);
NpyArray readArray(const std::string& path);
Bytes positionsOf(const NpyArray& array);

// Rows of two arrays, one after the other in one buffer; one row per token, or a table, whichever their count says.
void setRows(const NpyArray& cos, const NpyArray& sin, RopeElement element, Case* c);

RopeLayout tokenMajor(const RopeRotateDescription& d, uint64_t heads);
RopeLayout headMajor(const RopeRotateDescription& d, uint64_t heads);

std::vector<uint8_t> axesOf(RopeAxesOrder order, const std::vector<uint32_t>& sections);

} // namespace vectors
