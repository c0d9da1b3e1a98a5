// Hadamard blocks beside ggml's own (tests/data/caches/hadamard.bin), bit for bit, and beside double, on the CPU and on
// every device.
#include "support/fusion.hpp"
#include "support/paths.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

namespace {

// Rows of one block each.
struct Rows {
    uint32_t block, count;
    std::vector<float> x, wanted;
};

std::vector<Rows> ggmlRows() {
    std::ifstream in(paths::data("caches/hadamard.bin"), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    std::vector<Rows> all;
    for (size_t at = 0; at < bytes.size();) {
        uint32_t head[2];
        std::memcpy(head, &bytes[at], sizeof head);
        const size_t floats = size_t{head[0]} * head[1];
        Rows rows = {head[0], head[1], std::vector<float>(floats), std::vector<float>(floats)};
        std::memcpy(rows.x.data(), &bytes[at + 8], floats * 4);
        std::memcpy(rows.wanted.data(), &bytes[at + 8 + floats * 4], floats * 4);
        at += 8 + 2 * floats * 4;
        all.push_back(rows);
    }
    EXPECT_EQ(all.size(), 4u);
    return all;
}

// A pass of the stage alone, as an attention's output is turned back: heads of `width` elements.
RopeFusedDescription alone(uint32_t block, uint32_t width, size_t elements) {
    RopeFusedDescription d = {};
    d.tokens = static_cast<uint32_t>(elements / width);
    d.head_dim = width;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.q.heads = 1;
    d.q.no_rotation = 1;
    d.q.hadamard = block;
    return d;
}

std::vector<float> onCpu(const RopeFusedDescription& d, std::vector<float> x) {
    RopeHostFused data = {};
    data.q = data.q_out = x.data();
    RopeReason reason;
    EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    return x;
}

void expectBits(const std::vector<float>& got, const std::vector<float>& wanted, uint32_t block) {
    for (size_t i = 0; i < wanted.size(); ++i)
        ASSERT_EQ(std::memcmp(&got[i], &wanted[i], sizeof(float)), 0)
            << got[i] << " for " << wanted[i] << ", block of " << block << ", element " << i;
}

TEST(Hadamard, IsGgmlsOnTheCpu) {
    for (const Rows& rows : ggmlRows())
        expectBits(onCpu(alone(rows.block, rows.block, rows.x.size()), rows.x), rows.wanted, rows.block);
}

// The length of the error is at most (k + 2 where k is odd) * 2^-24 of the block's, for k butterflies.
double boundOf(uint32_t block) {
    uint32_t k = 0;
    while (1u << k < block) ++k;
    return (k + (k % 2 != 0 ? 2 : 0)) * 0x1p-24;
}

double lengthOf(const float* x, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += double{x[i]} * double{x[i]};
    return std::sqrt(sum);
}

// Blocks that are drawn, and rows of the matrix itself, whose sums are as long as they can be.
std::vector<float> blocks(uint32_t block, uint32_t count) {
    std::vector<float> x = sample::values(size_t{block} * count, block);
    for (uint32_t row = 0; row < count / 2; ++row) {
        for (uint32_t i = 0; i < block; ++i) {
            const bool negative = __builtin_popcount(i & row * 37) % 2 != 0;
            x[size_t{row} * block + i] = (negative ? -1.0f : 1.0f) * (1.0f + static_cast<float>(i % 7) * 0x1p-23f);
        }
    }
    return x;
}

TEST(Hadamard, IsWithinItsBoundOfDoubleAndItsOwnInverse) {
    for (uint32_t block = 16; block <= 512; block *= 2) {
        const std::vector<float> x = blocks(block, 64);
        const RopeFusedDescription d = alone(block, block, x.size());
        const std::vector<float> y = onCpu(d, x), back = onCpu(d, y);
        double worst = 0, worst_back = 0;
        for (size_t at = 0; at < x.size(); at += block) {
            const double length = lengthOf(&x[at], block);
            for (uint32_t row = 0; row < block; ++row) {
                double sum = 0;
                for (uint32_t i = 0; i < block; ++i)
                    sum += __builtin_popcount(row & i) % 2 != 0 ? -double{x[at + i]} : double{x[at + i]};
                worst = std::max(worst,
                                 std::fabs(double{y[at + row]} - sum / std::sqrt(static_cast<double>(block))) / length);
                worst_back = std::max(worst_back, std::fabs(double{back[at + row]} - double{x[at + row]}) / length);
            }
        }
        EXPECT_LE(worst, boundOf(block)) << block;
        EXPECT_LE(worst_back, 2 * boundOf(block)) << block;
        EXPECT_GT(worst, 0) << "each sum was exact";
    }
}

class HadamardOnDevice : public gpu::OnDevice {};

TEST_P(HadamardOnDevice, IsGgmls) {
    for (const Rows& rows : ggmlRows()) {
        const RopeFusedDescription d = alone(rows.block, rows.block, rows.x.size());
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots slots;
        slots.set(ROPE_SLOT_Q, rows.x);
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        expectBits(slots.get<float>(ROPE_SLOT_Q), rows.wanted, rows.block);
    }
}

// No bit depends on the tuning, on the pairing, or on what shares the dispatch.
TEST_P(HadamardOnDevice, HasTheSameBitsWhateverThreadsHold) {
    size_t number = 0;
    for (const uint32_t block : {16u, 64u, 128u, 256u}) {
        for (const RopePairing pairing : {ROPE_PAIRING_HALF, ROPE_PAIRING_INTERLEAVED}) {
            for (const RopeTuning tuning : {RopeTuning{0, 0, 0}, RopeTuning{64, 1, 8}, RopeTuning{256, 4, 4}}) {
                if (!takes(number++)) continue;
                fusion::Scene scene;
                scene.frequencies = sample::frequencies(10000, 256);
                RopeFusedDescription& d = scene.d;
                d.tokens = 3;
                d.head_dim = 256;
                d.element = block == 64 ? ROPE_ELEMENT_F32 : ROPE_ELEMENT_BF16;
                d.out_of_place = 1;
                d.tuning = tuning;
                d.positions.kind = ROPE_POSITIONS_COUNTED;
                d.rotation.pairing = pairing;
                d.rotation.frequencies = {scene.frequencies.data(), 128, 1, nullptr, 1};
                d.q.heads = d.k.heads = d.v.heads = 3;
                d.q.hadamard = d.k.hadamard = block;
                d.v.hadamard = 64;
                d.q.element = d.k.element = d.v.element = ROPE_ELEMENT_F32;
                RopePlan plan;
                ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
                const gpu::Slots before = fusion::makeSlots(scene, plan, 5);
                gpu::Slots after = before;
                ASSERT_TRUE(gpu::run(&device(), plan, &after));
                EXPECT_TRUE(fusion::checkHost(scene, plan, before, after)) << block << " " << tuning.pairs;
            }
        }
    }
}

ROPE_ON_EVERY_DEVICE(HadamardOnDevice);

} // namespace
