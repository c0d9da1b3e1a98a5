// This file carries out a case that writes a cache, on the device and on the CPU, and compares their bytes.
#include "program/check/caches.hpp"

#include "plan/element_formats.h"

#include <cstring>

namespace tool {
namespace {

constexpr uint32_t kTokens = 5, kHeads = 2, kDim = 128, kSlots = 8;

RopeFusedDescription describe(const CacheCase& given, const std::vector<double>& frequencies) {
    RopeFusedDescription d = {};
    d.tokens = kTokens;
    d.head_dim = kDim;
    d.element = given.from;
    d.rotation.frequencies = {frequencies.data(), kDim / 2, 1, nullptr, 1};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = 131072;
    d.k.heads = d.v.heads = kHeads;
    d.k.hadamard = given.hadamard;
    d.v.hadamard = given.hadamard != 0 ? 64 : 0;
    d.k.element = d.v.element = given.cache;
    d.cache.kind = ROPE_CACHE_RING;
    d.cache.slots = kSlots;
    d.k.stored_scales.offset = d.v.stored_scales.offset = uint64_t{kSlots} * kHeads * kDim / sizeof(float);
    return d;
}

} // namespace

std::vector<CacheCase> cacheCases(bool quick) {
    constexpr RopeElement kFrom[] = {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16};
    constexpr uint32_t kBlocks[] = {0, 64, 128};
    std::vector<CacheCase> all;
    for (uint32_t element = ROPE_ELEMENT_F32; element < rope::kElementCount; ++element) {
        const RopeElement cache = static_cast<RopeElement>(element);
        for (uint32_t i = 0; i < 9; ++i) {
            if (quick && i != element * 4 % 9) continue;
            const RopeElement from = kFrom[i / 3];
            const uint32_t hadamard = kBlocks[i % 3];
            all.push_back({from, cache, hadamard,
                           std::string("cache ") + rope::formatOf(cache).name + " from " + rope::formatOf(from).name +
                               ", Hadamard " + std::to_string(hadamard)});
        }
    }
    return all;
}

bool checkCacheCase(CheckDevice* device, const CacheCase& given, uint64_t seed, CaseErrors* errors, Failure* failure) {
    RopeRule rule = {};
    rule.rotary_dim = kDim;
    rule.base = 10000;
    std::vector<double> frequencies(kDim / 2);
    double scale;
    ropeMakeFrequencies(&rule, frequencies.data(), &scale, nullptr);
    const RopeFusedDescription d = describe(given, frequencies);
    RopePlan plan;
    if (ropePlanFused(&d, &device->opened.limits(), &plan) != ROPE_SUCCESS)
        return fail(failure, given.name + ": " + plan.reason.text);
    SlotBytes slots;
    slots.bytes[ROPE_SLOT_FREQUENCIES].resize(plan.bytes[ROPE_SLOT_FREQUENCIES]);
    ropeWriteFrequencies(&d.rotation.frequencies, d.rotation.angle, slots.bytes[ROPE_SLOT_FREQUENCIES].data(), nullptr);
    for (const RopeSlot slot : {ROPE_SLOT_K, ROPE_SLOT_V}) {
        std::vector<float> values(static_cast<size_t>(plan.bytes[slot] / ropeElementBytes(d.element)));
        for (float& value : values) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            value = static_cast<float>(static_cast<int32_t>(seed >> 32)) * 0x1p-30f; // -2 to 2
        }
        slots.bytes[slot].resize(static_cast<size_t>(plan.bytes[slot]));
        ropeConvertElements(values.data(), ROPE_ELEMENT_F32, slots.bytes[slot].data(), d.element, values.size());
    }
    for (const RopeSlot slot : {ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT})
        slots.bytes[slot].assign(static_cast<size_t>(plan.bytes[slot]), 0xA5);
    SlotBytes expected = slots;
    RopeHostFused data = {};
    data.k = slots.bytes[ROPE_SLOT_K].data();
    data.v = slots.bytes[ROPE_SLOT_V].data();
    data.k_out = expected.bytes[ROPE_SLOT_K_OUT].data();
    data.v_out = expected.bytes[ROPE_SLOT_V_OUT].data();
    RopeReason reason;
    if (ropeHostRunFused(&d, &data, &reason) != ROPE_SUCCESS) return fail(failure, given.name + ": " + reason.text);
    if (!runPlans(&device->opened, {plan}, {ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT}, &slots, failure, &device->buffers))
        return false;
    for (const RopeSlot slot : {ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT}) {
        for (size_t at = 0; at < slots.bytes[slot].size(); ++at)
            errors->unequal += slots.bytes[slot][at] != expected.bytes[slot][at];
    }
    errors->allowed = 1; // bits alone count
    return true;
}

} // namespace tool
