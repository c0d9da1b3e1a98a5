// The plan of a rotation.
#include "plan_tensor.h"
#include "shaders.h"

namespace rope {
namespace {

void setTokens(const RopeRotateDescription& d, RopePush* push, RopePass* pass) {
    RopePositions positions;
    RopeFrequencies frequencies;
    positionsRead(d, &positions, &frequencies);
    setPositions(positions, frequencies, push, pass);
    setWindow(d, push);
}

RopeResult addRotation(const RopeRotateDescription& d, const char* name, const RopeTensor& tensor, RopeSlot from,
                       RopeSlot to, Planner* planner) {
    static const RopeShader* const kShaders[3] = {&rope_shader_rotate_wide, &rope_shader_rotate_narrow,
                                                  &rope_shader_rotate_odd};
    const Build build = chooseBuild(d, tensor, kShaders, planner->limits());
    if (build.shader == nullptr) return refuseBuild(name, planner->reason());
    RopePass* pass = planner->addPass(*build.shader, d.batch, d.tokens, tensor.heads);
    RopePush push = {};
    setTokens(d, &push, pass);
    pass->access[ROPE_BINDING_COS_SIN] = cosSinAccess(d);
    pass->access[ROPE_BINDING_SOURCE] = tensorAccess(from, tensor.source, d.element_in, d.head_dim);
    pass->access[ROPE_BINDING_DESTINATION] = tensorAccess(to, tensor.destination, d.element_out, d.head_dim);
    setChoices(d, build, pass);

    const uint32_t pair_lanes = pairLanes(d, build);
    push.pair_counts = d.rotary_dim / 2 | pair_lanes << 16;
    push.rotary_begin = d.rotary_begin;
    push.pass_elements = d.elsewhere != 0 ? d.head_dim - d.rotary_dim : 0;
    push.head_lanes = pair_lanes + passLanes(push.pass_elements, build);
    const RopeTuning tuning = chooseTuning(d, tensor.heads, push.head_lanes, planner->limits());
    pass->heads_per_thread = pass->constants[ROPE_ID_HEADS] = tuning.heads;
    pass->constants[ROPE_ID_GROUP_SIZE] = tuning.group_size;
    pass->constants[ROPE_ID_IN_FLIGHT] = tuning.in_flight;
    if (d.source != ROPE_SOURCE_INLINE) setRowPush(d.rows, &push);
    setScaleOrTable(d, &push);
    writePush(push, pass);
    return ROPE_SUCCESS;
}

void addCount(const RopeRotateDescription& d, Planner* planner) {
    RopePass* pass = planner->addPass(rope_shader_count, d.batch, d.tokens, 1);
    RopePush push = {};
    setTokens(d, &push, pass);
    pass->access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_COUNTER, sizeof(uint32_t), 0, {0, 0, 0}, 1};
    pass->constants[ROPE_ID_COS_SIN] = static_cast<uint32_t>(d.source);
    push.head_lanes = 1;
    setScaleOrTable(d, &push);
    writePush(push, pass);
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits, RopePlan* plan) {
    Planner planner(limits, plan);
    RopeRotateDescription d;
    RopeResult result = resolve(*description, &d, planner.reason());
    if (result == ROPE_SUCCESS) result = checkTuning(d.tuning, planner.limits(), planner.reason());
    if (result != ROPE_SUCCESS) return planner.refused(result);
    const bool elsewhere = d.elsewhere != 0;
    RopeResult added = ROPE_SUCCESS;
    if (d.q.heads != 0)
        added = addRotation(d, "q", d.q, ROPE_SLOT_Q, elsewhere ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q, &planner);
    if (added == ROPE_SUCCESS && d.k.heads != 0) {
        added = addRotation(d, "k", d.k, ROPE_SLOT_K, elsewhere ? ROPE_SLOT_K_OUT : ROPE_SLOT_K, &planner);
    }
    if (added != ROPE_SUCCESS) return planner.refused(added);
    const bool counts = d.source == ROPE_SOURCE_TABLE ||
                        (d.source == ROPE_SOURCE_INLINE && canLackPosition(d.positions, d.frequencies));
    if (d.count_outside != 0 && counts) addCount(d, &planner);
    return planner.finish();
}
