// A thread of a fused pass takes one lane of a block. A block is kHeadsPerThread heads of Q, of K or of V. In a group,
// x is the lane, y the row of blocks and z the token. Among groups, x is the token, y the sequence and z the row, with
// kLaneParts groups for each.
#ifndef ROPE_ITEM_GLSL
#define ROPE_ITEM_GLSL
#include "../block.glsl"
#include "cache.glsl"
#include "../runs.glsl"

layout(constant_id = ROPE_ID_Q_HEADS) const uint kQHeads = 0;
layout(constant_id = ROPE_ID_K_HEADS) const uint kKHeads = 0;
layout(constant_id = ROPE_ID_V_HEADS) const uint kVHeads = 0;
// Q's buffers are the first. K or V may share the buffer of the tensor before it.
layout(constant_id = ROPE_ID_APART) const uint kApart = 0;
// These strides count places, as runs.glsl and integers.glsl have them. V has K's.
layout(constant_id = ROPE_ID_Q_SOURCE_TOKEN) const uint kQSourceToken = 0;
layout(constant_id = ROPE_ID_Q_SOURCE_HEAD) const uint kQSourceHead = 0;
layout(constant_id = ROPE_ID_KV_SOURCE_TOKEN) const uint kKvSourceToken = 0;
layout(constant_id = ROPE_ID_KV_SOURCE_HEAD) const uint kKvSourceHead = 0;
layout(constant_id = ROPE_ID_Q_DESTINATION_TOKEN) const uint kQDestinationToken = 0;
layout(constant_id = ROPE_ID_Q_DESTINATION_HEAD) const uint kQDestinationHead = 0;
layout(constant_id = ROPE_ID_KV_DESTINATION_TOKEN) const uint kKvDestinationToken = 0; // or from slot to slot
layout(constant_id = ROPE_ID_PAGE_STRIDE) const uint kPageStride = 0;

// A row of a group has a lane of the widest head for each thread, and so one block, or as many as it holds of a tensor
// with narrower heads.
layout(constant_id = ROPE_ID_Q_LANES) const uint kQLanes = 0;
layout(constant_id = ROPE_ID_K_LANES) const uint kKLanes = 0;
layout(constant_id = ROPE_ID_K_ROTARY_BEGIN) const uint kKRotaryBegin = 0;
layout(constant_id = ROPE_ID_K_PASS_ELEMENTS) const uint kKPassElements = 0;
// kKvInPlace is true if K and V are read where they are written. That is bit 1 of kInPlace beside Q, and bit 0 without.
#if defined(ROPE_INTEGERS) && !defined(ROPE_SHIFTS)
const bool kKvInPlace = false; // no code may read a cache that is written
#else
const bool kKvInPlace = kQHeads != 0u ? kOthersInPlace : kFirstInPlace;
#endif
const bool kWidths = kQLanes != 0u;
const bool kRowHoldsMore = kWidths && kLaneParts == 1u;
const uint kQRowBlocks = kRowHoldsMore ? kHeadLanes / (kQLanes + uint(kQLanes == 0u)) : 1u;
const uint kKRowBlocks = kRowHoldsMore ? kHeadLanes / (kKLanes + uint(kKLanes == 0u)) : 1u;
const uint kRowBlocks = kQRowBlocks > kKRowBlocks ? kQRowBlocks : kKRowBlocks; // at most

const uint kQBlocks = (kQHeads + kHeadsPerThread - 1u) / kHeadsPerThread;
const uint kKBlocks = (kKHeads + kHeadsPerThread - 1u) / kHeadsPerThread;
const uint kVBlocks = (kVHeads + kHeadsPerThread - 1u) / kHeadsPerThread;
const uint kQRows = (kQBlocks + kQRowBlocks - 1u) / kQRowBlocks;
const uint kTurnedRows = kQRows + (kKBlocks + kKRowBlocks - 1u) / kKRowBlocks; // V's follow
const uint kItemRows = kTurnedRows + (kVBlocks + kKRowBlocks - 1u) / kKRowBlocks;
uint row_block = 0u; // the thread's block in its row

struct WorkItem {
    bool is_there; // false: a surplus thread, with clamped values, or a token that goes nowhere
    uint token;
    uint lane;
    uint tensor; // kFirst, kSecond or kThird: Q, K or V
    uint head;   // the first
    uint heads;  // of the tensor
    uint from;   // place of the token's head 0 in the source
    uint from_head;
    uint to; // in the destination; in a cache of integers, from the tensor's first word
    uint to_head;
#ifdef ROPE_INTEGERS
    uint scale; // word of the scale of the token's head 0
#endif
};

uint first_row_of_group() { return gl_WorkGroupID.z / kLaneParts * gl_WorkGroupSize.y; }
bool group_turns() { return first_row_of_group() < kTurnedRows; }
#ifdef ROPE_SHIFTS // K's alone
bool is_q(WorkItem item) { return false; }
#else
bool is_q(WorkItem item) { return kQHeads != 0u && item.tensor == kFirst; }
#endif

// Returns the stride from head to head, which would be another constant for each number of tokens or slots.
uint head_stride(uint constant, uint sequence) {
    uint heads = max(constant & ~ROPE_SHARES_SEQUENCE, 1u);
    return choose(constant < ROPE_SHARES_SEQUENCE, constant, sequence / heads);
}

// Finds the lane and the block of a thread in a row of narrower heads. Returns false for a surplus thread.
bool find_in_row(bool of_q, uint blocks, inout uint block, inout uint lane) {
    if (!kWidths) return true;
    uint lanes = choose(of_q, kQLanes, kKLanes);
    uint row_blocks = choose(of_q, kQRowBlocks, kKRowBlocks);
    uint in_row = lane / lanes;
    row_block = min(in_row, row_blocks - 1u);
    lane = choose(in_row == row_block, lane - in_row * lanes, lanes - 1u);
    block = block * row_blocks + row_block;
    bool is_there = in_row == row_block && block < blocks;
    block = min(block, blocks - 1u);
    return is_there;
}

Width width_of(WorkItem item) {
    if (!kWidths) return Width(kRotaryBegin, kPassElements);
    return Width(choose(is_q(item), kRotaryBegin, kKRotaryBegin), choose(is_q(item), kPassElements, kKPassElements));
}
// Surplus threads get the last token, lane or block, so that every thread reaches the barriers.
WorkItem find_work_item() {
    WorkItem item;
    uint number = gl_WorkGroupID.x * gl_WorkGroupSize.z + gl_LocalInvocationID.z;
    uint row = first_row_of_group() + gl_LocalInvocationID.y;
    uint lane = gl_WorkGroupID.z % kLaneParts * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    item.is_there = number < push.tokens && row < kItemRows && lane < kHeadLanes;
    item.token = min(number, push.tokens - 1u);
    item.lane = min(lane, kHeadLanes - 1u);
    row = min(row, kItemRows - 1u);
    // Compilers do not see that all rows are Q's, or that none is V's. Constants tell them.
    bool before_k = row < kQRows;
    bool behind_k = row >= kTurnedRows;
    bool of_q = (kKHeads | kVHeads) == 0u || before_k;
    bool of_v = kVHeads != 0u && behind_k;
    item.tensor = choose(of_q, kFirst, choose(of_v, kThird, kSecond));
    uint block = row - choose(of_q, 0u, choose(of_v, kTurnedRows, kQRows));
    uint blocks = choose(of_q, kQBlocks, choose(of_v, kVBlocks, kKBlocks));
    item.is_there = find_in_row(of_q, blocks, block, item.lane) && item.is_there;
    item.head = block * kHeadsPerThread;
    item.heads = choose(of_q, kQHeads, choose(of_v, kVHeads, kKHeads));
    uint batch = gl_WorkGroupID.y;
    item.from = choose(of_v, push.v_from, push.k_from) + batch * push.kv_from_batch + item.token * kKvSourceToken;
    item.to_head = push.kv_to_head;
    item.from_head = kKvInPlace ? item.to_head : head_stride(kKvSourceHead, push.kv_from_batch);
    if (is_q(item)) {
        item.from = push.q_from + batch * push.q_from_batch + item.token * kQSourceToken;
        item.from_head = head_stride(kQSourceHead, push.q_from_batch);
        item.to_head = head_stride(kQDestinationHead, push.q_to_batch);
    }
    item.to = 0u;
    return item;
}

bool has_head(WorkItem item, uint h) { return item.head + h < item.heads; }
bool is_in_place(WorkItem item) { return is_q(item) ? kFirstInPlace : kKvInPlace; }

// True if K, or V, has a buffer of its own.
const bool kWritesSecond = (kApart & ROPE_APART_DESTINATION_K) != 0u;
const bool kWritesThird = (kApart & ROPE_APART_DESTINATION_V) != 0u;
const bool kReadsSecond = (kApart & (kKvInPlace ? ROPE_APART_DESTINATION_K : ROPE_APART_SOURCE_K)) != 0u;
const bool kReadsThird = (kApart & (kKvInPlace ? ROPE_APART_DESTINATION_V : ROPE_APART_SOURCE_V)) != 0u;
// These tell if a tensor lies in the second or in the third buffer. Callers ask for each, and the constants leave no
// branch for one that is not there.
bool is_written_to(WorkItem item, uint which) {
    bool third = kWritesThird && item.tensor == kThird;
    if (which == kThird) return third;
    return kWritesSecond && !is_q(item) && !third;
}
bool is_read_from(WorkItem item, uint which) {
    bool third = kReadsThird && item.tensor == kThird;
    if (which == kThird) return third;
    return kReadsSecond && !is_q(item) && !third;
}

#endif
