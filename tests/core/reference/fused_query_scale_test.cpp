// The scale of queries in fused passes on the CPU: its values, and which position takes which.
#include "support/host_pass.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace host_pass;

namespace {

TEST(HostFused, QueryScalesAreBothModelsFormula) {
    for (const double beta : {0.1, -0.25, 1.0, 1048576.0, 0.0}) {
        std::vector<float> values(3000);
        ASSERT_EQ(ropeMakeQueryScale(beta, 3000, values.data(), nullptr), ROPE_SUCCESS);
        EXPECT_EQ(values[0], 1.0f);
        for (size_t i = 0; i < values.size(); ++i) {
            const double truth = 1 + beta * std::log(1.0 + static_cast<double>(i));
            const double ulp = std::ldexp(1.0, std::ilogb(truth) - 23);
            ASSERT_NEAR(values[i], truth, 0.5000001 * ulp + 1e-15 * std::fabs(beta) * 8) << beta << " " << i;
        }
    }
}

TEST(HostFused, QueriesAreScaledByTheirPositions) {
    std::vector<float> values(4);
    ASSERT_EQ(ropeMakeQueryScale(0.1, 4, values.data(), nullptr), ROPE_SUCCESS);
    const std::vector<int32_t> positions = {-3, 0, 8190, 8191, 16382, 16383, 40000, INT32_MAX, INT32_MIN};
    for (const uint32_t offset : {0u, 1u}) {
        RopeFusedDescription d = plain(static_cast<uint32_t>(positions.size()));
        d.q.no_rotation = d.k.no_rotation = 1;
        d.positions = {};
        d.query_scale = {values.data(), 4, 8192, offset};
        const Outcome r = run(d, positions.data());
        for (size_t t = 0; t < positions.size(); ++t) {
            const double p = std::max<double>(positions[t], 0);
            const double step = std::min(std::floor((p + offset) / 8192.0), 3.0);
            const double scale = 0.1 * std::log(step + 1) + 1;
            for (size_t e = t * kQueries * kDim; e < (t + 1) * kQueries * kDim; ++e)
                ASSERT_NEAR(r.q_out[e], r.q[e] * scale, 3e-7) << positions[t];
        }
    }
}

TEST(HostFused, QueriesWithoutAPositionTakeTheFirstScale) {
    const float values[] = {3, 5};
    const int64_t positions[] = {1, (int64_t{1} << 40) + 1};
    RopeFusedDescription d = plain(2);
    d.q.no_rotation = d.k.no_rotation = 1;
    d.positions = {};
    d.positions.element = ROPE_POSITION_INT64;
    d.query_scale = {values, 2, 1, 0};
    const Outcome r = run(d, positions);
    EXPECT_EQ(r.q_out[0], r.q[0] * 5);
    EXPECT_EQ(r.q_out.back(), r.q.back() * 3);
}

TEST(HostFused, RowsByTokenTurnQueriesWithoutAPosition) {
    const float values[] = {2, 3};
    const std::vector<float> rows(kDim, 1.0f);
    const int64_t position = int64_t{1} << 40;
    RopeFusedDescription d = plain(1);
    d.rotation.source = ROPE_SOURCE_ROWS;
    d.rotation.frequencies.values = nullptr;
    d.positions = {};
    d.positions.element = ROPE_POSITION_INT64;
    d.query_scale = {values, 2, 1, 0};
    const std::vector<float> q = sample::values(kQueries * kDim, 1);
    std::vector<float> out(q.size());
    RopeHostFused data = {};
    data.positions = &position;
    data.rows = rows.data();
    data.q = q.data();
    data.q_out = out.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    EXPECT_EQ(out[0], 2 * (q[0] - q[kDim / 2]));
    EXPECT_EQ(data.outside, 0u);
}

} // namespace
