// This file carries out fused passes on the CPU, a head at a time: the reference in double, and the shaders' own bits.
#include "plan/element_formats.h"
#include "plan/fused/cache.h"
#include "plan/fused/resolve.h"
#include "reference/norm_sums.h"
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
    const void* slot_map; // slots or page table
    const void* weights;  // of a norm that has them in an array
    const void* biases;   // of the projection
};

// One token of a tensor: where it stands on axis 0, by what it turns, and where it goes.
struct TokenWork {
    HostToken standing;
    HostToken turning;
    bool turns;
    uint64_t number;   // the token's number among the tokens of all batches
    uint32_t in_batch; // and among those of its own
    uint64_t from, to; // element 0 of head 0
    uint64_t scale;    // the element of head 0's scale, if scales lie apart
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
    for (int64_t& position : token.position)
        if (isTurnedByDelta(cache)) position = ROPE_WHOLE_POSITION(cache.delta);
    return token;
}

// Returns the tokens of a batch, read from its count of tokens if the description has one.
uint32_t countTokens(const ResolvedFused& fused, const void* positions, uint32_t batch) {
    const RopeFusedDescription& g = fused.filled;
    if (g.tokens_counted == 0) return g.tokens;
    const int64_t count = readInteger(positions, fused.count_element, g.tokens_offset + batch * g.tokens_batch_stride);
    return count < 0 ? 0 : count < g.tokens ? static_cast<uint32_t>(count) : g.tokens;
}

// Finds the slot of a token. A ring has none for a token that a later one of its
// sequence overtakes.
SlotOutcome placeInCache(const TensorWork& w, uint32_t batch, uint32_t number, const HostToken& standing,
                         uint64_t* slot) {
    const RopeCache& cache = w.fused.filled.cache;
    if (isLongRing(cache, w.t.d)) {
        const bool packed = isPacked(w.t.d.positions);
        const uint32_t left = packed ? standing.left : countTokens(w.fused, w.rotation.positions, batch) - number;
        if (left > cache.slots) return SlotOutcome::kSkipped;
    }
    return findSlot(cache, w.slot_map, batch, number, standing, slot);
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
        if (placeInCache(w, batch, number, token->standing, &slot) != SlotOutcome::kTaken) return false;
        token->to = slotElement(cache, w.t.cache, token->standing.sequence, slot);
        token->scale = slotElement(cache, w.t.scales, token->standing.sequence, slot);
        if (isShifted(w.t)) token->from = token->to;
    }
    token->turning = turningToken(w, batch, number, &token->turns);
    token->turns = token->turns && (d.rotation.source == ROPE_SOURCE_ROWS || !isOutside(d, token->turning));
    for (uint32_t pair = 0; token->turns && pair < d.rotation.rotary_dim / 2 && pair < kMaxKeptPairs; ++pair)
        findCosSin(w.rotation, token->number, token->turning, pair, &token->cos_sin[pair]);
    return true;
}

// ---- What becomes of a head

ElementValue scaledValue(const ElementValue& value, double reference, float factor) {
    return {value.reference * reference, bitsOf(product(floatOf(value.bits), factor))};
}

ElementValue raisedValue(const ElementValue& value, double reference, float summand) {
    return {value.reference + reference, bitsOf(floatOf(value.bits) + summand)};
}

// One head of a token on its way to its destination.
struct HeadWork {
    const TensorWork& w;
    const TokenWork& token;
    uint32_t number;
    Factor mean; // that a norm takes from each element
    Factor norm;
    bool normed = false;                   // norm and mean are known
    const ElementValue* widened = nullptr; // the head's elements, if they are read from a cache of quantized ones
};

// Returns the place of an element's weight among those in PARAMETERS. `e` counts from the first element of the norm.
uint64_t placeOfWeight(const HeadWork& h, uint32_t e) {
    const RopeNorm& norm = h.w.t.norm;
    return h.number * norm.weights_head_stride + e;
}

float weightOf(const HeadWork& h, uint32_t e) {
    const RopeNorm& norm = h.w.t.norm;
    if (norm.weights != nullptr) return norm.weights[placeOfWeight(h, e)];
    return readElement(h.w.weights, norm.weights_element,
                       norm.weights_offset + h.token.in_batch * norm.weights_token_stride +
                           h.number * norm.weights_head_stride + e);
}

// Multiplies by the weight of an element, if there are any. Its place counts from the first element of the norm.
ElementValue weighed(const HeadWork& h, uint32_t place, const ElementValue& value) {
    const RopeNorm& norm = h.w.t.norm;
    if (norm.no_weights != 0) return value;
    const float given = weightOf(h, place), offset = norm.weight_plus;
    return scaledValue(value, static_cast<double>(given) + offset, offset != 0 ? given + offset : given); // -0 stays
}

ElementValue applyNorm(const HeadWork& h, uint32_t e, const ElementValue& value) {
    const RopeNorm& norm = h.w.t.norm;
    const uint32_t place = e - norm.begin;
    if (place >= norm.dim) return {value.reference, value.bits}; // before the part, or behind it
    const ElementValue left =
        norm.kind == ROPE_NORM_LAYER ? raisedValue(value, -h.mean.reference, -h.mean.float32) : value;
    const ElementValue normed = weighed(h, place, scaledValue(left, h.norm.reference, h.norm.float32));
    if (norm.biases == nullptr) return normed;
    const float bias = norm.biases[placeOfWeight(h, place)];
    return raisedValue(normed, bias, bias);
}

// Limits an element as a clip does. NaN stays.
ElementValue clippedValue(const ElementValue& value, float clip) {
    const uint32_t size = value.bits & 0x7FFFFFFFu;
    const bool limited = size > bitsOf(clip) && size <= 0x7F800000u;
    const double most = value.reference < 0 ? -static_cast<double>(clip) : clip;
    return {fabs(value.reference) > static_cast<double>(clip) ? most : value.reference,
            limited ? (value.bits & 0x80000000u) | bitsOf(clip) : value.bits};
}

// Loads an element with what comes before all norms.
ElementValue loadInput(const HeadWork& h, uint32_t e) {
    const FusedTensor& t = h.w.t;
    ElementValue value = loadValue(
        h.w.arrays, h.token.from + h.number * (isShifted(t) ? t.cache.head_stride : t.source.head_stride) + e);
    if (t.biased) {
        const uint64_t at = t.bias_offset + static_cast<uint64_t>(h.number) * t.d.head_dim + e;
        const float bias = readElement(h.w.biases, h.w.fused.filled.bias_element, at);
        value = raisedValue(value, bias, bias);
    }
    return t.clip != 0 ? clippedValue(value, t.clip) : value;
}

// Loads an element, and norms it if the norm comes before the rotation.
ElementValue valueBeforeRotation(const HeadWork& h, uint32_t e) {
    const ElementValue value = h.widened != nullptr ? h.widened[e] : loadInput(h, e);
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
    for (uint32_t pair = 0; pair < d.rotation.rotary_dim / 2; ++pair) {
        ElementValue values[2];
        for (uint32_t which = 0; which < 2; ++which)
            values[which] =
                valueBeforeRotation(h, d.rotation.rotary_begin + pairElement(d, d.rotation.pairing, pair, which));
        if (h.token.turns) turnPair(h.w.rotation, cosSinOf(h, pair), values);
        for (uint32_t which = 0; which < 2; ++which)
            take(d.rotation.rotary_begin + pairElement(d, d.rotation.pairing_out, pair, which), values[which]);
    }
    for (uint32_t e = 0; e < d.head_dim; ++e)
        if (e < d.rotation.rotary_begin || e >= d.rotation.rotary_begin + d.rotation.rotary_dim)
            take(e, valueBeforeRotation(h, e));
}

// Collects the elements that the norm takes, as it meets them.
void meetNorm(const HeadWork& h, ElementValue* values) {
    const RopeNorm& norm = h.w.t.norm;
    const auto keep = [&](uint32_t e, const ElementValue& value) {
        if (e - norm.begin < norm.dim) values[e - norm.begin] = value;
    };
    if (norm.after != 0) return forEachRotated(h, keep);
    for (uint32_t e = norm.begin; e < norm.begin + norm.dim; ++e) keep(e, valueBeforeRotation(h, e));
}

// Returns the sum of a head's squares, and of a norm that takes means the mean.
Factor sumOfHead(const HeadWork& h, Factor* mean) {
    ElementValue values[kMaxVectorHead];
    const RopeNorm& norm = h.w.t.norm;
    meetNorm(h, values);
    if (norm.kind == ROPE_NORM_LAYER) {
        *mean = meanOf(sumOfElements(values, norm.dim), norm.dim);
        for (uint32_t e = 0; e < norm.dim; ++e) values[e] = raisedValue(values[e], -mean->reference, -mean->float32);
    }
    return sumOfSquares(values, norm.dim);
}

// Returns the elements that the mean of a norm is of; 1 if it goes by the sum.
uint32_t meanCount(const FusedTensor& t) {
    if (t.norm.kind == ROPE_NORM_L2) return 1;
    return (t.norm.all_heads != 0 ? t.heads : 1) * t.norm.dim;
}

Factor normOf(const HeadWork& h, const Factor& sum) {
    const RopeNorm& norm = h.w.t.norm;
    const Factor mean = meanOf(sum, meanCount(h.w.t));
    return {1.0 / sqrt(mean.reference + static_cast<double>(norm.epsilon)),
            reciprocalRoot(mean.float32 + norm.epsilon)};
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
    const bool whole = isForCaches(t);
    forEachRotated(h, [&](uint32_t e, const ElementValue& behind) {
        ElementValue value = h.normed && t.norm.after != 0 ? applyNorm(h, e, behind) : behind;
        if (t.query_scaled) value = scaledValue(value, scale.reference, scale.float32);
        if (!whole) {
            storeValue(arrays, to + e, value);
            return;
        }
        values[e] = value;
        if (arrays.reference != nullptr) arrays.reference[to + e] = value.reference;
    });
    if (!whole || arrays.out == nullptr) return;
    const uint64_t scale_at = h.token.scale + h.number * t.scales.head_stride;
    storeCacheHead(t.d.element_out, {arrays.out, to, scale_at, h.number, &t.given_scale}, values, t.d.head_dim);
}

// Carries one token of a tensor from its source to its destination.
void moveToken(const TensorWork& w, uint32_t batch, uint32_t number) {
    TokenWork token;
    if (!makeTokenWork(w, batch, number, &token)) return;
    const bool norms = w.t.norm.kind != ROPE_NORM_NONE;
    const uint32_t heads = w.t.heads;
    Factor all = {};
    for (uint32_t head = 0; norms && w.t.norm.all_heads != 0 && head < heads; ++head) {
        Factor mean;
        const Factor sum = sumOfHead({w, token, head, {}, {}}, &mean);
        all = {all.reference + sum.reference, all.float32 + sum.float32};
    }
    for (uint32_t head = 0; head < heads; ++head) {
        HeadWork h = {w, token, head, {}, {}};
        if (norms) h.norm = normOf(h, w.t.norm.all_heads != 0 ? all : sumOfHead(h, &h.mean));
        h.normed = norms;
        ElementValue widened[kMaxVectorHead];
        if (isShifted(w.t) && isForCaches(w.t)) {
            if (!token.turns) continue; // it stays as it lies
            const uint64_t from = token.from + head * w.t.cache.head_stride;
            const uint64_t scale = token.scale + head * w.t.scales.head_stride;
            readCacheHead(w.t.d.element_out, {w.arrays.out, from, scale, head, &w.t.given_scale}, widened,
                          w.t.d.head_dim);
            h.widened = widened;
        }
        storeHead(h);
    }
}

// ---- The whole

TensorWork makeTensorWork(const ResolvedFused& fused, const FusedTensor& t, const RopeHostFused& data) {
    TensorWork w = {fused, t, makeHostRotation(t.d, data.positions, data.rows), {}, nullptr, nullptr, data.biases};
    w.slot_map = fused.filled.cache.map_in_positions != 0 ? data.positions : data.slot_map;
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
    w.arrays.element_in = t.d.element;
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
                      "the cache's slots are read from slot_map, which is null; it is an array here");
    }
    if (hasWeightsInBuffer(w.t.norm) && w.weights == nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s.norm.weights and %s_weights are null; give one of them, or set %s.norm.no_weights to 1",
                      w.t.name, w.t.name, w.t.name);
    }
    if (w.t.biased && w.biases == nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s.bias is 1 and biases is null; it is an array here", w.t.name);
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
    if (turns && w.t.d.rotation.source != ROPE_SOURCE_ROWS && isOutside(w.t.d, token)) return true;
    return w.t.cached &&
           placeInCache(w, batch, number, standingToken(w, batch, number), &slot) == SlotOutcome::kOutside;
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
    data->outside = 0;
    for (uint32_t batch = 0; batch < fused.filled.batch; ++batch) {
        const uint32_t tokens = countTokens(fused, data->positions, batch);
        for (uint32_t token = 0; token < tokens; ++token) {
            bool missed = false;
            for (uint32_t i = 0; i < fused.count; ++i) {
                TensorWork w = makeTensorWork(fused, fused.tensors[i], *data);
                forgetUnread(w.arrays.reference != nullptr, &w.rotation);
                if (isIdle(w.t)) continue;
                missed = missed || isMissed(w, batch, token);
                moveToken(w, batch, token);
            }
            data->outside += missed;
        }
    }
    return result;
}
