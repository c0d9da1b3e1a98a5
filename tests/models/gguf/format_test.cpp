// The format of .gguf files: versions, types, alignments and sizes, and files of other formats.
#include "support/gguf_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace gguf;

namespace {

// If a key were skipped by a wrong size, the base that follows it would be misread.
TEST(Gguf, PassesOverValuesAndListsOfEveryType) {
    File file = modelOf("llama", 16);
    const std::vector<std::pair<uint32_t, size_t>> types = {{0, 1}, {1, 1}, {2, 2},  {3, 2},  {4, 4}, {5, 4},
                                                            {6, 4}, {7, 1}, {10, 8}, {11, 8}, {12, 8}};
    for (const auto& [type, bytes] : types) {
        file.key("other.one" + std::to_string(type), type).bytes(Bytes(bytes, 1));
        file.key("other.list" + std::to_string(type), 9);
        Bytes list;
        append<uint32_t>(&list, type);
        append<uint64_t>(&list, 3);
        list.resize(list.size() + 3 * bytes, 1);
        file.bytes(list);
    }
    file.f32("rope.freq_base", 500000);
    expectFrequencies(read(file), defaultFrequencies(500000, 16));
}

TEST(Gguf, EveryTypeOfNumberIsRead) {
    const auto dimOf = [](uint32_t type, auto value) {
        File file = modelOf("qwen2", 128);
        file.put("rope.dimension_count", type, value);
        return read(file).rotary_dim;
    };
    EXPECT_EQ(dimOf(0, uint8_t{64}), 64u);
    EXPECT_EQ(dimOf(1, int8_t{64}), 64u);
    EXPECT_EQ(dimOf(2, uint16_t{64}), 64u);
    EXPECT_EQ(dimOf(3, int16_t{64}), 64u);
    EXPECT_EQ(dimOf(4, uint32_t{64}), 64u);
    EXPECT_EQ(dimOf(5, int32_t{64}), 64u);
    EXPECT_EQ(dimOf(6, 64.0f), 64u);
    EXPECT_EQ(dimOf(10, uint64_t{64}), 64u);
    EXPECT_EQ(dimOf(11, int64_t{64}), 64u);
    EXPECT_EQ(dimOf(12, 64.0), 64u);
}

TEST(Gguf, FactorsMayBeF16AlignedOtherwiseAndInBlocks) {
    Bytes halves;
    for (const int half : {0x3C00, 0x4000, 0x4200, 0x3800, 0x0001, 0x0400, 0x7BFF, 0x3555})
        append<uint16_t>(&halves, static_cast<uint16_t>(half));
    const std::vector<float> values = {1, 2, 3, 0.5f, 0x1p-24f, 0x1p-14f, 65504, 0x1.554p-2f};
    for (const uint32_t alignment : {8u, 32u, 4096u}) {
        File file = modelOf("llama", 16);
        file.align(alignment).tensor("output.weight", {3}, 0, Bytes(12));
        file.tensor("blk.0.rope_freqs.weight", {8}, 1, halves).tensor("blk.11.rope_freqs.weight", {8}, 1, halves);
        file.tensor("blk.rope_freqs.weight", {1}, 9, {}).tensor("blk.x.rope_freqs.weight", {1}, 9, {});
        expectFrequencies(read(file), dividedBy(defaultFrequencies(10000, 16), values));
    }
}

TEST(Gguf, VersionsTwoAndThreeAreTheSame) {
    File file = modelOf("llama", 64);
    file.version = 2;
    expectFrequencies(read(file), defaultFrequencies(10000, 64));
}

TEST(Gguf, TheArchitectureMayStandBehindItsKeys) {
    Bytes bytes = {'G', 'G', 'U', 'F'};
    append<uint32_t>(&bytes, 3);
    append<uint64_t>(&bytes, 0);
    append<uint64_t>(&bytes, 2);
    appendText(&bytes, "qwen2.attention.key_length");
    append<uint32_t>(&bytes, 4);
    append<uint32_t>(&bytes, 64);
    appendText(&bytes, "general.architecture");
    append<uint32_t>(&bytes, 8);
    appendText(&bytes, "qwen2");
    EXPECT_EQ(read(bytes).head_dim, 64u);
}

TEST(Gguf, ATokenizerOf100000WordsIsPassedOver) {
    const std::vector<float> factors = someFactors(32, 1);
    File file = modelOf("llama", 64);
    file.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", 100000, "a word of a tokenizer");
    file.list("tokenizer.ggml.token_type", 5, std::vector<int32_t>(100000, 1));
    file.text("tokenizer.chat_template", std::string(70000, '{')).f32("rope.freq_base", 500000);
    file.text(std::string(300, 'k'), "a value").factors("rope_freqs.weight", factors);
    expectFrequencies(read(file), dividedBy(defaultFrequencies(500000, 64), factors));
}

TEST(Gguf, ReadsTheHeaderAndTheFactorsAlone) {
    const std::vector<float> factors = someFactors(32, 1);
    File file = modelOf("llama", 64);
    file.list("tokenizer.ggml.scores", 6, std::vector<float>(1000000, 1));
    file.misplaced = uint64_t{1} << 40;
    file.factors("rope_freqs.weight", factors);
    const Bytes header = file.header();
    const uint64_t data = (header.size() + 31) / 32 * 32 + file.misplaced;
    size_t count = 0;
    const rope::GgufSource source = {data + 128, [&](uint64_t offset, size_t bytes, uint8_t* to) {
                                         count += bytes;
                                         std::memset(to, 0, bytes);
                                         if (offset < header.size())
                                             std::memcpy(to, &header[offset],
                                                         std::min<size_t>(bytes, header.size() - offset));
                                         if (offset == data) std::memcpy(to, factors.data(), bytes);
                                         return true;
                                     }};
    ModelEncoding model;
    std::string error;
    ASSERT_TRUE(rope::parseGguf(source, {}, &model, &error)) << error;
    expectFrequencies(model, dividedBy(defaultFrequencies(10000, 64), factors));
    EXPECT_LT(count, 3u * 65536u);
}

TEST(Gguf, RefusesWhatIsNoGgufFile) {
    const std::string ggml = "lmgg and so on and on and on";
    EXPECT_EQ(refusal(Bytes()), "this is no .gguf file");
    EXPECT_EQ(refusal(Bytes{'G', 'G', 'U'}), "this is no .gguf file");
    EXPECT_EQ(refusal(Bytes(ggml.begin(), ggml.end())), "this is no .gguf file");
    EXPECT_EQ(refusal(Bytes{'G', 'G', 'U', 'F'}), "the file ends within its header");
    File file = modelOf("llama", 64);
    file.version = 1;
    EXPECT_EQ(refusal(file), "format version 1 is not read; 2 and 3 are");
    file.version = 4;
    EXPECT_EQ(refusal(file), "format version 4 is not read; 2 and 3 are");
    file.version = 3u << 24;
    EXPECT_EQ(refusal(file), "the file is big-endian, which is not read; little-endian files are");
}

TEST(Gguf, RefusesEveryShorterFile) {
    File file = modelOf("llama", 16);
    file.list<uint32_t>("tokenizer.ggml.merges", 4, {1, 2, 3}).texts("tokenizer.ggml.tokens", 3, "word");
    file.factors("rope_freqs.weight", someFactors(8, 1));
    const Bytes whole = file.whole();
    expectFrequencies(read(whole), dividedBy(defaultFrequencies(10000, 16), someFactors(8, 1)));
    for (size_t size = 0; size < whole.size(); ++size) {
        // The copy has exactly this size: a sanitizer catches a read of one byte too many.
        const std::string sentence = refusal(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
        EXPECT_NE(sentence, "accepted") << size;
        EXPECT_FALSE(sentence.empty());
    }
}

TEST(Gguf, RefusesCountsThatDoNotFit) {
    File keys = modelOf("llama", 64), tensors = modelOf("llama", 64);
    keys.more_keys = uint64_t{1} << 60;
    tensors.more_tensors = uint64_t{1} << 60;
    EXPECT_EQ(refusal(keys), "the header has 1152921504606846980 keys and 0 tensors, which do not fit into the file");
    EXPECT_EQ(refusal(tensors),
              "the header has 4 keys and 1152921504606846976 tensors, which do not fit into the file");

    File text = modelOf("llama", 64), list = modelOf("llama", 64), texts = modelOf("llama", 64);
    text.key("general.name", 8).bytes({255, 255, 255, 255, 255, 255, 255, 255});
    EXPECT_EQ(refusal(text.header()), "the header has a text of 18446744073709551615 bytes, and the file has 0 more");
    list.key("tokenizer.ggml.tokens", 9).bytes({4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16});
    EXPECT_EQ(refusal(list),
              "the key 'tokenizer.ggml.tokens' has 1152921504606846976 values, and the file ends before");
    texts.key("tokenizer.ggml.tokens", 9).bytes({8, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0});
    EXPECT_EQ(refusal(texts), "the key 'tokenizer.ggml.tokens' has 4294967295 values, and the file ends before");
}

TEST(Gguf, RefusesTypesThatItDoesNotKnow) {
    File nested = modelOf("llama", 64), inner = modelOf("llama", 64), outer = modelOf("llama", 64);
    nested.key("tokenizer.lists", 9).bytes({9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(refusal(nested), "the key 'tokenizer.lists' is an array of arrays, which is not read");
    inner.key("tokenizer.lists", 9).bytes({13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(refusal(inner), "the key 'tokenizer.lists' has values of type 13, which is not known");
    outer.key("tokenizer.lists", 77);
    EXPECT_EQ(refusal(outer), "the key 'tokenizer.lists' has a value of type 77, which is not known");
    File tensor = modelOf("llama", 64);
    tensor.tensor("output.weight", {1, 1, 1, 1, 1}, 0, {});
    EXPECT_EQ(refusal(tensor), "the tensor 'output.weight' has 5 dimensions; there are at most 4");
}

TEST(Gguf, RefusesMoreThanItKeeps) {
    File keys = modelOf("llama", 64), tensors = modelOf("llama", 64);
    for (int i = 0; i < 1100; ++i) keys.u32("rope." + std::to_string(i), 1);
    EXPECT_EQ(refusal(keys), "the header has more than 1024 keys about positions");
    for (int i = 0; i < 1100; ++i) tensors.factors("blk." + std::to_string(i) + ".rope_freqs.weight", {1});
    EXPECT_EQ(refusal(tensors), "the header has more than 1024 tensors of factors");
    const rope::GgufSource endless = {
        uint64_t{1} << 50, [](uint64_t offset, size_t count, uint8_t* to) {
            // An array of empty texts that fills the file.
            const Bytes begin = {'G', 'G', 'U', 'F', 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0,   0, 0,
                                 0,   0,   0,   0,   0, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0};
            std::memset(to, 0, count);
            if (offset == 0) std::copy(begin.begin(), begin.end(), to);
            return true;
        }};
    ModelEncoding model;
    std::string error;
    EXPECT_FALSE(rope::parseGguf(endless, {}, &model, &error));
    EXPECT_EQ(error, "the header is longer than 536870912 bytes");
}

} // namespace
