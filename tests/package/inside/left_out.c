/* A host of a build that leaves out every family: each of their calls is there, refuses, and names its option. */
#include <vkrope/rope.h>

#include <stdio.h>
#include <string.h>

#ifdef VKROPE_NO_REFERENCE
#define REFERENCE_OR(family) "leaves out the CPU's reference; build it without VKROPE_NO_REFERENCE"
#else
#define REFERENCE_OR(family) family
#endif

static int failures = 0;

static void refused(RopeResult result, const char* sentence, const char* wanted) {
    if (result == ROPE_ERROR_INVALID && strstr(sentence, wanted) != NULL) return;
    fprintf(stderr, "%s with '%s', and not with '%s'\n", ropeResultName(result), sentence, wanted);
    ++failures;
}

int main(void) {
    static const char additions[] = "leaves out positions added to embeddings; build it without VKROPE_NO_ADDITIONS";
    static const char biases[] = "leaves out biases on attention scores; build it without VKROPE_NO_BIASES";
    static const char relative[] = "leaves out relative vectors; build it without VKROPE_NO_RELATIVE";
    static const char fused[] = "leaves out fused passes; build it without VKROPE_NO_FUSED";
    static RopePlan plan;
    RopeReason reason;
    RopeDispatch dispatch;
    memset(&plan, 0xFF, sizeof plan);
    refused(ropePlanAdd(NULL, NULL, &plan), plan.reason.text, additions);
    if (plan.version != 0 || ropeDispatchCount(&plan) != 0) return 1;
    ropeGetDispatch(&plan, 0, &dispatch);
    if (dispatch.shader != NULL) return 1;
    refused(ropePlanBias(NULL, NULL, &plan), plan.reason.text, biases);
    refused(ropePlanRelative(NULL, NULL, &plan), plan.reason.text, relative);
    refused(ropePlanFused(NULL, NULL, &plan), plan.reason.text, fused);
#ifdef VKROPE_NO_REFERENCE
    refused(ropeHostRunRotate(NULL, NULL, &reason), reason.text, REFERENCE_OR(NULL));
    refused(ropeHostRunTable(NULL, NULL, &reason), reason.text, REFERENCE_OR(NULL));
#endif
    refused(ropeHostRunAdd(NULL, NULL, &reason), reason.text, REFERENCE_OR(additions));
    refused(ropeHostRunBias(NULL, NULL, &reason), reason.text, REFERENCE_OR(biases));
    refused(ropeHostRunRelative(NULL, NULL, &reason), reason.text, REFERENCE_OR(relative));
    refused(ropeHostRunFused(NULL, NULL, &reason), reason.text, REFERENCE_OR(fused));
    refused(ropeWriteBuckets(NULL, NULL, &reason), reason.text, biases);
    refused(ropeWriteParameters(NULL, NULL, &reason), reason.text, fused);
    if (ropeBucketVectors(32, 0) != 0 || ropePlanFused(NULL, NULL, NULL) != ROPE_ERROR_INVALID) return 1;
    return failures != 0;
}
