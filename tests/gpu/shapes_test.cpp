// The shapes in which models keep Q and K, each as strides of one description, over what else a description chooses.
#include "support/combinations.hpp"
#include "support/rotation.hpp"
#include <vkrope/rope.hpp>

#include <cmath>

namespace {

constexpr uint32_t kTokens = 6;

struct Shape {
    const char* name;
    uint32_t batch, head_dim, rotary_dim;
    RopeTensor q, k;
};

Shape packedRows() {
    const rope::QueryAndKey tensors = rope::packedQkv(kTokens, 6, 2, 64);
    return {"packedQkv", 2, 64, 64, tensors.q, tensors.k};
}

Shape latentAttention() {
    const rope::QueryAndKey tensors = rope::latent(kTokens, 4, 128, 64, 512);
    return {"latent", 2, 64, 64, tensors.q, tensors.k};
}

Shape heads(const char* name, uint32_t count, uint32_t dim, uint32_t rotary) {
    return {name, 2, dim, rotary, rope::bshd(kTokens, count, dim), rope::bshd(kTokens, 1, dim)};
}

const Shape kShapes[] = {
    {"batchSeqHeadsDim", 2, 128, 128, rope::bshd(kTokens, 8, 128), rope::bshd(kTokens, 2, 128)},
    {"batchHeadsSeqDim", 2, 128, 128, rope::bhsd(kTokens, 8, 128), rope::bhsd(kTokens, 2, 128)},
    {"tokensHeadsDim", 1, 128, 128, rope::thd(8, 128), rope::thd(2, 128)},
    packedRows(),
    latentAttention(),
    heads("dim80", 4, 80, 80),
    heads("dim96", 4, 96, 96),
    heads("dim192", 4, 192, 64),
    heads("dim256", 4, 256, 256),
    heads("dim512", 4, 512, 512),
    heads("oddHeads", 7, 72, 36),
};

struct Choice {
    RopeElement element;
    RopePairing pairing_in, pairing_out;
    bool out_of_place;
};
const Choice kChoices[] = {
    {ROPE_ELEMENT_F32, ROPE_PAIRING_HALF, ROPE_PAIRING_HALF, false},
    {ROPE_ELEMENT_F16, ROPE_PAIRING_HALF, ROPE_PAIRING_HALF, true},
    {ROPE_ELEMENT_BF16, ROPE_PAIRING_INTERLEAVED, ROPE_PAIRING_INTERLEAVED, false},
    {ROPE_ELEMENT_F32, ROPE_PAIRING_INTERLEAVED, ROPE_PAIRING_HALF, true},
};

class Shapes : public gpu::OnDevice {};

TEST_P(Shapes, TurnAsOnTheCpuOverEverySourceAndOperation) {
    for (const combinations::Choices& c : combinations::of({std::size(kShapes), std::size(kChoices), 3, 4}, 2)) {
        const Shape& shape = kShapes[c[0]];
        const Choice& choice = kChoices[c[1]];
        RopeRotateDescription d = {};
        d.batch = shape.batch;
        d.tokens = kTokens;
        d.head_dim = shape.head_dim;
        d.rotation.rotary_dim = shape.rotary_dim;
        d.q = shape.q;
        d.k = shape.k;
        d.element = choice.element;
        d.rotation.pairing = choice.pairing_in;
        d.rotation.pairing_out = choice.pairing_out;
        d.out_of_place = choice.out_of_place;
        d.rotation.source = static_cast<RopeSource>(c[2]);
        d.rotation.operation = static_cast<RopeOperation>(c[3]);
        d.rotation.rows.first_position = -20;
        d.rotation.rows.count = 60;
        SCOPED_TRACE(std::string(shape.name) + ", element " + std::to_string(choice.element) + ", source " +
                     std::to_string(c[2]) + ", operation " + std::to_string(c[3]));
        double worst = 0;
        EXPECT_TRUE(rotation::check(&device(), d, c[3] + 1, &worst));
        EXPECT_LE(worst, choice.element == ROPE_ELEMENT_F32 ? 2 : 0.501);
    }
}

// Gemma 4's vision: two axes, each its own halves. Three chunks, and chunks of an odd number of pairs, too.
TEST_P(Shapes, OfChunksTurnAsOnTheCpu) {
    const uint32_t chunks[][3] = {{64, 64, 32}, {96, 96, 32}, {72, 64, 8}, {40, 36, 12},
                                  {30, 30, 10}, {64, 64, 4},  {33, 30, 6}, {18, 18, 2}};
    for (const auto& chunk : chunks) {
        for (const Choice& choice : kChoices) {
            RopeRotateDescription d = {};
            d.tokens = kTokens;
            d.head_dim = chunk[0];
            d.rotation.rotary_dim = chunk[1];
            d.rotation.chunk_dim = chunk[2];
            d.q.heads = 3;
            d.element = choice.element;
            d.rotation.pairing = choice.pairing_in;
            d.rotation.pairing_out = choice.pairing_out;
            d.out_of_place = choice.out_of_place;
            if (chunk[2] % 4 != 0 && choice.element != ROPE_ELEMENT_F32) continue; // refused
            SCOPED_TRACE("chunk_dim " + std::to_string(chunk[2]) + ", element " + std::to_string(choice.element));
            double worst = 0;
            EXPECT_TRUE(rotation::check(&device(), d, chunk[2], &worst));
            EXPECT_LE(worst, choice.element == ROPE_ELEMENT_F32 ? 2 : 0.501);
        }
    }
}

ROPE_ON_EVERY_DEVICE(Shapes);

TEST(Axes, FollowEachOtherOrTakeTurns) {
    const uint32_t qwen2[3] = {2, 3, 3}, qwen3[3] = {4, 2, 2};
    uint8_t axes[8];
    RopeReason reason;
    ASSERT_EQ(ropeSetAxes(ROPE_AXES_CONTIGUOUS, qwen2, 3, 8, axes, &reason), ROPE_SUCCESS) << reason.text;
    EXPECT_EQ(std::vector<uint8_t>(axes, axes + 8), (std::vector<uint8_t>{0, 0, 1, 1, 1, 2, 2, 2}));
    ASSERT_EQ(ropeSetAxes(ROPE_AXES_INTERLEAVED, qwen3, 3, 8, axes, &reason), ROPE_SUCCESS) << reason.text;
    EXPECT_EQ(std::vector<uint8_t>(axes, axes + 8), (std::vector<uint8_t>{0, 1, 2, 0, 1, 2, 0, 0}));
    EXPECT_EQ(ropeSetAxes(ROPE_AXES_CONTIGUOUS, qwen2, 3, 9, axes, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "3 sections of 8 pairs together; there must be 1 to 4, of 9 pairs together");
    ASSERT_EQ(ropeSetAxes(ROPE_AXES_INTERLEAVED, qwen2, 3, 8, axes, &reason), ROPE_SUCCESS) << reason.text;
    EXPECT_EQ(std::vector<uint8_t>(axes, axes + 8), (std::vector<uint8_t>{0, 1, 2, 0, 1, 2, 0, 1})) << "as Qwen's code";
    const uint32_t empty[4] = {0, 0, 8, 0};
    ASSERT_EQ(ropeSetAxes(ROPE_AXES_CONTIGUOUS, empty, 4, 8, axes, &reason), ROPE_SUCCESS) << reason.text;
    EXPECT_EQ(std::vector<uint8_t>(axes, axes + 8), std::vector<uint8_t>(8, 2));
}

} // namespace
