// Plans for the least that Vulkan promises: the shared memory of every shader with a plan's constants, counted in its
// SPIR-V; the shape of its groups; and one storage buffer fewer than a plan would take.
#include "bench/cases/typical_passes.hpp"
#include "shaders/modules.h"
#include "support/fusion.hpp"
#include "support/sample.hpp"

#include "shaders/interface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace {

// ---- What SPIR-V says

// Sums up the variables of the class Workgroup in a shader whose constants are folded in.
class SharedMemory {
  public:
    explicit SharedMemory(const std::vector<uint32_t>& words) {
        for (size_t at = 5; at < words.size(); at += words[at] >> 16) read(&words[at]);
    }
    uint64_t bytes() const { return bytes_; }

  private:
    enum {
        kBool = 20,
        kInt,
        kFloat,
        kVector,
        kArray = 28,
        kStruct = 30,
        kPointer = 32,
        kConstant = 43,
        kVariable = 59
    };
    enum { kWorkgroup = 4 };
    void read(const uint32_t* i) {
        switch (i[0] & 0xFFFF) {
        case kBool:
            sizes_[i[1]] = 4;
            break;
        case kInt:
        case kFloat:
            sizes_[i[1]] = i[2] / 8;
            break;
        case kVector:
            sizes_[i[1]] = sizes_.at(i[2]) * i[3];
            break;
        case kArray:
            if (values_.count(i[3]) != 0 && sizes_.count(i[2]) != 0) sizes_[i[1]] = sizes_[i[2]] * values_[i[3]];
            break;
        case kPointer:
            if (i[2] == kWorkgroup) pointed_[i[1]] = i[3];
            break;
        case kConstant:
            values_[i[2]] = i[3];
            break;
        case kVariable:
            if (i[3] == kWorkgroup) bytes_ += sizes_.at(pointed_.at(i[1]));
            break;
        }
    }
    std::map<uint32_t, uint64_t> sizes_;
    std::map<uint32_t, uint32_t> pointed_, values_;
    uint64_t bytes_ = 0;
};

// The constants alone decide it.
uint64_t sharedBytes(const RopeDispatch& dispatch) {
    static std::map<std::pair<const RopeShader*, std::vector<uint32_t>>, uint64_t> known;
    const std::vector<uint32_t> constants(std::begin(dispatch.constants), std::end(dispatch.constants));
    const auto found = known.find({dispatch.shader, constants});
    if (found != known.end()) return found->second;
    std::vector<uint32_t> words(dispatch.shader->bytes / 4);
    words.resize(ropeSpecialize(&dispatch, words.data()) / 4);
    return known[{dispatch.shader, constants}] = SharedMemory(words).bytes();
}

uint32_t storageBuffers(const RopeDispatch& dispatch) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i)
        count += i != ROPE_BINDING_UNIFORM && dispatch.bindings[i].range != 0;
    return count;
}

bool bindsUniform(const RopePlan& plan) {
    RopeDispatch dispatch;
    bool any = false;
    for (uint32_t i = 0; i < ropeDispatchCount(&plan); ++i) {
        ropeGetDispatch(&plan, i, &dispatch);
        any = any || dispatch.bindings[ROPE_BINDING_UNIFORM].range != 0;
    }
    return any;
}

// Every dispatch keeps to the limits; returns the most shared memory of any.
uint64_t expectWithin(const RopePlan& plan, const RopeLimits& limits) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < std::min(ropeDispatchCount(&plan), 8u); ++i) {
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, i, &dispatch);
        most = std::max(most, sharedBytes(dispatch));
        const uint64_t x = dispatch.constants[ROPE_ID_GROUP_SIZE], y = dispatch.constants[ROPE_ID_GROUP_BLOCKS];
        const uint64_t z = dispatch.constants[ROPE_ID_GROUP_TOKENS];
        EXPECT_LE(x * y * z, limits.group_size) << dispatch.shader->name;
        EXPECT_GE(x * y * z, 1u) << dispatch.shader->name;
        EXPECT_LE(y, 128u) << dispatch.shader->name;
        EXPECT_LE(z, 64u) << dispatch.shader->name;
        EXPECT_LE(dispatch.groups[0], limits.group_count[0]) << dispatch.shader->name;
        EXPECT_LE(dispatch.groups[1], limits.group_count[1]) << dispatch.shader->name;
        EXPECT_LE(dispatch.groups[2], 65535u) << dispatch.shader->name;
        EXPECT_LE(storageBuffers(dispatch), limits.storage_buffers) << dispatch.shader->name;
    }
    EXPECT_LE(most, limits.shared_bytes) << plan.passes[0].shader->name;
    return most;
}

RopeLimits limitsOf(uint32_t threads, uint32_t group_size, uint32_t storage_buffers) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.threads = threads;
    limits.group_size = group_size;
    limits.storage_buffers = storage_buffers;
    limits.enabled = ROPE_ENABLED_STORAGE_16;
    return limits;
}

// ---- A plan of each kind

const std::vector<double> kFrequencies = sample::frequencies(10000, 512);
const std::vector<float> kOnes(1024, 1.0f);

RopeResult planRotate(uint32_t out_of_place, RopeSource source, const RopeLimits& limits, RopePlan* plan) {
    RopeRotateDescription d = {};
    d.tokens = 40;
    d.head_dim = 128;
    d.q.heads = 32;
    d.k.heads = 8;
    d.rotation.source = source;
    d.rotation.rows.count = 100;
    d.count_outside = source == ROPE_SOURCE_TABLE;
    d.out_of_place = out_of_place;
    d.rotation.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    return ropePlanRotate(&d, &limits, plan);
}

RopeResult planFused(bool packed, bool weights, RopeElement cache, const RopeLimits& limits, RopePlan* plan) {
    RopeFusedDescription d = {};
    d.tokens = 40;
    d.head_dim = 128;
    d.q.heads = 32;
    d.k.heads = d.v.heads = 8;
    d.out_of_place = d.count_outside = 1;
    d.rotation.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    d.packed_qkv = d.cache.one_buffer = packed;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.slots = 64;
    d.k.element = d.v.element = cache;
    d.cache.map_in_positions = !weights;
    d.cache.map_offset = weights ? 0 : 40;
    const uint64_t half = uint64_t{64} * 8 * 128;
    d.v.to.offset = packed ? half : 0;
    if (cache == ROPE_ELEMENT_I8) {
        d.k.stored_scales.offset = half / 2;
        d.v.stored_scales.offset = d.k.stored_scales.offset + 64 * 8;
    }
    for (RopeNorm* norm : {&d.q.norm, &d.k.norm}) {
        norm->kind = ROPE_NORM_RMS;
        norm->epsilon = 1e-6f;
        if (!weights) norm->weights = kOnes.data();
    }
    return ropePlanFused(&d, &limits, plan);
}

RopeResult planAdd(bool learned, uint32_t batch, const RopeLimits& limits, RopePlan* plan) {
    RopeAddDescription d = {};
    d.batch = batch;
    d.tokens = 40;
    d.dim = 512;
    d.learned = learned;
    d.rows.count = 100;
    d.positions.same_for_all_sequences = batch > 1;
    if (!learned) d.frequencies = {kFrequencies.data(), 256, 1, nullptr, 1};
    return ropePlanAdd(&d, &limits, plan);
}

RopeResult planBias(RopeBiasKind kind, const RopeLimits& limits, RopePlan* plan) {
    RopeBiasDescription d = {};
    d.kind = kind;
    d.heads = 16;
    d.queries = d.keys = 512;
    d.bidirectional = 1;
    d.least = -64;
    d.most = 64;
    d.element = ROPE_ELEMENT_F16;
    return ropePlanBias(&d, &limits, plan);
}

RopeResult planRelative(RopeRelativeSide side, uint32_t dim, int32_t most, const RopeLimits& limits, RopePlan* plan) {
    RopeRelativeDescription d = {};
    d.side = side;
    d.heads = 16;
    d.queries = d.keys = 512;
    d.dim = dim;
    d.least = -most;
    d.most = most;
    return ropePlanRelative(&d, &limits, plan);
}

struct Kind {
    const char* name;
    std::function<RopeResult(const RopeLimits&, RopePlan*)> plan;
};
#define PLAN(name, call)                                                                                               \
    {                                                                                                                  \
        name, [](const RopeLimits& limits, RopePlan* plan) { return call; }                                            \
    }
const std::vector<Kind> kKinds = {
    PLAN("self-test", ropePlanSelfTest(&limits, plan)),
    PLAN("in place", planRotate(0, ROPE_SOURCE_INLINE, limits, plan)),
    PLAN("out of place", planRotate(1, ROPE_SOURCE_INLINE, limits, plan)),
    PLAN("counted", planRotate(1, ROPE_SOURCE_TABLE, limits, plan)),
    PLAN("fused", planFused(true, false, ROPE_ELEMENT_F16, limits, plan)),
    PLAN("apart", planFused(false, false, ROPE_ELEMENT_F16, limits, plan)),
    PLAN("weights", planFused(true, true, ROPE_ELEMENT_F16, limits, plan)),
    PLAN("integers", planFused(true, true, ROPE_ELEMENT_I8, limits, plan)),
    PLAN("blocks", planFused(false, true, ROPE_ELEMENT_Q8_0, limits, plan)),
    PLAN("learned", planAdd(true, 1, limits, plan)),
    PLAN("sinusoids", planAdd(false, 8, limits, plan)),
    PLAN("alibi", planBias(ROPE_BIAS_ALIBI, limits, plan)),
    PLAN("clipped", planBias(ROPE_BIAS_CLIPPED, limits, plan)),
    PLAN("t5", planBias(ROPE_BIAS_T5, limits, plan)),
    PLAN("keys", planRelative(ROPE_RELATIVE_KEYS, 64, 300, limits, plan)),
    PLAN("many keys", planRelative(ROPE_RELATIVE_KEYS, 1024, 300, limits, plan)),
    PLAN("values", planRelative(ROPE_RELATIVE_VALUES, 64, 300, limits, plan)),
    {"table",
     [](const RopeLimits& limits, RopePlan* plan) {
         RopeTableDescription d = {};
         d.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
         d.tokens = 40;
         return ropePlanTable(&d, &limits, plan);
     }},
    {"factors",
     [](const RopeLimits& limits, RopePlan* plan) {
         const RopeFactorsDescription d = {64, 1, ROPE_ANGLE_EXACT, 0};
         return ropePlanFactors(&d, &limits, plan);
     }},
};
#undef PLAN

// ---- The tests

// Every kind of device chooses its groups by another row of a table; none of them may want more than the limits.
TEST(PlanLeast, SharedMemoryOfEveryShaderIsWithinTheLimit) {
    std::set<std::string> shaders;
    uint64_t most = 0;
    for (const uint32_t threads : {16384u, 64u}) {
        for (const uint32_t group_size : {128u, 256u, 384u, 1024u, 4096u}) {
            const RopeLimits limits = limitsOf(threads, group_size, 9);
            for (const measure::TypicalPass& typical : measure::typicalPasses(limits)) {
                most = std::max(most, expectWithin(typical.plan, limits));
                shaders.insert(typical.plan.passes[0].shader->name);
            }
            for (const Kind& kind : kKinds) {
                RopePlan plan;
                ASSERT_EQ(kind.plan(limits, &plan), ROPE_SUCCESS) << kind.name << ": " << plan.reason.text;
                most = std::max(most, expectWithin(plan, limits));
            }
        }
    }
    EXPECT_GE(shaders.size(), 12u);
    EXPECT_GT(most, 8192u) << "something comes near the limit";
}

TEST(PlanLeast, SharedMemoryOfAnyFusedPassIsWithinTheLimit) {
    uint32_t accepted = 0;
    uint64_t most = 0;
    for (uint64_t seed = 0; seed < 500; ++seed) {
        fusion::Scene scene;
        fusion::draw(seed, &scene);
        const RopeLimits limits = fusion::limitsOf(scene, limitsOf(seed % 2 ? 16384 : 64, 128u << seed % 4, 9));
        RopePlan plan;
        if (ropePlanFused(&scene.d, &limits, &plan) != ROPE_SUCCESS) {
            ASSERT_NE(plan.reason.text[0], '\0');
            continue;
        }
        ++accepted;
        most = std::max(most, expectWithin(plan, limits));
        if (HasFailure()) FAIL() << fusion::describe(scene);
    }
    EXPECT_GT(accepted, 150u);
    EXPECT_GT(most, 4096u);
}

TEST(PlanLeast, SharedMemoryOfRelativeVectorsIsWithinTheLimit) {
    sample::Random random(5);
    for (int i = 0; i < 2000; ++i) {
        RopeLimits limits = limitsOf(i % 2 != 0 ? 64 : 16384, 1u << random.below(11), 4);
        limits.shared_bytes = 16384 + random.below(32768);
        const RopeRelativeSide side = i % 4 < 2 ? ROPE_RELATIVE_KEYS : ROPE_RELATIVE_VALUES;
        RopePlan plan;
        ASSERT_EQ(
            planRelative(side, 1 + random.below(1000), static_cast<int32_t>(1 + random.below(600)), limits, &plan),
            ROPE_SUCCESS)
            << plan.reason.text;
        expectWithin(plan, limits);
    }
}

// One storage buffer fewer, then one fewer again: weights of norms as uniforms, more dispatches, or a sentence that
// says what would help. Below the four that every device has, the limits themselves are wrong.
TEST(PlanLeast, OneBufferFewerIsASplitOrASentence) {
    uint32_t splits = 0, sentences = 0;
    for (const Kind& kind : kKinds) {
        RopePlan whole;
        ASSERT_EQ(kind.plan(limitsOf(16384, 128, 32), &whole), ROPE_SUCCESS) << kind.name << whole.reason.text;
        uint32_t buffers = 0;
        for (uint32_t i = 0; i < ropeDispatchCount(&whole); ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&whole, i, &dispatch);
            buffers = std::max(buffers, storageBuffers(dispatch));
        }
        EXPECT_EQ(whole.limits.storage_buffers, 32u);
        while (--buffers != 0) {
            const RopeLimits limits = limitsOf(16384, 128, buffers);
            RopePlan plan;
            if (kind.plan(limits, &plan) == ROPE_SUCCESS) {
                expectWithin(plan, limits);
                const bool reads_uniforms = !bindsUniform(whole) && bindsUniform(plan); // weights of norms
                EXPECT_TRUE(reads_uniforms || ropeDispatchCount(&plan) > ropeDispatchCount(&whole)) << kind.name;
                ++splits;
                continue;
            }
            const std::string reason = plan.reason.text;
            const std::string has = " storage buffers, and limits.storage_buffers is " + std::to_string(buffers) + "; ";
            const size_t at = reason.find(has);
            ASSERT_NE(at, std::string::npos) << kind.name << ": " << reason;
            const std::string advice = reason.substr(at + has.size());
            EXPECT_EQ(advice.find("set ") == 0, advice != "ropeLimitsFromDevice fills it in") << reason;
            EXPECT_TRUE(buffers < 4 || advice.find("set ") == 0) << kind.name << ": " << reason;
            EXPECT_EQ(plan.pass_count, 0u);
            ++sentences;
        }
    }
    EXPECT_GE(splits, 5u);
    EXPECT_GE(sentences, 20u);
}

// Vulkan promises so many storage buffers of a set, so many descriptors that are pushed, and bytes of push constants.
TEST(PlanLeast, BindingsFitASetAndAPushOnEveryDevice) {
    EXPECT_LE(ROPE_BINDING_COUNT - 1, 24u);
    EXPECT_LE(ROPE_BINDING_COUNT, 32u);
    EXPECT_EQ(ROPE_PUSH_WORDS * 4, 128u);
}

} // namespace
