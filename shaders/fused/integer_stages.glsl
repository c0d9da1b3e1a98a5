// This file is what a fused pass into a cache of integers does with a thread's heads: those of K and V become integers,
// and Q's stay floats. It is a part of fused.comp, which includes it.
#ifndef ROPE_INTEGER_STAGES_GLSL
#define ROPE_INTEGER_STAGES_GLSL

#ifndef ROPE_SHIFTS
#define COPIES_FIRST
// Stores heads of Q that neither turn nor change, before others are widened. If the end had a branch for them,
// compilers would keep each element as it was before the turn beside what becomes of it, in twice the registers.
void copy_heads(inout WorkItem item, Way way) {
    if (kRelays || !way.as_is) return;
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        if (kFirstInPlace || !item.is_there || !has_head(item, h)) continue;
        Head head = loaded[h];
        if (kFloatsIn) head = Head(held[h].x);
        Head words = head;
        for (uint quad = 0u; kChunkIn != kChunkOut && quad < kQuads; ++quad) {
            Quad pairs = read_quad(head, quad, way.interleaved_in, true);
            if (way.interleaved_in) deinterleave(pairs);
            if (way.interleaved_out) interleave(pairs);
            write_quad(words, quad, way.interleaved_out, true, way.element, pairs);
        }
        store_runs(item, way, kFirst, h, words);
    }
    item.is_there = false;
}
#endif

void find_extremes(Way way) {
    uint h = 0u;
    do {
        uint quad = 0u;
        do {
            uint places[2] = places_out(way, quad);
            for (uint i = 0u; i < 2u; ++i) keep_extremes(h, places[i], held[h * kQuads + quad].x[i]);
        } while (++quad < kQuads);
    } while (++h < kHeadsPerThread);
}

#ifdef ROPE_PARAMETERS
void scale_heads(WorkItem item) {
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        Share share = given_share(item, min(item.head + h, item.heads - 1u));
        for (uint quad = h * kQuads; quad < (h + 1u) * kQuads; ++quad) {
            for (uint i = 0u; i < 2u; ++i) held[quad].x[i] = scaled_as_given(item, share, held[quad].x[i]);
        }
    }
}
#endif

void finish_heads(WorkItem item, Way way) {
#ifdef ROPE_PARAMETERS
    if (kGiven) scale_heads(item);
#endif
    // The hints are for NVIDIA's compiler, which left `for` loops here as they were, with the heads in memory.
    uint h = 0u;
    [[unroll]] do {
        Share share = Share(0u, 0.0, 0u);
        if (!kGiven && !kInBlocks) share = share_of(h, 0u);
        uint part = 0u;
        [[unroll]] do {
            uint quad = part % kQuads;
            uint i = part / kQuads;
            uint place = places_out(way, quad)[i];
            const bool run_each = ROPE_IS_INTERLEAVED(kChunkOut) && kQuads == 2u; // else a run's quads lie in one block
            if (kInBlocks && (run_each || quad == 0u)) share = kept_share(h, place / kBlockQuads);
            if (!kRelays || way.lane.to.count[i] != 0u)
                finish_quad(item, h, share, place, held[h * kQuads + quad].x[i]);
        } while (++part < 2u * kQuads);
        if (kKeepsEnds) put_seams(item, h);
    } while (++h < kHeadsPerThread);
}

// Q stays floats. Its threads only reach the barriers. In a shift, lanes overwrite words that their neighbours read.
// All these reads are over at the first barrier, and no compiler may load such a word again behind it.
void store_integers(WorkItem item, Way way) {
#ifdef ROPE_SHIFTS
    groupMemoryBarrier();
#endif
    if (!kGiven) {
        if (!is_q(item)) find_extremes(way);
        barrier();
    }
    if (kInBlocks) {
        if (!is_q(item)) keep_block_shares(item.lane);
        barrier();
    }
    if (is_q(item)) store_heads(item, way);
    else finish_heads(item, way);
    if (kKeepsIntegers) {
        barrier();
        store_blocks(item);
    }
}

#endif
