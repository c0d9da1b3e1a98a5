// Each SPIR-V module that this build has made is valid, and no driver may fuse an operation of it that bits depend on.
// Modules that are spoiled on purpose test the reader that finds such operations.
#include "support/sample.hpp"

#include "program/check/contraction.hpp"
#include "support/paths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace {

using Words = std::vector<uint32_t>;

// Reads numbers with commas, as glslc -mfmt=num writes them.
Words readNumbers(const std::filesystem::path& path) {
    std::ifstream file(path);
    Words words;
    for (std::string number; std::getline(file, number, ',');) {
        if (number.find_first_not_of(" \n\r\t") != std::string::npos)
            words.push_back(static_cast<uint32_t>(std::stoul(number, nullptr, 0)));
    }
    return words;
}

// Returns the folder of another build, by another compiler, which VKROPE_TEST_SPIRV names.
const char* otherFolder() { return std::getenv("VKROPE_TEST_SPIRV"); }

// Reads all modules. This build lists their names; another build's folder is new and holds no other files.
std::map<std::string, Words> everyModule() {
    std::map<std::string, Words> modules;
    const std::filesystem::path folder = otherFolder() != nullptr ? otherFolder() : paths::shaders();
    std::ifstream names(folder / "names");
    for (std::string name; otherFolder() == nullptr && std::getline(names, name);)
        modules[name] = readNumbers(folder / (name + ".inc"));
    if (otherFolder() == nullptr) return modules;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".inc") modules[entry.path().stem().string()] = readNumbers(entry.path());
    }
    return modules;
}

Words module(const std::string& name) {
    const Words words = readNumbers(std::filesystem::path(paths::shaders()) / (name + ".inc"));
    EXPECT_GT(words.size(), 5u) << name << " is not built";
    return words;
}

rope::Arithmetic arithmeticOf(const Words& words) {
    rope::Arithmetic arithmetic;
    std::string error;
    EXPECT_TRUE(rope::readArithmetic(words, &arithmetic, &error)) << error;
    return arithmetic;
}

std::string listed(const rope::Arithmetic& arithmetic) {
    std::ostringstream text;
    for (const rope::FloatOperation& o : arithmetic.undecorated)
        text << o.name << " %" << o.id << (o.fusible ? " (fusible) " : " ");
    return text.str();
}

// Counts the operations of one function without NoContraction, by their names.
using Counts = std::map<std::string, uint32_t>;
void count(const rope::Arithmetic& arithmetic, const std::string& function, Counts* fusible, Counts* alone) {
    for (const rope::FloatOperation& o : arithmetic.undecorated) {
        if (o.function == function) ++(*(o.fusible ? fusible : alone))[o.name];
    }
}

uint32_t countFusible(const rope::Arithmetic& arithmetic) {
    return static_cast<uint32_t>(std::count_if(arithmetic.undecorated.begin(), arithmetic.undecorated.end(),
                                               [](const rope::FloatOperation& o) { return o.fusible; }));
}

// Removes the decorations NoContraction that `drop` names, in their order.
template <typename Drop> Words without(const Words& words, Drop drop) {
    constexpr uint32_t kDecorate = 71, kNoContraction = 42;
    Words kept(words.begin(), words.begin() + 5);
    uint32_t index = 0;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
        const bool decorates = (words[at] & 0xFFFF) == kDecorate && words[at + 2] == kNoContraction;
        if (!decorates || !drop(index++, words[at + 1]))
            kept.insert(kept.end(), words.data() + at, words.data() + at + (words[at] >> 16));
    }
    return kept;
}

// These shaders have arithmetic that is not vkrope's: the decoder's around it, and a sum that the bench times.
const std::set<std::string> kOwn = {"decoder_attention", "decoder_matmul", "sum"};

TEST(Shaders, KeepEveryProductAndSumApart) {
    const std::map<std::string, Words> modules = everyModule();
    std::set<std::string> wanted = {"table",     "rotate_wide",   "fused_wide", "add_wide",
                                    "bias_wide", "relative_keys", "selftest",   "factors"};
    if (otherFolder() == nullptr)
        wanted.insert({"example_attention", "decoder_attention", "example_turn_hlsl", "example_turn_hlsl_plain"});
    for (const std::string& name : wanted) EXPECT_EQ(modules.count(name), 1u) << name << " is not looked at";
    for (const auto& [name, words] : modules) {
        if (name.find("example_unrolled") == 0 || name == "example_fusible") continue; // these have tests of their own
        const rope::Arithmetic arithmetic = arithmeticOf(words);
        if (kOwn.count(name) == 0) {
            EXPECT_TRUE(arithmetic.undecorated.empty()) << name << ": " << listed(arithmetic);
        }
        if (name.find("rotate") == 0 || name.find("fused") == 0 || name.find("example_turn_hlsl") == 0) {
            EXPECT_GE(arithmetic.operations, 24u) << name;
        }
    }
    // The decoder's attention turns keys: no product of that rotation may be fused, whatever becomes of its softmax.
    if (modules.count("decoder_attention") != 0) {
        EXPECT_EQ(countFusible(arithmeticOf(modules.at("decoder_attention"))), 0u);
    }
}

TEST(Shaders, AreValid) {
    if (std::system("spirv-val --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "spirv-val is not installed";
    const std::string path = testing::TempDir() + "vkrope_valid.spv";
    for (const auto& [name, words] : everyModule()) {
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
        EXPECT_EQ(std::system(("spirv-val --target-env vulkan1.1 " + path).c_str()), 0) << name;
    }
    std::remove(path.c_str());
}

TEST(Contraction, IsFoundWhereverOneDecorationIsTakenAway) {
    const Words words = module("rotate_wide");
    ASSERT_TRUE(arithmeticOf(words).undecorated.empty());
    uint32_t decorations = 0, fusible = 0;
    (void)without(words, [&](uint32_t, uint32_t) { return ++decorations == 0; });
    ASSERT_GE(decorations, 24u);
    for (uint32_t i = 0; i < decorations; ++i) {
        uint32_t id = 0;
        const Words spoiled = without(words, [&](uint32_t index, uint32_t decorated) {
            if (index == i) id = decorated;
            return index == i;
        });
        const rope::Arithmetic arithmetic = arithmeticOf(spoiled);
        if (arithmetic.undecorated.empty()) continue; // a change of sign, which rounds nothing
        ASSERT_EQ(arithmetic.undecorated.size(), 1u);
        EXPECT_EQ(arithmetic.undecorated[0].id, id);
        EXPECT_TRUE(!arithmetic.undecorated[0].fusible || arithmetic.undecorated[0].name == std::string("OpFMul"));
        fusible += arithmetic.undecorated[0].fusible;
    }
    EXPECT_GE(fusible, 4u + 8 + 8); // the plain rotation, the leading parts and the rest
}

TEST(Contraction, IsFollowedThroughCallsAndVariables) {
    const rope::Arithmetic arithmetic = arithmeticOf(module("example_fusible"));
    Counts fusible, alone;
    for (const char* function : {"main", "product_of", "sum_of", "add_to"})
        count(arithmetic, function, &fusible, &alone);
    EXPECT_EQ(fusible, (Counts{{"OpFMul", 2}})) << listed(arithmetic);
    EXPECT_EQ(alone, (Counts{{"OpFMul", 1}, {"OpFAdd", 1}, {"OpFSub", 1}})) << listed(arithmetic);
    EXPECT_EQ(arithmetic.operations - arithmetic.undecorated.size(), 2u) << "one product and one sum are kept";
}

// The module has a chain of pointers, each made from the one before, and a function of many results that is called
// often.
TEST(Contraction, TakesTimeAndMemoryByTheModulesLength) {
    constexpr uint32_t kCount = 60000;
    std::vector<uint32_t> words = {0x07230203, 0x10300, 0, 4 * kCount + 10, 0};
    const auto add = [&words](uint32_t op, const std::vector<uint32_t>& operands) {
        words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
        words.insert(words.end(), operands.begin(), operands.end());
    };
    add(54, {1, 2, 0, 3});                                                          // OpFunction
    add(59, {4, 5, 7});                                                             // OpVariable of the function
    for (uint32_t i = 0; i < kCount; ++i) add(65, {4, 6 + i, 5 + i});               // OpAccessChain
    for (uint32_t i = 0; i < kCount; ++i) add(61, {1, 6 + kCount + i, 5 + kCount}); // OpLoad
    for (uint32_t i = 0; i < kCount; ++i) add(254, {6 + kCount + i});               // OpReturnValue
    for (uint32_t i = 0; i < kCount; ++i) add(57, {1, 6 + 2 * kCount + i, 2});      // OpFunctionCall
    for (uint32_t i = 0; i < 10; ++i) add(129, {1, 6 + 3 * kCount + i, 6 + 2 * kCount + i, 6}); // OpFAdd
    const auto before = std::chrono::steady_clock::now();
    rope::Arithmetic arithmetic;
    std::string error;
    ASSERT_TRUE(rope::readArithmetic(words, &arithmetic, &error)) << error;
    EXPECT_EQ(arithmetic.operations, 10u);
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count(), 20);
}

TEST(Contraction, IsSeenInTheFunctionsOfGlsl) {
    const rope::Arithmetic arithmetic = arithmeticOf(module("example_fusible"));
    Counts fusible, alone;
    count(arithmetic, "made_of_both", &fusible, &alone);
    EXPECT_EQ(fusible, (Counts{{"FMix", 1},
                               {"SmoothStep", 1},
                               {"Fma", 1},
                               {"OpFMod", 1},
                               {"Length", 1},
                               {"Distance", 1},
                               {"Cross", 1},
                               {"Normalize", 1},
                               {"FaceForward", 1},
                               {"Reflect", 1},
                               {"Refract", 1},
                               {"Determinant", 1},
                               {"MatrixInverse", 1}}));
    EXPECT_EQ(alone, Counts{});
}

TEST(Contraction, IsFollowedThroughTheFunctionsOfGlsl) {
    const rope::Arithmetic arithmetic = arithmeticOf(module("example_fusible"));
    Counts fusible, alone;
    count(arithmetic, "taken_by_sums", &fusible, &alone);
    EXPECT_EQ(fusible, (Counts{{"OpFMul", 8}, {"Radians", 1}, {"Degrees", 1}}));
    fusible.clear();
    count(arithmetic, "taken_by_none", &fusible, &alone);
    EXPECT_EQ(fusible, Counts{});
    EXPECT_EQ(alone["OpFMul"], 3u);
    EXPECT_EQ(alone["Radians"], 1u);
}

TEST(Contraction, IsNotInARotationThatIsNotOptimized) {
    for (const char* name : {"example_unrolled_plain", "example_unrolled_lines"}) {
        const Words words = module(name);
        EXPECT_TRUE(arithmeticOf(words).undecorated.empty()) << name << ": " << listed(arithmeticOf(words));
        const rope::Arithmetic spoiled = arithmeticOf(without(words, [](uint32_t, uint32_t) { return true; }));
        EXPECT_EQ(spoiled.undecorated.size(), spoiled.operations);
        EXPECT_GE(countFusible(spoiled), 16u);
    }
}

TEST(Contraction, IsToldByFunctionFileAndLine) {
    const rope::Arithmetic spoiled =
        arithmeticOf(without(module("example_unrolled_lines"), [](uint32_t, uint32_t) { return true; }));
    std::set<std::string> functions;
    for (const rope::FloatOperation& o : spoiled.undecorated) {
        EXPECT_NE(o.file.find("pair.h"), std::string::npos) << o.file;
        EXPECT_GT(o.line, 0u);
        functions.insert(o.function);
    }
    EXPECT_EQ(functions, (std::set<std::string>{"leading", "turn_pair"}));
}

// This build's glslc -O has unrolled a loop. A mended glslc leaves four rotations of six operations.
TEST(Contraction, IsFoundInALoopThatGlslcUnrolled) {
    const rope::Arithmetic arithmetic = arithmeticOf(module("example_unrolled"));
    if (arithmetic.undecorated.empty()) {
        EXPECT_GE(arithmetic.operations, 6u);
        GTEST_SKIP() << "this glslc keeps NoContraction in what it unrolls";
    }
    RecordProperty("dropped",
                   std::to_string(arithmetic.undecorated.size()) + " of " + std::to_string(arithmetic.operations));
    EXPECT_GE(countFusible(arithmetic), 6u) << listed(arithmetic);
    EXPECT_EQ(arithmetic.operations - arithmetic.undecorated.size(), 6u) << "one rotation is kept";
}

std::string refusalOf(const Words& words) {
    rope::Arithmetic arithmetic;
    std::string error;
    EXPECT_FALSE(rope::readArithmetic(words, &arithmetic, &error));
    return error;
}

TEST(Contraction, RefusesWhatIsNoModule) {
    const Words words = module("table");
    EXPECT_NE(refusalOf({}).find("is no SPIR-V"), std::string::npos);
    EXPECT_NE(refusalOf({0x07230203, 0x10000, 0, 1}).find("is no SPIR-V"), std::string::npos);
    EXPECT_NE(refusalOf(Words(100, 0x464C457F)).find("must begin with the word 0x07230203"), std::string::npos);
    EXPECT_NE(refusalOf({0x07230203, 0x10000, 0, 0xFFFFFFFF, 0}).find("4294967295 ids"), std::string::npos);
    EXPECT_NE(refusalOf(Words(words.begin(), words.begin() + 6)).find("is no whole SPIR-V"), std::string::npos);
    Words stuck = words;
    stuck[5] = 0;
    EXPECT_NE(refusalOf(stuck).find("the instruction at word 5 says it has 0 words"), std::string::npos);
}

TEST(Contraction, ReadsModulesOfTheOtherByteOrderAndStandsAnyWords) {
    Words words = module("rotate_wide");
    const uint32_t operations = arithmeticOf(words).operations;
    Words swapped = words;
    for (uint32_t& w : swapped) w = w << 24 | (w & 0xFF00) << 8 | (w >> 8 & 0xFF00) | w >> 24;
    EXPECT_EQ(arithmeticOf(swapped).operations, operations);
    sample::Random random(7);
    for (int i = 0; i < 300; ++i) {
        Words spoiled = words;
        for (int k = 0; k < 20; ++k)
            spoiled[5 + random.below(static_cast<uint32_t>(words.size() - 5))] = random.next() >> random.below(32);
        rope::Arithmetic arithmetic;
        std::string error;
        const bool read = rope::readArithmetic(spoiled, &arithmetic, &error);
        ASSERT_EQ(read, error.empty()) << error;
    }
}

} // namespace
