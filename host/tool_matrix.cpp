#include "tool_matrix.hpp"

#include <cstddef>

namespace tool {
namespace {

const char* const kPairings[] = {"", "half", "interleaved"};
const char* const kOperations[] = {"forward", "transpose", "inverse", "shift"};
const char* const kSources[] = {"inline", "table", "rows"};
const char* const kPositions[] = {"per token", "start per sequence", "counted"};
const char* const kFormats[] = {"split", "duplicated", "interleaved", "complex", "two arrays"};
const char* const kAngles[] = {"exact", "compatible"};

struct Head {
    uint32_t dim, begin, rotary;
};
constexpr Head kHeads[] = {{128, 0, 128},  {64, 0, 64}, {80, 0, 32}, {96, 16, 40},
                           {256, 192, 64}, {20, 4, 12}, {33, 5, 6}};

struct Counts {
    uint32_t batch, tokens, q_heads, k_heads;
};
constexpr Counts kCounts[] = {{2, 5, 9, 2}, {1, 1, 32, 8}, {1, 33, 5, 0}, {3, 7, 1, 1}, {1, 65, 4, 1}};

enum Order { kTokensFirst, kHeadsFirst, kGapped };
const char* const kOrders[] = {"bshd", "bhsd", "gapped"};

constexpr double kScale = 1.3465735902799727;

// Takes a choice out of a number, and gives the next choice the rest of it.
uint32_t draw(uint64_t* number, uint32_t choices) {
    const uint32_t choice = static_cast<uint32_t>(*number % choices);
    *number /= choices;
    return choice;
}

// Numbers whose remainders run through all combinations in no simple order.
uint64_t scrambled(uint64_t index) {
    uint64_t x = index * 0x9E3779B97F4A7C15ull;
    x ^= x >> 31;
    x *= 0xBF58476D1CE4E5B9ull;
    return x >> 8;
}

RopeLayout layoutOf(Order order, const RopeRotateDescription& d, uint32_t heads) {
    const uint64_t dim = d.head_dim;
    const uint64_t gap = dim % 2 == 0 ? 12 : 11; // odd heads take odd gaps too
    switch (order) {
    case kHeadsFirst:
        return {0, d.tokens * heads * dim, dim, d.tokens * dim};
    case kGapped:
        return {gap - 4, d.tokens * (heads * dim + gap) + gap, heads * dim + gap, dim};
    default:
        return {0, d.tokens * heads * dim, heads * dim, dim};
    }
}

void place(Order from, Order to, RopeRotateDescription* d) {
    for (RopeTensor* tensor : {&d->q, &d->k}) {
        tensor->source = layoutOf(from, *d, tensor->heads);
        tensor->destination = d->elsewhere != 0 ? layoutOf(to, *d, tensor->heads) : tensor->source;
    }
}

// Rows of one format and element, and the name of them.
std::string chooseRows(uint64_t* number, RopeRotateDescription* d) {
    const uint32_t format = draw(number, 5);
    d->rows.element = static_cast<RopeElement>(1 + draw(number, 3));
    d->rows.first_position = -3;
    const uint32_t rows = d->source == ROPE_SOURCE_TABLE ? 12 : d->batch * d->tokens;
    ropeSetRows(static_cast<RopeRowsFormat>(format), d->rotary_dim / 2, rows, &d->rows);
    d->count_outside = d->source == ROPE_SOURCE_TABLE ? 1 : 0;
    return std::string(" of ") + elementName(d->rows.element) + " " + kFormats[format];
}

void chooseRest(uint64_t number, RotateCase* made) {
    RopeRotateDescription& d = made->description;
    const Head head = kHeads[draw(&number, 7)];
    const Counts counts = kCounts[draw(&number, 5)];
    d.batch = counts.batch;
    d.tokens = counts.tokens;
    d.head_dim = head.dim;
    d.rotary_begin = head.begin;
    d.rotary_dim = head.rotary;
    d.q.heads = counts.q_heads;
    d.k.heads = counts.k_heads;
    if (d.pairing_in == d.pairing_out && d.element_in == d.element_out)
        d.elsewhere = draw(&number, 2);
    else
        d.elsewhere = 1;
    const Order from = static_cast<Order>(draw(&number, 3)), to = static_cast<Order>(draw(&number, 3));
    place(from, to, &d);
    d.positions.kind = static_cast<RopePositionKind>(draw(&number, 3));
    d.positions.first = -5;
    d.positions.offset = d.positions.kind == ROPE_POSITIONS_COUNTED ? 0 : 3;
    d.positions.shared = d.positions.kind == ROPE_POSITIONS_PER_TOKEN ? draw(&number, 2) : 0;
    d.angle = static_cast<RopeAngle>(draw(&number, 2));
    d.frequencies.scale = draw(&number, 2) == 0 ? 1 : kScale;
    if (d.operation >= ROPE_OPERATION_INVERSE && d.source != ROPE_SOURCE_INLINE) d.frequencies.scale = 1;
    d.frequencies.count = d.rotary_dim / 2;
    const std::string rows = d.source == ROPE_SOURCE_INLINE ? "" : chooseRows(&number, &d);
    made->name = std::string(elementName(d.element_in)) + " to " + elementName(d.element_out) + ", " +
                 kSources[d.source] + rows + ", " + kPairings[d.pairing_in] + " to " + kPairings[d.pairing_out] + ", " +
                 kOperations[d.operation] + (d.elsewhere != 0 ? ", elsewhere, " : ", in place, ") + kOrders[from] +
                 ", head " + std::to_string(head.dim) + " part " + std::to_string(head.begin) + "+" +
                 std::to_string(head.rotary) + ", " + std::to_string(d.batch) + " x " + std::to_string(d.tokens) +
                 " tokens, positions " + kPositions[d.positions.kind] + ", angle " + kAngles[d.angle] +
                 (d.frequencies.scale != 1 ? ", scaled" : "");
}

} // namespace

const char* elementName(RopeElement element) {
    static const char* const names[] = {"f32", "f32", "f16", "bf16"};
    return names[element];
}

std::vector<RotateCase> rotateCases() {
    // Nearly every case compiles a pipeline of its own, which takes a CPU driver a tenth of a second.
    constexpr uint64_t kChosen = 3 * 3 * 3 * 2 * 2 * 4;
    std::vector<RotateCase> cases;
    for (uint64_t index = 0; index < kChosen; ++index) {
        uint64_t number = index;
        RotateCase made;
        RopeRotateDescription& d = made.description;
        d.pairing_in = static_cast<RopePairing>(1 + draw(&number, 2));
        d.pairing_out = static_cast<RopePairing>(1 + draw(&number, 2));
        d.operation = static_cast<RopeOperation>(draw(&number, 4));
        d.element_in = static_cast<RopeElement>(1 + draw(&number, 3));
        d.element_out = static_cast<RopeElement>(1 + draw(&number, 3));
        d.source = static_cast<RopeSource>(draw(&number, 3));
        chooseRest(scrambled(index + 1), &made);
        cases.push_back(made);
    }
    return cases;
}

std::vector<TableCase> tableCases() {
    constexpr uint32_t kPairCounts[] = {1, 5, 32, 64};
    std::vector<TableCase> cases;
    for (uint64_t index = 0; index < 2 * 3 * 5 * 4 * 2; ++index) {
        uint64_t number = index;
        TableCase made;
        RopeTableDescription& d = made.description;
        const uint32_t angle = draw(&number, 2), kind = draw(&number, 3), format = draw(&number, 5);
        const uint32_t pairs = kPairCounts[draw(&number, 4)];
        d.angle = static_cast<RopeAngle>(angle);
        d.batch = 2;
        d.tokens = 150;
        d.positions.kind = static_cast<RopePositionKind>(kind);
        d.positions.first = 2000000000;
        d.frequencies.count = pairs;
        d.frequencies.scale = draw(&number, 2) == 0 ? 1 : kScale;
        ropeSetRows(static_cast<RopeRowsFormat>(format), pairs, d.batch * d.tokens, &d.rows);
        made.name = std::string("table, ") + kAngles[angle] + ", " + kFormats[format] + ", positions " +
                    kPositions[kind] + ", " + std::to_string(pairs) + " pairs";
        cases.push_back(made);
    }
    return cases;
}

} // namespace tool
