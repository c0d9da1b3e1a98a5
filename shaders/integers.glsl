// Heads as integers: I8 with a float32 scale for each head, or Q8_0 with a float16 scale for each 32 elements. The lanes
// of a head put their largest magnitudes into shared memory, and each finds the largest of its block.
const bool kBlocks8 = kElementCache == ROPE_Q8_0;
const uint kBlockQuads = kBlocks8 ? uint(ROPE_Q8_0_ELEMENTS / 4) : kHeadQuads;
const uint kBlockFours = kBlocks8 ? kBlockQuads / 4u : kFours;
const uint kHeadBlocks = kHeadQuads / kBlockQuads;
layout(constant_id = ROPE_ID_SCALE_PAGE) const uint kScalePage = 0;
layout(constant_id = ROPE_ID_SCALE_SLOT) const uint kScaleSlot = 0;

shared uvec4 magnitudes[kEntries * kFours];
// Of Q8_0: four integers of each quad, and the scales as they are stored.
shared uint integers[kBlocks8 ? kEntries * kHeadQuads : 1u];
shared uint scales[kBlocks8 ? kEntries * kHeadBlocks : 1u];

void keep_magnitude(uint h, uint place, WORDS words) {
    uvec4 sizes = words & 0x7FFFFFFFu;
    magnitudes[entry_of(h) * kFours + place / 4u][place % 4u] = max(max(sizes.x, sizes.y), max(sizes.z, sizes.w));
}

struct Share {
    uint scale; // float32 bits of a 127th of the largest magnitude, or 0
    float inverse;
};

Share share_of(uint h, uint block) {
    uvec4 most = uvec4(0u);
    for (uint i = 0u; i < kBlockFours; ++i) {
        uint four = block * kBlockFours + i;
        uvec4 sizes = magnitudes[entry_of(h) * kFours + four];
        if (kHeadQuads % 4u != 0u) sizes = mix(uvec4(0u), sizes, are_quads(four));
        most = max(most, sizes);
    }
    uint scale = share_127_bits(max(max(most.x, most.y), max(most.z, most.w)));
    bool is_normal = scale >= 0x800000u; // otherwise all integers are 0
    return Share(choose(is_normal, scale, 0u), is_normal ? uintBitsToFloat(reciprocal_bits(scale)) : 0.0);
}

// Rounds to the nearest integer, halves away from zero. A byte holds each.
uint four_integers(float inverse, WORDS words) {
    precise vec4 x = uintBitsToFloat(words) * inverse;
    precise vec4 magnitude = abs(x);
    uvec4 whole = uvec4(magnitude);
    precise vec4 rest = magnitude - vec4(whole);
    whole = min(whole + uvec4(greaterThanEqual(rest, vec4(0.5))), uvec4(127u));
    uvec4 bytes = mix(whole, 0u - whole, lessThan(x, vec4(0.0))) & 0xFFu;
    return bytes.x | bytes.y << 8 | bytes.z << 16 | bytes.w << 24;
}

void put_integers(WorkItem item, uint at, uint word) {
    if (destination_of(item) == kThird) put_word(kThird, at, word);
    else put_word(kFirst, at, word);
}

// Stores a quad of I8, with the head's scale if it is the first. The integers of Q8_0 wait for those of other lanes.
void finish_quad(WorkItem item, uint h, Share share, uint place, WORDS words) {
    uint bytes = four_integers(share.inverse, words);
    bool is_first = place % kBlockQuads == 0u;
    if (kBlocks8) {
        integers[entry_of(h) * kHeadQuads + place] = bytes;
        if (is_first) scales[entry_of(h) * kHeadBlocks + place / kBlockQuads] = narrow_f16(uvec4(share.scale)).x;
    } else if (item.is_there && item.head + h < item.heads) {
        uint words_at = choose(item.tensor == kThird, push.v_to, push.k_to) + (item.to + (item.head + h) * item.to_head) * kQuads;
        put_integers(item, words_at + place, bytes);
        if (is_first) put_integers(item, item.scale + (item.head + h) * push.scale_head, share.scale);
    }
}

// Two blocks are 17 words: each block's scale, then its eight quads, which in the first lie across words.
uint block_word(uint h, uint at) {
    uint two = at / uint(ROPE_Q8_0_PAIR_WORDS);
    uint word = at % uint(ROPE_Q8_0_PAIR_WORDS);
    uint quad = entry_of(h) * kHeadQuads + two * 16u + word - choose(word > 8u, 1u, 0u); // that ends in the word
    uint scale = scales[entry_of(h) * kHeadBlocks + two * 2u + choose(word < 8u, 0u, 1u)];
    uint before = word == 0u ? scale : integers[quad - 1u] >> 16;
    uint behind = word == 8u ? scale : integers[quad];
    return word > 8u ? integers[quad] : before | behind << 16;
}

void store_blocks(WorkItem item) {
    barrier();
    const uint words = kHeadQuads / 16u * uint(ROPE_Q8_0_PAIR_WORDS);
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        if (!item.is_there || item.head + h >= item.heads) return;
        uint elements = (item.to + (item.head + h) * item.to_head) * kRun;
        uint at = choose(item.tensor == kThird, push.v_to, push.k_to) + elements / uint(2 * ROPE_Q8_0_ELEMENTS) * uint(ROPE_Q8_0_PAIR_WORDS);
        for (uint i = item.lane; i < words; i += kHeadLanes) put_integers(item, at + i, block_word(h, i));
    }
}
