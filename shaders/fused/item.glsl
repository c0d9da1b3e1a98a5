// A thread of a fused pass takes one lane of a block. A block is kHeadsPerThread heads of Q, of K or of V. In a group,
// x is the lane, y the row of blocks and z the token. Among groups, x is the token, y the sequence and z the row, with
// kLaneParts groups for each. A row has a lane of the widest head for each thread, and so one block, or as many as it
// holds of a tensor with narrower heads.
#ifndef ROPE_ITEM_GLSL
#define ROPE_ITEM_GLSL
#include "cache.glsl"
#include "record.glsl"

layout(constant_id = ROPE_ID_HEADS) const uint kHeadsPerThread = 1;
layout(constant_id = ROPE_ID_LANE_PARTS) const uint kLaneParts = 1;
const bool kWidths = kQ_lanes != kK_lanes || kV_lanes != kK_lanes;
#define ROW_BLOCKS(lanes) (kWidths && kLaneParts == 1u ? kHeadLanes / ((lanes) + uint((lanes) == 0u)) : 1u)
const uint kQRowBlocks = ROW_BLOCKS(kQ_lanes);
const uint kKRowBlocks = ROW_BLOCKS(kK_lanes);
const uint kVRowBlocks = ROW_BLOCKS(kV_lanes);
const uint kRowBlocks = WIDEST(kQRowBlocks, kKRowBlocks, kVRowBlocks);

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
    return item; // find_destination gives it the rest
}

// ---- Where its token goes: to its place in a tensor, or to its slot of a cache

const bool kTurnsCache = kCache != ROPE_CACHE_OFF && kKvInPlace; // a shift: the slot is known before anything is read

// Returns where a slot lies, behind `before` slots or pages of other sequences.
uint place_of_slot(uint before, uint slot, uint page_stride, uint slot_stride) {
    if (kPageSize == 0u) return (before + slot) * slot_stride;
    uint page = slot / kPageSize;
    return (before + page) * page_stride + (slot - page * kPageSize) * slot_stride;
}

// A token that goes nowhere gets slot 0, and its thread stores nothing.
void find_destination(inout WorkItem item, Token token) {
    uint tensor = item.tensor;
    uint length = length_to(tensor);
    uint sequence = gl_WorkGroupID.y;
    bool to_cache = kCache != ROPE_CACHE_OFF && !is_q(tensor);
    if (to_cache) sequence = sequence_of(token);
    uint before = sequence * (to_rows_of(tensor) * length);
    item.to = (before + item.token) * to_token_of(tensor);
    item.is_there = item.is_there && is_counted_in(item.token);
    if (kCache != ROPE_CACHE_OFF) {
        bool skipped;
        uint slot = slot_of(token, item.token, skipped);
        item.is_there = item.is_there && (is_q(tensor) || slot != ROPE_NOWHERE);
        if (slot == ROPE_NOWHERE) slot = 0u;
        uint of_slot = place_of_slot(before, slot, to_page_of(tensor), to_token_of(tensor));
        item.to = choose(to_cache, of_slot, item.to);
        item.scale = choose(tensor == kThird, push.scale_at_1, push.scale_at_0) + sequence * scale_batch_of(tensor) +
                     place_of_slot(before, slot, scale_page_of(tensor), scale_slot_of(tensor));
        item.scale_head = scale_head_of(tensor) + scale_head_grown_of(tensor) * length;
    }
    item.to += sequence * to_batch_of(tensor);
    if (!is_quantized(tensor)) item.to += to_begin(tensor);
    item.to_head = to_head_of(tensor) + to_head_grown_of(tensor) * length;
    if (kTurnsCache) item.from = item.to;
}

#endif
