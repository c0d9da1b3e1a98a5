// This file fills in the defaults of biases on scores, refuses contradictions, and writes T5's thresholds:
// ropeWriteBuckets.
#include "plan/encodings/bias_resolve.h"
#include "plan/encodings/scores.h"
#include "plan/left_out.h"
#include "plan/resolve.h"
#include "plan/rows.h"

#include <string.h>

#ifndef VKROPE_NO_BIASES
namespace rope {
namespace {

constexpr uint32_t kMaxDistance = (1u << 30) - 1;

RopeResult checkBuckets(const RopeBiasDescription& g, RopeReason* reason) {
    const uint32_t fewest = g.bidirectional != 0 ? 4 : 2;
    if (g.buckets < fewest || g.buckets > ROPE_MAX_BUCKETS) {
        return refuse(reason, ROPE_ERROR_INVALID, "buckets is %u; it must be from %u%s to %u", g.buckets, fewest,
                      g.bidirectional != 0 ? ", as bidirectional," : "", ROPE_MAX_BUCKETS);
    }
    const Buckets b = bucketsOf(g.buckets, g.max_distance, g.bidirectional);
    if (g.max_distance > b.exact && g.max_distance <= kMaxDistance) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "max_distance is %u; it must be more than the %u distances that have a bucket of their own, and at "
                  "most %u",
                  g.max_distance, b.exact, kMaxDistance);
}

RopeResult resolveBiasKind(RopeBiasDescription* g, RopeReason* reason) {
    const RopeResult result = checkChoice("kind", g->kind, ROPE_BIAS_ALIBI, reason);
    if (result != ROPE_SUCCESS) return result;
    if (g->write_only != 0 && g->batch > 1) {
        return refuse(reason, ROPE_ERROR_INVALID, "write_only with batch %u; a bias is the same for all, so batch is 1",
                      g->batch);
    }
    if (g->kind != ROPE_BIAS_T5)
        return g->kind == ROPE_BIAS_CLIPPED ? checkClip(g->least, g->most, reason) : ROPE_SUCCESS;
    if (g->buckets == 0) g->buckets = 32;
    if (g->max_distance == 0) g->max_distance = 128;
    return checkBuckets(*g, reason);
}

RopeResult resolveBiasOptions(RopeBiasDescription* g, RopeReason* reason) {
    const RopeResult result = resolveBiasKind(g, reason);
    return result == ROPE_SUCCESS ? checkScores({g->heads, g->queries, g->keys}, g->positions, reason) : result;
}

// Fills in how the given values lie, and clears all that a bias does not read of RopeRows.
RopeResult resolveBiasValues(ResolvedBias* bias, RopeReason* reason) {
    RopeBiasDescription* g = &bias->filled;
    RopeRows rows = {};
    rows.offset = g->rows.offset;
    rows.row_stride = g->rows.row_stride != 0 ? g->rows.row_stride : g->heads;
    rows.pair_stride = g->rows.pair_stride;
    rows.element = g->rows.element;
    bias->row_count = g->kind == ROPE_BIAS_T5        ? g->buckets
                      : g->kind == ROPE_BIAS_CLIPPED ? static_cast<uint32_t>(g->most - g->least) + 1
                                                     : 1;
    const RopeResult result = resolveRows(1, &rows, reason);
    g->rows = rows;
    return result;
}

} // namespace

RopeResult resolveBias(const RopeBiasDescription& given, ResolvedBias* bias, RopeReason* reason) {
    memset(bias, 0, sizeof *bias);
    bias->filled = given;
    RopeResult result = resolveBiasOptions(&bias->filled, reason);
    if (result != ROPE_SUCCESS) return result;
    RopeRotateDescription d = {};
    d.batch = given.batch;
    d.tokens = given.queries;
    d.head_dim = given.keys;
    d.element = given.element;
    d.positions = given.positions;
    bias->scores = given.x;
    result = resolveWithoutTensors(false, &d, reason);
    if (result == ROPE_SUCCESS) result = resolveHeadMajorLayout("x", d, given.heads, true, &bias->scores, reason);
    if (result == ROPE_SUCCESS) result = resolveBiasValues(bias, reason);
    if (result == ROPE_SUCCESS && given.kind == ROPE_BIAS_T5)
        bias->buckets = bucketsOf(bias->filled.buckets, bias->filled.max_distance, given.bidirectional);
    bias->d = d;
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
