// Arrays in files: contents that are read back, sentences that refuse, and files that are left on the disk.
#include "npy_memory.hpp"
#include "plan/element_formats.h"
#include "program/files/npy.hpp"
#include "support/folder.hpp"
#include "support/paths.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

void fuzzNpy(const uint8_t* bytes, size_t size);

namespace {

namespace fs = std::filesystem;
using rope::NpyArray;
using Bytes = std::vector<uint8_t>;

constexpr NpyArray::Type kTypes[] = {NpyArray::Type::f32, NpyArray::Type::f64, NpyArray::Type::f16,
                                     NpyArray::Type::u16, NpyArray::Type::i32, NpyArray::Type::i64};

template <typename T> Bytes bytesOf(const std::vector<T>& values) {
    Bytes bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

NpyArray arrayOf(NpyArray::Type type, const std::vector<uint64_t>& shape) {
    NpyArray array;
    array.type = type;
    array.shape = shape;
    array.data.resize(array.count() * array.elementBytes());
    for (size_t i = 0; i < array.data.size(); ++i) array.data[i] = static_cast<uint8_t>(i * 37 + 11);
    return array;
}

void expectSame(const NpyArray& a, const NpyArray& b) {
    EXPECT_EQ(a.type, b.type);
    EXPECT_EQ(a.shape, b.shape);
    EXPECT_EQ(a.data, b.data);
}

Bytes file(const std::string& header, const Bytes& data = {}, uint8_t major = 1) {
    const std::string magic = "\x93NUMPY";
    Bytes bytes(magic.begin(), magic.end());
    bytes.push_back(major);
    bytes.push_back(0);
    for (int i = 0; i < (major == 1 ? 2 : 4); ++i) bytes.push_back(static_cast<uint8_t>(header.size() >> (8 * i)));
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), data.begin(), data.end());
    return bytes;
}

std::string header(const std::string& descr, const std::string& fortran_order, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }";
}

NpyArray parse(const Bytes& bytes) {
    NpyArray array;
    std::string error;
    EXPECT_TRUE(npy::parse(bytes.data(), bytes.size(), &array, &error)) << error;
    return array;
}

std::string refusal(const Bytes& bytes) {
    NpyArray array;
    std::string error;
    return npy::parse(bytes.data(), bytes.size(), &array, &error) ? "accepted" : error;
}

void put(const std::string& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Bytes contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
}

std::string readRefusal(const std::string& path) {
    NpyArray array;
    std::string error;
    return rope::readNpy(path, &array, &error) ? "accepted" : error;
}

std::string writeRefusal(const std::string& path, const NpyArray& array) {
    std::string error;
    return rope::writeNpy(path, array, &error) ? "accepted" : error;
}

TEST(Npy, ReadsBackWhatItWrites) {
    const Folder folder;
    const std::vector<uint64_t> shapes[] = {
        {}, {0}, {1}, {5}, {2, 3}, {2, 0, 4}, {3, 1, 4, 2}, std::vector<uint64_t>(rope::kNpyMaxRank, 1)};
    for (const NpyArray::Type type : kTypes) {
        for (const std::vector<uint64_t>& shape : shapes) {
            const NpyArray array = arrayOf(type, shape);
            expectSame(parse(npy::format(array)), array);
            const std::string path = folder / "a.npy";
            std::string error;
            ASSERT_TRUE(rope::writeNpy(path, array, &error)) << error;
            EXPECT_EQ(contents(path), npy::format(array));
            NpyArray again;
            ASSERT_TRUE(rope::readNpy(path, &again, &error)) << error;
            expectSame(again, array);
        }
    }
}

TEST(Npy, CountsElementsAndNamesTypes) {
    EXPECT_EQ(arrayOf(NpyArray::Type::f16, {}).count(), 1u);
    EXPECT_EQ(arrayOf(NpyArray::Type::f16, {3, 4}).count(), 12u);
    EXPECT_EQ(arrayOf(NpyArray::Type::f64, {3, 0}).count(), 0u);
    const char* const names[] = {"float32", "float64", "float16", "uint16", "int32", "int64"};
    const size_t sizes[] = {4, 8, 2, 2, 4, 8};
    for (size_t i = 0; i < std::size(kTypes); ++i) {
        EXPECT_STREQ(rope::npyTypeName(kTypes[i]), names[i]);
        EXPECT_EQ(arrayOf(kTypes[i], {1}).elementBytes(), sizes[i]);
    }
}

TEST(Npy, StartsTheDataAtAMultipleOf64Bytes) {
    for (size_t rank = 0; rank <= rope::kNpyMaxRank; ++rank) {
        const std::string head = rope::formatNpyHeader(arrayOf(NpyArray::Type::f32, std::vector<uint64_t>(rank, 1)));
        EXPECT_EQ(head.size() % 64, 0u);
        EXPECT_EQ(head.back(), '\n');
    }
}

TEST(Npy, ReadsEveryVersion) {
    const Bytes data = bytesOf<int32_t>({1, 2, 3});
    for (const uint8_t major : std::initializer_list<uint8_t>{1, 2, 3})
        EXPECT_EQ(parse(file(header("<i4", "False", "(3,)"), data, major)).data, data);
}

TEST(Npy, ReadsDictionariesInAnyOrderAndSpacing) {
    const Bytes data = bytesOf<int32_t>({1, 2, 3, 4, 5, 6});
    for (const char* text : {"{'shape':(2,3),'fortran_order':False,'descr':'<i4'}",
                             "{\"fortran_order\": False, \"shape\": (2, 3,), \"descr\": \"<i4\"}",
                             " \t{ 'descr' :\n'<i4' , 'shape' : ( 2 , 3 , ) , 'fortran_order' : False , } \r\n  ",
                             "{'descr': '=i4', 'fortran_order': False, 'shape': (2L, 3L), }"}) {
        const NpyArray array = parse(file(text, data));
        EXPECT_EQ(array.shape, (std::vector<uint64_t>{2, 3})) << text;
        EXPECT_EQ(array.data, data);
    }
}

TEST(Npy, TurnsFortranOrderIntoCOrder) {
    std::vector<int32_t> columns, rows;
    for (int k = 0; k < 4; ++k)
        for (int j = 0; j < 3; ++j)
            for (int i = 0; i < 2; ++i) columns.push_back(100 * i + 10 * j + k);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 4; ++k) rows.push_back(100 * i + 10 * j + k);
    EXPECT_EQ(parse(file(header("<i4", "True", "(2, 3, 4)"), bytesOf(columns))).data, bytesOf(rows));
    EXPECT_EQ(parse(file(header("<i4", "True", "(24,)"), bytesOf(columns))).data, bytesOf(columns));
    EXPECT_TRUE(parse(file(header("<i4", "True", "(2, 0)"))).data.empty());
}

TEST(Npy, TurnsBytesRound) {
    EXPECT_EQ(parse(file(header(">u2", "False", "(2,)"), {1, 2, 3, 4})).data, bytesOf<uint16_t>({0x0102, 0x0304}));
    EXPECT_EQ(parse(file(header(">i4", "False", "()"), {1, 2, 3, 4})).data, bytesOf<int32_t>({0x01020304}));
    EXPECT_EQ(parse(file(header(">i8", "True", "(1,)"), {1, 2, 3, 4, 5, 6, 7, 8})).data,
              bytesOf<int64_t>({0x0102030405060708}));
}

TEST(Npy, RefusesOtherTypesByName) {
    const std::string supported = " not supported; bool, whole numbers and floats of up to 64 bits and complex64 are";
    for (const char* descr :
         {"<c16", "b1", "|u2", "|b2", "<f16", "|S3", "<U3", "|O", "<M8[ns]", "<V2", "f4", "|f4", "<f", "", "<"}) {
        EXPECT_EQ(refusal(file(header(descr, "False", "(1,)"), Bytes(8))),
                  "dtype '" + std::string(descr) + "' is" + supported);
    }
    EXPECT_EQ(refusal(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", Bytes(4))),
              "structured dtypes are" + supported);
    EXPECT_EQ(refusal(file(header("\x1b[2J" + std::string(60, 'x'), "False", "(1,)"), Bytes(4))),
              "dtype '?[2J" + std::string(28, 'x') + "...' is" + supported);
}

TEST(Npy, CarriesNumPysOtherTypes) {
    const struct {
        const char* descr;
        NpyArray::Type type;
        Bytes data, swapped;
    } cases[] = {{"|b1", NpyArray::Type::b8, {1}, {1}},
                 {"|i1", NpyArray::Type::i8, {255}, {255}},
                 {"|u1", NpyArray::Type::u8, {7}, {7}},
                 {"<i2", NpyArray::Type::i16, {1, 2}, {2, 1}},
                 {"<u4", NpyArray::Type::u32, {1, 2, 3, 4}, {4, 3, 2, 1}},
                 {"<u8", NpyArray::Type::u64, {1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}},
                 {"<c8", NpyArray::Type::c64, {1, 2, 3, 4, 5, 6, 7, 8}, {4, 3, 2, 1, 8, 7, 6, 5}}};
    for (const auto& one : cases) {
        std::string descr = one.descr;
        const NpyArray array = parse(file(header(descr, "False", "()"), one.data));
        EXPECT_EQ(array.type, one.type);
        EXPECT_EQ(array.data, one.data);
        const Bytes written = npy::format(array);
        EXPECT_NE(std::string(written.begin(), written.end()).find(descr), std::string::npos) << descr;
        descr[0] = '>';
        EXPECT_EQ(parse(file(header(descr, "False", "()"), one.data)).data, one.swapped);
    }
}

TEST(Npy, RefusesMalformedHeaders) {
    const struct {
        const char* text;
        const char* sentence;
    } cases[] = {
        {"", "the header is not a dictionary"},
        {"('descr', '<f4')", "the header is not a dictionary"},
        {"{", "the header's dictionary has a key that is no string"},
        {"{,}", "the header's dictionary has a key that is no string"},
        {"{1: 2}", "the header's dictionary has a key that is no string"},
        {"{'descr", "the header's dictionary has a key that is no string"},
        {"{'descr'}", "the header's key 'descr' has no value"},
        {"{'colour': 1}", "the header's key 'colour' is unknown"},
        {"{'descr': '<f4', 'descr': '<f4'}", "the header has 'descr' twice"},
        {"{'descr': '<f4' 'shape': ()}", "the header's dictionary has no comma between its entries"},
        {"{'descr': 4}", "the header's 'descr' is no string"},
        {"{'descr': '<f\\x34'}", "the header's 'descr' is no string"},
        {"{'fortran_order': 0}", "the header's 'fortran_order' is neither True nor False"},
        {"{'fortran_order': Fal", "the header's 'fortran_order' is neither True nor False"},
        {"{'shape': [1]}", "the header's 'shape' is no tuple"},
        {"{'shape': (1)}", "the header's 'shape' is a number and no tuple"},
        {"{'shape': (1 2)}", "the header's 'shape' has no comma between its numbers"},
        {"{'shape': (-1,)}", "the header's 'shape' holds something else than whole numbers"},
        {"{'shape': (1.0,)}", "the header's 'shape' has no comma between its numbers"},
        {"{'shape': (01,)}", "the header's 'shape' holds something else than whole numbers"},
        {"{'shape': (,)}", "the header's 'shape' holds something else than whole numbers"},
        {"{'shape': (1,", "the header's 'shape' holds something else than whole numbers"},
        {"{'shape': (18446744073709551616,)}", "the shape has a number of more than 64 bits"},
        {"{}", "the header has no 'descr'"},
        {"{'descr': '<f4'}", "the header has no 'fortran_order'"},
        {"{'descr': '<f4', 'fortran_order': True}", "the header has no 'shape'"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1,)} 7", "the header goes on after its dictionary"}};
    for (const auto& one : cases) EXPECT_EQ(refusal(file(one.text, Bytes(4))), one.sentence) << one.text;
    EXPECT_EQ(refusal(file(header("<f4", "False", "(1L,)"), Bytes(4), 3)),
              "the header's 'shape' has no comma between its numbers");
}

TEST(Npy, RefusesWhatIsNoNpyFile) {
    const std::string text = "PK\3\4 an .npz file";
    EXPECT_EQ(refusal({}), "this is no .npy file");
    EXPECT_EQ(refusal(Bytes(text.begin(), text.end())), "this is no .npy file");
    Bytes bytes = file(header("<f4", "False", "(1,)"), Bytes(4));
    bytes[6] = 4;
    EXPECT_EQ(refusal(bytes), "format version 4.0 is not supported; 1.0, 2.0 and 3.0 are");
    bytes[6] = 1;
    bytes[7] = 255;
    EXPECT_EQ(refusal(bytes), "format version 1.255 is not supported; 1.0, 2.0 and 3.0 are");
}

TEST(Npy, RefusesEveryShorterAndLongerFile) {
    for (const uint8_t major : std::initializer_list<uint8_t>{1, 2, 3}) {
        Bytes bytes = file(header("<f4", "False", "(2,)"), Bytes(8), major);
        const Bytes whole = bytes;
        while (!bytes.empty()) {
            bytes.pop_back();
            // A copy of the very size, so that a reader of one byte too many is caught by a sanitizer.
            const std::string sentence = refusal(Bytes(bytes));
            const bool magic = bytes.size() >= 6, all_header = bytes.size() >= whole.size() - 8;
            EXPECT_EQ(sentence, !magic        ? "this is no .npy file"
                                : !all_header ? "the file ends within its header"
                                              : "the header asks for 8 bytes of data, and the file has " +
                                                    std::to_string(bytes.size() + 8 - whole.size()));
        }
        bytes = whole;
        bytes.push_back(0);
        EXPECT_EQ(refusal(bytes), "the header asks for 8 bytes of data, and the file has 9");
    }
}

TEST(Npy, RefusesShapesThatOverflow) {
    const std::string sentence = "the shape asks for more bytes than 64 bits count";
    EXPECT_EQ(refusal(file(header("<f4", "False", "(4294967296, 4294967296)"))), sentence);
    EXPECT_EQ(refusal(file(header("<f4", "False", "(4611686018427387904,)"))), sentence);
    EXPECT_EQ(refusal(file(header("<f4", "False", "(0, 4294967296, 4294967296)"))), sentence);
    EXPECT_EQ(refusal(file(header("<f4", "False", "(1073741824, 1073741824)"))),
              "the header asks for 4611686018427387904 bytes of data, and the file has 0");
}

TEST(Npy, RefusesMoreThan32Dimensions) {
    std::string shape = "(";
    for (int i = 0; i < 32; ++i) shape += "1, ";
    EXPECT_EQ(parse(file(header("<f4", "False", shape + ")"), Bytes(4))).shape.size(), 32u);
    EXPECT_EQ(refusal(file(header("<f4", "False", shape + "1)"), Bytes(4))), "the shape has more than 32 dimensions");
    EXPECT_TRUE(npy::format(arrayOf(NpyArray::Type::f32, std::vector<uint64_t>(33, 1))).empty());
}

TEST(Npy, RefusesHeadersOfMoreThan64KiB) {
    const std::string text = header("<f4", "False", "(1,)");
    const std::string longest = text + std::string(rope::kNpyMaxHeaderBytes - 12 - text.size(), ' ');
    const Folder folder;
    const std::string path = folder / "a.npy";
    for (const bool longer : {false, true}) {
        const Bytes bytes = file(longest + (longer ? " " : ""), {1, 2, 3, 4}, 2);
        EXPECT_EQ(refusal(bytes), longer ? "the header is longer than 65536 bytes" : "accepted");
        put(path, bytes);
        EXPECT_EQ(readRefusal(path), longer ? path + ": the header is longer than 65536 bytes" : "accepted");
    }
    Bytes claims = file("", Bytes(100), 2);
    claims[8] = claims[9] = claims[10] = claims[11] = 255;
    EXPECT_EQ(refusal(claims), "the file ends within its header");
}

TEST(Npy, ReadsWhatReachesPastItsFirstRead) {
    const Folder folder;
    const std::string path = folder / "a.npy";
    for (const uint64_t count : {16000u, 16352u, 16353u, 100000u}) {
        const NpyArray array = arrayOf(NpyArray::Type::f32, {count});
        NpyArray again;
        std::string error;
        ASSERT_TRUE(rope::writeNpy(path, array, &error)) << error;
        ASSERT_TRUE(rope::readNpy(path, &again, &error)) << error;
        expectSame(again, array);
    }
}

TEST(Npy, NeedsNoPlaceForItsSentence) {
    const Bytes bytes = file("{}");
    NpyArray array;
    EXPECT_FALSE(npy::parse(bytes.data(), bytes.size(), &array, nullptr));
    EXPECT_FALSE(rope::readNpy("/nowhere/a.npy", &array, nullptr));
    EXPECT_FALSE(rope::writeNpy("/nowhere/a.npy", array, nullptr));
}

TEST(Npy, NamesTheFileThatItCannotRead) {
    const Folder folder;
    EXPECT_EQ(readRefusal(folder / "none.npy"), (folder / "none.npy") + ": there is no such file");
    EXPECT_EQ(readRefusal(""), ": there is no such file");
    EXPECT_EQ(readRefusal(folder.path()), folder.path() + ": this is a folder");
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(readRefusal(folder / "pipe"), (folder / "pipe") + ": this is no regular file");
    put(folder / "empty.npy", {});
    EXPECT_EQ(readRefusal(folder / "empty.npy"), (folder / "empty.npy") + ": this is no .npy file");
    put(folder / "short.npy", file(header("<f4", "False", "(2,)"), Bytes(7)));
    EXPECT_EQ(readRefusal(folder / "short.npy"),
              (folder / "short.npy") + ": the header asks for 8 bytes of data, and the file has 7");
    EXPECT_EQ(readRefusal((folder / "short.npy") + "/a.npy"), (folder / "short.npy") + "/a.npy: there is no such file");
}

// The superuser may read and write anything, so the test steps down while it asks.
class AsNobody {
  public:
    AsNobody() : was_(geteuid()) { stepped_ = was_ != 0 || seteuid(65534) == 0; }
    ~AsNobody() {
        if (geteuid() != was_ && seteuid(was_) != 0) std::abort();
    }
    bool stepped() const { return stepped_; }

  private:
    uid_t was_;
    bool stepped_;
};

TEST(Npy, NamesTheFileThatItMayNotReadOrWrite) {
    const Folder folder;
    fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
    const std::string secret = folder / "secret.npy", locked = folder / "locked";
    put(secret, file(header("<f4", "False", "(1,)"), Bytes(4)));
    fs::permissions(secret, fs::perms::none);
    fs::create_directory(locked);
    fs::permissions(locked,
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    const AsNobody nobody;
    if (!nobody.stepped())
        GTEST_SKIP() << "the superuser may read and write anything, and could not become another user";
    EXPECT_EQ(readRefusal(secret), secret + ": it cannot be read: Permission denied");
    const NpyArray array = arrayOf(NpyArray::Type::f32, {2});
    EXPECT_EQ(writeRefusal(locked + "/a.npy", array), locked + "/a.npy: it cannot be written: Permission denied");
}

TEST(Npy, NamesTheFileThatItCannotWrite) {
    const Folder folder;
    const NpyArray array = arrayOf(NpyArray::Type::f32, {2});
    fs::create_directory(folder / "inner");
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    const std::string none = folder / "none/a.npy", inner = folder / "inner", pipe = folder / "pipe";
    EXPECT_EQ(writeRefusal(none, array), none + ": it cannot be written: No such file or directory");
    EXPECT_EQ(writeRefusal(inner, array), inner + ": it cannot be written: this is a folder");
    EXPECT_EQ(writeRefusal(pipe, array), pipe + ": it cannot be written: this is no regular file");
    EXPECT_EQ(writeRefusal("/dev/null", array), "/dev/null: it cannot be written: this is no regular file");
    EXPECT_EQ(folder.names().size(), 2u);
    NpyArray uneven = array;
    uneven.data.pop_back();
    EXPECT_TRUE(npy::format(uneven).empty());
    EXPECT_EQ(writeRefusal(folder / "a.npy", uneven),
              (folder / "a.npy") + ": it is not written: the array's data has another size than its shape");
}

TEST(Npy, LeavesWhatWasThereWhenTheDiskIsFull) {
    const Folder folder;
    const std::string path = folder / "a.npy";
    const NpyArray before = arrayOf(NpyArray::Type::f32, {2});
    ASSERT_EQ(writeRefusal(path, before), "accepted");
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit old_limit;
    getrlimit(RLIMIT_FSIZE, &old_limit);
    rlimit limit = old_limit;
    for (const rlim_t most : {rlim_t(0), rlim_t(64), rlim_t(1000), rlim_t(100000)}) {
        limit.rlim_cur = most;
        setrlimit(RLIMIT_FSIZE, &limit);
        const std::string sentence = writeRefusal(path, arrayOf(NpyArray::Type::f32, {100000}));
        setrlimit(RLIMIT_FSIZE, &old_limit);
        EXPECT_EQ(sentence, path + ": it cannot be written: File too large");
        EXPECT_EQ(folder.names(), std::vector<std::string>{"a.npy"});
        EXPECT_EQ(contents(path), npy::format(before));
    }
    std::signal(SIGXFSZ, handler);
}

TEST(Npy, ReplacesAFileAsAWhole) {
    const Folder folder;
    const std::string path = folder / "a.npy";
    put(folder / "a.npy.part0", {1}); // another program's file, or one of a program that was killed
    ASSERT_EQ(writeRefusal(path, arrayOf(NpyArray::Type::f32, {100})), "accepted");
    std::ifstream reader(path, std::ios::binary); // a reader that has the old file open goes on reading it
    const NpyArray array = arrayOf(NpyArray::Type::i64, {3});
    ASSERT_EQ(writeRefusal(path, array), "accepted");
    EXPECT_EQ(Bytes(std::istreambuf_iterator<char>(reader), {}), npy::format(arrayOf(NpyArray::Type::f32, {100})));
    EXPECT_EQ(contents(path), npy::format(array));
    EXPECT_EQ(contents(folder / "a.npy.part0"), Bytes{1});
    EXPECT_EQ(folder.names().size(), 2u);
}

TEST(Npy, WritesThroughALinkAndKeepsIt) {
    const Folder folder;
    fs::create_directory(folder / "inner");
    const NpyArray array = arrayOf(NpyArray::Type::f32, {2});
    put(folder / "inner/real.npy", {1});
    fs::create_symlink("inner/real.npy", folder / "link.npy");
    ASSERT_EQ(writeRefusal(folder / "link.npy", array), "accepted");
    EXPECT_TRUE(fs::is_symlink(folder / "link.npy"));
    EXPECT_EQ(contents(folder / "inner/real.npy"), npy::format(array));
}

// ---- NumPy itself

constexpr char kNumPyScript[] = R"(
import sys, numpy as np
folder = sys.argv[1]
shapes = [(), (0,), (5,), (2, 3), (4, 1, 0, 3), (3, 4, 5), (1,) * 32]
for t, name in enumerate(['f4', 'f8', 'f2', 'u2', 'i4', 'i8']):
    for s, shape in enumerate(shapes):
        values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        for order in '<>':
            array = np.array(values, dtype=order + name)
            base = '%s/numpy_%d_%d_%s' % (folder, t, s, 'l' if order == '<' else 'b')
            np.save(base + '_c.npy', array)
            np.save(base + '_f.npy', np.array(array, order='F'))
            for version in (2, 3):
                with open('%s_%d.npy' % (base, version), 'wb') as out:
                    np.lib.format.write_array(out, array, version=(version, 0))
        path = '%s/ours_%d_%d.npy' % (folder, t, s)
        ours = np.load(path)
        assert ours.dtype == np.dtype(name) and ours.shape == shape and (ours == values).all(), path
        np.save(folder + '/theirs.npy', values.astype(name))
        assert open(path, 'rb').read() == open(folder + '/theirs.npy', 'rb').read(), path
)";

// Returns 0, 1, 2 and so on.
NpyArray counting(NpyArray::Type type, const std::vector<uint64_t>& shape) {
    static const uint16_t kHalves[] = {0x0000, 0x3C00, 0x4000, 0x4200}; // 0 to 3; the rest by doubling below
    NpyArray array = arrayOf(type, shape);
    for (uint64_t i = 0; i < array.count(); ++i) {
        const float f = static_cast<float>(i);
        const double d = static_cast<double>(i);
        const int32_t w = static_cast<int32_t>(i);
        const int64_t l = static_cast<int64_t>(i);
        uint16_t h = static_cast<uint16_t>(i);
        if (type == NpyArray::Type::f16 && i < 4) {
            h = kHalves[i];
        } else if (type == NpyArray::Type::f16) {
            const int exponent = std::ilogb(d);
            h = static_cast<uint16_t>(static_cast<uint32_t>(exponent + 15) << 10 | ((i << 10 >> exponent) & 1023));
        }
        const void* const from[] = {&f, &d, &h, &h, &w, &l};
        std::memcpy(&array.data[i * array.elementBytes()], from[static_cast<int>(type)], array.elementBytes());
    }
    return array;
}

TEST(Npy, GoesToNumPyAndBack) {
    const char* python = "/usr/bin/python3";
    if (std::system((std::string(python) + " -c 'import numpy' 2>/dev/null").c_str()) != 0)
        GTEST_SKIP() << python << " has no NumPy (Debian: python3-numpy)";
    const Folder folder;
    const std::vector<uint64_t> shapes[] = {
        {}, {0}, {5}, {2, 3}, {4, 1, 0, 3}, {3, 4, 5}, std::vector<uint64_t>(rope::kNpyMaxRank, 1)};
    auto name = [](const char* who, size_t t, size_t s) {
        return std::string(who) + "_" + std::to_string(t) + "_" + std::to_string(s);
    };
    for (size_t t = 0; t < std::size(kTypes); ++t)
        for (size_t s = 0; s < std::size(shapes); ++s)
            ASSERT_EQ(writeRefusal(folder / (name("ours", t, s) + ".npy"), counting(kTypes[t], shapes[s])), "accepted");
    std::ofstream(folder / "script.py") << kNumPyScript;
    ASSERT_EQ(std::system((std::string(python) + " " + (folder / "script.py") + " " + folder.path()).c_str()), 0);
    size_t read = 0;
    for (size_t t = 0; t < std::size(kTypes); ++t) {
        for (size_t s = 0; s < std::size(shapes); ++s) {
            const NpyArray wanted = counting(kTypes[t], shapes[s]);
            for (const char* how : {"_l_c", "_l_f", "_l_2", "_l_3", "_b_c", "_b_f", "_b_2", "_b_3"}) {
                NpyArray array;
                std::string error;
                ASSERT_TRUE(rope::readNpy(folder / (name("numpy", t, s) + how + ".npy"), &array, &error)) << error;
                expectSame(array, wanted);
                ++read;
            }
        }
    }
    EXPECT_EQ(read, 6u * 7u * 8u);
}

TEST(Npy, SurvivesItsCorpus) {
    size_t inputs = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(paths::unpacked("corpus/npy"))) {
        SCOPED_TRACE(entry.path().string());
        const Bytes bytes = contents(entry.path().string());
        fuzzNpy(bytes.data(), bytes.size());
        ++inputs;
    }
    EXPECT_GT(inputs, 20u);
}

} // namespace
