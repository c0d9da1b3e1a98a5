// This shader adds a bias to attention scores, or writes the bias out. A bias is a value of a head and of a distance: a
// key's position less its query's. A thread takes one run of keys (see runs.glsl) of a few queries of one head.
// A group makes the value of each distance once, in shared memory, while the threads' scores are loaded, because queries
// that follow each other have most of their distances in common. If tuning says that a group shares nothing, a thread
// finds the values of its first query, and one more value for each query that follows.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#define ROPE_PUSH RopeBiasPush
#define ROPE_SCORES
#include "words.h"
#include "../position.glsl"
#include "../rows.glsl"
#include "../bias.glsl"

layout(constant_id = ROPE_ID_BIAS) const uint kBias = ROPE_BIAS_CLIP;
layout(constant_id = ROPE_ID_WRITES) const uint kWrites = 0;
layout(constant_id = ROPE_ID_CAUSAL) const uint kCausal = 0;
layout(constant_id = ROPE_ID_BOTH_SIDES) const uint kBothSides = 0;
layout(constant_id = ROPE_ID_QUERIES) const uint kQueries = 1;
layout(constant_id = ROPE_ID_SHARES) const uint kTogether = 0;
const bool kAdds = kWrites == 0u;
const bool kBoth = kBothSides != 0u;
const bool kLoadsFirst = kTogether != 0u;
const bool kOwnPositions = kPositions == ROPE_KIND_PER_TOKEN; // others follow each other

uint head_rows; // place of the head's first value

// ---- Values --------------------------------------------------------------------------------------------------------
const bool kFromRows = kBias != ROPE_BIAS_LINEAR;
float slope; // ALiBi's
layout(constant_id = ROPE_ID_BUCKETS) const uint kBuckets = 32;
layout(constant_id = ROPE_ID_MAX_DISTANCE) const uint kMaxDistance = 128;
layout(constant_id = ROPE_ID_PARAMETERS) const uint kParameters = 1;
layout(std140, set = 0, binding = ROPE_BINDING_PARAMETERS) uniform Thresholds {
    uvec4 thresholds[kParameters];
};

// Most distances have reached all thresholds or none. They leave the loop at once.
uint bucket_of(int distance) {
    const uint side = kBoth ? kBuckets / 2u : kBuckets;
    const uint exact = side / 2u;
    uint magnitude = rope_t5_magnitude(distance, kBoth);
    bool is_between = magnitude - exact < kMaxDistance - exact;
    uint reached = choose(magnitude >= kMaxDistance, side - exact - 1u, 0u);
    for (uint i = choose(is_between, 0u, kParameters); i < kParameters; ++i)
        reached += rope_t5_reached(distance, kBoth, thresholds[i]);
    return rope_t5_bucket(distance, kBuckets, kBoth, reached);
}
uint row_of(int distance) {
    if (kBias == ROPE_BIAS_BUCKETS) return bucket_of(distance);
    return rope_clipped_row(distance, push.least, push.most);
}

// Returns one entry of the rows by itself.
float row_value(uint at) {
    uvec4 one = uvec4(row_entry(at));
    if (kRowElement != ROPE_F32) one = widen(one, kRowElement);
    return uintBitsToFloat(one[0]);
}

float value_of(int distance) {
    if (!kFromRows) return kBoth ? rope_alibi_both(distance, slope) : rope_alibi(distance, slope);
    return row_value(head_rows + row_of(distance) * push.row_stride);
}

// kDistances is the most that a group has, however its threads are divided between keys and queries. ALiBi's product
// costs less than shared memory.
const bool kShares = kLoadsFirst && kFromRows;
const uint kThreads = gl_WorkGroupSize.x;
const uint kOfManyKeys = kThreads * kRun + kQueries;
const uint kOfManyQueries = kThreads * kQueries + kRun;
const uint kDistances = kOfManyKeys > kOfManyQueries ? kOfManyKeys : kOfManyQueries;

// Threads read entries that lie a run apart. An entry is left out after each 32, so that they read from all banks.
#define SPREAD(entry) ((entry) + ((entry) >> 5))
shared float shared_values[kShares ? SPREAD(kDistances) : 1u];
int shared_begin;  // the least distance that has an entry
uint shared_count; // distances that have one

float near_value(int distance) {
    return kShares ? shared_values[SPREAD(uint(distance - shared_begin))] : value_of(distance);
}

// Values has the values of a run.
struct Values {
    vec4 low;
    vec4 high; // of a second quad
};

// Takes in the value of the distance before all others, and leaves out the last.
Values slid(Values values, float first) {
    if (kQuads == 2u) values.high = vec4(values.low.w, values.high.xyz);
    values.low = vec4(first, values.low.xyz);
    return values;
}

// Returns the values of a run whose distances the group does not have. Far keys share a row.
Values far_values(int distance) {
    int last = distance + int(kRun) - 1;
    float value = value_of(last);
    Values values = Values(vec4(value), vec4(value));
    bool is_one = kFromRows && row_of(distance) == row_of(last);
    for (uint i = choose(is_one, 0u, kRun - 1u); i > 0u; --i) values = slid(values, value_of(distance + int(i) - 1));
    return values;
}

// ---- Runs ----------------------------------------------------------------------------------------------------------
// Writes a quad of a run, which float32 bits give.
void set_quad(inout uvec4 run, uint quad, uvec4 words) {
    if (kFloatsOut) run = words;
    else if (quad == 0u) run.xy = narrow_run(words, kElementOut);
    else run.zw = narrow_run(words, kElementOut);
}

uvec4 biased_run(uvec4 run, Values values, int distance) {
    uvec4 result = run;
    for (uint quad = 0u; quad < kQuads; ++quad) {
        vec4 value = values.low;
        if (quad != 0u) value = values.high;
        uvec4 words = floatBitsToUint(value);
        if (kAdds) {
            uvec4 x = kFloatsIn ? run : widen_run(quad == 0u ? run.xy : run.zw, kElementIn);
            precise vec4 sum = uintBitsToFloat(x) + value;
            words = floatBitsToUint(sum);
        }
        for (uint i = 0u; i < 4u; ++i) {
            bool is_ahead = distance + int(quad * 4u + i) > 0;
            if (kCausal != 0u) words[i] = choose(is_ahead, 0xFF800000u, words[i]);
        }
        set_quad(result, quad, words);
    }
    return result;
}

// Work has what a thread takes. A thread without work has no queries.
struct Work {
    uint key;
    uint keys;
    uint query; // the first
    uint queries;
    uint to; // place of the first query's run
};

struct Query {
    int distance; // of the first key
    bool known;
    bool near; // near_value has its values
};

// `first` is the group's first token, which is query `first_query`.
Query query_of(Work work, Token first, uint first_query, uint number) {
    Token token = first;
    if (kOwnPositions) token = find_token(gl_WorkGroupID.y, number);
    else token.whole.x += number - first_query;
    int distance = int(push.first_key + work.key - token.whole.x);
    bool known = is_known(token);
    bool has_values = !kOwnPositions || !kShares || uint(distance - shared_begin) <= shared_count - work.keys;
    return Query(distance, known, known && has_values);
}

uvec4 load_scores(Work work, uint to) {
    uvec4 run = uvec4(0u);
    if (kAdds) run = load_run(kFirst, to, work.keys);
    return run;
}

// A query without a position is written 0. That 0 is no constant: newer compilers make a constant of 16 bits of it,
// which 16-bit storage alone does not allow.
void put_scores(Work work, uint to, Query query, uvec4 run) {
    if (!kAdds) run &= uvec4(choose(query.known, 0xFFFFFFFFu, 0u));
    store_run(kFirst, to, run, work.keys, kFloatsOut);
}

// Returns what a thread takes of its group's queries.
Work find_work(uint head, uint first_key, uint first_query, uint queries) {
    Work work;
    work.key = first_key + (gl_LocalInvocationID.x & ((1u << push.lane_bits) - 1u)) * kRun;
    work.keys = min(kRun, push.keys - min(work.key, push.keys));
    work.query = min((gl_LocalInvocationID.x >> push.lane_bits) * kQueries, queries);
    work.queries = work.keys == 0u ? 0u : min(kQueries, queries - work.query);
    work.query += first_query;
    work.to = push.destination.offset + gl_WorkGroupID.y * push.destination.batch + head * push.destination.head +
              work.query * push.destination.token + place_of(work.key);
    return work;
}

void main() {
    uint head = gl_WorkGroupID.z / push.lane_parts;
    uint first_key = ((gl_WorkGroupID.z - head * push.lane_parts) << push.lane_bits) * kRun;
    uint queries = (kThreads >> push.lane_bits) * kQueries;
    uint first_query = gl_WorkGroupID.x * queries;
    // An indirect dispatch may have groups without any query.
    queries = min(queries, push.tokens - min(first_query, push.tokens));
    first_query = min(first_query, push.tokens - 1u);
    Work work = find_work(head, first_key, first_query, queries);

    uvec4 runs[kLoadsFirst ? kQueries : 1u];
    if (kLoadsFirst && work.queries != 0u) { // one branch: a compiler may wait for loads where it ends
        [[unroll]] for (uint i = 0u; i < kQueries; ++i)
            runs[i] = load_scores(work, work.to + min(i, work.queries - 1u) * push.destination.token);
    }
    Token first = find_token(gl_WorkGroupID.y, first_query);
    head_rows = push.rows.offset + head * push.rows.head;
    if (!kFromRows) slope = row_value(head_rows);
    if (kShares) {
        shared_begin = int(push.first_key + first_key - first.whole.x - (queries - 1u));
        shared_count = min(kRun << push.lane_bits, push.keys - first_key) + queries - 1u;
        for (uint i = gl_LocalInvocationID.x; i < shared_count; i += kThreads)
            shared_values[SPREAD(i)] = value_of(shared_begin + int(i));
        barrier();
    }
    if (work.queries == 0u) return;

    // A query that follows the last one has its values, moved by one key. If positions are given per query, a thread
    // that shares takes all values anew. A thread that shares nothing does so if its query does not follow.
    Values values = Values(vec4(0.0), vec4(0.0));
    int distance = int(push.first_key + work.key - first.whole.x - (work.query - first_query)) + 1;
    for (uint i = kRun - 1u; !kOwnPositions && i > 0u; --i)
        values = slid(values, near_value(distance - 1 + int(i)));
    bool has_values = !kOwnPositions;
    bool some_left = false;
    // NVIDIA's compiler does not unroll this loop without being asked to, and the runs lay in memory.
    [[unroll]] for (uint i = 0u; i < (kLoadsFirst ? kQueries : work.queries); ++i) {
        if (i < work.queries) {
            Query query = query_of(work, first, first_query, work.query + i);
            some_left = some_left || !query.near;
            if (query.near) {
                bool follows = query.distance == distance - 1 && has_values;
                has_values = true;
                distance = query.distance;
                uint taken = !kOwnPositions ? 1u : kLoadsFirst ? kRun : choose(follows, 1u, kRun);
                for (uint k = taken; k > 0u; --k) values = slid(values, near_value(distance + int(k) - 1));
                uint to = work.to + i * push.destination.token;
                uvec4 run = kLoadsFirst ? runs[i] : load_scores(work, to);
                put_scores(work, to, query, biased_run(run, values, distance));
            }
        }
    }
    // These queries have distances that the group does not have, or no position.
    for (uint i = 0u; some_left && i < work.queries; ++i) {
        Query query = query_of(work, first, first_query, work.query + i);
        if (!query.near && (query.known || !kAdds)) {
            uint to = work.to + i * push.destination.token;
            uvec4 run = load_scores(work, to);
            put_scores(work, to, query, biased_run(run, far_values(query.distance), query.distance));
        }
    }
}
