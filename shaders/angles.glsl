// This file has the cosines and sines of a lane's pairs. A group makes them once in shared memory, or each thread makes
// its own, or they are read from rows.
layout(constant_id = ROPE_ID_SHARES) const uint kShares = 0;
layout(constant_id = ROPE_ID_BACKWARD) const uint kBackward = 0;
#include "pair.h"

const bool kShared = kShares != 0u;
const uint kTokenThreads = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
shared uint shared_cosines[kShared ? gl_WorkGroupSize.z * kPairs : 1u];
shared uint shared_sines[kShared ? gl_WorkGroupSize.z * kPairs : 1u];
uint own_cosines[kRun], own_sines[kRun];

// A thread makes this many angles, one per round: those of its lane, or its part of its token's.
const uint kRounds = !kInline ? 1u : kShared ? (kPairs + kTokenThreads - 1u) / kTokenThreads : kRun;

struct Angle {
    uint pair; // kPairs or more: there is none to make
    uvec4 frequency;
};

// Returns the angle that a thread makes in a round.
Angle angle_of_round(uint round, Token token, Lane lane) {
    uint thread = gl_LocalInvocationID.y * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint pair = choose(kShared, thread + round * kTokenThreads, pair_in_lane(lane, round));
    return Angle(pair, frequency_of(token, min(pair, kPairs - 1u)));
}

void make_angle(uint round, Token token, Angle angle) {
    if (kShared && angle.pair >= kPairs) return;
    uvec2 bits = cos_sin_of(token, axis_of(angle.pair), angle.frequency);
    if (kShared) {
        shared_cosines[gl_LocalInvocationID.z * kPairs + angle.pair] = bits.x;
        shared_sines[gl_LocalInvocationID.z * kPairs + angle.pair] = bits.y;
    } else {
        own_cosines[round] = bits.x;
        own_sines[round] = bits.y;
    }
}

// Makes all angles of a thread. Callers load the first one's frequency before the heads, so that it comes before them.
void make_angles(Token token, Lane lane, Angle angle) {
    uint round = 0u;
    do {
        make_angle(round, token, angle);
        angle = angle_of_round(++round, token, lane);
    } while (round < kRounds);
}

struct CosSin {
    vec4 cosine, sine;
};
const uint kPlaces = !kInline && kRows <= ROPE_ROWS_WOVEN ? 1u : 4u; // loads by four need one place

// Returns the cosines and sines of one quad of a lane's pairs. The token's own row begins at `row`.
CosSin cos_sin_of_quad(Token token, uint row, Lane lane, uint quad) {
    uvec4 cosine, sine, at;
    uint i = 0u;
    do {
        uint own = quad * 4u + i;
        uint pair = pair_in_lane(lane, own);
        if (kShared) {
            cosine[i] = shared_cosines[gl_LocalInvocationID.z * kPairs + pair];
            sine[i] = shared_sines[gl_LocalInvocationID.z * kPairs + pair];
        } else if (kInline) {
            cosine[i] = own_cosines[own];
            sine[i] = own_sines[own];
        } else {
            uint start = kFromTable ? row_of(token, axis_of(pair)) * push.rows.token : row;
            uint place = push.rows.offset + start + pair * push.rows.head;
            if (kPlaces == 1u) at = uvec4(place); // no index: see portability.md
            else at[i] = place;
        }
    } while (++i < kPlaces);
    if (!kInline) load_row(at, cosine, sine);
    if (kBackward != 0u) sine ^= 0x80000000u;
    return CosSin(uintBitsToFloat(cosine), uintBitsToFloat(sine));
}
