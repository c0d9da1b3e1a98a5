// The corpus of fuzz.sh spirv, without a fuzzer.
#include "support/paths.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

void fuzzSpirv(const uint8_t* bytes, size_t size);

namespace {

TEST(Contraction, SurvivesItsCorpus) {
    size_t inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(paths::unpacked("corpus/spirv"))) {
        SCOPED_TRACE(entry.path().string());
        std::ifstream in(entry.path(), std::ios::binary);
        const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(in), {});
        fuzzSpirv(bytes.data(), bytes.size());
        ++inputs;
    }
    EXPECT_GT(inputs, 20u);
}

} // namespace
