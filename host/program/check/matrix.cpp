// To let `vkrope check` combine an option of tables or rotations with all others: a row of kOptions.
#include "program/check/matrix.hpp"

#include "plan/pairing.h"
#include "program/elements.hpp"

#include <cstddef>
#include <type_traits>

namespace tool {

// ---- The options ---------------------------------------------------------------------------------------------------

namespace {

// A head whose geometry makes kernels move four, two or one element at a time. 16-bit elements go by two at least.
struct HeadShape {
    uint32_t dim, begin, rotary;
};
constexpr HeadShape kHeadShapes[] = {{64, 16, 32}, {30, 6, 20}, {33, 5, 6}};
constexpr HeadShape kHalvesByTwo = {34, 6, 12};

struct CaseSize {
    uint32_t batch, tokens, q_heads, k_heads;
};
constexpr CaseSize kCaseSizes[] = {{2, 3, 5, 2}, {1, 1, 9, 1}, {1, 33, 5, 0}};

enum TensorOrder { kTokensFirst, kHeadsFirst };

constexpr double kScale = 1.3465735902799727;

constexpr uint8_t kThreeAxes[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0, 0};

} // namespace

struct PartialCase {
    RopeRotateDescription d = {};
    TensorOrder from = kTokensFirst, to = kTokensFirst;
    RopeRowsFormat format = ROPE_ROWS_SPLIT;
    bool gapped = false;
};

namespace {

bool mayBeInPlace(const PartialCase& partial) {
    return partial.d.element == partial.d.element_out && partial.d.rotation.pairing == partial.d.rotation.pairing_out;
}
bool isOutOfPlace(const PartialCase& partial) { return partial.d.out_of_place != 0; }
bool isInline(const PartialCase& partial) { return partial.d.rotation.source == ROPE_SOURCE_INLINE; }
bool hasRows(const PartialCase& partial) { return partial.d.rotation.source != ROPE_SOURCE_INLINE; }
bool hasPositions(const PartialCase& partial) { return partial.d.rotation.source != ROPE_SOURCE_ROWS; }
bool isPerToken(const PartialCase& partial) {
    return hasPositions(partial) && partial.d.positions.kind == ROPE_POSITIONS_PER_TOKEN;
}
bool hasPositionBuffer(const PartialCase& partial) {
    return hasPositions(partial) && partial.d.positions.kind != ROPE_POSITIONS_COUNTED;
}
bool mayHaveFractions(const PartialCase& partial) {
    return hasPositionBuffer(partial) && partial.d.rotation.source != ROPE_SOURCE_TABLE;
}
bool hasFractions(const PartialCase& partial) { return partial.d.positions.element == ROPE_POSITION_FLOAT32; }
bool mayBePacked(const PartialCase& partial) { return hasPositionBuffer(partial) && !hasFractions(partial); }
bool hasChunks(const PartialCase& partial) {
    return rope::liesInChunks(partial.d.rotation.pairing) || rope::liesInChunks(partial.d.rotation.pairing_out);
}
// Inverse and shift want rows with the scale that they need.
bool mayScale(const PartialCase& partial) {
    return isInline(partial) || partial.d.rotation.operation < ROPE_OPERATION_INVERSE;
}

// Sets a member of the description, or of its rotation, to an enumerator: the first choice is number `first`.
template <auto member, uint32_t first = 0> void set(uint32_t choice, PartialCase* partial) {
    auto& value = partial->d.*member;
    value = static_cast<std::decay_t<decltype(value)>>(first + choice);
}
template <auto member, uint32_t first = 0> void setRotation(uint32_t choice, PartialCase* partial) {
    auto& value = partial->d.rotation.*member;
    value = static_cast<std::decay_t<decltype(value)>>(first + choice);
}

// A new option is one row. Compiling takes the most time, so options that choose a pipeline come first and the others
// last. The alignment is sampled because every one of its choices would compile all pipelines anew.
const std::vector<MatrixOption> kOptions = {
    {"element in", false, elementNames(" in"), set<&RopeRotateDescription::element, 1>, nullptr},
    {"element out", false, elementNames(" out"), set<&RopeRotateDescription::element_out, 1>, nullptr},
    {"pairing in", false, pairingNames(" in"), setRotation<&RopeRotation::pairing, 1>, nullptr},
    {"pairing out", false, pairingNames(" out"), setRotation<&RopeRotation::pairing_out, 1>, nullptr},
    {"place",
     false,
     {"out of place", "in place"},
     [](uint32_t choice, PartialCase* partial) { partial->d.out_of_place = 1 - choice; },
     mayBeInPlace},
    {"source", false, {"inline", "table", "rows"}, setRotation<&RopeRotation::source>, nullptr},
    {"angle", false, {"exact", "compatible"}, setRotation<&RopeRotation::angle>, isInline},
    {"row element", false, elementNames(" rows"),
     [](uint32_t choice, PartialCase* partial) {
         partial->d.rotation.rows.element = static_cast<RopeElement>(1 + choice);
     },
     hasRows},
    {"positions",
     false,
     {"position per token", "start per sequence", "counted"},
     [](uint32_t choice, PartialCase* partial) { partial->d.positions.kind = static_cast<RopePositionKind>(choice); },
     hasPositions},
    {"fractions",
     false,
     {"whole positions", "fractions"},
     [](uint32_t choice, PartialCase* partial) {
         partial->d.positions.element = choice == 0 ? ROPE_POSITION_INT32 : ROPE_POSITION_FLOAT32;
     },
     mayHaveFractions},
    {"alignment",
     true,
     {"by four", "by two", "by the least"},
     [](uint32_t choice, PartialCase* partial) {
         const bool floats = partial->d.element == ROPE_ELEMENT_F32 && partial->d.element_out == ROPE_ELEMENT_F32;
         const HeadShape& shape = choice == 2 && !floats ? kHalvesByTwo : kHeadShapes[choice];
         partial->d.head_dim = shape.dim;
         partial->d.rotation.rotary_begin = shape.begin;
         partial->d.rotation.rotary_dim = shape.rotary;
     },
     nullptr},
    {"size",
     true,
     {"2 x 3 tokens", "1 token", "33 tokens"},
     [](uint32_t choice, PartialCase* partial) {
         partial->d.batch = kCaseSizes[choice].batch;
         partial->d.tokens = kCaseSizes[choice].tokens;
         partial->d.q.heads = kCaseSizes[choice].q_heads;
         partial->d.k.heads = kCaseSizes[choice].k_heads;
     },
     nullptr},
    {"chunks",
     true,
     {"one chunk", "chunks"},
     [](uint32_t choice, PartialCase* partial) {
         const uint32_t rotary = partial->d.rotation.rotary_dim;
         if (choice != 0) partial->d.rotation.chunk_dim = rotary % 16 == 0 ? 16 : rotary % 4 == 0 ? 4 : 2;
     },
     hasChunks},
    {"packing",
     true,
     {"sequences alike", "packed sequences"},
     [](uint32_t choice, PartialCase* partial) {
         RopeRotateDescription& d = partial->d;
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
     [](uint32_t choice, PartialCase* partial) {
         RopePositionElement& element = partial->d.positions.element;
         if (choice != 0) element = hasFractions(*partial) ? ROPE_POSITION_FIXED64 : ROPE_POSITION_INT64;
     },
     hasPositionBuffer},
    {"axes",
     true,
     {"one axis", "three axes"},
     [](uint32_t choice, PartialCase* partial) {
         partial->d.rotation.frequencies.axes = choice == 0 ? nullptr : kThreeAxes;
     },
     hasPositions},
    {"sets",
     true,
     {"one set", "three sets"},
     [](uint32_t choice, PartialCase* partial) { partial->d.rotation.frequencies.sets = choice == 0 ? 1 : 3; },
     hasPositionBuffer},
    {"window",
     true,
     {"all tokens", "window"},
     [](uint32_t choice, PartialCase* partial) {
         partial->d.rotation.skip_first = choice;
         partial->d.rotation.skip_last = partial->d.tokens > 1 ? choice : 0;
     },
     nullptr},
    {"operation", false, {"forward", "transpose", "inverse", "shift"}, setRotation<&RopeRotation::operation>, nullptr},
    {"row format",
     false,
     {"split", "duplicated", "interleaved", "two arrays"}, // complex rows equal interleaved ones
     [](uint32_t choice, PartialCase* partial) {
         partial->format = choice == 3 ? ROPE_ROWS_TWO_ARRAYS : static_cast<RopeRowsFormat>(choice);
     },
     hasRows},
    {"scale",
     false,
     {"not scaled", "scaled"},
     [](uint32_t choice, PartialCase* partial) { partial->d.rotation.frequencies.scale = choice == 0 ? 1 : kScale; },
     mayScale},
    {"order",
     false,
     {"bshd", "bhsd"},
     [](uint32_t choice, PartialCase* partial) { partial->from = static_cast<TensorOrder>(choice); },
     nullptr},
    {"order of the destination",
     true,
     {"to bshd", "to bhsd"},
     [](uint32_t choice, PartialCase* partial) { partial->to = static_cast<TensorOrder>(choice); },
     isOutOfPlace},
    {"gaps",
     true,
     {"packed", "gapped"},
     [](uint32_t choice, PartialCase* partial) { partial->gapped = choice != 0; },
     nullptr},
    {"rotary part",
     true,
     {"part of the head", "whole head"},
     [](uint32_t choice, PartialCase* partial) {
         if (choice == 0) return;
         partial->d.head_dim = partial->d.rotation.rotary_dim;
         partial->d.rotation.rotary_begin = 0;
     },
     nullptr},
    {"sharing",
     true,
     {"own positions", "shared positions"},
     [](uint32_t choice, PartialCase* partial) { partial->d.positions.same_for_all_sequences = choice; },
     isPerToken},
};

// ---- Combinations --------------------------------------------------------------------------------------------------

uint64_t codeOf(const Choices& choices) {
    uint64_t number = 1;
    for (const uint8_t choice : choices) number = number * 7 + choice;
    return number;
}

// Appends all combinations that begin with `choices`, which made `partial`.
void extendChoices(const PartialCase& partial, Choices* choices, std::vector<Choices>* all) {
    if (choices->size() == kOptions.size()) {
        all->push_back(*choices);
        return;
    }
    const MatrixOption& option = kOptions[choices->size()];
    const bool applies = option.applies == nullptr || option.applies(partial);
    uint32_t first = 0, end = applies ? static_cast<uint32_t>(option.choices.size()) : 1;
    if (option.sampled) {
        first = static_cast<uint32_t>(scrambled(codeOf(*choices)) % end);
        end = first + 1;
    }
    for (uint32_t choice = first; choice < end; ++choice) {
        PartialCase next = partial;
        option.choose(choice, &next);
        choices->push_back(applies ? static_cast<uint8_t>(choice) : kNoChoice);
        extendChoices(next, choices, all);
        choices->pop_back();
    }
}

// ---- Cases ---------------------------------------------------------------------------------------------------------

RopeLayout makeLayout(TensorOrder order, bool gapped, const RopeRotateDescription& d, uint32_t heads) {
    const uint64_t dim = d.head_dim;
    const uint64_t gap = !gapped ? 0 : dim % 2 == 0 ? 12 : 11; // odd heads take odd gaps too
    const uint64_t offset = gapped ? gap - 4 : 0;
    if (order == kHeadsFirst) return {offset, heads * (d.tokens * dim + gap) + gap, dim, d.tokens * dim + gap};
    return {offset, d.tokens * (heads * dim + gap) + gap, heads * dim + gap, dim};
}

void setLayouts(PartialCase* partial) {
    RopeRotateDescription& d = partial->d;
    for (RopeTensor* tensor : {&d.q, &d.k}) {
        tensor->from = makeLayout(partial->from, partial->gapped, d, tensor->heads);
        tensor->to = d.out_of_place != 0 ? makeLayout(partial->to, partial->gapped, d, tensor->heads) : tensor->from;
    }
}

} // namespace

const std::vector<MatrixOption>& matrixOptions() { return kOptions; }

std::vector<Choices> rotateChoices() {
    std::vector<Choices> all;
    Choices none;
    extendChoices(PartialCase(), &none, &all);
    return all;
}

std::vector<Choices> quickChoices(const std::vector<Choices>& all) { return coveringArray(all, 3); }

RotateCase rotateCase(const Choices& choices) {
    PartialCase partial;
    RotateCase made;
    for (size_t option = 0; option < kOptions.size(); ++option) {
        const bool applies = choices[option] != kNoChoice;
        kOptions[option].choose(applies ? choices[option] : 0, &partial);
        if (applies)
            made.name += (made.name.empty() ? "" : ", ") + std::string(kOptions[option].choices[choices[option]]);
    }
    setLayouts(&partial);
    RopeRotateDescription& d = partial.d;
    d.rotation.frequencies.count = d.rotation.rotary_dim / 2;
    d.positions.first = -5;
    d.positions.offset = hasPositions(partial) && d.positions.kind != ROPE_POSITIONS_COUNTED ? 3 : 0;
    if (hasRows(partial)) {
        const bool table = d.rotation.source == ROPE_SOURCE_TABLE;
        const uint32_t rows = table ? 12 : d.batch * d.tokens;
        d.rotation.rows.first_position = -3;
        ropeSetRows(partial.format, d.rotation.rotary_dim / 2, table ? rows * d.rotation.frequencies.sets : rows,
                    &d.rotation.rows);
        d.rotation.rows.count = rows;
    }
    d.count_outside = 1;
    made.description = d;
    return made;
}

// ---- Tables --------------------------------------------------------------------------------------------------------

namespace {

const char* const kPositions[] = {"per token", "start per sequence", "counted"};
const char* const kFormats[] = {"split", "duplicated", "interleaved", "complex", "two arrays"};
const char* const kAngles[] = {"exact", "compatible"};

// Takes a choice out of a number, and leaves the rest of the number to the next choice.
uint32_t draw(uint64_t* number, uint32_t choices) {
    const uint32_t choice = static_cast<uint32_t>(*number % choices);
    *number /= choices;
    return choice;
}

} // namespace

std::vector<TableCase> tableCases() {
    constexpr uint32_t kPairCounts[] = {1, 5, 32, 64};
    std::vector<TableCase> cases;
    for (uint64_t index = 0; index < uint64_t{2} * 3 * 5 * 4 * 2; ++index) {
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
