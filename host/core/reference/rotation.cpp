// This file carries out tables and rotations on the CPU, pair by pair: the reference in double, and the shaders' own
// bits.
#include "reference/rotation.h"
#include "plan/left_out.h"

#include "plan/axes.h"
#include "plan/frequencies.h"
#include "plan/resolve.h"
#include "plan/scale.h"

#include <string.h>

#ifndef VKROPE_NO_REFERENCE
namespace rope {
namespace {

int64_t positionOf(const HostRotation& r, const HostToken& token, uint32_t pair) {
    return token.position[r.d.rotation.frequencies.axes != nullptr ? r.d.rotation.frequencies.axes[pair] : 0];
}

double frequencyOf(const RopeFrequencies& f, uint32_t set, uint32_t pair) {
    return f.values[static_cast<size_t>(set) * f.count + pair];
}

void shaderCosSin(int64_t position, double frequency, RopeAngle angle, double scale, float bits[2]) {
    uint32_t words[4];
    RopeFrequencies one = {};
    one.values = &frequency;
    one.count = 1;
    ropeWriteFrequencies(&one, angle, words, nullptr);
    ropeShaderAngle(position, words, scale, angle, bits);
}

void cosSinFromRows(const HostRotation& r, const HostToken& token, uint64_t row, uint32_t pair, CosSin* cos_sin) {
    if (r.rows != nullptr) {
        const RopeRows& rows = r.d.rotation.rows;
        const uint64_t at = rows.offset + row * rows.row_stride + uint64_t(pair) * rows.pair_stride;
        cos_sin->float32[0] = readElement(r.rows, rows.element, at);
        cos_sin->float32[1] = readElement(r.rows, rows.element, at + static_cast<uint64_t>(rows.sin_offset));
    } else if (token.placed && token.known) {
        shaderCosSin(positionOf(r, token, pair), frequencyOf(r.d.rotation.frequencies, token.set, pair),
                     r.d.rotation.angle, r.d.rotation.frequencies.scale, cos_sin->float32);
    } else {
        cos_sin->float32[0] = 1;
        cos_sin->float32[1] = 0;
    }
    for (int i = 0; i < 2; ++i) cos_sin->reference[i] = cos_sin->float32[i];
}

// Returns the table's row of a position. Rows wrap as positions do.
uint32_t tableRow(const RopeRotateDescription& d, int64_t position) {
    return static_cast<uint32_t>(static_cast<uint64_t>(position) >> 32) -
           static_cast<uint32_t>(d.rotation.rows.first_position);
}

} // namespace

bool isOutside(const RopeRotateDescription& d, const HostToken& token) {
    bool outside = !token.known;
    for (uint32_t axis = 0; d.rotation.source == ROPE_SOURCE_TABLE && axis < axisCount(d.rotation.frequencies); ++axis)
        outside |= tableRow(d, token.position[axis]) >= d.rotation.rows.count;
    return outside;
}

// A rotation by rows asks for no position, but its reference by the true angle does.
HostToken rotationToken(const HostRotation& r, uint32_t batch, uint32_t number, bool* turns) {
    const RopeRotateDescription& d = r.d;
    const HostToken token = findToken(r.read.positions, r.read.frequencies, r.positions, d.tokens, batch, number);
    *turns = token.placed && token.index >= d.rotation.skip_first && token.left > d.rotation.skip_last;
    if (d.rotation.source == ROPE_SOURCE_ROWS && r.positions_known && d.rotation.frequencies.values != nullptr)
        return findToken(d.positions, d.rotation.frequencies, r.positions, d.tokens, batch, number);
    return token;
}

void findCosSin(const HostRotation& r, uint64_t number, const HostToken& token, uint32_t pair, CosSin* cos_sin) {
    const RopeFrequencies& f = r.d.rotation.frequencies;
    if (r.d.rotation.source == ROPE_SOURCE_INLINE) {
        shaderCosSin(positionOf(r, token, pair), frequencyOf(f, token.set, pair), r.d.rotation.angle, r.scale,
                     cos_sin->float32);
    } else {
        const uint64_t table = static_cast<uint64_t>(token.set) * r.d.rotation.rows.count;
        const bool by_token = r.d.rotation.source == ROPE_SOURCE_ROWS;
        cosSinFromRows(r, token, by_token ? number : table + tableRow(r.d, positionOf(r, token, pair)), pair, cos_sin);
    }
    if (r.positions_known && f.values != nullptr && token.placed && token.known) {
        ropeReferenceAngle(positionOf(r, token, pair), frequencyOf(f, token.set, pair), r.d.rotation.angle,
                           cos_sin->reference);
        cos_sin->reference[0] *= r.scale;
        cos_sin->reference[1] *= r.scale;
    }
    if (r.backward) {
        cos_sin->float32[1] = -cos_sin->float32[1];
        cos_sin->reference[1] = -cos_sin->reference[1];
    }
}

ElementValue loadValue(const TensorArrays& arrays, uint64_t at) {
    const uint32_t raw = readRaw(arrays.in, arrays.element_in, at);
    const uint32_t bits = widened(raw, arrays.element_in);
    return {floatOf(bits), bits, raw, true};
}

void storeValue(const TensorArrays& arrays, uint64_t at, const ElementValue& value) {
    if (arrays.reference != nullptr) arrays.reference[at] = value.reference;
    if (arrays.out == nullptr) return;
    const bool as_is = value.as_is && arrays.element_in == arrays.element_out;
    writeRaw(arrays.out, arrays.element_out, at, as_is ? value.raw : narrowed(value.bits, arrays.element_out));
}

uint32_t pairElement(const RopeRotateDescription& d, RopePairing pairing, uint32_t pair, uint32_t which) {
    if (pairing == ROPE_PAIRING_INTERLEAVED) return 2 * pair + which;
    const uint32_t half = d.rotation.chunk_dim / 2;
    return pair / half * d.rotation.chunk_dim + pair % half + which * half;
}

void turnPair(const HostRotation& r, const CosSin& cos_sin, ElementValue pair[2]) {
    const double x = pair[0].reference;
    const double y = pair[1].reference;
    const double c = cos_sin.reference[0];
    const double s = cos_sin.reference[1];
    pair[0] = {x * c - y * s, pair[0].bits};
    pair[1] = {x * s + y * c, pair[1].bits};
    turn_pair(pair[0].bits, pair[1].bits, {cos_sin.float32[0]}, {cos_sin.float32[1]}, r.grid);
}

uint64_t headElement(const RopeLayout& layout, uint32_t batch, uint32_t token, uint32_t head) {
    return layout.offset + batch * layout.batch_stride + token * layout.token_stride + head * layout.head_stride;
}

namespace {

void rotateToken(const HostRotation& r, const RopeTensor& tensor, const TensorArrays& arrays, uint32_t batch,
                 uint32_t token) {
    const RopeRotateDescription& d = r.d;
    for (uint32_t head = 0; head < tensor.heads; ++head) {
        const uint64_t from = headElement(tensor.from, batch, token, head);
        const uint64_t to = headElement(tensor.to, batch, token, head);
        for (uint32_t e = 0; e < d.head_dim; ++e) {
            const bool passes = e < d.rotation.rotary_begin || e >= d.rotation.rotary_begin + d.rotation.rotary_dim;
            if (passes) storeValue(arrays, to + e, loadValue(arrays, from + e));
        }
    }
    bool turns;
    const HostToken place = rotationToken(r, batch, token, &turns);
    const bool inside = turns && (d.rotation.source == ROPE_SOURCE_ROWS || !isOutside(d, place));
    for (uint32_t pair = 0; pair < d.rotation.rotary_dim / 2; ++pair) {
        CosSin cos_sin;
        if (inside) findCosSin(r, static_cast<uint64_t>(batch) * d.tokens + token, place, pair, &cos_sin);
        for (uint32_t head = 0; head < tensor.heads; ++head) {
            const uint64_t from = headElement(tensor.from, batch, token, head) + d.rotation.rotary_begin;
            const uint64_t to = headElement(tensor.to, batch, token, head) + d.rotation.rotary_begin;
            ElementValue values[2] = {loadValue(arrays, from + pairElement(d, d.rotation.pairing, pair, 0)),
                                      loadValue(arrays, from + pairElement(d, d.rotation.pairing, pair, 1))};
            if (inside) turnPair(r, cos_sin, values);
            for (uint32_t which = 0; which < 2; ++which)
                storeValue(arrays, to + pairElement(d, d.rotation.pairing_out, pair, which), values[which]);
        }
    }
}

void rotateTensor(const HostRotation& r, const RopeTensor& tensor, const TensorArrays& arrays) {
    if (tensor.heads == 0) return;
    for (uint32_t batch = 0; batch < r.d.batch; ++batch)
        for (uint32_t token = 0; token < r.d.tokens; ++token) rotateToken(r, tensor, arrays, batch, token);
}

template <typename Number>
void writeRowEntry(const RopeRows& layout, uint64_t at, Number cosine, Number sine, Number* rows) {
    const uint64_t copies[2] = {0, layout.copy_offset};
    for (const uint64_t copy : copies) {
        rows[at + copy] = cosine;
        rows[at + copy + static_cast<uint64_t>(layout.sin_offset)] = sine;
    }
}

void writeTableEntry(const RopeTableDescription& d, const RopeHostTable& data, uint64_t row, const HostToken& token,
                     uint32_t pair) {
    const RopeFrequencies& f = d.frequencies;
    const uint64_t at = d.rows.offset + row * d.rows.row_stride + uint64_t(pair) * d.rows.pair_stride;
    const bool known = token.placed && token.known;
    const int64_t position = token.position[f.axes != nullptr ? f.axes[pair] : 0];
    const double frequency = known ? frequencyOf(f, token.set, pair) : 0;
    if (data.reference_rows != nullptr) {
        double truth[2] = {1, 0};
        if (known) {
            ropeReferenceAngle(position, frequency, d.angle, truth);
            truth[0] *= f.scale;
            truth[1] *= f.scale;
        }
        writeRowEntry(d.rows, at, truth[0], truth[1], data.reference_rows);
    }
    if (data.rows != nullptr) {
        float bits[2] = {1, 0};
        if (known) shaderCosSin(position, frequency, d.angle, f.scale, bits);
        writeRowEntry(d.rows, at, bits[0], bits[1], data.rows);
    }
}

} // namespace

HostRotation makeHostRotation(const RopeRotateDescription& d, const void* positions, const void* rows) {
    const double scale = operationScale(d.rotation.operation, d.rotation.frequencies.scale);
    HostRotation r = {d, positions, rows, rotationPositions(d), scale, scaleGrid(d), false, false};
    r.backward = d.rotation.operation == ROPE_OPERATION_TRANSPOSE || d.rotation.operation == ROPE_OPERATION_INVERSE;
    r.positions_known = positions != nullptr || !readsPositions(d.positions);
    return r;
}

RopeResult checkAngleSource(const HostRotation& r, RopeReason* reason) {
    const RopeRotateDescription& d = r.d;
    const bool certain =
        d.rotation.frequencies.values != nullptr && (d.rotation.source != ROPE_SOURCE_ROWS || r.positions_known);
    if (d.rotation.source == ROPE_SOURCE_INLINE) return checkValuesAreGiven(d.rotation.frequencies, reason);
    if (r.rows != nullptr || certain) return ROPE_SUCCESS;
    return refuse(
        reason, ROPE_ERROR_INVALID,
        "rows is null, and frequencies.values or positions are too; the rows or both of these give the angles");
}

RopeResult refuseNullPositions(RopeReason* reason) {
    return refuse(reason, ROPE_ERROR_INVALID, "positions is null; the description reads an array of them");
}

} // namespace rope

using namespace rope;

RopeResult ropeHostRunTable(const RopeTableDescription* description, const RopeHostTable* data, RopeReason* reason) {
    clear(reason);
    if (description == nullptr || data == nullptr) return refuseNull(reason, "description or data");
    RopeTableDescription d;
    RopeResult result = resolveTable(*description, &d, reason);
    if (result == ROPE_SUCCESS) result = checkValuesAreGiven(d.frequencies, reason);
    if (result != ROPE_SUCCESS) return result;
    if (data->positions == nullptr && readsPositions(d.positions)) return refuseNullPositions(reason);
    for (uint64_t row = 0; row < static_cast<uint64_t>(d.batch) * d.tokens; ++row) {
        const HostToken token = findToken(d.positions, d.frequencies, data->positions, d.tokens,
                                          static_cast<uint32_t>(row / d.tokens), static_cast<uint32_t>(row % d.tokens));
        for (uint32_t pair = 0; pair < d.frequencies.count; ++pair) writeTableEntry(d, *data, row, token, pair);
    }
    return result;
}

RopeResult ropeHostRunRotate(const RopeRotateDescription* description, RopeHostRotate* data, RopeReason* reason) {
    clear(reason);
    if (description == nullptr || data == nullptr) return refuseNull(reason, "description or data");
    RopeRotateDescription d;
    RopeResult result = resolveRotate(*description, &d, reason);
    if (result != ROPE_SUCCESS) return result;
    HostRotation rotation = makeHostRotation(d, data->positions, data->rows);
    result = checkAngleSource(rotation, reason);
    if (result != ROPE_SUCCESS) return result;
    forgetUnread(data->reference_q != nullptr || data->reference_k != nullptr, &rotation);
    if (data->positions == nullptr && readsPositions(rotation.read.positions)) return refuseNullPositions(reason);
    if ((d.q.heads != 0 && data->q == nullptr) || (d.k.heads != 0 && data->k == nullptr)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "q or k is null but has heads; each tensor with heads is an array here");
    }
    data->outside = 0;
    for (uint32_t batch = 0; d.rotation.source != ROPE_SOURCE_ROWS && batch < d.batch; ++batch) {
        for (uint32_t token = 0; token < d.tokens; ++token) {
            bool turns;
            const HostToken place = rotationToken(rotation, batch, token, &turns);
            data->outside += turns && isOutside(d, place);
        }
    }
    rotateTensor(rotation, d.q, {data->q, data->reference_q, data->q_out, d.element, d.element_out});
    rotateTensor(rotation, d.k, {data->k, data->reference_k, data->k_out, d.element, d.element_out});
    return result;
}
#else

RopeResult ropeHostRunTable(const RopeTableDescription*, const RopeHostTable*, RopeReason* reason) {
    return rope::refuseLeftOut("the CPU's reference", "REFERENCE", reason);
}
RopeResult ropeHostRunRotate(const RopeRotateDescription*, RopeHostRotate*, RopeReason* reason) {
    return rope::refuseLeftOut("the CPU's reference", "REFERENCE", reason);
}

#endif
