/* A host of the core alone, C99 and C++. It rotates on the CPU, compares with values worked out by hand, and prints
 * what every build of one version has in common: the bits of tables and rotations, and the SPIR-V. */
#include <vkrope/rope.h>

#include <stdio.h>
#include <string.h>

#ifdef __has_include
#if __has_include("plan/planner.h") || __has_include("host.cmake") || __has_include(<vkrope/plan/planner.h>)
#error "a private header of vkrope is within a host's reach"
#endif
#endif

#define TOKENS 48
#define HEADS 3
#define HEAD_DIM 64
#define COUNT (TOKENS * HEADS * HEAD_DIM)

static uint64_t hashed(uint64_t hash, const void* data, size_t bytes) {
    const unsigned char* byte = (const unsigned char*)data;
    size_t i;
    for (i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * 1099511628211u;
    return hash;
}

static int rotatesAsByHand(void) {
    const float wanted[4] = {-1.2722f, -1.8389f, 2.8787f, 4.0882f};
    const float q[4] = {1, 2, 3, 4};
    const double frequencies[2] = {1, 0.01};
    float out[4];
    int i;
    RopeRotateDescription d;
    RopeHostRotate host;
    memset(&d, 0, sizeof d);
    memset(&host, 0, sizeof host);
    d.tokens = 1;
    d.head_dim = 4;
    d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
    d.rotation.frequencies.values = frequencies;
    d.rotation.frequencies.count = 2;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = 3;
    d.q.heads = 1;
    host.q = q;
    host.q_out = out;
    if (ropeHostRunRotate(&d, &host, NULL) != ROPE_SUCCESS) return 0;
    for (i = 0; i < 4; ++i) {
        if (!(out[i] - wanted[i] < 1e-4f && wanted[i] - out[i] < 1e-4f)) return 0;
    }
    return 1;
}

static uint64_t shadersOf(const RopePlan* plan, uint64_t hash) {
    RopeDispatch dispatch;
    uint32_t i;
    for (i = 0; i < ropeDispatchCount(plan); ++i) {
        ropeGetDispatch(plan, i, &dispatch);
        hash = hashed(hash, dispatch.shader->words, dispatch.shader->bytes);
    }
    return hash;
}

static float q[COUNT], out[COUNT];

/* A rotation with this model's scale, its reference too; 0 where it is refused. */
static uint64_t rotated(const double* frequencies, double scale, uint64_t hash) {
    static double reference[COUNT];
    uint32_t i;
    RopePlan plan;
    RopeRotateDescription d;
    RopeHostRotate host;
    memset(&d, 0, sizeof d);
    memset(&host, 0, sizeof host);
    for (i = 0; i < COUNT; ++i) q[i] = ((float)(i * 2654435761u % 65536u) - 32768.0f) * 0.25f;
    d.tokens = TOKENS;
    d.head_dim = HEAD_DIM;
    d.rotation.frequencies.values = frequencies;
    d.rotation.frequencies.count = HEAD_DIM / 2;
    d.rotation.frequencies.scale = scale;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = 1000000;
    d.q.heads = HEADS;
    host.q = q;
    host.q_out = out;
    host.reference_q = reference;
    if (ropePlanRotate(&d, NULL, &plan) != ROPE_SUCCESS) return 0;
    if (ropeHostRunRotate(&d, &host, NULL) != ROPE_SUCCESS) return 0;
    return shadersOf(&plan, hashed(hash, out, sizeof out));
}

int main(void) {
    double frequencies[HEAD_DIM / 2], scale;
    uint64_t hash = 14695981039346656037u, plain, scaled;
    RopePlan plan;
    RopeRule rule;
    memset(&rule, 0, sizeof rule);
    rule.kind = ROPE_RULE_YARN;
    rule.rotary_dim = HEAD_DIM;
    rule.base = 10000;
    rule.factor = 8;
    rule.original_length = 4096;
    if (ropeMakeFrequencies(&rule, frequencies, &scale, NULL) != ROPE_SUCCESS) return 1;
    if (ropePlanSelfTest(NULL, &plan) != ROPE_SUCCESS) return 1;
    hash = shadersOf(&plan, hashed(hash, frequencies, sizeof frequencies));
    plain = rotated(frequencies, 1, hash);
    scaled = rotated(frequencies, scale, plain);
    if (plain == 0 || scaled == 0 || !rotatesAsByHand()) {
        fprintf(stderr, "not what was worked out by hand\n");
        return 1;
    }
    printf("vkrope %d.%d.%d %08lx%08lx\n", ROPE_VERSION_MAJOR, ROPE_VERSION_MINOR, ROPE_VERSION_PATCH,
           (unsigned long)(scaled >> 32), (unsigned long)(scaled & 0xFFFFFFFFu));
    return 0;
}
