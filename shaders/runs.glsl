// This file moves elements. A lane has two runs of them: the first and the second elements of its pairs or, if pairs
// are interleaved, one half of the pairs and the other. In the wide build (ROPE_LANE 4) a run has the elements of one
// quad of pairs, or of two if they are 16-bit. It is loaded as a vector, or by words if it does not lie at a multiple
// of its length. In the odd build (ROPE_LANE 1) a lane has one pair, and 16-bit elements lie anywhere.
layout(constant_id = ROPE_ID_IN_PLACE) const uint kInPlace = 0;
layout(constant_id = ROPE_ID_ELEMENT_IN) const uint kElementIn = ROPE_F32;
layout(constant_id = ROPE_ID_ELEMENT_OUT) const uint kElementOut = ROPE_F32;
layout(constant_id = ROPE_ID_NATIVE_HALVES) const uint kProvenHalves = 0;
const bool kNativeHalves = kProvenHalves != 0u;
#include "halves.glsl"
const uint kLane = ROPE_LANE;
#if ROPE_LANE == 4
#define NTH(words, i) words[i]
#define RUN uvec4
layout(constant_id = ROPE_ID_QUADS) const uint kQuads = 1;
layout(constant_id = ROPE_ID_BY_WORDS) const uint kWords = 0;
const bool kByWords = kWords != 0u;
#else
#define NTH(words, i) words
#define RUN uint
const uint kQuads = 1u;
const bool kByWords = true;
#endif
const uint kRun = kLane * kQuads; // pairs of a lane, and elements of a run
const bool kFirstInPlace = (kInPlace & 1u) != 0u;
#if defined(ROPE_GRADIENT) || (defined(ROPE_INTEGERS) && !defined(ROPE_SHIFTS)) // Q alone may be in place
const bool kOthersInPlace = false;
#else
const bool kOthersInPlace = (kInPlace & 2u) != 0u;
#endif
const bool kFloatsIn = kElementIn == ROPE_F32;
const bool kFloatsOut = kElementOut == ROPE_F32;
const bool kSameElement = kElementIn == kElementOut;

// Functions take a tensor as one of these constants, so that one branch serves all loads of a thread.
const uint kFirst = 0u;  // Q, or the only tensor
const uint kSecond = 1u; // K
const uint kThird = 2u;  // V

// VIEW declares the tensors' buffers with one type, and its fetch_ and put_. The wide build has vectors, two words and
// words. The odd build has words and 16-bit numbers.
#define TENSOR(number, block, access, type, name)                                                                      \
    layout(set = 0, binding = number) access buffer block { type name[]; };
#define TENSORS(view, type)                                                                                            \
    TENSOR(ROPE_BINDING_SOURCE, Source_##view, readonly, type, source_##view)                                          \
    TENSOR(ROPE_BINDING_SOURCE_K, SourceK_##view, readonly, type, source_k_##view)                                     \
    TENSOR(ROPE_BINDING_SOURCE_V, SourceV_##view, readonly, type, source_v_##view)                                     \
    TENSOR(ROPE_BINDING_DESTINATION, Destination_##view, , type, destination_##view)                                   \
    TENSOR(ROPE_BINDING_DESTINATION_K, DestinationK_##view, , type, destination_k_##view)                              \
    TENSOR(ROPE_BINDING_DESTINATION_V, DestinationV_##view, , type, destination_v_##view)
#define VIEW(view, type, words)                                                                                        \
    TENSORS(view, type)                                                                                                \
    words fetch_##view(uint tensor, uint at) {                                                                         \
        if (tensor == kThird) return words(source_v_##view[at]);                                                       \
        if (tensor == kSecond && kOthersInPlace) return words(destination_k_##view[at]);                               \
        if (tensor == kSecond) return words(source_k_##view[at]);                                                      \
        if (kFirstInPlace) return words(destination_##view[at]);                                                       \
        return words(source_##view[at]);                                                                               \
    }                                                                                                                  \
    void put_##view(uint tensor, uint at, words run) {                                                                 \
        if (tensor == kThird) destination_v_##view[at] = type(run);                                                    \
        else if (tensor == kSecond) destination_k_##view[at] = type(run);                                              \
        else destination_##view[at] = type(run);                                                                       \
    }
VIEW(word, uint, uint)
#if ROPE_LANE == 4
VIEW(vector, uvec4, uvec4)
VIEW(two, uvec2, uvec2)
#endif
#if ROPE_LANE == 1 || defined(ROPE_HALVES) // ROPE_HALVES: quantized heads that lie at any 16-bit number
VIEW(number, uint16_t, uint)
#endif

// These load and store a run of `count` elements. A place counts runs, or elements if runs are loaded by words.
#if ROPE_LANE == 4
#ifdef ROPE_HALVES
RUN numbers_of(uint tensor, uint place, uint count) {
    uint last = max(count, 1u) - 1u;
    RUN run = RUN(0u);
    for (uint i = 0u; i < 4u; ++i)
        run[i / 2u] |= (fetch_number(tensor, place + min(i, last)) & 0xFFFFu) << 16u * (i % 2u);
    return run;
}
void put_numbers(uint tensor, uint place, RUN run, uint count) {
    for (uint i = 0u; i < 4u; ++i) {
        if (i < count) put_number(tensor, place + i, run[i / 2u] >> 16u * (i % 2u) & 0xFFFFu);
    }
}
#endif
RUN load_run(uint tensor, uint place, uint count) {
    if (kByWords) {
        const uint halves = uint(!kFloatsIn);
        const uint words = kLane >> halves;
        uint last = max(count >> halves, 1u) - 1u;
        RUN run = RUN(0u);
#ifdef ROPE_HALVES
        if (!kFloatsIn) return numbers_of(tensor, place, count);
#endif
        for (uint i = 0u; i < words; ++i) run[i] = fetch_word(tensor, (place >> halves) + min(i, last));
        return run;
    }
    if (kFloatsIn || kQuads == 2u) return fetch_vector(tensor, place);
    return uvec4(fetch_two(tensor, place), 0u, 0u);
}
void store_run(uint tensor, uint place, RUN run, uint count, bool floats) {
    if (kByWords) {
        uint halves = uint(!floats);
#ifdef ROPE_HALVES
        if (!floats) {
            put_numbers(tensor, place, run, count);
            return;
        }
#endif
        for (uint i = 0u; i < kLane >> halves; ++i) {
            if (i < count >> halves) put_word(tensor, (place >> halves) + i, run[i]);
        }
    } else if (floats || kQuads == 2u) {
        put_vector(tensor, place, run);
    } else {
        put_two(tensor, place, run.xy);
    }
}
#else
RUN load_run(uint tensor, uint place, uint count) {
    return kFloatsIn ? fetch_word(tensor, place) : fetch_number(tensor, place);
}
void store_run(uint tensor, uint place, RUN run, uint count, bool floats) {
    if (floats) put_word(tensor, place, run);
    else put_number(tensor, place, run);
}
#endif

// Runs has the places of a lane's two runs in a head, and their element counts.
struct Runs {
    uint low;
    uint high;
    uint low_count;
    uint high_count;
};
uint place_of(uint element) { return kByWords ? element : element / kRun; }

// Width is how wide a head is: where its rotary part starts, and how many other elements its lanes bring over.
struct Width {
    uint rotary_begin;
    uint pass_elements;
};

// Returns the runs of pairs j to j + count, which lie in one chunk.
Runs pair_runs(uint j, uint count, uint chunk, Width width) {
    bool interleaved = kLane > 1u && ROPE_IS_INTERLEAVED(chunk);
    uint first = width.rotary_begin + pair_first(j, chunk);
    uint second = first + choose(interleaved, kRun, pair_distance(pair_count(), chunk));
    uint low_count = choose(interleaved, min(2u * count, kRun), count);
    uint high_count = choose(interleaved, 2u * count - low_count, count); // of 0 elements the low run is loaded again
    return Runs(place_of(first), place_of(choose(high_count == 0u, first, second)), low_count, high_count);
}

// Returns the two runs that copying lane `lane` moves. If only one run is left, both are that run.
Runs copied_runs(uint lane, Width width) {
    const uint word = kFloatsIn && kFloatsOut ? 1u : min(kLane, 2u);
    const uint step = kByWords ? word : kRun;
    uint low = 2u * step * lane;
    uint high = choose(low + step < width.pass_elements, low + step, low);
    return Runs(place_of(pass_element(low, width.rotary_begin, pair_count())),
                place_of(pass_element(high, width.rotary_begin, pair_count())), step, step);
}
