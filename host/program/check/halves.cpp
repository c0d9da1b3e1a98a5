#include "program/check/halves.hpp"

#include "plan/pass.h"

#include <algorithm>
#include <cstring>

extern "C" {
extern const RopeShader rope_shader_halves; // bench/cases/halves.comp
}

namespace tool {
namespace {

constexpr uint32_t kThreadNumbers = 256; // in 64 runs of four
constexpr uint32_t kPartFloats = UINT32_MAX / kFloatParts + 1;

// Makes a plan of one dispatch. `widens`: the halves; otherwise the floats from `first` on.
RopePlan planHalves(const RopeLimits& limits, bool widens, uint32_t first) {
    RopePlan plan = {};
    plan.pass_count = 1;
    plan.version = ROPE_VERSION;
    plan.limits.storage_alignment = limits.storage_alignment;
    plan.bytes[ROPE_SLOT_COUNTER] = 2 * sizeof(uint32_t);
    rope::PlanPass& pass = rope::passAt(plan, 0);
    pass.shader = &rope_shader_halves;
    pass.group[0] = pass.constants[ROPE_ID_GROUP_SIZE] = pass.group_size = std::min(64u, limits.group_size);
    pass.group[1] = pass.constants[ROPE_ID_GROUP_BLOCKS] = 1;
    pass.group[2] = pass.constants[ROPE_ID_GROUP_TOKENS] = pass.lane_parts = 1;
    pass.tokens_per_thread = pass.group_size; // numbers in x
    pass.heads_per_thread = pass.address_unit = 1;
    for (uint32_t axis = 0; axis < rope::kGridAxes; ++axis) pass.count[axis] = pass.step[axis] = pass.parts[axis] = 1;
    pass.count[1] = pass.step[1] = (widens ? 2 * 65536 : kPartFloats) / kThreadNumbers;
    pass.access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_COUNTER, sizeof(uint32_t), 0, {0, 0, 0}, 2};
    rope::RopePush push = {};
    push.window_end = widens;
    push.scale_mantissa = first;
    std::memcpy(pass.push, &push, sizeof push);
    rope::finishPass(0, &plan);
    return plan;
}

// Runs the plan. The device counts all conversions beside the wrong ones, so that zeros prove nothing.
bool addWrong(rope::Device* device, const RopePlan& plan, uint32_t conversions, uint64_t* wrong, std::string* error) {
    rope::Buffer counter;
    RopeBuffers buffers = {};
    uint32_t counts[2] = {};
    if (!device->makeBuffer(sizeof counts, &counter, error)) return false;
    buffers.slots[ROPE_SLOT_COUNTER] = counter.slot();
    if (!device->upload(counter, 0, counts, sizeof counts, error) || !device->run(&plan, 1, &buffers, error) ||
        !device->download(counter, 0, counts, sizeof counts, error))
        return false;
    *wrong += counts[1];
    if (counts[0] == conversions) return true;
    *error = "the device counted " + std::to_string(counts[0]) + " of " + std::to_string(conversions) +
             " conversions of float16";
    return false;
}

} // namespace

bool widenEveryHalf(rope::Device* device, uint64_t* wrong, std::string* error) {
    return addWrong(device, planHalves(device->limits(), /* widens= */ true, 0), 2 * 65536, wrong, error);
}

bool narrowFloats(rope::Device* device, uint32_t part, uint64_t* wrong, std::string* error) {
    const RopePlan plan = planHalves(device->limits(), /* widens= */ false, part * kPartFloats);
    return addWrong(device, plan, 2 * kPartFloats, wrong, error);
}

} // namespace tool
