// This file fills in the defaults of relative vectors, and refuses contradictions.
#include "plan/encodings/relative_resolve.h"
#include "plan/element_formats.h"
#include "plan/encodings/scores.h"
#include "plan/scale.h"

#include <string.h>

#ifndef VKROPE_NO_RELATIVE
namespace rope {
namespace {

RopeResult resolveRelativeOptions(ResolvedRelative* relative, RopeReason* reason) {
    const RopeRelativeDescription& g = relative->filled;
    const Choice choices[] = {{"side", g.side, ROPE_RELATIVE_VALUES}, {"element_x", g.element_x, kLastTensorElement}};
    RopeResult result = checkFactor(g.scale, reason);
    if (result == ROPE_SUCCESS) result = checkChoices(choices, 2, reason);
    if (result != ROPE_SUCCESS) return result;
    return resolveScores({g.heads, g.queries, g.keys, g.dim, g.dim, g.least, g.most}, g.batch, g.element_q, g.positions,
                         &relative->d, reason);
}

// Refuses odd geometry of 16-bit elements, which are read and written in twos.
RopeResult checkEvenGeometry(const char* name, RopeElement element, uint32_t count, const RopeLayout& layout,
                             RopeReason* reason) {
    if (element == ROPE_ELEMENT_F32 || ((count | strideBits(layout)) & 1) == 0) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "%s has 16-bit elements at an odd offset or stride, or an odd number of them; they must be even",
                  name);
}

RopeResult resolveRelativeLayouts(ResolvedRelative* relative, RopeReason* reason) {
    RopeRelativeDescription* g = &relative->filled;
    const bool keys = g->side == ROPE_RELATIVE_KEYS;
    RopeRotateDescription d = relative->d;
    relative->q_count = keys ? g->dim : g->keys;
    relative->x_count = keys ? g->keys : g->dim;
    d.head_dim = relative->q_count;
    RopeResult result = resolveLayout("q", d, g->heads, false, &g->q, reason, /* heads_first= */ true);
    d.head_dim = relative->x_count;
    if (result == ROPE_SUCCESS) result = resolveLayout("x", d, g->heads, true, &g->x, reason, /* heads_first= */ true);
    if (result == ROPE_SUCCESS) result = checkEvenGeometry("q", g->element_q, relative->q_count, g->q, reason);
    if (result == ROPE_SUCCESS) result = checkEvenGeometry("x", g->element_x, relative->x_count, g->x, reason);
    return result;
}

} // namespace

RopeResult resolveRelative(const RopeRelativeDescription& given, ResolvedRelative* relative, RopeReason* reason) {
    memset(relative, 0, sizeof *relative);
    RopeRelativeDescription* g = &relative->filled;
    *g = given;
    RopeResult result = resolveRelativeOptions(relative, reason);
    if (result != ROPE_SUCCESS) return result;
    g->element_q = relative->d.element;
    if (g->element_x == ROPE_ELEMENT_DEFAULT) g->element_x = g->element_q;
    if (g->scale == 0 || g->side == ROPE_RELATIVE_VALUES) g->scale = 1;
    relative->row_count = static_cast<uint32_t>(g->most - g->least) + 1;
    const uint32_t head_stride = g->rows.pair_stride; // 0: every head has the same vectors
    result = resolveValues(g->dim, &g->rows, reason);
    g->rows.pair_stride = head_stride;
    return result == ROPE_SUCCESS ? resolveRelativeLayouts(relative, reason) : result;
}

} // namespace rope
#endif
