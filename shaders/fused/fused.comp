// This shader is one pass from projection to cache. It does what rotate.comp does, and the other stages of a decoder's
// Q, K and V before and behind it. A thread loads one lane of a few heads once, and holds them until they are stored.
// If a stage needs whole heads, the lanes of a head meet in shared memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#define ROPE_PUSH RopeFusedPush
#include "words.h"
#include "../start.glsl"
#include "../position.glsl"
#include "../frequency.glsl"
#include "../runs.glsl"
#include "../rows.glsl"
#include "cache.glsl"
#include "item.glsl"
#include "../lane.glsl"
#include "../angles.glsl"

layout(constant_id = ROPE_ID_ELEMENT_CACHE) const uint kElementCache = ROPE_F32; // K's and V's
#ifdef ROPE_PARAMETERS
#include "parameters.glsl"
#endif
#include "norms.glsl"
const bool kTurnsCache = kCache != ROPE_CACHE_OFF && kKvInPlace; // a shift: the slot is known before anything is read
#include "inputs.glsl"
#ifdef ROPE_INTEGERS
#include "integers.glsl"
#endif
#ifndef ROPE_SHIFTS
#include "relay.glsl"
#else
const bool kRelays = false;
#endif

// The quads of a thread's heads, as float32 bits or, if they are moved as they are, as 16-bit numbers.
Quad held[kHeadsPerThread * kQuads];

// A way tells how a thread's heads pass: the places of their quads, and what becomes of them.
struct Way {
    Lane lane;
    bool interleaved_in;
    bool interleaved_out;
    bool is_v;
    bool as_is;
    uint element; // of the destination
};

uint[2] places_in(Way way, uint quad) { return quad_places(way.lane.from, quad, way.interleaved_in); }
uint[2] places_out(Way way, uint quad) { return quad_places(way.lane.to, quad, way.interleaved_out); }

// ---- Where heads lie

uint place_in_pages(uint slot, uint page_stride, uint slot_stride) {
    uint page = choose(kPageSize != 0u, slot / max(kPageSize, 1u), 0u);
    return page * page_stride + (slot - page * kPageSize) * slot_stride;
}

// Finds where the token goes. A token that goes nowhere gets slot 0, and its thread stores nothing.
void find_destination(inout WorkItem item, Token token) {
    bool of_v = item.tensor == kThird;
    uint batch = gl_WorkGroupID.y;
    uint to = item.token * kKvDestinationToken;
    uint sequence = batch;
    item.is_there = item.is_there && is_counted_in(item.token);
#ifdef ROPE_INTEGERS
    ScalePlaces scales = scale_places();
    item.scale = choose(of_v, push.v_to + scales.of_v, push.k_to + scales.of_k);
#endif
    if (kCache != ROPE_CACHE_OFF) {
        bool skipped;
        uint slot = slot_of(token, item.token, skipped);
        sequence = sequence_of(token);
        item.is_there = item.is_there && (is_q(item) || slot != ROPE_NOWHERE);
        if (slot == ROPE_NOWHERE) slot = 0u;
        to = place_in_pages(slot, kPageStride, kKvDestinationToken);
#ifdef ROPE_INTEGERS
        item.scale += sequence * scales.batch + place_in_pages(slot, kScalePage, kScaleSlot);
#endif
    }
    item.to = sequence * push.kv_to_batch + to;
#ifndef ROPE_INTEGERS
    item.to += choose(of_v, push.v_to, push.k_to);
#endif
    if (is_q(item)) item.to = push.q_to + batch * push.q_to_batch + item.token * kQDestinationToken;
    if (kTurnsCache) item.from = item.to;
}

// Heads of 16 bits wait as they were loaded, so that all loads are on their way before any is widened. Those of 32 bits
// are held at once.
Head loaded[kHeadsPerThread];

void keep_head(uint h, Head words) {
    if (kFloatsIn) held[h] = Quad(words.run);
    else loaded[h] = words;
}

// Loops over heads and quads run at least once. Not all compilers see that of a for loop, so most are do loops:
// SwiftShader then takes half the time.
void load_heads(WorkItem item, Lane lane) {
#ifdef ROPE_SHIFTS
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        uint head = min(item.head + h, item.heads - 1u);
        for (uint i = 0u; i < 2u; ++i) held[h].x[i] = cached_quad(item, head, lane.from.place[i]);
    }
#else
    uint h = 0u;
    do {
        uint head = item.head + h;
        if (is_read_from(item, kThird)) keep_head(h, load_head(item, lane, kThird, head));
        else if (is_read_from(item, kSecond)) keep_head(h, load_head(item, lane, kSecond, head));
        else keep_head(h, load_head(item, lane, kFirst, head));
    } while (++h < kHeadsPerThread);
#endif
}

void store_runs(WorkItem item, Way way, uint tensor, uint h, Head words) {
    uint at = item.to + (item.head + h) * item.to_head;
    store_runs(at, way.lane, tensor, words, way.element == uint(ROPE_F32));
}

// A return within a loop would keep compilers from unrolling it, and the heads would lie in memory.
void store_head(WorkItem item, Way way, uint h) {
    if (!has_head(item, h)) return;
    Head words;
    uint quad = 0u;
    do {
        write_quad(words, quad, way.interleaved_out, way.as_is, way.element, held[h * kQuads + quad]);
    } while (++quad < kQuads);
    if (is_written_to(item, kThird)) store_runs(item, way, kThird, h, words);
    else if (is_written_to(item, kSecond)) store_runs(item, way, kSecond, h, words);
    else store_runs(item, way, kFirst, h, words);
}

void store_heads(WorkItem item, Way way) {
    if (!item.is_there) return;
    uint h = 0u;
    do {
        store_head(item, way, h);
    } while (++h < kHeadsPerThread);
}

// ---- The stages

Way way_of(WorkItem item, Lane lane) {
    Way way;
    way.is_v = item.tensor == kThird;
    way.lane = lane;
    way.interleaved_in = ROPE_IS_INTERLEAVED(kChunkIn) && lane.paired;
    way.interleaved_out = ROPE_IS_INTERLEAVED(kChunkOut) && lane.paired;
    way.element = is_q(item) ? kElementOut : kElementCache;
    way.as_is = way.element == kElementIn && !lane.turned && kClip == 0u;
    way.as_is = way.as_is && !is_normed(item);
    way.as_is = way.as_is && !kBiased;
#ifdef ROPE_PARAMETERS
    if (kQueryScale != 0u) way.as_is = way.as_is && !is_q(item);
#endif
    return way;
}

const bool kStagesBefore = kBiased || kClip != 0u || kNorm == ROPE_NORM_FIRST; // before the turn

void hold_heads(WorkItem item, Way way) {
    if (kFloatsIn && !kStagesBefore) return;
    uint h = 0u;
    do {
        uint quad = 0u;
        do {
            uint at = h * kQuads + quad;
            if (!kFloatsIn) held[at] = read_quad(loaded[h], quad, way.interleaved_in, way.as_is);
            uint places[2] = places_in(way, quad);
            uint i = 0u;
            if (kStagesBefore) do {
                uvec4 x = held[at].x[i];
                x = biased(item, h, places[i], x);
                x = clipped(x);
                if (kBiased || kClip != 0u) held[at].x[i] = x;
                if (kNorm == ROPE_NORM_FIRST) keep_sums(item, h, places[i], x);
            } while (++i < 2u);
        } while (++quad < kQuads);
    } while (++h < kHeadsPerThread);
}

// Angles that were made are read for one quad at a time, which turns all heads: those of two would take more registers.
void turn_heads(WorkItem item, Way way, Token turning) {
    if (kFloatsIn && !way.lane.paired && kNorm != ROPE_NORM_LAST) return;
    uint quad = 0u;
    do {
        CosSin turn = CosSin(vec4(1.0), vec4(0.0));
        if (way.lane.turned && kInline) turn = made_cos_sin(way.lane, quad);
        else if (way.lane.turned) turn = turns[quad];
        uint h = 0u;
        do {
            Quad pairs = held[h * kQuads + quad];
            if (way.interleaved_in) deinterleave(pairs);
            if (way.lane.turned) turn_pair(pairs.x[0], pairs.x[1], turn.cosine, turn.sine, kScaleGrid);
            if (way.interleaved_out) interleave(pairs);
            held[h * kQuads + quad] = pairs;
            for (uint i = 0u; kNorm == ROPE_NORM_LAST && !kRelays && i < 2u; ++i)
                keep_sums(item, h, places_out(way, quad)[i], pairs.x[i]);
        } while (++h < kHeadsPerThread);
    } while (++quad < kQuads);
}

#ifndef ROPE_SHIFTS
// Turns the pairs of lanes that hold quads, and gives them back.
void turn_relayed(WorkItem item, Way quads, Way pairs, Token turning) {
    for (uint h = 0u; h < kHeadsPerThread; ++h) give(h, quads.lane.from, held[h]);
    barrier();
    if (pairs.lane.paired) {
        for (uint h = 0u; h < kHeadsPerThread; ++h) held[h] = taken(h, pairs.lane.from);
    }
    barrier();
    if (pairs.lane.paired) {
        turn_heads(item, pairs, turning);
        for (uint h = 0u; h < kHeadsPerThread; ++h) give(h, pairs.lane.to, held[h]);
    }
    barrier();
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        held[h] = taken(h, quads.lane.from);
        if (kNorm != ROPE_NORM_LAST) continue;
        for (uint i = 0u; i < 2u; ++i) keep_sums(item, h, places_out(quads, 0u)[i], held[h].x[i]);
    }
}
#endif

// Subtracts the means from the elements.
void center_heads(WorkItem item, Runs runs, bool interleaved) {
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        float mean = mean_of_head(item, h);
        for (uint quad = 0u; quad < kQuads; ++quad) {
            uint places[2] = quad_places(runs, quad, interleaved);
            for (uint i = 0u; i < 2u; ++i) {
                uvec4 x = centered(item, mean, places[i], held[h * kQuads + quad].x[i]);
                held[h * kQuads + quad].x[i] = x;
                keep_squares(item, h, places[i], x);
            }
        }
    }
}

void norm_heads(WorkItem item, Runs runs, bool interleaved) {
    barrier();
    if (kCentered) {
        center_heads(item, runs, interleaved);
        barrier();
    }
    if (kNormAllHeads != 0u) keep_head_sums(item);
    if (!is_normed(item)) return;
    float factor = 0.0;
    uint h = 0u;
    do {
        if (h == 0u || kNormAllHeads == 0u) factor = norm_factor(item, h);
        uint quad = 0u;
        do {
            uint places[2] = quad_places(runs, quad, interleaved);
            uint i = 0u;
            do {
                uvec4 x = held[h * kQuads + quad].x[i];
                held[h * kQuads + quad].x[i] = normed(item, h, factor, 2u * quad + i, places[i], x);
            } while (++i < 2u);
        } while (++quad < kQuads);
    } while (++h < kHeadsPerThread);
}

#if defined(ROPE_PARAMETERS) && !defined(ROPE_SHIFTS) // a shift has no Q
void scale_queries(WorkItem item, Token token) {
    if (kQueryScale == 0u || !is_q(item)) return;
    float scale = query_scale(token);
    uint quad = 0u;
    do {
        precise vec4 first = uintBitsToFloat(held[quad].x[0]) * scale;
        precise vec4 second = uintBitsToFloat(held[quad].x[1]) * scale;
        held[quad] = Quad(uvec4[](floatBitsToUint(first), floatBitsToUint(second)));
    } while (++quad < kHeadsPerThread * kQuads);
}
#endif

#ifdef ROPE_INTEGERS
#include "integer_stages.glsl"
#endif

// ---- The whole

// A shift turns by its delta, whatever the token's position is.
void take_delta(inout Token token) {
    if (kShift == 0u) return;
    token.whole = uvec4(push.delta);
    token.fraction = uvec4(0u);
    token.positioned = token.positioned || kSets == 0u;
}

void main() {
    WorkItem item = find_work_item();
    Lane lane = lane_of(item.lane, width_of(item));
    if (item.tensor == kThird) lane.to = lane.from; // V keeps its order
    Lane moved = lane;
#ifndef ROPE_SHIFTS
    if (kRelays) moved = quads_of(item);
#endif
    Token token = find_token(gl_WorkGroupID.y, item.token);
    uvec4 frequency; // of the thread's first angle
    if (kInline) frequency = angle_frequency(0u, token, lane);
    if (!kTurnsCache) load_heads(item, moved);
    find_destination(item, token);
    if (kTurnsCache) load_heads(item, moved);
    const bool first = kNorm == ROPE_NORM_FIRST;
    bool interleaved = ROPE_IS_INTERLEAVED(first ? kChunkIn : kChunkOut) && moved.paired;
    load_head_weights(item, first ? moved.from : moved.to, interleaved); // where the norm meets the heads
    lane.paired = lane.paired && item.tensor != kThird;
    Token turning = token;
    take_delta(turning);
    bool known = kCosSin == ROPE_FROM_ROWS || is_known(turning);
    lane.turned = lane.paired && token.turns && known;
    moved.paired = !kRelays && lane.paired;
    moved.turned = (kRelays ? item.tensor != kThird && kPairs != 0u : lane.paired) && token.turns && known;
    uint row = gl_WorkGroupID.y * push.rows.batch + item.token * push.rows.token;
    if (!kInline && lane.turned) load_turns(turning, row, lane);
#ifdef COPIES_FIRST
    copy_heads(item, way_of(item, moved));
#endif
    if (kInline && (kShared ? group_turns() : item.tensor != kThird)) make_angles(turning, lane, frequency);
    if (kShared && kNorm != ROPE_NORM_FIRST) barrier(); // or a norm's barrier serves
    Way way = way_of(item, moved);
#ifdef COPIES_FIRST
    way.as_is = way.as_is && kRelays;
#endif
    item.is_there = item.is_there && !(is_in_place(item) && way.as_is); // it stays as it lies
#ifdef ROPE_SHIFTS
    item.is_there = item.is_there && token.turns && known; // and so does a head that is not turned
#endif
    hold_heads(item, way);
    if (kNorm == ROPE_NORM_FIRST) norm_heads(item, moved.from, way.interleaved_in);
#ifndef ROPE_SHIFTS
    if (kRelays) turn_relayed(item, way, way_of(item, lane), turning);
    else turn_heads(item, way, turning);
#else
    turn_heads(item, way, turning);
#endif
    if (kNorm == ROPE_NORM_LAST) norm_heads(item, moved.to, way.interleaved_out);
#if defined(ROPE_PARAMETERS) && !defined(ROPE_SHIFTS)
    scale_queries(item, token);
#endif
#ifdef ROPE_INTEGERS
    store_integers(item, way);
#else
    store_heads(item, way);
#endif
}
