// The descriptions carried out on the CPU, pair by pair: the reference in double, and the shaders' own bits.
#include "plan.h"

#include <string.h>

namespace rope {
namespace {

struct Shape {
    uint32_t batch, tokens;
    const RopePositions& positions;
};

int32_t positionOf(const Shape& shape, const int32_t* positions, uint32_t batch, uint32_t token) {
    const RopePositions& p = shape.positions;
    uint32_t position = 0; // sums wrap
    if (p.kind == ROPE_POSITIONS_PER_TOKEN) {
        position = static_cast<uint32_t>(positions[p.offset + batch * p.batch_stride + token * p.token_stride]);
    } else if (p.kind == ROPE_POSITIONS_START_PER_SEQUENCE) {
        position = static_cast<uint32_t>(positions[p.offset + batch * p.batch_stride]) + token;
    } else {
        position = static_cast<uint32_t>(p.first) + token;
    }
    int32_t result;
    memcpy(&result, &position, sizeof result);
    return result;
}

struct Turn {
    double reference[2]; // cos and sin
    float bits[2];
};

// Everything that is the same for all heads of a rotation.
struct Rotation {
    const RopeRotateDescription& d;
    const RopeHostRotate& data;
    double scale; // what the operation wants
    bool backward;
    bool positioned; // positions are known
};

void shaderBits(const Rotation& r, int32_t position, uint32_t pair, double scale, float bits[2]) {
    uint32_t words[4];
    const RopeFrequencies one = {r.d.frequencies.values + pair, 1, 1};
    ropeWriteFrequencies(&one, r.d.angle, words, nullptr);
    ropeShaderAngle(position, words, scale, r.d.angle, bits);
}

void turnFromRows(const Rotation& r, int32_t position, uint64_t row, uint32_t pair, Turn* turn) {
    float given[2];
    if (r.data.rows != nullptr) {
        const RopeRows& rows = r.d.rows;
        const uint64_t at = rows.offset + row * rows.row_stride + uint64_t(pair) * rows.pair_stride;
        given[0] = readElement(r.data.rows, rows.element, at);
        given[1] = readElement(r.data.rows, rows.element, at + static_cast<uint64_t>(rows.sin_offset));
    } else {
        shaderBits(r, position, pair, r.d.frequencies.scale, given);
    }
    for (int i = 0; i < 2; ++i) {
        turn->bits[i] = given[i];
        turn->reference[i] = given[i];
    }
}

void turnFromAngle(const Rotation& r, int32_t position, uint32_t pair, Turn* turn) {
    ropeReferenceAngle(position, r.d.frequencies.values[pair], r.d.angle, turn->reference);
    turn->reference[0] *= r.scale;
    turn->reference[1] *= r.scale;
}

// The table's row of a position; rows wrap as positions do.
uint32_t rowOf(const RopeRotateDescription& d, int32_t position) {
    return static_cast<uint32_t>(position) - static_cast<uint32_t>(d.rows.first_position);
}

bool isOutside(const RopeRotateDescription& d, int32_t position) {
    return d.source == ROPE_SOURCE_TABLE && rowOf(d, position) >= d.rows.count;
}

bool findTurn(const Rotation& r, uint32_t batch, uint32_t token, uint32_t pair, Turn* turn) {
    const Shape shape = {r.d.batch, r.d.tokens, r.d.positions};
    const int32_t position = r.positioned ? positionOf(shape, r.data.positions, batch, token) : 0;
    if (isOutside(r.d, position)) return false;
    if (r.d.source == ROPE_SOURCE_INLINE) {
        shaderBits(r, position, pair, r.scale, turn->bits);
    } else {
        const uint64_t by_token = static_cast<uint64_t>(batch) * r.d.tokens + token;
        turnFromRows(r, position, r.d.source == ROPE_SOURCE_ROWS ? by_token : rowOf(r.d, position), pair, turn);
    }
    if (r.positioned && r.d.frequencies.values != nullptr) turnFromAngle(r, position, pair, turn);
    if (r.backward) {
        turn->bits[1] = -turn->bits[1];
        turn->reference[1] = -turn->reference[1];
    }
    return true;
}

struct Arrays {
    const void* in;
    double* reference;
    void* out;
    RopeElement element_in, element_out;
};

void put(const Arrays& arrays, uint64_t at, double reference, float bits) {
    if (arrays.reference != nullptr) arrays.reference[at] = reference;
    if (arrays.out != nullptr) writeElement(arrays.out, arrays.element_out, at, bits);
}

void copyElement(const Arrays& arrays, uint64_t from, uint64_t to) {
    if (arrays.reference != nullptr) arrays.reference[to] = readElement(arrays.in, arrays.element_in, from);
    if (arrays.out != nullptr) copyBits(arrays.in, arrays.element_in, from, arrays.out, arrays.element_out, to);
}

uint32_t element(RopePairing pairing, uint32_t pairs, uint32_t pair, uint32_t which) {
    return pairing == ROPE_PAIRING_INTERLEAVED ? 2 * pair + which : pair + which * pairs;
}

void rotatePair(const Rotation& r, const Arrays& arrays, uint64_t from, uint64_t to, uint32_t pair, const Turn& turn) {
    const uint32_t pairs = r.d.rotary_dim / 2;
    const float x = readElement(arrays.in, arrays.element_in, from + element(r.d.pairing_in, pairs, pair, 0));
    const float y = readElement(arrays.in, arrays.element_in, from + element(r.d.pairing_in, pairs, pair, 1));
    const double c = turn.reference[0];
    const double s = turn.reference[1];
    // Volatile, so that no compiler fuses a product into the sum, whatever flags a host builds this file with.
    const volatile float xc = x * turn.bits[0];
    const volatile float xs = x * turn.bits[1];
    const volatile float yc = y * turn.bits[0];
    const volatile float ys = y * turn.bits[1];
    put(arrays, to + element(r.d.pairing_out, pairs, pair, 0), x * c - y * s, xc - ys);
    put(arrays, to + element(r.d.pairing_out, pairs, pair, 1), x * s + y * c, xs + yc);
}

uint64_t placeOf(const RopeLayout& layout, uint32_t batch, uint32_t token, uint32_t head) {
    return layout.offset + batch * layout.batch_stride + token * layout.token_stride + head * layout.head_stride;
}

void rotateToken(const Rotation& r, const RopeTensor& tensor, const Arrays& arrays, uint32_t batch, uint32_t token) {
    const RopeRotateDescription& d = r.d;
    for (uint32_t head = 0; head < tensor.heads; ++head) {
        const uint64_t from = placeOf(tensor.source, batch, token, head);
        const uint64_t to = placeOf(tensor.destination, batch, token, head);
        for (uint32_t e = 0; e < d.head_dim; ++e) {
            if (e < d.rotary_begin || e >= d.rotary_begin + d.rotary_dim) copyElement(arrays, from + e, to + e);
        }
    }
    for (uint32_t pair = 0; pair < d.rotary_dim / 2; ++pair) {
        Turn turn;
        const bool inside = findTurn(r, batch, token, pair, &turn);
        for (uint32_t head = 0; head < tensor.heads; ++head) {
            const uint64_t from = placeOf(tensor.source, batch, token, head) + d.rotary_begin;
            const uint64_t to = placeOf(tensor.destination, batch, token, head) + d.rotary_begin;
            if (inside) {
                rotatePair(r, arrays, from, to, pair, turn);
            } else {
                copyElement(arrays, from + 2 * pair, to + 2 * pair);
                copyElement(arrays, from + 2 * pair + 1, to + 2 * pair + 1);
            }
        }
    }
}

void rotateTensor(const Rotation& r, const RopeTensor& tensor, const Arrays& arrays) {
    if (tensor.heads == 0) return;
    for (uint32_t batch = 0; batch < r.d.batch; ++batch) {
        for (uint32_t token = 0; token < r.d.tokens; ++token) rotateToken(r, tensor, arrays, batch, token);
    }
}

template <typename Number> void putRow(const RopeRows& layout, uint64_t at, Number cosine, Number sine, Number* rows) {
    const uint64_t copies[2] = {0, layout.copy_offset};
    for (const uint64_t copy : copies) {
        rows[at + copy] = cosine;
        rows[at + copy + static_cast<uint64_t>(layout.sin_offset)] = sine;
    }
}

RopeResult refusePositions(RopeReason* reason) {
    return refuse(reason, ROPE_ERROR_INVALID, "positions is null; the description reads an array of them");
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropeHostRunTable(const RopeTableDescription* description, const RopeHostTable* data, RopeReason* reason) {
    RopeTableDescription d;
    const RopeResult result = resolve(*description, &d, reason);
    if (result != ROPE_SUCCESS) return result;
    if (data->positions == nullptr && readsPositions(d.positions)) return refusePositions(reason);
    const Shape shape = {d.batch, d.tokens, d.positions};
    for (uint32_t pair = 0; pair < d.frequencies.count; ++pair) {
        uint32_t words[4];
        const RopeFrequencies one = {d.frequencies.values + pair, 1, 1};
        ropeWriteFrequencies(&one, d.angle, words, nullptr);
        for (uint64_t row = 0; row < static_cast<uint64_t>(d.batch) * d.tokens; ++row) {
            const int32_t position = positionOf(shape, data->positions, static_cast<uint32_t>(row / d.tokens),
                                                static_cast<uint32_t>(row % d.tokens));
            const uint64_t at = d.rows.offset + row * d.rows.row_stride + uint64_t(pair) * d.rows.pair_stride;
            if (data->reference_rows != nullptr) {
                double truth[2];
                ropeReferenceAngle(position, d.frequencies.values[pair], d.angle, truth);
                putRow(d.rows, at, truth[0] * d.frequencies.scale, truth[1] * d.frequencies.scale,
                       data->reference_rows);
            }
            if (data->rows != nullptr) {
                float bits[2];
                ropeShaderAngle(position, words, d.frequencies.scale, d.angle, bits);
                putRow(d.rows, at, bits[0], bits[1], data->rows);
            }
        }
    }
    return result;
}

RopeResult ropeHostRunRotate(const RopeRotateDescription* description, RopeHostRotate* data, RopeReason* reason) {
    RopeRotateDescription d;
    const RopeResult result = resolve(*description, &d, reason);
    if (result != ROPE_SUCCESS) return result;
    if (data->rows == nullptr &&
        (d.frequencies.values == nullptr ||
         (d.source == ROPE_SOURCE_ROWS && data->positions == nullptr && readsPositions(d.positions)))) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "rows is null, and frequencies.values or positions are too; the rows or both of these give the angles");
    }
    if (data->positions == nullptr && readsPositions(d)) return refusePositions(reason);
    if ((d.q.heads != 0 && data->q == nullptr) || (d.k.heads != 0 && data->k == nullptr)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "q or k is null but has heads; each tensor with heads is an array here");
    }
    const bool positioned = data->positions != nullptr || !readsPositions(d.positions);
    const double wanted = operationScale(d.operation, d.frequencies.scale);
    const bool backward = d.operation == ROPE_OPERATION_TRANSPOSE || d.operation == ROPE_OPERATION_INVERSE;
    const Rotation rotation = {d, *data, wanted, backward, positioned};
    data->outside = 0;
    const Shape shape = {d.batch, d.tokens, d.positions};
    for (uint32_t batch = 0; d.source == ROPE_SOURCE_TABLE && batch < d.batch; ++batch) {
        for (uint32_t token = 0; token < d.tokens; ++token) {
            data->outside += isOutside(d, positionOf(shape, data->positions, batch, token));
        }
    }
    rotateTensor(rotation, d.q, {data->q, data->reference_q, data->q_out, d.element_in, d.element_out});
    rotateTensor(rotation, d.k, {data->k, data->reference_k, data->k_out, d.element_in, d.element_out});
    return result;
}
