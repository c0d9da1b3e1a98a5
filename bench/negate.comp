// Moves the rotation's elements without its arithmetic: the same threads load and store the same runs, and flip signs.
// Elements that do not rotate are not copied.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeRotatePush
#include "../shaders/start.glsl"
#include "../shaders/runs.glsl"
#include "../shaders/work_item.glsl"
#include "../shaders/lane.glsl"

void negate_heads(WorkItem item, Lane lane, uint tensor) {
    uvec4 low[kHeadsPerThread];
    uvec4 high[kHeadsPerThread];
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        uint at = item.from + min(item.head + h, item.heads - 1u) * item.from_head;
        low[h] = load_run(tensor, at + lane.from.low, lane.from.low_count);
        high[h] = load_run(tensor, at + lane.from.high, lane.from.high_count);
    }
    const uint sign = kFloatsIn ? 0x80000000u : 0x80008000u;
    for (uint h = 0u; h < kHeadsPerThread && item.head + h < item.heads; ++h) {
        uint at = item.to + (item.head + h) * item.to_head;
        store_run(tensor, at + lane.to.low, low[h] ^ sign, lane.to.low_count, kFloatsOut);
        store_run(tensor, at + lane.to.high, high[h] ^ sign, lane.to.high_count, kFloatsOut);
    }
}

void main() {
    WorkItem item = find_work_item();
    Lane lane = lane_of(item.lane, Width(kRotaryBegin, kPassElements));
    if (!item.is_there) return;
    if (kBoth && item.of_k) negate_heads(item, lane, kSecond);
    else negate_heads(item, lane, kFirst);
}
