// Every barrier of the compiled SPIR-V stands in uniform flow: all threads of a group come to it, or none.
#include "shaders/modules.h"
#include <vkrope/rope.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

enum {
    kOpExtInst = 12,
    kOpFunctionEnd = 56,
    kOpFunctionCall = 57,
    kOpVariable = 59,
    kOpLoad = 61,
    kOpStore = 62,
    kOpCopyMemory = 63,
    kOpAccessChain = 65,
    kOpInBoundsAccessChain = 66,
    kOpDecorate = 71,
    kOpVectorShuffle = 79,
    kOpCompositeExtract = 81,
    kOpCompositeInsert = 82,
    kOpControlBarrier = 224,
    kOpAtomicLoad = 227,
    kOpAtomicXor = 242,
    kOpPhi = 245,
    kOpLoopMerge = 246,
    kOpSelectionMerge = 247,
    kOpLabel = 248,
    kOpBranch = 249,
    kOpBranchConditional = 250,
    kOpSwitch = 251,
    kOpKill = 252,
    kOpUnreachable = 255
};
enum { kBuiltIn = 11, kNumWorkgroups = 24, kWorkgroupSize = 25, kWorkgroupId = 26 };
enum { kWorkgroup = 4, kStorageBuffer = 12 }; // classes of storage

using Instruction = std::vector<uint32_t>; // its words
uint32_t op(const Instruction& i) { return i[0] & 0xFFFF; }
bool isAtomic(const Instruction& i) { return op(i) >= kOpAtomicLoad && op(i) <= kOpAtomicXor; }

struct Block {
    std::vector<Instruction> instructions;
    std::vector<size_t> next;
};

// One function of a shader, and which of its values differ between the threads of a group. Values are taken to differ
// rather than not: all that is read from buffers and from shared memory, and all that is written where only some
// threads come.
class Flow {
  public:
    explicit Flow(const RopeShader& shader) {
        read(shader);
        findEnds();
        size_t before;
        do {
            before = differing_.size();
            for (size_t b = 0; b < blocks_.size(); ++b) {
                for (const Instruction& i : blocks_[b].instructions) follow(i, b);
            }
        } while (differing_.size() != before);
    }
    size_t barriers() const { return barriers_; }
    size_t differingBranches() const {
        size_t count = 0;
        for (size_t b = 0; b < blocks_.size(); ++b) count += branchesApart(b);
        return count;
    }
    // Barriers that not all threads of a group may come to together.
    size_t barriersApart() const {
        size_t count = 0;
        for (size_t b = 0; b < blocks_.size(); ++b) {
            for (const Instruction& i : blocks_[b].instructions) count += op(i) == kOpControlBarrier && isApart(b);
        }
        return count;
    }

  private:
    void read(const RopeShader& shader) {
        std::map<uint32_t, size_t> numbers; // of labels
        for (size_t at = 5; at < shader.bytes / 4; at += shader.words[at] >> 16) {
            const Instruction i(shader.words + at, shader.words + at + (shader.words[at] >> 16));
            if (op(i) == kOpVariable) storage_[i[2]] = i[3];
            if (op(i) == kOpDecorate && i[2] == kBuiltIn && (i[3] < kNumWorkgroups || i[3] > kWorkgroupId))
                differing_.insert(i[1]);
            if (op(i) == kOpLabel) {
                numbers[i[1]] = blocks_.size();
                blocks_.emplace_back();
            }
            if (blocks_.empty()) continue;
            if (op(i) == kOpControlBarrier) ++barriers_;
            EXPECT_NE(op(i), kOpFunctionCall) << shader.name << ": calls are not followed";
            blocks_.back().instructions.push_back(i);
        }
        for (Block& block : blocks_) {
            for (const Instruction& i : block.instructions) {
                if (op(i) == kOpBranch) block.next = {numbers.at(i[1])};
                if (op(i) == kOpBranchConditional) block.next = {numbers.at(i[2]), numbers.at(i[3])};
                if (op(i) != kOpSwitch) continue;
                block.next = {numbers.at(i[2])};
                for (size_t word = 4; word < i.size(); word += 2) block.next.push_back(numbers.at(i[word]));
            }
        }
    }
    // After each block, those that every way to the end of the shader passes. Where a way ends, there are none.
    void findEnds() {
        std::set<size_t> all;
        for (size_t b = 0; b < blocks_.size(); ++b) all.insert(b);
        passed_.assign(blocks_.size(), all);
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t b = blocks_.size(); b-- > 0;) {
                std::set<size_t> passed;
                for (size_t n = 0; n < blocks_[b].next.size(); ++n) {
                    const std::set<size_t>& other = passed_[blocks_[b].next[n]];
                    std::set<size_t> both;
                    if (n == 0)
                        both = other;
                    else
                        std::set_intersection(passed.begin(), passed.end(), other.begin(), other.end(),
                                              std::inserter(both, both.end()));
                    passed = both;
                }
                passed.insert(b);
                changed = changed || passed != passed_[b];
                passed_[b] = passed;
            }
        }
    }
    // The blocks from a branch on to where its ways meet again, and that one, or none where a way ends before.
    struct Ways {
        std::set<size_t> blocks;
        size_t meeting;
    };
    Ways waysOf(size_t branch) const {
        Ways ways = {{}, blocks_.size()};
        const std::set<size_t>& passed = passed_[branch];
        for (const size_t b : passed) { // the nearest passes all others
            if (b != branch && passed_[b].size() + 1 == passed.size()) ways.meeting = b;
        }
        std::vector<size_t> left = blocks_[branch].next;
        while (!left.empty()) {
            const size_t b = left.back();
            left.pop_back();
            if (b == ways.meeting || !ways.blocks.insert(b).second) continue;
            left.insert(left.end(), blocks_[b].next.begin(), blocks_[b].next.end());
        }
        return ways;
    }
    bool branchesApart(size_t b) const {
        for (const Instruction& i : blocks_[b].instructions) {
            if ((op(i) == kOpBranchConditional || op(i) == kOpSwitch) && differs(i[1])) return true;
        }
        return false;
    }
    bool isApart(size_t block) const { return apart_.count(block) != 0; }
    bool differs(uint32_t id) const { return differing_.count(id) != 0; }
    uint32_t variableOf(uint32_t pointer) const {
        const auto found = bases_.find(pointer);
        return found == bases_.end() ? pointer : found->second;
    }

    void follow(const Instruction& i, size_t block) {
        switch (op(i)) {
        case kOpBranchConditional:
        case kOpSwitch:
            if (!differs(i[1]) || !followed_.insert(block).second) return;
            separate(waysOf(block));
            return;
        case kOpStore: // to a part that differs, of what differs, or not by all
            if (differs(i[1]) || differs(i[2]) || isApart(block)) differing_.insert(variableOf(i[1]));
            return;
        case kOpAccessChain:
        case kOpInBoundsAccessChain:
            bases_[i[2]] = variableOf(i[3]);
            break;
        case kOpLoad:
            if (readsOfOthers(i) || differs(variableOf(i[3]))) differing_.insert(i[2]);
            break;
        case kOpCopyMemory:
            ADD_FAILURE() << "copies of memory are not followed";
            return;
        }
        if (isAtomic(i)) differing_.insert(i[2]);
        if (!hasResult(i)) return;
        for (size_t word = 3; word < operandsEnd(i); ++word) {
            if (op(i) == kOpExtInst && word <= 4) continue;
            if (differs(i[word])) differing_.insert(i[2]);
        }
    }
    bool readsOfOthers(const Instruction& load) const {
        const auto found = storage_.find(variableOf(load[3]));
        if (found == storage_.end()) return true;
        return found->second == kWorkgroup || found->second == kStorageBuffer;
    }
    // Where threads come together again, a value may have come from one way or from another.
    void separate(const Ways& ways) {
        apart_.insert(ways.blocks.begin(), ways.blocks.end());
        std::set<size_t> with_meeting = ways.blocks;
        if (ways.meeting < blocks_.size()) with_meeting.insert(ways.meeting);
        for (const size_t b : with_meeting) {
            for (const Instruction& i : blocks_[b].instructions) {
                if (op(i) == kOpPhi) differing_.insert(i[2]);
            }
        }
        differing_.insert(UINT32_MAX - static_cast<uint32_t>(followed_.size())); // one more round
    }
    static bool hasResult(const Instruction& i) {
        switch (op(i)) {
        case kOpVariable:
        case kOpControlBarrier:
        case kOpLabel:
        case kOpBranch:
        case kOpLoopMerge:
        case kOpSelectionMerge:
        case kOpFunctionEnd:
            return false;
        }
        return i.size() > 3 && op(i) < kOpLabel;
    }
    // The words from here on are numbers and no values.
    static size_t operandsEnd(const Instruction& i) {
        if (op(i) == kOpLoad || op(i) == kOpCompositeExtract) return 4;
        if (op(i) == kOpCompositeInsert || op(i) == kOpVectorShuffle) return 5;
        return i.size();
    }

    std::vector<Block> blocks_;
    size_t barriers_ = 0;
    std::vector<std::set<size_t>> passed_;
    std::map<uint32_t, uint32_t> storage_; // class of each variable
    std::map<uint32_t, uint32_t> bases_;   // variable of each pointer
    std::set<uint32_t> differing_;         // values, variables and pointers
    std::set<size_t> apart_, followed_;
};

TEST(Uniform, EveryBarrierIsMetByAllThreadsOfAGroup) {
    const RopeShader* const shaders[] = {
#define ROPE_SHADER(name, file, family, needs, defines) &rope_shader_##name,
#include "shaders/list.def"
#undef ROPE_SHADER
    };
    std::set<std::string> with_barriers;
    for (const RopeShader* shader : shaders) {
        bool has_barrier = false;
        for (size_t at = 5; at < shader->bytes / 4; at += shader->words[at] >> 16)
            has_barrier = has_barrier || (shader->words[at] & 0xFFFF) == kOpControlBarrier;
        if (!has_barrier) continue;
        with_barriers.insert(shader->name);
        const Flow flow(*shader);
        EXPECT_GT(flow.barriers(), 0u) << shader->name;
        EXPECT_GT(flow.differingBranches(), 0u) << shader->name << ": threads never part, which is not believed";
        EXPECT_EQ(flow.barriersApart(), 0u) << shader->name;
    }
    EXPECT_EQ(with_barriers,
              (std::set<std::string>{"rotate_wide", "selftest", "fused_wide", "fused_odd", "relative_keys",
                                     "relative_values", "bias_wide", "bias_odd", "add_wide"}));
}

} // namespace
