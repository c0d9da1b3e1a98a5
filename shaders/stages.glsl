// What looks at a whole head before any of it is stored: norms, and the scales of integers. The lanes of a team, which
// hold one head between them in runs of four elements, meet in shared memory.
#include "reciprocal.h"

layout(constant_id = ROPE_ID_RUNS) const uint kRuns = 1;
layout(constant_id = ROPE_ID_NORM) const uint kNorm = ROPE_NORM_OFF;
layout(constant_id = ROPE_ID_NORM_HEADS) const uint kNormHeads = 1;
layout(constant_id = ROPE_ID_NORM_SHARE) const uint kNormShare = 0;
layout(constant_id = ROPE_ID_EPSILON) const uint kEpsilon = 0;
layout(constant_id = ROPE_ID_WEIGHTS) const uint kWeights = ROPE_NOWHERE;
layout(constant_id = ROPE_ID_WEIGHT_OFFSET) const uint kWeightOffset = 0;

const bool kQuantized = ROPE_IS_FOR_CACHES(kElementOut);
const uint kBlockRuns = kElementOut == ROPE_Q8_0 ? uint(ROPE_Q8_0_ELEMENTS / 4) : kRuns;
const uint kBlocks = kRuns / kBlockRuns;
const uint kTeams = gl_WorkGroupSize.x < kHeadLanes ? 1u : gl_WorkGroupSize.x / kHeadLanes;
const uint kEntries = kTeams * kHeads;

shared uint run_words[kEntries * kRuns]; // sums of squares, largest magnitudes, or four integers
shared float head_sums[kEntries];
shared float factors[kEntries];
shared uint shares[kEntries * kBlocks]; // a 127th of the largest magnitude of a block, as it is stored
shared float per_share[kEntries * kBlocks];

layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer DestinationWords {
    uint destination_words[];
};
#if ROPE_BUFFERS == 6
layout(set = 0, binding = ROPE_BINDING_DESTINATION_V) buffer DestinationVWords {
    uint destination_v_words[];
};
#endif
void put_word(uint at, uint word) {
    IF_V(destination_v_words[at] = word)
    destination_words[at] = word;
}

void keep_squares(uint entry, uint place, WORDS words) {
    vec4 x = uintBitsToFloat(words);
    precise vec4 squares = x * x;
    precise float sum = (squares.x + squares.y) + (squares.z + squares.w);
    run_words[entry * kRuns + place] = floatBitsToUint(sum);
}

// Every fourth run of a head, to where the first of them lies.
void add_runs(uint entry, uint first) {
    precise float total = 0.0;
    for (uint run = first; run < kRuns; run += 4u) total += uintBitsToFloat(run_words[entry * kRuns + run]);
    run_words[entry * kRuns + first] = floatBitsToUint(total);
}

float head_sum(uint entry) {
    vec4 totals;
    for (uint i = 0u; i < 4u; ++i) totals[i] = i < kRuns ? uintBitsToFloat(run_words[entry * kRuns + i]) : 0.0;
    precise float sum = (totals.x + totals.y) + (totals.z + totals.w);
    return sum;
}

// All heads of a token have one factor, which each team finds for itself.
const uint kFactors = kNormHeads == 1u ? kHeads : 1u;

// From the sums of runs to each head's factor. `first`: the entry of the token's first head. Lanes that have nothing to
// do come with a number behind all.
void find_factors(uint team, uint lane, uint first) {
    const uint totals = min(kRuns, 4u);
    barrier();
    for (uint i = lane; i < kHeads * totals; i += kHeadLanes) add_runs(team * kHeads + i / totals, i % totals);
    barrier();
    for (uint h = lane; h < kHeads; h += kHeadLanes) head_sums[team * kHeads + h] = head_sum(team * kHeads + h);
    if (kNormHeads != 1u) barrier();
    for (uint h = lane; h < kFactors; h += kHeadLanes) {
        uint entry = team * kHeads + h;
        precise float sum = head_sums[kNormHeads == 1u ? entry : first];
        for (uint i = 1u; i < kNormHeads; ++i) sum += head_sums[first + i];
        precise float mean = sum * uintBitsToFloat(kNormShare);
        precise float root = mean + uintBitsToFloat(kEpsilon);
        factors[entry] = uintBitsToFloat(reciprocal_root_bits(floatBitsToUint(root)));
    }
    barrier();
}

WORDS normed(uint entry, uint head, uint place, WORDS words) {
    precise vec4 x = uintBitsToFloat(words) * factors[kNormHeads == 1u ? entry : entry / kHeads * kHeads];
#ifdef ROPE_PARAMETERS
    if (kWeights != ROPE_NOWHERE) {
        uint at = kWeights / 4u + (kNormHeads == 1u ? 0u : head * kRuns) + place;
        precise vec4 weight = parameters[at] + uintBitsToFloat(kWeightOffset);
        x = x * weight;
    }
#endif
    return floatBitsToUint(x);
}

void keep_largest(uint entry, uint place, WORDS words) {
    uvec4 magnitudes = words & 0x7FFFFFFFu;
    run_words[entry * kRuns + place] =
        max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w));
}

void find_shares(uint team, uint lane) {
    barrier();
    for (uint i = lane; i < kHeads * kBlocks; i += kHeadLanes) {
        uint block = team * kHeads * kBlocks + i;
        uint most = 0u;
        for (uint run = 0u; run < kBlockRuns; ++run) most = max(most, run_words[block * kBlockRuns + run]);
        uint share = share_127_bits(most);
        bool normal = share >= 0x800000u; // otherwise all are 0
        shares[block] = normal ? share : 0u;
        if (kElementOut == ROPE_Q8_0) shares[block] = narrow_f16(uvec4(shares[block])).x;
        per_share[block] = normal ? uintBitsToFloat(reciprocal_bits(share)) : 0.0;
    }
    barrier();
}

// To the nearest integer, halves away from zero; a byte each.
uint four_integers(uint entry, uint place, WORDS words) {
    precise vec4 x = uintBitsToFloat(words) * per_share[entry * kBlocks + place / kBlockRuns];
    precise vec4 magnitude = abs(x);
    uvec4 whole = uvec4(magnitude);
    precise vec4 rest = magnitude - vec4(whole);
    whole = min(whole + uvec4(greaterThanEqual(rest, vec4(0.5))), uvec4(127u));
    uvec4 bytes = mix(whole, 0u - whole, lessThan(x, vec4(0.0))) & 0xFFu;
    return bytes.x | bytes.y << 8 | bytes.z << 16 | bytes.w << 24;
}

void store_integers(uint entry, uint base, uint to_head, uint place, WORDS words) {
    uint bytes = four_integers(entry, place, words);
    if (kElementOut == ROPE_I8) {
        put_word(base + place_of(to_head) + place, bytes);
    } else {
        run_words[entry * kRuns + place] = bytes;
    }
}

// Two blocks are 17 words: each block's scale, then its eight runs, which in the first lie across words.
uint block_word(uint entry, uint at) {
    uint two = at / uint(ROPE_Q8_0_PAIR_WORDS);
    uint word = at % uint(ROPE_Q8_0_PAIR_WORDS);
    uint run = entry * kRuns + two * 16u + word - (word > 8u ? 1u : 0u); // that ends in the word
    uint scale = shares[entry * kBlocks + two * 2u + (word < 8u ? 0u : 1u)];
    uint before = word == 0u ? scale : run_words[run - 1u] >> 16;
    uint behind = word == 8u ? scale : run_words[run];
    return word > 8u ? run_words[run] : before | behind << 16;
}
