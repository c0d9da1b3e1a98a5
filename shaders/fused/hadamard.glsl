// A stage of a fused pass: each block of n elements is multiplied by Hadamard's matrix over the root of n. Every
// element is multiplied by 1/sqrt(n) first. Butterflies of distance 1, 2, 4, ..., n/2 follow in this order, whatever
// elements a lane holds, so no bit depends on lanes. A lane does the first ones, whose two elements it holds. Then
// heads lie in shared memory, and a lane takes the elements of a column: those that the next butterflies meet. If the
// last butterfly's two elements are a lane's two runs, it comes when they are back.
#ifndef ROPE_HADAMARD_GLSL
#define ROPE_HADAMARD_GLSL
#include "turn.glsl"

#define BLOCK_BITS(kind) ((kind) >> ROPE_TENSOR_HADAMARD & 0xFu)
#define LAST_IN_LANE(kind) ((kind) >> ROPE_TENSOR_LAST_IN_LANE & 1u)
// Butterflies of the first kFirstBits distances are a lane's: of a vector, and of two vectors side by side.
const bool kSideBySide = ((kQuads & 2u) | (kPass & ROPE_PASS_SIDE_BY_SIDE)) != 0u;
const uint kFirstBits = kSideBySide ? 3u : 2u;
#define COLUMN_BITS(kind) (BLOCK_BITS(kind) == 0u ? 0u : BLOCK_BITS(kind) - kFirstBits - LAST_IN_LANE(kind))
#define HADAMARD_QUADS(kind, pass) (BLOCK_BITS(kind) == 0u ? 0u : HEAD_QUADS(kind, pass))
const uint kQColumn = COLUMN_BITS(kQ_kind), kKColumn = COLUMN_BITS(kK_kind), kVColumn = COLUMN_BITS(kV_kind);
const uint kColumn = WIDEST(kQColumn, kKColumn, kVColumn);
const uint kQHadamard = HADAMARD_QUADS(kQ_kind, kQ_pass_elements);
const uint kKHadamard = HADAMARD_QUADS(kK_kind, kK_pass_elements);
const uint kVHadamard = HADAMARD_QUADS(kV_kind, kV_pass_elements);
const uint kHadamardQuads = WIDEST(kQHadamard, kKHadamard, kVHadamard); // of the widest head
const bool kTransforms = kHadamardQuads != 0u;
// A column of 32 elements fills a thread's registers; longer ones take two rounds.
const uint kFirstRound = kColumn > 5u ? 5u : kColumn;

uint block_bits(uint tensor) { return kTransforms ? BLOCK_BITS(kind_of(tensor)) : 0u; }
bool is_transformed(uint tensor) { return block_bits(tensor) != 0u; }
// Tensors without blocks take the others' number, so that nothing is chosen where all others have one.
uint met(uint bits) { return choose(bits == 0u, kColumn, bits); }
uint column_bits(uint tensor) {
    return choose(tensor == kFirst, met(kQColumn), choose(tensor == kThird, met(kVColumn), met(kKColumn)));
}

// An element has one word, and every 32 words are followed by one that is not used: columns then lie in all banks.
uint word_of(uint element) { return element + element / 32u; }
const uint kHeadWords = kHadamardQuads * 4u + (kHadamardQuads + 7u) / 8u;
shared float blocks[kTransforms ? kEntries * kHeadWords : 4u];

vec4 of_vector(vec4 x) {
    precise vec4 one = vec4(x.x + x.y, x.x - x.y, x.z + x.w, x.z - x.w);
    precise vec4 two = vec4(one.x + one.z, one.y + one.w, one.x - one.z, one.y - one.w);
    return two;
}
void meet(inout uvec4 first, inout uvec4 second) {
    precise vec4 sum = uintBitsToFloat(first) + uintBitsToFloat(second);
    precise vec4 difference = uintBitsToFloat(first) - uintBitsToFloat(second);
    first = floatBitsToUint(sum);
    second = floatBitsToUint(difference);
}

// Multiplies, and does the butterflies of vectors, and of vectors side by side.
void begin_blocks(WorkItem item, bool interleaved) {
    uint bits = block_bits(item.tensor);
    float root = uintBitsToFloat((127u - bits / 2u << 23) - choose(bits % 2u == 0u, 0u, 0x004AFB0Du)); // rounded
    for (uint at = 0u; at < kHeadsPerThread * kQuads; ++at) {
        for (uint i = 0u; i < 2u; ++i) {
            precise vec4 x = uintBitsToFloat(held[at].x[i]) * root;
            held[at].x[i] = floatBitsToUint(of_vector(x));
        }
        if (kSideBySide && (kQuads == 1u || interleaved)) meet(held[at].x[0], held[at].x[1]);
    }
    for (uint h = 0u; kQuads == 2u && !interleaved && h < kHeadsPerThread; ++h) {
        for (uint i = 0u; i < 2u; ++i) meet(held[h * kQuads].x[i], held[h * kQuads + kQuads - 1u].x[i]);
    }
}

void write_blocks(WorkItem item, Runs runs, bool interleaved) {
    for (uint at = 0u; at < kHeadsPerThread * kQuads; ++at) {
        uint places[2] = quad_places(runs, at % kQuads, interleaved);
        for (uint i = 0u; i < 2u; ++i) {
            if (kRelays && runs.count[i] == 0u) continue;
            uint to = entry_of(at / kQuads) * kHeadWords + word_of(places[i] * 4u);
            for (uint e = 0u; e < 4u; ++e) blocks[to + e] = uintBitsToFloat(held[at].x[i][e]);
        }
    }
}

// Does the butterflies of columns: those of distance 2^first to 2^(first + most - 1), of which a tensor takes `bits`.
void meet_in_columns(WorkItem item, uint first, const uint most, uint bits) {
    const uint rounds = max(8u * kQuads >> most, 1u); // a lane takes as many elements as it holds
    uint columns = head_quads(item.tensor) * 4u >> most;
    for (uint round = 0u; round < rounds; ++round) {
        uint column = item.lane + round * lanes_of(item.tensor);
        if (column >= columns) break;
        uint begin = (column >> first << first + most) | (column & (1u << first) - 1u);
        for (uint h = 0u; h < kHeadsPerThread; ++h) {
            uint from = entry_of(h) * kHeadWords + word_of(begin);
            float x[32];
            [[unroll]] for (uint i = 0u; i < 1u << most; ++i) x[i] = blocks[from + word_of(i << first)];
            [[unroll]] for (uint bit = 0u; bit < most; ++bit) {
                if (bit < bits) {
                    [[unroll]] for (uint pair = 0u; pair < (1u << most) / 2u; ++pair) {
                        uint at = (pair >> bit << bit + 1u) | (pair & (1u << bit) - 1u);
                        precise float sum = x[at] + x[at + (1u << bit)];
                        precise float difference = x[at] - x[at + (1u << bit)];
                        x[at] = sum;
                        x[at + (1u << bit)] = difference;
                    }
                }
            }
            [[unroll]] for (uint i = 0u; i < 1u << most; ++i) blocks[from + word_of(i << first)] = x[i];
        }
    }
}

void read_blocks(WorkItem item, Runs runs, bool interleaved) {
    for (uint at = 0u; at < kHeadsPerThread * kQuads; ++at) {
        uint places[2] = quad_places(runs, at % kQuads, interleaved);
        for (uint i = 0u; i < 2u; ++i) {
            uint from = entry_of(at / kQuads) * kHeadWords + word_of(places[i] * 4u);
            for (uint e = 0u; e < 4u; ++e) held[at].x[i][e] = floatBitsToUint(blocks[from + e]);
        }
        if (has_kind(item.tensor, 1u << ROPE_TENSOR_LAST_IN_LANE)) meet(held[at].x[0], held[at].x[1]);
    }
}

// ---- The stage

// Takes heads whose lanes hold these runs. Surplus threads write nothing, and read what others hold. If they wrote,
// Mali's compiler would keep every place from the write to the read, and spill.
void transform_heads(WorkItem item, Runs runs, bool interleaved) {
    if (!kTransforms) return;
    bool takes = is_transformed(item.tensor);
    if (takes) begin_blocks(item, interleaved);
    if (takes && item.is_there) write_blocks(item, runs, interleaved);
    barrier();
    if (takes && item.is_there) meet_in_columns(item, kFirstBits, kFirstRound, column_bits(item.tensor));
    barrier();
    if (kColumn > kFirstRound) {
        uint bits = max(column_bits(item.tensor), kFirstRound) - kFirstRound;
        if (takes && item.is_there) meet_in_columns(item, kFirstBits + kFirstRound, kColumn - kFirstRound, bits);
        barrier();
    }
    if (takes) read_blocks(item, runs, interleaved);
}

#endif
