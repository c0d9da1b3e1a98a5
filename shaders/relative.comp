// Shaw's relative vectors, two elements at a time: with ROPE_OF_VALUES Sum a * R[row] added to an attention's output,
// else q . R[row] added to scores, where a row is that of the distance from query to key, clipped. One thread takes two
// elements of an output, or ROPE_RELATIVE_RUN keys of one query.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "start.glsl"
#include "angle.h"
#include "position.glsl"
#include "words.glsl"
#include "rows.glsl"
#include "row_value.glsl"
#include "bias.glsl"
const uint kHeads = 1u;
#include "stand.glsl"

layout(constant_id = ROPE_ID_SCALED) const uint kScaled = 0;

float source_at(uint at) {
    uint word = kFloatsIn ? source[at] : source_packed[at / 2u];
    if (!kFloatsIn) word = widen(uvec2((word >> (16u * (at & 1u))) & 0xFFFFu), kElementIn).x;
    return uintBitsToFloat(word);
}

// Two of what is added to, or of float32 the last one.
vec2 sum_at(uint at, uint count) {
    uvec2 words = uvec2(0u);
    if (!kFloatsOut) {
        uint packed = destination_packed[at / 2u];
        words = widen(uvec2(packed & 0xFFFFu, packed >> 16), kElementOut);
    } else {
        words.x = destination[at];
        if (count > 1u) words.y = destination[at + 1u];
    }
    return uintBitsToFloat(words);
}

void put_sum(uint at, vec2 sum, uint count) {
    uvec2 words = floatBitsToUint(sum);
    if (!kFloatsOut) words = narrow(words, kElementOut);
    store(at, words, count);
}

uint first_row = 0u; // element of the head's

float entry(int row, uint element) { return row_value(first_row + uint(row) * push.ROPE_ROW_STRIDE + element); }

int last_row() { return push.ROPE_MOST - int(push.ROPE_LEAST); }

// The row of a distance from the query to key 0, and so many keys on.
int row_of_key(int distance, uint key) {
    return int(rope_relative_row(int(uint(distance) + key), int(push.ROPE_LEAST), push.ROPE_MOST));
}

#ifdef ROPE_OF_VALUES
// Rows at either end serve many keys, whose weights are summed first.
vec2 weighted_sum(uint from, int distance, uint element, uint count) {
    precise vec2 sum = vec2(0.0);
    precise float before = 0.0;
    precise float behind = 0.0;
    for (uint key = 0u; key < push.ROPE_KEYS; ++key) {
        int row = row_of_key(distance, key);
        float weight = source_at(from + key);
        vec2 value = vec2(entry(row, element), count > 1u ? entry(row, element + 1u) : 0.0);
        if (row == 0) {
            before += weight;
        } else if (row == last_row()) {
            behind += weight;
        } else {
            sum += weight * value;
        }
    }
    vec2 first = vec2(entry(0, element), count > 1u ? entry(0, element + 1u) : 0.0);
    sum += before * first;
    if (last_row() != 0) {
        vec2 last = vec2(entry(last_row(), element), count > 1u ? entry(last_row(), element + 1u) : 0.0);
        sum += behind * last;
    }
    return sum;
}

void add_terms(uint from, uint to, uint lane, int distance) {
    uint element = 2u * lane;
    uint count = min(2u, push.ROPE_DIM - element);
    precise vec2 sum = sum_at(to + element, count) + weighted_sum(from, distance, element, count);
    put_sum(to + element, sum, count);
}
#else
float dot_with(uint from, int row) {
    precise float sum = 0.0;
    for (uint element = 0u; element < push.ROPE_DIM; ++element) sum += source_at(from + element) * entry(row, element);
    if (kScaled != 0u) sum = sum * uintBitsToFloat(push.term_scale);
    return sum;
}

// Keys of one row follow each other.
void add_terms(uint from, uint to, uint lane, int distance) {
    int row = -1;
    float term = 0.0;
    uint end = min((lane + 1u) * ROPE_RELATIVE_RUN, push.ROPE_KEYS);
    for (uint key = lane * ROPE_RELATIVE_RUN; key < end; key += 2u) {
        vec2 terms;
        for (uint i = 0u; i < 2u; ++i) {
            int wanted = row_of_key(distance, key + i);
            if (wanted != row) term = dot_with(from, wanted);
            row = wanted;
            terms[i] = term;
        }
        uint count = min(2u, end - key);
        precise vec2 sum = sum_at(to + key, count) + terms;
        put_sum(to + key, sum, count);
    }
}
#endif

void main() {
    Stand stand = find_stand();
    if (stand.number >= push.tokens) return;
    Token token = find_token(gl_WorkGroupID.y, stand.number);
    if (!is_known(token)) return;
    first_row = push.rows.offset + stand.head * push.rows.head;
    add_terms(stand.from, stand.to, stand.lane, int(push.ROPE_FIRST_KEY - token.whole.x));
}
