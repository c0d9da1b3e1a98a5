// This file makes heads integers or float8, with a float32 scale for each head, or in blocks of 32 with a float16 scale
// for each. The lanes of a head put their extremes into shared memory. Each lane then finds the scale of its head, or
// one lane that of a block. A given scale of float8 needs none of that.
#ifndef ROPE_CONVERT_GLSL
#define ROPE_CONVERT_GLSL
#include "turn.glsl"
#include "../numbers/codes.h"
#include "../numbers/float8.h"

const uint kFormat = kQuantizes ? kCacheKind >> ROPE_TENSOR_FORMAT & 0xFFFFu : 0u;
const uint kBits = kFormat & ROPE_FORMAT_BITS;
const bool kFloat8 = (kFormat & ROPE_FORMAT_FLOAT8) != 0u;
const bool kSigned = kFloat8 || kBits == 8u; // to both sides of 0; integers of fewer bits begin at 0
const bool kMinimum = (kFormat & ROPE_FORMAT_MINIMUM) != 0u;
const bool kCodes = (kFormat & ROPE_FORMAT_CODES) != 0u;
const bool kInBlocks = (kFormat & ROPE_FORMAT_BLOCKS) != 0u;
const uint kBlockHalves = kQuantizes ? kFormat >> ROPE_FORMAT_HALVES : 1u; // 16-bit numbers
const uint kMostInteger = (1u << kBits) - 1u;
// Quantized heads have these quads and lanes. Heads beside them may have others.
const uint kCacheHeadQuads = kKQuantized ? HEAD_QUADS(kK_kind, kK_pass_elements) : HEAD_QUADS(kV_kind, kV_pass_elements);
const uint kCacheQuads = kCacheHeadQuads + uint(kCacheHeadQuads == 0u); // no array has no entry
const uint kCacheLanes = kKQuantized ? kK_lanes : kV_lanes;
const uint kCacheRowBlocks = kKQuantized ? kKRowBlocks : kVRowBlocks;
const uint kCacheExtremes = kInBlocks ? kCacheQuads / kQuads : kCacheLanes;
const uint kCacheFours = (kCacheExtremes + 3u) / 4u;
const uint kBlockQuads = kInBlocks ? uint(ROPE_BLOCK_ELEMENTS / 4) : kCacheQuads;
const uint kBlockFours = kInBlocks ? kBlockQuads / kQuads / 4u : kCacheFours;
const uint kHeadBlocks = kCacheQuads / kBlockQuads;
const bool kGiven = (kK_given_scale | kV_given_scale) != 0u; // scales are, of all quantized tensors of the dispatch

// An entry is one quantized head of one token of the group.
const uint kCacheEntries = gl_WorkGroupSize.z * gl_WorkGroupSize.y * kCacheRowBlocks * kHeadsPerThread;
uint cache_entry_of(uint h) {
    uint row = gl_LocalInvocationID.z * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    return (row * kCacheRowBlocks + row_block) * kHeadsPerThread + h;
}

// These hold the largest magnitude or, for unsigned integers, the element that has it, or the greatest element and the
// least: for each run of a head in blocks, for each lane of another head. A block's scale then takes the place of its
// first four.
shared uvec4 greatest[!kQuantizes || kGiven ? 1u : kCacheEntries * kCacheFours];
shared uvec4 least[kMinimum ? kCacheEntries * kCacheFours : 1u];
// Blocks as they are stored, in 16-bit numbers. An integer of fewer than eight bits shares its byte with an integer of
// another quad, which another thread holds, so each number has two parts there, one after the other. Those of eight bits
// lie in words, a quad in each. A word before them has the scale, as its upper number.
const uint kHeadHalves = kHeadBlocks * kBlockHalves;
const uint kHeadParts = kSigned ? kHeadBlocks * ((kBlockHalves + 1u) / 2u) : (kHeadHalves + 1u) / 2u * 4u;
shared uint parts[kInBlocks ? kCacheEntries * kHeadParts : 1u];
// Codes have a scale that is fitted to them, from all elements of a block.
shared uvec4 elements[kCodes ? kCacheEntries * kCacheQuads : 1u];

// ---- What a scale is found by

// If two are equal, or have one magnitude, the first is returned.
uint greater(uint first, uint second) {
    if (kSigned) return max(first, second); // magnitudes
    if (kMinimum) return choose(uintBitsToFloat(second) > uintBitsToFloat(first), second, first);
    return choose(second << 1 > first << 1, second, first);
}
uint lesser(uint first, uint second) { return choose(uintBitsToFloat(second) < uintBitsToFloat(first), second, first); }

uint greatest_of(uvec4 words) { return greater(greater(words.x, words.y), greater(words.z, words.w)); }
uint least_of(uvec4 words) { return lesser(lesser(words.x, words.y), lesser(words.z, words.w)); }

struct QuantScale {
    uint scale; // float32 bits; a zero keeps its sign
    float inverse;
    uint minimum;
};

QuantScale quant_scale_of(uint h, uint block) {
    uint value = choose(kMinimum, 0xFF7FFFFFu, 0u);
    uint minimum = choose(kMinimum, 0x7F7FFFFFu, 0u);
    for (uint i = 0u; i < kBlockFours; ++i) {
        uint four = block * kBlockFours + i;
        uvec4 sizes = greatest[cache_entry_of(h) * kCacheFours + four];
        if (kCacheExtremes % 4u != 0u) sizes = mix(uvec4(0u), sizes, are_below(four, kCacheExtremes));
        value = greater(value, greatest_of(sizes));
        if (kMinimum) minimum = lesser(minimum, least_of(least[cache_entry_of(h) * kCacheFours + four]));
    }
    if (kMinimum) {
        precise float range = uintBitsToFloat(value) - uintBitsToFloat(minimum);
        value = floatBitsToUint(range);
    }
    if (kFloat8) {
        // The largest magnitude over 7 * 2^6 or 7 * 2^13, which float8's largest number is; at least 1e-6.
        const uint down = (kBits == 3u ? 6u : 13u) << 23;
        value = max(share_bits(value, 7u), 0x358637BDu + down) - down;
        return QuantScale(value, uintBitsToFloat(reciprocal_bits(value)), 0u);
    }
    const uint divisor = kSigned || kCodes ? 127u : kMinimum ? kMostInteger : 1u << (kBits - 1u);
    uint scale = share_bits(value & 0x7FFFFFFFu, divisor);
    uint sign = choose(kSigned || kMinimum, 0u, ~value & 0x80000000u);
    bool is_normal = scale >= 0x800000u; // otherwise all integers are those of 0
    if (kCodes) is_normal = (value & 0x7FFFFFFFu) >= 0x26901D7Du; // 1e-15
    if (kCodes && !is_normal) sign = 0u;
    uint inverse = choose(is_normal, reciprocal_bits(scale) | sign, 0u);
    return QuantScale(choose(is_normal, scale, 0u) | sign, uintBitsToFloat(inverse), minimum);
}

// In a block the scale comes first, then the minimum, the fifth bits and the other bits.
const uint kFifthBits = kMinimum ? 2u : 1u;
const uint kOtherBits = kFifthBits + (kBits == 5u ? 2u : 0u);
// Returns where a number of a head's block begins, or a word of eight-bit integers.
uint part_at(uint h, uint block, uint number) {
    uint first = cache_entry_of(h) * kHeadParts;
    if (kSigned) return first + block * ((kBlockHalves + 1u) / 2u) + number;
    return first + (block * kBlockHalves + number) * 2u;
}
void keep_header(uint h, uint block, uint number, uint bits) {
    uint at = part_at(h, block, number);
    parts[at] = kSigned ? bits << 16 : bits;
    if (!kSigned) parts[at + 1u] = 0u;
}

// A head has two lanes or more for a block. If each found the scales of both its blocks, these would be most of its work.
// Surplus threads repeat the head's last lane, which has no block.
uint quant_scale_at(uint h, uint block) { return cache_entry_of(h) * kCacheFours + block * kBlockFours; }
void keep_block_scales(uint lane) {
    if (lane >= kHeadBlocks) return;
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        QuantScale quant = quant_scale_of(h, lane);
        uvec4 halves = narrow_f16(uvec4(quant.scale, quant.minimum, 0u, 0u));
        keep_header(h, lane, 0u, halves.x);
        if (kMinimum) keep_header(h, lane, 1u, halves.y);
        for (uint i = 0u; kBits == 5u && i < 2u; ++i) keep_header(h, lane, kFifthBits + i, 0u);
        greatest[quant_scale_at(h, lane)] = uvec4(floatBitsToUint(quant.inverse), quant.minimum, quant.scale, 0u);
    }
}

QuantScale given_quant_scale(WorkItem item, uint head) {
    uint given = given_scale_of(item.tensor);
    uint at = (given & ROPE_SCALE_AT) + choose((given & ROPE_SCALE_OF_HEADS) != 0u, head, 0u);
    uint scale = floatBitsToUint(parameter(at));
    return QuantScale(scale, uintBitsToFloat(reciprocal_bits(scale)), 0u);
}
// Returns elements times a given scale or over it, or, with `before`, as they were before that. A quotient by a power of
// two is an exact product, unless one of the two is below 2^-126. Between 2^-63 and 2^63 no power makes a float8 so
// small, nor a float8 of what is so small.
uvec4 scaled_as_given(WorkItem item, QuantScale quant, bool before, uvec4 words) {
    bool multiplies = ((given_scale_of(item.tensor) & ROPE_SCALE_MULTIPLIES) != 0u) != before;
    precise vec4 x = uintBitsToFloat(words) * (multiplies ? uintBitsToFloat(quant.scale) : quant.inverse);
    bool is_power = (quant.scale & 0x7FFFFFu) == 0u && quant.scale - 0x20000000u < 0x3F000001u;
    if (multiplies || is_power) return floatBitsToUint(x);
    uint inverse = floatBitsToUint(quant.inverse);
    return uvec4(quotient_bits(words.x, quant.scale, inverse), quotient_bits(words.y, quant.scale, inverse),
                 quotient_bits(words.z, quant.scale, inverse), quotient_bits(words.w, quant.scale, inverse));
}

// ---- Numbers as they are stored

uint four_bytes(uvec4 bytes) { return bytes.x | bytes.y << 8 | bytes.z << 16 | bytes.w << 24; }

uint four_float8(QuantScale quant, uvec4 words) {
    if (kGiven) return four_bytes(narrow_f8(words, kBits)); // scaled before
    precise vec4 x = uintBitsToFloat(words) * quant.inverse;
    return four_bytes(narrow_f8(floatBitsToUint(x), kBits));
}

// Returns the codes whose values are nearest, a byte each; of two that are as near, the upper one.
uint four_codes(vec4 x) {
    uvec4 codes = uvec4(0u);
    [[unroll]] for (uint i = 1u; i < 16u; ++i) {
        vec4 middle = vec4(float(code_value(i - 1u) + code_value(i)) * 0.5);
        codes += uvec4(greaterThanEqual(x, middle));
    }
    return four_bytes(codes);
}

// Returns four integers, a byte each. Signed ones are rounded to the nearest, halves away from zero.
uint four_integers(QuantScale quant, uvec4 words) {
    vec4 given = uintBitsToFloat(words);
    if (kMinimum) {
        precise vec4 above = given - uintBitsToFloat(quant.minimum);
        given = above;
    }
    precise vec4 x = given * quant.inverse;
    if (kCodes) return four_codes(x);
    uvec4 bytes;
    if (kSigned) {
        precise vec4 twice = abs(x) + abs(x);
        uvec4 whole = min(uvec4(twice), uvec4(254u)) + 1u >> 1;
        bytes = mix(whole, 0u - whole, lessThan(x, vec4(0.0))) & 0xFFu;
    } else {
        precise vec4 raised = x + ((kMinimum ? 0.0 : float(1u << (kBits - 1u))) + 0.5);
        bytes = min(uvec4(raised), uvec4(kMostInteger));
    }
    return four_bytes(bytes);
}

// Blocks may begin at odd 16-bit numbers where a build has those; else words are stored.
const uint kPutHalves = kHasNumbers && kInBlocks ? 1u : 2u;
void put_unit(uint tensor, uint at, uint unit) {
    if (kPutHalves == 1u) put_number(tensor, at, unit);
    else put_word(tensor, at, unit);
}
void put_integers(WorkItem item, uint at, uint unit) {
    if (is_written_to(item.tensor, kThird)) put_unit(kThird, at, unit);
    else if (is_written_to(item.tensor, kSecond)) put_unit(kSecond, at, unit);
    else put_unit(kFirst, at, unit);
}

// Returns where a head begins in the cache. Places count blocks, since 32 bits do not count the elements of every cache
// in blocks. Without blocks they count runs or, if runs are loaded by words, elements.
uint head_place(WorkItem item, uint h) { return item.to + (item.head + h) * item.to_head; }
// Returns the words before a place, where there are no blocks.
uint words_before(uint place) { return kByWords ? place / 4u : place * kQuads; }

// ---- Blocks as they are stored

// Integers of four bits lie in twos: those of the block's first half are the low ones. The fifth bit of a block's first
// integer is the lowest.
void keep_integers(uint h, uint place, uint bytes) {
    uint block = place / kBlockQuads;
    uint quad = place % kBlockQuads;
    if (kSigned) {
        parts[part_at(h, block, 1u + quad)] = bytes;
        return;
    }
    uint part = quad / 4u;
    uint at = part_at(h, block, kOtherBits + 2u * (quad % 4u)) + part;
    uint integers = (kBits == 5u ? bytes & 0x0F0F0F0Fu : bytes) << 4u * part;
    parts[at] = integers & 0xFFFFu;
    parts[at + 2u] = integers >> 16;
    if (kBits == 5u) {
        uint fifth_bits = (bytes >> 4 & 0x01010101u) * 0x10204080u >> 28;
        atomicOr(parts[part_at(h, block, kFifthBits + part)], fifth_bits << 4u * (quad % 4u));
    }
}

// Keeps a quad of a block. Stores a quad of a format without blocks, and the head's scale with the first.
void finish_quad(WorkItem item, uint h, QuantScale quant, uint place, uvec4 words) {
    if (kInBlocks) {
        keep_integers(h, place, four_integers(quant, words));
        if (kCodes) elements[cache_entry_of(h) * kCacheQuads + place] = words;
    } else if (item.is_there && has_head(item, h)) {
        uint bytes = kFloat8 ? four_float8(quant, words) : four_integers(quant, words);
        put_integers(item, to_begin(item.tensor) + words_before(head_place(item, h)) + place, bytes);
        if (place == 0u && !kGiven) put_integers(item, item.scale + (item.head + h) * item.scale_head, quant.scale);
    }
}

// Fits a block's scale to its codes: the sum of x * x * q * x over that of x * x * q * q, in the order of its elements.
// Where a sum is too small for a normal number, the scale stays what the codes were found by: as a float16 it is 0. A sum
// of squares beyond float32 makes it a NaN.
void fit_blocks(uint lane) {
    if (lane >= kHeadBlocks) return;
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        uint first = cache_entry_of(h) * kCacheQuads + lane * kBlockQuads;
        uint codes = part_at(h, lane, kOtherBits);
        precise float products = 0.0;
        precise float squares = 0.0;
        for (uint i = 0u; i < uint(ROPE_BLOCK_ELEMENTS); ++i) {
            float x = uintBitsToFloat(elements[first + i / 4u][i % 4u]);
            uint code = parts[codes + i % 16u / 2u * 2u + i / 16u] >> 8u * (i % 2u) + 4u * (i / 16u);
            float q = float(code_value(code & 0xFu));
            precise float weight = x * x * q;
            products = products + weight * x;
            squares = squares + weight * q;
        }
        uvec4 kept = greatest[quant_scale_at(h, lane)];
        uint y = floatBitsToUint(squares), x = floatBitsToUint(products);
        bool fits = y >= 0x800000u && (x & 0x7FFFFFFFu) >= 0x800000u && kept.z << 1 != 0u;
        uint inverse = reciprocal_bits(choose(fits && y < 0x7E800000u, y, 0x3F800000u)); // x is infinite beyond
        uint scale = choose(fits, quotient_bits(x, y, inverse), kept.z);
        if (y == 0x7F800000u) scale = 0xFFC00000u;
        keep_header(h, lane, 0u, narrow_f16(uvec4(scale)).x);
    }
}

// Returns a 16-bit number of a head's blocks.
uint stored_half(uint h, uint number) {
    uint at = part_at(h, 0u, 0u);
    if (!kSigned) return parts[at + 2u * number] | parts[at + 2u * number + 1u];
    number += number / kBlockHalves + 1u; // each block's first word has one number
    return parts[at + number / 2u] >> 16u * (number % 2u) & 0xFFFFu;
}

void store_blocks(WorkItem item) {
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        if (!item.is_there || !is_quantized(item.tensor) || !has_head(item, h)) continue;
        uint to = to_begin(item.tensor) + head_place(item, h) * kBlockHalves / kPutHalves;
        for (uint i = item.lane; i < kHeadHalves / kPutHalves; i += kCacheLanes) {
            uint word = stored_half(h, i * kPutHalves);
            if (kPutHalves == 2u) word |= stored_half(h, i * 2u + 1u) << 16;
            put_integers(item, to + i, word);
        }
    }
}

// ---- The stage

// Stores heads of floats that neither turn nor change, before others are widened. If the end had a branch for them,
// compilers would keep each element as it was before the turn beside what becomes of it, in twice the registers.
void copy_heads(inout WorkItem item, HeadPath path) {
    if (kRelays || !path.as_is) return;
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        if (is_in_place(item.tensor) || !item.is_there || !has_head(item, h)) continue;
        Head head = loaded[h];
        if (kFloatsIn) head = Head(held[h].x);
        Head words = head;
        for (uint quad = 0u; kChunkIn != kChunkOut && quad < kQuads; ++quad) {
            Quad pairs = read_quad(head, quad, path.interleaved_in, true);
            if (path.interleaved_in) deinterleave(pairs);
            if (path.interleaved_out) interleave(pairs);
            write_quad(words, quad, path.interleaved_out, true, float_element_of(item.tensor), pairs);
        }
        put_head(item, path, h, words);
    }
    item.is_there = false;
}

void find_extremes(WorkItem item, HeadPath path) {
    const uint last = kQuads - 1u; // of a run's quads
    uint h = 0u;
    do {
        uint most[2], fewest[2];
        uint i = 0u;
        do {
            uvec4 words[2] = uvec4[](held[h * kQuads].x[i], held[h * kQuads + last].x[i]);
            if (kQuads == 2u && path.interleaved_out) words = held[h * kQuads + i * last].x;
            if (kMinimum) fewest[i] = lesser(least_of(words[0]), least_of(words[last]));
            for (uint quad = 0u; kSigned && quad < kQuads; ++quad) words[quad] &= 0x7FFFFFFFu;
            most[i] = greater(greatest_of(words[0]), greatest_of(words[last]));
        } while (++i < 2u);
        uint first = cache_entry_of(h) * kCacheFours;
        for (i = 0u; kInBlocks && i < 2u; ++i) {
            uint run = path.lane.to.place[i] / (kByWords ? 4u : 1u);
            greatest[first + run / 4u][run % 4u] = most[i];
            if (kMinimum) least[first + run / 4u][run % 4u] = fewest[i];
        }
        if (!kInBlocks) greatest[first + item.lane / 4u][item.lane % 4u] = greater(most[0], most[1]);
    } while (++h < kHeadsPerThread);
}

void scale_heads(WorkItem item) {
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        QuantScale quant = given_quant_scale(item, head_number(item, h));
        for (uint quad = h * kQuads; quad < (h + 1u) * kQuads; ++quad) {
            for (uint i = 0u; i < 2u; ++i) held[quad].x[i] = scaled_as_given(item, quant, false, held[quad].x[i]);
        }
    }
}

void finish_heads(WorkItem item, HeadPath path) {
    if (kGiven) scale_heads(item);
    // The hints are for NVIDIA's compiler, which left `for` loops here as they were, with the heads in memory.
    uint h = 0u;
    [[unroll]] do {
        QuantScale quant = QuantScale(0u, 0.0, 0u);
        if (!kGiven && !kInBlocks) quant = quant_scale_of(h, 0u);
        uint part = 0u;
        [[unroll]] do {
            uint quad = part % kQuads;
            uint i = part / kQuads;
            uint place = places_out(path, quad)[i];
            const bool run_each = ROPE_IS_INTERLEAVED(kChunkOut) && kQuads == 2u; // else a run's quads lie in one block
            if (kInBlocks && (run_each || quad == 0u)) {
                uvec4 kept = greatest[quant_scale_at(h, place / kBlockQuads)];
                quant = QuantScale(0u, uintBitsToFloat(kept.x), kept.y);
            }
            if (!kRelays || path.lane.to.count[i] != 0u)
                finish_quad(item, h, quant, place, held[h * kQuads + quad].x[i]);
        } while (++part < 2u * kQuads);
    } while (++h < kHeadsPerThread);
}

// Floats beside quantized heads stay floats. Their threads only reach the barriers. In a shift, lanes overwrite words that
// their neighbours read. All these reads are over at the first barrier, and no compiler may load such a word again behind
// it.
void store_quantized(WorkItem item, HeadPath path) {
    if (kTurnsCache) groupMemoryBarrier();
    if (!kGiven) {
        if (is_quantized(item.tensor)) find_extremes(item, path);
        barrier();
    }
    if (kInBlocks) {
        if (is_quantized(item.tensor)) keep_block_scales(item.lane);
        barrier();
    }
    if (is_quantized(item.tensor)) finish_heads(item, path);
    else store_heads(item, path);
    if (kInBlocks) {
        barrier();
        if (kCodes && is_quantized(item.tensor)) fit_blocks(item.lane);
        if (kCodes) barrier();
        store_blocks(item);
    }
}

#endif
