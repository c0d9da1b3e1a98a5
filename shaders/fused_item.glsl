// A thread of a fused pass takes one lane of a block. A block is kHeadsPerThread heads of Q, of K or of V. In a group, x is
// the lane, y the block and z the token. Among groups, x is the token, y the sequence and z the block.
#include "block.glsl"

layout(constant_id = ROPE_ID_Q_HEADS) const uint kQHeads = 0;
layout(constant_id = ROPE_ID_K_HEADS) const uint kKHeads = 0;
layout(constant_id = ROPE_ID_V_HEADS) const uint kVHeads = 0;
// Q's buffers are the first. K or V may share the buffer of the tensor before it.
layout(constant_id = ROPE_ID_APART) const uint kApart = 0;
// Strides in runs. K and V have the same.
layout(constant_id = ROPE_ID_Q_SOURCE_TOKEN) const uint kQSourceToken = 0;
layout(constant_id = ROPE_ID_Q_SOURCE_HEAD) const uint kQSourceHead = 0;
layout(constant_id = ROPE_ID_KV_SOURCE_TOKEN) const uint kKvSourceToken = 0;
layout(constant_id = ROPE_ID_KV_SOURCE_HEAD) const uint kKvSourceHead = 0;
layout(constant_id = ROPE_ID_Q_DESTINATION_TOKEN) const uint kQDestinationToken = 0;
layout(constant_id = ROPE_ID_Q_DESTINATION_HEAD) const uint kQDestinationHead = 0;
layout(constant_id = ROPE_ID_KV_DESTINATION_TOKEN) const uint kKvDestinationToken = 0; // or from slot to slot
layout(constant_id = ROPE_ID_PAGE_STRIDE) const uint kPageStride = 0;

const uint kQBlocks = (kQHeads + kHeadsPerThread - 1u) / kHeadsPerThread;
const uint kTurnedBlocks = kQBlocks + (kKHeads + kHeadsPerThread - 1u) / kHeadsPerThread; // V's follow
const uint kBlocks = kTurnedBlocks + (kVHeads + kHeadsPerThread - 1u) / kHeadsPerThread;

struct WorkItem {
    bool is_there; // false: a surplus thread, with clamped values, or a token that goes nowhere
    uint token;
    uint lane;
    uint tensor; // kFirst, kSecond or kThird: Q, K or V
    uint head;   // the first
    uint heads;  // of the tensor
    uint from;   // place of the token's head 0 in the source
    uint from_head;
    uint to; // in the destination; of integers, from the tensor's first word
    uint to_head;
#ifdef ROPE_INTEGERS
    uint scale; // word of the scale of the token's head 0
#endif
};

uint first_block_of_group() { return gl_WorkGroupID.z / kLaneParts * gl_WorkGroupSize.y; }
bool group_turns() { return first_block_of_group() < kTurnedBlocks; }
#ifdef ROPE_INTEGERS // K's and V's alone
bool is_q(WorkItem item) { return false; }
#else
bool is_q(WorkItem item) { return kQHeads != 0u && item.tensor == kFirst; }
#endif

// Surplus threads get the last token, lane or block, so that every thread reaches the barriers.
WorkItem find_work_item() {
    WorkItem item;
    uint number = gl_WorkGroupID.x * gl_WorkGroupSize.z + gl_LocalInvocationID.z;
    uint block = first_block_of_group() + gl_LocalInvocationID.y;
    uint lane = gl_WorkGroupID.z % kLaneParts * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    item.is_there = number < push.tokens && block < kBlocks && lane < kHeadLanes;
    item.token = min(number, push.tokens - 1u);
    item.lane = min(lane, kHeadLanes - 1u);
    block = min(block, kBlocks - 1u);
    bool of_q = block < kQBlocks;
    bool of_v = block >= kTurnedBlocks;
    item.tensor = choose(of_q, kFirst, choose(of_v, kThird, kSecond));
    item.head = (block - choose(of_q, 0u, choose(of_v, kTurnedBlocks, kQBlocks))) * kHeadsPerThread;
    item.heads = choose(of_q, kQHeads, choose(of_v, kVHeads, kKHeads));
    uint batch = gl_WorkGroupID.y;
#ifdef ROPE_INTEGERS
    item.from = choose(of_v, push.v_from, push.k_from) + batch * push.kv_from_batch + item.token * kKvSourceToken;
    item.from_head = kKvSourceHead;
    item.to_head = push.kv_to_head;
#else
    uint kv_from = choose(of_v, push.v_from, push.k_from) + batch * push.kv_from_batch + item.token * kKvSourceToken;
    uint q_from = push.q_from + batch * push.q_from_batch + item.token * kQSourceToken;
    item.from = choose(of_q, q_from, kv_from);
    item.from_head = choose(of_q, kQSourceHead, kKvSourceHead);
    item.to_head = choose(of_q, kQDestinationHead, push.kv_to_head);
#endif
    item.to = 0u;
    return item;
}

// K and V are read where they are written, if Q alone has the first buffer by the second bit.
const bool kKvInPlace = kQHeads != 0u ? kOthersInPlace : kFirstInPlace;
bool is_in_place(WorkItem item) { return is_q(item) ? kFirstInPlace : kKvInPlace; }

// These return the buffer that a tensor is written to, or read from.
uint destination_of(WorkItem item) {
    if ((kApart & ROPE_APART_DESTINATION_V) != 0u && item.tensor == kThird) return kThird;
    return choose((kApart & ROPE_APART_DESTINATION_K) != 0u && !is_q(item), kSecond, kFirst);
}
uint source_of(WorkItem item) {
    if (is_in_place(item)) return destination_of(item);
    if ((kApart & ROPE_APART_SOURCE_V) != 0u && item.tensor == kThird) return kThird;
    return choose((kApart & ROPE_APART_SOURCE_K) != 0u && !is_q(item), kSecond, kFirst);
}
