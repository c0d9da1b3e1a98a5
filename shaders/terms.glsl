// This file has the cosines and sines, or the two halves of a learned row, that the pairs of an addition's lane are
// given. A group with several sequences computes them once in shared memory, or each thread computes its own, or they
// are read from rows.
#include "lane_rows.glsl"

layout(constant_id = ROPE_ID_SHARES) const uint kShares = 0;
const bool kShared = kShares != 0u;
const uint kGroupPairs = gl_WorkGroupSize.x * kRun; // of one token in a group
const uint kTokenThreads = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
shared uint shared_cosines[kShared ? gl_WorkGroupSize.z * kGroupPairs : 1u];
shared uint shared_sines[kShared ? gl_WorkGroupSize.z * kGroupPairs : 1u];

// LaneTerms has the terms of a lane's first quad and of its second. If a lane has one quad, both are that quad's.
struct LaneTerms {
    CosSin first;
    CosSin second;
};

uint first_group_pair() { return gl_WorkGroupID.z % kLaneParts * kGroupPairs; }

// A thread computes one quad of its lane at a time. If a group shares, all threads of a token compute all of its pairs,
// one pair each in a round; then there are at most as many rounds as a quad has pairs.
const uint kComputedQuads = kShared ? 1u : kQuads;
const uint kRounds = kShared ? (kGroupPairs + kTokenThreads - 1u) / kTokenThreads : 4u;

// Computes a thread's part of the terms. A surplus thread has a token and a lane too, so it needs no branch. No pair of
// a token is computed twice in a group.
LaneTerms compute_terms(Token token, bool added, Lane lane) {
    LaneTerms terms;
    bool token_is_there = gl_WorkGroupID.x * gl_WorkGroupSize.z + gl_LocalInvocationID.z < push.tokens;
    uint thread = gl_LocalInvocationID.y * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint quad = 0u;
    do { // Apple's compiler did not unroll a for loop, which took eight more registers
        uvec4 cosine = uvec4(0u);
        uvec4 sine = uvec4(0u);
        for (uint i = 0u; i < kRounds; ++i) {
            uint own = kShared ? thread + i * kTokenThreads : quad * 4u + i;
            uint pair = kShared ? first_group_pair() + own : lane.j + own;
            bool is_there = kShared ? token_is_there && own < kGroupPairs && pair < kPairs
                                    : !kByWords || own < lane.count;
            if (added && is_there) {
                uvec2 bits = cos_sin_of(token, axis_of(pair), frequency_of(token, pair));
                if (kShared) {
                    shared_cosines[gl_LocalInvocationID.z * kGroupPairs + own] = bits.x;
                    shared_sines[gl_LocalInvocationID.z * kGroupPairs + own] = bits.y;
                } else {
                    cosine[i] = bits.x;
                    sine[i] = bits.y;
                }
            }
        }
        if (quad == 0u) terms.first = CosSin(uintBitsToFloat(cosine), uintBitsToFloat(sine));
        terms.second = CosSin(uintBitsToFloat(cosine), uintBitsToFloat(sine));
    } while (++quad < kComputedQuads);
    return terms;
}

CosSin shared_quad(Lane lane, uint quad) {
    uvec4 cosine;
    uvec4 sine;
    for (uint i = 0u; i < 4u; ++i) {
        uint place = gl_LocalInvocationID.z * kGroupPairs + pair_in_lane(lane, quad * 4u + i) - first_group_pair();
        cosine[i] = shared_cosines[place];
        sine[i] = shared_sines[place];
    }
    return CosSin(uintBitsToFloat(cosine), uintBitsToFloat(sine));
}

const bool kByEight = kRows == ROPE_ROWS_BY_EIGHT;

CosSin read_terms_of_quad(Token token, uint row, Lane lane, uint quad) {
    uvec4 cosine, sine;
    read_quad_rows(token, row, lane, quad, cosine, sine);
    return CosSin(uintBitsToFloat(cosine), uintBitsToFloat(sine));
}

// Reads two quads, eight 16-bit entries at a time.
LaneTerms read_eight(uint at) {
    LaneTerms terms;
    uvec4 cosines = rows_by_four[at >> 3];
    uvec4 sines = rows_by_four[(at + push.sin_offset) >> 3];
    terms.first.cosine = uintBitsToFloat(widen_run(cosines.xy, kRowElement));
    terms.first.sine = uintBitsToFloat(widen_run(sines.xy, kRowElement));
    terms.second.cosine = uintBitsToFloat(widen_run(cosines.zw, kRowElement));
    terms.second.sine = uintBitsToFloat(widen_run(sines.zw, kRowElement));
    return terms;
}

LaneTerms read_terms(Token token, uint row, Lane lane) {
    if (kByEight) return read_eight(row_place(token, row, lane.j));
    LaneTerms terms;
    for (uint quad = 0u; quad < kQuads; ++quad) {
        CosSin read = kShared ? shared_quad(lane, quad) : read_terms_of_quad(token, row, lane, quad);
        if (quad == 0u) terms.first = read;
        terms.second = read;
    }
    return terms;
}
