// This file runs ROPE and ROPE_BACK of ggml's Vulkan backend by vkrope, with RMS_NORM and MUL before and SET_ROWS
// behind if ggml fuses these. ggml-vulkan.cpp includes it, and apply.py writes the calls there. docs/engines.md
// explains both.
#include <vkrope/rope.hpp>

#ifdef VKROPE_RAW
#include "vkrope_raw.hpp"
#else
struct vkrope_level { // vkrope's own pipelines and descriptor sets, on ggml's device
    vkrope_level(ggml_backend_vk_context* ctx) {
        ropeLimitsFromDevice((VkPhysicalDeviceProperties*)&ctx->device->properties, ROPE_ENABLED_STORAGE_16, &limits);
        const auto get_proc = VULKAN_HPP_DEFAULT_DISPATCHER.vkGetDeviceProcAddr;
        const RopeContextInfo info = {ctx->device->device, get_proc, nullptr, nullptr, limits};
        GGML_ASSERT(!context.create(info) && !sets.create(info, context.get()));
    }
    void execute(ggml_backend_vk_context*, VkCommandBuffer commands, const RopePlan& plan, const RopeBuffers& buffers) {
        GGML_ASSERT(!sets.execute(commands, plan, buffers));
    }
    RopeLimits limits;
    rope::Context context;
    rope::KeptSets sets;
};
#endif

// A plan is found by its frequencies and the bytes of its RopeGgmlNode, so the layers of a model share plans. The empty
// text stands for the plan that divides the frequencies by factors.
using vkrope_plans = std::map<std::pair<struct vkrope_words*, std::string>, RopePlan>;

struct vkrope_call {  // a node, with those that are fused with it; or the division of frequencies
    size_t graph = 0; // the last that it was planned for; of a division, the last that recorded it
    vkrope_plans::value_type* entry = nullptr;
    RopeBuffers buffers = {};
};

struct vkrope_words { // the frequencies of one set of parameters, and behind them the same divided by factors
    rope::GgmlRotation rotation;
    vk_buffer buffer; // none if vkrope refuses the parameters
    vkrope_call divide;
};

struct vkrope_state {
    vkrope_level level;                                        // makes pipelines and records
    std::map<std::array<size_t, 11>, vkrope_words> words = {}; // by op_params, the size of a head, and the factors
    vkrope_plans plans = {};
    std::unordered_map<int, vkrope_call> calls = {}; // by the node and how many are fused with it
    size_t graph = 0, planned = 0, uid = 0; // the last, the last that was planned, and ggml's number of the last
};

static RopeGgmlTensor vkrope_bind(ggml_backend_vk_context* ctx, vkrope_call& c, RopeSlot slot, const ggml_tensor* t) {
    const vk_subbuffer at = ggml_vk_tensor_subbuffer(ctx, t, true);
    c.buffers.slots[slot] = {at.buffer->buffer, at.offset};
    return rope::ggmlTensor(*t, get_misalign_bytes(ctx, t));
}

// Finds the words of a rotation's frequencies, and makes them if they are new. Returns null if vkrope refuses them.
static vkrope_words* vkrope_find(ggml_backend_vk_context* ctx, vkrope_state& s, vkrope_call& c, const ggml_tensor* op) {
    const ggml_tensor* factors = op->src[2];
    std::array<size_t, 11> key = {};
    memcpy(&key[0], op->op_params, sizeof(RopeGgml));
    key[8] = op->ne[0], key[9] = factors ? size_t(factors->data) : 0, key[10] = factors ? size_t(factors->buffer) : 0;
    vkrope_words& w = s.words[key];
    if (!w.buffer && w.rotation.read(op->op_params, op->ne[0]) == ROPE_SUCCESS) {
        const std::vector<uint32_t> written = w.rotation.words(ROPE_ANGLE_EXACT);
        w.buffer = ggml_vk_create_buffer_device(ctx->device, 2 * ROUNDUP_POW2(4 * written.size(), 256));
        ggml_vk_buffer_write(w.buffer, 0, written.data(), 4 * written.size());
    }
    if (w.buffer) c.buffers.slots[ROPE_SLOT_FREQUENCIES] = {w.buffer->buffer, factors ? w.buffer->size / 2 : 0};
    if (!w.buffer || !factors) return w.buffer ? &w : nullptr;
    const uint64_t at = vkrope_bind(ctx, w.divide, ROPE_SLOT_FACTORS, factors).offset / sizeof(float);
    const RopeFactorsDescription f = {w.rotation.get().frequencies.count, 1, ROPE_ANGLE_EXACT, at};
    w.divide.buffers.slots[ROPE_SLOT_FREQUENCIES] = {w.buffer->buffer, 0};
    w.divide.buffers.slots[ROPE_SLOT_FREQUENCIES_OUT] = c.buffers.slots[ROPE_SLOT_FREQUENCIES];
    w.divide.entry = &*s.plans.try_emplace({&w, ""}).first;
    RopePlan& plan = w.divide.entry->second;
    if (plan.version == 0 && (ropePlanFactors(&f, &s.level.limits, &plan) || s.level.context.prepare(plan))) plan = {};
    return plan.version != 0 ? &w : nullptr;
}

static void vkrope_plan(ggml_backend_vk_context* ctx, vkrope_state& s, const ggml_cgraph* graph, int node, int fused) {
    ggml_tensor** nodes = graph->nodes + node;
    const int normed = nodes[0]->op == GGML_OP_RMS_NORM ? 2 : 0;
    const ggml_tensor *rope = nodes[std::min(normed, fused)], *out = nodes[fused], *x = nodes[0]->src[0];
    if ((rope->op != GGML_OP_ROPE && rope->op != GGML_OP_ROPE_BACK) || !out->buffer) return;
    if (fused != normed && (fused != normed + 2 || out->op != GGML_OP_SET_ROWS)) return;
    if (normed && nodes[1]->op != GGML_OP_MUL) return;
    vkrope_call& c = s.calls[8 * node + fused];
    const auto w = vkrope_find(ctx, s, c, rope);
    if (!w) return;
    RopeGgmlNode n = {};
    n.x = vkrope_bind(ctx, c, ROPE_SLOT_K, x);
    n.positions = vkrope_bind(ctx, c, ROPE_SLOT_POSITIONS, rope->src[1]);
    n.out = vkrope_bind(ctx, c, ROPE_SLOT_K_OUT, out);
    if (fused > normed) n.rows = vkrope_bind(ctx, c, ROPE_SLOT_SLOT_MAP, out->src[1]);
    if (normed) n.weights = vkrope_bind(ctx, c, ROPE_SLOT_K_WEIGHTS, nodes[1]->src[nodes[1]->src[0] == nodes[0]]);
    if (normed) n.norm = 1, n.epsilon = ggml_get_op_params_f32(nodes[0], 0);
    n.backward = rope->op == GGML_OP_ROPE_BACK;
    n.in_place = x->data == out->data && c.buffers.slots[ROPE_SLOT_K].buffer == c.buffers.slots[ROPE_SLOT_K_OUT].buffer;
    if (!c.entry || c.entry->first.first != w || memcmp(c.entry->first.second.data(), &n, sizeof n) != 0)
        c.entry = &*s.plans.try_emplace({w, std::string((const char*)&n, sizeof n)}).first;
    RopePlan& plan = c.entry->second;
    if (!plan.version && (rope::plan(n, w->rotation, s.level.limits, &plan) || s.level.context.prepare(plan)))
        plan = {};
    if (plan.version != 0) c.graph = s.planned;
}

// Plans all of a graph that ggml may hand to vkrope_record, fused or not, and makes its pipelines and frequencies.
static void vkrope_prepare(ggml_backend_vk_context* ctx, const ggml_cgraph* graph) {
    if (!ctx->vkrope) ctx->vkrope = std::shared_ptr<vkrope_state>(new vkrope_state{ctx});
    vkrope_state& s = *ctx->vkrope;
    const bool same = graph->uid != 0 && graph->uid == s.uid; // ggml says that it is the graph before
    if (!ctx->submit_pending) s.level.sets.reuse(same);       // ggml has waited for all graphs before this one
    s.uid = ctx->submit_pending ? 0 : graph->uid, ++s.graph;  // 0: the sets are not those of a graph from the first on
    if (same) return;
    s.planned = s.graph;
    if (s.plans.size() > 1000) s.plans.clear(), s.calls.clear(); // most are of lengths that do not come again
    for (int i = 0; i < graph->n_nodes; ++i)
        for (int fused = 0; fused <= 4 && i + fused < graph->n_nodes; fused += 2) vkrope_plan(ctx, s, graph, i, fused);
}

// Records a node as vkrope_prepare planned it. ggml's own shaders do it if this returns false. Nothing here makes a
// pipeline, waits or reads back. ggml orders its nodes. The division of frequencies is no node, so barriers stand
// around it.
static bool vkrope_record(ggml_backend_vk_context* ctx, vk_context& context, const ggml_tensor* node, int index) {
    vkrope_state& s = *ctx->vkrope;
    const int fused = ctx->num_additional_fused_ops;
    const auto call = s.calls.find(8 * index + fused);
    if (call == s.calls.end() || call->second.graph != s.planned) {
        const bool turns = strstr(ggml_op_name(node->op), "ROPE") || (node->op == GGML_OP_RMS_NORM && fused > 1);
        GGML_ASSERT(!turns || !getenv("VKROPE_OR_ABORT"));
        return false;
    }
    vkrope_call& divide = call->second.entry->first.first->divide;
    if (divide.entry && std::exchange(divide.graph, s.graph) != s.graph) {
        ggml_vk_sync_buffers(ctx, context);
        s.level.execute(ctx, context->s->buffer->buf, divide.entry->second, divide.buffers);
        ggml_vk_sync_buffers(ctx, context);
    }
    s.level.execute(ctx, context->s->buffer->buf, call->second.entry->second, call->second.buffers);
    return true;
}
