// The findings of the fuzzers of .npz, .safetensors and SPIR-V, once more.
#include "support/paths.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

void fuzzNpz(const uint8_t* bytes, size_t size);
void fuzzSafetensors(const uint8_t* bytes, size_t size);
void fuzzSpirv(const uint8_t* bytes, size_t size);

namespace {

void expectSurvival(const char* corpus, void (*fuzz)(const uint8_t*, size_t)) {
    size_t inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(paths::unpacked(std::string("corpus/") + corpus))) {
        SCOPED_TRACE(entry.path().string());
        std::ifstream in(entry.path(), std::ios::binary);
        const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(in), {});
        fuzz(bytes.data(), bytes.size());
        ++inputs;
    }
    EXPECT_GT(inputs, 20u);
}

TEST(Npz, SurvivesItsCorpus) { expectSurvival("npz", fuzzNpz); }

TEST(Safetensors, SurvivesItsCorpus) { expectSurvival("safetensors", fuzzSafetensors); }

TEST(Contraction, SurvivesItsCorpus) { expectSurvival("spirv", fuzzSpirv); }

} // namespace
