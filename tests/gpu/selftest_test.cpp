// The self-test's SPIR-V: what keeps a compiler from computing it where no pair is turned, or not at all.
#include "../shaders/modules.h"
#include "rope.h"

#include <gtest/gtest.h>

#include <set>

namespace {

enum Op : uint32_t {
    kDecorate = 71,
    kConstruct = 80,
    kNegate = 127,
    kAdd = 129,
    kSubtract = 131,
    kMultiply = 133,
    kTimesScalar = 142,
    kBranchConditional = 250,
    kReturn = 253
};
constexpr uint32_t kBuiltIn = 11, kGlobalInvocationId = 28;

bool isFloat(uint32_t op) {
    return op == kNegate || op == kAdd || op == kSubtract || op == kMultiply || op == kTimesScalar;
}

struct Found {
    uint32_t operations = 0;    // of floats
    uint32_t shared = 0;        // operands that are the same for all threads
    bool leaves_before = false; // a branch that a condition decides comes before one of them
};

// One pass, as values come before their uses in a function without loops around them. A value that is computed from the
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
        for (uint32_t i = 3; i < length; ++i) depending += by_thread.count(at[i]);
        if (isFloat(op)) {
            ++found.operations;
            found.shared += length - 3 - depending;
            found.leaves_before |= decides;
        }
        if (op == kConstruct ? depending == length - 3 : depending != 0) by_thread.insert(at[2]);
    }
    return found;
}

TEST(SelfTest, ComputesWhatDependsOnTheThreadBeforeAnyLeaves) {
    const Found found = look(rope_shader_selftest);
    EXPECT_GE(found.operations, 16u); // ten of single floats, six of four pairs
    EXPECT_EQ(found.shared, 0u) << "operands are the same for all threads";
    EXPECT_FALSE(found.leaves_before);
}

} // namespace
