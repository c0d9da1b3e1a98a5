// This file runs ROPE and ROPE_BACK of ggml's Vulkan backend by vkrope, with RMS_NORM and MUL before and SET_ROWS
// behind if ggml fuses these. ggml-vulkan.cpp includes it, and apply.py writes the calls there. docs/engines.md
// explains both.
#include <vkrope/rope.h>

struct vkrope_call {  // a node, with those that are fused with it; or the division of frequencies
    size_t graph = 0; // the last that it was planned for; a division is planned once
    RopeGgmlNode described;
    struct vkrope_words* words = nullptr;
    RopePlan plan = {};
    vk::DescriptorBufferInfo slots[ROPE_SLOT_COUNT];
    std::vector<std::pair<RopeDispatch, vk_pipeline>> dispatches; // of the plan, at the raw level
};
#ifdef VKROPE_CONTEXT
#include "vkrope_context.hpp"
#else
#include "vkrope_raw.hpp"
#endif

using vkrope_key = std::array<size_t, 11>; // op_params, the size of a head, and the factors

struct vkrope_words { // the frequencies of one set of parameters, and behind them the same divided by factors
    RopeRotateDescription rotation = {};
    uint8_t axes[ROPE_MAX_PAIRS];
    vk_buffer buffer; // none if vkrope refuses the parameters
    vkrope_call divide;
    size_t divided_in = 0; // the last graph that recorded it
};

struct vkrope_state {
    vkrope_level level; // makes pipelines and records
    std::map<vkrope_key, vkrope_words> words;
    std::unordered_map<int, vkrope_call> calls; // by the node and how many are fused with it
    size_t graph = 0;
};

static RopeGgmlTensor vkrope_bind(ggml_backend_vk_context* ctx, vkrope_call& c, RopeSlot slot, const ggml_tensor* t) {
    RopeGgmlTensor bound = {{}, {}, get_misalign_bytes(ctx, t), uint32_t(t->type), 0};
    std::copy_n(t->ne, 4, bound.ne);
    std::copy_n(t->nb, 4, bound.nb);
    c.slots[slot] = ggml_vk_tensor_subbuffer(ctx, t, true);
    return bound;
}

static void vkrope_write(ggml_backend_vk_context* ctx, const vkrope_key& key, vkrope_words& w) {
    double values[ROPE_MAX_PAIRS];
    std::vector<char> written(ropeFrequencyBytes(ROPE_MAX_PAIRS));
    const auto* parameters = reinterpret_cast<const RopeGgml*>(key.data());
    RopeFrequencies& f = w.rotation.frequencies;
    if (ropeReadGgml(parameters, key[8], values, w.axes, &w.rotation, nullptr) != ROPE_SUCCESS) return;
    if (ropeWriteFrequencies(&f, ROPE_ANGLE_EXACT, written.data(), nullptr) != ROPE_SUCCESS) return;
    w.buffer = ggml_vk_create_buffer_device(ctx->device, 2 * ROUNDUP_POW2(ropeFrequencyBytes(f.count), 256));
    ggml_vk_buffer_write(w.buffer, 0, written.data(), ropeFrequencyBytes(f.count));
    f.values = nullptr; // plans need none
}

static bool vkrope_frequencies(ggml_backend_vk_context* ctx, vkrope_state& s, vkrope_call& c, const ggml_tensor* rope) {
    const ggml_tensor* factors = rope->src[2];
    vkrope_key key = {};
    memcpy(&key[0], rope->op_params, sizeof(RopeGgml));
    key[8] = rope->ne[0], key[9] = factors ? size_t(factors->data) : 0, key[10] = factors ? size_t(factors->buffer) : 0;
    const auto [found, first] = s.words.try_emplace(key);
    vkrope_words& w = found->second;
    if (first) vkrope_write(ctx, key, w);
    if (c.words != &w) c.words = &w, c.described = {}; // another plan
    if (!w.buffer) return false;
    const size_t half = w.buffer->size / 2;
    c.slots[ROPE_SLOT_FREQUENCIES] = vk_subbuffer{w.buffer, factors ? half : 0, half};
    if (!factors) return true;
    const uint64_t at = vkrope_bind(ctx, w.divide, ROPE_SLOT_FACTORS, factors).offset / sizeof(float);
    const RopeFactorsDescription f = {w.rotation.frequencies.count, 1, ROPE_ANGLE_EXACT, at};
    w.divide.slots[ROPE_SLOT_FREQUENCIES] = vk_subbuffer{w.buffer, 0, half};
    w.divide.slots[ROPE_SLOT_FREQUENCIES_OUT] = c.slots[ROPE_SLOT_FREQUENCIES];
    return w.divide.graph != 0 || (ropePlanFactors(&f, &s.level.limits, &w.divide.plan) == ROPE_SUCCESS &&
                                   s.level.prepare(w.divide) && ++w.divide.graph);
}

static void vkrope_plan(ggml_backend_vk_context* ctx, vkrope_state& s, const ggml_cgraph* graph, int node, int fused) {
    ggml_tensor** nodes = graph->nodes + node;
    const int normed = nodes[0]->op == GGML_OP_RMS_NORM ? 2 : 0;
    const ggml_tensor *rope = nodes[std::min(normed, fused)], *out = nodes[fused], *x = nodes[0]->src[0];
    if ((rope->op != GGML_OP_ROPE && rope->op != GGML_OP_ROPE_BACK) || !out->buffer) return;
    if (fused != normed && (fused != normed + 2 || out->op != GGML_OP_SET_ROWS)) return;
    if (normed && nodes[1]->op != GGML_OP_MUL) return;
    vkrope_call& c = s.calls[8 * node + fused];
    c.graph = 0;
    if (!vkrope_frequencies(ctx, s, c, rope)) return;
    RopeGgmlNode n = {};
    n.x = vkrope_bind(ctx, c, ROPE_SLOT_K, x);
    n.positions = vkrope_bind(ctx, c, ROPE_SLOT_POSITIONS, rope->src[1]);
    n.out = vkrope_bind(ctx, c, ROPE_SLOT_K_OUT, out);
    if (fused > normed) n.rows = vkrope_bind(ctx, c, ROPE_SLOT_SLOT_MAP, out->src[1]);
    if (normed) n.weights = vkrope_bind(ctx, c, ROPE_SLOT_K_WEIGHTS, nodes[1]->src[nodes[1]->src[0] == nodes[0]]);
    if (normed) n.norm = 1, n.epsilon = ggml_get_op_params_f32(nodes[0], 0);
    n.backward = rope->op == GGML_OP_ROPE_BACK;
    n.in_place = x->data == out->data && c.slots[ROPE_SLOT_K].buffer == c.slots[ROPE_SLOT_K_OUT].buffer;
    if (memcmp(&n, &c.described, sizeof n) != 0) { // not as in the graph before
        c.described = {};
        if (ropePlanGgml(&n, &c.words->rotation, &s.level.limits, &c.plan) || !s.level.prepare(c)) return;
        c.described = n;
    }
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
    const auto call = s.calls.find(8 * index + fused);
    if (call == s.calls.end() || call->second.graph != s.graph) {
        const bool turns = strstr(ggml_op_name(node->op), "ROPE") || (node->op == GGML_OP_RMS_NORM && fused > 1);
        GGML_ASSERT(!turns || !getenv("VKROPE_OR_ABORT"));
        return false;
    }
    vkrope_words& w = *call->second.words;
    if (w.divide.graph != 0 && w.divided_in != s.graph) {
        vk_context commands = ggml_vk_get_compute_ctx(ctx);
        ggml_vk_sync_buffers(ctx, commands);
        s.level.execute(ctx, w.divide);
        ggml_vk_sync_buffers(ctx, commands);
        w.divided_in = s.graph;
    }
    s.level.execute(ctx, call->second);
    return true;
}
