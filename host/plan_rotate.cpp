// The plan of a rotation.
#include "plan.h"
#include "shaders.h"

#include <string.h>

namespace rope {
namespace {

// Heads that one thread takes: as many as leave a device enough threads.
uint32_t headsPerThread(uint64_t tokens) {
    return tokens >= 256 ? 8 : tokens >= 32 ? 4 : 2;
}

bool isMultipleOf4(const RopeLayout& layout) {
    return ((layout.offset | layout.batch_stride | layout.token_stride | layout.head_stride) & 3) == 0;
}

// The wide shader moves 16 bytes at a time.
bool isWide(const RopeRotateDescription& d, const RopeTensor& tensor) {
    const uint32_t pairs = d.rotary_dim / 2;
    if (((pairs | d.rotary_begin) & 3) != 0 || !isMultipleOf4(tensor.source))
        return false;
    if (d.elsewhere != 0 && ((d.head_dim & 3) != 0 || !isMultipleOf4(tensor.destination)))
        return false;
    return d.source == ROPE_SOURCE_INLINE || ((d.rows.offset | d.rows.row_stride | d.rows.sin_offset) & 3) == 0;
}

RopeAccess tensorAccess(RopeSlot slot, const RopeLayout& layout, uint32_t head_dim) {
    return {static_cast<uint32_t>(slot),
            sizeof(float),
            layout.offset,
            {layout.batch_stride, layout.token_stride, layout.head_stride},
            head_dim};
}

RopeAccess cosSinAccess(const RopeRotateDescription& d) {
    const uint32_t pairs = d.rotary_dim / 2;
    const uint64_t stride = d.rows.row_stride;
    const uint64_t row = uint64_t(d.rows.sin_offset) + pairs;
    if (d.source == ROPE_SOURCE_INLINE)
        return {ROPE_SLOT_FREQUENCIES, 16, 0, {0, 0, 0}, pairs};
    if (d.source == ROPE_SOURCE_ROWS) {
        return {ROPE_SLOT_ROWS, sizeof(float), d.rows.offset, {d.tokens * stride, stride, 0}, row};
    }
    // A table is bound whole. What 64 bits do not count is past every limit.
    const uint64_t rest = d.rows.count - 1;
    const uint64_t extent = stride > (UINT64_MAX / 64) / d.rows.count ? UINT64_MAX : rest * stride + row;
    return {ROPE_SLOT_ROWS, sizeof(float), d.rows.offset, {0, 0, 0}, extent};
}

void setScale(const RopeRotateDescription& d, RopePush* push, RopePass* pass) {
    const double wanted = operationScale(d.operation, d.frequencies.scale);
    if (d.source == ROPE_SOURCE_INLINE) {
        const Scale scale = splitScale(wanted);
        push->scale_mantissa = scale.mantissa;
        push->scale_exponent = scale.exponent;
    } else if (wanted != d.frequencies.scale) {
        const float factor = static_cast<float>(wanted / d.frequencies.scale);
        memcpy(&push->scale_mantissa, &factor, sizeof factor);
        pass->constants[ROPE_ID_RESCALE] = 1;
    }
}

void addRotation(const RopeRotateDescription& d, const RopeTensor& tensor, RopeSlot from, RopeSlot to,
                 Planner* planner) {
    const bool wide = isWide(d, tensor);
    const uint32_t lane_pairs = wide ? 4 : 1;
    RopePass* pass =
        planner->addPass(wide ? rope_shader_rotate_wide : rope_shader_rotate_scalar, d.batch, d.tokens, tensor.heads);
    RopePush push = {};
    setPositions(d.positions, &push, pass);
    if (!readsPositions(d))
        pass->access[ROPE_BINDING_POSITIONS] = {};
    pass->access[ROPE_BINDING_COS_SIN] = cosSinAccess(d);
    pass->access[ROPE_BINDING_SOURCE] = tensorAccess(from, tensor.source, d.head_dim);
    pass->access[ROPE_BINDING_DESTINATION] = tensorAccess(to, tensor.destination, d.head_dim);

    pass->heads_per_thread = headsPerThread(static_cast<uint64_t>(d.batch) * d.tokens);
    pass->constants[ROPE_ID_HEADS] = pass->heads_per_thread;
    pass->constants[ROPE_ID_COS_SIN] = static_cast<uint32_t>(d.source);
    pass->constants[ROPE_ID_PAIRING_IN] = d.pairing_in == ROPE_PAIRING_INTERLEAVED;
    pass->constants[ROPE_ID_PAIRING_OUT] = d.pairing_out == ROPE_PAIRING_INTERLEAVED;
    pass->constants[ROPE_ID_IN_PLACE] = d.elsewhere == 0;
    pass->constants[ROPE_ID_BACKWARD] =
        d.operation == ROPE_OPERATION_TRANSPOSE || d.operation == ROPE_OPERATION_INVERSE;
    pass->constants[ROPE_ID_ANGLE] = d.source == ROPE_SOURCE_INLINE ? static_cast<uint32_t>(d.angle) : 0;

    push.pairs = d.rotary_dim / 2;
    push.rotary_begin = d.rotary_begin;
    push.pair_lanes = push.pairs / lane_pairs;
    push.pass_elements = d.elsewhere != 0 ? d.head_dim - d.rotary_dim : 0;
    push.head_lanes = push.pair_lanes + (push.pass_elements + 2 * lane_pairs - 1) / (2 * lane_pairs);
    push.table_first = d.rows.first_position;
    push.table_rows = d.rows.count;
    push.sin_offset = d.rows.sin_offset;
    push.rows.token = static_cast<uint32_t>(d.rows.row_stride);
    setScale(d, &push, pass);
    writePush(push, pass);
}

void addCount(const RopeRotateDescription& d, Planner* planner) {
    RopePass* pass = planner->addPass(rope_shader_count, d.batch, d.tokens, 1);
    RopePush push = {};
    setPositions(d.positions, &push, pass);
    pass->access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_COUNTER, sizeof(uint32_t), 0, {0, 0, 0}, 1};
    push.head_lanes = 1;
    push.table_first = d.rows.first_position;
    push.table_rows = d.rows.count;
    writePush(push, pass);
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits, RopePlan* plan) {
    Planner planner(limits, plan);
    RopeRotateDescription d;
    const RopeResult result = resolve(*description, &d, planner.reason());
    if (result != ROPE_SUCCESS)
        return planner.refused(result);
    const bool elsewhere = d.elsewhere != 0;
    if (d.q.heads != 0)
        addRotation(d, d.q, ROPE_SLOT_Q, elsewhere ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q, &planner);
    if (d.k.heads != 0)
        addRotation(d, d.k, ROPE_SLOT_K, elsewhere ? ROPE_SLOT_K_OUT : ROPE_SLOT_K, &planner);
    if (d.count_outside != 0 && d.source == ROPE_SOURCE_TABLE)
        addCount(d, &planner);
    return planner.finish();
}
