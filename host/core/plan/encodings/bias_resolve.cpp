// This file fills in the defaults of biases on scores, refuses contradictions, and writes T5's thresholds:
// ropeWriteBuckets.
#include "plan/encodings/bias_resolve.h"
#include "plan/encodings/scores.h"
#include "plan/left_out.h"

#include <string.h>

#ifndef VKROPE_NO_BIASES
namespace rope {
namespace {

constexpr uint32_t kMaxDistance = (1u << 30) - 1;

RopeResult resolveBiasOptions(ResolvedBias* bias, RopeReason* reason) {
    RopeBiasDescription* g = &bias->filled;
    const RopeResult result = checkChoice("kind", g->kind, ROPE_BIAS_ALIBI, reason);
    if (result != ROPE_SUCCESS) return result;
    const bool t5 = g->kind == ROPE_BIAS_T5, clipped = g->kind == ROPE_BIAS_CLIPPED;
    if (t5 && g->buckets == 0) g->buckets = 32;
    if (t5 && g->max_distance == 0) g->max_distance = 128;
    const uint32_t fewest = g->bidirectional != 0 ? 4 : 2;
    const bool countable = t5 && g->buckets >= fewest && g->buckets <= ROPE_MAX_BUCKETS;
    const uint32_t exact = countable ? bucketsOf(g->buckets, g->max_distance, g->bidirectional).exact : 0;
    const RefusalRow refusals[] = {
        invalid(g->write_only != 0 && g->batch > 1,
                "write_only with batch %u; a bias is the same for all, so batch is 1", g->batch),
        invalid(t5 && !countable, "buckets is %u; it must be from %u%s to %u", g->buckets, fewest, ROPE_MAX_BUCKETS),
        invalid(
            t5 && (g->max_distance <= exact || g->max_distance > kMaxDistance),
            "max_distance is %u; it must be more than the %u distances that have a bucket of their own, and at most "
            "%u",
            g->max_distance, exact, kMaxDistance),
    };
    const ScoreCounts counts = {
        g->heads, g->queries, g->keys, 1, g->keys, clipped ? g->least : 0, clipped ? g->most : 0};
    const RopeResult refused = refuseByFirst(refusals, reason, g->bidirectional != 0 ? ", as bidirectional," : "");
    if (refused != ROPE_SUCCESS) return refused;
    bias->row_count = t5 ? g->buckets : clipped ? static_cast<uint32_t>(g->most - g->least) + 1 : 1;
    return resolveScores(counts, g->batch, g->element, g->positions, &bias->d, reason);
}

} // namespace

RopeResult resolveBias(const RopeBiasDescription& given, ResolvedBias* bias, RopeReason* reason) {
    memset(bias, 0, sizeof *bias);
    bias->filled = given;
    RopeBiasDescription* g = &bias->filled;
    RopeResult result = resolveBiasOptions(bias, reason);
    if (result == ROPE_SUCCESS)
        result = resolveLayout("x", bias->d, g->heads, true, &g->x, reason, /* heads_first= */ true);
    if (result == ROPE_SUCCESS) result = resolveValues(g->heads, &g->rows, reason);
    if (result == ROPE_SUCCESS && g->kind == ROPE_BIAS_T5)
        bias->buckets = bucketsOf(g->buckets, g->max_distance, g->bidirectional);
    return result;
}

} // namespace rope

using namespace rope;

uint32_t ropeBucketVectors(uint32_t buckets, uint32_t bidirectional) {
    const uint32_t thresholds = thresholdCount(bucketsOf(buckets, 0, bidirectional));
    const uint32_t vectors = (thresholds + 3) / 4;
    return vectors > ROPE_NEAR_THRESHOLDS ? vectors : ROPE_NEAR_THRESHOLDS;
}

RopeResult ropeWriteBuckets(const RopeBiasDescription* description, void* destination, RopeReason* reason) {
    clear(reason);
    if (description == nullptr || destination == nullptr) return refuseNull(reason, "description or destination");
    ResolvedBias bias;
    const RopeResult result = resolveBias(*description, &bias, reason);
    if (result != ROPE_SUCCESS) return result;
    if (bias.filled.kind != ROPE_BIAS_T5)
        return refuse(reason, ROPE_ERROR_INVALID, "kind is %d; only T5 has buckets",
                      static_cast<int>(bias.filled.kind));
    const uint32_t words = 4 * ropeBucketVectors(bias.filled.buckets, bias.filled.bidirectional);
    memset(destination, 0xFF, words * sizeof(uint32_t)); // no distance reaches the padding
    for (uint32_t k = 1; k <= thresholdCount(bias.buckets); ++k) {
        const uint32_t threshold = thresholdOf(bias.buckets, k);
        memcpy(static_cast<char*>(destination) + (k - 1) * sizeof threshold, &threshold, sizeof threshold);
    }
    return result;
}
#else

uint32_t ropeBucketVectors(uint32_t, uint32_t) { return 0; }
RopeResult ropeWriteBuckets(const RopeBiasDescription*, void*, RopeReason* reason) {
    return rope::refuseLeftOut("biases on attention scores", "BIASES", reason);
}

#endif
