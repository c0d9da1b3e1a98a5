// The table on every device: within its promise of the truth, with the CPU's bits.
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include <cmath>
#include <cstdio>

namespace {

const double kBases[] = {1e4, 1e5, 5e5, 1e6, 1e7};
const uint32_t kDims[] = {64, 128, 256};

std::vector<int32_t> promisedPositions() {
    std::vector<int32_t> all;
    for (int32_t p = 0; p < 4096; ++p) all.push_back(p);
    for (const int32_t p : {131071, 1000000, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, INT32_MAX}) all.push_back(p);
    const size_t count = all.size();
    for (size_t i = 0; i < count; ++i) all.push_back(-all[i]);
    all.push_back(INT32_MIN);
    return all;
}

struct TableRun {
    std::vector<float> device, host;
    std::vector<double> reference;
};

TableRun runTable(rope::Device* device, RopeTableDescription d, const std::vector<int32_t>& positions) {
    TableRun result;
    RopePlan plan;
    EXPECT_EQ(ropePlanTable(&d, &device->limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots slots;
    slots.set(ROPE_SLOT_POSITIONS, positions);
    slots.set(
        ROPE_SLOT_FREQUENCIES,
        sample::words(std::vector<double>(d.frequencies.values, d.frequencies.values + d.frequencies.count), d.angle));
    const size_t elements = plan.bytes[ROPE_SLOT_ROWS] / 4;
    result.host = sample::values(elements, 1); // what is not written stays
    result.reference.resize(elements);
    slots.set(ROPE_SLOT_ROWS, result.host);
    EXPECT_TRUE(gpu::run(device, plan, &slots));
    result.device = slots.get<float>(ROPE_SLOT_ROWS);
    const RopeHostTable host = {positions.data(), result.reference.data(), result.host.data()};
    RopeReason reason;
    EXPECT_EQ(ropeHostRunTable(&d, &host, &reason), ROPE_SUCCESS) << reason.text;
    return result;
}

class Table : public gpu::OnDevice {};

TEST_P(Table, IsWithinItsPromiseAtEveryPositionWithTheCpusBits) {
    const std::vector<int32_t> positions = promisedPositions();
    double worst = 0, worst_ulp = 0;
    for (const double base : kBases) {
        for (const uint32_t dim : kDims) {
            const std::vector<double> frequencies = sample::frequencies(base, dim);
            RopeTableDescription d = {};
            d.frequencies = {frequencies.data(), dim / 2, 1, nullptr, 1};
            d.tokens = static_cast<uint32_t>(positions.size());
            const TableRun run = runTable(&device(), d, positions);
            ASSERT_EQ(run.device, run.host) << base << ", " << dim;
            for (size_t i = 0; i < run.device.size(); ++i) {
                const double error = std::fabs(run.device[i] - run.reference[i]);
                worst = std::fmax(worst, error);
                if (std::fabs(run.reference[i]) < 0x1p-30) continue;
                worst_ulp = std::fmax(worst_ulp, error / std::ldexp(1, std::ilogb(run.reference[i]) - 23));
            }
        }
    }
    EXPECT_LE(worst, std::exp2(-24.9));
    EXPECT_LE(worst_ulp, 0.51);
    RecordProperty("worstLog2", std::to_string(std::log2(worst)));
    RecordProperty("worstUlp", std::to_string(worst_ulp));
    std::printf("%s: table within 2^%.4f, %.4f ulp\n", GetParam().name.c_str(), std::log2(worst), worst_ulp);
}

TEST_P(Table, OfCompatibleAnglesIsWithinHalfAnUlp) {
    const std::vector<int32_t> positions = promisedPositions();
    double worst_ulp = 0;
    for (const double base : kBases) {
        const std::vector<double> frequencies = sample::frequencies(base, 128);
        RopeTableDescription d = {};
        d.frequencies = {frequencies.data(), 64, 1, nullptr, 1};
        d.angle = ROPE_ANGLE_COMPATIBLE;
        d.tokens = static_cast<uint32_t>(positions.size());
        const TableRun run = runTable(&device(), d, positions);
        ASSERT_EQ(run.device, run.host) << base;
        for (size_t i = 0; i < run.device.size(); ++i) {
            if (run.reference[i] == 0) continue;
            const double error = std::fabs(run.device[i] - run.reference[i]);
            worst_ulp = std::fmax(worst_ulp, error / std::ldexp(1, std::ilogb(run.reference[i]) - 23));
        }
    }
    EXPECT_LE(worst_ulp, 0.51);
    std::printf("%s: compatible table within %.4f ulp\n", GetParam().name.c_str(), worst_ulp);
}

TEST_P(Table, AtPositionZeroIsExactlyTheScaleAndZero) {
    const std::vector<double> frequencies = sample::frequencies(1e4, 64);
    for (const double scale : {1.0, 1.3465735902799727, 0.1, -1.0, -1.3465735902799727}) {
        for (const RopeAngle angle : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
            RopeTableDescription d = {};
            d.frequencies = {frequencies.data(), 32, scale, nullptr, 1};
            d.angle = angle;
            d.tokens = 1;
            const std::vector<float> row = runTable(&device(), d, {0}).device;
            for (size_t i = 0; i < 64; ++i) {
                EXPECT_EQ(row[i], i < 32 ? static_cast<float>(scale) : 0);
                EXPECT_EQ(std::signbit(row[i]), i < 32 && scale < 0);
            }
        }
    }
}

TEST_P(Table, FoldsTheScaleInBeforeTheOnlyRounding) {
    const std::vector<double> frequencies = sample::frequencies(1e4, 128);
    for (const double scale :
         {1.3465735902799727, 0.7071067811865476, 0x1p-20, 0x1.fp+19, -1.3465735902799727, -0x1p-20}) {
        RopeTableDescription d = {};
        d.frequencies = {frequencies.data(), 64, scale, nullptr, 1};
        d.tokens = 1000;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.positions.first = 131000;
        const TableRun run = runTable(&device(), d, {});
        ASSERT_EQ(run.device, run.host);
        double worst_ulp = 0;
        for (size_t i = 0; i < run.device.size(); ++i) {
            const double ulp = std::ldexp(1, std::ilogb(run.reference[i]) - 23);
            worst_ulp = std::fmax(worst_ulp, std::fabs(run.device[i] - run.reference[i]) / ulp);
        }
        EXPECT_LE(worst_ulp, 0.515) << scale; // the scale itself is kept to 32 bits
    }
}

TEST_P(Table, IsTheSameByWindowByTokenAndBySequence) {
    const std::vector<double> frequencies = sample::frequencies(1e4, 20);
    RopeTableDescription d = {};
    d.frequencies = {frequencies.data(), 10, 1, nullptr, 1};
    d.tokens = 7;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = -3;
    const std::vector<float> window = runTable(&device(), d, {}).device;
    d.positions.kind = ROPE_POSITIONS_PER_TOKEN;
    EXPECT_EQ(runTable(&device(), d, {-3, -2, -1, 0, 1, 2, 3}).device, window);
    d.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
    EXPECT_EQ(runTable(&device(), d, {-3}).device, window);
}

TEST_P(Table, WritesRowsWithGapsAndSeparateArraysAndNothingElse) {
    const std::vector<double> frequencies = sample::frequencies(1e4, 20);
    RopeTableDescription d = {};
    d.frequencies = {frequencies.data(), 10, 1, nullptr, 1};
    d.batch = 2;
    d.tokens = 3;
    d.rows.offset = 5;
    d.rows.row_stride = 23;
    d.rows.sin_offset = 12;
    TableRun run = runTable(&device(), d, {0, 1, 2, 10, 20, 30});
    EXPECT_EQ(run.device, run.host);
    d.rows.row_stride = 10;
    d.rows.sin_offset = 60;
    run = runTable(&device(), d, {0, 1, 2, 10, 20, 30});
    EXPECT_EQ(run.device, run.host);
}

TEST_P(Table, IsWrittenInEveryFormatInUse) {
    const std::vector<double> frequencies = sample::frequencies(1e4, 20);
    for (int format = 0; format <= ROPE_ROWS_TWO_ARRAYS; ++format) {
        RopeTableDescription d = {};
        d.frequencies = {frequencies.data(), 10, 1, nullptr, 1};
        d.tokens = 6;
        d.rows.offset = 3;
        ropeSetRows(static_cast<RopeRowsFormat>(format), 10, 6, &d.rows);
        const TableRun run = runTable(&device(), d, {0, 1, 2, 10, 20, 30});
        EXPECT_EQ(run.device, run.host) << format;
    }
}

// Element by element, as their users index them.
TEST_P(Table, FormatsLieAsTheirUsersIndexThem) {
    const std::vector<double> frequencies = sample::frequencies(1e4, 4);
    RopeTableDescription d = {};
    d.frequencies = {frequencies.data(), 2, 1, nullptr, 1};
    d.tokens = 3;
    const auto made = [&](RopeRowsFormat format) {
        ropeSetRows(format, 2, 3, &d.rows);
        return runTable(&device(), d, {1, 2, 3}).device;
    };
    const std::vector<float> split = made(ROPE_ROWS_SPLIT), duplicated = made(ROPE_ROWS_DUPLICATED);
    const std::vector<float> woven = made(ROPE_ROWS_INTERLEAVED), arrays = made(ROPE_ROWS_TWO_ARRAYS);
    for (size_t row = 0; row < 3; ++row) {
        for (size_t pair = 0; pair < 2; ++pair) {
            const float cosine = static_cast<float>(std::cos(static_cast<double>(row + 1) * frequencies[pair]));
            const float sine = static_cast<float>(std::sin(static_cast<double>(row + 1) * frequencies[pair]));
            EXPECT_NEAR(split[row * 4 + pair], cosine, 1e-7);
            EXPECT_NEAR(split[row * 4 + 2 + pair], sine, 1e-7);
            for (const size_t copy : {pair, pair + 2}) {
                EXPECT_NEAR(duplicated[row * 4 + copy], cosine, 1e-7);
                EXPECT_NEAR(duplicated[12 + row * 4 + copy], sine, 1e-7);
            }
            EXPECT_NEAR(woven[row * 4 + 2 * pair], cosine, 1e-7);
            EXPECT_NEAR(woven[row * 4 + 2 * pair + 1], sine, 1e-7);
            EXPECT_NEAR(arrays[row * 2 + pair], cosine, 1e-7);
            EXPECT_NEAR(arrays[6 + row * 2 + pair], sine, 1e-7);
        }
    }
}

ROPE_ON_EVERY_DEVICE(Table);

} // namespace
