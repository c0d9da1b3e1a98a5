// This file carries out biases on scores on the CPU: the reference in double, and the shaders' own bits.
#include "plan/encodings/bias_resolve.h"
#include "plan/left_out.h"
#include "reference/rotation.h"

#if !defined(VKROPE_NO_REFERENCE) && !defined(VKROPE_NO_BIASES)
namespace rope {
namespace {

constexpr uint32_t kMinusInfinity = 0xFF800000u;

// The bias, its given values, and the thresholds of its buckets. The thresholds are found once, so that every element
// costs a few comparisons.
struct BiasRows {
    const ResolvedBias& bias;
    const void* values;
    uint32_t thresholds[kMaxThresholds];
};

uint32_t bucketOf(const BiasRows& rows, int32_t distance) {
    const Buckets& b = rows.bias.buckets;
    const bool after = b.both && distance > 0;
    const int64_t n = after ? distance : distance < 0 ? -static_cast<int64_t>(distance) : 0;
    uint32_t bucket = static_cast<uint32_t>(n < b.exact ? n : b.exact);
    for (uint32_t k = 0; k < thresholdCount(b); ++k) bucket += n >= rows.thresholds[k];
    return after ? b.side + bucket : bucket;
}

uint32_t clippedRow(const RopeBiasDescription& g, int32_t distance) {
    const int32_t behind = static_cast<int32_t>(0u - static_cast<uint32_t>(distance));
    const int64_t clipped = behind < g.least ? g.least : behind > g.most ? g.most : behind;
    return static_cast<uint32_t>(clipped - g.least);
}

uint32_t givenValueBits(const BiasRows& rows, uint32_t row, uint32_t head) {
    const RopeRows& layout = rows.bias.filled.rows;
    return readFloatBits(rows.values, layout.element,
                         layout.offset + row * layout.row_stride + static_cast<uint64_t>(head) * layout.pair_stride);
}

ElementValue alibiBias(const RopeBiasDescription& g, int32_t distance, uint32_t slope) {
    int64_t factor = distance;
    if (g.bidirectional != 0 && distance > 0) factor = -factor;
    const float whole = static_cast<float>(factor >> 16) * 65536.0f + static_cast<float>(factor & 0xFFFF);
    return {static_cast<double>(factor) * floatOf(slope), bitsOf(product(whole, floatOf(slope)))};
}

ElementValue biasOf(const BiasRows& rows, int32_t distance, uint32_t head) {
    const RopeBiasDescription& g = rows.bias.filled;
    if (g.kind == ROPE_BIAS_ALIBI) return alibiBias(g, distance, givenValueBits(rows, 0, head));
    const uint32_t row = g.kind == ROPE_BIAS_T5 ? bucketOf(rows, distance) : clippedRow(g, distance);
    const uint32_t bits = givenValueBits(rows, row, head);
    return {floatOf(bits), bits};
}

ElementValue biasedScore(const RopeBiasDescription& g, const ElementValue& score, const ElementValue& bias,
                         int32_t distance) {
    if (g.causal != 0 && distance > 0) return {floatOf(kMinusInfinity), kMinusInfinity};
    if (g.write_only != 0) return bias;
    return {score.reference + bias.reference, bitsOf(floatOf(score.bits) + floatOf(bias.bits))};
}

// Adds the bias to the scores of one query and head.
void biasQuery(const BiasRows& rows, const TensorArrays& arrays, const HostToken& token, uint64_t at, uint32_t head) {
    const RopeBiasDescription& g = rows.bias.filled;
    for (uint32_t key = 0; key < g.keys; ++key) {
        const uint32_t position = static_cast<uint32_t>(static_cast<uint64_t>(token.position[0]) >> 32);
        const int32_t distance = static_cast<int32_t>(static_cast<uint32_t>(g.first_key) + key - position);
        const ElementValue score = g.write_only != 0 ? ElementValue{0, 0} : loadValue(arrays, at + key);
        const ElementValue sum = token.known ? biasedScore(g, score, biasOf(rows, distance, head), distance) : score;
        storeValue(arrays, at + key, sum);
    }
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropeHostRunBias(const RopeBiasDescription* description, RopeHostBias* data, RopeReason* reason) {
    clear(reason);
    if (description == nullptr || data == nullptr) return refuseNull(reason, "description or data");
    ResolvedBias bias;
    const RopeResult result = resolveBias(*description, &bias, reason);
    if (result != ROPE_SUCCESS) return result;
    const RopeRotateDescription& d = bias.d;
    if (data->positions == nullptr && readsPositions(d.positions)) return refuseNullPositions(reason);
    if (data->rows == nullptr || (data->x == nullptr && bias.filled.write_only == 0)) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s is null; it must be %s", data->rows == nullptr ? "rows" : "x",
                      data->rows == nullptr ? "the values given" : "the scores");
    }
    BiasRows rows = {bias, data->rows, {}};
    for (uint32_t k = 0; bias.filled.kind == ROPE_BIAS_T5 && k < thresholdCount(bias.buckets); ++k)
        rows.thresholds[k] = thresholdOf(bias.buckets, k + 1);
    const TensorArrays arrays = {data->x, data->reference, data->x_out, d.element, d.element};
    for (uint32_t batch = 0; batch < d.batch; ++batch) {
        for (uint32_t query = 0; query < d.tokens; ++query) {
            const HostToken token =
                findToken(d.positions, d.rotation.frequencies, data->positions, d.tokens, batch, query);
            for (uint32_t head = 0; head < bias.filled.heads; ++head)
                biasQuery(rows, arrays, token, headElement(bias.filled.x, batch, query, head), head);
        }
    }
    return result;
}
#else

#ifdef VKROPE_NO_REFERENCE
RopeResult ropeHostRunBias(const RopeBiasDescription*, RopeHostBias*, RopeReason* reason) {
    return rope::refuseLeftOut("the CPU's reference", "REFERENCE", reason);
}
#else
RopeResult ropeHostRunBias(const RopeBiasDescription*, RopeHostBias*, RopeReason* reason) {
    return rope::refuseLeftOut("biases on attention scores", "BIASES", reason);
}
#endif

#endif
