// Positions added to embeddings: on every device with the CPU's bits, near the reference, and as the formulas have it.
#include "support/combinations.hpp"
#include "support/reach.hpp"
#include "support/rotation.hpp"
#include "support/sample.hpp"

#include "plan/encodings/add_resolve.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>

namespace {

using combinations::choiceIf;
using sample::Random;

constexpr uint8_t kUntouched = 0xFE;

// A description needs these arrays beside itself.
struct Inputs {
    std::vector<double> frequencies;
    std::vector<uint8_t> axes;
    gpu::Slots slots;
    std::vector<uint8_t> positions, rows; // all that were made; a plan may read fewer
};

// Makes one set and one axis, or at random several.
void makeFrequencies(RopeAddDescription* d, bool several, Random* random, Inputs* inputs) {
    if (d->learned != 0) return;
    const uint32_t sets = several && random->below(4) == 0 && d->positions.kind != ROPE_POSITIONS_COUNTED ? 2 : 1;
    for (uint32_t set = 0; set < sets; ++set) {
        const std::vector<double> one = sample::frequencies(10000 + 90000 * set, d->dim);
        inputs->frequencies.insert(inputs->frequencies.end(), one.begin(), one.end());
    }
    inputs->axes.assign(d->dim / 2, 0);
    if (several && random->below(4) == 0 && d->dim <= 512) {
        for (uint8_t& axis : inputs->axes) axis = static_cast<uint8_t>(random->below(3));
    }
    static const double kScales[] = {0, 0, 0.7, -0.7};
    const double scale = kScales[random->below(4)];
    d->frequencies = {inputs->frequencies.data(), d->dim / 2, scale, inputs->axes.data(), sets};
}

// `positions` stands in place of random ones, if there is any.
void makeSlots(const RopeAddDescription& d, const rope::ResolvedAdd& addition, const std::vector<uint8_t>& positions,
               Random* random, Inputs* inputs) {
    RopeRotateDescription filled = addition.d;
    RopePlan plan;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    ASSERT_EQ(ropePlanAdd(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots& slots = inputs->slots;
    inputs->positions = positions.empty() ? rotation::makePositions(filled, random) : positions;
    const uint64_t row_bytes = plan.bytes[ROPE_SLOT_ROWS];
    if (d.learned != 0) {
        inputs->rows = sample::tensor(filled.rotation.rows.element, row_bytes, random->next());
    } else if (filled.rotation.source != ROPE_SOURCE_INLINE) {
        inputs->rows = rotation::makeRows(filled, inputs->positions.data(), row_bytes);
    }
    slots.bytes[ROPE_SLOT_POSITIONS] = inputs->positions;
    slots.bytes[ROPE_SLOT_POSITIONS].resize(plan.bytes[ROPE_SLOT_POSITIONS]);
    slots.bytes[ROPE_SLOT_ROWS] = inputs->rows;
    if (plan.bytes[ROPE_SLOT_FREQUENCIES] != 0)
        slots.set(ROPE_SLOT_FREQUENCIES, sample::words(inputs->frequencies, d.angle));
    slots.bytes[ROPE_SLOT_X] = sample::tensor(filled.element, plan.bytes[ROPE_SLOT_X], random->next());
    slots.bytes[ROPE_SLOT_X_OUT].assign(plan.bytes[ROPE_SLOT_X_OUT], kUntouched);
    slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>(plan.bytes[ROPE_SLOT_COUNTER] / 4, 1000));
}

// Half an ulp of the product, of the term and of the sum, each of at most all magnitudes together, and of what is
// stored: 2^-24 each and 2^-24, 2^-11 or 2^-8 of the last; of a denormal float16 2^-25.
double allowed(double magnitude, RopeElement element) {
    const double stored = element == ROPE_ELEMENT_F16 ? 0x1p-11 : element == ROPE_ELEMENT_BF16 ? 0x1p-8 : 0;
    return magnitude * (3 * 0x1p-24 + stored) * (1 + 0x1p-20) + (element == ROPE_ELEMENT_F16 ? 0x1p-25 : 0);
}

testing::AssertionResult checkReference(const rope::ResolvedAdd& addition, const std::vector<double>& reference,
                                        const std::vector<uint8_t>& got) {
    const RopeRotateDescription& d = addition.d;
    std::vector<float> values(got.size() / ropeElementBytes(d.element_out));
    ropeConvertElements(got.data(), d.element_out, values.data(), ROPE_ELEMENT_F32, values.size());
    const double most = 2.0 * addition.scale + 2; // inputs and learned rows are less than 2
    for (uint32_t batch = 0; batch < d.batch; ++batch) {
        for (uint32_t token = 0; token < d.tokens; ++token) {
            for (uint32_t e = 0; e < d.head_dim; ++e) {
                const uint64_t at =
                    addition.x.to.offset + batch * addition.x.to.batch_stride + token * addition.x.to.token_stride + e;
                const double error = std::fabs(values[at] - reference[at]);
                if (error > allowed(most, d.element_out))
                    return testing::AssertionFailure() << at << " is off by " << error << " from " << reference[at];
            }
        }
    }
    return testing::AssertionSuccess();
}

testing::AssertionResult check(rope::Device* device, RopeAddDescription d, uint64_t seed, const RopeLimits& limits,
                               const std::vector<uint8_t>& positions = {}) {
    Random random(seed);
    Inputs inputs;
    makeFrequencies(&d, positions.empty(), &random, &inputs);
    rope::ResolvedAdd addition;
    RopeReason reason;
    if (rope::resolveAdd(d, &addition, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    RopePlan plan;
    if (ropePlanAdd(&d, &limits, &plan) != ROPE_SUCCESS) return testing::AssertionFailure() << plan.reason.text;
    makeSlots(d, addition, positions, &random, &inputs);
    gpu::Slots after = inputs.slots;
    const testing::AssertionResult ran = gpu::run(device, plan, &after);
    if (!ran) return ran;
    const RopeSlot out = d.out_of_place != 0 ? ROPE_SLOT_X_OUT : ROPE_SLOT_X;
    gpu::Slots wanted = inputs.slots;
    std::vector<double> reference(plan.bytes[out] / ropeElementBytes(addition.d.element_out));
    RopeHostAdd host = {inputs.positions.data(),
                        inputs.rows.empty() ? nullptr : inputs.rows.data(),
                        inputs.slots.bytes[ROPE_SLOT_X].data(),
                        reference.data(),
                        wanted.bytes[out].data(),
                        0};
    if (ropeHostRunAdd(&d, &host, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    if (plan.bytes[ROPE_SLOT_COUNTER] != 0) wanted.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{1000 + host.outside});
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan.bytes[slot] == 0) continue;
        const std::string difference = rotation::firstDifference(after.bytes[slot], wanted.bytes[slot]);
        if (!difference.empty())
            return testing::AssertionFailure() << ropeSlotName(static_cast<RopeSlot>(slot)) << ": " << difference;
    }
    // 16-bit rows of sinusoids are themselves as far from the truth as 16 bits are.
    const bool coarse = d.learned == 0 && addition.d.rotation.rows.element > ROPE_ELEMENT_F32;
    return coarse ? testing::AssertionSuccess() : checkReference(addition, reference, after.bytes[out]);
}

RopeElement elementOf(Random* random) { return static_cast<RopeElement>(1 + random->below(3)); }

// 16-bit elements move in twos.
bool movesInTwos(const RopeAddDescription& d) {
    return d.element != ROPE_ELEMENT_F32 || d.element_out != ROPE_ELEMENT_F32;
}

bool liesInHalves(const RopeAddDescription& d) { return d.learned != 0 || d.order == ROPE_SINUSOIDS_HALVES; }

// True if the 16-bit elements of a side lie at odd places, which the plan refuses.
bool isOdd(const RopeAddDescription& d, RopeElement element, const RopeLayout& layout) {
    const bool odd = (liesInHalves(d) && d.dim % 4 != 0) || ((layout.offset | layout.token_stride) & 1) != 0;
    return element != ROPE_ELEMENT_F32 && odd;
}

RopeLayout layoutOf(const RopeAddDescription& d, Random* random) {
    RopeLayout layout = {};
    if (random->below(2) == 0) return layout;
    const uint64_t step = (movesInTwos(d) ? 2ull : 1ull) << random->below(3);
    layout.offset = step * random->below(5);
    layout.token_stride = d.dim + step * random->below(4);
    layout.batch_stride = d.tokens * layout.token_stride + step * random->below(3);
    return layout;
}

void drawPositions(RopeAddDescription* d, Random* random) {
    RopePositions& p = d->positions;
    p.kind = static_cast<RopePositionKind>(random->below(5));
    p.element = static_cast<RopePositionElement>(random->below(4));
    p.first = -2 + static_cast<int32_t>(random->below(4));
    p.offset = random->below(3);
    if (p.kind >= ROPE_POSITIONS_PACKED) {
        d->batch = 1;
        p.sequences = 1 + random->below(3);
        p.element = static_cast<RopePositionElement>(random->below(2));
        d->tokens += 2 * p.sequences;
    } else {
        p.same_for_all_sequences = random->below(2);
    }
    const bool table = d->learned != 0 || d->source == ROPE_SOURCE_TABLE;
    if (table && p.element > ROPE_POSITION_INT64) p.element = ROPE_POSITION_INT64;
}

RopeAddDescription draw(uint64_t seed) {
    static const uint32_t kDims[] = {2, 4, 6, 8, 10, 16, 24, 64, 66, 130, 768};
    Random random(seed * 7919 + 3);
    RopeAddDescription d = {};
    d.batch = 1 + random.below(3);
    d.tokens = random.below(4) == 0 ? 33 + random.below(300) : 1 + random.below(7);
    d.dim = kDims[random.below(11)];
    d.learned = random.below(2);
    d.order = static_cast<RopeSinusoidOrder>(random.below(2));
    d.cosine_first = random.below(2);
    d.element = elementOf(&random);
    d.out_of_place = random.below(2);
    d.element_out = d.out_of_place != 0 ? elementOf(&random) : d.element;
    if (movesInTwos(d) && liesInHalves(d) && d.dim % 4 != 0) d.dim += 2;
    d.scale = random.below(2) == 0 ? 0 : std::sqrt(static_cast<float>(d.dim));
    d.source = static_cast<RopeSource>(random.below(3));
    d.angle = static_cast<RopeAngle>(random.below(2));
    d.rows.first_position = -3;
    d.rows.count = 1 + random.below(40);
    d.rows.element = elementOf(&random);
    d.rows.offset = random.below(2) * 4;
    d.count_outside = random.below(2);
    drawPositions(&d, &random);
    d.x = layoutOf(d, &random);
    d.x_out = layoutOf(d, &random);
    return d;
}

// The choices of a draw, each a small number; those that mean nothing in it are none.
combinations::Choices choicesOf(uint64_t seed) {
    const RopeAddDescription d = draw(seed);
    const bool sinusoids = d.learned == 0, is_inline = sinusoids && d.source == ROPE_SOURCE_INLINE;
    return {choiceIf(true, d.batch > 1),
            choiceIf(true, d.tokens > 32),
            choiceIf(true, d.dim % 8 == 0),
            choiceIf(true, d.learned),
            choiceIf(sinusoids, d.order),
            choiceIf(sinusoids, d.cosine_first),
            choiceIf(sinusoids, d.source),
            choiceIf(is_inline, d.angle),
            choiceIf(!is_inline, d.rows.element),
            choiceIf(true, d.element),
            choiceIf(true, d.out_of_place),
            choiceIf(d.out_of_place != 0, d.element_out),
            choiceIf(true, d.scale != 0),
            choiceIf(true, d.x.token_stride != 0),
            choiceIf(true, d.count_outside),
            choiceIf(true, d.positions.kind),
            choiceIf(d.positions.kind != ROPE_POSITIONS_COUNTED, d.positions.element),
            choiceIf(d.positions.kind < ROPE_POSITIONS_COUNTED, d.positions.same_for_all_sequences),
            choiceIf(true, seed % 3)};
}

class Add : public gpu::OnDevice {};

TEST_P(Add, HasTheCpusBitsOverAllItsChoices) {
    uint32_t taken = 0;
    for (const uint64_t seed : share(combinations::draws(240, strength() - 1, choicesOf))) {
        if (++taken % 120 == 0) reopenDevice();
        RopeLimits limits = device().limits();
        if (seed % 3 != 0) limits.threads = seed % 3 == 1 ? 16384 : 1; // a GPU's way to cut, or a CPU's
        ASSERT_TRUE(check(&device(), draw(seed), seed, limits)) << "draw " << seed;
    }
}

// The same positions for each of many sequences, which one group or one thread then takes together. Groups lack lanes,
// sequences and tokens.
TEST_P(Add, HasTheCpusBitsForManySequencesOfTheSamePositions) {
    static const uint32_t kBatches[] = {2, 3, 7, 8, 40}, kDims[] = {6, 10, 16, 768, 1048};
    std::set<uint32_t> shared, blocks, sequences;
    for (const combinations::Choices& c : share(combinations::of({5, 5, 3, 3, 2, 2, 2, 2}, strength()))) {
        RopeAddDescription d = {};
        d.batch = kBatches[c[0]];
        d.dim = kDims[c[1]];
        d.tokens = 9;
        d.element = static_cast<RopeElement>(1 + c[3]);
        d.learned = c[4];
        d.out_of_place = c[5];
        d.scale = c[6] != 0 ? 3.0f : 0;
        d.order = static_cast<RopeSinusoidOrder>(c[7]);
        d.rows.count = 5000;
        d.rows.element = d.element;
        d.positions.same_for_all_sequences = 1;
        d.count_outside = 1;
        if (isOdd(d, d.element, d.x)) d.dim += 2;
        RopeLimits limits = device().limits();
        limits.threads = c[2] == 0 ? 16384 : 64;
        if (c[2] == 2) limits.group_size = 128; // each kind of device's way to cut
        RopePlan plan;
        const std::vector<double> frequencies = sample::frequencies(10000, d.dim);
        RopeAddDescription planned = d;
        planned.frequencies = {frequencies.data(), d.dim / 2, 0, nullptr, 1};
        if (ropePlanAdd(&planned, &limits, &plan) == ROPE_SUCCESS) {
            shared.insert(rope::passAt(plan, 0).constants[ROPE_ID_SHARES]);
            blocks.insert(rope::passAt(plan, 0).group[1]);
            sequences.insert(rope::passAt(plan, 0).heads_per_thread);
        }
        ASSERT_TRUE(check(&device(), d, d.batch, limits))
            << d.batch << " of " << d.dim << ", threads " << limits.threads << ", element " << d.element << ", learned "
            << d.learned << ", out of place " << d.out_of_place << ", scaled " << c[6] << ", order " << c[7];
    }
    EXPECT_EQ(shared, (std::set<uint32_t>{0, 1}));
    EXPECT_EQ(blocks, (std::set<uint32_t>{1, 2, 4, 8}));
    EXPECT_EQ(sequences, (std::set<uint32_t>{1, 2, 4, 8}));
}

// Every way that a lane lies: 16 bytes at a time, by words, in one group or several, and partly empty.
TEST_P(Add, HasTheCpusBitsHoweverALaneLies) {
    static const uint32_t kDims[] = {8, 10, 48, 66, 1048, 2048, 2098}, kTokens[] = {1, 5, 70},
                          kOffsets[] = {0, 4, 2, 1};
    std::set<std::string> seen;
    size_t number = 0;
    for (const combinations::Choices& c : combinations::of({7, 3, 3, 3, 4, 2, 2, 2, 3}, strength())) {
        RopeAddDescription d = {};
        d.dim = kDims[c[0]];
        d.tokens = kTokens[c[1]];
        d.element = static_cast<RopeElement>(1 + c[2]);
        d.out_of_place = c[3] != 0; // of another element, or of the same
        d.element_out = static_cast<RopeElement>(1 + (c[3] == 2 ? (c[2] + 1) % 3 : c[2]));
        const uint32_t offset = kOffsets[c[4]], offset_out = c[5] != 0 ? offset : 0;
        d.x = {offset, 0, d.dim + offset, 0};
        if (d.out_of_place != 0) d.x_out = {offset_out, 0, d.dim + 2 * offset_out, 0};
        d.learned = c[6];
        d.order = static_cast<RopeSinusoidOrder>(c[7]);
        d.rows.count = 5000;
        d.rows.element = static_cast<RopeElement>(1 + c[8]);
        if (isOdd(d, d.element, d.x) || (d.out_of_place != 0 && isOdd(d, d.element_out, d.x_out))) continue;
        RopeLimits limits = device().limits();
        limits.threads = 16384;
        RopePlan plan;
        const std::vector<double> frequencies = sample::frequencies(10000, d.dim);
        RopeAddDescription planned = d;
        planned.frequencies = {frequencies.data(), d.dim / 2, 0, nullptr, 1};
        if (ropePlanAdd(&planned, &limits, &plan) == ROPE_SUCCESS) {
            const rope::PlanPass& pass = rope::passAt(plan, 0);
            seen.insert(std::string(pass.shader->name) + (pass.constants[ROPE_ID_BY_WORDS] != 0 ? " by words" : "") +
                        (pass.constants[ROPE_ID_QUADS] == 2 ? " of eight" : "") +
                        (d.learned != 0 && pass.constants[ROPE_ID_ROWS] == ROPE_ROWS_BY_EIGHT ? ", rows too" : ""));
        }
        if (!takes(number++)) continue;
        ASSERT_TRUE(check(&device(), d, 1 + d.dim, limits))
            << d.dim << " x " << d.tokens << ", elements " << d.element << " to " << d.element_out << ", offsets "
            << offset << " and " << offset_out << ", learned " << d.learned << ", order " << d.order << ", rows "
            << d.rows.element;
    }
    std::set<std::string> wanted = {"add_wide", "add_wide by words", "add_wide of eight",
                                    "add_wide of eight, rows too"};
    if (strength() == 3) { // fewer choices meet on another setup of the device
        EXPECT_EQ(seen, wanted);
    }
}

// Tokens without a position, or with one outside the table, in groups of several tokens and of several sequences.
TEST_P(Add, GivesNothingToTokensThatHaveNoPosition) {
    const std::vector<int64_t> numbers = {5, 1ll << 32, 0, -7, INT64_MIN, 3, 41, -1, INT64_MAX, 8, 2, 1ll << 31, 1};
    std::vector<uint8_t> positions(numbers.size() * sizeof(int64_t));
    std::memcpy(positions.data(), numbers.data(), positions.size());
    for (const combinations::Choices& c : share(combinations::of({3, 2, 2, 2, 3, 2}, strength()))) {
        RopeAddDescription d = {};
        d.batch = c[0] == 0 ? 1 : c[0] == 1 ? 3 : 9;
        d.tokens = static_cast<uint32_t>(numbers.size());
        d.dim = c[1] != 0 ? 64 : 264;
        d.learned = c[2];
        d.scale = c[3] != 0 ? 0.5f : 0;
        d.element = static_cast<RopeElement>(1 + c[4]);
        d.out_of_place = c[5];
        d.rows.first_position = -2;
        d.rows.count = 12;
        d.positions.element = ROPE_POSITION_INT64;
        d.positions.same_for_all_sequences = 1;
        d.count_outside = 1;
        RopeLimits limits = device().limits();
        limits.threads = 16384;
        EXPECT_TRUE(check(&device(), d, 2, limits, positions))
            << d.batch << " of " << d.dim << ", learned " << d.learned << ", scale " << d.scale << ", element "
            << d.element << ", out of place " << d.out_of_place;
    }
}

// Packed sequences, between and behind which tokens are of none.
TEST_P(Add, GivesNothingToTokensOfNoSequence) {
    const std::vector<uint32_t> starts = {3, 9, 20};
    std::vector<uint8_t> positions(starts.size() * sizeof(uint32_t));
    std::memcpy(positions.data(), starts.data(), positions.size());
    for (const uint32_t learned : {0u, 1u}) {
        for (const uint32_t out_of_place : {0u, 1u}) {
            for (const float scale : {0.0f, 2.0f}) {
                RopeAddDescription d = {};
                d.tokens = 24; // three before the first, and four behind the last
                d.dim = 64;
                d.learned = learned;
                d.out_of_place = out_of_place;
                d.scale = scale;
                d.rows.count = 30;
                d.positions.kind = ROPE_POSITIONS_PACKED;
                d.positions.sequences = 2;
                RopeLimits limits = device().limits();
                limits.threads = 16384;
                EXPECT_TRUE(check(&device(), d, 3, limits, positions)) << learned << ", scale " << scale;
            }
        }
    }
}

TEST_P(Add, IsSplitIntoPartsOfTheSameBits) {
    for (const uint32_t dim : {20u, 768u}) {
        RopeAddDescription d = {};
        d.batch = 3;
        d.tokens = 20000 / dim;
        d.dim = dim;
        RopeLimits limits = device().limits();
        limits.storage_range = 30000;
        for (const uint32_t threads : {1u, 16384u}) {
            limits.threads = threads;
            RopePlan plan;
            const std::vector<double> frequencies = sample::frequencies(10000, dim);
            d.frequencies = {frequencies.data(), dim / 2, 0, nullptr, 1};
            ASSERT_EQ(ropePlanAdd(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
            EXPECT_GT(ropeDispatchCount(&plan), 5u);
            EXPECT_TRUE(check(&device(), d, 5, limits));
        }
    }
}

// Zeros with sinusoids added are the table itself.
std::vector<float> sinusoids(rope::Device* device, RopeAddDescription d, const std::vector<int32_t>& positions) {
    RopePlan plan;
    d.tokens = static_cast<uint32_t>(positions.size());
    EXPECT_EQ(ropePlanAdd(&d, &device->limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots slots;
    slots.set(ROPE_SLOT_POSITIONS, positions);
    slots.set(ROPE_SLOT_FREQUENCIES,
              sample::words(std::vector<double>(d.frequencies.values, d.frequencies.values + d.dim / 2), d.angle));
    slots.bytes[ROPE_SLOT_X].resize(plan.bytes[ROPE_SLOT_X]);
    EXPECT_TRUE(gpu::run(device, plan, &slots));
    return slots.get<float>(ROPE_SLOT_X);
}

// The formula itself, in long double, whose cosine and sine of angles below 2^20 lose nothing that counts here.
TEST_P(Add, GivesTheSinusoidalTableOfTheFormula) {
    std::vector<int32_t> positions;
    for (int32_t p = 0; p < 4096; ++p) positions.push_back(p);
    for (const int32_t p : {131071, 999999, -1, -4095}) positions.push_back(p);
    double worst = 0;
    for (const uint32_t dim : {64u, 512u}) {
        for (const double base : {10000.0, 500.0}) {
            const std::vector<double> frequencies = sample::frequencies(base, dim);
            RopeAddDescription d = {};
            d.dim = dim;
            d.frequencies = {frequencies.data(), dim / 2, 0, nullptr, 1};
            const std::vector<float> woven = sinusoids(&device(), d, positions);
            d.order = ROPE_SINUSOIDS_HALVES;
            const std::vector<float> halves = sinusoids(&device(), d, positions);
            d.cosine_first = 1;
            const std::vector<float> flipped = sinusoids(&device(), d, positions);
            for (size_t at = 0; at < positions.size() * dim; at += 2) {
                const size_t row = at / dim * dim, pair = at % dim / 2;
                const long double angle =
                    positions[at / dim] / std::pow(static_cast<long double>(base), 2.0L * pair / dim);
                const double truth[2] = {static_cast<double>(std::sin(angle)), static_cast<double>(std::cos(angle))};
                for (size_t which = 0; which < 2; ++which) {
                    // The frequency is a double: 2^-54 of it, times the position.
                    const double slack = std::fabs(static_cast<double>(angle)) * 0x1p-52;
                    worst = std::fmax(worst, std::fabs(woven[at + which] - truth[which]) - slack);
                    ASSERT_EQ(halves[row + pair + which * dim / 2], woven[at + which]);
                    ASSERT_EQ(flipped[row + pair + (1 - which) * dim / 2], woven[at + which]);
                }
            }
        }
    }
    EXPECT_LE(std::log2(worst), -24.9);
    std::printf("%s: sinusoidal table within 2^%.4f\n", GetParam().name.c_str(), std::log2(worst));
}

// The angles go from 2^-95 to 2^29 radians, at positions of every length. The sines' first bits lie in each of a
// phase's words.
TEST_P(Add, HasTheCpusBitsForAnglesOfEveryLength) {
    constexpr uint32_t kDim = 2 * ROPE_MAX_PAIRS, kTokens = 67;
    Random random(1);
    for (const double scale : {0.0, 0.5, -0.5, 0.7, -0.7, 1.0 + 0x1p-52, 0x1p20, -0x1p20}) {
        std::vector<double> frequencies;
        std::vector<int64_t> positions;
        for (uint32_t i = 0; i < kDim / 2; ++i)
            frequencies.push_back(
                std::ldexp(1 + 1e-9 * random.below(1000000000), static_cast<int>(random.below(124)) - 95));
        for (uint32_t i = 0; i < kTokens; ++i) {
            const uint64_t bits = static_cast<uint64_t>(random.next()) << 32 | random.next();
            positions.push_back(static_cast<int64_t>(bits) >> (i % 2 == 0 ? 0 : random.below(63)));
        }
        RopeAddDescription d = {};
        d.tokens = kTokens;
        d.dim = kDim;
        d.frequencies = {frequencies.data(), kDim / 2, scale, nullptr, 1};
        d.positions.element = ROPE_POSITION_FIXED64;
        RopeLimits limits = device().limits();
        limits.threads = 1;
        RopePlan plan;
        ASSERT_EQ(ropePlanAdd(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots slots;
        slots.set(ROPE_SLOT_POSITIONS, positions);
        slots.set(ROPE_SLOT_FREQUENCIES, sample::words(frequencies, d.angle));
        slots.bytes[ROPE_SLOT_X].resize(plan.bytes[ROPE_SLOT_X]);
        std::vector<uint8_t> wanted = slots.bytes[ROPE_SLOT_X];
        RopeHostAdd host = {positions.data(), nullptr, wanted.data(), nullptr, wanted.data(), 0};
        RopeReason reason;
        ASSERT_EQ(ropeHostRunAdd(&d, &host, &reason), ROPE_SUCCESS) << reason.text;
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        EXPECT_EQ(rotation::firstDifference(slots.bytes[ROPE_SLOT_X], wanted), "") << "scale " << scale;
    }
}

// The published example: base 10000, four elements, positions 0 and 1.
TEST_P(Add, GivesThePublishedRows) {
    const std::vector<double> frequencies = sample::frequencies(10000, 4);
    RopeAddDescription d = {};
    d.dim = 4;
    d.frequencies = {frequencies.data(), 2, 0, nullptr, 1};
    const std::vector<float> rows = sinusoids(&device(), d, {0, 1});
    const double wanted[] = {0, 1, 0, 1, 0.84147098, 0.54030231, 0.0099998333, 0.99995};
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(rows[i], wanted[i], 1e-7) << i;
}

TEST_P(Add, ATokenOutsideALearnedTableIsGivenNothingAndCounted) {
    for (const float scale : {0.0f, 2.0f}) {
        RopeAddDescription d = {};
        d.tokens = 5;
        d.dim = 4;
        d.learned = 1;
        d.scale = scale;
        d.rows.count = 3;
        d.rows.first_position = -2; // two rows more at its beginning
        d.positions.element = ROPE_POSITION_INT64;
        d.count_outside = 1;
        RopePlan plan;
        ASSERT_EQ(ropePlanAdd(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots slots;
        slots.set(ROPE_SLOT_POSITIONS, std::vector<int64_t>{0, -2, 1, -3, 1ll << 32});
        std::vector<float> x = sample::values(20, 1), table = sample::values(12, 2), wanted = x;
        x[8] = wanted[8] = -0.0f; // stays what it is
        slots.set(ROPE_SLOT_X, x);
        slots.set(ROPE_SLOT_ROWS, table);
        slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{7});
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        for (float& one : wanted) one *= scale == 0 ? 1 : scale;
        for (size_t e = 0; e < 4; ++e) {
            wanted[e] += table[8 + e]; // position 0 is row 2
            wanted[4 + e] += table[e];
        }
        EXPECT_EQ(std::memcmp(slots.bytes[ROPE_SLOT_X].data(), wanted.data(), 80), 0) << scale;
        EXPECT_EQ(slots.get<uint32_t>(ROPE_SLOT_COUNTER)[0], 10u);
    }
}

ROPE_ON_EVERY_DEVICE(Add);

// Any description is refused or stays inside the sizes that it asks for.
TEST(PlanAdd, OfAnyDescriptionStaysInsideItsSlots) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    uint32_t planned = 0;
    for (uint64_t seed = 0; seed < 4000; ++seed) {
        RopeAddDescription d = draw(seed);
        Random random(seed);
        Inputs inputs;
        makeFrequencies(&d, true, &random, &inputs);
        if (seed % 3 == 0) d.tokens *= 1u << random.below(14);
        if (seed % 3 == 0) limits.storage_range = 1u << (14 + random.below(13));
        d.x = d.x_out = {};
        static const uint32_t kThreads[] = {16384, 64, 0};
        limits.threads = kThreads[seed % 7 % 3];
        RopePlan plan;
        if (ropePlanAdd(&d, &limits, &plan) != ROPE_SUCCESS) continue;
        ++planned;
        rope::ResolvedAdd addition;
        ASSERT_EQ(rope::resolveAdd(d, &addition, nullptr), ROPE_SUCCESS);
        addition.d.q = addition.x;
        SCOPED_TRACE(seed);
        reach::checkDispatches(plan, addition.d, limits);
    }
    EXPECT_GT(planned, 3000u);
}

} // namespace
