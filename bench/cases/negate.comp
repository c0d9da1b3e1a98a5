// Moves the rotation's elements without its arithmetic: the same threads load and store the same runs, and flip signs.
// Elements that do not rotate are not copied.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeRotatePush
#include "../../shaders/start.glsl"
#include "../../shaders/runs.glsl"
#include "../../shaders/work_item.glsl"
#include "../../shaders/lane.glsl"

void negate_heads(WorkItem item, Lane lane, uint tensor) {
    Head heads[kHeadsPerThread];
    for (uint h = 0u; h < kHeadsPerThread; ++h) heads[h] = load_head(item, lane, tensor, item.head + h);
    const uint sign = kFloatsIn ? 0x80000000u : 0x80008000u;
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        for (uint i = 0u; i < 2u; ++i) heads[h].run[i] ^= sign;
        if (item.head + h < item.heads) store_runs(item.to + (item.head + h) * item.to_head, lane, tensor, heads[h], kFloatsOut);
    }
}

void main() {
    WorkItem item = find_work_item();
    Lane lane = lane_of(item.lane, Width(kPairLanes, kRotaryBegin, kPassElements));
    if (!item.is_there) return;
    if (kBoth && item.of_k) negate_heads(item, lane, kSecond);
    else negate_heads(item, lane, kFirst);
}
