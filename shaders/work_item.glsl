// A thread takes one lane of a block. A block is kHeadsPerThread heads of one token. In a group, x is the lane, y the
// block and z the token. Among groups, x is the token, y the sequence and z the block, with kLaneParts groups for each.
#ifndef ROPE_WORK_ITEM_GLSL
#define ROPE_WORK_ITEM_GLSL
#include "position.glsl"

layout(constant_id = ROPE_ID_HEADS) const uint kHeadsPerThread = 1;
layout(constant_id = ROPE_ID_LANE_PARTS) const uint kLaneParts = 1;
layout(constant_id = ROPE_ID_Q_BLOCKS) const uint kQBlocks = 0;
layout(constant_id = ROPE_ID_Q_HEADS) const uint kQHeads = 1;
layout(constant_id = ROPE_ID_K_HEADS) const uint kKHeads = 0;
const bool kBoth = kQBlocks != 0u; // tensors in one dispatch
const uint kKBlocks = (kKHeads + kHeadsPerThread - 1u) / kHeadsPerThread;

layout(constant_id = ROPE_ID_EVERY_TOKEN) const uint kEveryToken = 0;
const bool kEveryTurns = kEveryToken != 0u;
struct WorkItem {
    bool is_there; // false: a surplus thread, with clamped values
    uint token;
    uint lane;
    bool of_k;
    uint head;  // the first
    uint heads; // of the tensor
    uint from;      // place of the token's head 0 in the source
    uint from_head; // from a head to the next
    uint to;        // both in the destination
    uint to_head;
};

// Returns where a token's head 0 begins.
uint start_of(RopePlace place, uint token) {
    return place.offset + gl_WorkGroupID.y * place.batch + token * place.token;
}

// Surplus threads get the last token, lane or block, so that every thread reaches the barrier.
WorkItem find_work_item() {
    WorkItem item;
    uint number = gl_WorkGroupID.x * gl_WorkGroupSize.z + gl_LocalInvocationID.z;
    uint block = gl_WorkGroupID.z / kLaneParts * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    uint lane = gl_WorkGroupID.z % kLaneParts * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint blocks = choose(kBoth, kQBlocks + kKBlocks, (push.heads + kHeadsPerThread - 1u) / kHeadsPerThread);
    item.is_there = number < push.tokens && block < blocks && lane < kHeadLanes;
    item.token = min(number, push.tokens - 1u);
    item.lane = min(lane, kHeadLanes - 1u);
    block = min(block, blocks - 1u);
    item.of_k = kBoth && block >= kQBlocks;
    item.head = (block - choose(item.of_k, kQBlocks, 0u)) * kHeadsPerThread;
    item.heads = choose(kBoth, choose(item.of_k, kKHeads, kQHeads), push.heads);
    item.from = choose(item.of_k, start_of(push.source_k, item.token), start_of(push.source, item.token));
    item.from_head = choose(item.of_k, push.source_k.head, push.source.head);
    item.to = choose(item.of_k, start_of(push.destination_k, item.token), start_of(push.destination, item.token));
    item.to_head = choose(item.of_k, push.destination_k.head, push.destination.head);
    return item;
}

#endif
