// One pass from projection to cache: what rotate.comp does, between the other stages of a decoder's Q, K and V. A lane
// goes through its heads once for each stage that needs whole heads, and a last time to store: what it loads again is
// near, and no head has to fit into shared memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#if ROPE_LANE == 1
#extension GL_EXT_shader_16bit_storage : require
#endif
#define ROPE_FUSED
#include "start.glsl"
#include "angle.h"
#include "position.glsl"
#include "frequency.glsl"
#include "words.glsl"
#include "rows.glsl"
#include "turn.glsl"
#include "cache.glsl"

layout(constant_id = ROPE_ID_ALL_HEADS) const uint kAllHeads = 1;
layout(constant_id = ROPE_ID_TURNED_HEADS) const uint kTurnedHeads = 1;
layout(constant_id = ROPE_ID_SOURCE_HEAD) const uint kSourceHead = 0;
layout(constant_id = ROPE_ID_SOURCE_V) const uint kSourceV = 0;
layout(constant_id = ROPE_ID_DESTINATION_HEAD) const uint kDestinationHead = 0;
layout(constant_id = ROPE_ID_DESTINATION_V) const uint kDestinationV = 0;
layout(constant_id = ROPE_ID_PAGE_STRIDE) const uint kPageStride = 0;
layout(constant_id = ROPE_ID_SCALE_BATCH) const uint kScaleBatch = 0;
layout(constant_id = ROPE_ID_SCALE_PAGE) const uint kScalePage = 0;
layout(constant_id = ROPE_ID_SCALE_SLOT) const uint kScaleSlot = 0;
layout(constant_id = ROPE_ID_SCALE_HEAD) const uint kScaleHead = 0;
layout(constant_id = ROPE_ID_SCALE_AT) const uint kScaleAt = 0;
layout(constant_id = ROPE_ID_SCALE_V) const uint kScaleV = 0;
#ifdef ROPE_PARAMETERS // weights of norms, and the scale of queries
layout(constant_id = ROPE_ID_QUERY_SCALE) const uint kQueryScale = 0;
layout(constant_id = ROPE_ID_QUERY_OFFSET) const uint kQueryOffset = 0;
layout(constant_id = ROPE_ID_QUERY_COUNT) const uint kQueryCount = 1;
layout(constant_id = ROPE_ID_QUERY_VALUES) const uint kQueryValues = 0;
layout(constant_id = ROPE_ID_PARAMETERS) const uint kParameters = 1;

layout(std140, set = 0, binding = ROPE_BINDING_PARAMETERS) uniform Parameters {
    vec4 parameters[kParameters];
};

float query_scale(Token token) {
    if (kQueryScale == 0u) return 1.0;
    uint value = 0u;
    bool counts = token.placed && token.first_positioned && int(token.whole[0]) > -int(kQueryOffset);
    if (counts) value = (token.whole[0] + kQueryOffset) / kQueryScale;
    value = min(value, kQueryCount - 1u) + kQueryValues;
    return parameters[value / 4u][value % 4u];
}
#endif

const uint kTurnedGroups = (kTurnedHeads + kHeads - 1u) / kHeads;
const uint kSourceOfK = int(kSourceV) < 0 ? 0u - kSourceV : 0u;
const uint kSourceOfV = int(kSourceV) < 0 ? 0u : kSourceV;
const uint kDestinationOfK = int(kDestinationV) < 0 ? 0u - kDestinationV : 0u;
const uint kDestinationOfV = int(kDestinationV) < 0 ? 0u : kDestinationV;
const uint kGroups = kTurnedGroups + (kAllHeads - kTurnedHeads + kHeads - 1u) / kHeads;

// The heads of one token that a team of lanes takes, and where the first of them lies.
struct Team {
    uint number; // of the token
    uint group;
    uint lane;
    uint head; // of K or of V
    uint heads;
    bool is_v;
    uint from;
    uint base; // of the destination, in elements or, of integers, in words
    uint to;   // from there, in elements
    uint sequence;
    uint page;
    uint row;
};

Team team_of(uint index) {
    Team team;
    const uint lanes = kHeadLanes * kGroups;
    team.number = divide(index, push.lanes_magic, push.shifts & 0xFFFFu);
    uint rest = index - team.number * lanes;
    team.group = rest / kHeadLanes;
    team.lane = rest % kHeadLanes;
    team.is_v = team.group >= kTurnedGroups;
    team.head = (team.group - (team.is_v ? kTurnedGroups : 0u)) * kHeads;
    team.heads = min(kHeads, (team.is_v ? kAllHeads - kTurnedHeads : kTurnedHeads) - team.head);
    return team;
}

void place(inout Team team, Token token, uint slot) {
    uint batch = gl_WorkGroupID.y;
    team.from = push.source.offset;
    team.base = push.destination.offset;
#if ROPE_BUFFERS == 6
    of_v = team.is_v;
    if (of_v) {
        team.from = push.ROPE_SOURCE_V_AT;
        team.base = push.ROPE_DESTINATION_V_AT;
    }
#endif
    team.from += batch * push.source.batch + team.number * push.source.token + team.head * kSourceHead;
    team.from += team.is_v ? kSourceOfV : kSourceOfK;
    team.base += team.is_v ? kDestinationOfV : kDestinationOfK;
    team.page = slot / kPageSize;
    team.row = slot % kPageSize;
    if (kCache == ROPE_CACHE_OFF) {
        team.to = batch * push.destination.batch + team.number * push.destination.token;
    } else {
        team.sequence = sequence_of(token);
        team.to = team.sequence * push.destination.batch + team.page * kPageStride + team.row * push.destination.token;
    }
    team.to += team.head * kDestinationHead;
    if (kSamePlace && kCache != ROPE_CACHE_OFF) team.from = team.base + team.to;
}

// The word of a head's scale, from the first of its tensor.
uint scale_of(Team team, uint h) {
    uint at = team.sequence * kScaleBatch + team.page * kScalePage + team.row * kScaleSlot;
    return at + (team.head + h) * kScaleHead + (team.is_v ? kScaleV : kScaleAt);
}

#define STAGE_NORM 0u
#define STAGE_LARGEST 1u
#define STAGE_STORE 2u
#if ROPE_LANE == 4
#include "stages.glsl"

// What no lane could store by itself: whole blocks, and scales.
void finish_integers(Team team, uint entry, uint heads) {
    const bool blocks = kElementOut == ROPE_Q8_0;
    const uint words = blocks ? kRuns / 16u * uint(ROPE_Q8_0_PAIR_WORDS) : 1u; // of a head
    if (blocks) barrier();
    for (uint i = team.lane; i < heads * words; i += kHeadLanes) {
        uint h = i / words;
        if (blocks) {
            uint head = (team.to + h * kDestinationHead) / uint(2 * ROPE_Q8_0_ELEMENTS) * uint(ROPE_Q8_0_PAIR_WORDS);
            put_word(team.base + head + i % words, block_word(entry + h, i % words));
        } else {
            put_word(team.base + scale_of(team, h), shares[entry + h]);
        }
    }
}
#endif

// How one lane takes each of its heads.
struct Way {
    Runs from;
    Runs to;
    bool paired;
    bool turned;
    bool as_is;
    Turn turn;
    float scale;
};

Way way_of(Team team, Token token, bool there) {
    Way way;
#ifdef ROPE_PARAMETERS
    way.scale = query_scale(token);
#endif
    if (kShift != 0u) {
        token.whole = uvec4(push.ROPE_DELTA);
        token.fraction = uvec4(0u);
        token.positioned = token.positioned || kSets == 0u;
    }
    Work work = work_of(team.lane, team.heads);
    way.turn = Turn(VALUES(1.0), VALUES(0.0));
    bool in_pairs = team.lane < pair_lanes();
    way.paired = in_pairs && !team.is_v;
    way.turned = there && way.paired && token.turns && (kCosSin == ROPE_FROM_ROWS || is_known(token));
    way.as_is = kSameElement && !way.turned;
#if ROPE_LANE == 4
    if (kNorm != ROPE_NORM_OFF) way.as_is = team.is_v && way.as_is;
#endif
#ifdef ROPE_PARAMETERS
    if (kQueryScale != 0u) way.as_is = false;
#endif
    if (in_pairs) {
        uint row = gl_WorkGroupID.y * push.rows.batch + team.number * push.rows.token;
        if (way.turned) way.turn = turn_of(token, row, work);
        way.from = runs_of(work.j, work.count, kChunkIn);
        way.to = runs_of(work.j, work.count, team.is_v ? kChunkIn : kChunkOut);
    } else {
        way.from = pass_runs(team.lane - pair_lanes());
        way.to = way.from;
    }
    return way;
}

// Two runs as they lie in memory, from pairs of the one pairing to those of the other. Without a turn they move as
// integers.
void turn_runs(bool paired, bool turned, Turn turn, inout WORDS first, inout WORDS second) {
    if (paired && ROPE_IS_INTERLEAVED(kChunkIn)) unweave(first, second);
    if (turned) turn_pair(first, second, turn.cosine, turn.sine, kScaleGrid);
    if (paired && ROPE_IS_INTERLEAVED(kChunkOut)) weave(first, second);
}

// Sums up for the norm, wherever it stands.
void look_at_head(Team team, uint entry, Way way, WORDS first, WORDS second) {
#if ROPE_LANE == 4
    if (team.is_v) return;
    if (kNorm == ROPE_NORM_LAST) turn_runs(way.paired, way.turned, way.turn, first, second);
    keep_squares(entry, kNorm == ROPE_NORM_LAST ? way.to.low : way.from.low, first);
    keep_squares(entry, kNorm == ROPE_NORM_LAST ? way.to.high : way.from.high, second);
#endif
}

void norm(uint place, Team team, uint h, uint entry, Runs runs, inout WORDS first, inout WORDS second) {
#if ROPE_LANE == 4
    if (kNorm != place || team.is_v) return;
    first = normed(entry, team.head + h, runs.low, first);
    second = normed(entry, team.head + h, runs.high, second);
#endif
}

void finish_head(uint stage, Team team, uint h, uint entry, Way way, WORDS first, WORDS second) {
    uint to_head = team.to + h * kDestinationHead;
#if ROPE_LANE == 4
    if (kQuantized) {
        if (stage == STAGE_LARGEST) {
            keep_largest(entry, way.to.low, first);
            keep_largest(entry, way.to.high, second);
        } else {
            store_integers(entry, team.base, to_head, way.to.low, first);
            store_integers(entry, team.base, to_head, way.to.high, second);
        }
        return;
    }
#endif
    narrow_runs(way.as_is, first, second);
    uint to = place_of(team.base + to_head);
    store(to + way.to.low, first, way.to.low_count);
    store(to + way.to.high, second, way.to.high_count);
}

void pass_head(uint stage, Team team, uint h, uint entry, Way way) {
    uint from = place_of(team.from + h * kSourceHead);
    WORDS first = load(from + way.from.low, way.from.low_count);
    WORDS second = load(from + way.from.high, way.from.high_count);
    widen_runs(way.as_is, first, second);
    if (stage == STAGE_NORM) {
        look_at_head(team, entry, way, first, second);
        return;
    }
    norm(ROPE_NORM_FIRST, team, h, entry, way.from, first, second);
    turn_runs(way.paired, way.turned, way.turn, first, second);
    norm(ROPE_NORM_LAST, team, h, entry, way.to, first, second);
#ifdef ROPE_PARAMETERS
    if (kQueryScale != 0u) {
        precise VALUES left = uintBitsToFloat(first) * way.scale;
        precise VALUES right = uintBitsToFloat(second) * way.scale;
        first = floatBitsToUint(left);
        second = floatBitsToUint(right);
    }
#endif
    finish_head(stage, team, h, entry, way, first, second);
}

void pass_heads(uint stage, Team team, uint first_entry, Way way, bool there) {
    for (uint h = 0u; h < kHeads; ++h) {
        if (!there || h >= team.heads) break;
        pass_head(stage, team, h, first_entry + h, way);
    }
}

void main() {
    Team team = team_of(gl_GlobalInvocationID.x);
    bool there = team.number < push.tokens && is_counted_in(team.number);
    Token token = find_token(gl_WorkGroupID.y, there ? team.number : 0u);
    uint slot = 0u;
    bool skipped;
    if (kCache != ROPE_CACHE_OFF && there) slot = slot_of(token, team.number, skipped);
    there = there && slot != ROPE_NOWHERE;
    place(team, token, slot);
    Way way = way_of(team, token, there);
#if ROPE_LANE == 4
    uint number = gl_LocalInvocationID.x / kHeadLanes; // of the team in its group
    uint entry = number * kHeads;
    if (kNorm != ROPE_NORM_OFF) {
        pass_heads(STAGE_NORM, team, entry, way, there);
        find_factors(number, team.is_v ? kRuns * kHeads : team.lane, (number - team.group) * kHeads);
    }
    if (kQuantized) {
        pass_heads(STAGE_LARGEST, team, entry, way, there);
        find_shares(number, team.lane);
    }
    pass_heads(STAGE_STORE, team, entry, way, there);
    if (kQuantized) finish_integers(team, entry, there ? team.heads : 0u);
#else
    pass_heads(STAGE_STORE, team, 0u, way, there);
#endif
}
