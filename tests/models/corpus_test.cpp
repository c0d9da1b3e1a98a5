// The corpus of fuzz.sh config, without a fuzzer.
#include "support/paths.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

void fuzzConfig(const uint8_t* bytes, size_t size);

namespace {

TEST(Config, SurvivesItsCorpus) {
    size_t inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(paths::unpacked("corpus/config"))) {
        SCOPED_TRACE(entry.path().string());
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(in), {});
        fuzzConfig(reinterpret_cast<const uint8_t*>(text.data()), text.size());
        ++inputs;
    }
    EXPECT_GT(inputs, 20u);
}

} // namespace
