// Inputs for tests: deterministic values, and the memory that a description asks for.
#pragma once

#include <vkrope/rope.h>

#include <cstdint>
#include <vector>

namespace sample {

// A small generator with the same numbers everywhere (PCG).
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
    uint32_t next() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        const uint32_t mixed = static_cast<uint32_t>(((state_ >> 18) ^ state_) >> 27);
        const uint32_t turn = static_cast<uint32_t>(state_ >> 59);
        return mixed >> turn | mixed << (-turn & 31);
    }
    uint32_t below(uint32_t limit) { return next() % limit; }
    float value() {
        return static_cast<float>(static_cast<int32_t>(next())) * 0x1p-30f;
    } // -2 to 2, never on zeros alone

  private:
    uint64_t state_;
};

inline std::vector<float> values(size_t count, uint64_t seed) {
    Random random(seed);
    std::vector<float> all(count);
    for (float& one : all) one = random.value();
    return all;
}

inline std::vector<uint8_t> tensor(RopeElement element, uint64_t bytes, uint64_t seed) {
    const size_t count = bytes / ropeElementBytes(element);
    const std::vector<float> from = values(count, seed);
    std::vector<uint8_t> all(bytes);
    ropeConvertElements(from.data(), ROPE_ELEMENT_F32, all.data(), element, count);
    return all;
}

inline std::vector<double> frequencies(double base, uint32_t rotary_dim) {
    RopeRule rule = {};
    rule.rotary_dim = rotary_dim;
    rule.base = base;
    std::vector<double> all(rotary_dim / 2);
    double scale;
    if (ropeMakeFrequencies(&rule, all.data(), &scale, nullptr) != ROPE_SUCCESS) all.clear();
    return all;
}

inline std::vector<uint32_t> words(const std::vector<double>& frequencies, RopeAngle angle) {
    std::vector<uint32_t> all(frequencies.size() * 4);
    const RopeFrequencies f = {frequencies.data(), static_cast<uint32_t>(frequencies.size()), 1, nullptr, 1};
    ropeWriteFrequencies(&f, angle, all.data(), nullptr);
    return all;
}

} // namespace sample
