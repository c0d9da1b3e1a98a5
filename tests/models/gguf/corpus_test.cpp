// The corpus of fuzz.sh gguf, without a fuzzer.
#include "support/paths.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

void fuzzGguf(const uint8_t* bytes, size_t size);

namespace {

TEST(Gguf, SurvivesItsCorpus) {
    size_t inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(paths::unpacked("corpus/gguf"))) {
        SCOPED_TRACE(entry.path().string());
        std::ifstream in(entry.path(), std::ios::binary);
        const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(in), {});
        fuzzGguf(bytes.data(), bytes.size());
        ++inputs;
    }
    EXPECT_GT(inputs, 20u);
}

} // namespace
