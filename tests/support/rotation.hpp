// One rotation, from a description alone: made-up inputs, the device's result, the CPU's bits and the reference.
#pragma once

#include "gpu.hpp"
#include "sample.hpp"

namespace rotation {

// The host's side of a description: every slot filled with values that depend on `seed`.
struct Inputs {
    gpu::Slots slots;
    std::vector<double> frequencies;
};

// Sets description->frequencies to values inside the returned inputs. `angle_for_rows` is how rows are made.
Inputs makeInputs(RopeRotateDescription* description, uint64_t seed);

// The whole buffer of positions that a description with every default filled in reads, gaps and all: positions, now and
// then none, and where they say so lengths and sets.
std::vector<uint8_t> makePositions(const RopeRotateDescription& filled, sample::Random* random);

// The rows that a description with every default filled in reads, of so many bytes: a table, or made of positions.
std::vector<uint8_t> makeRows(const RopeRotateDescription& filled, const uint8_t* positions, uint64_t bytes);

// Plans, runs on the device, and compares every bit of every slot with the CPU's, then the rotated elements with the
// reference. *worst grows to the largest error, in ulps of the pair's length. `limits`: narrower than the device's.
testing::AssertionResult check(rope::Device* device, const RopeRotateDescription& given, uint64_t seed, double* worst,
                               const RopeLimits* limits = nullptr);

// Where the two differ first, empty where nowhere.
std::string firstDifference(const std::vector<uint8_t>& got, const std::vector<uint8_t>& wanted);

// The largest error of `bits` against `reference` over a tensor, in ulps of each pair's length.
double worstError(const RopeRotateDescription& filled, const RopeTensor& tensor, const std::vector<double>& reference,
                  const std::vector<float>& bits);

} // namespace rotation
