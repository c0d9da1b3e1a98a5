// This file has what plans over tensors share: the shader that fits a tensor, its lanes and its bindings, and the count
// of tokens that lack a position.
#include "plan/tensor.h"
#include "plan/axes.h"
#include "plan/element_formats.h"
#include "plan/enumerators.h"
#include "plan/frequencies.h"
#include "plan/pairing.h"
#include "plan/positions.h"
#include "plan/rows.h"
#include "plan/scale.h"
#include "plan/tuning.h"
#include "shaders/modules.h"

namespace rope {
namespace {

// True if the elements of one side of a tensor lie in groups of 2^bits that start at multiples of it.
bool isAligned(const HeadGeometry& g, uint64_t strides, RopePairing pairing, uint32_t bits) {
    const uint32_t second = liesInChunks(pairing) ? g.chunk_dim / 2 : 0;
    const uint32_t copied = g.moves_all ? g.head_dim : 0;
    return ((g.rotary_begin | second | copied | strides) & ((1u << bits) - 1)) == 0;
}

// True if a tensor's vectors of four elements, and the partners of their pairs, lie at multiples of four.
bool fitsVectors(const HeadGeometry& g, const SideBits& sides) {
    return g.rotary_dim % 8 == 0 && isAligned(g, sides.source, g.pairing, 2) &&
           isAligned(g, sides.destination, g.pairing_out, 2);
}

// True if each side's elements fill whole words: float32 ones do anywhere, 16-bit ones in twos.
bool fitsWords(const HeadGeometry& g, const SideBits& sides) {
    return (g.element == ROPE_ELEMENT_F32 || isAligned(g, sides.source, g.pairing, 1)) &&
           (g.element_out == ROPE_ELEMENT_F32 || isAligned(g, sides.destination, g.pairing_out, 1));
}

} // namespace

HeadGeometry geometryOf(const RopeRotateDescription& d) {
    const RopeRotation& r = d.rotation;
    return {d.head_dim,
            r.rotary_begin,
            r.rotary_dim,
            r.chunk_dim,
            r.pairing,
            r.pairing_out,
            d.element,
            d.element_out,
            d.out_of_place != 0,
            r.source == ROPE_SOURCE_INLINE,
            (d.q.heads | d.k.heads) != 0 ? uint64_t{d.tokens} * d.batch : 0,
            d.tuning};
}

ShaderVariant chooseVariant(const HeadGeometry& g, const SideBits& sides, const RopeLimits& limits) {
    const bool in32 = g.element == ROPE_ELEMENT_F32, out32 = g.element_out == ROPE_ELEMENT_F32;
    if (lanePairsAtMost(g, limits) == 8 && !in32 && !out32 && g.rotary_dim % 16 == 0 &&
        isAligned(g, sides.source, g.pairing, 3) && isAligned(g, sides.destination, g.pairing_out, 3))
        return {8, 8, false, true};
    if (fitsVectors(g, sides)) return {4, 4, false, true};
    return {4, in32 && out32 ? 1u : 2u, true, fitsWords(g, sides)};
}

uint32_t chooseRowReading(const RopeRotateDescription& d, const ShaderVariant& variant) {
    const RopeRows& rows = d.rotation.rows;
    const bool apart = d.rotation.source == ROPE_SOURCE_TABLE &&
                       axisCount(d.rotation.frequencies) > 1; // each pair may read another row
    const bool by_four = !apart && !variant.by_words && ((rows.offset | rows.row_stride) & 3) == 0;
    if (by_four && rows.pair_stride == 1 && (rows.sin_offset & 3) == 0) return ROPE_ROWS_BY_FOUR;
    if (by_four && rows.pair_stride == 2 && rows.sin_offset == 1) return ROPE_ROWS_WOVEN;
    return ROPE_ROWS_SINGLE;
}

uint32_t oddHalves(const HeadGeometry& g) {
    const bool in_chunks = (g.element != ROPE_ELEMENT_F32 && liesInChunks(g.pairing)) ||
                           (g.element_out != ROPE_ELEMENT_F32 && liesInChunks(g.pairing_out));
    return in_chunks && g.chunk_dim / 2 % 2 != 0 ? g.chunk_dim / 2 : 0;
}

RopeResult refuseOddPlaces(const char* name, uint32_t odd_halves, RopeReason* reason, const char* even_halves) {
    if (odd_halves != 0) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "%s has 16-bit elements in halves of %u, an odd number, and they move in twos; use float32, or %s", name,
            odd_halves, even_halves);
    }
    return refuse(reason, ROPE_ERROR_INVALID,
                  "%s has 16-bit elements at an odd offset, stride, rotary_begin or head_dim, and they move in twos; "
                  "make these numbers even, or use float32",
                  name);
}

PassAccess tensorAccess(RopeSlot slot, const RopeLayout& layout, RopeElement element, uint32_t head_dim,
                        uint32_t heads) {
    return {static_cast<uint32_t>(slot),
            ropeElementBytes(element),
            layout.offset,
            {layout.batch_stride, layout.token_stride, heads == 1 ? layout.head_stride : 0},
            head_dim + (heads - 1) * layout.head_stride};
}

PassAccess cosSinAccess(const RopeRotateDescription& d) {
    const uint32_t pairs = d.rotation.rotary_dim / 2;
    if (d.rotation.source == ROPE_SOURCE_INLINE) return frequencyAccess(d.rotation.frequencies);
    PassAccess access = rowAccess(d.rotation.rows, pairs);
    if (d.rotation.source == ROPE_SOURCE_ROWS) {
        access.stride[0] = d.tokens * d.rotation.rows.row_stride;
        access.stride[1] = d.rotation.rows.row_stride;
    } else {
        const uint64_t rows = static_cast<uint64_t>(d.rotation.frequencies.sets) * d.rotation.rows.count;
        access.extent += (rows - 1) * d.rotation.rows.row_stride; // a table is bound whole
    }
    return access;
}

// Sets push words of the table or of the scale, which share words.
void setScaleOrTable(const RopeRotateDescription& d, RopePush* push, PlanPass* pass) {
    if (d.rotation.source == ROPE_SOURCE_TABLE) {
        push->ROPE_TABLE_FIRST = static_cast<uint32_t>(d.rotation.rows.first_position);
        push->ROPE_TABLE_ROWS = static_cast<int32_t>(d.rotation.rows.count);
        pass->whole_bindings |= 1u << ROPE_BINDING_COS_SIN;
        return;
    }
    const SplitScale scale = splitScale(operationScale(d.rotation.operation, d.rotation.frequencies.scale));
    push->scale_mantissa = scale.mantissa;
    push->scale_exponent = scale.exponent;
}

void setRotationConstants(const RopeRotateDescription& d, const ShaderVariant& variant, PlanPass* pass) {
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_COS_SIN] = shaderNumber(d.rotation.source);
    constants[ROPE_ID_PAIRING_IN] = chunkPairs(d.rotation.pairing, d.rotation.chunk_dim, d.rotation.rotary_dim);
    constants[ROPE_ID_PAIRING_OUT] = chunkPairs(d.rotation.pairing_out, d.rotation.chunk_dim, d.rotation.rotary_dim);
    constants[ROPE_ID_IN_PLACE] = d.out_of_place == 0 ? 3 : 0;
    constants[ROPE_ID_BACKWARD] =
        d.rotation.operation == ROPE_OPERATION_TRANSPOSE || d.rotation.operation == ROPE_OPERATION_INVERSE;
    constants[ROPE_ID_SCALE_GRID] = scaleGrid(d);
    constants[ROPE_ID_ELEMENT_IN] = shaderElement(d.element);
    constants[ROPE_ID_ELEMENT_OUT] = shaderElement(d.element_out);
    if (d.rotation.source == ROPE_SOURCE_INLINE) {
        constants[ROPE_ID_ANGLE] = shaderNumber(d.rotation.angle);
    } else {
        constants[ROPE_ID_ROWS] = chooseRowReading(d, variant);
        constants[ROPE_ID_ROW_ELEMENT] = shaderElement(d.rotation.rows.element);
    }
}

uint32_t pairLanes(const HeadGeometry& g, const ShaderVariant& variant) {
    if (g.rotary_dim == 0) return 0;
    const uint32_t chunk_pairs = g.chunk_dim / 2; // a lane's pairs all lie in one chunk
    return g.rotary_dim / g.chunk_dim * ((chunk_pairs + variant.lane_pairs - 1) / variant.lane_pairs);
}

uint32_t copyLanes(uint32_t elements, uint32_t begin, const ShaderVariant& variant) {
    const uint32_t step = variant.by_words ? copied_run(begin, variant.copy_step) : variant.copy_step;
    return (elements + 2 * step - 1) / (2 * step);
}

void setTokenRange(const RopeRotateDescription& d, RopePush* push, PlanPass* pass) {
    if (d.rotation.skip_first == 0 && d.rotation.skip_last == 0) return;
    pass->joinable = 0;
    push->window_begin = d.rotation.skip_first;
    push->window_end = isPacked(d.positions) ? d.rotation.skip_last : d.tokens - d.rotation.skip_last;
}

bool canBeOutside(const RopeRotateDescription& d) {
    if (d.rotation.source == ROPE_SOURCE_ROWS) return false;
    if (d.rotation.source == ROPE_SOURCE_INLINE) return canLackPosition(d.positions, d.rotation.frequencies);
    const int64_t row = static_cast<int64_t>(d.positions.first) - d.rotation.rows.first_position;
    return d.positions.kind != ROPE_POSITIONS_COUNTED || row < 0 || row + d.tokens > d.rotation.rows.count;
}

bool everyTokenTurns(const RopeRotateDescription& d) {
    const bool packed = isPacked(rotationPositions(d).positions);
    return d.rotation.skip_first == 0 && d.rotation.skip_last == 0 && !packed && !canBeOutside(d);
}

void setTokenPositions(const RopeRotateDescription& d, RopePush* push, PlanPass* pass) {
    setPositions(rotationPositions(d), push, pass);
    if (d.rotation.source == ROPE_SOURCE_ROWS) pass->joinable = 1;
    setTokenRange(d, push, pass);
}

PlanPass* addCounter(uint32_t batch, uint32_t tokens, RopeSource source, Planner* planner) {
    PlanPass* pass = planner->addPass(rope_shader_count, batch, tokens, 1);
    setGroup(1, 1, pass->group_size, pass);
    pass->access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_COUNTER, sizeof(uint32_t), 0, {0, 0, 0}, 1};
    pass->constants[ROPE_ID_COS_SIN] = shaderNumber(source);
    return pass;
}

void addCountPass(const RopeRotateDescription& d, Planner* planner) {
    if (d.count_outside == 0 || !canBeOutside(d)) return;
    PlanPass* pass = addCounter(d.batch, d.tokens, d.rotation.source, planner);
    pass->facts.words = kCountWords;
    RopePush push = {};
    setTokenPositions(d, &push, pass);
    setScaleOrTable(d, &push, pass);
    pass->constants[ROPE_ID_POSITION_TOKEN] =
        static_cast<uint32_t>(pass->access[ROPE_BINDING_POSITIONS].stride[kToken]);
    writePush(push, pass);
}

} // namespace rope
