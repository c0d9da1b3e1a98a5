/* A C99 host: the whole way from a rule to the CPU's result. Built with -std=c99 -pedantic -Werror by the C compiler
 * and linked without the C++ runtime. */
#include <vkrope/rope.h>

#include <stdio.h>
#include <string.h>

static int expect(int holds, const char* what) {
    if (!holds) fprintf(stderr, "failed: %s\n", what);
    return holds ? 0 : 1;
}

static int rotateOnHost(void) {
    const float wanted[4] = {-1.2722f, -1.8389f, 2.8787f, 4.0882f};
    const float q[4] = {1, 2, 3, 4};
    double frequencies[2], scale;
    float out[4];
    int i, failures = 0;
    RopeRule rule = {0};
    RopeRotateDescription d = {0};
    RopeHostRotate host = {0};
    RopeReason reason;
    RopePlan plan;

    rule.rotary_dim = 4;
    rule.base = 10000;
    failures += expect(ropeMakeFrequencies(&rule, frequencies, &scale, &reason) == ROPE_SUCCESS, reason.text);
    d.tokens = 1;
    d.head_dim = 4;
    d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
    d.rotation.frequencies.values = frequencies;
    d.rotation.frequencies.count = 2;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = 3;
    d.q.heads = 1;
    failures += expect(ropePlanRotate(&d, NULL, &plan) == ROPE_SUCCESS, plan.reason.text);
    failures += expect(plan.bytes[ROPE_SLOT_Q] == 16, "a plan tells its bytes");
    host.q = q;
    host.q_out = out;
    failures += expect(ropeHostRunRotate(&d, &host, &reason) == ROPE_SUCCESS, reason.text);
    for (i = 0; i < 4; ++i) failures += expect(out[i] - wanted[i] < 1e-4f && wanted[i] - out[i] < 1e-4f, "an element");
    return failures;
}

int main(void) {
    RopeTableDescription table;
    RopePlan plan;
    memset(&table, 0, sizeof table);
    if (expect(ropePlanTable(&table, NULL, &plan) != ROPE_SUCCESS && plan.reason.text[0] != '\0', "an empty table") !=
        0) {
        return 1;
    }
    return rotateOnHost() != 0;
}
