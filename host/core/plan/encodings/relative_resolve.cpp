// This file fills in the defaults of relative vectors, and refuses contradictions.
#include "plan/encodings/relative_resolve.h"
#include "plan/element_formats.h"
#include "plan/encodings/scores.h"
#include "plan/resolve.h"
#include "plan/rows.h"

#include <string.h>

#ifndef VKROPE_NO_RELATIVE
namespace rope {
namespace {

RopeResult checkRelativeOptions(const RopeRelativeDescription& g, RopeReason* reason) {
    const double scale = g.scale;
    if (!(scale == 0 || (scale >= 0x1p-20 && scale <= 0x1p20)))
        return refuse(reason, ROPE_ERROR_INVALID, "scale is %.9g; it must be from 2^-20 to 2^20, or 0 for 1", scale);
    const Choice choices[] = {{"side", g.side, ROPE_RELATIVE_VALUES}, {"element_x", g.element_x, kLastTensorElement}};
    RopeResult result = checkChoices(choices, 2, reason);
    if (result == ROPE_SUCCESS) result = checkScores({g.heads, g.queries, g.keys}, g.positions, reason);
    if (result == ROPE_SUCCESS) result = checkClip(g.least, g.most, reason);
    return result == ROPE_SUCCESS ? checkScoreCount("dim", g.dim, reason) : result;
}

// Refuses odd geometry of 16-bit elements, which are read and written in twos.
RopeResult checkEvenGeometry(const char* name, RopeElement element, uint32_t count, const RopeLayout& layout,
                             RopeReason* reason) {
    const uint64_t all = count | layout.offset | layout.batch_stride | layout.token_stride | layout.head_stride;
    if (element == ROPE_ELEMENT_F32 || (all & 1) == 0) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "%s has 16-bit elements at an odd offset or stride, or an odd number of them; they must be even",
                  name);
}

RopeResult resolveVectors(ResolvedRelative* relative, RopeReason* reason) {
    RopeRelativeDescription* g = &relative->filled;
    RopeRows rows = {};
    rows.offset = g->rows.offset;
    rows.row_stride = g->rows.row_stride != 0 ? g->rows.row_stride : g->dim;
    rows.pair_stride = g->rows.pair_stride;
    rows.element = g->rows.element;
    relative->row_count = static_cast<uint32_t>(g->most - g->least) + 1;
    const RopeResult result = resolveRows(1, &rows, reason);
    rows.pair_stride = g->rows.pair_stride; // 0: every head has the same vectors
    g->rows = rows;
    return result;
}

RopeResult resolveRelativeLayouts(ResolvedRelative* relative, RopeReason* reason) {
    RopeRelativeDescription* g = &relative->filled;
    const bool keys = g->side == ROPE_RELATIVE_KEYS;
    RopeRotateDescription d = relative->d;
    relative->q_count = keys ? g->dim : g->keys;
    relative->x_count = keys ? g->keys : g->dim;
    d.head_dim = relative->q_count;
    RopeResult result = resolveHeadMajorLayout("q", d, g->heads, false, &g->q, reason);
    d.head_dim = relative->x_count;
    if (result == ROPE_SUCCESS) result = resolveHeadMajorLayout("x", d, g->heads, true, &g->x, reason);
    if (result == ROPE_SUCCESS) result = checkEvenGeometry("q", g->element_q, relative->q_count, g->q, reason);
    if (result == ROPE_SUCCESS) result = checkEvenGeometry("x", g->element_x, relative->x_count, g->x, reason);
    return result;
}

} // namespace

RopeResult resolveRelative(const RopeRelativeDescription& given, ResolvedRelative* relative, RopeReason* reason) {
    memset(relative, 0, sizeof *relative);
    RopeRelativeDescription* g = &relative->filled;
    *g = given;
    RopeResult result = checkRelativeOptions(*g, reason);
    if (result != ROPE_SUCCESS) return result;
    RopeRotateDescription d = {};
    d.batch = g->batch;
    d.tokens = g->queries;
    d.head_dim = g->dim;
    d.element = g->element_q;
    d.positions = g->positions;
    result = resolveWithoutTensors(false, &d, reason);
    relative->d = d;
    g->element_q = d.element;
    if (g->element_x == ROPE_ELEMENT_DEFAULT) g->element_x = g->element_q;
    if (g->scale == 0 || g->side == ROPE_RELATIVE_VALUES) g->scale = 1;
    if (result == ROPE_SUCCESS) result = resolveVectors(relative, reason);
    if (result == ROPE_SUCCESS) result = resolveRelativeLayouts(relative, reason);
    return result;
}

} // namespace rope
#endif
