// This file has the cosines and sines of a lane's pairs. A group makes them once in shared memory, or each thread makes
// its own, or they are read from rows.
#ifndef ROPE_ANGLES_GLSL
#define ROPE_ANGLES_GLSL
#include "frequency.glsl"
#include "lane.glsl"
#include "rows.glsl"
#include "numbers/pair.h"

layout(constant_id = ROPE_ID_SHARES) const uint kShares = 0;
layout(constant_id = ROPE_ID_BACKWARD) const uint kBackward = 0;

const bool kShared = kShares != 0u;
const uint kTokenThreads = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
const uint kGroupPairs = kLaneParts == 1u ? kPairs : gl_WorkGroupSize.x * kRun; // of a token, whose angles a group makes
shared uint shared_cosines[kShared ? gl_WorkGroupSize.z * kGroupPairs : 1u];
shared uint shared_sines[kShared ? gl_WorkGroupSize.z * kGroupPairs : 1u];
uint own_cosines[kRun], own_sines[kRun];

// A thread makes this many angles, one per round: those of its lane, or its part of its token's.
const uint kRounds = !kInline ? 1u : kShared ? (kGroupPairs + kTokenThreads - 1u) / kTokenThreads : kRun;

uint first_group_pair() { return kLaneParts == 1u ? 0u : gl_WorkGroupID.z % kLaneParts * kGroupPairs; }
// Returns which of the group's angles a thread makes in a round. kGroupPairs or more means none.
uint shared_number(uint round) {
    return gl_LocalInvocationID.y * gl_WorkGroupSize.x + gl_LocalInvocationID.x + round * kTokenThreads;
}
// Returns the pair whose angle a thread makes in a round. kPairs or more means no pair.
uint angle_pair(uint round, Lane lane) {
    return choose(kShared, first_group_pair() + shared_number(round), pair_in_lane(lane, round));
}
uvec4 angle_frequency(uint round, Token token, Lane lane) {
    return frequency_of(token, min(angle_pair(round, lane), kPairs - 1u));
}

void make_angle(uint round, Token token, Lane lane, uvec4 frequency) {
    uint pair = angle_pair(round, lane);
    if (kShared && (pair >= kPairs || (kLaneParts != 1u && shared_number(round) >= kGroupPairs))) return;
    uvec2 bits = cos_sin_of(token, axis_of(pair), frequency);
    if (kShared) {
        uint at = gl_LocalInvocationID.z * kGroupPairs + shared_number(round);
        shared_cosines[at] = bits.x;
        shared_sines[at] = bits.y;
    } else {
        own_cosines[round] = bits.x;
        own_sines[round] = bits.y;
    }
}

// Makes all angles of a thread. Callers load the first frequency before heads, so that no angle waits for heads.
void make_angles(Token token, Lane lane, uvec4 frequency) {
    uint round = 0u;
    do {
        make_angle(round, token, lane, frequency);
        frequency = angle_frequency(++round, token, lane);
    } while (round < kRounds);
}

struct CosSin {
    vec4 cosine, sine;
};

// Returns where a pair's cosine lies. The token's own row begins at `row`.
uint row_place(Token token, uint row, uint pair) {
    uint start = kFromTable ? row_of(token, axis_of(pair)) * row_token() : row;
    return rows_offset() + start + pair * row_pair();
}

CosSin cos_sin_from(uvec4 cosine, uvec4 sine) {
    if (kBackward != 0u) sine ^= 0x80000000u;
    return CosSin(uintBitsToFloat(cosine), uintBitsToFloat(sine));
}

// Returns the cosines and sines that were made of one quad of a lane's pairs.
CosSin made_cos_sin(Lane lane, uint quad) {
    uvec4 cosine, sine;
    uint i = 0u;
    do {
        uint own = quad * 4u + i;
        uint shared_at = gl_LocalInvocationID.z * kGroupPairs + pair_in_lane(lane, own) - first_group_pair();
        cosine[i] = kShared ? shared_cosines[shared_at] : own_cosines[own];
        sine[i] = kShared ? shared_sines[shared_at] : own_sines[own];
    } while (++i < 4u);
    return cos_sin_from(cosine, sine);
}

CosSin cos_sin[kQuads]; // of the lane

void read_shared_angles(Lane lane) {
    uint quad = 0u;
    do {
        cos_sin[quad] = made_cos_sin(lane, quad);
    } while (++quad < kQuads);
}

// Rows are loaded before any barrier. Angles that were made are taken behind it.
void load_cos_sin(Token token, uint row, Lane lane) {
    const uint kPlaces = kRows <= ROPE_ROWS_WOVEN ? 1u : 4u; // loads by four need one place
    uint quad = 0u;
    do {
        uvec4 at, cosine, sine;
        uint i = 0u;
        do {
            uint place = row_place(token, row, pair_in_lane(lane, quad * 4u + i));
            if (kPlaces == 1u) at = uvec4(place); // no index: see portability.md
            else at[i] = place;
        } while (++i < kPlaces);
        load_row(at, cosine, sine);
        cos_sin[quad] = cos_sin_from(cosine, sine);
    } while (++quad < kQuads);
}

#endif
