// This file runs passes of ggml's Vulkan backend by vkrope: ROPE and ROPE_BACK, with RMS_NORM and MUL before if ggml
// fuses these, and all that leads to a cache of K or V. ggml-vulkan.cpp includes it, and apply.py writes the calls
// there. docs/llama.md explains both.
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

// Nodes of ggml's graph that are one pass. Null: there is no such node or tensor.
struct vkrope_pass {
    const ggml_tensor *x, *norm, *weights, *rope, *rows, *out;
    uint32_t hadamard;                     // elements of a block
    std::vector<const ggml_tensor*> nodes; // of a pass that vkrope has found: all but views
};

// A plan is found by its frequencies and the bytes of its RopeGgmlNode, so the layers of a model share plans. The empty
// text stands for the plan that divides the frequencies by factors. V has no frequencies.
using vkrope_plans = std::map<std::pair<struct vkrope_words*, std::string>, RopePlan>;

struct vkrope_call {  // what is bound to the plan of a pass
    size_t graph = 0; // the last that it was planned for; of a division, the last that recorded it
    vkrope_plans::value_type* entry = nullptr;
    RopeBuffers buffers = {};
    const ggml_tensor* out = nullptr;
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
    std::unordered_map<int, vkrope_call> calls = {}; // by the node and how many ggml fuses with it, or the last node
    // By the node of a found pass, in the last graph that was planned; true: the pass is recorded at its turn.
    std::unordered_map<int, std::pair<vkrope_call*, bool>> turns = {};
    std::unordered_map<const ggml_tensor*, int> order = {}; // of that graph's nodes
    const ggml_cgraph* cgraph = nullptr;                    // that graph, while it is planned
    vk_buffer numbers;                                      // 0, 1, 2, ...: the rows of a shift
    size_t graph = 0, planned = 0, uid = 0; // the last, the last that was planned, and ggml's number of the last
};

// ---- Which nodes are a pass

static bool vkrope_is_hadamard(const ggml_tensor* t) { // op_params[1] is ggml's hint
    return t && t->op == GGML_OP_MUL_MAT && t->op_params[1] == 1 && t->ne[0] >= 64 && t->ne[0] <= 512;
}

static bool vkrope_is_rope(const ggml_tensor* t) { return t->op == GGML_OP_ROPE || t->op == GGML_OP_ROPE_BACK; }

// VKROPE_OR_ABORT ends the program where ggml's own shaders turn what vkrope can. With several axes 256 pairs turn.
static void vkrope_complain(const ggml_tensor* t) {
    const int most = t->op_params[2] & GGML_ROPE_TYPE_MROPE ? 512 : 2 * ROPE_MAX_PAIRS;
    GGML_ASSERT(!vkrope_is_rope(t) || t->op_params[1] > most || !getenv("VKROPE_OR_ABORT"));
}

// Returns the node that made a tensor, behind views of all of it. Returns null if something else needs the result.
static const ggml_tensor* vkrope_maker(const vkrope_state& s, const ggml_tensor* t) {
    for (;; t = t->src[0]) {
        const auto at = s.order.find(t);
        if (at == s.order.end() || t->flags & GGML_TENSOR_FLAG_OUTPUT) return nullptr;
        if (ggml_node_get_use_count(s.cgraph, at->second) != 1 + (t->src[1] == t)) return nullptr; // a cast uses itself
        if (t->op != GGML_OP_VIEW && t->op != GGML_OP_RESHAPE) return t;
        if (!ggml_is_contiguous(t) || ggml_nelements(t) != ggml_nelements(t->src[0])) return nullptr;
    }
}

// K and V to a cache: [ROPE,] [MUL_MAT by Hadamard's matrix,] SET_ROWS.
static bool vkrope_find_store(const vkrope_state& s, const ggml_tensor* last, vkrope_pass& p) {
    if (last->op != GGML_OP_SET_ROWS) return false;
    p.nodes = {p.out = last}, p.rows = last->src[1], p.x = last->src[0];
    const ggml_tensor* made = vkrope_maker(s, p.x);
    if (vkrope_is_hadamard(made)) {
        p.nodes.push_back(made);
        p.hadamard = made->ne[0], p.x = made->src[1];
        made = vkrope_maker(s, p.x);
    }
    if (made && made->op == GGML_OP_ROPE) p.nodes.push_back(p.rope = made), p.x = made->src[0];
    return p.nodes.size() > 1;
}

// The same behind RMS_NORM and MUL.
static bool vkrope_find_normed_store(const vkrope_state& s, const ggml_tensor* last, vkrope_pass& p) {
    if (!vkrope_find_store(s, last, p) || !p.rope) return false;
    const ggml_tensor* mul = vkrope_maker(s, p.x);
    for (int i = 0; mul && mul->op == GGML_OP_MUL && i < 2; ++i) {
        p.norm = vkrope_maker(s, mul->src[i]), p.weights = mul->src[1 - i];
        if (!p.norm || p.norm->op != GGML_OP_RMS_NORM) continue;
        p.nodes.insert(p.nodes.end(), {mul, p.norm});
        p.x = p.norm->src[0];
        return true;
    }
    return false;
}

// A shift of K's cache: CPY to float32, MUL_MAT, ROPE, MUL_MAT, CPY back.
static bool vkrope_find_shift(const vkrope_state& s, const ggml_tensor* last, vkrope_pass& p) {
    if (last->op != GGML_OP_CPY || !ggml_is_quantized(last->type)) return false;
    const ggml_tensor* turned = vkrope_maker(s, last->src[0]);
    p.rope = vkrope_is_hadamard(turned) ? vkrope_maker(s, turned->src[1]) : nullptr;
    const ggml_tensor* back = p.rope && p.rope->op == GGML_OP_ROPE ? vkrope_maker(s, p.rope->src[0]) : nullptr;
    if (!vkrope_is_hadamard(back) || back->ne[0] != turned->ne[0]) return false;
    const ggml_tensor* widened = vkrope_maker(s, back->src[1]);
    if (!widened || widened->op != GGML_OP_CPY || widened->src[0]->data != last->data) return false;
    p.nodes = {last, turned, p.rope, back, widened};
    p.x = p.out = widened->src[0], p.hadamard = turned->ne[0];
    return ggml_are_same_shape(p.x, last) && ggml_are_same_stride(p.x, last) && p.x->type == last->type;
}

// True if the pass may be recorded at its first node's turn: its other sources are there, and nothing reads the cache
// before the pass is done by ggml's order.
static bool vkrope_may_begin(const vkrope_state& s, const vkrope_pass& p, int first) {
    const auto root = [](const ggml_tensor* t) { return t && t->view_src ? t->view_src : t; };
    std::vector<const ggml_tensor*> sources = {p.weights, p.rows};
    if (p.rope) sources.insert(sources.end(), p.rope->src + 1, p.rope->src + 3);
    for (const ggml_tensor* t : sources) {
        const auto made = s.order.find(root(t));
        if (made != s.order.end() && made->second >= first) return false;
    }
    for (int i = first; s.cgraph->nodes[i] != p.nodes[0]; ++i) {
        const ggml_tensor* t = s.cgraph->nodes[i];
        if (ggml_op_is_empty(t->op) || std::count(p.nodes.begin(), p.nodes.end(), t)) continue;
        for (const ggml_tensor* source : t->src)
            if (root(source) == root(p.out)) return false;
    }
    for (const ggml_tensor* t : p.nodes) // some may not be computed this time
        if ((t->flags ^ p.nodes[0]->flags) & ~GGML_TENSOR_FLAG_OUTPUT) return false;
    return p.out->buffer && p.x->buffer;
}

// ---- Plans

static RopeGgmlTensor vkrope_bind(ggml_backend_vk_context* ctx, vkrope_call& c, RopeSlot slot, const ggml_tensor* t) {
    const vk_subbuffer at = ggml_vk_tensor_subbuffer(ctx, t, true);
    c.buffers.slots[slot] = {at.buffer->buffer, at.offset};
    return rope::ggmlTensor(*t, get_misalign_bytes(ctx, t));
}

static void vkrope_write(ggml_backend_vk_context* ctx, vk_buffer& buffer, size_t bytes,
                         const std::vector<uint32_t>& words) {
    buffer = ggml_vk_create_buffer_device(ctx->device, bytes);
    ggml_vk_buffer_write(buffer, 0, words.data(), 4 * words.size());
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
        if (!written.empty()) vkrope_write(ctx, w.buffer, 2 * ROUNDUP_POW2(4 * written.size(), 256), written);
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

// The rows of a shift: each token of the cache is its own slot.
static RopeGgmlTensor vkrope_bind_numbers(ggml_backend_vk_context* ctx, vkrope_state& s, vkrope_call& c, size_t count) {
    std::vector<uint32_t> numbers(count);
    for (size_t i = 0; i < count; ++i) numbers[i] = i;
    if (!s.numbers || s.numbers->size < 4 * count) vkrope_write(ctx, s.numbers, 4 * count, numbers);
    c.buffers.slots[ROPE_SLOT_SLOT_MAP] = {s.numbers->buffer, 0};
    return {{int64_t(count), 1, 1, 1}, {4, 4 * count, 4 * count, 4 * count}, 0, GGML_TYPE_I32, 0};
}

// Binds the tensors of a pass and finds its plan, or makes it. Returns false if vkrope refuses the pass.
static bool vkrope_plan(ggml_backend_vk_context* ctx, vkrope_state& s, const vkrope_pass& p, vkrope_call& c) {
    vkrope_words* w = p.rope ? vkrope_find(ctx, s, c, p.rope) : nullptr;
    if (p.rope && !w) return false;
    const bool shifts = p.x == p.out;
    RopeGgmlNode n = {};
    n.x = vkrope_bind(ctx, c, shifts ? ROPE_SLOT_K_OUT : ROPE_SLOT_K, p.x);
    n.out = vkrope_bind(ctx, c, ROPE_SLOT_K_OUT, p.out);
    if (p.rope) n.positions = vkrope_bind(ctx, c, ROPE_SLOT_POSITIONS, p.rope->src[1]);
    if (p.rows) n.rows = vkrope_bind(ctx, c, ROPE_SLOT_SLOT_MAP, p.rows);
    if (shifts) n.rows = vkrope_bind_numbers(ctx, s, c, p.x->ne[2]);
    if (p.weights) n.weights = vkrope_bind(ctx, c, ROPE_SLOT_K_WEIGHTS, p.weights);
    if (p.norm) n.norm = 1, n.epsilon = ggml_get_op_params_f32(p.norm, 0);
    n.backward = p.rope && p.rope->op == GGML_OP_ROPE_BACK;
    n.hadamard = p.hadamard;
    if (!p.rope) { // a V's blocks, which lie beside each other
        const int64_t tokens = p.rows->ne[0], heads = p.out->ne[0] / p.hadamard;
        const uint64_t head = p.x->nb[0] * p.hadamard, token = head * heads;
        n.x = {{p.hadamard, heads, tokens, 1}, {p.x->nb[0], head, token, token * tokens}, n.x.offset, n.x.type, 0};
    }
    n.in_place = p.x->data == p.out->data && p.x->buffer == p.out->buffer;
    if (!c.entry || c.entry->first.first != w || c.entry->first.second != std::string_view((const char*)&n, sizeof n))
        c.entry = &*s.plans.try_emplace({w, std::string((const char*)&n, sizeof n)}).first;
    RopePlan& plan = c.entry->second;
    const RopeRotation* rotation = w ? &w->rotation.get() : nullptr;
    if (!plan.version && (ropePlanGgml(&n, rotation, &s.level.limits, &plan) || s.level.context.prepare(plan)))
        plan = {};
    if (plan.version == 0) return false;
    c.graph = s.planned, c.out = p.out;
    return true;
}

// A rotation whose result other nodes of ggml's take: alone, or with RMS_NORM and MUL if ggml fuses these.
static void vkrope_plan_rotation(ggml_backend_vk_context* ctx, vkrope_state& s, int node) {
    ggml_tensor** nodes = s.cgraph->nodes + node;
    vkrope_pass p = {};
    int fused = 0;
    if (nodes[0]->op == GGML_OP_RMS_NORM && node + 2 < s.cgraph->n_nodes && nodes[1]->op == GGML_OP_MUL) {
        p.norm = nodes[0], p.weights = nodes[1]->src[nodes[1]->src[0] == nodes[0]];
        fused = 2;
    }
    p.rope = p.out = nodes[fused];
    p.x = nodes[0]->src[0];
    if (vkrope_is_rope(p.rope) && p.out->buffer && p.x->buffer) vkrope_plan(ctx, s, p, s.calls[8 * node + fused]);
}

// Looks for a pass that ends at a node, and gives its nodes their turns.
static void vkrope_plan_chain(ggml_backend_vk_context* ctx, vkrope_state& s, int last) {
    for (const auto find : {vkrope_find_normed_store, vkrope_find_store, vkrope_find_shift}) {
        vkrope_pass p = {};
        if (!find(s, s.cgraph->nodes[last], p)) continue;
        int first = last;
        for (const ggml_tensor* t : p.nodes) first = std::min(first, s.order.at(t));
        vkrope_call& c = s.calls[8 * last + 7];
        if (!vkrope_may_begin(s, p, first) || !vkrope_plan(ctx, s, p, c)) continue;
        for (const ggml_tensor* t : p.nodes) s.turns[s.order.at(t)] = {&c, s.order.at(t) == first};
        return;
    }
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
    s.turns.clear(), s.order.clear(), s.cgraph = graph;
    for (int i = 0; i < graph->n_nodes; ++i) s.order[graph->nodes[i]] = i;
    for (int i = 0; i < graph->n_nodes; ++i) {
        vkrope_plan_rotation(ctx, s, i);
        vkrope_plan_chain(ctx, s, i);
    }
}

// ---- Recording

// ggml orders its nodes, and a found pass writes its cache before ggml's order says so, unless ggml fuses these nodes
// too: a barrier stands before it if something that touches the cache's buffer has none behind it yet.
static void vkrope_wait_for_cache(ggml_backend_vk_context* ctx, vk_context& context, const ggml_tensor* out) {
    for (const auto* nodes : {&ctx->unsynced_nodes_read, &ctx->unsynced_nodes_written})
        for (const ggml_tensor* t : *nodes)
            if (t->buffer == out->buffer) return ggml_vk_sync_buffers(ctx, context);
}

// Records a node as vkrope_prepare planned it. ggml's own shaders do it if this returns false. Nothing here makes a
// pipeline, waits or reads back. The division of frequencies is no node, so barriers stand around it.
static bool vkrope_record(ggml_backend_vk_context* ctx, vk_context& context, const ggml_cgraph* graph, int index) {
    vkrope_state& s = *ctx->vkrope;
    const int fused = ctx->num_additional_fused_ops;
    const auto turn = s.turns.find(index);
    const auto found = s.calls.find(8 * index + fused);
    vkrope_call* call = found != s.calls.end() ? &found->second : nullptr;
    if (turn != s.turns.end()) {
        if (!turn->second.second) return true;
        call = turn->second.first;
        if (call->out != graph->nodes[index + fused]) vkrope_wait_for_cache(ctx, context, call->out);
    }
    if (!call || call->graph != s.planned) {
        for (int i = index; i <= index + fused; ++i) vkrope_complain(graph->nodes[i]);
        return false;
    }
    if (graph->nodes[index]->op == GGML_OP_RMS_NORM && ctx->do_add_rms_partials_offset_calculation) { // an ADD began it
        ctx->prealloc_size_add_rms_partials_offset += ggml_vk_rms_partials_size(ctx, graph->nodes[index]->src[0]);
        ctx->do_add_rms_partials = ctx->do_add_rms_partials_offset_calculation = false;
    }
    vkrope_words* words = call->entry->first.first;
    if (words && words->divide.entry && std::exchange(words->divide.graph, s.graph) != s.graph) {
        ggml_vk_sync_buffers(ctx, context);
        s.level.execute(ctx, context->s->buffer->buf, words->divide.entry->second, words->divide.buffers);
        ggml_vk_sync_buffers(ctx, context);
    }
    s.level.execute(ctx, context->s->buffer->buf, call->entry->second, call->buffers);
    return true;
}
