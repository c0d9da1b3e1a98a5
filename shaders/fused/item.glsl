// A thread of a fused pass takes one lane of a block. A block is kHeadsPerThread heads of Q, of K or of V. In a group,
// x is the lane, y the row of blocks and z the token. Among groups, x is the token, y the sequence and z the row, with
// kLaneParts groups for each. A row has a lane of the widest head for each thread, and so one block, or as many as it
// holds of a tensor with narrower heads.
#ifndef ROPE_ITEM_GLSL
#define ROPE_ITEM_GLSL
#include "../block.glsl"
#include "record.glsl"

const bool kWidths = kQ_lanes != kK_lanes || kV_lanes != kK_lanes;
#define ROW_BLOCKS(lanes) (kWidths && kLaneParts == 1u ? kHeadLanes / ((lanes) + uint((lanes) == 0u)) : 1u)
const uint kQRowBlocks = ROW_BLOCKS(kQ_lanes);
const uint kKRowBlocks = ROW_BLOCKS(kK_lanes);
const uint kVRowBlocks = ROW_BLOCKS(kV_lanes);
const uint kMostOfKv = kKRowBlocks > kVRowBlocks ? kKRowBlocks : kVRowBlocks;
const uint kRowBlocks = kQRowBlocks > kMostOfKv ? kQRowBlocks : kMostOfKv;

const uint kQBlocks = (kQ_heads + kHeadsPerThread - 1u) / kHeadsPerThread;
const uint kKBlocks = (kK_heads + kHeadsPerThread - 1u) / kHeadsPerThread;
const uint kVBlocks = (kV_heads + kHeadsPerThread - 1u) / kHeadsPerThread;
const uint kQRows = (kQBlocks + kQRowBlocks - 1u) / kQRowBlocks;
const uint kRowsBeforeV = kQRows + (kKBlocks + kKRowBlocks - 1u) / kKRowBlocks;
const uint kItemRows = kRowsBeforeV + (kVBlocks + kVRowBlocks - 1u) / kVRowBlocks;
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
    uint to; // in the destination; in a quantized cache, from the tensor's first word
    uint to_head;
    uint scale; // word of a stored scale of the token's head 0
    uint scale_head;
};

uint first_row_of_group() { return gl_WorkGroupID.z / kLaneParts * gl_WorkGroupSize.y; }
bool group_turns() { return first_row_of_group() < kRowsBeforeV; }
bool has_head(WorkItem item, uint h) { return item.head + h < item.heads; }
// Returns a head of the tensor, the last one in the place of those behind it.
uint head_number(WorkItem item, uint h) { return min(item.head + h, item.heads - 1u); }

// Finds the lane and the block of a thread in a row of narrower heads. Returns false for a surplus thread.
bool find_in_row(uint tensor, uint blocks, inout uint block, inout uint lane) {
    if (!kWidths) return true;
    uint lanes = lanes_of(tensor);
    uint row_blocks = choose(tensor == kFirst, kQRowBlocks, choose(tensor == kThird, kVRowBlocks, kKRowBlocks));
    uint in_row = lane / lanes;
    row_block = min(in_row, row_blocks - 1u);
    lane = choose(in_row == row_block, lane - in_row * lanes, lanes - 1u);
    block = block * row_blocks + row_block;
    bool is_there = in_row == row_block && block < blocks;
    block = min(block, blocks - 1u);
    return is_there;
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
    bool behind_k = row >= kRowsBeforeV;
    bool of_q = (kK_heads | kV_heads) == 0u || before_k;
    bool of_v = kV_heads != 0u && behind_k;
    item.tensor = choose(of_q, kFirst, choose(of_v, kThird, kSecond));
    uint block = row - choose(of_q, 0u, choose(of_v, kRowsBeforeV, kQRows));
    uint blocks = choose(of_q, kQBlocks, choose(of_v, kVBlocks, kKBlocks));
    item.is_there = find_in_row(item.tensor, blocks, block, item.lane) && item.is_there;
    item.head = block * kHeadsPerThread;
    item.heads = heads_of(item.tensor);
    uint length = length_from(item.tensor);
    uint row_of_source = gl_WorkGroupID.y * (from_rows_of(item.tensor) * length) + item.token;
    item.from = from_begin(item.tensor) + row_of_source * from_token_of(item.tensor);
    item.from += gl_WorkGroupID.y * from_batch_of(item.tensor);
    item.from_head = from_head_of(item.tensor) + from_head_grown_of(item.tensor) * length;
    item.to = 0u;
    item.to_head = 0u;
    item.scale = 0u;
    item.scale_head = 0u;
    return item;
}

#endif
