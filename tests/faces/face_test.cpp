// The C++ face of rope.h.
#include "rope.hpp"
#include "support/gpu.hpp"
#include "support/sample.hpp"

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
    d.frequencies = frequencies.get();
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.q.heads = 3;
    RopePlan plan;
    ASSERT_EQ(rope::plan(d, device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_NE(rope::print(plan).find("rotate_wide"), std::string::npos);

    const std::vector<float> input = sample::values(11 * 3 * 64, 1);
    gpu::Slots slots;
    slots.set(ROPE_SLOT_Q, input);
    slots.set(ROPE_SLOT_FREQUENCIES, frequencies.words(d.angle));
    ASSERT_TRUE(gpu::run(&device(), plan, &slots));
    std::vector<float> wanted(input.size());
    RopeHostRotate host = {};
    host.q = input.data();
    host.q_out = wanted.data();
    ASSERT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(slots.get<float>(ROPE_SLOT_Q), wanted);
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
    EXPECT_FALSE(other);
}

ROPE_ON_EVERY_DEVICE(Face);

} // namespace
