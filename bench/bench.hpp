// What the benchmarks have in common: the device, buffers on it, noise, and the time of a copy.
#pragma once

#include "device.hpp"

#include <string>
#include <vector>

constexpr uint32_t kHeadDim = 128;

struct Bench {
    rope::Device device;
    std::vector<double> frequencies = std::vector<double>(kHeadDim / 2); // Llama-3's base
    std::string error;
};
extern Bench bench;

[[noreturn]] void fail(const std::string& message);
rope::Buffer makeBuffer(const void* data, size_t bytes);
std::vector<float> noise(size_t count);
rope::Buffer makeFrequencies(const RopeFrequencies& frequencies);
// A row for each of the positions from 0 on.
rope::Buffer makeRows(const RopeFrequencies& frequencies, uint32_t count, const rope::Buffer& made);
double median(std::vector<double> values);
double copySeconds(const rope::Buffer& from, const rope::Buffer& to, size_t bytes);

void registerRotate();
void registerFused();
void registerOther();
