// This file plans relative vectors: ropePlanRelative.
//
// To change relative vectors: shaders/encodings/relative_keys.comp (scores) and relative_values.comp (output),
// relative_resolve.cpp, this file, and host/core/reference/run_relative.cpp.
#include "plan/element_formats.h"
#include "plan/encodings/relative_resolve.h"
#include "plan/encodings/scores.h"
#include "plan/left_out.h"
#include "plan/positions.h"
#include "plan/tensor.h"
#include "plan/tuning.h"
#include "shaders/modules.h"

#ifndef VKROPE_NO_RELATIVE
namespace rope {
namespace {

// How a group is cut: `lanes` threads for each of `queries` queries of one head.
struct RelativeCut {
    uint32_t lanes, queries;
    uint32_t held;       // loads of one thread that are under way at a time
    uint32_t rounds;     // scores: a tile has `rounds` times the keys that the threads hold
    uint32_t tile_quads; // quads of elements, or of weights, in a stage
    uint32_t row_slots;  // scores: rows in a stage
    uint32_t items;      // output: quads of elements of one thread
    uint32_t parts;      // groups that the keys, or the elements, of a few queries take
};

// A device takes the first row whose `threads` its limits reach. Queries of a group share what it stages. A GPU's lanes
// take whole lines of scores, with the number of loads under way that a copy has. On a CPU a group is what its vectors
// hold.
const struct RelativeTuning {
    uint32_t threads;
    uint32_t score_queries, score_lanes, score_held, score_rounds;
    uint32_t output_queries, output_lanes, weight_quads;
} kRelativeTunings[] = {{16384, 8, 32, 4, 1, 16, 16, 32}, {0, 2, 8, 4, 4, 4, 8, 64}};

constexpr uint32_t kMostTileQuads = 16;   // a vector of 64 elements
constexpr uint32_t kLeastTileQuads = 4;   // fewer make many barriers
constexpr uint32_t kMostParts = 1024;     // of 65535 groups in z, which all heads share
constexpr uint32_t kLeastOutputLanes = 8; // load the weights of a query
constexpr uint32_t kMostItems = 8;        // each takes four registers
constexpr uint32_t kMostHeldWeights = 8;  // so do these
constexpr uint32_t kSharedBytes = 32768;  // leave a GPU room for several groups
constexpr uint32_t kQuadBytes = 16;

const RelativeTuning& relativeTuning(const RopeLimits& limits) {
    const RelativeTuning* row = kRelativeTunings;
    while (limits.threads < row->threads) ++row;
    return *row;
}

uint32_t quadsOf(uint32_t elements) { return (elements + 3) / 4; }

uint32_t sharedLimit(const RopeLimits& limits) { return smaller(limits.shared_bytes, kSharedBytes); }

uint32_t tileKeys(const RelativeCut& cut, RopeElement element) {
    return cut.lanes * cut.held * cut.rounds * (kQuadBytes / ropeElementBytes(element));
}

// Returns the bytes of shared memory of a group that adds to scores: its rows, queries, terms, distances and marks. The
// queries count as an even number.
uint64_t scoreBytes(const RelativeCut& cut) {
    const uint64_t queries = cut.queries + cut.queries % 2, stride = cut.tile_quads | 1;
    return (cut.row_slots + queries) * stride * kQuadBytes + queries * cut.row_slots * 4 + uint64_t{cut.queries} * 8;
}

// Lowers the elements of a stage until all fits. Returns false if `least` quads are still too many.
bool fitTile(const ResolvedRelative& r, uint32_t least, const RopeLimits& limits, RelativeCut* cut) {
    const uint64_t most_rows = uint64_t{tileKeys(*cut, r.filled.element_x)} + cut->queries - 1;
    cut->row_slots = r.row_count < most_rows ? r.row_count : static_cast<uint32_t>(most_rows);
    cut->tile_quads = powerOfTwo(smaller(2 * quadsOf(r.filled.dim) - 1, kMostTileQuads));
    least = smaller(least, cut->tile_quads);
    while (scoreBytes(*cut) > sharedLimit(limits) && cut->tile_quads > least) cut->tile_quads /= 2;
    return scoreBytes(*cut) <= sharedLimit(limits);
}

// Finds the largest tile of keys whose rows fit into shared memory. Rows that are all there serve tiles of any size.
bool cutScores(const ResolvedRelative& r, const RopeLimits& limits, RelativeCut* cut) {
    const RelativeTuning& t = relativeTuning(limits);
    const uint32_t queries = powerOfTwo(smaller(t.score_queries, limits.group_size));
    const uint32_t lanes = powerOfTwo(smaller(t.score_lanes, limits.group_size / queries));
    for (uint32_t least = kLeastTileQuads; least != 0; least /= kLeastTileQuads) {
        *cut = {lanes, queries, t.score_held, t.score_rounds, 0, 0, 1, 1};
        uint32_t* const sizes[] = {&cut->rounds, &cut->held, &cut->lanes, &cut->queries};
        for (uint32_t* const size : sizes)
            for (; *size > 1; *size /= 2)
                if (fitTile(r, least, limits, cut)) return true;
        if (fitTile(r, least, limits, cut)) return true;
    }
    return false;
}

// Returns the bytes of shared memory of a group that adds to an output: its weights, sums of ends and distances.
uint64_t outputBytes(const RelativeCut& cut) {
    return uint64_t{cut.queries} * ((cut.tile_quads | 1) * kQuadBytes + 3 * 4);
}

bool cutOutput(const ResolvedRelative& r, const RopeLimits& limits, RelativeCut* cut) {
    const RelativeTuning& t = relativeTuning(limits);
    const uint32_t quads = quadsOf(r.filled.dim), queries = powerOfTwo(smaller(t.output_queries, limits.group_size));
    uint32_t lanes = powerOfTwo(smaller(2 * quads - 1, t.output_lanes));
    if (lanes < kLeastOutputLanes) lanes = kLeastOutputLanes;
    lanes = powerOfTwo(smaller(lanes, limits.group_size / queries));
    *cut = {lanes, queries, 0, 1, smaller(t.weight_quads, lanes * kMostHeldWeights), 0, 0, 0};
    while (outputBytes(*cut) > sharedLimit(limits) && cut->tile_quads > 1) cut->tile_quads /= 2;
    while (outputBytes(*cut) > sharedLimit(limits) && cut->queries > 1) cut->queries /= 2;
    cut->held = (cut->tile_quads + cut->lanes - 1) / cut->lanes;
    cut->items = smaller((quads + cut->lanes - 1) / cut->lanes, kMostItems);
    const uint32_t taken = cut->lanes * cut->items;
    cut->parts = taken != 0 ? (quads + taken - 1) / taken : 0;
    return outputBytes(*cut) <= sharedLimit(limits);
}

// True if elements do not lie at multiples of what is loaded at once.
bool liesByWords(const RopeLayout& layout, uint32_t elements) { return (strideBits(layout) & (elements - 1)) != 0; }

void setConstants(const ResolvedRelative& r, const RelativeCut& cut, const RopeLimits& limits, PlanPass* pass) {
    const RopeRelativeDescription& g = r.filled;
    uint32_t* constants = pass->constants;
    const uint64_t rows = g.rows.offset | g.rows.row_stride | g.rows.pair_stride | g.dim;
    constants[ROPE_ID_ELEMENT_IN] = shaderElement(g.element_q);
    constants[ROPE_ID_ELEMENT_OUT] = shaderElement(g.element_x);
    constants[ROPE_ID_ROWS] = (rows & 3) == 0 ? ROPE_ROWS_BY_FOUR : ROPE_ROWS_SINGLE;
    constants[ROPE_ID_ROW_ELEMENT] = shaderElement(g.rows.element);
    setNativeHalves(limits, pass, g.element_q, g.element_x, g.rows.element);
    setGroup(cut.lanes, 1, cut.queries, pass);
    constants[ROPE_ID_DIM] = g.dim;
    constants[ROPE_ID_HELD] = cut.held;
    constants[ROPE_ID_TILE_QUADS] = cut.tile_quads;
    if (g.side == ROPE_RELATIVE_KEYS) {
        constants[ROPE_ID_TERM_SCALE] = floatConstant(g.scale);
        constants[ROPE_ID_ROW_SLOTS] = cut.row_slots;
        constants[ROPE_ID_ALL_ROWS] = cut.row_slots == r.row_count;
    } else {
        constants[ROPE_ID_DIM_PARTS] = cut.parts;
        constants[ROPE_ID_ITEMS] = cut.items;
    }
    pass->lane_parts = cut.parts;
}

void addCutPass(const ResolvedRelative& r, const RelativeCut& cut, Planner* planner) {
    const RopeRelativeDescription& g = r.filled;
    const bool keys = g.side == ROPE_RELATIVE_KEYS;
    const RopeShader& shader = keys ? rope_shader_relative_keys : rope_shader_relative_values;
    PlanPass* pass = planner->addPass(shader, r.d.batch, g.queries, g.heads);
    RopePush common = {};
    setPositions({r.d.positions, r.d.rotation.frequencies}, &common, pass);
    common.rows.head = g.rows.pair_stride;
    pass->access[ROPE_BINDING_COS_SIN] = valueAccess(g.rows, r.row_count, g.dim);
    pass->access[ROPE_BINDING_SOURCE] = tensorAccess(ROPE_SLOT_Q, g.q, g.element_q, r.q_count);
    pass->access[ROPE_BINDING_DESTINATION] = tensorAccess(ROPE_SLOT_X, g.x, g.element_x, r.x_count);
    setConstants(r, cut, planner->limits(), pass);
    RopeRelativePush push = familyPush<RopeRelativePush>(common);
    push.keys = g.keys;
    push.first_key = g.first_key;
    push.least = g.least;
    push.most = g.most;
    push.row_stride = static_cast<uint32_t>(g.rows.row_stride);
    push.key_parts = cut.parts;
    push.key_rounds = cut.rounds;
    const uint32_t x_run = keys ? kQuadBytes / ropeElementBytes(g.element_x) : 4;
    push.by_words =
        (liesByWords(g.q, 4) ? ROPE_SOURCE_BY_WORDS : 0) | (liesByWords(g.x, x_run) ? ROPE_DESTINATION_BY_WORDS : 0);
    writePush(push, pass);
}

RopeResult addRelativePass(const ResolvedRelative& r, Planner* planner) {
    const RopeLimits& limits = planner->limits();
    RelativeCut cut;
    const bool keys = r.filled.side == ROPE_RELATIVE_KEYS;
    if (!(keys ? cutScores(r, limits, &cut) : cutOutput(r, limits, &cut))) {
        return refuse(planner->reason(), ROPE_ERROR_TOO_LARGE,
                      "limits.shared_bytes is %u; relative vectors take %u at least", limits.shared_bytes,
                      static_cast<uint32_t>(keys ? scoreBytes(cut) : outputBytes(cut)));
    }
    if (keys) cut.parts = smaller((r.filled.keys - 1) / tileKeys(cut, r.filled.element_x) + 1, kMostParts);
    addCutPass(r, cut, planner);
    return ROPE_SUCCESS;
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanRelative(const RopeRelativeDescription* description, const RopeLimits* limits, RopePlan* plan) {
    return planDescription(description, limits, plan, resolveRelative, addRelativePass);
}
#else

RopeResult ropePlanRelative(const RopeRelativeDescription*, const RopeLimits*, RopePlan* plan) {
    return rope::refuseLeftOut("relative vectors", "RELATIVE", plan);
}

#endif
