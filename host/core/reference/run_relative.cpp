// This file carries out relative vectors on the CPU: the reference in double, and the shaders' own bits.
#include "plan/encodings/relative_resolve.h"
#include "plan/left_out.h"
#include "reference/rotation.h"

#if !defined(VKROPE_NO_REFERENCE) && !defined(VKROPE_NO_RELATIVE)
namespace rope {
namespace {

// The description and arrays that are the same for all queries.
struct RelativeVectors {
    const ResolvedRelative& r;
    const void* rows;
    const void* q;
};

// A sum of products in double and in float32.
struct DualSum {
    double reference;
    float float32;
};

ElementValue readValue(const void* array, RopeElement element, uint64_t at) {
    const uint32_t bits = readFloatBits(array, element, at);
    return {floatOf(bits), bits};
}

void accumulate(const ElementValue& a, const ElementValue& b, DualSum* sum) {
    sum->reference += a.reference * b.reference;
    sum->float32 += product(floatOf(a.bits), floatOf(b.bits));
}

// Returns the row of a key's distance, clipped to the rows that there are.
uint32_t vectorRow(const RopeRelativeDescription& g, const HostToken& token, uint32_t key) {
    const uint32_t position = static_cast<uint32_t>(static_cast<uint64_t>(token.position[0]) >> 32);
    const int32_t distance = static_cast<int32_t>(static_cast<uint32_t>(g.first_key) + key - position);
    return static_cast<uint32_t>((distance < g.least ? g.least : distance > g.most ? g.most : distance) - g.least);
}

ElementValue vectorElement(const RelativeVectors& v, uint32_t head, uint32_t row, uint32_t element) {
    const RopeRows& rows = v.r.filled.rows;
    return readValue(v.rows, rows.element,
                     rows.offset + static_cast<uint64_t>(head) * rows.pair_stride + row * rows.row_stride + element);
}

DualSum dotProduct(const RelativeVectors& v, uint64_t from, uint32_t head, uint32_t row) {
    const RopeRelativeDescription& g = v.r.filled;
    DualSum sum = {0, 0};
    for (uint32_t e = 0; e < g.dim; ++e)
        accumulate(readValue(v.q, g.element_q, from + e), vectorElement(v, head, row, e), &sum);
    sum.reference *= g.scale;
    if (g.scale != 1) sum.float32 = product(sum.float32, g.scale);
    return sum;
}

// The weights of the keys behind either end, whose row they share. A single row is the first end's.
struct EndSums {
    DualSum ends[2];
};

EndSums sumEnds(const RelativeVectors& v, const HostToken& token, uint64_t from) {
    const RopeRelativeDescription& g = v.r.filled;
    EndSums sums = {{{0, 0}, {0, 0}}};
    const ElementValue one = {1, bitsOf(1)};
    for (uint32_t key = 0; key < g.keys; ++key) {
        const uint32_t row = vectorRow(g, token, key);
        if (row == 0 || row == v.r.row_count - 1)
            accumulate(readValue(v.q, g.element_q, from + key), one, &sums.ends[row != 0]);
    }
    return sums;
}

// Sums one element of the weighted vectors of all keys.
DualSum weightedSum(const RelativeVectors& v, const HostToken& token, uint64_t from, uint32_t head, uint32_t element,
                    const EndSums& sums) {
    const RopeRelativeDescription& g = v.r.filled;
    const uint32_t last = v.r.row_count - 1;
    DualSum sum = {0, 0};
    for (uint32_t key = 0; key < g.keys; ++key) {
        const uint32_t row = vectorRow(g, token, key);
        if (row != 0 && row != last)
            accumulate(readValue(v.q, g.element_q, from + key), vectorElement(v, head, row, element), &sum);
    }
    for (uint32_t end = 0; end < (last != 0 ? 2u : 1u); ++end) {
        const DualSum& weight = sums.ends[end];
        accumulate({weight.reference, bitsOf(weight.float32)}, vectorElement(v, head, end * last, element), &sum);
    }
    return sum;
}

void addToQuery(const RelativeVectors& v, const TensorArrays& arrays, const HostToken& token, uint32_t batch,
                uint32_t query, uint32_t head) {
    const RopeRelativeDescription& g = v.r.filled;
    const uint64_t from = headElement(g.q, batch, query, head);
    const uint64_t to = headElement(g.x, batch, query, head);
    uint32_t known = UINT32_MAX; // the row that `term` belongs to
    DualSum term = {0, 0};
    const bool values = g.side == ROPE_RELATIVE_VALUES && token.known;
    const EndSums ends = values ? sumEnds(v, token, from) : EndSums{};
    for (uint32_t i = 0; i < v.r.x_count; ++i) {
        ElementValue x = loadValue(arrays, to + i);
        if (token.known) {
            if (values) {
                term = weightedSum(v, token, from, head, i, ends);
            } else if (vectorRow(g, token, i) != known) {
                known = vectorRow(g, token, i);
                term = dotProduct(v, from, head, known);
            }
            x = {x.reference + term.reference, bitsOf(floatOf(x.bits) + term.float32)};
        }
        storeValue(arrays, to + i, x);
    }
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropeHostRunRelative(const RopeRelativeDescription* description, RopeHostRelative* data, RopeReason* reason) {
    clear(reason);
    if (description == nullptr || data == nullptr) return refuseNull(reason, "description or data");
    ResolvedRelative relative;
    const RopeResult result = resolveRelative(*description, &relative, reason);
    if (result != ROPE_SUCCESS) return result;
    const RopeRelativeDescription& g = relative.filled;
    const RopeRotateDescription& d = relative.d;
    if (data->positions == nullptr && readsPositions(d.positions)) return refuseNullPositions(reason);
    if (data->rows == nullptr || data->q == nullptr || data->x == nullptr)
        return refuse(reason, ROPE_ERROR_INVALID, "rows, q or x is null; each must be an array");
    const RelativeVectors vectors = {relative, data->rows, data->q};
    const TensorArrays arrays = {data->x, data->reference, data->x_out, g.element_x, g.element_x};
    for (uint32_t batch = 0; batch < d.batch; ++batch) {
        for (uint32_t query = 0; query < d.tokens; ++query) {
            const HostToken token =
                findToken(d.positions, d.rotation.frequencies, data->positions, d.tokens, batch, query);
            for (uint32_t head = 0; head < g.heads; ++head) addToQuery(vectors, arrays, token, batch, query, head);
        }
    }
    return result;
}
#else

#ifdef VKROPE_NO_REFERENCE
RopeResult ropeHostRunRelative(const RopeRelativeDescription*, RopeHostRelative*, RopeReason* reason) {
    return rope::refuseLeftOut("the CPU's reference", "REFERENCE", reason);
}
#else
RopeResult ropeHostRunRelative(const RopeRelativeDescription*, RopeHostRelative*, RopeReason* reason) {
    return rope::refuseLeftOut("relative vectors", "RELATIVE", reason);
}
#endif

#endif
