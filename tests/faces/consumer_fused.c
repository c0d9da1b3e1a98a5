/* The five examples of fused passes as rope.h has them: each is planned, as one dispatch, and binds what its plan
 * uses. */
#include <vkrope/rope.h>

#include <stdio.h>

enum { kExampleCount = 5 };

static const uint32_t tokens = 7, batch = 2, pages = 1024, slots = 32768, rows = 4096;
static float scales[16], mapped[16];
static RopeFrequencies f;
static RopeBuffer q, k, v, qkv, pool, table, map, k_cache, v_cache, q_norm, k_norm, rings, parameters, row_numbers,
    cache, latent, latent_norm;

#include "fused_examples.inc"

static int isBound(const RopeBuffers* b, int slot) {
    return b->slots[slot].buffer != VK_NULL_HANDLE || slot == ROPE_SLOT_POSITIONS || slot == ROPE_SLOT_FREQUENCIES;
}

int main(void) {
    RopeBuffer* const all[] = {&q,          &k,           &v,       &qkv,    &pool,       &table,
                               &map,        &k_cache,     &v_cache, &q_norm, &k_norm,     &rings,
                               &parameters, &row_numbers, &cache,   &latent, &latent_norm};
    double values[64], scale;
    uint32_t i, failures = sizeof kExamples / sizeof *kExamples != kExampleCount;
    RopeRule rule = {0};
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 16;
    limits.storage_range = 1u << 30;
    for (i = 0; i < sizeof all / sizeof *all; ++i) all[i]->buffer = (VkBuffer)(uintptr_t)(i + 1);
    for (i = 0; i < sizeof kExamples / sizeof *kExamples; ++i) {
        RopeFusedDescription d;
        RopeBuffers b;
        RopePlan plan;
        int slot;
        rule.rotary_dim = i == 4 ? 64 : 128; /* DeepSeek rotates 64 elements */
        rule.base = 1000000;
        if (ropeMakeFrequencies(&rule, values, &scale, NULL) != ROPE_SUCCESS) return 1;
        f.values = values;
        f.count = rule.rotary_dim / 2;
        kExamples[i](&d, &b);
        if (ropePlanFused(&d, &limits, &plan) != ROPE_SUCCESS || plan.pass_count != 1) {
            fprintf(stderr, "%s: %u passes: %s\n", kNames[i], (unsigned)plan.pass_count, plan.reason.text);
            ++failures;
            continue;
        }
        for (slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
            if ((plan.bytes[slot] != 0) == isBound(&b, slot)) continue;
            fprintf(stderr, "%s: %s takes %u bytes, and is %s\n", kNames[i], ropeSlotName((RopeSlot)slot),
                    (unsigned)plan.bytes[slot], isBound(&b, slot) ? "bound" : "not bound");
            ++failures;
        }
    }
    return failures != 0;
}
