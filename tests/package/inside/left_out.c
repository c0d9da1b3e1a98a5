/* A host of a build that leaves out every family: each of their calls is there, refuses, and names its option. */
#include <vkrope/rope.h>

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void refused(RopeResult result, const char* sentence, const char* wanted) {
    if (result == ROPE_ERROR_INVALID && strstr(sentence, wanted) != NULL) return;
    fprintf(stderr, "%s with '%s', and not with '%s'\n", ropeResultName(result), sentence, wanted);
    ++failures;
}

int main(void) {
    static const char additions[] =
        "leaves out positions added to embeddings; build it with -DVKROPE_WITH_ADDITIONS=ON";
    static const char biases[] = "leaves out biases on attention scores; build it with -DVKROPE_WITH_BIASES=ON";
    static const char relative[] = "leaves out relative vectors; build it with -DVKROPE_WITH_RELATIVE=ON";
    static const char fused[] = "leaves out fused passes; build it with -DVKROPE_WITH_FUSED=ON";
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
    refused(ropeHostRunAdd(NULL, NULL, &reason), reason.text, additions);
    refused(ropeHostRunBias(NULL, NULL, &reason), reason.text, biases);
    refused(ropeHostRunRelative(NULL, NULL, &reason), reason.text, relative);
    refused(ropeHostRunFused(NULL, NULL, &reason), reason.text, fused);
    refused(ropeWriteBuckets(NULL, NULL, &reason), reason.text, biases);
    refused(ropeWriteParameters(NULL, NULL, &reason), reason.text, fused);
    if (ropeBucketVectors(32, 0) != 0 || ropePlanFused(NULL, NULL, NULL) != ROPE_ERROR_INVALID) return 1;
    return failures != 0;
}
