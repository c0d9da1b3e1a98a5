// This shader makes the gradient of a norm and a rotation with respect to their input x, from the gradient behind them.
// It goes backwards through what fused.comp does to Q. A thread holds one lane of both. Q has its usual places, and x
// those of K.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define ROPE_PUSH RopeFusedPush
#define ROPE_GRADIENT
#include "families.h"
#include "start.glsl"
#include "position.glsl"
#include "frequency.glsl"
#include "runs.glsl"
#include "rows.glsl"
#include "cache.glsl"
#include "fused_item.glsl"
#include "lane.glsl"
#include "angles.glsl"
#ifdef ROPE_PARAMETERS
#include "parameters.glsl"
#endif
#include "norms.glsl"

// The quads of a thread's heads, as float32 bits: the gradient, and x or, behind the rotation, x turned.
const uint kHeld = kHeadsPerThread * kQuads;
Quad gradients[kHeld];
Quad inputs[kHeld];

WorkItem item_of_x(WorkItem item) {
    item.from = push.k_from + gl_WorkGroupID.y * push.kv_from_batch + item.token * kKvSourceToken;
    item.from_head = head_stride(kKvSourceHead, push.kv_from_batch);
    return item;
}

void load_heads(WorkItem item, Lane lane, bool interleaved) {
    WorkItem of_x = item_of_x(item);
    Head loaded_gradients[kHeadsPerThread];
    Head loaded_inputs[kHeadsPerThread];
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        loaded_gradients[h] = load_head(item, lane, kFirst, item.head + h);
        loaded_inputs[h] = load_head(of_x, lane, kSecond, item.head + h);
    }
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        for (uint quad = 0u; quad < kQuads; ++quad) {
            gradients[h * kQuads + quad] = read_quad(loaded_gradients[h], quad, interleaved, false);
            inputs[h * kQuads + quad] = read_quad(loaded_inputs[h], quad, interleaved, false);
        }
    }
}

void turn_quad(CosSin turn, bool interleaved, inout Quad words) {
    if (interleaved) deinterleave(words);
    turn_pair(words.x[0], words.x[1], turn.cosine, turn.sine, kScaleGrid);
    if (interleaved) interleave(words);
}

CosSin turn_of(Token token, uint row, Lane lane, uint quad) {
    if (kInline) return made_cos_sin(lane, quad);
    return read_cos_sin(token, row, lane, quad);
}

// The gradient's turn is backward.
CosSin forward_of(CosSin turn) {
    return CosSin(turn.cosine, uintBitsToFloat(floatBitsToUint(turn.sine) ^ 0x80000000u));
}

// Goes back to where the norm met the heads, and through its weights.
void meet_norm(WorkItem item, Lane lane, Token token, uint row, bool interleaved) {
    for (uint quad = 0u; quad < kQuads; ++quad) {
        CosSin turn = CosSin(vec4(1.0), vec4(0.0));
        if (lane.turned) turn = turn_of(token, row, lane, quad);
        uint places[2] = quad_places(lane.from, quad, interleaved);
        for (uint h = 0u; h < kHeadsPerThread; ++h) {
            Quad gradient = gradients[h * kQuads + quad];
            Quad x = inputs[h * kQuads + quad];
            if (lane.turned && kNorm == ROPE_NORM_FIRST) turn_quad(turn, interleaved, gradient);
            if (lane.turned && kNorm == ROPE_NORM_LAST) turn_quad(forward_of(turn), interleaved, x);
            for (uint i = 0u; i < 2u; ++i) {
                vec4 weighed_words = weighed(item, h, 2u * quad + i, places[i], uintBitsToFloat(gradient.x[i]));
                gradient.x[i] = floatBitsToUint(weighed_words);
                keep_squares(item, h, places[i], x.x[i]);
                keep_products(item, h, places[i], x.x[i], gradient.x[i]);
            }
            gradients[h * kQuads + quad] = gradient;
            inputs[h * kQuads + quad] = x;
        }
    }
}

uvec4 through_norm(float factor, float share, uvec4 gradient, uvec4 x) {
    precise vec4 straight = uintBitsToFloat(gradient) * factor;
    precise vec4 along = uintBitsToFloat(x) * share;
    precise vec4 result = straight - along;
    return floatBitsToUint(result);
}

void leave_norm(WorkItem item) {
    if (kNormAllHeads != 0u) keep_head_sums(item);
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        float factor = norm_factor(item, h);
        precise float square = factor * factor;
        precise float cube = square * factor;
        precise float mean = sum_of(item, h, 1u) * norm_share(item);
        precise float share = cube * mean;
        for (uint quad = 0u; quad < kQuads; ++quad) {
            Quad x = inputs[h * kQuads + quad];
            Quad gradient = gradients[h * kQuads + quad];
            for (uint i = 0u; i < 2u; ++i) gradient.x[i] = through_norm(factor, share, gradient.x[i], x.x[i]);
            gradients[h * kQuads + quad] = gradient;
        }
    }
}

void turn_back(Lane lane, Token token, uint row, bool interleaved) {
    if (!lane.turned || kNorm != ROPE_NORM_LAST) return;
    for (uint quad = 0u; quad < kQuads; ++quad) {
        CosSin turn = turn_of(token, row, lane, quad);
        for (uint h = 0u; h < kHeadsPerThread; ++h) turn_quad(turn, interleaved, gradients[h * kQuads + quad]);
    }
}

void store_head(WorkItem item, Lane lane, uint h, bool interleaved) {
    if (item.head + h >= item.heads) return;
    Head words;
    for (uint quad = 0u; quad < kQuads; ++quad)
        write_quad(words, quad, interleaved, false, kElementOut, gradients[h * kQuads + quad]);
    store_runs(item.to + (item.head + h) * item.to_head, lane, kFirst, words, kFloatsOut);
}

void main() {
    WorkItem item = find_work_item();
    Lane lane = lane_of(item.lane, width_of(item));
    bool interleaved = ROPE_IS_INTERLEAVED(kChunkIn) && lane.paired;
    Token token = find_token(gl_WorkGroupID.y, item.token);
    uvec4 frequency; // of the thread's first angle
    if (kInline) frequency = angle_frequency(0u, token, lane);
    load_heads(item, lane, interleaved);
#ifdef ROPE_WEIGHTS
    load_head_weights(item, lane.from, interleaved);
#endif
    item.is_there = item.is_there && is_counted_in(item.token);
    item.to = push.q_to + gl_WorkGroupID.y * push.q_to_batch + item.token * kQDestinationToken;
    bool known = kCosSin == ROPE_FROM_ROWS || is_known(token);
    lane.turned = lane.paired && token.turns && known;
    if (kInline) make_angles(token, lane, frequency);
    if (kShared) barrier();
    uint row = gl_WorkGroupID.y * push.rows.batch + item.token * push.rows.token;
    meet_norm(item, lane, token, row, interleaved);
    barrier();
    leave_norm(item);
    turn_back(lane, token, row, interleaved);
    if (!item.is_there) return;
    for (uint h = 0u; h < kHeadsPerThread; ++h) store_head(item, lane, h, interleaved);
}
