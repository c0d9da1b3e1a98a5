// Rotations in groups: of several tokens, of a part of a head, partly empty, and split over several dispatches.
#include "bench/cases/typical_passes.hpp"
#include "plan/planner.h"
#include "support/combinations.hpp"
#include "support/floor.hpp"
#include "support/recording.hpp"
#include "support/rotation.hpp"
#include "support/sample.hpp"
#include <vkrope/rope.hpp>

#include "shaders/interface.h"

#include <algorithm>
#include <cstring>
#include <regex>
#include <set>

namespace {

class Groups : public gpu::OnDevice {
  protected:
    // A GPU's way to cut rotations, whatever the device is.
    RopeLimits gpuLimits() {
        RopeLimits limits = device().limits();
        limits.threads = 16384;
        return limits;
    }
    RopePlan planOf(RopeRotateDescription d, const RopeLimits& limits) {
        const rotation::Inputs inputs = rotation::makeInputs(&d, 1);
        RopePlan plan;
        EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        return plan;
    }
    void expectBits(const RopeRotateDescription& d, const RopeLimits& limits) {
        double worst = 0;
        EXPECT_TRUE(rotation::check(&device(), d, 5, &worst, &limits));
    }
};

RopeRotateDescription describe(uint32_t tokens, uint32_t head_dim, uint32_t q_heads, uint32_t k_heads) {
    RopeRotateDescription d = {};
    d.tokens = tokens;
    d.head_dim = head_dim;
    d.q.heads = q_heads;
    d.k.heads = k_heads;
    return d;
}

// Q and K need six storage buffers to go out of place in one dispatch.
bool goApart(const RopeRotateDescription& d, const RopeLimits& limits) {
    return d.out_of_place != 0 && limits.storage_buffers < 6;
}

TEST_P(Groups, OfTokensAreSplitIntoDispatchesOfTheSameBits) {
    const struct {
        uint32_t tokens, head_dim, q_heads, k_heads, groups;
    } cases[] = {{205, 16, 1, 0, 3}, {205, 16, 1, 1, 3}, {50, 64, 5, 2, 7}}; // of 32 tokens or so, 16 and two
    for (const auto& c : cases) {
        for (const bool out_of_place : {false, true}) {
            for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_BF16}) {
                RopeRotateDescription d = describe(c.tokens, c.head_dim, c.q_heads, c.k_heads);
                d.element = element;
                d.out_of_place = out_of_place;
                RopeLimits limits = gpuLimits();
                limits.group_count[0] = c.groups;
                const RopePlan plan = planOf(d, limits);
                EXPECT_GT(ropeDispatchCount(&plan), 1u);
                EXPECT_GT(rope::passAt(plan, 0).group[2], 1u);
                expectBits(d, limits);
            }
        }
    }
}

TEST_P(Groups, OfSequencesAreSplitIntoDispatchesOfTheSameBits) {
    for (const bool out_of_place : {false, true}) {
        RopeRotateDescription d = describe(40, 16, 1, 1);
        d.batch = 5;
        d.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
        d.out_of_place = out_of_place;
        RopeLimits limits = gpuLimits();
        limits.group_count[1] = 2;
        const RopePlan plan = planOf(d, limits);
        EXPECT_EQ(plan.pass_count, goApart(d, limits) ? 2u : 1u);
        EXPECT_EQ(rope::passAt(plan, 0).parts[0], 3u);
        expectBits(d, limits);
        limits.group_count[0] = 2; // 32 of 40 tokens, at most
        EXPECT_GE(ropeDispatchCount(&plan), 3u);
        expectBits(d, limits);
    }
}

TEST_P(Groups, OfHeadsThatLieFarApartAreSplitIntoDispatchesOfTheSameBits) {
    for (const bool out_of_place : {false, true}) {
        RopeRotateDescription d = describe(64, 64, 5, 2);
        d.q = rope::bhsd(64, 5, 64); // 16 KiB a head
        d.k = rope::bhsd(64, 2, 64);
        d.out_of_place = out_of_place;
        RopeLimits limits = gpuLimits();
        limits.storage_range = 40000;
        const RopePlan plan = planOf(d, limits);
        ASSERT_EQ(plan.pass_count, 2u);
        EXPECT_EQ(rope::passAt(plan, 0).parts[2], 3u) << "of two heads, and one";
        EXPECT_EQ(rope::passAt(plan, 1).parts[2], 1u);
        expectBits(d, limits);
        d.tuning.heads = 4; // of which two or one are there
        expectBits(d, limits);
    }
}

TEST_P(Groups, OfAPartOfAHeadHaveTheCpusBits) {
    const struct {
        uint32_t rotary_begin, rotary_dim;
        RopeElement element;
        uint32_t parts; // of 128 lanes
    } cases[] = {{0, 8192, ROPE_ELEMENT_F32, 8},
                 {0, 8192, ROPE_ELEMENT_F16, 4},
                 {64, 8000, ROPE_ELEMENT_F32, 8}, // 1000 lanes
                 {64, 8000, ROPE_ELEMENT_BF16, 4},
                 {2, 7002, ROPE_ELEMENT_F32, 7}}; // by words
    for (const auto& c : cases) {
        for (uint32_t choice = 0; choice < 4; ++choice) {
            RopeRotateDescription d = describe(3, 8192, 2, 1);
            d.rotation.rotary_begin = c.rotary_begin;
            d.rotation.rotary_dim = c.rotary_dim;
            d.element = c.element;
            d.out_of_place = choice % 2;
            d.rotation.pairing = choice / 2 == 0 ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
            d.rotation.skip_last = choice == 3;
            RopeLimits limits = gpuLimits();
            limits.group_size = 128;
            const RopePlan plan = planOf(d, limits);
            EXPECT_GE(rope::passAt(plan, 0).lane_parts, c.parts);
            expectBits(d, limits);
        }
    }
}

// A group of small heads takes many tokens. The last one here has only a few.
TEST_P(Groups, OfManyTokensLeaveOutWhatDoesNotTurn) {
    const uint32_t heads[][2] = {{1, 0}, {0, 1}, {1, 1}, {3, 2}};
    for (const combinations::Choices& c : share(combinations::of(
             {std::size(heads), 5, 3, 3, 3, 2, 2, 2}, strength(), [](const combinations::Choices& choices) {
                 return choices[1] < 3 || choices[5] == 0; // packed sequences lie in one batch
             }))) {
        RopeRotateDescription d = describe(45, 16, heads[c[0]][0], heads[c[0]][1]);
        d.positions.kind = static_cast<RopePositionKind>(c[1]);
        if (c[1] >= ROPE_POSITIONS_PACKED) d.positions.sequences = 3;
        d.rotation.source = static_cast<RopeSource>(c[2]);
        d.rotation.rows.first_position = -1000;
        d.rotation.rows.count = 2500;
        static const RopePositionElement kPositions[] = {ROPE_POSITION_INT32, ROPE_POSITION_INT64,
                                                         ROPE_POSITION_FLOAT32};
        const bool whole = c[1] >= ROPE_POSITIONS_PACKED || d.rotation.source == ROPE_SOURCE_TABLE;
        d.positions.element = kPositions[whole ? c[3] % 2 : c[3]];
        d.rotation.skip_first = c[4] == 1 ? 3 : 0;
        d.rotation.skip_last = c[4] == 2 ? 20 : 0;
        d.batch = c[5] != 0 ? 3 : 1;
        d.out_of_place = c[6];
        d.count_outside = 1;
        d.rotation.frequencies.sets =
            c[7] != 0 && d.positions.kind != ROPE_POSITIONS_COUNTED && d.rotation.source != 2 ? 3 : 0;
        SCOPED_TRACE("heads " + std::to_string(d.q.heads) + " and " + std::to_string(d.k.heads) + ", positions " +
                     std::to_string(c[1]) + "." + std::to_string(d.positions.element) + ", source " +
                     std::to_string(c[2]) + ", window " + std::to_string(c[4]) + ", batch " + std::to_string(d.batch) +
                     ", out of place " + std::to_string(c[6]) + ", sets " +
                     std::to_string(d.rotation.frequencies.sets));
        expectBits(d, gpuLimits());
    }
}

TEST_P(Groups, OfJoinedSequencesSpanTheirEnds) {
    for (const bool out_of_place : {false, true}) {
        RopeRotateDescription d = describe(13, 16, 1, 1);
        d.batch = 5;
        d.out_of_place = out_of_place;
        const RopePlan plan = planOf(d, gpuLimits());
        ASSERT_EQ(rope::passAt(plan, 0).joined_tokens, 13u);
        EXPECT_GT(rope::passAt(plan, 0).group[2], 13u);
        uint32_t some[3], all[3];
        ropeGroups(&plan, 0, 1, some);
        ropeGroups(&plan, 0, 13, all);
        EXPECT_TRUE(std::equal(some, some + 3, all));
        expectBits(d, gpuLimits());
    }
}

TEST_P(Groups, HaveTheSameBitsWithSharedAnglesAndWithEachThreadsOwn) {
    const uint32_t shapes[][4] = {{80, 48, 5, 2}, {80, 48, 1, 1}, {16, 8, 3, 2}}; // the last has many tokens a group
    for (const combinations::Choices& c : combinations::of({3, 2, 2, 2, 2, 3, 2, std::size(shapes)}, 2)) {
        const uint32_t* shape = shapes[c[7]];
        RopeRotateDescription d = describe(7, shape[0], shape[2], shape[3]);
        d.element = static_cast<RopeElement>(1 + c[0]);
        d.rotation.pairing = static_cast<RopePairing>(1 + c[1]);
        d.out_of_place = c[2];
        d.rotation.rotary_dim = c[3] != 0 ? shape[1] : shape[0];
        d.rotation.angle = static_cast<RopeAngle>(c[4]);
        d.rotation.operation = static_cast<RopeOperation>(c[5]);
        d.rotation.frequencies.sets = c[6] != 0 ? 2 : 0;
        d.rotation.frequencies.scale = 1.25;
        d.positions.element = c[6] != 0 ? ROPE_POSITION_FIXED64 : ROPE_POSITION_INT32;
        RopeLimits shares = gpuLimits(), own = shares;
        own.threads = 64;
        own.group_size = 128;
        const uint32_t heads = d.q.heads + (goApart(d, shares) ? 0 : d.k.heads); // of the first pass
        EXPECT_EQ(rope::passAt(planOf(d, shares), 0).constants[ROPE_ID_SHARES], heads > 1 ? 1u : 0u);
        EXPECT_EQ(rope::passAt(planOf(d, own), 0).constants[ROPE_ID_SHARES], 0u);
        expectBits(d, shares);
        expectBits(d, own);
    }
}

// One recording of a rotation that takes its groups from a buffer.
class IndirectGroups : public Groups {
  protected:
    // Runs the plan by so many groups in x.
    void run(const RopePlan& plan, uint32_t groups_in_x, gpu::Slots* slots) {
        std::string error;
        gpu::GuardedBuffer guarded[ROPE_SLOT_COUNT];
        RopeBuffers buffers = {};
        for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
            const std::vector<uint8_t>& bytes = slots->bytes[slot];
            if (plan.bytes[slot] == 0) continue;
            ASSERT_TRUE(guarded[slot].make(&device(), bytes.data(), bytes.size(), &error)) << error;
            buffers.slots[slot] = guarded[slot].slot();
        }
        ASSERT_EQ(ropeDispatchCount(&plan), 1u);
        uint32_t groups[3];
        ropeGroups(&plan, 0, UINT32_MAX, groups);
        groups[0] = groups_in_x;
        rope::Buffer counts;
        ASSERT_TRUE(device().makeBuffer(sizeof groups, &counts, &error)) << error;
        ASSERT_TRUE(device().upload(counts, 0, groups, sizeof groups, &error)) << error;
        ASSERT_EQ(ropePrepare(device().context(), &plan, 1, nullptr), VK_SUCCESS);
        const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, ROPE_BINDING_COUNT},
                                              {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1}};
        const VkDescriptorPoolCreateInfo info = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 1, 2, sizes};
        VkDescriptorPool pool = VK_NULL_HANDLE;
        VkDescriptorSet set = VK_NULL_HANDLE;
        ASSERT_EQ(device().vk().CreateDescriptorPool(device().handle(), &info, nullptr, &pool), VK_SUCCESS);
        if ((device().limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0) {
            ASSERT_EQ(ropeAllocateSets(device().context(), &plan, &buffers, pool, &set), VK_SUCCESS);
            buffers.sets = &set;
        }
        const auto record = [&](VkCommandBuffer commands) {
            EXPECT_EQ(ropeCmdExecuteIndirect(commands, device().context(), &plan, &buffers, counts.handle(), 0),
                      ROPE_SUCCESS);
        };
        EXPECT_TRUE(device().submit(record, &error)) << error;
        device().vk().DestroyDescriptorPool(device().handle(), pool, nullptr);
        for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
            if (plan.bytes[slot] == 0) continue;
            EXPECT_TRUE(guarded[slot].read(slots->bytes[slot].data(), &error)) << "slot " << slot << ": " << error;
        }
    }
};

// More groups than the plan's touch nothing more, and fewer touch what they have.
TEST_P(IndirectGroups, TouchThePlannedTokensAndNoOthers) {
    const uint32_t shapes[][4] = {{45, 16, 1, 0}, {45, 16, 1, 1}, {9, 64, 5, 2}};
    for (const auto& shape : shapes) {
        RopeRotateDescription d = describe(shape[0], shape[1], shape[2], shape[3]);
        d.element = ROPE_ELEMENT_F32;
        const rotation::Inputs inputs = rotation::makeInputs(&d, 3);
        const RopeLimits limits = gpuLimits();
        RopePlan plan;
        ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots wanted = inputs.slots;
        RopeHostRotate host = {};
        host.positions = inputs.slots.bytes[ROPE_SLOT_POSITIONS].data();
        host.q = inputs.slots.bytes[ROPE_SLOT_Q].data();
        host.k = inputs.slots.bytes[ROPE_SLOT_K].data();
        host.q_out = wanted.bytes[ROPE_SLOT_Q].data();
        host.k_out = wanted.bytes[ROPE_SLOT_K].data();
        ASSERT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
        const uint32_t in_group = rope::passAt(plan, 0).group[2];
        for (const uint32_t tokens : {shape[0] / 2, shape[0], 3 * shape[0], 1000 * shape[0]}) {
            uint32_t groups[3];
            ropeGroups(&plan, 0, tokens, groups);
            const uint32_t there = std::min(tokens, shape[0]), few = (there + in_group - 1) / in_group;
            EXPECT_EQ(groups[0], few);
            if (tokens > shape[0]) groups[0] = tokens / in_group + 1;
            gpu::Slots got = inputs.slots;
            ASSERT_NO_FATAL_FAILURE(run(plan, groups[0], &got));
            const uint32_t turned = std::min(groups[0] * in_group, shape[0]);
            for (const RopeSlot slot : {ROPE_SLOT_Q, ROPE_SLOT_K}) {
                const size_t row = inputs.slots.bytes[slot].size() / shape[0];
                std::vector<uint8_t> expected = inputs.slots.bytes[slot];
                std::copy_n(wanted.bytes[slot].begin(), turned * row, expected.begin());
                EXPECT_EQ(rotation::firstDifference(got.bytes[slot], expected), "") << slot << ", tokens " << tokens;
            }
        }
    }
}

// Noise, but for positions and slots: no two tokens go to one slot.
gpu::Slots anyContents(const RopePlan& plan) {
    sample::Random random(11);
    gpu::Slots slots;
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        std::vector<uint32_t> words(static_cast<size_t>((plan.bytes[slot] + 3) / 4));
        uint32_t count = 0;
        for (uint32_t& word : words)
            word = slot == ROPE_SLOT_POSITIONS || slot == ROPE_SLOT_SLOT_MAP ? count++
                                                                             : static_cast<uint32_t>(random.next());
        slots.bytes[slot].resize(static_cast<size_t>(plan.bytes[slot]));
        if (!words.empty()) std::memcpy(slots.bytes[slot].data(), words.data(), slots.bytes[slot].size());
    }
    return slots;
}

// One pass of each family: builds for odd places and parameters are of the same text. Drivers take seconds for each
// fused pipeline, so a whole run alone has those.
TEST_P(IndirectGroups, BehindThePlannedOnesTouchNothingInAnyFamily) {
    std::set<std::string> shaders;
    RopeLimits limits = gpuLimits();
    limits.enabled |= ROPE_ENABLED_STORAGE_16; // for the plans; those that need it run where it is
    limits.storage_buffers = 12;               // likewise
    for (const measure::TypicalPass& typical : measure::typicalPasses(limits)) {
        RopePlan plan = typical.plan;
        plan.limits.storage_buffers = device().limits().storage_buffers; // or else it lacks some
        const bool lacks = (plan.limits.enabled & ~device().limits().enabled) != 0 ||
                           rope::countStorageBuffers(rope::passAt(plan, 0)) > device().limits().storage_buffers;
        const std::string name = plan.passes[0].shader->name;
        const bool same = std::regex_search(name, std::regex(combinations::whole() ? "odd|parameters" : "odd|fused"));
        if (lacks || same || ropeDispatchCount(&plan) != 1 || !shaders.insert(name).second) continue;
        if (!takes(shaders.size())) continue;
        uint32_t groups[3];
        ropeGroups(&plan, 0, UINT32_MAX, groups);
        gpu::Slots wanted = anyContents(plan), got = wanted;
        ASSERT_NO_FATAL_FAILURE(run(plan, groups[0], &wanted)) << typical.name;
        ASSERT_NO_FATAL_FAILURE(run(plan, 2 * groups[0] + 3, &got)) << typical.name;
        for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot)
            EXPECT_EQ(rotation::firstDifference(got.bytes[slot], wanted.bytes[slot]), "")
                << typical.name << " " << slot;
    }
    EXPECT_GE(shaders.size(), (combinations::whole() ? 12u : 9u) - (gpu::floorAsked() ? 2 : 0));
}

ROPE_ON_EVERY_DEVICE(Groups);
ROPE_ON_EVERY_DEVICE(IndirectGroups);

} // namespace
