// What plans over tensors share: how one tensor's elements become lanes, and what these read.
#pragma once

#include "plan/layout.h"
#include "plan/pass.h"
#include "plan/planner.h"

namespace rope {

RopeResult checkTuning(const RopeTuning& tuning, const RopeLimits& limits, RopeReason* reason);
// Of a tensor of so many heads, with so many lanes for each group of heads: the table's, or what the description says.
// `two_lanes`: a thread may take two of the head's.
RopeTuning chooseTuning(const RopeRotateDescription& d, uint32_t heads, uint32_t head_lanes, bool two_lanes,
                        const RopeLimits& limits);
// What one of so many threads could take over from others, up to `most` of them: as many (1, 2, 4 and so on) as leave a
// device enough threads.
uint32_t chooseItemsPerThread(uint64_t threads, uint32_t most, const RopeLimits& limits);
bool takesLongWords(const RopeLimits& limits); // whether memory is moved by 64-bit words, in shaders that can

struct ShaderVariant {
    const RopeShader* shader; // null: none on this device
    uint32_t lane_pairs;
    uint32_t copy_step; // elements that a copying lane moves at a time, twice
};

// With lanes of four pairs, two and one; of four in long words, too, or null.
struct ShaderVariants {
    const RopeShader *wide, *narrow, *odd;
    const RopeShader* wide_long = nullptr;
};
// The offsets and strides of a tensor's two sides, each side's or'ed.
struct SideBits {
    uint64_t source, destination;
};
inline SideBits sideBits(const RopeTensor& tensor) {
    return {strideBits(tensor.source), strideBits(tensor.destination)};
}

ShaderVariant chooseVariant(const RopeRotateDescription& d, const SideBits& sides, const ShaderVariants& shaders,
                            const RopeLimits& limits);
// Whether a tensor's runs of four elements, and the pairs' partners, lie at multiples of four.
bool fitsWideShader(const RopeRotateDescription& d, const SideBits& sides);
RopeResult refuseVariant(const char* name, RopeReason* reason);
uint32_t pairLanes(const RopeRotateDescription& d, const ShaderVariant& variant);
uint32_t copyLanes(uint32_t elements, const ShaderVariant& variant); // that bring over what does not rotate

RopeAccess tensorAccess(RopeSlot slot, const RopeLayout& layout, RopeElement element, uint32_t head_dim);
RopeAccess cosSinAccess(const RopeRotateDescription& d);
void setScaleOrTable(const RopeRotateDescription& d, RopePush* push, RopePass* pass);
void setWindow(const RopeRotateDescription& d, RopePush* push, RopePass* pass);
// Of all passes over one tensor.
void setRotationConstants(const RopeRotateDescription& d, const ShaderVariant& variant, RopePass* pass);

// One tensor from where to where.
struct TensorPass {
    const char* name;
    const RopeTensor& tensor;
    RopeSlot from_slot, to_slot;
    const ShaderVariants& shaders;
    bool is_rotation; // whose wide shader may take two lanes of a head in a thread, or two heads together
};
RopeResult addTensorPass(const RopeRotateDescription& d, const TensorPass& t, Planner* planner);
// Whether a token can have no position, or none of the table's.
bool canBeOutside(const RopeRotateDescription& d);
// Counts the tokens that lack a position, where that is asked for and there can be any.
void addCountPass(const RopeRotateDescription& d, Planner* planner);

} // namespace rope
