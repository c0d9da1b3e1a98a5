// The self-test: its SPIR-V, which keeps a compiler from computing it where no pair is turned, or not at all; and what
// it says of the devices' own conversions of float16.
#include "plan/pass.h"
#include "shaders/modules.h"
#include "support/gpu.hpp"

#include <cstring>
#include <set>

namespace {

enum Op : uint32_t {
    kExtInst = 12,
    kDecorate = 71,
    kConstruct = 80,
    kNegate = 127,
    kAdd = 129,
    kSubtract = 131,
    kMultiply = 133,
    kTimesScalar = 142,
    kPhi = 245,
    kBranchConditional = 250,
    kReturn = 253
};
constexpr uint32_t kBuiltIn = 11, kGlobalInvocationId = 28;
constexpr uint32_t kPackHalf = 58, kUnpackHalf = 62; // of GLSL.std.450

bool isFloat(uint32_t op) {
    return op == kNegate || op == kAdd || op == kSubtract || op == kMultiply || op == kTimesScalar;
}

bool isHalves(const uint32_t* at) {
    return (at[0] & 0xFFFF) == kExtInst && (at[4] == kPackHalf || at[4] == kUnpackHalf);
}

struct Found {
    uint32_t operations = 0;  // of floats, before any thread may leave
    uint32_t shared = 0;      // of their operands, those that are the same for all threads
    uint32_t conversions = 0; // of float16
    uint32_t all_shared = 0;  // conversions, and operations behind a branch, all of whose operands are shared
};

// One pass, as values come before their uses, but for what a loop's next turn brings. A value that is computed from the
// thread's index depends on it; a vector only where all its parts do.
Found look(const RopeShader& shader) {
    Found found;
    std::set<uint32_t> by_thread;
    bool decides = false;
    const uint32_t* end = shader.words + shader.bytes / 4;
    for (const uint32_t* at = shader.words + 5; at < end; at += at[0] >> 16) {
        const uint32_t op = at[0] & 0xFFFF, length = at[0] >> 16;
        if (op == kDecorate && at[2] == kBuiltIn && at[3] == kGlobalInvocationId) by_thread.insert(at[1]);
        if (op == kBranchConditional || op == kReturn) decides = true;
        if (length < 4) continue;
        uint32_t depending = 0;
        for (uint32_t i = 3; i < length; ++i) depending += by_thread.count(at[i]) != 0;
        if (isFloat(op) && !decides) {
            ++found.operations;
            found.shared += length - 3 - depending;
        }
        if (isHalves(at)) ++found.conversions;
        if ((isHalves(at) || isFloat(op)) && depending == 0) ++found.all_shared;
        if (op == kConstruct ? depending == length - 3 : depending != 0) by_thread.insert(at[2]);
    }
    return found;
}

TEST(SelfTest, ComputesWhatDependsOnTheThreadBeforeAnyLeaves) {
    const Found found = look(rope_shader_selftest);
    EXPECT_GE(found.operations, 16u); // ten of single floats, six of four pairs
    EXPECT_EQ(found.shared, 0u) << "operands are the same for all threads";
    EXPECT_GE(found.conversions, 4u); // two of a word each, each way
    EXPECT_EQ(found.all_shared, 0u) << "what is converted is the same for all threads";
}

class Halves : public gpu::OnDevice {
  protected:
    // The words that the self-test leaves in memory that holds ones, by its own shader or by another.
    std::vector<uint32_t> words(const RopeShader* shader = nullptr) {
        RopePlan plan;
        EXPECT_EQ(ropePlanSelfTest(&device().limits(), &plan), ROPE_SUCCESS);
        if (shader != nullptr) rope::passAt(plan, 0).shader = shader;
        gpu::Slots slots;
        slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>(ROPE_SELF_TEST_WORDS, UINT32_MAX));
        EXPECT_TRUE(gpu::run(&device(), plan, &slots));
        return slots.get<uint32_t>(ROPE_SLOT_COUNTER);
    }
    bool proven() { return (device().limits().enabled & ROPE_ENABLED_NATIVE_HALVES) != 0; }
};

// The self-test with each conversion of float16 one way taken by another of GLSL's, of numbers from -1 to 1.
std::vector<uint32_t> spoiledWords(uint32_t halves) {
    const RopeShader& shader = rope_shader_selftest;
    std::vector<uint32_t> words(shader.words, shader.words + shader.bytes / 4);
    for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
        if (isHalves(&words[at]) && words[at + 4] == halves) words[at + 4] -= 2; // to signed 16-bit integers
    }
    return words;
}

TEST_P(Halves, AreCountedIntoMemoryThatNobodyCleared) {
    const std::vector<uint32_t> found = words();
    EXPECT_EQ(found[16], 262144u);
    EXPECT_EQ(found[18], 829440u);
    EXPECT_EQ(proven(), found[17] == 0 && found[19] == 0);
    EXPECT_EQ(ropeEnabledBySelfTest(found.data()), device().limits().enabled & ROPE_ENABLED_NATIVE_HALVES);
    EXPECT_EQ(ropeReadSelfTest(found.data()), ropeGetRounding(device().context()));
    // SwiftShader has no infinity of float16.
    EXPECT_FALSE(proven() && device().info().name.find("SwiftShader") != std::string::npos);
}

TEST_P(Halves, AreNotProvenByOtherConversions) {
    const std::vector<uint32_t> right = words();
    for (const uint32_t halves : {kUnpackHalf, kPackHalf}) {
        const std::vector<uint32_t> code = spoiledWords(halves);
        const RopeShader spoiled = {"spoiled", code.data(), code.size() * 4, 0};
        const std::vector<uint32_t> found = words(&spoiled);
        const size_t wrong = halves == kUnpackHalf ? 17 : 19;
        EXPECT_GT(found[wrong], found[wrong - 1] * 9 / 10);
        EXPECT_LT(found[wrong], found[wrong - 1]) << "zero is the same";
        for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(i == wrong || found[i] == right[i]) << i;
        EXPECT_EQ(ropeEnabledBySelfTest(found.data()), 0u);
        reopenDevice(); // the context knows its pipelines by the shader, which goes
    }
}

ROPE_ON_EVERY_DEVICE(Halves);

} // namespace
