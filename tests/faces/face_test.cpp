// The C++ face of rope.h.
#include "support/gpu.hpp"
#include "support/sample.hpp"
#include <vkrope/rope.hpp>

#include <cstring>
#include <string>
#include <typeinfo>

namespace {

class Face : public gpu::OnDevice {};

TEST_P(Face, PlansAndRunsWhatTheCHeaderDoes) {
    RopeRule rule = {};
    rule.rotary_dim = 64;
    rule.base = 10000;
    rope::Frequencies frequencies;
    ASSERT_EQ(frequencies.make(rule), ROPE_SUCCESS);
    RopeRotateDescription d = {};
    d.tokens = 11;
    d.head_dim = 64;
    d.rotation.frequencies = frequencies.get();
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.q.heads = 3;
    RopePlan plan;
    ASSERT_EQ(rope::plan(d, device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_NE(rope::print(plan).find("rotate_wide"), std::string::npos);

    const std::vector<float> input = sample::values(11 * 3 * 64, 1);
    gpu::Slots slots;
    slots.set(ROPE_SLOT_Q, input);
    slots.set(ROPE_SLOT_FREQUENCIES, frequencies.words(d.rotation.angle));
    ASSERT_TRUE(gpu::run(&device(), plan, &slots));
    std::vector<float> wanted(input.size());
    RopeHostRotate host = {};
    host.q = input.data();
    host.q_out = wanted.data();
    ASSERT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(slots.get<float>(ROPE_SLOT_Q), wanted);
}

// Two versions in one process would otherwise share the first one's inline functions.
TEST(FaceOnTheCpu, NamesHaveTheVersionInThem) {
    const std::string version = "v" + std::to_string(ROPE_VERSION_MAJOR) + "_" + std::to_string(ROPE_VERSION_MINOR) +
                                "_" + std::to_string(ROPE_VERSION_PATCH);
    for (const std::type_info* type : {&typeid(rope::Context), &typeid(rope::Device), &typeid(rope::Instance)}) {
        EXPECT_NE(std::string(type->name()).find(version), std::string::npos) << type->name();
    }
}

// DeepSeek's q of [tokens, heads, 128 + 64] and k of [tokens, 512 + 64] turn where q_pe and k_pe by themselves do.
TEST(FaceOnTheCpu, LatentAttentionTurnsTheEndsOfItsRows) {
    constexpr uint32_t kTokens = 5, kHeads = 3, kNope = 128, kRope = 64, kRank = 512;
    RopeRule rule = {};
    rule.rotary_dim = kRope;
    rule.base = 10000;
    rope::Frequencies frequencies;
    ASSERT_EQ(frequencies.make(rule), ROPE_SUCCESS);
    const auto rotate = [&](RopeRotateDescription d, std::vector<float>* q, std::vector<float>* k) {
        d.rotation.frequencies = frequencies.get();
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.positions.first = 7;
        RopeHostRotate host = {};
        host.q = host.q_out = q->data();
        host.k = host.k_out = k->data();
        RopeReason reason;
        ASSERT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_SUCCESS) << reason.text;
    };
    const std::vector<float> q_before = sample::values(kTokens * kHeads * (kNope + kRope), 1);
    const std::vector<float> k_before = sample::values(kTokens * (kRank + kRope), 2);
    std::vector<float> q = q_before, k = k_before, q_pe, k_pe;
    const auto ends = [](const std::vector<float>& rows, size_t row, size_t end, std::vector<float>* to) {
        to->clear();
        for (size_t at = row; at <= rows.size(); at += row) {
            const auto last = rows.begin() + static_cast<ptrdiff_t>(at);
            to->insert(to->end(), last - static_cast<ptrdiff_t>(end), last);
        }
    };
    rotate(rope::latentRotation(1, kTokens, kHeads, kNope, kRope, kRank), &q, &k);
    ends(q_before, kNope + kRope, kRope, &q_pe);
    ends(k_before, kRank + kRope, kRope, &k_pe);
    rotate(rope::latentRotation(1, kTokens, kHeads, 0, kRope, 0), &q_pe, &k_pe);
    std::vector<float> turned;
    ends(q, kNope + kRope, kRope, &turned);
    EXPECT_EQ(turned, q_pe);
    ends(k, kRank + kRope, kRope, &turned);
    EXPECT_EQ(turned, k_pe);
    EXPECT_NE(q, q_before);
    for (size_t i = 0; i < q.size(); ++i) {
        if (i % (kNope + kRope) < kNope) {
            ASSERT_EQ(q[i], q_before[i]) << i;
        }
    }
    for (size_t i = 0; i < k.size(); ++i) {
        if (i % (kRank + kRope) < kRank) {
            ASSERT_EQ(k[i], k_before[i]) << i;
        }
    }
}

// ggml's tensor, for what of it is read.
struct GgmlTensor {
    int type;
    int64_t ne[4];
    size_t nb[4];
    int32_t op_params[16];
};

TEST(FaceOnTheCpu, ANodeOfGgmlsIsPlannedFromItsOwnMembers) {
    const RopeGgml parameters = {0, 64, 2, 0, 8192, 10000, 1, 0, 1, 32, 1, {0, 0, 0, 0}, 0};
    GgmlTensor x = {0, {64, 4, 5, 1}, {4, 256, 1024, 5120}, {}};
    const GgmlTensor positions = {26, {5, 1, 1, 1}, {4, 20, 20, 20}, {}};
    memcpy(x.op_params, &parameters, sizeof parameters);
    rope::GgmlRotation rotation;
    EXPECT_TRUE(rotation.words(ROPE_ANGLE_EXACT).empty());
    RopeReason reason;
    ASSERT_EQ(rotation.read(x.op_params, 64, &reason), ROPE_SUCCESS) << reason.text;
    RopeGgmlNode node = {};
    node.x = node.out = rope::ggmlTensor(x, 16);
    node.positions = rope::ggmlTensor(positions, 0);
    node.in_place = 1;
    EXPECT_EQ(node.x.ne[2], 5);
    EXPECT_EQ(node.x.nb[3], 5120u);
    EXPECT_EQ(node.x.offset, 16u);
    EXPECT_EQ(node.positions.type, 26u);
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    RopePlan plan;
    ASSERT_EQ(rope::plan(node, rotation, limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_K], 16u + 5120u);

    const RopeFrequencies& f = rotation.get().frequencies;
    const std::vector<double> values(f.values, f.values + f.count);
    rope::Frequencies same;
    same.set(values);
    const std::vector<uint32_t> words = rotation.words(ROPE_ANGLE_EXACT);
    EXPECT_EQ(words, same.words(ROPE_ANGLE_EXACT));
    EXPECT_EQ(words.size() * 4, ropeFrequencyBytes(32));
    EXPECT_EQ(rotation.read(x.op_params, 32, &reason), ROPE_ERROR_INVALID) << "64 elements of 32 turn";
    EXPECT_EQ(rotation.read(nullptr, 64, &reason), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(reason.text).find("null"), std::string::npos) << reason.text;
    EXPECT_EQ(rotation.words(ROPE_ANGLE_EXACT), words) << "a refusal leaves what was read before";
}

TEST_P(Face, AContextIsMovedNotCopied) {
    rope::Context context, other;
    RopeContextInfo info = {};
    info.device = device().handle();
    info.get_device_proc_addr = device().vk().GetDeviceProcAddr;
    info.limits = device().limits();
    ASSERT_EQ(context.create(info), VK_SUCCESS);
    RopeContext* made = context.get();
    other = std::move(context);
    EXPECT_EQ(other.get(), made);
    const rope::Context last(std::move(other));
    EXPECT_EQ(last.get(), made);
    EXPECT_FALSE(other); // NOLINT(bugprone-use-after-move): what a move leaves is the point
}

ROPE_ON_EVERY_DEVICE(Face);

} // namespace
