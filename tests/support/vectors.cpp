#include "vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>

namespace vectors {

double valueAt(const Bytes& bytes, RopeElement element, uint64_t index) {
    if (element == ROPE_ELEMENT_F32) {
        float value;
        std::memcpy(&value, &bytes[index * 4], 4);
        return value;
    }
    uint16_t half;
    std::memcpy(&half, &bytes[index * 2], 2);
    if (element == ROPE_ELEMENT_BF16) {
        const uint32_t wide = static_cast<uint32_t>(half) << 16;
        float value;
        std::memcpy(&value, &wide, 4);
        return value;
    }
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return half >> 15 ? -size : size;
}

namespace {

int fractionBits(RopeElement element) {
    return element == ROPE_ELEMENT_F32 ? 23 : element == ROPE_ELEMENT_F16 ? 10 : 7;
}

struct Distance {
    const Case& c;
    const Bytes& got;
    const Bytes& wanted;
    double worst = 0;
    std::string passing = {}; // the first element outside the rotary part that differs

    void overTensor(const RopeTensor& tensor) {
        const RopeRotateDescription& d = c.description;
        const RopeLayout& to = d.out_of_place ? tensor.to : tensor.from;
        for (uint64_t batch = 0; batch < d.batch; ++batch)
            for (uint64_t token = 0; token < d.tokens; ++token)
                for (uint64_t head = 0; head < tensor.heads; ++head)
                    overHead(to.offset + batch * to.batch_stride + token * to.token_stride + head * to.head_stride);
    }

    void overHead(uint64_t base) {
        const RopeRotateDescription& d = c.description;
        const RopeElement element = d.element;
        for (uint32_t e = 0; e < d.head_dim; ++e) {
            const uint32_t r = e - d.rotation.rotary_begin, pairs = d.rotation.rotary_dim / 2;
            const uint32_t size = ropeElementBytes(element);
            if (e < d.rotation.rotary_begin || r >= d.rotation.rotary_dim) {
                if (std::memcmp(&got[(base + e) * size], &wanted[(base + e) * size], size) != 0 && passing.empty())
                    passing = "element " + std::to_string(base + e) + " was to pass through";
                continue;
            }
            const bool interleaved = d.rotation.pairing_out == ROPE_PAIRING_INTERLEAVED;
            const uint64_t partner =
                base + d.rotation.rotary_begin + (interleaved ? r ^ 1 : (r + pairs) % d.rotation.rotary_dim);
            const double a = valueAt(got, element, base + e), b = valueAt(wanted, element, base + e);
            const double length = std::fmax(std::hypot(a, valueAt(got, element, partner)),
                                            std::hypot(b, valueAt(wanted, element, partner)));
            const double unit = c.tolerance.ulps != 0 ? std::ldexp(1, std::ilogb(length) - fractionBits(element)) : 1.0;
            const double distance = length == 0 ? 0 : std::fabs(a - b) / unit;
            worst = std::isnan(distance) ? INFINITY : std::fmax(worst, distance);
        }
    }
};

// A plan may ask for less than an array holds (the second of two equal halves), never for more.
void fill(const Case& c, const RopePlan& plan, gpu::Slots* slots) {
    slots->set(ROPE_SLOT_POSITIONS, c.positions);
    slots->bytes[ROPE_SLOT_ROWS] = c.rows;
    slots->bytes[ROPE_SLOT_Q] = c.in[0];
    slots->bytes[ROPE_SLOT_K] = c.in[1];
    slots->bytes[ROPE_SLOT_Q_OUT] = Bytes(c.wanted[0].size());
    slots->bytes[ROPE_SLOT_K_OUT] = Bytes(c.wanted[1].size());
    slots->bytes[ROPE_SLOT_FREQUENCIES].resize(plan.bytes[ROPE_SLOT_FREQUENCIES]);
    if (plan.bytes[ROPE_SLOT_FREQUENCIES] != 0) {
        ASSERT_EQ(ropeWriteFrequencies(&c.description.rotation.frequencies, c.description.rotation.angle,
                                       slots->bytes[ROPE_SLOT_FREQUENCIES].data(), nullptr),
                  ROPE_SUCCESS);
    }
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        ASSERT_GE(slots->bytes[slot].size(), plan.bytes[slot]) << "slot " << slot;
        slots->bytes[slot].resize(plan.bytes[slot]);
    }
}

Bytes oneAfterTheOther(const Bytes& first, const Bytes& second) {
    Bytes both = first;
    both.insert(both.end(), second.begin(), second.end());
    return both;
}

} // namespace

void Vectors::run(Case c) {
    SCOPED_TRACE(c.name);
    RopeRotateDescription& d = c.description;
    if (!c.frequencies.empty()) {
        d.rotation.frequencies.values = c.frequencies.data();
        d.rotation.frequencies.count = static_cast<uint32_t>(c.frequencies.size());
    }
    if (!c.axes.empty()) d.rotation.frequencies.axes = c.axes.data();
    d.positions.element = ROPE_POSITION_INT64;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots slots;
    fill(c, plan, &slots);
    ASSERT_TRUE(gpu::run(&device(), plan, &slots));

    const RopeTensor* const tensors[] = {&d.q, &d.k};
    double worst = 0;
    for (int i = 0; i < 2; ++i) {
        if (tensors[i]->heads == 0) continue;
        const Bytes& out = slots.bytes[(d.out_of_place ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q) + i];
        Bytes got = d.out_of_place ? Bytes(c.wanted[i].size()) : c.in[i];
        ASSERT_LE(out.size(), got.size());
        std::copy(out.begin(), out.end(), got.begin());
        Distance distance = {c, got, c.wanted[i]};
        distance.overTensor(*tensors[i]);
        EXPECT_EQ(distance.passing, "");
        worst = std::fmax(worst, distance.worst);
    }
    EXPECT_LE(worst, c.tolerance.ulps != 0 ? c.tolerance.ulps : c.tolerance.absolute);
    char figure[32];
    std::snprintf(figure, sizeof figure, "%.3g", worst);
    RecordProperty(c.name, figure);
}

json readManifest(const std::string& path) {
    std::ifstream in(path);
    return json::parse(in);
}

NpyArray readArray(const std::string& path) {
    NpyArray array;
    std::string error;
    EXPECT_TRUE(rope::readNpy(path, &array, &error)) << error;
    return array;
}

Bytes positionsOf(const NpyArray& array) {
    EXPECT_EQ(array.type, NpyArray::Type::i64);
    return array.data;
}

void setRows(const NpyArray& cos, const NpyArray& sin, RopeElement element, Case* c) {
    RopeRotateDescription& d = c->description;
    c->rows = oneAfterTheOther(cos.data, sin.data);
    d.rotation.rows.row_stride = cos.shape.back();
    d.rotation.rows.sin_offset = static_cast<int64_t>(cos.count());
    d.rotation.rows.count = static_cast<uint32_t>(cos.count() / cos.shape.back());
    d.rotation.rows.element = element;
    d.rotation.source = cos.shape.size() == 3 ? ROPE_SOURCE_ROWS : ROPE_SOURCE_TABLE;
}

RopeLayout tokenMajor(const RopeRotateDescription& d, uint64_t heads) {
    return {0, d.tokens * heads * d.head_dim, heads * d.head_dim, d.head_dim};
}

RopeLayout headMajor(const RopeRotateDescription& d, uint64_t heads) {
    return {0, d.tokens * heads * d.head_dim, d.head_dim, uint64_t(d.tokens) * d.head_dim};
}

std::vector<uint8_t> axesOf(RopeAxesOrder order, const std::vector<uint32_t>& sections) {
    std::vector<uint8_t> axes(std::accumulate(sections.begin(), sections.end(), size_t{0}));
    const uint32_t pairs = static_cast<uint32_t>(axes.size());
    const uint32_t count = static_cast<uint32_t>(sections.size());
    EXPECT_EQ(ropeSetAxes(order, sections.data(), count, pairs, axes.data(), nullptr), ROPE_SUCCESS);
    return axes;
}

ROPE_ON_EVERY_DEVICE(Vectors);

} // namespace vectors
