// Elements in memory, as whole words (memory.glsl). A lane takes LANE pairs: four with 16-byte loads of float32 (8 bytes of
// 16-bit elements), two where float32 lies anywhere and 16-bit elements at even places, one where they lie at odd ones,
// which takes 16-bit storage. Loads give float32 bits, stores take them.
#if ROPE_LANE > 1
#define NTH(words, i) words[i]
#else
#define NTH(words, i) words
#endif
#if ROPE_LANE == 4
#define WORDS uvec4
#define SIGNED ivec4
#define VALUES vec4
#define WHOLE uvec4
#define PACKED uvec2
#define UNPACKED uvec2
#elif ROPE_LANE == 2
#define WORDS uvec2
#define SIGNED ivec2
#define VALUES vec2
#define WHOLE uint
#define PACKED uint
#define UNPACKED uint
#else
#define WORDS uint
#define SIGNED int
#define VALUES float
#define WHOLE uint
#define PACKED uint16_t
#define UNPACKED uint // 16-bit storage loads and stores, and does no more
#endif
const uint kLane = ROPE_LANE;
#include "memory.glsl"

#include "element.glsl"

layout(constant_id = ROPE_ID_IN_PLACE) const uint kInPlace = 0;
layout(constant_id = ROPE_ID_ELEMENT_IN) const uint kElementIn = ROPE_F32;
layout(constant_id = ROPE_ID_ELEMENT_OUT) const uint kElementOut = ROPE_F32;
// By name, since a comparison of constants takes its bytes wherever it stands.
const bool kSamePlace = kInPlace != 0u;
const bool kFloatsIn = kElementIn == ROPE_F32;
const bool kFloatsOut = kElementOut == ROPE_F32;

layout(set = 0, binding = ROPE_BINDING_SOURCE) readonly buffer Source {
    WHOLE_MEMORY source[];
};
layout(set = 0, binding = ROPE_BINDING_SOURCE) readonly buffer SourcePacked {
    PACKED_MEMORY source_packed[];
};
layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer Destination {
    WHOLE_MEMORY destination[];
};
layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer DestinationPacked {
    PACKED_MEMORY destination_packed[];
};

// K and V from and to buffers of their own.
#if ROPE_BUFFERS == 6
layout(set = 0, binding = ROPE_BINDING_SOURCE_V) readonly buffer SourceV {
    WHOLE_MEMORY source_v[];
};
layout(set = 0, binding = ROPE_BINDING_SOURCE_V) readonly buffer SourceVPacked {
    PACKED_MEMORY source_v_packed[];
};
layout(set = 0, binding = ROPE_BINDING_DESTINATION_V) buffer DestinationV {
    WHOLE_MEMORY destination_v[];
};
layout(set = 0, binding = ROPE_BINDING_DESTINATION_V) buffer DestinationVPacked {
    PACKED_MEMORY destination_v_packed[];
};
bool of_v = false;
#define IF_V(statement) if (of_v) { statement; } else
#else
#define IF_V(statement)
#endif

// In place one binding does both, so that no compiler may take load and store for strangers.
WHOLE fetch(uint at) {
    IF_V(return FROM_WHOLE(source_v[at]))
    return kSamePlace ? FROM_WHOLE(destination[at]) : FROM_WHOLE(source[at]);
}
UNPACKED fetch_packed(uint at) {
    IF_V(return FROM_PACKED(source_v_packed[at]))
    return kSamePlace ? FROM_PACKED(destination_packed[at]) : FROM_PACKED(source_packed[at]);
}
void put(uint at, WHOLE words) {
    IF_V(destination_v[at] = TO_WHOLE(words))
    destination[at] = TO_WHOLE(words);
}
void put_packed(uint at, UNPACKED words) {
    IF_V(destination_v_packed[at] = TO_PACKED(words))
    destination_packed[at] = TO_PACKED(words);
}

#if ROPE_LANE == 4
uvec4 low_halves(uvec2 packed) { return uvec4(packed.x & 0xFFFFu, packed.x >> 16, packed.y & 0xFFFFu, packed.y >> 16); }
#endif

// What loads and stores count by: elements, or in the wide build runs of four of them. Loops add places up and divide
// none: a shift with each load costs a driver that takes vectors apart for it as much as the load.
uint place_of(uint element) { return kLane == 4u ? element >> 2 : element; }

// Up to LANE elements from a place on: float32 that lies anywhere may be fewer, 16-bit elements only none or all. As
// they lie in memory, 16-bit ones apart from each other.
WORDS load(uint place, uint count) {
#if ROPE_LANE == 4
    if (kFloatsIn) return fetch(place);
    return low_halves(fetch_packed(place));
#elif ROPE_LANE == 2
    WORDS words = uvec2(0u);
    if (!kFloatsIn) {
        if (count != 0u) words.x = fetch_packed(place >> 1);
        words = uvec2(words.x & 0xFFFFu, words.x >> 16);
    } else {
        if (count != 0u) words.x = fetch(place);
        if (count > 1u) words.y = fetch(place + 1u);
    }
    return words;
#else
    return kFloatsIn ? fetch(place) : fetch_packed(place);
#endif
}

void store(uint place, WORDS words, uint count) {
#if ROPE_LANE == 4
    if (kFloatsOut) {
        put(place, words);
    } else {
        put_packed(place, words.xz | words.yw << 16);
    }
#elif ROPE_LANE == 2
    if (!kFloatsOut) {
        if (count != 0u) put_packed(place >> 1, words.x | words.y << 16);
    } else {
        if (count != 0u) put(place, words.x);
        if (count > 1u) put(place + 1u, words.y);
    }
#else
    if (kFloatsOut) {
        put(place, words);
    } else {
        put_packed(place, words);
    }
#endif
}

// What goes through unchanged stays as it is where both sides hold the same: a NaN keeps its bits.
const bool kSameElement = kElementIn == kElementOut;

// Both runs to float32 bits and back; a loop of known length, so that the code is there once.
void widen_runs(bool as_is, inout WORDS first, inout WORDS second) {
    for (uint run = 0u; !kFloatsIn && run < 2u; ++run) {
        WORDS wide = where_less(WORDS(0u), WORDS(as_is), first, widen(first, kElementIn));
        first = second;
        second = wide;
    }
}
void narrow_runs(bool as_is, inout WORDS first, inout WORDS second) {
    for (uint run = 0u; !kFloatsOut && run < 2u; ++run) {
        WORDS narrowed = where_less(WORDS(0u), WORDS(as_is), first, narrow(first, kElementOut));
        first = second;
        second = narrowed;
    }
}

// Elements that a copying lane moves at a time.
uint copy_step() {
    return kLane == 2u && kFloatsIn && kFloatsOut ? 1u : kLane;
}

// Pairs lie in memory as two runs of LANE elements: first and second elements, or, interleaved, the one half of the
// pairs and the other. Their places in a head.
struct Runs {
    uint low;
    uint high;
    uint low_count;
    uint high_count;
};

Runs runs_of(uint j, uint count, uint chunk) {
    bool woven = kLane > 1u && ROPE_IS_INTERLEAVED(chunk);
    uint first = rotary_begin() + pair_first(j, chunk);
    uint second = first + choose(woven, kLane, pair_distance(pair_count(), chunk));
    return Runs(place_of(first), place_of(second), choose(woven, kLane, count),
                choose(woven, 2u * count - kLane, count));
}

// Two runs of interleaved elements as first and second elements.
void unweave(inout WORDS low, inout WORDS high) {
#if ROPE_LANE == 4
    uvec4 first = uvec4(low.xz, high.xz);
    high = uvec4(low.yw, high.yw);
    low = first;
#elif ROPE_LANE == 2
    uvec2 first = uvec2(low.x, high.x);
    high = uvec2(low.y, high.y);
    low = first;
#endif
}

void weave(inout WORDS first, inout WORDS second) {
#if ROPE_LANE == 4
    uvec4 low = uvec4(first.x, second.x, first.y, second.y);
    second = uvec4(first.z, second.z, first.w, second.w);
    first = low;
#elif ROPE_LANE == 2
    uvec2 low = uvec2(first.x, second.x);
    second = uvec2(first.y, second.y);
    first = low;
#endif
}
