// This file plans a rotation of ggml's graph, with the nodes that are fused with it: ropePlanGgml.
#include "plan/axes.h"
#include "plan/description.h"
#include "plan/element_formats.h"
#include "plan/planner.h"

#include <inttypes.h>

using namespace rope;

namespace {

// A type of ggml's that a pass takes, and its number. The first three are floats; the others are what SET_ROWS writes
// too.
struct Type {
    uint32_t number;
    RopeElement element;
};
constexpr Type kTypes[] = {{0, ROPE_ELEMENT_F32},  {1, ROPE_ELEMENT_F16},  {30, ROPE_ELEMENT_BF16},
                           {2, ROPE_ELEMENT_Q4_0}, {3, ROPE_ELEMENT_Q4_1}, {6, ROPE_ELEMENT_Q5_0},
                           {7, ROPE_ELEMENT_Q5_1}, {8, ROPE_ELEMENT_Q8_0}, {20, ROPE_ELEMENT_IQ4_NL}};
constexpr uint32_t kInt32 = 26;
constexpr uint32_t kInt64 = 27;

// Returns the element of a type, or ROPE_ELEMENT_DEFAULT.
RopeElement elementOf(uint32_t number) {
    for (const Type& type : kTypes)
        if (type.number == number) return type.element;
    return ROPE_ELEMENT_DEFAULT;
}

bool isThere(const RopeGgmlTensor& tensor) { return tensor.ne[0] != 0; }
bool isOfCache(const RopeGgmlTensor& tensor) { return isForCaches(elementOf(tensor.type)); }

RopeLayout layoutOf(const RopeGgmlTensor& t) {
    const ElementFormat& format = formatOf(elementOf(t.type));
    const auto elements = [&format](uint64_t bytes) { return bytes / format.block_bytes * format.block_elements; };
    return {elements(t.offset), elements(t.nb[3]), elements(t.nb[2]), elements(t.nb[1])};
}

// ---- Refusals

RopeResult checkStrides(const char* name, const RopeGgmlTensor& t, uint32_t bytes, RopeReason* reason) {
    RopeResult result = ROPE_SUCCESS;
    for (int i = 0; i < 4 && result == ROPE_SUCCESS; ++i) {
        const RefusalRow refusals[] = {
            invalid(t.ne[i] < 1 || t.ne[i] > INT32_MAX, "%s.ne[%d] is %i; it must be from 1 to 2^31 - 1", i, t.ne[i]),
            // A stride of 0 would mean packed.
            invalid(t.nb[i] == 0 || t.nb[i] % bytes != 0,
                    "%s.nb[%d] is %u with elements of %u bytes; it must be a multiple", i, t.nb[i], bytes),
        };
        result = refuseByFirst(refusals, reason, name);
    }
    const RefusalRow refusals[] = {
        invalid(t.offset % bytes != 0, "%s.offset is %u with elements of %u bytes; it must be a multiple", t.offset,
                bytes),
        invalid(t.nb[0] != bytes, "%s.nb[0] is %u; it must be the bytes of an element, %u", t.nb[0], bytes),
    };
    return result != ROPE_SUCCESS ? result : refuseByFirst(refusals, reason, name);
}

RopeResult checkFloats(const char* name, const RopeGgmlTensor& t, RopeReason* reason) {
    const RopeElement element = elementOf(t.type);
    if (element != ROPE_ELEMENT_DEFAULT && !isOfCache(t))
        return checkStrides(name, t, ropeElementBytes(element), reason);
    return refuse(reason, ROPE_ERROR_INVALID, "%s.type is %u; it must be ggml's F32 (0), F16 (1) or BF16 (30)", name,
                  t.type);
}

// Row numbers lead into caches, whose blocks are read and written.
RopeResult checkElements(const RopeGgmlNode& n, const char* name, const RopeGgmlTensor& t, RopeReason* reason) {
    if (!isThere(n.rows) || !isOfCache(t)) return checkFloats(name, t, reason);
    return checkStrides(name, t, formatOf(elementOf(t.type)).block_bytes, reason);
}

RopeResult checkIntegers(const char* name, const RopeGgmlTensor& t, bool wide, RopeReason* reason) {
    const RefusalRow refusals[] = {
        invalid(wide && t.type != kInt32 && t.type != kInt64, "%s.type is %u; it must be ggml's I32 (26) or I64 (27)",
                t.type),
        invalid(!wide && t.type != kInt32, "%s.type is %u; it must be ggml's I32 (26)", t.type),
    };
    const RopeResult result = refuseByFirst(refusals, reason, name);
    return result != ROPE_SUCCESS ? result : checkStrides(name, t, t.type == kInt32 ? 4 : 8, reason);
}

RopeResult refuseShape(const char* name, const RopeGgmlTensor& t, const char* right, RopeReason* reason) {
    return refuse(reason, ROPE_ERROR_INVALID, "%s has the shape %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "; %s",
                  name, t.ne[0], t.ne[1], t.ne[2], t.ne[3], right);
}

RopeResult checkWeights(const RopeGgmlNode& n, RopeReason* reason) {
    const RopeGgmlTensor& w = n.weights;
    const RopeResult result = checkFloats("weights", w, reason);
    if (result != ROPE_SUCCESS) return result;
    if (!n.norm)
        return refuse(reason, ROPE_ERROR_INVALID, "weights are there without a norm; set norm, or weights.ne[0] 0");
    const bool fits = w.ne[0] == n.x.ne[0] && (w.ne[1] == 1 || w.ne[1] == n.x.ne[1]) &&
                      (w.ne[2] == 1 || w.ne[2] == n.x.ne[2]) && w.ne[3] == 1;
    return fits ? ROPE_SUCCESS
                : refuseShape("weights", w, "each number must be x's or, behind the first, 1, and the last 1", reason);
}

RopeResult checkPositions(const RopeGgmlNode& n, uint32_t axes, RopeReason* reason) {
    const RopeGgmlTensor& p = n.positions;
    const RopeResult result = checkIntegers("positions", p, false, reason);
    if (result != ROPE_SUCCESS) return result;
    const bool fits = p.ne[0] / axes >= n.x.ne[2] && p.ne[1] == 1 && p.ne[2] == 1 && p.ne[3] == 1;
    return fits ? ROPE_SUCCESS
                : refuseShape("positions", p, "there must be one for each axis of each token of x", reason);
}

RopeResult checkOut(const RopeGgmlNode& n, RopeReason* reason) {
    bool same = n.out.type == n.x.type && n.out.offset == n.x.offset;
    for (int i = 0; i < 4; ++i) {
        if (n.out.ne[i] != n.x.ne[i]) return refuseShape("out", n.out, "without rows it must be that of x", reason);
        same = same && n.out.nb[i] == n.x.nb[i];
    }
    if (same || !n.in_place) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "in_place is 1 and out is not x; type, nb and offset must be the same");
}

RopeResult checkRows(const RopeGgmlNode& n, RopeReason* reason) {
    const RopeResult result = checkIntegers("rows", n.rows, true, reason);
    if (result != ROPE_SUCCESS) return result;
    const bool fits =
        n.rows.ne[0] == n.x.ne[2] && n.rows.ne[1] == 1 && n.rows.ne[2] == 1 && n.rows.ne[3] == 1 && n.x.ne[3] == 1;
    if (!fits) return refuseShape("rows", n.rows, "there must be one for each token of x, and x.ne[3] be 1", reason);
    const uint32_t in_place = isOfCache(n.x) ? 1 : 0;
    if (n.in_place != in_place) {
        return refuse(reason, ROPE_ERROR_INVALID, "in_place is %u with rows and an x of type %u; it must be %u",
                      n.in_place, n.x.type, in_place);
    }
    if (n.in_place) return checkOut(n, reason);
    return n.out.ne[0] == n.x.ne[0] * n.x.ne[1] && n.out.ne[2] == 1 && n.out.ne[3] == 1
               ? ROPE_SUCCESS
               : refuseShape("out", n.out, "with rows it must be x.ne[0] * x.ne[1], any number, 1 and 1", reason);
}

RopeResult checkNode(const RopeGgmlNode& n, const RopeRotation* rotation, RopeReason* reason) {
    RopeResult result = checkElements(n, "x", n.x, reason);
    if (result == ROPE_SUCCESS) result = checkElements(n, "out", n.out, reason);
    if (result == ROPE_SUCCESS && isThere(n.positions)) {
        result = checkAxes(rotation->frequencies, reason);
        if (result == ROPE_SUCCESS) result = checkPositions(n, axisCount(rotation->frequencies), reason);
    }
    if (result == ROPE_SUCCESS && isThere(n.weights)) result = checkWeights(n, reason);
    if (result != ROPE_SUCCESS) return result;
    return isThere(n.rows) ? checkRows(n, reason) : checkOut(n, reason);
}

// ---- Descriptions

void describeRotation(const RopeGgmlNode& n, const RopeRotation& rotation, RopeFusedDescription* d) {
    d->rotation = rotation;
    d->rotation.operation = n.backward ? ROPE_OPERATION_TRANSPOSE : ROPE_OPERATION_FORWARD;
    d->rotation.frequencies.values = nullptr; // a plan needs none, and the caller's may be gone
    d->positions.same_for_all_sequences = 1;
    d->positions.offset = n.positions.offset / sizeof(int32_t);
}

void describeTensor(const RopeGgmlNode& n, RopeFusedDescription* d) {
    d->batch = static_cast<uint32_t>(n.x.ne[3]);
    d->tokens = static_cast<uint32_t>(n.x.ne[2]);
    d->head_dim = static_cast<uint32_t>(n.x.ne[0]);
    d->element = elementOf(n.x.type);
    d->k.heads = static_cast<uint32_t>(n.x.ne[1]);
    d->k.from = layoutOf(n.x);
    d->k.to = cacheLayout(layoutOf(n.out));
    d->k.element = elementOf(n.out.type);
    d->k.hadamard = n.hadamard;
    d->out_of_place = n.in_place ? 0 : 1;
}

void describeNorm(const RopeGgmlNode& n, RopeNorm* norm) {
    norm->kind = ROPE_NORM_RMS;
    norm->epsilon = n.epsilon;
    norm->no_weights = isThere(n.weights) ? 0 : 1;
    if (norm->no_weights != 0) return;
    const RopeLayout layout = layoutOf(n.weights);
    norm->weights_element = elementOf(n.weights.type);
    norm->weights_offset = layout.offset;
    norm->weights_token_stride = n.weights.ne[2] > 1 ? layout.token_stride : 0;
    norm->weights_head_stride = n.weights.ne[1] > 1 ? layout.head_stride : 0;
}

// The rows of SET_ROWS are the slots of a cache, and the node's row numbers its slot map.
void describeRows(const RopeGgmlNode& n, RopeFusedDescription* d) {
    RopeCache* cache = &d->cache;
    const uint32_t bytes = n.rows.type == kInt64 ? 8 : 4;
    const RopeLayout layout = layoutOf(n.out);
    cache->kind = ROPE_CACHE_SLOTS;
    cache->slots = static_cast<uint32_t>(n.out.ne[1]);
    d->k.to = {layout.offset, 0, 0, layout.head_stride, static_cast<uint64_t>(n.x.ne[0])};
    cache->map_element = n.rows.type == kInt64 ? ROPE_POSITION_INT64 : ROPE_POSITION_INT32;
    cache->map_offset = n.rows.offset / bytes;
    if (!isOfCache(n.x)) return;
    d->rotation.operation = ROPE_OPERATION_SHIFT;
    d->element = ROPE_ELEMENT_DEFAULT;
    d->k.from = {};
    cache->slots = static_cast<uint32_t>(n.out.ne[2]);
    d->k.to = {layout.offset, 0, 0, layout.token_stride, layout.head_stride};
}

} // namespace

RopeResult ropePlanGgml(const RopeGgmlNode* node, const RopeRotation* rotation, const RopeLimits* limits,
                        RopePlan* plan) {
    if (plan == nullptr) return ROPE_ERROR_INVALID;
    Planner planner(limits, plan);
    if (!node || (!rotation && isThere(node->positions)))
        return planner.refused(refuseNull(planner.reason(), "node or rotation"));
    const RopeGgmlNode& n = *node;
    const RopeResult result = checkNode(n, rotation, planner.reason());
    if (result != ROPE_SUCCESS) return planner.refused(result);
    RopeFusedDescription f = {};
    describeTensor(n, &f);
    if (isThere(n.positions)) {
        describeRotation(n, *rotation, &f);
    } else {
        f.k.no_rotation = 1;
        f.positions.kind = ROPE_POSITIONS_COUNTED;
    }
    if (isThere(n.positions) && !n.norm && !isThere(n.rows) && n.hadamard == 0) {
        const RopeRotateDescription alone = rotationOf(f);
        return ropePlanRotate(&alone, limits, plan);
    }
    if (n.norm) describeNorm(n, &f.k.norm);
    if (isThere(n.rows)) describeRows(n, &f);
    return ropePlanFused(&f, limits, plan);
}
