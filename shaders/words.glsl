// Elements in memory: float32, as whole words. A wide lane takes four pairs with 16-byte loads, a scalar lane one.
#if ROPE_WIDE
#define LANE_PAIRS 4u
#define WORDS uvec4
#define VALUES vec4
#else
#define LANE_PAIRS 1u
#define WORDS uint
#define VALUES float
#endif

layout(constant_id = ROPE_ID_IN_PLACE) const uint kInPlace = 0;

layout(set = 0, binding = ROPE_BINDING_SOURCE) readonly buffer Source {
    WORDS source[];
};
layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer Destination {
    WORDS destination[];
};

// In place one binding does both, so that no compiler may take load and store for strangers.
WORDS load(uint element) {
    uint at = element / LANE_PAIRS;
    return kInPlace != 0u ? destination[at] : source[at];
}

void store(uint element, WORDS words) {
    destination[element / LANE_PAIRS] = words;
}

// The first and second elements of the pairs from j on, of the rotary part that starts at `base`.
void load_pairs(uint base, uint j, uint interleaved, out WORDS first, out WORDS second) {
#if ROPE_WIDE
    if (interleaved != 0u) {
        WORDS low = load(base + 2u * j);
        WORDS high = load(base + 2u * j + 4u);
        first = uvec4(low.xz, high.xz);
        second = uvec4(low.yw, high.yw);
        return;
    }
#endif
    first = load(base + pair_first(j, interleaved));
    second = load(base + pair_second(j, push.pairs, interleaved));
}

void store_pairs(uint base, uint j, uint interleaved, WORDS first, WORDS second) {
#if ROPE_WIDE
    if (interleaved != 0u) {
        store(base + 2u * j, uvec4(first.x, second.x, first.y, second.y));
        store(base + 2u * j + 4u, uvec4(first.z, second.z, first.w, second.w));
        return;
    }
#endif
    store(base + pair_first(j, interleaved), first);
    store(base + pair_second(j, push.pairs, interleaved), second);
}
