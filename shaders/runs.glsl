// This file moves elements. A lane has two runs of them: the first and the second elements of its pairs or, if pairs
// are interleaved, one half of the pairs and the other. A run has the elements of one quad of pairs, or of two if they
// are 16-bit. It is loaded as a vector, or by words if it does not lie at a multiple of its length. 16-bit elements fill
// words in twos, but for scores, whose build with ROPE_HALVES loads them one by one.
#ifndef ROPE_RUNS_GLSL
#define ROPE_RUNS_GLSL
#include "start.glsl"

layout(constant_id = ROPE_ID_IN_PLACE) const uint kInPlace = 0;
layout(constant_id = ROPE_ID_ELEMENT_IN) const uint kElementIn = ROPE_F32;
layout(constant_id = ROPE_ID_ELEMENT_OUT) const uint kElementOut = ROPE_F32;
layout(constant_id = ROPE_ID_NATIVE_HALVES) const uint kProvenHalves = 0;
const bool kNativeHalves = kProvenHalves != 0u;
#include "halves.glsl"
#if defined(ROPE_HALVES) && defined(ROPE_SCORES) // at odd places
const uint kQuads = 1u;
const bool kByWords = true, kByNumbers = true;
#else
const bool kByNumbers = false;
layout(constant_id = ROPE_ID_QUADS) const uint kQuads = 1;
layout(constant_id = ROPE_ID_BY_WORDS) const uint kWords = 0;
const bool kByWords = kWords != 0u;
#endif
const uint kRun = 4u * kQuads; // pairs of a lane, and elements of a run
const bool kFirstInPlace = (kInPlace & 1u) != 0u;
const bool kKvInPlace = (kInPlace & 2u) != 0u;
const bool kFloatsIn = kElementIn == ROPE_F32;
const bool kFloatsOut = kElementOut == ROPE_F32;
const bool kSameElement = kElementIn == kElementOut;

// Functions take a tensor as one of these constants, so that one branch serves all loads of a thread.
const uint kFirst = 0u;  // Q, or the only tensor
const uint kSecond = 1u; // K
const uint kThird = 2u;  // V

// VIEW declares the tensors' buffers with one type, and its fetch_ and put_.
#define VIEW(view, type, words)                                                                                        \
    BUFFER(ROPE_BINDING_SOURCE, Source_##view, readonly, type, source_##view)                                          \
    BUFFER(ROPE_BINDING_SOURCE_K, SourceK_##view, readonly, type, source_k_##view)                                     \
    BUFFER(ROPE_BINDING_SOURCE_V, SourceV_##view, readonly, type, source_v_##view)                                     \
    BUFFER(ROPE_BINDING_DESTINATION, Destination_##view, , type, destination_##view)                                   \
    BUFFER(ROPE_BINDING_DESTINATION_K, DestinationK_##view, , type, destination_k_##view)                              \
    BUFFER(ROPE_BINDING_DESTINATION_V, DestinationV_##view, , type, destination_v_##view)                              \
    words fetch_##view(uint tensor, uint at) {                                                                         \
        words run;                                                                                                     \
        if (tensor == kThird && kKvInPlace) run = words(destination_v_##view[at]);                                     \
        else if (tensor == kThird) run = words(source_v_##view[at]);                                                   \
        else if (tensor == kSecond && kKvInPlace) run = words(destination_k_##view[at]);                               \
        else if (tensor == kSecond) run = words(source_k_##view[at]);                                                  \
        else if (kFirstInPlace) run = words(destination_##view[at]);                                                   \
        else run = words(source_##view[at]);                                                                           \
        return run;                                                                                                    \
    }                                                                                                                  \
    void put_##view(uint tensor, uint at, words run) {                                                                 \
        if (tensor == kThird) destination_v_##view[at] = type(run);                                                    \
        else if (tensor == kSecond) destination_k_##view[at] = type(run);                                              \
        else destination_##view[at] = type(run);                                                                       \
    }
VIEW(word, uint, uint)
VIEW(vector, uvec4, uvec4)
VIEW(two, uvec2, uvec2)

#ifdef ROPE_HALVES
const bool kHasNumbers = true;
VIEW(number, uint16_t, uint)
#else
const bool kHasNumbers = false;
#define fetch_number fetch_word // a build without them reads no numbers: what names them is never reached
#define put_number put_word
#endif

// Runs that lie by words are taken part by part. A part is a word or, of scores at odd places, one element.
uint part_elements(bool floats) { return floats || kByNumbers ? 1u : 2u; }
void load_part(uint tensor, uint at, uint i, inout uvec4 run) {
    if (kByNumbers) run[i / 2u] |= fetch_number(tensor, at) << 16u * (i % 2u);
    else run[i] = fetch_word(tensor, at);
}
void store_part(uint tensor, uint at, uint i, uvec4 run) {
    if (kByNumbers) put_number(tensor, at, run[i / 2u] >> 16u * (i % 2u));
    else put_word(tensor, at, run[i]);
}

// These load and store a run of `count` elements. A place counts runs, or elements if runs are loaded by words.
uvec4 load_run(uint tensor, uint place, uint count) {
    uvec4 run = uvec4(0u);
    if (kByWords) {
        uint step = part_elements(kFloatsIn);
        uint last = max(count / step, 1u) - 1u;
        for (uint i = 0u; i < 4u / step; ++i) load_part(tensor, place / step + min(i, last), i, run);
    } else if (kFloatsIn || kQuads == 2u) {
        run = fetch_vector(tensor, place);
    } else {
        run.xy = fetch_two(tensor, place);
    }
    return run;
}
void store_run(uint tensor, uint place, uvec4 run, uint count, bool floats) {
    if (kByWords) {
        uint step = part_elements(floats);
        for (uint i = 0u; i < 4u / step; ++i) {
            if (i < count / step) store_part(tensor, place / step + i, i, run);
        }
    } else if (floats || kQuads == 2u) {
        put_vector(tensor, place, run);
    } else {
        put_two(tensor, place, run.xy);
    }
}

// Runs has the places of a lane's two runs in a head, and their element counts.
struct Runs {
    uint place[2];
    uint count[2];
};
uint place_of(uint element) { return kByWords ? element : element / kRun; }

// Width is how wide a head is: its lanes of pairs, where its rotary part starts, and how many other elements its lanes
// bring over.
struct Width {
    uint pair_lanes;
    uint rotary_begin;
    uint pass_elements;
};

// Returns the runs of pairs j to j + count, which lie in one chunk.
Runs pair_runs(uint j, uint count, uint chunk, Width width) {
    bool interleaved = ROPE_IS_INTERLEAVED(chunk);
    uint first = width.rotary_begin + pair_first(j, chunk);
    uint second = first + choose(interleaved, kRun, pair_distance(kPairs, chunk));
    uint low = choose(interleaved, min(2u * count, kRun), count);
    uint high = choose(interleaved, 2u * count - low, count); // if it is 0, the first run is loaded again
    return Runs(uint[](place_of(first), place_of(choose(high == 0u, first, second))), uint[](low, high));
}

// Returns the two runs that copying lane `lane` moves. If only one run is left, both are that run.
Runs copied_runs(uint lane, Width width) {
    uint step = kByWords ? copied_run(width.rotary_begin, part_elements(kFloatsIn && kFloatsOut)) : kRun;
    uint first = 2u * step * lane;
    uint second = choose(first + step < width.pass_elements, first + step, first);
    return Runs(uint[](place_of(pass_element(first, width.rotary_begin, kPairs)),
                       place_of(pass_element(second, width.rotary_begin, kPairs))),
                uint[](min(step, width.pass_elements - first), min(step, width.pass_elements - second)));
}

#endif
