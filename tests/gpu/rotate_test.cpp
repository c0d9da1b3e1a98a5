// The rotation on every device against the CPU's bits and the reference, over every axis of its description.
#include "support/combinations.hpp"
#include "support/rotation.hpp"
#include "support/sample.hpp"

#include <algorithm>
#include <cmath>

namespace {

using gpu::OnDevice;

// In ulps of the pair's length: at most 0.72 from the roundings of cos and sin, 0.75 from the two products (only one of
// them can reach the length's binade), 0.5 from the sum: 1.97. scale_test.cpp says what a scale makes of it.
constexpr double kTolerance = 2.0;

constexpr double kScale = 1.3465735902799727;

struct Shape {
    const char* name;
    uint32_t head_dim, rotary_begin, rotary_dim;
};
const Shape kShapes[] = {
    {"hd128", 128, 0, 0},          {"hd64", 64, 0, 0},    {"hd80First32", 80, 0, 32}, {"hd96Middle40", 96, 16, 40},
    {"hd512Last64", 512, 448, 64}, {"hd33Odd", 33, 5, 6}, {"hd20First10", 20, 0, 10}};

struct Place {
    const char* name;
    RopePairing in, out;
    bool out_of_place;
};
const Place kPlaces[] = {{"half", ROPE_PAIRING_HALF, ROPE_PAIRING_DEFAULT, false},
                         {"interleaved", ROPE_PAIRING_INTERLEAVED, ROPE_PAIRING_DEFAULT, false},
                         {"halfOutOfPlace", ROPE_PAIRING_HALF, ROPE_PAIRING_HALF, true},
                         {"interleavedOutOfPlace", ROPE_PAIRING_INTERLEAVED, ROPE_PAIRING_INTERLEAVED, true},
                         {"halfToInterleaved", ROPE_PAIRING_HALF, ROPE_PAIRING_INTERLEAVED, true},
                         {"interleavedToHalf", ROPE_PAIRING_INTERLEAVED, ROPE_PAIRING_HALF, true}};

enum class Order { kTokenMajor, kHeadMajor, kGapped };
const Order kOrders[] = {Order::kTokenMajor, Order::kHeadMajor, Order::kGapped};

RopeLayout layoutOf(Order order, const RopeRotateDescription& d, uint32_t heads) {
    RopeLayout layout = {};
    const uint64_t dim = d.head_dim;
    switch (order) {
    case Order::kTokenMajor:
        break;
    case Order::kHeadMajor:
        layout = {0, d.tokens * heads * dim, dim, d.tokens * dim};
        break;
    case Order::kGapped:
        layout = {7, d.tokens * (heads * dim + 11) + 3, heads * dim + 11, dim};
        break;
    }
    return layout;
}

RopeRotateDescription describe(const Shape& shape, const Place& place, Order order) {
    RopeRotateDescription d = {};
    d.batch = 2;
    d.tokens = 5;
    d.head_dim = shape.head_dim;
    d.rotation.rotary_begin = shape.rotary_begin;
    d.rotation.rotary_dim = shape.rotary_dim;
    d.rotation.pairing = place.in;
    d.rotation.pairing_out = place.out;
    d.out_of_place = place.out_of_place;
    d.q.heads = 9;
    d.k.heads = 2;
    d.q.from = layoutOf(order, d, d.q.heads);
    d.k.from = layoutOf(order, d, d.k.heads);
    d.q.to = layoutOf(order == Order::kTokenMajor ? Order::kHeadMajor : Order::kTokenMajor, d, d.q.heads);
    d.k.to = layoutOf(order, d, d.k.heads);
    d.rotation.rows.first_position = -3;
    d.rotation.rows.count = 12;
    d.rotation.frequencies.scale = kScale;
    d.count_outside = 1;
    return d;
}

class Rotate : public OnDevice {
  protected:
    // One operation, source and kind of position.
    void checkOne(RopeRotateDescription d, uint32_t operation, uint32_t source, uint32_t kind) {
        d.rotation.operation = static_cast<RopeOperation>(operation);
        d.rotation.source = static_cast<RopeSource>(source);
        d.positions.kind = static_cast<RopePositionKind>(kind);
        d.positions.first = -5;
        d.positions.offset = 3;
        const bool rows = source != 0 && operation >= 2; // of another scale they are refused
        d.rotation.frequencies.scale = rows ? 1 : kScale;
        double worst = 0;
        SCOPED_TRACE("operation " + std::to_string(operation) + ", source " + std::to_string(source) + ", positions " +
                     std::to_string(kind));
        EXPECT_TRUE(rotation::check(&device(), d, 1 + (operation * 3 + source) * 3 + kind, &worst));
        EXPECT_LE(worst, kTolerance);
        worst_ = std::fmax(worst_, worst);
    }
    void TearDown() override {
        RecordProperty("worstUlps", std::to_string(worst_));
        OnDevice::TearDown();
    }

  private:
    double worst_ = 0;
};

TEST_P(Rotate, HasTheCpusBitsForEveryShapeOrderAndPlace) {
    for (const combinations::Choices& c :
         share(combinations::of({std::size(kShapes), std::size(kPlaces), std::size(kOrders), 4, 3, 3}, strength()))) {
        const Shape& shape = kShapes[c[0]];
        const Place& place = kPlaces[c[1]];
        SCOPED_TRACE(std::string(shape.name) + "_" + place.name + "_order" + std::to_string(c[2]));
        checkOne(describe(shape, place, kOrders[c[2]]), c[3], c[4], c[5]);
    }
}

// Tokens 1, a few, many (each takes another number of heads per thread), one tensor alone, one head, odd counts.
TEST_P(Rotate, HasTheCpusBitsForEveryCountOfTokensAndHeads) {
    const uint32_t counts[][4] = {{1, 1, 32, 8}, {3, 1, 0, 1}, {1, 33, 5, 0}, {1, 300, 17, 3}, {2, 257, 8, 1}};
    for (const combinations::Choices& c : share(combinations::of({std::size(counts), 4, 3, 3}, strength()))) {
        RopeRotateDescription d = describe(kShapes[0], kPlaces[0], Order::kTokenMajor);
        d.batch = counts[c[0]][0];
        d.tokens = counts[c[0]][1];
        d.q.heads = counts[c[0]][2];
        d.k.heads = counts[c[0]][3];
        SCOPED_TRACE("tokens " + std::to_string(d.tokens));
        checkOne(d, c[1], c[2], c[3]);
    }
}

TEST_P(Rotate, HasTheCpusBitsForCompatibleAngles) {
    RopeRotateDescription d = describe(kShapes[0], kPlaces[0], Order::kTokenMajor);
    d.rotation.angle = ROPE_ANGLE_COMPATIBLE;
    for (const combinations::Choices& c : share(combinations::of({4, 3, 3}, strength()))) checkOne(d, c[0], c[1], c[2]);
}

TEST_P(Rotate, SharesPositionsAmongSequences) {
    RopeRotateDescription d = describe(kShapes[0], kPlaces[0], Order::kTokenMajor);
    d.positions.same_for_all_sequences = 1;
    d.positions.token_stride = 3;
    double worst = 0;
    EXPECT_TRUE(rotation::check(&device(), d, 5, &worst));
    EXPECT_LE(worst, kTolerance);
}

RopeRotateDescription plain(uint32_t tokens) {
    RopeRotateDescription d = {};
    d.tokens = tokens;
    d.head_dim = 64;
    d.q.heads = 4;
    return d;
}

std::vector<float> runPlain(rope::Device* device, RopeRotateDescription d, const rotation::Inputs& inputs,
                            const std::vector<float>& q) {
    gpu::Slots slots = inputs.slots;
    slots.set(ROPE_SLOT_Q, q);
    d.rotation.frequencies.values = inputs.frequencies.data();
    d.rotation.frequencies.count = static_cast<uint32_t>(inputs.frequencies.size());
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, &device->limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_TRUE(gpu::run(device, plan, &slots));
    return slots.get<float>(ROPE_SLOT_Q);
}

double length(const std::vector<float>& values) {
    double sum = 0;
    for (const float v : values) sum += static_cast<double>(v) * v;
    return std::sqrt(sum);
}

TEST_P(Rotate, KeepsTheNorm) {
    RopeRotateDescription d = plain(50);
    const rotation::Inputs inputs = rotation::makeInputs(&d, 3);
    const std::vector<float> q = inputs.slots.get<float>(ROPE_SLOT_Q);
    EXPECT_NEAR(length(runPlain(&device(), d, inputs, q)) / length(q), 1, 1e-7);
}

TEST_P(Rotate, InverseGivesTheInputBackScaleIncluded) {
    for (const RopeSource source : {ROPE_SOURCE_INLINE, ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
        RopeRotateDescription d = plain(40);
        d.rotation.source = source;
        d.rotation.frequencies.scale = 1.25;
        d.rotation.rows.count = 100;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        rotation::Inputs inputs = rotation::makeInputs(&d, 4);
        const std::vector<float> q = inputs.slots.get<float>(ROPE_SLOT_Q);
        const std::vector<float> turned = runPlain(&device(), d, inputs, q);
        EXPECT_NEAR(length(turned) / length(q), 1.25, 1e-6);
        d.rotation.operation = ROPE_OPERATION_INVERSE;
        if (source != ROPE_SOURCE_INLINE) { // rows of the wanted scale
            d.rotation.operation = ROPE_OPERATION_TRANSPOSE;
            d.rotation.frequencies.scale = 1 / 1.25;
            inputs = rotation::makeInputs(&d, 4);
        }
        const std::vector<float> back = runPlain(&device(), d, inputs, turned);
        for (size_t i = 0; i < q.size(); ++i) ASSERT_NEAR(back[i], q[i], 2e-6) << i;
    }
}

TEST_P(Rotate, DotProductsDependOnTheDifferenceOfPositionsAlone) {
    RopeRotateDescription d = plain(1);
    d.q.heads = 1;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    const rotation::Inputs inputs = rotation::makeInputs(&d, 6);
    const std::vector<float> q = sample::values(64, 7);
    const std::vector<float> k = sample::values(64, 8);
    const int32_t pairs[][2] = {{0, 7}, {100, 107}, {1000000, 1000007}, {-50, -43}, {INT32_MAX - 7, INT32_MAX}};
    double wanted = 0;
    for (const auto& pair : pairs) {
        d.positions.first = pair[0];
        const std::vector<float> a = runPlain(&device(), d, inputs, q);
        d.positions.first = pair[1];
        const std::vector<float> b = runPlain(&device(), d, inputs, k);
        double dot = 0;
        for (size_t i = 0; i < 64; ++i) dot += static_cast<double>(a[i]) * b[i];
        if (pair[0] == 0) wanted = dot;
        EXPECT_NEAR(dot, wanted, 2e-6 * length(q) * length(k)) << pair[0];
    }
}

TEST_P(Rotate, AShardOfTokensHasTheBitsOfTheWhole) {
    RopeRotateDescription d = plain(300);
    const rotation::Inputs whole = rotation::makeInputs(&d, 9);
    const std::vector<float> q = whole.slots.get<float>(ROPE_SLOT_Q);
    const std::vector<float> all = runPlain(&device(), d, whole, q);
    const uint32_t first = 123, count = 31, row = 4 * 64;
    rotation::Inputs shard = whole;
    const std::vector<int32_t> positions = whole.slots.get<int32_t>(ROPE_SLOT_POSITIONS);
    shard.slots.set(ROPE_SLOT_POSITIONS,
                    std::vector<int32_t>(positions.begin() + first, positions.begin() + first + count));
    d.tokens = count;
    const std::vector<float> part =
        runPlain(&device(), d, shard, std::vector<float>(q.begin() + first * row, q.begin() + (first + count) * row));
    EXPECT_EQ(part, std::vector<float>(all.begin() + first * row, all.begin() + (first + count) * row));
}

TEST_P(Rotate, AShardOfHeadsHasTheBitsOfTheWhole) {
    RopeRotateDescription d = plain(20);
    const rotation::Inputs inputs = rotation::makeInputs(&d, 10);
    const std::vector<float> q = inputs.slots.get<float>(ROPE_SLOT_Q);
    const std::vector<float> all = runPlain(&device(), d, inputs, q);
    d.q.heads = 1;
    std::vector<float> head, wanted;
    for (size_t token = 0; token < 20; ++token) {
        for (size_t e = 0; e < 64; ++e) {
            head.push_back(q[token * 256 + 2 * 64 + e]);
            wanted.push_back(all[token * 256 + 2 * 64 + e]);
        }
    }
    EXPECT_EQ(runPlain(&device(), d, inputs, head), wanted);
}

TEST_P(Rotate, PassesNansInfinitiesAndDenormalsOfTheTailThroughBitForBit) {
    RopeRotateDescription d = plain(3);
    d.rotation.rotary_begin = 8;
    d.rotation.rotary_dim = 16;
    d.out_of_place = 1;
    d.q.heads = 1;
    rotation::Inputs inputs = rotation::makeInputs(&d, 11);
    const uint32_t odd[] = {0x7F800001u, 0xFFC12345u, 0x7F800000u, 0x00000001u, 0x807FFFFFu, 0x80000000u};
    std::vector<uint32_t> q = inputs.slots.get<uint32_t>(ROPE_SLOT_Q);
    for (size_t i = 0; i < q.size(); ++i) {
        if (i % 64 < 8 || i % 64 >= 24) q[i] = odd[i % 6];
    }
    inputs.slots.set(ROPE_SLOT_Q, q);
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS);
    ASSERT_TRUE(gpu::run(&device(), plan, &inputs.slots));
    const std::vector<uint32_t> out = inputs.slots.get<uint32_t>(ROPE_SLOT_Q_OUT);
    for (size_t i = 0; i < q.size(); ++i) {
        if (i % 64 < 8 || i % 64 >= 24) {
            EXPECT_EQ(out[i], q[i]) << i;
        }
    }
}

// A table's window, like every sum of positions, wraps as int32 does.
TEST_P(Rotate, WrapsATablesWindowWithItsPositions) {
    RopeRotateDescription d = plain(4);
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.first_position = INT32_MAX - 1;
    d.rotation.rows.count = 4;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = INT32_MAX - 1;
    d.count_outside = 1;
    double worst = 0;
    EXPECT_TRUE(rotation::check(&device(), d, 1, &worst));
    EXPECT_GT(worst, 0); // it was rotated
    d.positions.first = INT32_MIN + 1;
    EXPECT_TRUE(rotation::check(&device(), d, 1, &worst));
}

// Parts start at the alignment, so that synchronization validation sees no neighbours.
TEST_P(Rotate, SplitsIntoPartsThatDoNotOverlap) {
    RopeRotateDescription d = plain(1000);
    d.head_dim = 20;
    d.q.heads = 3;
    rotation::Inputs inputs = rotation::makeInputs(&d, 2);
    const std::vector<float> whole = runPlain(&device(), d, inputs, inputs.slots.get<float>(ROPE_SLOT_Q));
    RopeLimits limits = device().limits();
    limits.storage_range = 40000;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_GT(ropeDispatchCount(&plan), 4u);
    ASSERT_TRUE(gpu::run(&device(), plan, &inputs.slots));
    EXPECT_EQ(inputs.slots.get<float>(ROPE_SLOT_Q), whole);
}

TEST(HostRun, RefusesArraysThatAreMissing) {
    const std::vector<double> frequencies = sample::frequencies(10000, 64);
    const std::vector<float> q = sample::values(64, 1), rows = sample::values(64, 2);
    std::vector<float> out(64);
    RopeRotateDescription d = plain(1);
    d.q.heads = 1;
    d.rotation.frequencies = {frequencies.data(), 32, 1, nullptr, 1};
    RopeHostRotate host = {};
    RopeReason reason;
    host.q = q.data();
    host.q_out = out.data();
    EXPECT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(reason.text).find("positions is null"), std::string::npos) << reason.text;
    d.rotation.source = ROPE_SOURCE_ROWS; // reads no position
    EXPECT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_ERROR_INVALID);
    host.rows = rows.data();
    EXPECT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_SUCCESS) << reason.text;
    EXPECT_EQ(out[0], q[0] * rows[0] - q[32] * rows[32]);
    host.q = nullptr;
    EXPECT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_ERROR_INVALID);
}

// Elements of heads of 64 in the interleaved pairing's order.
std::vector<float> interleaved(const std::vector<float>& halves) {
    std::vector<float> result(halves.size());
    for (size_t i = 0; i < halves.size(); ++i) result[i] = halves[i / 64 * 64 + i % 64 / 2 + i % 2 * 32];
    return result;
}

// Unchanged is the vector; where the output's pairing is another, it comes in that.
TEST_P(Rotate, LeavesATokenOutsideTheTableUnchangedAndCountsIt) {
    for (const bool out_of_place : {false, true}) {
        RopeRotateDescription d = plain(6);
        d.rotation.source = ROPE_SOURCE_TABLE;
        d.rotation.rows.first_position = 10;
        d.rotation.rows.count = 4;
        d.count_outside = 1;
        d.out_of_place = out_of_place;
        d.rotation.pairing_out = out_of_place ? ROPE_PAIRING_INTERLEAVED : ROPE_PAIRING_HALF;
        rotation::Inputs inputs = rotation::makeInputs(&d, 12);
        inputs.slots.set(ROPE_SLOT_POSITIONS, std::vector<int32_t>{9, 10, 13, 14, INT32_MIN, INT32_MAX});
        std::vector<float> q = inputs.slots.get<float>(ROPE_SLOT_Q);
        if (out_of_place) q = interleaved(q);
        RopePlan plan;
        ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS);
        ASSERT_TRUE(gpu::run(&device(), plan, &inputs.slots));
        EXPECT_EQ(inputs.slots.get<uint32_t>(ROPE_SLOT_COUNTER)[0], 1004u);
        const std::vector<float> out = inputs.slots.get<float>(out_of_place ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q);
        for (size_t token = 0; token < 6; ++token) {
            const bool same =
                std::equal(q.data() + token * 256, q.data() + (token + 1) * 256, out.data() + token * 256);
            EXPECT_EQ(same, token != 1 && token != 2) << token;
        }
    }
}

ROPE_ON_EVERY_DEVICE(Rotate);

} // namespace
