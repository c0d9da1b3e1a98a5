// This header has what plans over tensors share: the cut of a tensor's elements into lanes, and the buffers that lanes
// read. A lane is the part of a head that a thread takes at a time: lane_pairs pairs, or two runs of elements that
// do not rotate.
#pragma once

#include "plan/layout.h"
#include "plan/pass.h"
#include "plan/planner.h"

namespace rope {

// The twelve numbers that lanes and groups are chosen by.
struct HeadGeometry {
    uint32_t head_dim, rotary_begin, rotary_dim, chunk_dim;
    RopePairing pairing, pairing_out;
    RopeElement element, element_out; // as it is read and written
    bool moves_all;                   // elements that do not rotate are moved too
    bool computes;                    // cos and sin are computed
    uint64_t tokens;   // of all sequences; 0: pipelines are the same at any number (fused passes, additions)
    RopeTuning tuning; // the caller's
};
// Returns the geometry of a rotation, which has heads, or of an addition, which has none.
HeadGeometry geometryOf(const RopeRotateDescription& d);

// How a shader takes a tensor's lanes.
struct ShaderVariant {
    uint32_t lane_pairs;
    uint32_t copy_step; // elements of a run that a copying lane moves, at least
    bool by_words;      // runs lie anywhere
    bool fits;          // false: 16-bit elements lie at odd places, and words do not fit
};

// Returns how a row of cosines and sines is read.
uint32_t chooseRowReading(const RopeRotateDescription& d, const ShaderVariant& variant);

// Returns the elements that push words and strides count as one.
inline uint32_t addressUnit(const ShaderVariant& variant) { return variant.by_words ? 1 : variant.lane_pairs; }

// The offsets and strides of a tensor's two sides, each side's or'ed.
struct SideBits {
    uint64_t source, destination;
};
inline SideBits sideBits(const RopeTensor& tensor) { return {strideBits(tensor.from), strideBits(tensor.to)}; }

// Chooses how lanes are taken. Lanes of 16-bit elements have eight pairs if the geometry and the tuning allow it.
ShaderVariant chooseVariant(const HeadGeometry& g, const SideBits& sides, const RopeLimits& limits);
// Returns the pairs of a chunk if they are an odd number, and its halves then lie at odd places; else 0.
uint32_t oddHalves(const HeadGeometry& g);
// Refuses a tensor whose 16-bit elements lie at odd places: by the odd halves of its pairs, or by its other numbers
// (0). `even_halves` is what gives even ones.
RopeResult refuseOddPlaces(const char* name, uint32_t odd_halves, RopeReason* reason,
                           const char* even_halves = "weights permuted to interleaved pairs (ropePairPermutation)");
// Has the pass convert float16 by the device's own conversions if they are proven and one of these elements is float16.
template <typename... Element> void setNativeHalves(const RopeLimits& limits, PlanPass* pass, Element... elements) {
    if ((limits.enabled & ROPE_ENABLED_NATIVE_HALVES) != 0 && ((elements == ROPE_ELEMENT_F16) || ...))
        pass->constants[ROPE_ID_NATIVE_HALVES] = 1;
}
uint32_t pairLanes(const HeadGeometry& g, const ShaderVariant& variant);
// Returns the lanes that copy `elements` elements, which do not rotate, of a head whose rotary part starts at `begin`.
uint32_t copyLanes(uint32_t elements, uint32_t begin, const ShaderVariant& variant);

// Describes a tensor, of which a part has `heads` heads at least.
PassAccess tensorAccess(RopeSlot slot, const RopeLayout& layout, RopeElement element, uint32_t head_dim,
                        uint32_t heads = 1);
PassAccess cosSinAccess(const RopeRotateDescription& d);
void setScaleOrTable(const RopeRotateDescription& d, RopePush* push, PlanPass* pass);
void setTokenRange(const RopeRotateDescription& d, RopePush* push, PlanPass* pass);
// Sets the words and constants that tell where tokens stand, and which of them rotate.
void setTokenPositions(const RopeRotateDescription& d, RopePush* push, PlanPass* pass);
// Sets the constants that all passes over tensors have.
void setRotationConstants(const RopeRotateDescription& d, const ShaderVariant& variant, PlanPass* pass);

// True if a token can have no position, or no row of the table.
bool canBeOutside(const RopeRotateDescription& d);
// True if every token rotates, or is added to.
bool everyTokenTurns(const RopeRotateDescription& d);
// Adds a pass of the shader that counts tokens. Its positions are not set yet.
PlanPass* addCounter(uint32_t batch, uint32_t tokens, RopeSource source, Planner* planner);
// Adds the pass that counts the tokens that lack a position, if it is asked for and there can be any.
void addCountPass(const RopeRotateDescription& d, Planner* planner);

} // namespace rope
