// This shader is one pass from projection to cache. It does what rotate.comp does, and the other stages of a decoder's
// Q, K and V before and behind it. A thread loads one lane of a few heads once, and holds them until they are stored. Each
// stage is a file, and passes by the heads of a tensor whose record does not name it. If a stage needs whole heads, the
// lanes of a head meet in shared memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#define ROPE_PUSH RopeFusedPush
#include "layout.glsl"
#include "item.glsl"
#include "../angles.glsl" // first of those with shared arrays: the angles are read four at a time, at multiples of 16 bytes
#include "heads.glsl"
#include "biases.glsl"
#include "norms.glsl"
#include "turn.glsl"
#include "query_scale.glsl"
#include "hadamard.glsl"
#include "shift.glsl"

// A shift turns by its delta, whatever the token's position is.
Token rotated_token(Token token) {
    if (!kByDelta) return token;
    token.whole = uvec4(push.delta);
    token.fraction = uvec4(0u);
    token.positioned = token.positioned || kSets == 0u;
    return token;
}

HeadPath path_of(WorkItem item, Lane lane) {
    HeadPath path;
    path.lane = lane;
    path.interleaved_in = ROPE_IS_INTERLEAVED(kChunkIn) && lane.paired;
    path.interleaved_out = ROPE_IS_INTERLEAVED(kChunkOut) && lane.paired;
    path.as_is = float_element_of(item.tensor) == kElementIn && !lane.turned && kClip == 0u;
    path.as_is = path.as_is && !is_quantized(item.tensor);
    path.as_is = path.as_is && !is_normed(item.tensor);
    path.as_is = path.as_is && !is_biased(item.tensor);
    path.as_is = path.as_is && !is_scaled(item.tensor) && !is_transformed(item.tensor);
    return path;
}

const bool kStagesBefore = kStagesAtLoad || kNormsFirst; // before the turn

// Widens heads, adds biases, clips, and keeps the sums of a norm before the turn.
void take_heads(WorkItem item, HeadPath path) {
    if (kFloatsIn && !kStagesBefore) return;
    uint h = 0u;
    do {
        uint quad = 0u;
        do {
            uint at = h * kQuads + quad;
            if (!kFloatsIn) held[at] = read_quad(loaded[h], quad, path.interleaved_in, path.as_is);
            uint places[2] = places_in(path, quad);
            uint i = 0u;
            if (kStagesBefore) do {
                uvec4 x = held[at].x[i];
                x = biased(item, h, places[i], x);
                x = clipped(x);
                if (kStagesAtLoad) held[at].x[i] = x;
                if (kNormsFirst) keep_sums(item, h, places[i], x);
            } while (++i < 2u);
        } while (++quad < kQuads);
    } while (++h < kHeadsPerThread);
}

void main() {
    WorkItem item = find_work_item();
    Lane lane = lane_of(item.lane, width_of(item.tensor));
    if (!turns(item.tensor)) lane.to = lane.from; // it keeps its order
    Lane quads = lane;
    if (kRelays) quads = quad_lane(item);
    Token token = find_token(gl_WorkGroupID.y, item.token);
    uvec4 frequency; // of the thread's first angle
    if (kInline) frequency = angle_frequency(0u, token, lane);
    if (!kTurnsCache) load_heads(item, quads);
    find_destination(item, token);
    if (kTurnsCache && kQuantizes) load_cached_heads(item, quads);
    else if (kTurnsCache) load_heads(item, quads);
    bool interleaved = ROPE_IS_INTERLEAVED(kNormsFirst ? kChunkIn : kChunkOut) && quads.paired;
    load_head_weights(item, kNormsFirst ? quads.from : quads.to, interleaved); // where the norm meets the heads
    lane.paired = lane.paired && turns(item.tensor);
    Token rotated = rotated_token(token);
    bool known = kCosSin == ROPE_FROM_ROWS || is_known(rotated);
    lane.turned = lane.paired && token.turns && known;
    quads.paired = !kRelays && lane.paired;
    quads.turned = (kRelays ? turns(item.tensor) : lane.paired) && token.turns && known;
    uint row = (gl_WorkGroupID.y * push.plan_tokens + item.token) * kRowToken;
    if (!kInline && lane.turned) load_cos_sin(rotated, row, lane);
    if (kQuantizes) copy_heads(item, path_of(item, quads));
    if (kInline && (kShared ? group_turns() : turns(item.tensor))) make_angles(rotated, lane, frequency);
    if (kShared && !kNormsFirst) barrier(); // or a norm's barrier serves
    HeadPath path = path_of(item, quads);
    if (kQuantizes) path.as_is = path.as_is && kRelays; // other copies are stored
    item.is_there = item.is_there && !(is_in_place(item.tensor) && path.as_is); // it stays as it lies
    if (kTurnsCache && kQuantizes) item.is_there = item.is_there && token.turns && known; // and so does an unturned head
    take_heads(item, path);
    if (kTurnsCache) transform_heads(item, quads.from, path.interleaved_in); // back
    if (kNormsFirst) norm_heads(item, quads.from, path.interleaved_in);
    if (kRelays) turn_relayed(item, path, path_of(item, lane));
    else turn_pairs(item, path);
    if (kNormsLast) norm_heads(item, quads.to, path.interleaved_out);
    scale_queries(item, token);
    transform_heads(item, quads.to, path.interleaved_out);
    if (kQuantizes) store_quantized(item, path);
    else store_heads(item, path);
}
