// This file runs ROPE and ROPE_BACK of ggml's Vulkan backend by vkrope, with RMS_NORM and MUL before and SET_ROWS
// behind if ggml fuses these. ggml-vulkan.cpp includes it, and apply.py writes the calls there. ENGINES.md explains
// both.
#include <vkrope/rope.h>

struct vkrope_call {  // a node, with those that are fused with it; or the division of frequencies
    size_t graph = 0; // the last that it was planned for
    RopeFusedDescription described;
    RopePlan plan = {};
    vk::DescriptorBufferInfo slots[ROPE_SLOT_COUNT];
    std::vector<std::pair<RopeDispatch, vk_pipeline>> dispatches; // of the plan, at the raw level
    struct vkrope_words* words;
};
#ifdef VKROPE_CONTEXT
#include "vkrope_context.hpp"
#else
#include "vkrope_raw.hpp"
#endif

struct vkrope_words { // the frequencies of one set of parameters, and behind them the same divided by factors
    RopeRotateDescription rotation = {};
    uint8_t axes[ROPE_MAX_PAIRS];
    vk_buffer buffer;
    vkrope_call divide;
    size_t divided_in = 0; // the last graph that recorded it
};

struct vkrope_state {
    vkrope_level level;                                   // makes pipelines and records
    std::map<std::array<size_t, 11>, vkrope_words> words; // by op_params, the size of a head, and the factors
    std::map<std::pair<int, int>, vkrope_call> calls;     // by the node and how many are fused with it
    size_t graph = 0;
};

static RopeLayout vkrope_bind(ggml_backend_vk_context* ctx, vkrope_call& c, RopeSlot slot, const ggml_tensor* t) {
    const size_t bytes = ggml_type_size(t->type);
    c.slots[slot] = ggml_vk_tensor_subbuffer(ctx, t, true);
    return {get_misalign_bytes(ctx, t) / bytes, t->nb[3] / bytes, t->nb[2] / bytes, t->nb[1] / bytes};
}

static bool vkrope_frequencies(ggml_backend_vk_context* ctx, vkrope_state& s, vkrope_call& c, const ggml_tensor* rope) {
    const ggml_tensor* factors = rope->src[2];
    std::array<size_t, 11> key = {};
    memcpy(&key[0], rope->op_params, sizeof(RopeGgml));
    key[8] = rope->ne[0], key[9] = factors ? size_t(factors->data) : 0, key[10] = factors ? size_t(factors->buffer) : 0;
    vkrope_words& w = s.words[key];
    if (!w.buffer) {
        double values[ROPE_MAX_PAIRS];
        std::vector<char> written(ropeFrequencyBytes(ROPE_MAX_PAIRS));
        const auto* parameters = reinterpret_cast<const RopeGgml*>(rope->op_params);
        if (ropeReadGgml(parameters, rope->ne[0], values, w.axes, &w.rotation, nullptr) != ROPE_SUCCESS) return false;
        const RopeFrequencies& f = w.rotation.frequencies;
        if (ropeWriteFrequencies(&f, ROPE_ANGLE_EXACT, written.data(), nullptr) != ROPE_SUCCESS) return false;
        w.buffer = ggml_vk_create_buffer_device(ctx->device, 2 * ROUNDUP_POW2(ropeFrequencyBytes(f.count), 256));
        ggml_vk_buffer_write(w.buffer, 0, written.data(), ropeFrequencyBytes(f.count));
        w.rotation.frequencies.values = nullptr; // plans need none
    }
    const size_t half = w.buffer->size / 2;
    c.words = &w;
    c.slots[ROPE_SLOT_FREQUENCIES] = vk_subbuffer{w.buffer, factors ? half : 0, half};
    if (!factors) return true;
    const uint64_t at = vkrope_bind(ctx, w.divide, ROPE_SLOT_FACTORS, factors).offset;
    const RopeFactorsDescription f = {w.rotation.frequencies.count, 1, ROPE_ANGLE_EXACT, at};
    w.divide.slots[ROPE_SLOT_FREQUENCIES] = vk_subbuffer{w.buffer, 0, half};
    w.divide.slots[ROPE_SLOT_FREQUENCIES_OUT] = c.slots[ROPE_SLOT_FREQUENCIES];
    if (w.divide.plan.version != 0) return true;
    return ropePlanFactors(&f, &s.level.limits, &w.divide.plan) == ROPE_SUCCESS && s.level.prepare(w.divide);
}

// Describes the norm of RMS_NORM and MUL. Weights may differ by head and by token.
static bool vkrope_norm(ggml_backend_vk_context* ctx, vkrope_call& c, ggml_tensor** nodes, RopeNorm& norm) {
    const ggml_tensor *x = nodes[0]->src[0], *w = nodes[1]->src[nodes[1]->src[0] == nodes[0]];
    if (nodes[1]->op != GGML_OP_MUL || w->type != GGML_TYPE_F32 || w->ne[0] != x->ne[0] || w->ne[3] != 1) return false;
    if ((w->ne[1] != 1 && w->ne[1] != x->ne[1]) || (w->ne[2] != 1 && w->ne[2] != x->ne[2])) return false;
    const RopeLayout weights = vkrope_bind(ctx, c, ROPE_SLOT_K_WEIGHTS, w);
    norm.kind = ROPE_NORM_RMS;
    norm.epsilon = ggml_get_op_params_f32(nodes[0], 0);
    norm.weights_on_device = 1;
    norm.weights_offset = weights.offset;
    norm.weights_token_stride = w->ne[2] > 1 ? weights.token_stride : 0;
    norm.weights_head_stride = w->ne[1] > 1 ? weights.head_stride : 0;
    return true;
}

static void vkrope_plan(ggml_backend_vk_context* ctx, vkrope_state& s, const ggml_cgraph* graph, int node, int fused) {
    ggml_tensor** nodes = graph->nodes + node;
    const int normed = nodes[0]->op == GGML_OP_RMS_NORM ? 2 : 0;
    const ggml_tensor *rope = nodes[std::min(normed, fused)], *out = nodes[fused], *x = nodes[0]->src[0];
    if ((rope->op != GGML_OP_ROPE && rope->op != GGML_OP_ROPE_BACK) || !out->buffer) return;
    if (fused != normed && (fused != normed + 2 || out->op != GGML_OP_SET_ROWS)) return;
    vkrope_call& c = s.calls[{node, fused}];
    const size_t planned_in = c.graph;
    c.graph = 0;
    if (!vkrope_frequencies(ctx, s, c, rope)) return;
    RopeFusedDescription f = {};
    RopeRotateDescription& d = f.rotate = c.words->rotation;
    d.batch = x->ne[3], d.tokens = x->ne[2];
    d.operation = rope->op == GGML_OP_ROPE_BACK ? ROPE_OPERATION_TRANSPOSE : ROPE_OPERATION_FORWARD;
    d.element_in = x->type == GGML_TYPE_F16 ? ROPE_ELEMENT_F16 : ROPE_ELEMENT_F32;
    d.element_out = out->type == GGML_TYPE_F16 ? ROPE_ELEMENT_F16 : ROPE_ELEMENT_F32;
    d.positions.same_for_all_sequences = 1;
    d.positions.offset = vkrope_bind(ctx, c, ROPE_SLOT_POSITIONS, rope->src[1]).offset;
    d.k = {uint32_t(x->ne[1]), vkrope_bind(ctx, c, ROPE_SLOT_K, x), vkrope_bind(ctx, c, ROPE_SLOT_K_OUT, out)};
    d.out_of_place = x->data != out->data || c.slots[ROPE_SLOT_K].buffer != c.slots[ROPE_SLOT_K_OUT].buffer;
    if (normed && !vkrope_norm(ctx, c, nodes, f.k_norm)) return;
    if (fused > normed) {
        f.cache.kind = ROPE_CACHE_SLOTS;
        f.cache.slots = out->ne[1];
        f.cache.k = {d.k.destination.offset, 0, 0, d.k.destination.head_stride, d.head_dim};
        f.cache.slot_map_apart = 1;
        f.cache.slot_map_element = ROPE_POSITION_INT64;
        f.cache.slot_map_offset = vkrope_bind(ctx, c, ROPE_SLOT_SLOT_MAP, out->src[1]).offset;
    }
    const RopeLimits* limits = &s.level.limits;
    const bool same = planned_in != 0 && memcmp(&f, &c.described, sizeof f) == 0; // as in a graph before
    if (!same && (fused ? ropePlanFused(&f, limits, &c.plan) : ropePlanRotate(&d, limits, &c.plan)) != ROPE_SUCCESS)
        return;
    if (!same && !s.level.prepare(c)) return;
    if (!same) c.described = f;
    c.graph = s.graph;
}

// Plans all of a graph that ggml may hand to vkrope_record, fused or not, and makes its pipelines and frequencies.
static void vkrope_prepare(ggml_backend_vk_context* ctx, const ggml_cgraph* graph) {
    if (!ctx->vkrope) ctx->vkrope = std::shared_ptr<vkrope_state>(new vkrope_state{ctx});
    vkrope_state& s = *ctx->vkrope;
    s.level.begin(ctx);
    ++s.graph;
    for (int i = 0; i < graph->n_nodes; ++i)
        for (int fused = 0; fused <= 4 && i + fused < graph->n_nodes; fused += 2) vkrope_plan(ctx, s, graph, i, fused);
}

// Records a node as vkrope_prepare planned it. ggml's own shaders do it if this returns false. Nothing here makes a
// pipeline, waits or reads back. ggml orders its nodes. The division of frequencies is no node, so barriers stand
// around it.
static bool vkrope_record(ggml_backend_vk_context* ctx, const ggml_tensor* node, int index) {
    vkrope_state& s = *ctx->vkrope;
    const int fused = ctx->num_additional_fused_ops;
    const auto call = s.calls.find({index, fused});
    const bool planned = call != s.calls.end() && call->second.graph == s.graph;
    const bool turns = strstr(ggml_op_name(node->op), "ROPE") || (node->op == GGML_OP_RMS_NORM && fused > 1);
    GGML_ASSERT(planned || !turns || !getenv("VKROPE_OR_ABORT"));
    if (!planned) return false;
    vkrope_words& w = *call->second.words;
    if (w.divide.plan.version != 0 && w.divided_in != s.graph) {
        vk_context commands = ggml_vk_get_compute_ctx(ctx);
        ggml_vk_sync_buffers(ctx, commands);
        s.level.execute(ctx, w.divide);
        ggml_vk_sync_buffers(ctx, commands);
        w.divided_in = s.graph;
    }
    s.level.execute(ctx, call->second);
    return true;
}
