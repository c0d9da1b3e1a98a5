#include "tool/matrix.hpp"

#include <cstddef>

namespace tool {

// ---- The axes ------------------------------------------------------------------------------------------------------

namespace {

// Of a head: what it takes for four, two or one element at a time.
struct Head {
    uint32_t dim, begin, rotary;
};
constexpr Head kHeads[] = {{64, 16, 32}, {30, 6, 20}, {33, 5, 6}};
constexpr uint8_t kByOne = 2;
const char kAlignment[] = "alignment";

struct Counts {
    uint32_t batch, tokens, q_heads, k_heads;
};
constexpr Counts kCounts[] = {{2, 3, 5, 2}, {1, 1, 9, 1}, {1, 33, 5, 0}};

enum Order { kTokensFirst, kHeadsFirst };

constexpr double kScale = 1.3465735902799727;

constexpr uint8_t kThreeAxes[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0, 0};

} // namespace

struct Draft {
    RopeRotateDescription d = {};
    Order from = kTokensFirst, to = kTokensFirst;
    RopeRowsFormat format = ROPE_ROWS_SPLIT;
    bool gapped = false;
};

namespace {

bool mayStay(const Draft& draft) {
    return draft.d.element_in == draft.d.element_out && draft.d.pairing_in == draft.d.pairing_out;
}
bool isElsewhere(const Draft& draft) { return draft.d.out_of_place != 0; }
bool isInline(const Draft& draft) { return draft.d.source == ROPE_SOURCE_INLINE; }
bool hasRows(const Draft& draft) { return draft.d.source != ROPE_SOURCE_INLINE; }
bool hasPositions(const Draft& draft) { return draft.d.source != ROPE_SOURCE_ROWS; }
bool isPerToken(const Draft& draft) {
    return hasPositions(draft) && draft.d.positions.kind == ROPE_POSITIONS_PER_TOKEN;
}
bool readsPositions(const Draft& draft) {
    return hasPositions(draft) && draft.d.positions.kind != ROPE_POSITIONS_COUNTED;
}
bool mayHaveFractions(const Draft& draft) { return readsPositions(draft) && draft.d.source != ROPE_SOURCE_TABLE; }
bool hasFractions(const Draft& draft) { return draft.d.positions.element == ROPE_POSITION_FLOAT32; }
bool mayBePacked(const Draft& draft) { return readsPositions(draft) && !hasFractions(draft); }
bool hasHalves(const Draft& draft) {
    return draft.d.pairing_in == ROPE_PAIRING_HALF || draft.d.pairing_out == ROPE_PAIRING_HALF;
}
// Inverse and shift want rows of the scale that they need.
bool mayScale(const Draft& draft) { return isInline(draft) || draft.d.operation < ROPE_OPERATION_INVERSE; }

// An axis more is a row more. What chooses a pipeline comes first and what does not comes last, for it is compiling
// that takes the time; so alignment, which would have three times as much compiled, goes in turn.
const std::vector<Axis> kAxes = {
    {"element in",
     false,
     {"f32 in", "f16 in", "bf16 in"},
     [](uint32_t choice, Draft* draft) { draft->d.element_in = static_cast<RopeElement>(1 + choice); },
     nullptr},
    {"element out",
     false,
     {"f32 out", "f16 out", "bf16 out"},
     [](uint32_t choice, Draft* draft) { draft->d.element_out = static_cast<RopeElement>(1 + choice); },
     nullptr},
    {"pairing in",
     false,
     {"half in", "interleaved in"},
     [](uint32_t choice, Draft* draft) { draft->d.pairing_in = static_cast<RopePairing>(1 + choice); },
     nullptr},
    {"pairing out",
     false,
     {"half out", "interleaved out"},
     [](uint32_t choice, Draft* draft) { draft->d.pairing_out = static_cast<RopePairing>(1 + choice); },
     nullptr},
    {"place",
     false,
     {"out of place", "in place"},
     [](uint32_t choice, Draft* draft) { draft->d.out_of_place = 1 - choice; },
     mayStay},
    {"source",
     false,
     {"inline", "table", "rows"},
     [](uint32_t choice, Draft* draft) { draft->d.source = static_cast<RopeSource>(choice); },
     nullptr},
    {"angle",
     false,
     {"exact", "compatible"},
     [](uint32_t choice, Draft* draft) { draft->d.angle = static_cast<RopeAngle>(choice); },
     isInline},
    {"row element",
     false,
     {"f32 rows", "f16 rows", "bf16 rows"},
     [](uint32_t choice, Draft* draft) { draft->d.rows.element = static_cast<RopeElement>(1 + choice); },
     hasRows},
    {"positions",
     false,
     {"position per token", "start per sequence", "counted"},
     [](uint32_t choice, Draft* draft) { draft->d.positions.kind = static_cast<RopePositionKind>(choice); },
     hasPositions},
    {"fractions",
     false,
     {"whole positions", "fractions"},
     [](uint32_t choice, Draft* draft) {
         draft->d.positions.element = choice == 0 ? ROPE_POSITION_INT32 : ROPE_POSITION_FLOAT32;
     },
     mayHaveFractions},
    {kAlignment,
     true,
     {"by four", "by two", "by one"},
     [](uint32_t choice, Draft* draft) {
         draft->d.head_dim = kHeads[choice].dim;
         draft->d.rotary_begin = kHeads[choice].begin;
         draft->d.rotary_dim = kHeads[choice].rotary;
     },
     nullptr},
    {"size",
     true,
     {"2 x 3 tokens", "1 token", "33 tokens"},
     [](uint32_t choice, Draft* draft) {
         draft->d.batch = kCounts[choice].batch;
         draft->d.tokens = kCounts[choice].tokens;
         draft->d.q.heads = kCounts[choice].q_heads;
         draft->d.k.heads = kCounts[choice].k_heads;
     },
     nullptr},
    {"chunks",
     true,
     {"one chunk", "chunks"},
     [](uint32_t choice, Draft* draft) {
         const uint32_t rotary = draft->d.rotary_dim;
         if (choice != 0) draft->d.chunk_dim = rotary % 16 == 0 ? 16 : rotary % 4 == 0 ? 4 : 2;
     },
     hasHalves},
    {"packing",
     true,
     {"sequences alike", "packed sequences"},
     [](uint32_t choice, Draft* draft) {
         RopeRotateDescription& d = draft->d;
         if (choice == 0) return;
         const bool starts = d.positions.kind == ROPE_POSITIONS_START_PER_SEQUENCE;
         d.positions.kind = starts ? ROPE_POSITIONS_PACKED_STARTS : ROPE_POSITIONS_PACKED;
         d.positions.sequences = 3;
         d.tokens *= d.batch;
         d.batch = 1;
     },
     mayBePacked},
    {"width of positions",
     true,
     {"32-bit positions", "64-bit positions"},
     [](uint32_t choice, Draft* draft) {
         RopePositionElement& element = draft->d.positions.element;
         if (choice != 0) element = hasFractions(*draft) ? ROPE_POSITION_FIXED64 : ROPE_POSITION_INT64;
     },
     readsPositions},
    {"axes",
     true,
     {"one axis", "three axes"},
     [](uint32_t choice, Draft* draft) { draft->d.frequencies.axes = choice == 0 ? nullptr : kThreeAxes; },
     hasPositions},
    {"sets",
     true,
     {"one set", "three sets"},
     [](uint32_t choice, Draft* draft) { draft->d.frequencies.sets = choice == 0 ? 1 : 3; },
     readsPositions},
    {"window",
     true,
     {"all tokens", "window"},
     [](uint32_t choice, Draft* draft) {
         draft->d.skip_first = choice;
         draft->d.skip_last = draft->d.tokens > 1 ? choice : 0;
     },
     nullptr},
    {"operation",
     false,
     {"forward", "transpose", "inverse", "shift"},
     [](uint32_t choice, Draft* draft) { draft->d.operation = static_cast<RopeOperation>(choice); },
     nullptr},
    {"row format",
     false,
     {"split", "duplicated", "interleaved", "two arrays"}, // complex rows are the interleaved ones
     [](uint32_t choice, Draft* draft) {
         draft->format = choice == 3 ? ROPE_ROWS_TWO_ARRAYS : static_cast<RopeRowsFormat>(choice);
     },
     hasRows},
    {"scale",
     false,
     {"not scaled", "scaled"},
     [](uint32_t choice, Draft* draft) { draft->d.frequencies.scale = choice == 0 ? 1 : kScale; },
     mayScale},
    {"order",
     false,
     {"bshd", "bhsd"},
     [](uint32_t choice, Draft* draft) { draft->from = static_cast<Order>(choice); },
     nullptr},
    {"order of the destination",
     true,
     {"to bshd", "to bhsd"},
     [](uint32_t choice, Draft* draft) { draft->to = static_cast<Order>(choice); },
     isElsewhere},
    {"gaps", true, {"packed", "gapped"}, [](uint32_t choice, Draft* draft) { draft->gapped = choice != 0; }, nullptr},
    {"rotary part",
     true,
     {"part of the head", "whole head"},
     [](uint32_t choice, Draft* draft) {
         if (choice == 0) return;
         draft->d.head_dim = draft->d.rotary_dim;
         draft->d.rotary_begin = 0;
     },
     nullptr},
    {"sharing",
     true,
     {"own positions", "shared positions"},
     [](uint32_t choice, Draft* draft) { draft->d.positions.same_for_all_sequences = choice; },
     isPerToken},
};

// ---- Combinations --------------------------------------------------------------------------------------------------

uint64_t numberOf(const Choices& choices) {
    uint64_t number = 1;
    for (const uint8_t choice : choices) number = number * 7 + choice;
    return number;
}

// All combinations that begin with `choices`, from which the draft was made.
void extend(const Draft& draft, Choices* choices, std::vector<Choices>* all) {
    if (choices->size() == kAxes.size()) {
        all->push_back(*choices);
        return;
    }
    const Axis& axis = kAxes[choices->size()];
    const bool applies = axis.applies == nullptr || axis.applies(draft);
    uint32_t first = 0, end = applies ? static_cast<uint32_t>(axis.names.size()) : 1;
    if (axis.in_turn) {
        first = static_cast<uint32_t>(scrambled(numberOf(*choices)) % end);
        end = first + 1;
    }
    for (uint32_t choice = first; choice < end; ++choice) {
        Draft next = draft;
        axis.choose(choice, &next);
        choices->push_back(applies ? static_cast<uint8_t>(choice) : kNone);
        extend(next, choices, all);
        choices->pop_back();
    }
}

// ---- Cases ---------------------------------------------------------------------------------------------------------

RopeLayout layoutOf(Order order, bool gapped, const RopeRotateDescription& d, uint32_t heads) {
    const uint64_t dim = d.head_dim;
    const uint64_t gap = !gapped ? 0 : dim % 2 == 0 ? 12 : 11; // odd heads take odd gaps too
    const uint64_t offset = gapped ? gap - 4 : 0;
    if (order == kHeadsFirst) return {offset, heads * (d.tokens * dim + gap) + gap, dim, d.tokens * dim + gap};
    return {offset, d.tokens * (heads * dim + gap) + gap, heads * dim + gap, dim};
}

void place(Draft* draft) {
    RopeRotateDescription& d = draft->d;
    for (RopeTensor* tensor : {&d.q, &d.k}) {
        tensor->source = layoutOf(draft->from, draft->gapped, d, tensor->heads);
        tensor->destination =
            d.out_of_place != 0 ? layoutOf(draft->to, draft->gapped, d, tensor->heads) : tensor->source;
    }
}

} // namespace

const std::vector<Axis>& axes() { return kAxes; }

std::vector<Choices> rotateChoices() {
    std::vector<Choices> all;
    Choices none;
    extend(Draft(), &none, &all);
    return all;
}

bool alignForAll(Choices* choices) {
    for (size_t axis = 0; axis < kAxes.size(); ++axis) {
        if (kAxes[axis].what != kAlignment || (*choices)[axis] != kByOne) continue;
        (*choices)[axis] = kByOne - 1;
        return true;
    }
    return false;
}

std::vector<Choices> quickChoices(const std::vector<Choices>& all) { return fewOf(all, 3); }

RotateCase rotateCase(const Choices& choices) {
    Draft draft;
    RotateCase made;
    for (size_t axis = 0; axis < kAxes.size(); ++axis) {
        const bool applies = choices[axis] != kNone;
        kAxes[axis].choose(applies ? choices[axis] : 0, &draft);
        if (applies) made.name += (made.name.empty() ? "" : ", ") + std::string(kAxes[axis].names[choices[axis]]);
    }
    place(&draft);
    RopeRotateDescription& d = draft.d;
    d.frequencies.count = d.rotary_dim / 2;
    d.positions.first = -5;
    d.positions.offset = hasPositions(draft) && d.positions.kind != ROPE_POSITIONS_COUNTED ? 3 : 0;
    if (hasRows(draft)) {
        const bool table = d.source == ROPE_SOURCE_TABLE;
        const uint32_t rows = table ? 12 : d.batch * d.tokens;
        d.rows.first_position = -3;
        ropeSetRows(draft.format, d.rotary_dim / 2, table ? rows * d.frequencies.sets : rows, &d.rows);
        d.rows.count = rows;
    }
    d.count_outside = 1;
    made.description = d;
    return made;
}

const char* elementName(RopeElement element) {
    static const char* const names[] = {"f32", "f32", "f16", "bf16"};
    return names[element];
}

// ---- Tables --------------------------------------------------------------------------------------------------------

namespace {

const char* const kPositions[] = {"per token", "start per sequence", "counted"};
const char* const kFormats[] = {"split", "duplicated", "interleaved", "complex", "two arrays"};
const char* const kAngles[] = {"exact", "compatible"};

// Takes a choice out of a number, and gives the next choice the rest of it.
uint32_t draw(uint64_t* number, uint32_t choices) {
    const uint32_t choice = static_cast<uint32_t>(*number % choices);
    *number /= choices;
    return choice;
}

} // namespace

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
