// This file plans an addition to embeddings: ropePlanAdd.
#include "plan/add.h"
#include "../shaders/modules.h"
#include "plan/tensor.h"

#include <string.h>

namespace rope {
namespace {

const ShaderVariants kAddShaders = {&rope_shader_add_wide, &rope_shader_add_narrow, &rope_shader_add_odd,
                                    &rope_shader_add_wide_long};

// Takes the sequences of a batch as the heads of one sequence if all of them have the same positions. A thread then
// finds the values that it adds once for many sequences.
void takeSequencesAsHeads(RopeRotateDescription* d, RopeTensor* x) {
    const bool same = d->positions.kind == ROPE_POSITIONS_COUNTED || d->positions.same_for_all_sequences != 0;
    if (!same || d->source == ROPE_SOURCE_ROWS) return;
    x->heads = d->batch;
    d->batch = 1;
    RopeLayout* layouts[2] = {&x->source, &x->destination};
    for (RopeLayout* layout : layouts) {
        layout->head_stride = layout->batch_stride;
        layout->batch_stride = 0;
    }
}

// Refuses a learned table that one binding cannot span. A learned table is bound whole, and no other source can take
// its place.
RopeResult checkLearnedTableSpan(const RopeAddDescription& given, const RopeRotateDescription& d, Planner* planner) {
    const RopeAccess table = cosSinAccess(d);
    const uint64_t bytes = table.extent * table.element_bytes;
    if (given.learned == 0 || bytes <= planner->limits().storage_range) return ROPE_SUCCESS;
    return refuse(planner->reason(), ROPE_ERROR_TOO_LARGE,
                  "the learned table spans %llu bytes, more than the %llu that a binding may; use fewer rows, or "
                  "elements of 16 bits",
                  static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(planner->limits().storage_range));
}

// Decides how many lanes, sequences and tokens a thread takes. A rotation's thread goes through heads. An addition's
// thread goes through lanes, and through sequences for each lane. At least eight threads take neighbouring lanes, which
// read a row as it lies in memory. A thread that computes sines goes through tokens instead of lanes, and loads the
// frequencies of its lane once.
void setWorkPerThread(const RopeRotateDescription& d, uint32_t heads, const RopeLimits& limits, RopePass* pass) {
    constexpr uint32_t kNeighbourThreads = 8;
    constexpr uint32_t kTokensForALane = 4; // 4 times a CPU's 32 tokens leave the loads 2 % of the work
    const uint32_t most_lanes = pass->head_lanes / kNeighbourThreads, most_items = pass->heads_per_thread;
    if (most_items > heads) pass->heads_per_thread = heads;
    pass->constants[ROPE_ID_HEADS] = pass->heads_per_thread;
    const uint32_t groups = (heads + pass->heads_per_thread - 1) / pass->heads_per_thread;
    const uint64_t threads = uint64_t{d.batch} * d.tokens * groups * pass->head_lanes;
    const bool by_tokens = d.source == ROPE_SOURCE_INLINE && d.frequencies.sets == 1;
    const uint32_t most_tokens = most_items * kTokensForALane < d.tokens ? most_items * kTokensForALane : d.tokens;
    pass->tokens_per_thread = by_tokens ? chooseItemsPerThread(threads, most_tokens, limits) : 1;
    uint32_t lanes =
        by_tokens ? 1 : chooseItemsPerThread(threads, most_items < most_lanes ? most_items : most_lanes, limits);
    while (pass->head_lanes % lanes != 0) lanes /= 2;
    pass->head_lanes /= lanes;
    pass->constants[ROPE_ID_TOKENS] = pass->tokens_per_thread;
    pass->constants[ROPE_ID_LANES] = lanes;
}

// Sets the constants and push words that only additions have.
void setAddWords(const ResolvedAdd& addition, const RopeRotateDescription& d, const RopeLimits& limits,
                 RopePass* pass) {
    setWorkPerThread(d, pass->count[kHead], limits, pass);
    pass->constants[ROPE_ID_COSINE_FIRST] = addition.cosine_first;
    pass->constants[ROPE_ID_SCALED] = addition.scale != 1;
    RopePush push = readPush(*pass);
    memcpy(&push.ROPE_FACTOR, &addition.scale, sizeof addition.scale);
    writePush(push, pass);
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanAdd(const RopeAddDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    Planner planner(limits, plan);
    ResolvedAdd addition;
    RopeResult result = resolveAdd(*description, &addition, planner.reason());
    if (result != ROPE_SUCCESS) return planner.refused(result);
    RopeRotateDescription d = addition.d;
    RopeTensor x = addition.x;
    result = checkLearnedTableSpan(*description, d, &planner);
    if (result != ROPE_SUCCESS) return planner.refused(result);
    takeSequencesAsHeads(&d, &x);
    const RopeSlot to = d.out_of_place != 0 ? ROPE_SLOT_X_OUT : ROPE_SLOT_X;
    result = addTensorPass(d, {"x", x, ROPE_SLOT_X, to}, kAddShaders, &planner);
    if (result != ROPE_SUCCESS) return planner.refused(result);
    setAddWords(addition, d, planner.limits(), &plan->passes[0]);
    addCountPass(addition.d, &planner);
    return planner.finish();
}
