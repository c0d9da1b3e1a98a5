// Gradients through norms and rotations on the CPU: those of torch's autograd, and the slope of the forward pass.
#include "support/host_pass.hpp"
#include "support/paths.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

namespace {

struct Gradient {
    std::vector<float> bits;
    std::vector<double> reference;
};

Gradient gradientOf(const RopeFusedDescription& d, const std::vector<float>& x, const std::vector<float>& given) {
    Gradient g = {std::vector<float>(x.size(), -77), std::vector<double>(x.size(), -77)};
    RopeHostFused data = {};
    data.q = given.data();
    data.x = x.data();
    data.q_out = g.bits.data();
    data.reference_q = g.reference.data();
    RopeReason reason;
    EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    return g;
}

std::vector<float> readLine(std::istream* file) {
    std::string line, word;
    std::getline(*file, line);
    std::istringstream words(line);
    std::vector<float> values;
    while (words >> word) values.push_back(static_cast<float>(std::strtod(word.c_str(), nullptr)));
    return values;
}

void expectNear(const std::vector<double>& wanted, const Gradient& got, double tolerance) {
    for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(got.reference[i], wanted[i], tolerance) << i;
        ASSERT_NEAR(got.bits[i], wanted[i], tolerance) << i;
    }
}

// Positions 0, 5 and 11 of two heads of 16 elements, and an epsilon of float32(0.001). torch's own lie within 2^-24 of
// these doubles.
TEST(HostGradient, IsThatOfTorchsAutograd) {
    std::ifstream file(paths::data("gradients/norms.txt"));
    const std::vector<double> frequencies = sample::frequencies(10000, 16);
    const std::vector<int32_t> positions = {0, 5, 11};
    uint32_t cases = 0;
    for (int kind, after, all_heads, has_weights; file >> kind >> after >> all_heads >> has_weights; ++cases) {
        file.ignore();
        const std::vector<float> weights = readLine(&file), x = readLine(&file), given = readLine(&file);
        const std::vector<float> result = readLine(&file);
        RopeFusedDescription d = {};
        d.rotate.tokens = 3;
        d.rotate.head_dim = 16;
        d.rotate.out_of_place = 1;
        d.rotate.q.heads = 2;
        d.rotate.operation = ROPE_OPERATION_TRANSPOSE;
        d.rotate.frequencies = {frequencies.data(), 8, 1, nullptr, 1};
        d.q_norm.kind = static_cast<RopeNormKind>(kind);
        d.q_norm.after = static_cast<uint32_t>(after);
        d.q_norm.all_heads = static_cast<uint32_t>(all_heads);
        d.q_norm.epsilon = 0.001f;
        if (has_weights != 0) d.q_norm.weights = weights.data();
        RopeHostFused data = {};
        data.positions = positions.data();
        data.q = given.data();
        data.x = x.data();
        Gradient g = {std::vector<float>(96), std::vector<double>(96)};
        data.q_out = g.bits.data();
        data.reference_q = g.reference.data();
        RopeReason reason;
        ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
        SCOPED_TRACE("case " + std::to_string(cases));
        expectNear(std::vector<double>(result.begin(), result.end()), g, 2e-6);
    }
    EXPECT_EQ(cases, 7u);
}

// The slope of sum(given * forward(x)) along each element, by differences of the forward pass in double.
TEST(HostGradient, IsTheSlopeOfTheForwardPass) {
    const std::vector<float> weights = host_pass::weights(host_pass::kQueries * host_pass::kDim);
    for (uint32_t choice = 0; choice < 18; ++choice) {
        RopeFusedDescription d = host_pass::plain(2);
        d.rotate.rotary_dim = 48;
        d.rotate.frequencies.count = 24;
        d.rotate.frequencies.scale = 1.25;
        d.rotate.pairing_in = choice % 4 < 2 ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
        d.rotate.skip_first = choice / 4 % 2;
        d.no_rotation = choice >= 16;
        d.q_norm.kind = choice % 3 == 0 ? ROPE_NORM_L2 : ROPE_NORM_RMS;
        d.q_norm.after = choice % 2;
        d.q_norm.all_heads = choice / 8 % 2;
        d.q_norm.epsilon = 0.25f;
        if (choice % 5 != 0) d.q_norm.weights = weights.data();
        d.q_norm.weight_offset = 1;
        std::vector<float> x = sample::values(2 * host_pass::kQueries * host_pass::kDim, 11);
        const std::vector<float> given = sample::values(x.size(), 12);
        const auto forward = [&] {
            std::vector<double> y(x.size());
            RopeHostFused data = {};
            data.q = x.data();
            data.reference_q = y.data();
            EXPECT_EQ(ropeHostRunFused(&d, &data, nullptr), ROPE_SUCCESS);
            double sum = 0;
            for (size_t i = 0; i < y.size(); ++i) sum += given[i] * y[i];
            return sum;
        };
        std::vector<double> slopes;
        std::vector<size_t> places;
        for (size_t i = choice; i < x.size(); i += 37) {
            const float before = x[i], step = 0x1p-6f;
            double sums[4];
            for (int side = 0; side < 4; ++side) {
                x[i] = before + static_cast<float>(side < 2 ? side - 2 : side - 1) * step;
                sums[side] = forward();
            }
            x[i] = before;
            slopes.push_back((8 * (sums[2] - sums[1]) - (sums[3] - sums[0])) / (12.0 * static_cast<double>(step)));
            places.push_back(i);
        }
        RopeFusedDescription back = d;
        back.rotate.operation = ROPE_OPERATION_TRANSPOSE;
        const Gradient g = gradientOf(back, x, given);
        for (size_t i = 0; i < places.size(); ++i) {
            ASSERT_NEAR(g.reference[places[i]], slopes[i], 3e-5) << choice << ": " << places[i];
            ASSERT_NEAR(g.bits[places[i]], g.reference[places[i]], 2e-6 * std::fmax(1, std::fabs(slopes[i])));
        }
    }
}

TEST(HostGradient, GoesInPlaceAndReadsItsInputWhereItLies) {
    RopeFusedDescription d = host_pass::plain(2);
    d.rotate.operation = ROPE_OPERATION_TRANSPOSE;
    d.q_norm.kind = ROPE_NORM_RMS;
    const size_t row = host_pass::kQueries * host_pass::kDim;
    const std::vector<float> x = sample::values(2 * row, 11);
    std::vector<float> given = sample::values(2 * row, 12), apart(3 * row + 8);
    const Gradient wanted = gradientOf(d, x, given);
    d.rotate.out_of_place = 0;
    d.x = {4, 2 * row, row + 4, host_pass::kDim};
    for (size_t i = 0; i < x.size(); ++i) apart[4 + i / row * (row + 4) + i % row] = x[i];
    RopeHostFused data = {};
    data.q = data.q_out = given.data();
    data.x = apart.data();
    ASSERT_EQ(ropeHostRunFused(&d, &data, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(given, wanted.bits);
}

TEST(HostGradient, RefusesWhatItDoesNotTake) {
    RopeFusedDescription d = host_pass::plain(2);
    d.rotate.operation = ROPE_OPERATION_TRANSPOSE;
    d.q_norm.kind = ROPE_NORM_RMS;
    const auto refusal = [](const RopeFusedDescription& of) {
        RopePlan plan;
        EXPECT_EQ(ropePlanFused(&of, nullptr, &plan), ROPE_ERROR_INVALID);
        return std::string(plan.reason.text);
    };
    RopeFusedDescription of = d;
    of.rotate.k.heads = 2;
    EXPECT_NE(refusal(of).find("the gradient of q alone, but k has heads"), std::string::npos) << refusal(of);
    of = d;
    of.v.heads = 2;
    EXPECT_NE(refusal(of).find("but v has heads"), std::string::npos) << refusal(of);
    of = d;
    of.packed = 1;
    EXPECT_NE(refusal(of).find("but packed is 1"), std::string::npos) << refusal(of);
    of = d;
    of.rotate.pairing_out = ROPE_PAIRING_INTERLEAVED;
    EXPECT_NE(refusal(of).find("but pairing_out is another"), std::string::npos) << refusal(of);
    of = d;
    of.x = {2, 0, 0, 0};
    EXPECT_NE(refusal(of).find("x.offset is 2"), std::string::npos) << refusal(of);
    of = d;
    of.rotate.operation = ROPE_OPERATION_INVERSE;
    EXPECT_NE(refusal(of).find("operation inverse with q_norm"), std::string::npos) << refusal(of);
}

} // namespace
