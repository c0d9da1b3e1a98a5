// Tests the SPIR-V that devices are given, with constants folded in, in plans typical of each shader.
#include "bench/cases/typical_passes.hpp"
#include "program/check/contraction.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

namespace {

#define ROPE_SHADER(name, source, family, enabled, options) +1
constexpr size_t kShaders = 0
#include "shaders/list.def"
    ;
#undef ROPE_SHADER

// Returns how many branches go one way, whatever a dispatch reads.
size_t branchesByConstants(const std::vector<uint32_t>& words) {
    constexpr uint32_t kConstantTrue = 41, kConstantFalse = 42, kBranchConditional = 250; // of SPIR-V
    std::set<uint32_t> constants;
    size_t found = 0;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
        const uint32_t opcode = words[at] & 0xFFFF;
        if (opcode == kConstantTrue || opcode == kConstantFalse) constants.insert(words[at + 2]);
        if (opcode == kBranchConditional) found += constants.count(words[at + 1]);
    }
    return found;
}

TEST(Shaders, AreValidAndKeepOperationsApartWithTheConstantsOfTypicalPlans) {
    if (std::getenv("VKROPE_TEST_SPIRV") != nullptr) GTEST_SKIP() << "plans have this build's shaders, not another's";
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 6;
    limits.enabled = ROPE_ENABLED_STORAGE_16;
    const bool validates = std::system("spirv-val --version > /dev/null 2>&1") == 0;
    const std::string path = testing::TempDir() + "vkrope_typical.spv";
    std::set<std::string> seen;
    for (const measure::TypicalPass& typical : measure::typicalPasses(limits)) {
        RopeDispatch dispatch;
        ropeGetDispatch(&typical.plan, 0, &dispatch);
        std::vector<uint32_t> words(dispatch.shader->bytes / 4);
        words.resize(ropeSpecialize(&dispatch, words.data()) / 4);
        ASSERT_FALSE(words.empty()) << typical.name;
        rope::Arithmetic arithmetic;
        std::string error;
        ASSERT_TRUE(rope::readArithmetic(words, &arithmetic, &error)) << typical.name << " " << error;
        EXPECT_TRUE(arithmetic.undecorated.empty()) << typical.name;
        EXPECT_EQ(branchesByConstants(words), 0u) << typical.name;
        seen.insert(dispatch.shader->name);
        if (!validates) continue;
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
        EXPECT_EQ(std::system(("spirv-val --target-env vulkan1.1 " + path).c_str()), 0) << typical.name;
    }
    std::remove(path.c_str());
    EXPECT_EQ(seen.size(), kShaders);
}

} // namespace
