// How many threads a dispatch takes, and what each thread does.
#pragma once

#include "plan/pass.h"

namespace rope {

struct HeadGeometry;
struct ShaderVariant;

RopeResult checkTuning(const RopeTuning& tuning, const RopeLimits& limits, RopeReason* reason);
// How a rotation's threads are cut into groups: of lanes, blocks and tokens.
struct GroupCut {
    uint32_t size[3];
    uint32_t lane_parts; // groups that one head's lanes take
    bool shares;         // a group makes each angle once
};
constexpr uint32_t kMostGroupBlocks = 128; // what every device allows in y; in z it allows 64
// Cuts the blocks of a token into groups of at most `most` threads. A block is a thread's heads, and takes `lanes`
// lanes.
GroupCut cutIntoGroups(const HeadGeometry& g, uint32_t blocks, uint32_t lanes, uint32_t most, const RopeLimits& limits);
// Returns the threads that a group may have at most.
uint32_t largestGroup(const HeadGeometry& g, const RopeLimits& limits);
// Returns the heads of one thread, for tensors of at most `most` heads.
uint32_t chooseRotationHeads(const HeadGeometry& g, uint32_t most, const RopeLimits& limits);
// Returns the largest token count that gets the same group shape as `tokens`.
uint32_t lastTokensCutAlike(uint32_t sequences, uint32_t tokens);
// True if Q and K go in one dispatch where they can.
bool takesTensorsTogether(const RopeLimits& limits);
// Returns the pairs that a lane of a rotation takes at most.
uint32_t lanePairsAtMost(const HeadGeometry& g, const RopeLimits& limits);

// How a bias is cut into groups. A group has 2^lane_bits lanes, each a run of keys. Its other threads take other
// queries.
struct ScoreCut {
    uint32_t threads; // of a group
    uint32_t queries; // of a thread
    bool shares;      // a group finds each value once
    uint32_t lane_bits;
    uint32_t lane_parts; // groups that a row of keys takes
};
// Cuts scores into groups: `queries` queries, and `lanes` runs of keys.
ScoreCut cutScores(uint32_t queries, uint32_t lanes, const RopeLimits& limits);
// How an addition's threads are cut into groups: of lanes, blocks of sequences and tokens.
struct AdditionCut {
    GroupCut group;
    uint32_t sequences; // of one thread
};
// Cuts the lanes of tokens, each of so many pairs. So many sequences have the same positions. `computes`: sinusoids are
// made, not read.
AdditionCut cutAddition(bool computes, uint32_t sequences, uint32_t lanes, uint32_t lane_pairs,
                        const RopeLimits& limits);

// Sets how a pass is cut into groups, with the constants that say so.
void setGroupConstants(const GroupCut& cut, const ShaderVariant& variant, uint32_t lanes, uint32_t heads,
                       PlanPass* pass);

} // namespace rope
