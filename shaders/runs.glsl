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
const bool kSamePlace = kInPlace != 0u;
const bool kFloatsIn = kElementIn == ROPE_F32;
const bool kFloatsOut = kElementOut == ROPE_F32;
const bool kSameElement = kElementIn == kElementOut;

// VIEW declares the tensors' buffers with one type, and its fetch_ and put_. The wide build has vectors, two words and
// words. The odd build turns one tensor in a dispatch, and has words and 16-bit numbers.
#define TENSOR(number, block, access, type, name)                                                                      \
    layout(set = 0, binding = number) access buffer block { type name[]; };
#if ROPE_LANE == 4
#define TENSORS(view, type)                                                                                            \
    TENSOR(ROPE_BINDING_SOURCE, Source_##view, readonly, type, source_##view)                                          \
    TENSOR(ROPE_BINDING_SOURCE_K, SourceK_##view, readonly, type, source_k_##view)                                     \
    TENSOR(ROPE_BINDING_DESTINATION, Destination_##view, , type, destination_##view)                                   \
    TENSOR(ROPE_BINDING_DESTINATION_K, DestinationK_##view, , type, destination_k_##view)
#define OF_K(statement) if (of_k) { statement; } else
#else
#define TENSORS(view, type)                                                                                            \
    TENSOR(ROPE_BINDING_SOURCE, Source_##view, readonly, type, source_##view)                                          \
    TENSOR(ROPE_BINDING_DESTINATION, Destination_##view, , type, destination_##view)
#define OF_K(statement)
#endif
#define VIEW(view, type, words)                                                                                        \
    TENSORS(view, type)                                                                                                \
    words fetch_##view(bool of_k, uint at) {                                                                           \
        if (kSamePlace) {                                                                                              \
            OF_K(return words(destination_k_##view[at]))                                                               \
            return words(destination_##view[at]);                                                                      \
        }                                                                                                              \
        OF_K(return words(source_k_##view[at]))                                                                        \
        return words(source_##view[at]);                                                                               \
    }                                                                                                                  \
    void put_##view(bool of_k, uint at, words run) {                                                                   \
        OF_K(destination_k_##view[at] = type(run))                                                                     \
        destination_##view[at] = type(run);                                                                            \
    }
VIEW(word, uint, uint)
#if ROPE_LANE == 4
VIEW(vector, uvec4, uvec4)
VIEW(two, uvec2, uvec2)
#else
VIEW(number, uint16_t, uint)
#endif

// These load and store a run of `count` elements. A place counts runs, or elements if runs are loaded by words.
#if ROPE_LANE == 4
RUN load_run(bool of_k, uint place, uint count) {
    if (kByWords) {
        const uint halves = uint(!kFloatsIn);
        const uint words = kLane >> halves;
        uint last = max(count >> halves, 1u) - 1u;
        RUN run = RUN(0u);
        for (uint i = 0u; i < words; ++i) run[i] = fetch_word(of_k, (place >> halves) + min(i, last));
        return run;
    }
    if (kFloatsIn || kQuads == 2u) return fetch_vector(of_k, place);
    return uvec4(fetch_two(of_k, place), 0u, 0u);
}
void store_run(bool of_k, uint place, RUN run, uint count) {
    if (kByWords) {
        const uint halves = uint(!kFloatsOut);
        const uint words = kLane >> halves;
        for (uint i = 0u; i < words; ++i) {
            if (i < count >> halves) put_word(of_k, (place >> halves) + i, run[i]);
        }
    } else if (kFloatsOut || kQuads == 2u) {
        put_vector(of_k, place, run);
    } else {
        put_two(of_k, place, run.xy);
    }
}
#else
RUN load_run(bool of_k, uint place, uint count) {
    return kFloatsIn ? fetch_word(of_k, place) : fetch_number(of_k, place);
}
void store_run(bool of_k, uint place, RUN run, uint count) {
    if (kFloatsOut) put_word(of_k, place, run);
    else put_number(of_k, place, run);
}
#endif

// Head has a lane's two runs of one head. part returns one quad's 16-bit elements of a run.
struct Head {
    RUN low;
    RUN high;
};
#if ROPE_LANE == 4
HALVES part(Head head, uint run, uint quad) {
    RUN words = run == 0u ? head.low : head.high;
    return quad == 0u ? words.xy : words.zw;
}
void set_part(inout Head head, uint run, uint quad, HALVES halves) {
    if (run == 0u && quad == 0u) head.low.xy = halves;
    else if (run == 0u) head.low.zw = halves;
    else if (quad == 0u) head.high.xy = halves;
    else head.high.zw = halves;
}
#else
HALVES part(Head head, uint run, uint quad) { return run == 0u ? head.low : head.high; }
void set_part(inout Head head, uint run, uint quad, HALVES halves) {
    if (run == 0u) head.low = halves;
    else head.high = halves;
}
#endif

// These change interleaved runs into first and second elements, and back.
#if ROPE_LANE == 4
void deinterleave(inout WORDS low, inout WORDS high) {
    WORDS first = uvec4(low.xz, high.xz);
    high = uvec4(low.yw, high.yw);
    low = first;
}
void interleave(inout WORDS first, inout WORDS second) {
    WORDS low = uvec4(first.x, second.x, first.y, second.y);
    second = uvec4(first.z, second.z, first.w, second.w);
    first = low;
}
#else
void deinterleave(inout WORDS low, inout WORDS high) {}
void interleave(inout WORDS first, inout WORDS second) {}
#endif

// Runs has the places of a lane's two runs in a head, and their element counts.
struct Runs {
    uint low;
    uint high;
    uint low_count;
    uint high_count;
};
uint place_of(uint element) { return kByWords ? element : element / kRun; }

// Returns the runs of pairs j to j + count, which lie in one chunk.
Runs pair_runs(uint j, uint count, uint chunk) {
    bool interleaved = kLane > 1u && ROPE_IS_INTERLEAVED(chunk);
    uint first = kRotaryBegin + pair_first(j, chunk);
    uint second = first + choose(interleaved, kRun, pair_distance(pair_count(), chunk));
    uint low_count = choose(interleaved, min(2u * count, kRun), count);
    uint high_count = choose(interleaved, 2u * count - low_count, count); // of 0 elements the low run is loaded again
    return Runs(place_of(first), place_of(choose(high_count == 0u, first, second)), low_count, high_count);
}

// Returns the two runs that copying lane `lane` moves. If only one run is left, both are that run.
Runs copied_runs(uint lane) {
    const uint word = kFloatsIn && kFloatsOut ? 1u : min(kLane, 2u);
    const uint step = kByWords ? word : kRun;
    uint low = 2u * step * lane;
    uint high = choose(low + step < kPassElements, low + step, low);
    return Runs(place_of(pass_element(low, kRotaryBegin, pair_count())),
                place_of(pass_element(high, kRotaryBegin, pair_count())), step, step);
}
