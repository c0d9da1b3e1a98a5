// This file decides how many heads a thread of a fused pass takes, and how the threads are cut into groups. The lanes
// of a head that is normed or quantized meet in one group. With a norm over all heads, those of a tensor or a token do.
#include "plan/fused/groups.h"
#include "plan/element_formats.h"
#include "plan/fused/hadamard.h"
#include "plan/tuning.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

constexpr uint32_t kMostNormedHeads = 16; // heads of a thread that are normed together: registers hold no more
constexpr uint32_t kIdleBytes = 124;      // of shared memory: an array that a dispatch lacks has an entry, or 16 bytes

uint32_t divideUp(uint32_t count, uint32_t by) { return (count + by - 1) / by; }

// Norms and quantizers reduce over a head: they look at all of its elements before any of them is stored.
bool findsScales(const FusedTensor& t) { return isForCaches(t) && t.given_scale.count == 0; }
bool reducesOverHead(const FusedTensor& t) { return findsScales(t) || t.takes(ROPE_STAGE_NORM | ROPE_STAGE_HADAMARD); }
// True if every element of a head is moved: elements that do not rotate are then copied, or pass a stage.
bool movesWholeHead(const FusedTensor& t) { return t.d.out_of_place != 0 || t.takes(ROPE_STAGES_BESIDE_TURN); }

// Returns the tensor whose pairs the lanes of `t` lie like: itself if it turns, or a tensor of heads as wide that
// turns.
const FusedTensor* pairedLike(const FusedGroup& group, const FusedTensor& t) {
    if (t.takes(ROPE_STAGE_TURN)) return &t;
    const auto is_like = [&](const FusedTensor* other) {
        return other != nullptr && other->takes(ROPE_STAGE_TURN) && other->d.head_dim == t.d.head_dim;
    };
    return is_like(group.tensors[kK]) ? group.tensors[kK] : is_like(group.tensors[kQ]) ? group.tensors[kQ] : nullptr;
}

bool takesVectors(const FusedGroup& group) {
    return anyOf(group, [](const FusedTensor& t) { return needsVectors(t); });
}

// Returns what a tensor's lanes are chosen by in a dispatch: its own numbers, and the rotary part that its lanes lie
// like.
HeadGeometry geometryIn(const FusedGroup& group, const FusedTensor& t) {
    HeadGeometry g = geometryOf(t.d);
    const FusedTensor* like = pairedLike(group, t);
    g.rotary_begin = like != nullptr ? like->d.rotation.rotary_begin : 0;
    g.rotary_dim = like != nullptr ? like->d.rotation.rotary_dim : 0;
    g.chunk_dim = like != nullptr ? like->d.rotation.chunk_dim : 0;
    g.moves_all = movesWholeHead(t);
    return g;
}

// Returns how a tensor's lanes are taken in a dispatch. They have the elements that turn, and the elements that are
// copied. With vectors a lane holds quads, whose pairs may lie anywhere, but heads of 16-bit elements may not.
ShaderVariant variantOf(const FusedGroup& group, const FusedTensor& t, const RopeLimits& limits) {
    const SideBits sides = fusedSideBits(t);
    const ShaderVariant variant = chooseVariant(geometryIn(group, t), sides, limits);
    if (!takesVectors(group) || !variant.by_words) return variant;
    const bool odd = (ropeElementBytes(t.d.element) == 2 && sides.source % 2 != 0) ||
                     (ropeElementBytes(t.d.element_out) == 2 && sides.destination % 2 != 0);
    return {4, 4, true, !odd};
}

SharedStages sharedStages(const FusedGroup& group) {
    SharedStages stages = {};
    const bool relays = group.variant.by_words && takesVectors(group);
    forEachTensor(group, [&](const FusedTensor& t) {
        const ElementFormat& format = formatOf(t.d.element_out);
        stages.norms = stages.norms || isNormed(t);
        stages.centered = stages.centered || t.norm.kind == ROPE_NORM_LAYER;
        stages.all_heads = stages.all_heads || normsAllHeads(t);
        if (isNormed(t)) stages.norm_quads = larger(stages.norm_quads, t.norm.dim / 4);
        stages.transformed = larger(stages.transformed, hadamardWords(t));
        if (relays) stages.relayed = larger(stages.relayed, t.d.head_dim);
        stages.integers = stages.integers || findsScales(t);
        stages.minima = stages.minima || format.minimum;
        stages.codes = stages.codes || format.codes;
        stages.blocks = stages.blocks || format.scale == ElementScale::kInBlock;
    });
    return stages;
}

// Heads that lie alike all copy, if the heads of one tensor do. Where pairs are relayed, a lane holds two quads, and
// some lanes turn pairs too.
TensorLanes lanesOf(const FusedGroup& group, const FusedTensor& t) {
    const HeadGeometry g = geometryIn(group, t);
    const bool paired = g.rotary_dim != 0;
    bool copies = false;
    forEachTensor(group, [&](const FusedTensor& tensor) {
        const HeadGeometry other = geometryIn(group, tensor);
        const bool alike =
            other.head_dim == g.head_dim && (other.rotary_dim != 0) == paired && other.rotary_begin == g.rotary_begin;
        copies = copies || (alike && other.moves_all);
    });
    const uint32_t pair_lanes = pairLanes(g, group.variant);
    const uint32_t copied = copies ? g.head_dim - g.rotary_dim : 0;
    const uint32_t lanes = group.stages.relayed != 0 ? larger(divideUp(g.head_dim, 8), pair_lanes)
                                                     : pair_lanes + copyLanes(copied, g.rotary_begin, group.variant);
    return {lanes, copied, paired ? g.rotary_begin : (copied + 3) / 4 * 4, paired};
}

uint32_t rowBlocks(const FusedGroup& group, FusedRole role, bool parts) {
    return parts ? 1 : group.widest / group.lanes[role].lanes;
}

uint32_t rowsOf(const FusedGroup& group, const FusedTensor& t, bool parts, uint32_t heads) {
    return divideUp(divideUp(t.heads, heads), rowBlocks(group, t.role, parts));
}
uint32_t rowsOf(const FusedGroup& group, bool parts, uint32_t heads) {
    uint32_t rows = 0;
    forEachTensor(group, [&](const FusedTensor& t) { rows += rowsOf(group, t, parts, heads); });
    return rows;
}

// Returns the rows of a group in which all heads of each tensor meet: those of a tensor if every tensor has as many,
// or those of a token.
uint32_t rowsThatMeet(const FusedGroup& group, uint32_t heads) {
    const uint32_t all = rowsOf(group, false, heads);
    const uint32_t first = rowsOf(group, group.first(), false, heads);
    return anyOf(group, [&](const FusedTensor& t) { return rowsOf(group, t, false, heads) != first; }) ? all : first;
}

// Returns the words that a row of quantized heads takes to become integers. Floats beside them take none.
uint64_t cacheWords(const FusedGroup& group) {
    uint64_t most = 0;
    forEachTensor(group, [&](const FusedTensor& t) {
        if (!group.stages.integers || !isForCaches(t)) return;
        const ElementFormat& format = formatOf(t.d.element_out);
        const uint64_t quads = t.d.head_dim / 4;
        const uint64_t extremes =
            group.stages.blocks ? t.d.head_dim / group.variant.lane_pairs : group.lanes[t.role].lanes;
        const uint64_t stored = format.integer_bits < 8 ? (elementBytes(t.d.element_out, t.d.head_dim) + 3) / 4 * 4
                                                        : quads / 8 * ((format.block_bytes + 2u) / 4);
        const uint64_t words = (extremes + 3) / 4 * (group.stages.minima ? 8 : 4) + (group.stages.blocks ? stored : 0) +
                               (group.stages.codes ? 4 * quads : 0);
        most = larger(most, words * rowBlocks(group, t.role, false));
    });
    return most;
}

// Returns the bytes of shared memory of a group, as the arrays of norms.glsl, convert.glsl and angles.glsl have them.
uint64_t sharedBytes(const FusedGroup& group, const GroupCut& cut, uint32_t heads) {
    const SharedStages& stages = group.stages;
    uint64_t words = uint64_t{stages.relayed} + stages.transformed; // of an entry: a head of a token
    if (stages.norms) words += uint64_t{(stages.norm_quads + 3) / 4} * (stages.centered ? 8 : 4);
    if (stages.all_heads) words += 1;
    uint32_t most_blocks = 1;
    forEachTensor(group,
                  [&](const FusedTensor& t) { most_blocks = larger(most_blocks, rowBlocks(group, t.role, false)); });
    const uint64_t row_heads = uint64_t{cut.size[1]} * cut.size[2] * heads; // where each row has one block
    const FusedTensor& t = group.turned() != nullptr ? *group.turned() : group.first();
    const uint64_t angles = cut.shares ? uint64_t{cut.size[2]} * (t.d.rotation.rotary_dim / 2) * 2 : 0;
    return (row_heads * (most_blocks * words + cacheWords(group)) + angles) * sizeof(uint32_t);
}

// Cuts a dispatch whose heads meet in groups: fewer heads in a group, then fewer in a thread, take less memory. A norm
// over all heads takes more heads in a thread, until a token is one group.
bool cutStages(const HeadGeometry& g, const RopeLimits& limits, FusedGroup* group) {
    const uint32_t lanes = group->widest;
    uint32_t& heads = group->heads;
    GroupCut& cut = group->cut;
    if (lanes > limits.group_size) return false;
    if (group->stages.all_heads) {
        while (lanes * rowsOf(*group, false, heads) > limits.group_size && heads < kMostNormedHeads) heads *= 2;
        const uint32_t blocks = rowsThatMeet(*group, heads);
        if (blocks > kMostGroupBlocks || lanes * blocks > limits.group_size) return false;
        cut = cutIntoGroups(g, blocks, lanes, lanes * blocks, limits);
        cut.size[1] = blocks;
        cut.size[2] = 1;
        return sharedBytes(*group, cut, heads) <= limits.shared_bytes;
    }
    for (;; heads /= 2) {
        for (uint32_t most = larger(largestGroup(g, limits), lanes);; most /= 2) {
            if (most < lanes) most = lanes;
            cut = cutIntoGroups(g, rowsOf(*group, false, heads), lanes, most, limits);
            if (sharedBytes(*group, cut, heads) <= limits.shared_bytes) return true;
            if (most == lanes) break;
        }
        if (heads == 1) return false;
    }
}

} // namespace

bool chooseLanes(const RopeLimits& limits, FusedGroup* group) {
    group->variant = variantOf(*group, group->first(), limits);
    const bool relays = group->variant.by_words && takesVectors(*group);
    return !anyOf(*group, [&](const FusedTensor& t) {
        if (relays && t.takes(ROPE_STAGE_TURN) && !needsVectors(t))
            return true; // its pairs need no way through shared memory
        const ShaderVariant v = variantOf(*group, t, limits), &first = group->variant;
        return !v.fits || v.lane_pairs != first.lane_pairs || v.by_words != first.by_words ||
               v.copy_step != first.copy_step;
    });
}

bool cutThreads(const RopeLimits& limits, FusedGroup* group) {
    group->stages = sharedStages(*group);
    group->widest = 0;
    uint32_t most_heads = 0;
    bool meets = group->stages.relayed != 0; // such a head is never cut
    forEachTensor(*group, [&](const FusedTensor& t) {
        group->lanes[t.role] = lanesOf(*group, t);
        group->widest = larger(group->widest, group->lanes[t.role].lanes);
        most_heads = larger(most_heads, t.heads);
        meets = meets || reducesOverHead(t);
    });
    RopeLimits left = limits;
    left.shared_bytes -= smaller(limits.shared_bytes, kIdleBytes);
    const HeadGeometry g = geometryOf((group->turned() != nullptr ? *group->turned() : group->first()).d);
    const uint32_t largest = largestGroup(g, limits);
    const bool differ =
        anyOf(*group, [&](const FusedTensor& t) { return group->lanes[t.role].lanes != group->widest; });
    if (differ && (group->stages.all_heads || group->widest > largest)) return false;
    group->heads = chooseRotationHeads(g, most_heads, limits);
    const bool parts = !meets && group->widest > largest;
    if (group->stages.reduce()) {
        if (!cutStages(g, left, group)) return false;
    } else {
        group->cut = cutIntoGroups(g, rowsOf(*group, parts, group->heads), group->widest, largest, left);
    }
    group->rows = rowsOf(*group, parts, group->heads);
    return true;
}

RopeResult refuseThreads(const FusedGroup& group, const RopeLimits& limits, RopeReason* reason) {
    if (!group.variant.fits)
        return refuseOddPlaces(group.first().name, takesVectors(group) ? 0 : oddHalves(geometryOf(group.first().d)),
                               reason);
    const SharedStages& stages = group.stages;
    const auto meets = [&](const FusedTensor& t) { return stages.relayed != 0 || reducesOverHead(t); };
    const FusedTensor* tensor = &group.first(); // that takes the most together
    forEachTensor(group, [&](const FusedTensor& t) {
        if (meets(t) && (!meets(*tensor) || t.heads > tensor->heads)) tensor = &t;
    });
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "%s: %llu elements %s together take more than the %u threads or %u bytes of shared "
                  "memory of a group; use fewer heads or smaller ones",
                  tensor->name, (stages.all_heads ? tensor->heads : 1ull) * tensor->d.head_dim,
                  stages.norms || stages.integers ? "normed or quantized"
                  : stages.transformed            ? "transformed"
                                                  : "exchanged",
                  limits.group_size, limits.shared_bytes);
}

} // namespace rope
#endif
