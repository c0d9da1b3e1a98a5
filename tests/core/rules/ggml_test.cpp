// ggml's parameters, read: the outputs of ggml's own CPU code, and its formulas in double precision.
#include "support/paths.hpp"
#include "support/sample.hpp"
#include <vkrope/rope.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <vector>

namespace {

enum Mode : int32_t { kNormal = 0, kNeox = 2, kMrope = 8, kVision = 24, kImrope = 40 };

static_assert(sizeof(RopeGgml) == 16 * sizeof(int32_t), "op_params' own bytes, without padding");

// Reading has what ropeReadGgml gives, and the arrays that its rotation points at.
struct Reading {
    RopeRotateDescription d = {};
    std::vector<double> values;
    std::vector<uint8_t> axes;

    Reading(const RopeGgml& parameters, uint32_t head_dim) : values(head_dim / 2, -7), axes(head_dim / 2, 77) {
        RopeReason reason;
        d.head_dim = head_dim;
        EXPECT_EQ(ropeReadGgml(&parameters, head_dim, values.data(), axes.data(), &d.rotation, &reason), ROPE_SUCCESS)
            << reason.text;
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
};

// ---- ggml's outputs

constexpr uint32_t kTokens = 3;

struct Case {
    RopeGgml parameters;
    uint32_t head_dim;
    bool factors;
    std::vector<float> output;
};

std::vector<Case> cases() {
    const std::string folder = paths::data("ggml/");
    std::ifstream manifest(folder + "manifest.json"), data(folder + "data.bin", std::ios::binary);
    std::vector<Case> all;
    const nlohmann::json parsed = nlohmann::json::parse(manifest);
    for (const nlohmann::json& row : parsed.at("cases")) {
        const auto number = [&](size_t i) { return row.at(i).get<int32_t>(); };
        const auto real = [&](size_t i) { return row.at(i).get<float>(); };
        Case c = {{0,
                   number(1),
                   number(0),
                   0,
                   number(3),
                   real(4),
                   real(5),
                   real(6),
                   real(7),
                   real(8),
                   real(9),
                   {number(10), number(11), number(12), number(13)},
                   number(2)},
                  static_cast<uint32_t>(number(14)),
                  number(15) != 0,
                  {}};
        c.output.resize(size_t{kTokens} * c.head_dim);
        data.read(reinterpret_cast<char*>(c.output.data()),
                  static_cast<std::streamsize>(c.output.size() * sizeof(float)));
        EXPECT_TRUE(data.good());
        all.push_back(c);
    }
    return all;
}

std::vector<double> turned(const Reading& reading) {
    RopeRotateDescription d = reading.d;
    d.tokens = kTokens;
    d.q.heads = 1;
    std::vector<float> q;
    std::vector<int32_t> positions;
    for (int t = 0; t < int{kTokens}; ++t) {
        for (int e = 0; e < static_cast<int>(d.head_dim); ++e)
            q.push_back(static_cast<float>((e * 7 + t * 5) % 16 - 8) / 8 + 0.0625f);
    }
    for (int axis = 0; axis < 4; ++axis) {
        for (int t = 0; t < int{kTokens}; ++t) positions.push_back((t + 1) * (3 * axis + 2));
    }
    std::vector<double> out(q.size());
    RopeHostRotate host = {};
    host.positions = positions.data();
    host.q = q.data();
    host.reference_q = out.data();
    RopeReason reason;
    EXPECT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_SUCCESS) << reason.text;
    return out;
}

// ggml rounds its angles to float32 in a chain of products.
TEST(Ggml, TurnsAsGgmlsOwnCodeDoes) {
    const std::vector<Case> all = cases();
    ASSERT_EQ(all.size(), 106u);
    size_t several = 0, scaled = 0;
    for (size_t n = 0; n < all.size(); ++n) {
        const Case& c = all[n];
        Reading reading(c.parameters, c.head_dim);
        double fastest = 0;
        for (uint32_t i = 0; i < reading.d.rotation.frequencies.count; ++i) {
            if (c.factors) reading.values[i] /= 1 + i / 8.0;
            fastest = std::fmax(fastest, std::fabs(reading.values[i]));
        }
        const double scale = reading.d.rotation.frequencies.scale;
        const double tolerance = std::fabs(scale) * (2e-6 + 1e-6 * fastest * 33);
        const std::vector<double> got = turned(reading);
        for (size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i], static_cast<double>(c.output[i]), tolerance + 1e-6)
                << "case " << n << ", element " << i;
        several += reading.d.rotation.frequencies.axes != nullptr;
        scaled += scale != 1;
    }
    EXPECT_GT(several, 50u);
    EXPECT_GT(scaled, 50u);
}

// ---- ggml's formulas

float rounded(double value) { return static_cast<float>(value); }

struct Formulas {
    const RopeGgml& p;
    double low = 0, high = 0;

    explicit Formulas(const RopeGgml& parameters) : p(parameters) {
        low = std::max(0.0, std::floor(bound(p.beta_fast)));
        high = std::min(p.n_dims - 1.0, std::ceil(bound(p.beta_slow)));
    }
    // Doubles that are rounded to float32 after each operation: the operations are so rounded once.
    double bound(float turns) const {
        const float circumference = rounded(static_cast<double>(rounded(2.0 * static_cast<double>(turns))) *
                                            static_cast<double>(rounded(3.14159265358979323846)));
        const float ratio = rounded(static_cast<double>(rounded(p.n_ctx_orig)) / static_cast<double>(circumference));
        const float top = rounded(p.n_dims * static_cast<double>(rounded(std::log(static_cast<double>(ratio)))));
        const float bottom = rounded(2 * static_cast<double>(rounded(std::log(static_cast<double>(p.freq_base)))));
        return static_cast<double>(rounded(static_cast<double>(top) / static_cast<double>(bottom)));
    }
    double scale() const {
        const double given = static_cast<double>(p.attn_factor);
        return p.ext_factor == 0 ? given : given * (1 + 0.1 * std::log(1 / static_cast<double>(p.freq_scale)));
    }
    int sum() const { return p.sections[0] + p.sections[1] + p.sections[2] + p.sections[3]; }
    int begin(int axis) const {
        int at = 0;
        for (int i = 0; i < axis; ++i) at += p.sections[i];
        return at;
    }
    int axis(int pair) const {
        if ((p.mode & 8) == 0) return 0;
        const int sector = pair % sum();
        if (p.mode == kImrope) {
            for (int i = 0; i < 3; ++i) {
                if (sector % 3 == i && sector < 3 * p.sections[i]) return i;
            }
            return 3;
        }
        int found = 3;
        for (int i = 2; i >= 0; --i) {
            if (sector < begin(i + 1)) found = i;
        }
        return found;
    }
    // Pairs since the axis began, which only VISION begins anew, and no axis at a place that an earlier one has.
    int exponent(int pair) const {
        if (p.mode != kVision) return pair;
        const int own = axis(pair);
        for (int i = 0; i < own; ++i) {
            if (begin(i) == begin(own)) return pair;
        }
        for (int at = pair; at >= 0; --at) {
            if (at % sum() == begin(own)) return pair - at;
        }
        return pair;
    }
    double value(int pair) const {
        const double theta = std::pow(static_cast<double>(p.freq_base), -2.0 * exponent(pair) / p.n_dims);
        const double interpolated = theta * static_cast<double>(p.freq_scale);
        if (p.ext_factor == 0) return interpolated;
        const double along = (pair - low) / std::max(static_cast<double>(0.001f), high - low);
        const double mix = (1 - std::min(1.0, std::max(0.0, along))) * static_cast<double>(p.ext_factor);
        return interpolated * (1 - mix) + theta * mix;
    }
};

void expectFormulas(const RopeGgml& p, uint32_t head_dim) {
    const Reading reading(p, head_dim);
    const Formulas formulas(p);
    const RopeRotateDescription& d = reading.d;
    const uint32_t pairs = static_cast<uint32_t>(p.mode == kVision ? p.n_dims : p.n_dims / 2);
    EXPECT_EQ(d.head_dim, head_dim);
    EXPECT_EQ(d.rotation.rotary_begin, static_cast<uint32_t>(p.n_offs));
    EXPECT_EQ(d.rotation.rotary_dim, 2 * pairs);
    EXPECT_EQ(d.rotation.pairing, p.mode == kNormal ? ROPE_PAIRING_INTERLEAVED : ROPE_PAIRING_HALF);
    EXPECT_EQ(d.rotation.frequencies.values, reading.values.data());
    ASSERT_EQ(d.rotation.frequencies.count, pairs);
    EXPECT_NEAR(d.rotation.frequencies.scale, formulas.scale(), 1e-14 * std::fabs(formulas.scale()) + 1e-16);
    bool several = false;
    const double largest = std::max(1.0, std::fabs(static_cast<double>(p.freq_scale)));
    for (uint32_t i = 0; i < pairs; ++i) {
        const int pair = static_cast<int>(i);
        ASSERT_EQ(reading.axes[i], formulas.axis(pair)) << p.mode << ", pair " << i;
        several |= formulas.axis(pair) != 0;
        ASSERT_NEAR(reading.values[i], formulas.value(pair),
                    1e-13 * largest *
                        std::pow(static_cast<double>(p.freq_base), -2.0 * formulas.exponent(pair) / p.n_dims))
            << p.mode << ", pair " << i << ", ext " << p.ext_factor << ", scale " << p.freq_scale;
    }
    EXPECT_EQ(d.rotation.frequencies.axes != nullptr, several);
    for (size_t i = pairs; i < reading.values.size(); ++i) EXPECT_EQ(reading.values[i], -7);
}

TEST(Ggml, GivesWhatItsFormulasMean) {
    sample::Random random(5);
    const float scales[] = {1, 1.4245f, 0.25f, 0.025f}, mixes[] = {0, 0.7465f, 1, 0.1f},
                factors[] = {1, 1.4245f, -0.5f};
    const float bases[] = {10000, 500000, 1000000, 8192, 1.5f};
    for (int round = 0; round < 1500; ++round) {
        const int32_t modes[] = {kNormal, kNeox, kMrope, kVision, kImrope};
        RopeGgml p = {};
        p.mode = modes[round % 5];
        p.n_dims = 2 * static_cast<int32_t>(1 + random.below(64));
        p.n_ctx_orig = round % 7 == 0 ? 0 : static_cast<int32_t>(1 + random.next() % (1u << (1 + random.below(24))));
        p.freq_base = bases[random.below(5)];
        p.freq_scale = scales[random.below(4)];
        p.ext_factor = mixes[random.below(4)];
        p.attn_factor = factors[random.below(3)];
        p.beta_fast = random.below(2) != 0 ? 32 : 1 + std::fabs(random.value()) * 30;
        p.beta_slow = random.below(2) != 0 ? 1 : 0.1f + std::fabs(random.value()) * 5;
        uint32_t head_dim = static_cast<uint32_t>(p.n_dims) * 2;
        if (p.mode != kVision) {
            p.n_offs = 2 * static_cast<int32_t>(random.below(6));
            head_dim = static_cast<uint32_t>(p.n_dims + p.n_offs) + 2 * random.below(4);
        }
        for (int32_t& section : p.sections) section = static_cast<int32_t>(random.below(head_dim / 4 + 1));
        if (p.sections[0] + p.sections[1] + p.sections[2] == 0) p.sections[0] = 1;
        if (p.sections[0] + p.sections[1] + p.sections[2] + p.sections[3] > static_cast<int32_t>(head_dim)) continue;
        expectFormulas(p, head_dim);
    }
}

// Contexts at which the ramp's first bound comes next to a whole pair: float32 decides on which side, here and in ggml.
TEST(Ggml, RoundsTheRampsBoundsAsFloat32Does) {
    size_t differing = 0;
    for (int pair = 20; pair < 112; ++pair) {
        const double border = 64 * 3.14159265358979323846 * std::pow(10000.0, pair / 64.0);
        for (int step = -40; step <= 40; ++step) {
            const int32_t context = static_cast<int32_t>(border) + step;
            const RopeGgml p = {0, 128, kNeox, 0, context, 10000, 0.25f, 1, 1, 32, 1, {}, 0};
            const Formulas formulas(p);
            if ((context < border) == (formulas.bound(p.beta_fast) < pair)) continue;
            ++differing;
            expectFormulas(p, 128);
        }
    }
    EXPECT_GT(differing, 20u);
}

// Its structure is a key, so its members that the mode does not read change nothing else.
TEST(Ggml, ReadsNoSectionsWhereTheModeHasNone) {
    RopeGgml p = {0, 64, kNeox, 0, 0, 10000, 1, 0, 1, 0, 0, {-1, 1000, 5, 5}, 0};
    expectFormulas({0, 64, kNeox, 0, 0, 10000, 1, 0, 1, 0, 0, {}, 0}, 64);
    const Reading a({0, 64, kNeox, 0, 0, 10000, 1, 0, 1, 0, 0, {}, 0}, 64), b(p, 64);
    EXPECT_EQ(a.values, b.values);
    EXPECT_EQ(a.axes, b.axes);
    EXPECT_EQ(b.d.rotation.frequencies.scale, 1);
}

TEST(Ggml, LeavesTheOtherMembersAsTheyAre) {
    const RopeGgml p = {0, 64, kNormal, 0, 0, 10000, 1, 0, 1, 0, 0, {}, 0};
    std::vector<double> values(32);
    std::vector<uint8_t> axes(32);
    RopeRotateDescription d = {};
    d.tokens = 9;
    d.head_dim = 64;
    d.rotation.operation = ROPE_OPERATION_TRANSPOSE;
    d.q.heads = 3;
    ASSERT_EQ(ropeReadGgml(&p, 64, values.data(), axes.data(), &d.rotation, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(d.rotation.operation, ROPE_OPERATION_TRANSPOSE);
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
}

} // namespace
