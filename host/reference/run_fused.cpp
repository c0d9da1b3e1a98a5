// This file carries out fused passes on the CPU, a head at a time: the reference in double, and the shaders' own bits.
#include "plan/element_formats.h"
#include "plan/fused.h"
#include "reference/quantize.h"
#include "reference/rotation.h"
#include "reference/slot.h"

#include <math.h>
#include <string.h>

namespace rope {
namespace {

constexpr uint32_t kMaxKeptPairs = kMaxVectorHead / 2;

// One tensor of the description, and the arrays that it is read from and written to.
struct TensorWork {
    const ResolvedFused& fused;
    const FusedTensor& t;
    HostRotation rotation;
    TensorArrays arrays;
    const void* slot_map; // slots or block table
    const void* weights;  // of a norm that has them in an array
};

// One token of a tensor: where it stands on axis 0, by what it turns, and where it goes.
struct TokenWork {
    HostToken standing;
    HostToken turning;
    bool turns;
    uint64_t number;   // the token's number among the tokens of all batches
    uint32_t in_batch; // and among those of its own
    uint64_t from, to; // element 0 of head 0
    uint64_t scale;    // for I8, the element of head 0's scale
    CosSin cos_sin[kMaxKeptPairs];
};

// ---- Where a token goes

// Finds the token without the axes and sets of the turn.
HostToken standingToken(const TensorWork& w, uint32_t batch, uint32_t number) {
    RopeFrequencies plain = {};
    plain.sets = 1;
    const HostRotation& r = w.rotation;
    return findToken(r.positions_read, plain, r.positions, r.d.tokens, batch, number);
}

HostToken turningToken(const TensorWork& w, uint32_t batch, uint32_t number, bool* turns) {
    HostToken token = rotationToken(w.rotation, batch, number, turns);
    *turns = *turns && w.t.turned;
    const RopeCache& cache = w.fused.filled.cache;
    for (int64_t& position : token.position) {
        if (isTurnedByDelta(cache)) position = ROPE_WHOLE_POSITION(cache.delta);
    }
    return token;
}

// Finds where a token goes and by what it turns. Returns false if nothing is written.
bool makeTokenWork(const TensorWork& w, uint32_t batch, uint32_t number, TokenWork* token) {
    const RopeRotateDescription& d = w.t.d;
    const RopeCache& cache = w.fused.filled.cache;
    token->standing = standingToken(w, batch, number);
    token->number = static_cast<uint64_t>(batch) * d.tokens + number;
    token->in_batch = number;
    token->from = headElement(w.t.source, batch, number, 0);
    token->to = headElement(w.t.destination, batch, number, 0);
    if (w.t.cached) {
        uint64_t slot;
        if (findSlot(cache, w.slot_map, batch, number, token->standing, &slot) != SlotOutcome::kTaken) return false;
        token->to = slotElement(cache, w.t.cache, token->standing.sequence, slot);
        token->scale = slotElement(cache, w.t.scales, token->standing.sequence, slot);
        if (isShifted(w.t)) token->from = token->to;
    }
    token->turning = turningToken(w, batch, number, &token->turns);
    token->turns = token->turns && (d.source == ROPE_SOURCE_ROWS || !isOutside(d, token->turning));
    for (uint32_t pair = 0; token->turns && pair < d.rotary_dim / 2 && pair < kMaxKeptPairs; ++pair)
        findCosSin(w.rotation, token->number, token->turning, pair, &token->cos_sin[pair]);
    return true;
}

// ---- What becomes of a head

ElementValue scaledValue(const ElementValue& value, double reference, float factor) {
    return {value.reference * reference, bitsOf(product(floatOf(value.bits), factor))};
}

// A factor, or a sum of squares, as the reference has it and as the shaders have it.
struct Factor {
    double reference;
    float float32;
};

// One head of a token on its way to its destination.
struct HeadWork {
    const TensorWork& w;
    const TokenWork& token;
    uint32_t number;
    Factor norm;
    bool normed; // norm is known
};

// Returns the weight that an element of the head meets.
float weightOf(const HeadWork& h, uint32_t e) {
    const RopeNorm& norm = h.w.t.norm;
    if (norm.weights != nullptr) return norm.weights[(norm.all_heads != 0 ? h.number * h.w.t.d.head_dim : 0) + e];
    return readElement(h.w.weights, norm.weights_element,
                       norm.weights_offset + h.token.in_batch * norm.weights_token_stride +
                           h.number * norm.weights_head_stride + e);
}

ElementValue applyNorm(const HeadWork& h, uint32_t e, const ElementValue& value) {
    const RopeNorm& norm = h.w.t.norm;
    ElementValue normed = scaledValue(value, h.norm.reference, h.norm.float32);
    if (norm.weights == nullptr && !hasWeightsOnDevice(norm)) return normed;
    const float weight = weightOf(h, e);
    return scaledValue(normed, static_cast<double>(weight) + norm.weight_offset, weight + norm.weight_offset);
}

// Loads an element, and norms it if the norm comes before the rotation.
ElementValue valueBeforeRotation(const HeadWork& h, uint32_t e) {
    const ElementValue value = loadValue(h.w.arrays, h.token.from + h.number * sourceHeadStride(h.w.t) + e);
    return h.normed && h.w.t.norm.after == 0 ? applyNorm(h, e, value) : value;
}

CosSin cosSinOf(const HeadWork& h, uint32_t pair) {
    if (pair < kMaxKeptPairs) return h.token.cos_sin[pair];
    CosSin cos_sin;
    findCosSin(h.w.rotation, h.token.number, h.token.turning, pair, &cos_sin);
    return cos_sin;
}

// Takes every element behind the rotation, at its place in the head. Both elements of a pair are read before one of
// them is taken.
template <typename Take> void forEachRotated(const HeadWork& h, Take take) {
    const RopeRotateDescription& d = h.w.t.d;
    for (uint32_t pair = 0; pair < d.rotary_dim / 2; ++pair) {
        ElementValue values[2];
        for (uint32_t which = 0; which < 2; ++which)
            values[which] = valueBeforeRotation(h, d.rotary_begin + pairElement(d, d.pairing_in, pair, which));
        if (h.token.turns) turnPair(h.w.rotation, cosSinOf(h, pair), values);
        for (uint32_t which = 0; which < 2; ++which)
            take(d.rotary_begin + pairElement(d, d.pairing_out, pair, which), values[which]);
    }
    for (uint32_t e = 0; e < d.head_dim; ++e) {
        if (e < d.rotary_begin || e >= d.rotary_begin + d.rotary_dim) take(e, valueBeforeRotation(h, e));
    }
}

// Returns the sum of a head's squares as the norm meets the head, in the order that rope.h promises.
Factor sumOfSquares(const HeadWork& h) {
    ElementValue values[kMaxVectorHead];
    const uint32_t count = h.w.t.d.head_dim;
    if (h.w.t.norm.after != 0) {
        forEachRotated(h, [&values](uint32_t e, const ElementValue& value) { values[e] = value; });
    } else {
        for (uint32_t e = 0; e < count; ++e) values[e] = valueBeforeRotation(h, e);
    }
    Factor sum = {};
    float totals[4] = {};
    float squares[4];
    for (uint32_t e = 0; e < count; ++e) {
        const float x = floatOf(values[e].bits);
        sum.reference += values[e].reference * values[e].reference;
        squares[e % 4] = product(x, x);
        if (e % 4 != 3) continue;
        const float run = (squares[0] + squares[1]) + (squares[2] + squares[3]);
        totals[e / 4 % 4] = totals[e / 4 % 4] + run;
    }
    sum.float32 = (totals[0] + totals[1]) + (totals[2] + totals[3]);
    return sum;
}

// The result is correctly rounded. All mantissas of a float32 were tried: the double's own error reaches the float32
// for none.
float reciprocalRoot(float value) { return static_cast<float>(1.0 / sqrt(static_cast<double>(value))); }

Factor normOf(const HeadWork& h, const Factor& sum) {
    const RopeNorm& norm = h.w.t.norm;
    const uint32_t heads = norm.all_heads != 0 ? h.w.t.heads : 1;
    const uint32_t count = norm.kind == ROPE_NORM_L2 ? 1 : heads * h.w.t.d.head_dim;
    const float mean = product(sum.float32, 1.0f / static_cast<float>(count));
    return {1.0 / sqrt(sum.reference / count + static_cast<double>(norm.epsilon)), reciprocalRoot(mean + norm.epsilon)};
}

Factor queryScale(const HeadWork& h) {
    const RopeQueryScale& scale = h.w.fused.filled.query_scale;
    const HostToken& standing = h.token.standing;
    int64_t at = (standing.position[0] >> 32) + scale.offset;
    at = standing.placed && standing.known && at > 0 ? at / scale.interval : 0;
    const float value = scale.values[at < scale.count ? at : scale.count - 1];
    return {value, value};
}

void storeHead(const HeadWork& h) {
    const FusedTensor& t = h.w.t;
    const TensorArrays& arrays = h.w.arrays;
    const uint64_t to = h.token.to + h.number * destinationHeadStride(t);
    const Factor scale = t.query_scaled ? queryScale(h) : Factor{};
    ElementValue values[kMaxVectorHead];
    const bool quantized = isForCaches(t);
    forEachRotated(h, [&](uint32_t e, const ElementValue& behind) {
        ElementValue value = h.normed && t.norm.after != 0 ? applyNorm(h, e, behind) : behind;
        if (t.query_scaled) value = scaledValue(value, scale.reference, scale.float32);
        if (!quantized) {
            storeValue(arrays, to + e, value);
            return;
        }
        values[e] = value;
        if (arrays.reference != nullptr) arrays.reference[to + e] = value.reference;
    });
    if (!quantized || arrays.out == nullptr) return;
    const uint64_t quant_scale = h.token.scale + h.number * t.scales.head_stride;
    storeQuantizedHead(arrays.out, t.d.element_out, to, quant_scale, values, t.d.head_dim);
}

// Carries one token of a tensor from its source to its destination.
void moveToken(const TensorWork& w, uint32_t batch, uint32_t number) {
    TokenWork token;
    if (!makeTokenWork(w, batch, number, &token)) return;
    const bool norms = w.t.norm.kind != ROPE_NORM_NONE;
    const uint32_t heads = w.t.heads;
    Factor all = {};
    for (uint32_t head = 0; norms && w.t.norm.all_heads != 0 && head < heads; ++head) {
        const Factor sum = sumOfSquares({w, token, head, {}, false});
        all = {all.reference + sum.reference, all.float32 + sum.float32};
    }
    for (uint32_t head = 0; head < heads; ++head) {
        HeadWork h = {w, token, head, {}, false};
        if (norms) h.norm = normOf(h, w.t.norm.all_heads != 0 ? all : sumOfSquares(h));
        h.normed = norms;
        storeHead(h);
    }
}

// ---- The whole

// Returns the tokens of a batch, read from the count of tokens if the description has one.
uint32_t countTokens(const ResolvedFused& fused, const void* positions) {
    const RopeFusedDescription& g = fused.filled;
    if (g.tokens_counted == 0) return g.rotate.tokens;
    const int64_t count = readInteger(positions, fused.count_element, g.tokens_offset);
    return count < 0 ? 0 : count < g.rotate.tokens ? static_cast<uint32_t>(count) : g.rotate.tokens;
}

TensorWork makeTensorWork(const ResolvedFused& fused, const FusedTensor& t, const RopeHostFused& data) {
    TensorWork w = {fused, t, makeHostRotation(t.d, data.positions, data.rows), {}, nullptr, nullptr};
    w.slot_map = fused.filled.cache.slot_map_apart != 0 ? data.slot_map : data.positions;
    w.weights = t.role == kQ ? data.q_weights : data.k_weights;
    selectFusedPositions(fused, t, &w.rotation.positions_read, &w.rotation.frequencies);
    const bool is_q = t.role == kQ;
    const bool is_k = t.role == kK;
    const bool in_k_out = is_k || (t.cached && t.to_slot == ROPE_SLOT_K_OUT);
    w.arrays.out = is_q ? data.q_out : in_k_out ? data.k_out : data.v_out;
    w.arrays.reference = is_q ? data.reference_q : is_k ? data.reference_k : data.reference_v;
    w.arrays.in = t.from_slot == ROPE_SLOT_Q       ? data.q
                  : t.from_slot == ROPE_SLOT_K     ? data.k
                  : t.from_slot == ROPE_SLOT_K_OUT ? data.k_out
                                                   : data.v;
    w.arrays.element_in = t.d.element_in;
    w.arrays.element_out = t.d.element_out;
    return w;
}

RopeResult checkArrays(const TensorWork& w, RopeReason* reason) {
    if (isIdle(w.t)) return ROPE_SUCCESS;
    const RopeFusedDescription& g = w.fused.filled;
    const bool reads = readsPositions(w.rotation.positions_read) || (w.t.cached && readsPositionsForSlots(g.cache)) ||
                       g.tokens_counted != 0;
    if (reads && w.rotation.positions == nullptr) return refuseNullPositions(reason);
    if (w.t.cached && readsSlotMap(g.cache) && w.slot_map == nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "cache.slot_map_apart is %u and slot_map is null; it is an array here", g.cache.slot_map_apart);
    }
    if (hasWeightsOnDevice(w.t.norm) && w.weights == nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s_norm.weights_on_device is %u and %s_weights is null; it is an array here", w.t.name,
                      w.t.norm.weights_on_device, w.t.name);
    }
    if (w.arrays.in == nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s is read from %s, which is null; it is an array here", w.t.name,
                      w.t.from_slot == ROPE_SLOT_K_OUT ? "k_out"
                      : w.t.from_slot == ROPE_SLOT_Q   ? "q"
                                                       : w.t.name);
    }
    return w.t.turned ? checkAngleSource(w.rotation, reason) : ROPE_SUCCESS;
}

// True if a token of this tensor cannot turn though it should, or has no slot.
bool isMissed(const TensorWork& w, uint32_t batch, uint32_t number) {
    bool turns;
    uint64_t slot;
    const HostToken token = turningToken(w, batch, number, &turns);
    if (turns && w.t.d.source != ROPE_SOURCE_ROWS && isOutside(w.t.d, token)) return true;
    return w.t.cached && findSlot(w.fused.filled.cache, w.slot_map, batch, number, standingToken(w, batch, number),
                                  &slot) == SlotOutcome::kOutside;
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropeHostRunFused(const RopeFusedDescription* description, RopeHostFused* data, RopeReason* reason) {
    clear(reason);
    if (description == nullptr || data == nullptr) return refuseNull(reason, "description or data");
    ResolvedFused fused;
    RopeResult result = resolveFused(*description, &fused, reason);
    for (uint32_t i = 0; result == ROPE_SUCCESS && i < fused.count; ++i)
        result = checkArrays(makeTensorWork(fused, fused.tensors[i], *data), reason);
    if (result != ROPE_SUCCESS) return result;
    const uint32_t tokens = countTokens(fused, data->positions);
    data->outside = 0;
    for (uint32_t batch = 0; batch < fused.filled.rotate.batch; ++batch) {
        for (uint32_t token = 0; token < tokens; ++token) {
            bool missed = false;
            for (uint32_t i = 0; i < fused.count; ++i) {
                const TensorWork w = makeTensorWork(fused, fused.tensors[i], *data);
                if (isIdle(w.t)) continue;
                missed = missed || isMissed(w, batch, token);
                moveToken(w, batch, token);
            }
            data->outside += missed;
        }
    }
    return result;
}
