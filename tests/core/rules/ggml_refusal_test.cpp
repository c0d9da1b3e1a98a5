// ggml's parameters that are refused, and what the sentences say.
#include "support/refusal.hpp"

#include <cmath>
#include <cstdio>
#include <functional>

namespace {

constexpr uint32_t kHeadDim = 128;

RopeGgml yarn(int32_t mode) {
    return {0, mode == 24 ? 64 : 128, mode, 0, 4096, 10000, 0.25f, 1, 1, 32, 1, {16, 24, 24, 0}, 0};
}

// Nothing may have been written.
std::string refusal(const RopeGgml& parameters, uint32_t head_dim = kHeadDim) {
    std::vector<double> values(kHeadDim, -7);
    std::vector<uint8_t> axes(kHeadDim, 77);
    const std::vector<double> untouched = values;
    const std::vector<uint8_t> untouched_axes = axes;
    RopeRotation rotation, before;
    std::memset(&rotation, 5, sizeof rotation);
    before = rotation;
    RopeReason reason;
    EXPECT_EQ(ropeReadGgml(&parameters, head_dim, values.data(), axes.data(), &rotation, nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeReadGgml(&parameters, head_dim, values.data(), axes.data(), &rotation, &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(values, untouched);
    EXPECT_EQ(axes, untouched_axes);
    EXPECT_EQ(std::memcmp(&rotation, &before, sizeof rotation), 0);
    EXPECT_LT(std::strlen(reason.text), sizeof reason.text - 1) << "cut off: " << reason.text;
    return reason.text;
}

std::string refusalOf(int32_t mode, const std::function<void(RopeGgml*)>& change, uint32_t head_dim = kHeadDim) {
    RopeGgml p = yarn(mode);
    change(&p);
    return refusal(p, head_dim);
}

TEST(GgmlRefusal, OfElements) {
    for (const int32_t mode : {1, 3, 4, -1, 16, 32, 10}) EXPECT_SAYS(refusal(yarn(mode)), "mode is ");
    EXPECT_SAYS(refusalOf(2, [](RopeGgml* p) { p->n_dims = 63; }), "n_dims is 63; it must be even");
    EXPECT_SAYS(refusalOf(2, [](RopeGgml* p) { p->n_dims = 0; }), "n_dims is 0");
    EXPECT_SAYS(refusalOf(0, [](RopeGgml* p) { p->n_dims = -2; }), "n_dims is -2");
    EXPECT_SAYS(refusalOf(
                    0, [](RopeGgml* p) { p->n_dims = 8194; }, 1 << 20),
                "n_dims is 8194");
    EXPECT_SAYS(refusalOf(
                    24, [](RopeGgml* p) { p->n_dims = 4098; }, 8196),
                "n_dims is 4098");
    EXPECT_SAYS(refusalOf(2, [](RopeGgml* p) { p->n_offs = 2; }), "n_offs is 2, n_dims 128 and head_dim 128");
    EXPECT_SAYS(refusalOf(
                    2, [](RopeGgml* p) { p->n_offs = 1; }, 200),
                "n_offs is 1");
    EXPECT_SAYS(refusalOf(
                    2, [](RopeGgml* p) { p->n_offs = -2; }, 200),
                "n_offs is -2");
    EXPECT_SAYS(refusal(yarn(2), 126), "head_dim 126");
    EXPECT_SAYS(refusal(yarn(24), 130), "VISION takes half of head_dim");
    EXPECT_SAYS(refusalOf(24, [](RopeGgml* p) { p->n_offs = 2; }), "an n_offs of 0");
}

TEST(GgmlRefusal, OfSections) {
    for (const int32_t mode : {8, 24, 40}) {
        EXPECT_SAYS(refusalOf(mode, [](RopeGgml* p) { p->sections[1] = -1; }), "sections are 16, -1, 24 and 0");
        EXPECT_SAYS(refusalOf(mode, [](RopeGgml* p) { p->sections[3] = 65; }), "their sum at most head_dim, 128");
        EXPECT_SAYS(refusalOf(mode,
                              [](RopeGgml* p) {
                                  for (int32_t& section : p->sections) section = 0;
                                  p->sections[3] = 4;
                              }),
                    "one of the first three more than 0");
        EXPECT_SAYS(refusalOf(mode,
                              [](RopeGgml* p) {
                                  for (int32_t& section : p->sections) section = INT32_MAX;
                              }),
                    "sections are");
    }
}

TEST(GgmlRefusal, OfNumbers) {
    for (const float base : {0.0f, 0.5f, -1.0f, 0x1p64f, INFINITY, NAN})
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->freq_base = base; }), "freq_base is ");
    EXPECT_SAYS(refusalOf(2, [](RopeGgml* p) { p->freq_base = 1; }), "freq_base is 1 with an ext_factor of 1");
    for (const float scale : {0x1p29f, -0x1p29f, INFINITY, -INFINITY, NAN}) {
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->freq_scale = scale; }), "freq_scale is ");
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->freq_scale = scale, p->ext_factor = 0; }), "freq_scale is ");
    }
    for (const float scale : {0.0f, -0.0f, -1.0f, 1e-40f})
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->freq_scale = scale; }),
                    "ggml takes the logarithm of 1 / freq_scale");
    for (const float ext : {1025.0f, -1025.0f, INFINITY, NAN})
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->ext_factor = ext; }), "ext_factor is ");
    for (const int32_t length : {-1, INT32_MIN})
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->n_ctx_orig = length; }), "n_ctx_orig is ");
    for (const float beta : {0.0f, -1.0f, 0x1p61f, NAN}) {
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->beta_fast = beta; }), "the others from 2^-60 to 2^60");
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->beta_slow = beta; }), "the others from 2^-60 to 2^60");
    }
}

TEST(GgmlRefusal, OfScalesThatNoRotationHas) {
    for (const float zero : {0.0f, -0.0f}) {
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->attn_factor = zero; }),
                    "attn_factor is 0; ggml would write zeros");
        EXPECT_SAYS(refusalOf(2, [&](RopeGgml* p) { p->attn_factor = zero, p->ext_factor = 0; }), "attn_factor is 0");
    }
    for (const float factor : {0x1p21f, -0x1p21f, 0x1p-22f, -0x1p-22f, INFINITY, -INFINITY, NAN}) {
        char value[64];
        std::snprintf(value, sizeof value, "attn_factor is %.9g; ", static_cast<double>(factor));
        EXPECT_EQ(refusalOf(2, [&](RopeGgml* p) { p->attn_factor = factor; }),
                  std::string(value) +
                      "its product with YaRN's 1 + 0.1 ln(1 / freq_scale) must be from 2^-20 to 2^20, either way");
        EXPECT_EQ(refusalOf(2, [&](RopeGgml* p) { p->attn_factor = factor, p->ext_factor = 0; }),
                  std::string(value) + "it must be from 2^-20 to 2^20, either way");
    }
}

// A plan of the same frequencies refuses what is refused here.
TEST(GgmlRefusal, OfFrequenciesThatNoPlanTakes) {
    EXPECT_EQ(refusalOf(2, [](RopeGgml* p) { p->freq_scale = 0x1p28f, p->ext_factor = 1024; }),
              "freq_scale is 268435456 and ext_factor 1024, which make a frequency of -2.7460947e+11; it must be less "
              "than 2^28 turns (1.6866e9 radians) either way");
    // Pair 0 of YaRN has scale * (1 - ext) + ext.
    constexpr float kExt = -10;
    RopeGgml p = yarn(2);
    p.ext_factor = kExt;
    p.freq_scale = 0x1.24p27f; // 11 times this, less 10, is 1684013046
    double values[64];
    uint8_t axes[64];
    RopeRotateDescription d = {};
    d.tokens = d.q.heads = 1;
    d.head_dim = kHeadDim;
    ASSERT_EQ(ropeReadGgml(&p, kHeadDim, values, axes, &d.rotation, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(values[0], 1684013046.0);
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    p.freq_scale = 0x1.25p27f; // 1689780214
    EXPECT_SAYS(refusal(p), "which make a frequency of 1.68978021e+09; it must be less than 2^28 turns");
    values[0] = 1689780214.0;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_INVALID);
}

} // namespace
