// The worked examples of RoPE, to every digit given, on the CPU and on every device. Base 10000 unless it says theta.
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include <cmath>

namespace {

struct Example {
    RopePairing pairing;
    std::vector<double> theta;
    int32_t position;
    std::vector<float> input;
};

RopeRotateDescription describe(const Example& e) {
    RopeRotateDescription d = {};
    d.tokens = 1;
    d.head_dim = static_cast<uint32_t>(e.input.size());
    d.rotation.pairing = e.pairing;
    d.rotation.frequencies = {e.theta.data(), static_cast<uint32_t>(e.theta.size()), 1, nullptr, 1};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = e.position;
    d.q.heads = 1;
    return d;
}

std::vector<double> reference(const Example& e) {
    const RopeRotateDescription d = describe(e);
    std::vector<double> out(e.input.size());
    RopeHostRotate host = {};
    host.q = e.input.data();
    host.reference_q = out.data();
    RopeReason reason;
    EXPECT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_SUCCESS) << reason.text;
    return out;
}

class Examples : public gpu::OnDevice {
  protected:
    // The device's result, after it was found to be the reference's to float32.
    std::vector<double> rotate(const Example& e) {
        const RopeRotateDescription d = describe(e);
        RopePlan plan;
        EXPECT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots slots;
        slots.set(ROPE_SLOT_FREQUENCIES, sample::words(e.theta, ROPE_ANGLE_EXACT));
        slots.set(ROPE_SLOT_Q, e.input);
        EXPECT_TRUE(gpu::run(&device(), plan, &slots));
        const std::vector<float> out = slots.get<float>(ROPE_SLOT_Q);
        const std::vector<double> wanted = reference(e);
        for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], wanted[i], 1e-6);
        return std::vector<double>(out.begin(), out.end());
    }
    void expectDigits(const std::vector<double>& got, const std::vector<double>& printed) {
        for (size_t i = 0; i < printed.size(); ++i) EXPECT_NEAR(got[i], printed[i], 0.5e-4 + 1e-6) << i;
    }
};

const std::vector<double> kTheta4 = sample::frequencies(10000, 4);

TEST_P(Examples, InterleavedD4Base10000M3) {
    const Example e = {ROPE_PAIRING_INTERLEAVED, kTheta4, 3, {1, 2, 3, 4}};
    expectDigits(rotate(e), {-1.2722, -1.8389, 2.8787, 4.0882});
    expectDigits(reference(e), {-1.2722, -1.8389, 2.8787, 4.0882});
}

TEST_P(Examples, InterleavedD4Base10000M2) {
    expectDigits(rotate({ROPE_PAIRING_INTERLEAVED, kTheta4, 2, {1, 0, 0, 1}}), {-0.4161, 0.9093, -0.0200, 0.9998});
}

TEST_P(Examples, HalfD4Base10000M2) {
    expectDigits(rotate({ROPE_PAIRING_HALF, kTheta4, 2, {1, 0, 0, 1}}), {-0.4161, -0.0200, 0.9093, 0.9998});
}

double dot(const std::vector<double>& a, const std::vector<double>& b) { return a[0] * b[0] + a[1] * b[1]; }

TEST_P(Examples, OnePairTheta1Q1At1K3At2) {
    const Example q = {ROPE_PAIRING_HALF, {1}, 1, {1, 2}};
    const Example k = {ROPE_PAIRING_HALF, {1}, 2, {3, 4}};
    EXPECT_NEAR(dot(reference(q), reference(k)), 7.62626733416533, 1e-14);
    EXPECT_NEAR(dot(rotate(q), rotate(k)), 7.62626733416533, 2e-6);
}

TEST_P(Examples, OnePairTheta1IsMinusSine1) {
    const Example q = {ROPE_PAIRING_HALF, {1}, 0, {1, 0}};
    const Example k = {ROPE_PAIRING_HALF, {1}, 1, {0, 1}};
    EXPECT_NEAR(dot(reference(q), reference(k)), -std::sin(1.0), 1e-15);
    EXPECT_NEAR(dot(rotate(q), rotate(k)), -std::sin(1.0), 1e-7);
}

TEST(Example, DefaultFrequenciesOfD4AreOneAndOneHundredth) { EXPECT_EQ(kTheta4, (std::vector<double>{1, 0.01})); }

ROPE_ON_EVERY_DEVICE(Examples);

} // namespace
