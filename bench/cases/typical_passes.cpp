// To show a new shader to compilers: a plan that takes it.
#include "bench/cases/typical_passes.hpp"

#include "bench/harness/bench_device.hpp"
#include "plan/pass.h"

#include "plan/element_formats.h"
#include "shaders/modules.h"

#include <algorithm>
#include <utility>

namespace measure {
namespace {

const RopeShader* const kAllShaders[] = {
#define ROPE_SHADER(name, file, family, needs, defines) &rope_shader_##name,
#include "shaders/list.def"
#undef ROPE_SHADER
};

constexpr uint32_t kTokens = 4096;

class PassCollector {
  public:
    explicit PassCollector(const RopeLimits& limits) : limits_(limits), frequencies_(128, 0.5), ones_(128, 1.0f) {}

    void addTables();
    void addRotation(const char* name, uint32_t head_dim, RopeElement element, RopeSource source, RopePairing pairing);
    void addFused(const char* name, uint32_t head_dim, RopeElement element, bool packed, bool normed);
    RopeFusedDescription describeCache(uint32_t head_dim, RopeElement element) const;
    void addPlan(const std::string& name, const RopeFusedDescription& d);
    void addWithUniforms(const std::string& name, const RopeFusedDescription& d);
    void addShift(const std::string& name, RopeFusedDescription d);
    void addCaches();
    void addRelayedHeads();
    void addEngines();
    void addLatents();
    void addHeads();
    void addFewHeads();
    void addHadamard(uint32_t block);
    void addEmbeddings(const char* name, uint32_t dim, RopeElement element, bool learned, uint32_t sequences = 1);
    void addBias(const char* name, RopeBiasKind kind, uint32_t keys, RopeElement element);
    void addRelative(const char* name, RopeRelativeSide side);
    std::vector<TypicalPass> all() const { return all_; }

  private:
    RopeFrequencies frequencies(uint32_t pairs) const { return {frequencies_.data(), pairs, 1, nullptr, 1}; }
    RopeFusedDescription describeFused(uint32_t head_dim, RopeElement element, bool packed) const;
    void add(const std::string& name, RopeResult result, const RopePlan& plan);

    const RopeLimits& limits_;
    std::vector<double> frequencies_;
    std::vector<float> ones_;
    std::vector<TypicalPass> all_;
};

// Adds every pass of the plan as a plan of its own.
void PassCollector::add(const std::string& name, RopeResult result, const RopePlan& plan) {
    mustPlan(result, plan);
    for (uint32_t p = 0; p < plan.pass_count; ++p) {
        TypicalPass pass = {name, plan};
        rope::passAt(pass.plan, 0) = rope::passAt(plan, p);
        rope::finishPass(0, &pass.plan);
        pass.plan.pass_count = 1;
        all_.push_back(pass);
    }
}

void PassCollector::addTables() {
    RopePlan plan;
    add("self-test", ropePlanSelfTest(&limits_, &plan), plan);
    RopeTableDescription d = {};
    d.frequencies = frequencies(64);
    d.tokens = kTokens;
    const RopeResult result = ropePlanTable(&d, &limits_, &plan);
    add("table", result, plan);
    for (const RopeAngle angle : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
        const RopeFactorsDescription factors = {64, 1, angle, 0};
        const RopeResult divided = ropePlanFactors(&factors, &limits_, &plan);
        add(angle == ROPE_ANGLE_EXACT ? "factors" : "factors-compatible", divided, plan);
    }
}

void PassCollector::addRotation(const char* name, uint32_t head_dim, RopeElement element, RopeSource source,
                                RopePairing pairing) {
    RopeRotateDescription d = {};
    d.tokens = kTokens;
    d.head_dim = head_dim;
    d.element = d.element_out = element;
    d.rotation.source = source;
    d.rotation.pairing = d.rotation.pairing_out = pairing;
    d.rotation.frequencies = frequencies(head_dim / 2);
    d.q.heads = 32;
    d.k.heads = 8;
    d.rotation.rows.count = kTokens;
    d.count_outside = source == ROPE_SOURCE_TABLE;
    RopePlan plan;
    const RopeResult result = ropePlanRotate(&d, &limits_, &plan);
    add(name, result, plan);
}

RopeFusedDescription PassCollector::describeFused(uint32_t head_dim, RopeElement element, bool packed) const {
    RopeFusedDescription d = {};
    d.tokens = kTokens;
    d.head_dim = head_dim;
    d.element = d.q.element = d.k.element = d.v.element = element;
    d.rotation.frequencies = frequencies(head_dim / 2);
    d.q.heads = 32;
    d.k.heads = d.v.heads = 8;
    d.out_of_place = 1;
    d.count_outside = 1;
    d.packed_qkv = packed;
    d.cache.one_buffer = packed;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.map_in_positions = 1;
    d.cache.slots = kTokens;
    d.cache.page_size = 16;
    d.cache.map_offset = kTokens;
    d.v.to.offset = packed ? uint64_t{kTokens} * 8 * head_dim : 0;
    return d;
}

void PassCollector::addFused(const char* name, uint32_t head_dim, RopeElement element, bool packed, bool normed) {
    RopeFusedDescription d = describeFused(head_dim, element, packed);
    if (normed) {
        d.q.norm.kind = d.k.norm.kind = ROPE_NORM_RMS;
        d.q.norm.epsilon = d.k.norm.epsilon = 1e-6f;
        d.q.norm.weights = d.k.norm.weights = ones_.data();
    }
    RopePlan plan;
    const RopeResult result = ropePlanFused(&d, &limits_, &plan);
    add(name, result, plan);
}

// Describes a pass into a cache of one element, whose pages a page table finds.
RopeFusedDescription PassCollector::describeCache(uint32_t head_dim, RopeElement element) const {
    RopeFusedDescription d = describeFused(head_dim, ROPE_ELEMENT_F16, true);
    d.cache.kind = ROPE_CACHE_PAGE_TABLE;
    d.cache.map_in_positions = 1;
    d.cache.table_pages = kTokens / 16;
    d.k.element = d.v.element = element;
    d.k.stored_scales.offset = d.v.to.offset / 2;
    d.v.stored_scales.offset = d.k.stored_scales.offset + uint64_t{kTokens} * 8;
    return d;
}

void PassCollector::addPlan(const std::string& name, const RopeFusedDescription& d) {
    RopePlan plan;
    const RopeResult result = ropePlanFused(&d, &limits_, &plan);
    add(name, result, plan);
}

// Adds a plan for a device that binds as few storage buffers as the plan takes: the weights of its norms are uniforms.
void PassCollector::addWithUniforms(const std::string& name, const RopeFusedDescription& d) {
    RopeLimits limits = limits_;
    RopePlan plan;
    RopeResult result = ROPE_ERROR_INVALID;
    for (limits.storage_buffers = 1; result != ROPE_SUCCESS && limits.storage_buffers < 12; ++limits.storage_buffers)
        result = ropePlanFused(&d, &limits, &plan);
    add(name, result, plan);
}

// The keys of such a cache turn where they lie.
void PassCollector::addShift(const std::string& name, RopeFusedDescription d) {
    d.q.heads = d.v.heads = d.packed_qkv = 0;
    d.v.given_scale = {};
    d.rotation.operation = ROPE_OPERATION_SHIFT;
    d.cache.delta = -64;
    addPlan(name, d);
}

// Adds passes into caches of each format that is for caches alone.
void PassCollector::addCaches() {
    RopeNorm norm = {};
    norm.kind = ROPE_NORM_RMS;
    norm.epsilon = 1e-6f;
    for (const RopeElement element : {ROPE_ELEMENT_I8, ROPE_ELEMENT_Q8_0, ROPE_ELEMENT_Q4_0, ROPE_ELEMENT_Q4_1,
                                      ROPE_ELEMENT_Q5_0, ROPE_ELEMENT_F8_E4M3}) {
        const std::string name = element == ROPE_ELEMENT_I8 ? "i8" : rope::formatOf(element).name;
        addPlan("cache-" + name, describeCache(128, element));
        addShift("shift-" + name, describeCache(128, element));
    }
    RopeFusedDescription d = describeCache(128, ROPE_ELEMENT_I8);
    d.k.norm = norm;
    d.k.norm.weights = ones_.data();
    addPlan("cache-i8-norm", d);
    d = describeCache(128, ROPE_ELEMENT_F8_E4M3);
    d.k.given_scale = d.v.given_scale = {ones_.data(), 1, 0};
    addPlan("cache-f8-given", d);
    addShift("shift-f8-given", d);
    d.k.norm = norm;
    addPlan("cache-f8-given-norm", d);
    d = describeCache(96, ROPE_ELEMENT_Q8_0); // three blocks in a head
    addPlan("cache-q8_0-odd", d);
    addShift("shift-q8_0-odd", d);
    d.k.norm = norm;
    d.k.norm.weights = ones_.data();
    d.q.heads = 0;
    d.packed_qkv = 0;
    addWithUniforms("cache-q8_0-odd-norm", d);
}

// Adds heads of 16 bits whose pairs do not lie in quads, and that begin at odd places.
void PassCollector::addRelayedHeads() {
    RopeFusedDescription d = describeFused(80, ROPE_ELEMENT_F16, false);
    d.rotation.rotary_dim = 20;
    d.rotation.frequencies.count = 10;
    d.q.from.offset = 2;
    d.q.norm.kind = ROPE_NORM_RMS;
    d.q.norm.epsilon = 1e-6f;
    d.q.norm.no_weights = 1;
    addPlan("heads-relayed", d);
    d.q.norm.no_weights = 0;
    d.q.norm.weights = ones_.data();
    d.k = d.v = {};
    d.cache = {};
    addWithUniforms("heads-relayed-weights", d);
}

// Adds K's passes with weights and slots in an engine's own buffers, and Q's with a scale of queries beside them.
void PassCollector::addEngines() {
    for (const RopeElement element : {ROPE_ELEMENT_F16, ROPE_ELEMENT_I8}) {
        RopeFusedDescription d = {};
        d.tokens = kTokens;
        d.head_dim = 128;
        d.rotation.frequencies = frequencies(64);
        d.out_of_place = 1;
        d.k.heads = 8;
        d.k.norm.kind = ROPE_NORM_RMS;
        d.k.norm.epsilon = 1e-6f;
        d.cache.kind = ROPE_CACHE_SLOTS;
        d.cache.slots = kTokens;
        d.k.element = d.v.element = element;
        d.k.stored_scales.offset = uint64_t{kTokens} * 8 * 128 / 4;
        RopePlan plan;
        RopeResult result = ropePlanFused(&d, &limits_, &plan);
        add(element == ROPE_ELEMENT_I8 ? "engine-i8" : "engine-f16", result, plan);
        if (element == ROPE_ELEMENT_I8) continue;
        d.k.heads = 0;
        d.cache.kind = ROPE_CACHE_NONE;
        d.q.heads = 32;
        std::swap(d.q.norm, d.k.norm);
        d.query_scale = {ones_.data(), 128, 8192, 0};
        result = ropePlanFused(&d, &limits_, &plan);
        add("engine-query-scale", result, plan);
    }
}

// Adds DeepSeek's rows: Q and K of two widths, of which K's latent is normed.
void PassCollector::addLatents() {
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_BF16}) {
        RopeFusedDescription d = describeFused(192, element, false);
        d.rotation.rotary_begin = 128;
        d.rotation.rotary_dim = 64;
        d.rotation.frequencies = frequencies(32);
        d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
        d.k.heads = 1;
        d.k.head_dim = 576;
        d.k.rotary_begin = 512;
        d.v.heads = 0;
        d.k.norm.kind = ROPE_NORM_RMS;
        d.k.norm.epsilon = 1e-6f;
        d.k.norm.dim = 512;
        addPlan(element == ROPE_ELEMENT_F32 ? "latent-f32" : "latent-bf16", d);
        if (element == ROPE_ELEMENT_F32) continue;
        d.k.element = d.v.element = ROPE_ELEMENT_F8_E4M3;
        d.k.given_scale = {ones_.data(), 1, 0};
        addPlan("latent-f8-given", d);
    }
}

// Adds LayerNorm, V's norm, biases of the projection and the clip, with weights on the device and in the parameters.
void PassCollector::addHeads() {
    RopeFusedDescription d = describeFused(128, ROPE_ELEMENT_BF16, true);
    d.q.norm.kind = d.k.norm.kind = ROPE_NORM_LAYER;
    d.q.norm.epsilon = d.k.norm.epsilon = d.v.norm.epsilon = 1e-6f;
    d.q.norm.weights = d.k.norm.weights = d.q.norm.biases = d.k.norm.biases = ones_.data();
    RopePlan plan;
    add("heads-layer", ropePlanFused(&d, &limits_, &plan), plan);
    d.q.norm.kind = d.k.norm.kind = d.v.norm.kind = ROPE_NORM_RMS;
    d.v.norm.no_weights = 1;
    d.q.norm.biases = d.k.norm.biases = nullptr;
    add("heads-v-norm", ropePlanFused(&d, &limits_, &plan), plan);
    d.k.element = d.v.element = ROPE_ELEMENT_I8;
    d.k.stored_scales.offset = d.v.to.offset / 2;
    d.v.stored_scales.offset = d.k.stored_scales.offset + uint64_t{kTokens} * 8;
    d.q.bias = d.k.bias = d.v.bias = 1;
    d.bias_element = ROPE_ELEMENT_BF16;
    add("heads-i8-biases", ropePlanFused(&d, &limits_, &plan), plan);
    d.q.norm = d.k.norm = d.v.norm = {};
    d.k.element = d.v.element = ROPE_ELEMENT_BF16;
    d.k.stored_scales = d.v.stored_scales = {};
    d.clip = 8;
    add("heads-biases-clip", ropePlanFused(&d, &limits_, &plan), plan);
}

// Adds passes as llama.cpp's quantized caches ask for them: Q and K in blocks of the head, V in blocks of 64; and the
// attention's output, which is turned back.
void PassCollector::addHadamard(uint32_t block) {
    const auto transformed = [block](RopeFusedDescription d) {
        d.q.hadamard = d.k.hadamard = block;
        d.v.hadamard = block != 0 ? 64 : 0;
        return d;
    };
    const std::string name = block != 0 ? "hadamard-" : "plain-";
    for (const RopeElement element : {ROPE_ELEMENT_Q8_0, ROPE_ELEMENT_Q4_0, ROPE_ELEMENT_Q4_1, ROPE_ELEMENT_Q5_0}) {
        RopeFusedDescription d = transformed(describeCache(128, element));
        addPlan(name + rope::formatOf(element).name, d);
        if (element != ROPE_ELEMENT_Q8_0) continue;
        addShift(name + "shift-q8_0", d);
        d.element = d.q.element = ROPE_ELEMENT_F32;
        addPlan(name + "f32-q8_0", d);
        d.element = d.q.element = ROPE_ELEMENT_BF16;
        d.q.norm.kind = d.k.norm.kind = ROPE_NORM_RMS;
        d.q.norm.epsilon = d.k.norm.epsilon = 1e-6f;
        addPlan(name + "bf16-normed-q8_0", d);
    }
    RopeFusedDescription d = transformed(describeFused(128, ROPE_ELEMENT_F32, false));
    d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
    d.q.heads = d.v.heads = 0;
    d.k.element = ROPE_ELEMENT_Q8_0;
    addPlan(name + "llama-k", d); // as ggml has it: K alone, float32
    d = transformed(describeFused(256, ROPE_ELEMENT_F16, false));
    d.rotation.frequencies.count = 128;
    if (block != 0) d.q.hadamard = d.k.hadamard = 256;
    addPlan(name + "f16-of-256", d);
    d = {};
    d.tokens = kTokens;
    d.head_dim = 128;
    d.q.heads = 32;
    d.q.no_rotation = 1;
    d.out_of_place = 1;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.q.hadamard = 64;
    if (block != 0) addPlan(name + "output", d);
}

// Adds models with one K/V head (Gemma 3 270M) and with two (Qwen2.5-0.5B), and a norm of all heads together (OLMo 2).
void PassCollector::addFewHeads() {
    RopeFusedDescription d = describeFused(256, ROPE_ELEMENT_BF16, true);
    d.rotation.frequencies.count = 128;
    d.q.heads = 4;
    d.k.heads = d.v.heads = 1;
    d.v.to.offset = uint64_t{kTokens} * 256;
    d.q.norm.kind = d.k.norm.kind = ROPE_NORM_RMS;
    d.q.norm.epsilon = d.k.norm.epsilon = 1e-6f;
    d.q.norm.weights_element = d.k.norm.weights_element = ROPE_ELEMENT_BF16;
    d.q.norm.weight_plus = d.k.norm.weight_plus = 1;
    addPlan("one-kv-head-normed", d);
    d = describeFused(64, ROPE_ELEMENT_BF16, true);
    d.q.heads = 14;
    d.k.heads = d.v.heads = 2;
    d.v.to.offset = uint64_t{kTokens} * 2 * 64;
    d.q.bias = d.k.bias = d.v.bias = 1;
    d.bias_element = ROPE_ELEMENT_BF16;
    d.k.bias_offset = 14 * 64;
    d.v.bias_offset = 16 * 64;
    addPlan("two-kv-heads-biases", d);
    d = describeFused(128, ROPE_ELEMENT_BF16, true);
    d.q.heads = d.k.heads = d.v.heads = 32;
    d.v.to.offset = uint64_t{kTokens} * 32 * 128;
    d.q.norm.kind = d.k.norm.kind = ROPE_NORM_RMS;
    d.q.norm.epsilon = d.k.norm.epsilon = 1e-6f;
    d.q.norm.all_heads = d.k.norm.all_heads = 1;
    d.q.norm.weights_element = d.k.norm.weights_element = ROPE_ELEMENT_BF16;
    addPlan("norm-all-heads", d);
}

void PassCollector::addEmbeddings(const char* name, uint32_t dim, RopeElement element, bool learned,
                                  uint32_t sequences) {
    RopeAddDescription d = {};
    d.batch = sequences;
    d.positions.same_for_all_sequences = 1;
    d.tokens = 512;
    d.dim = dim;
    d.learned = learned;
    d.element = d.element_out = element;
    d.rows.element = learned ? element : ROPE_ELEMENT_F32;
    d.rows.count = 512;
    if (!learned) d.frequencies = frequencies(dim / 2);
    RopePlan plan;
    const RopeResult result = ropePlanAdd(&d, &limits_, &plan);
    add(name, result, plan);
}

void PassCollector::addBias(const char* name, RopeBiasKind kind, uint32_t keys, RopeElement element) {
    RopeBiasDescription d = {};
    d.kind = kind;
    d.heads = 16;
    d.queries = d.keys = keys;
    d.bidirectional = 1;
    d.least = -64;
    d.most = 64;
    d.element = element;
    RopePlan plan;
    const RopeResult result = ropePlanBias(&d, &limits_, &plan);
    add(name, result, plan);
}

void PassCollector::addRelative(const char* name, RopeRelativeSide side) {
    RopeRelativeDescription d = {};
    d.side = side;
    d.heads = 16;
    d.queries = d.keys = 512;
    d.dim = 64;
    d.least = -16;
    d.most = 16;
    RopePlan plan;
    const RopeResult result = ropePlanRelative(&d, &limits_, &plan);
    add(name, result, plan);
}

void mustTakeEveryShader(const std::vector<TypicalPass>& passes) {
    for (const RopeShader* shader : kAllShaders) {
        const bool taken = std::any_of(passes.begin(), passes.end(),
                                       [&](const TypicalPass& t) { return t.plan.passes[0].shader == shader; });
        if (!taken) throw WrongResult(std::string("no typical plan takes the shader ") + shader->name);
    }
}

} // namespace

std::vector<TypicalPass> typicalPasses(const RopeLimits& limits) {
    constexpr RopeElement f32 = ROPE_ELEMENT_F32, f16 = ROPE_ELEMENT_F16, bf16 = ROPE_ELEMENT_BF16;
    PassCollector collector(limits);
    collector.addTables();
    collector.addRotation("rotate-f32", 128, f32, ROPE_SOURCE_INLINE, ROPE_PAIRING_HALF);
    collector.addRotation("rotate-f16-table", 128, f16, ROPE_SOURCE_TABLE, ROPE_PAIRING_HALF);
    collector.addRotation("rotate-bf16-rows", 128, bf16, ROPE_SOURCE_ROWS, ROPE_PAIRING_HALF);
    collector.addRotation("rotate-f16-interleaved", 128, f16, ROPE_SOURCE_INLINE, ROPE_PAIRING_INTERLEAVED);
    collector.addRotation("rotate-f16-of-20", 20, f16, ROPE_SOURCE_INLINE, ROPE_PAIRING_HALF);
    for (const bool packed : {true, false}) {
        const std::string name = packed ? "fused" : "fused-apart";
        collector.addFused((name + "-f32").c_str(), 128, f32, packed, false);
        collector.addFused((name + "-f16").c_str(), 128, f16, packed, false);
        collector.addFused((name + "-bf16-normed").c_str(), 128, bf16, packed, true);
        collector.addFused((name + "-f16-of-20").c_str(), 20, f16, packed, false);
    }
    collector.addCaches();
    collector.addRelayedHeads();
    collector.addEngines();
    collector.addLatents();
    collector.addHeads();
    collector.addFewHeads();
    collector.addHadamard(128);
    collector.addEmbeddings("add-f32", 128, f32, false);
    collector.addEmbeddings("add-learned-f16", 128, f16, true);
    collector.addEmbeddings("add-f16", 128, f16, false);
    collector.addEmbeddings("add-f32-of-8-sequences", 128, f32, false, 8);
    collector.addEmbeddings("add-f32-of-6", 6, f32, false);
    for (const RopeBiasKind kind : {ROPE_BIAS_ALIBI, ROPE_BIAS_CLIPPED, ROPE_BIAS_T5}) {
        const std::string name = kind == ROPE_BIAS_T5 ? "t5" : kind == ROPE_BIAS_ALIBI ? "alibi" : "clipped";
        collector.addBias((name + "-f32").c_str(), kind, 512, f32);
        collector.addBias((name + "-f16").c_str(), kind, 512, f16);
        collector.addBias((name + "-f16-of-510").c_str(), kind, 510, f16);
        collector.addBias((name + "-f16-of-511").c_str(), kind, 511, f16);
    }
    collector.addRelative("relative-keys", ROPE_RELATIVE_KEYS);
    collector.addRelative("relative-values", ROPE_RELATIVE_VALUES);
    std::vector<TypicalPass> all = collector.all();
    mustTakeEveryShader(all);
    return all;
}

} // namespace measure
