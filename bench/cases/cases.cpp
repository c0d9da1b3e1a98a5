// To measure more: a row, or one of shapes in models.cpp.
#include "bench/cases/cases.hpp"

#include "plan/element_formats.h"
#include "plan/pairing.h"

namespace measure {

namespace {

// Every row of a table of formats from the first one with a name to `last`.
template <typename Value, typename Format> std::vector<Named<Value>> namedRows(const Format* formats, Value last) {
    std::vector<Named<Value>> all;
    for (int i = 1; i <= last; ++i) all.push_back({formats[i].name, static_cast<Value>(i)});
    return all;
}

} // namespace

const std::vector<Named<RopeElement>>& elements() {
    static const auto all = namedRows(rope::kElementFormats, rope::kLastTensorElement);
    return all;
}

const std::vector<Named<RopePairing>>& pairings() {
    static const auto all = namedRows(rope::kPairings, rope::kLastPairing);
    return all;
}

const std::vector<Named<bool>>& placements() {
    static const std::vector<Named<bool>> all = {{"in-place", false}, {"out-of-place", true}};
    return all;
}

const std::vector<Named<RopeSource>>& sources() {
    static const std::vector<Named<RopeSource>> all = {
        {"inline", ROPE_SOURCE_INLINE}, {"table", ROPE_SOURCE_TABLE}, {"rows", ROPE_SOURCE_ROWS}};
    return all;
}

const std::vector<uint32_t>& tokenCounts() {
    static const std::vector<uint32_t> all = {1, 8, 32, 512, 4096, 32768};
    return all;
}

std::string caseName(const RotationCase& c) {
    return std::string(c.model->name) + "/" + nameIn(placements(), c.out_of_place) + "/" +
           nameIn(elements(), c.element) + "/" + nameIn(pairings(), c.pairing) + "/" + nameIn(sources(), c.source);
}

uint32_t allTokens(const RotationCase& c) { return c.packed ? c.tokens : c.tokens * c.sequences; }

uint64_t tensorBytes(const RotationCase& c) {
    return uint64_t{allTokens(c)} * (c.model->q_heads + c.model->k_heads) * c.model->head_dim *
           ropeElementBytes(c.element);
}

template <typename T> static std::vector<T> valuesOf(const std::vector<Named<T>>& named) {
    std::vector<T> values;
    for (const Named<T>& one : named) values.push_back(one.value);
    return values;
}

CaseChoices allChoices() {
    CaseChoices all;
    for (const ModelShape& model : modelShapes()) all.models.push_back(&model);
    all.pairings = valuesOf(pairings());
    all.out_of_place = valuesOf(placements());
    all.elements = valuesOf(elements());
    all.sources = valuesOf(sources());
    all.tokens = tokenCounts();
    return all;
}

std::vector<RotationCase> casesOf(const CaseChoices& choices) {
    std::vector<RotationCase> cases;
    for (const ModelShape* model : choices.models)
        for (const RopePairing pairing : choices.pairings)
            for (const bool out_of_place : choices.out_of_place)
                for (const RopeElement element : choices.elements)
                    for (const RopeSource source : choices.sources)
                        for (const uint32_t tokens : choices.tokens)
                            cases.push_back({model, pairing, out_of_place, element, source, tokens, {}});
    return cases;
}

} // namespace measure
