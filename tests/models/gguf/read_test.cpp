// .gguf files on a disk, and sources that cannot be read.
#include "support/folder.hpp"
#include "support/gguf_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#ifndef _WIN32
#include <sys/stat.h>
#endif

using namespace gguf;

namespace {

namespace fs = std::filesystem;

TEST(Gguf, SaysWhereASourceCannotBeRead) {
    const Bytes bytes = modelOf("llama", 16).factors("rope_freqs.weight", someFactors(8, 1)).whole();
    for (const bool at_once : {true, false}) {
        const rope::GgufSource source = {bytes.size(), [&](uint64_t offset, size_t count, uint8_t* to) {
                                             if (at_once || offset != 0) return false;
                                             std::memcpy(to, bytes.data(), count);
                                             return true;
                                         }};
        ModelEncoding model;
        std::string error;
        EXPECT_FALSE(rope::parseGguf(source, {}, &model, &error));
        EXPECT_EQ(error, "it cannot be read at byte " + std::to_string(at_once ? 0 : bytes.size() - 32));
    }
}

void put(const std::string& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::string fileRefusal(const std::string& path) {
    ModelEncoding model;
    std::string error;
    return rope::readGguf(path, {}, &model, &error) ? "accepted" : error;
}

TEST(Gguf, AFileBeyondFourGigabytesIsReadByItsHeader) {
    const Folder folder;
    const std::vector<float> factors = someFactors(8, 1);
    File file = modelOf("llama", 16);
    file.misplaced = uint64_t{5} << 30;
    file.factors("rope_freqs.weight", factors);
    const std::string path = folder / "large.gguf";
    Bytes header = file.header();
    header.resize((header.size() + 31) / 32 * 32);
    put(path, header);
    fs::resize_file(path, header.size() + file.misplaced); // sparse
    std::ofstream more(path, std::ios::binary | std::ios::app);
    more.write(reinterpret_cast<const char*>(factors.data()), 32);
    more.close();
    ModelEncoding model;
    std::string error;
    ASSERT_TRUE(rope::readGguf(path, {}, &model, &error)) << error;
    expectFrequencies(model, dividedBy(defaultFrequencies(10000, 16), factors));
}

TEST(Gguf, NamesTheFileThatItCannotRead) {
    const Folder folder;
    EXPECT_EQ(fileRefusal(folder / "none.gguf"), (folder / "none.gguf") + ": there is no such file");
    EXPECT_EQ(fileRefusal(folder.path()), folder.path() + ": this is a folder");
    put(folder / "empty.gguf", {});
    EXPECT_EQ(fileRefusal(folder / "empty.gguf"), (folder / "empty.gguf") + ": this is no .gguf file");
    put(folder / "short.gguf", {'G', 'G', 'U', 'F', 3, 0});
    EXPECT_EQ(fileRefusal(folder / "short.gguf"), (folder / "short.gguf") + ": the file ends within its header");
}

#ifndef _WIN32
TEST(Gguf, NamesThePipeAndTheLoopThatItCannotRead) {
    const Folder folder;
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(fileRefusal(folder / "pipe"), (folder / "pipe") + ": this is no regular file");
    const std::string loop = folder / "loop.gguf";
    fs::create_symlink(loop, loop);
    EXPECT_EQ(fileRefusal(loop), loop + ": it cannot be read: Too many levels of symbolic links");
}
#endif

} // namespace
