// Caches of quantized formats beside what their publishers' own code writes (tests/data/caches), on the CPU and on
// every device: bit for bit.
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include "plan/element_formats.h"
#include "support/paths.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

namespace {

std::vector<uint8_t> readFile(const std::string& name) {
    std::ifstream in(paths::data("caches/" + name), std::ios::binary);
    std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_FALSE(bytes.empty()) << name;
    return bytes;
}

// One run of V into a cache whose slots are tokens, and what the publisher's code leaves in the cache.
struct Copy {
    RopeFusedDescription d = {};
    std::vector<uint8_t> input, wanted;

    Copy(RopeElement element, uint32_t dim, std::vector<uint8_t> values, std::vector<uint8_t> bytes, uint32_t heads = 1,
         RopeElement from = ROPE_ELEMENT_F32)
        : input(std::move(values)), wanted(std::move(bytes)) {
        d.head_dim = dim;
        d.tokens = static_cast<uint32_t>(input.size() / (dim * heads * ropeElementBytes(from)));
        d.element = from;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.v.heads = heads;
        d.cache.kind = ROPE_CACHE_POSITIONS;
        d.cache.slots = d.tokens;
        d.k.element = d.v.element = element;
    }
};

std::vector<uint8_t> onCpu(const Copy& c) {
    std::vector<uint8_t> out(c.wanted.size(), 0xEE);
    RopeHostFused data = {};
    data.v = c.input.data();
    data.v_out = out.data();
    RopeReason reason;
    EXPECT_EQ(ropeHostRunFused(&c.d, &data, &reason), ROPE_SUCCESS) << reason.text;
    return out;
}

void expectBytes(const std::vector<uint8_t>& got, const Copy& c, const char* where) {
    const uint32_t block = rope::formatOf(c.d.k.element).block_bytes;
    for (size_t i = 0; i < c.wanted.size(); ++i) {
        ASSERT_EQ(int{got[i]}, int{c.wanted[i]})
            << where << ", element " << c.d.k.element << ", byte " << i % block << " of block " << i / block;
    }
}

// The blocks of blocks.bin, in every format that has its scale in a block: all blocks, or those without denormals,
// which a device may take for 0.
std::vector<Copy> blockCopies(uint32_t dim, bool with_denormals) {
    const std::vector<uint8_t> file = readFile("blocks.bin");
    uint32_t counts[2] = {};
    std::memcpy(counts, file.data(), sizeof counts);
    const uint32_t of_head = dim / ROPE_BLOCK_ELEMENTS;
    const uint32_t blocks = counts[with_denormals ? 0 : 1] / of_head * of_head;
    const uint8_t* input = file.data() + sizeof counts;
    const uint8_t* output = input + counts[0] * ROPE_BLOCK_ELEMENTS * sizeof(float);
    std::vector<Copy> all;
    for (const rope::ElementFormat& format : rope::kElementFormats) {
        if (format.scale != rope::ElementScale::kInBlock) continue;
        const uint32_t bytes = format.block_bytes;
        all.emplace_back(format.element, dim,
                         std::vector<uint8_t>(input, input + blocks * ROPE_BLOCK_ELEMENTS * sizeof(float)),
                         std::vector<uint8_t>(output, output + blocks * bytes));
        output += counts[0] * bytes;
    }
    EXPECT_EQ(output, file.data() + file.size());
    return all;
}

// Reads a file from its beginning on.
class Reader {
  public:
    explicit Reader(const std::string& name) : file_(readFile(name)) {}
    std::vector<uint8_t> bytes(size_t count) {
        at_ += count;
        return {file_.begin() + static_cast<ptrdiff_t>(at_ - count), file_.begin() + static_cast<ptrdiff_t>(at_)};
    }
    template <typename T> std::vector<T> all(size_t count) {
        std::vector<T> values(count);
        std::memcpy(values.data(), bytes(count * sizeof(T)).data(), count * sizeof(T));
        return values;
    }
    bool isAtEnd() const { return at_ == file_.size(); }

  private:
    std::vector<uint8_t> file_;
    size_t at_ = 0;
};

// The copies of float8.bin: numbers as they are, with a scale of each head, and with scales that are found.
struct Float8Copies {
    std::vector<float> one = {1.0f}, scales;
    std::vector<Copy> copies;

    Float8Copies() {
        Reader file("float8.bin");
        const std::vector<uint32_t> counts = file.all<uint32_t>(3);
        const uint32_t heads = counts[1], dim = counts[2], found_heads = 64;
        const std::vector<uint8_t> plain = file.bytes(counts[0] * sizeof(float));
        scales = file.all<float>(heads);
        const std::vector<uint8_t> scaled = file.bytes(heads * dim * sizeof(float));
        const std::vector<uint8_t> found = file.bytes(found_heads * dim * sizeof(float));
        for (const RopeElement element : {ROPE_ELEMENT_F8_E4M3, ROPE_ELEMENT_F8_E5M2}) {
            copies.emplace_back(element, dim, plain, file.bytes(counts[0]));
            copies.back().d.v.given_scale = {one.data(), 1, 0};
            for (const uint32_t multiplies : {0u, 1u}) {
                copies.emplace_back(element, dim, scaled, file.bytes(heads * dim), heads);
                copies.back().d.v.given_scale = {scales.data(), heads, multiplies};
            }
            copies.emplace_back(element, dim, found, file.bytes(found_heads * (dim + sizeof(float))));
            copies.back().d.v.stored_scales.offset = found_heads * dim / sizeof(float);
        }
        EXPECT_TRUE(file.isAtEnd());
    }
};

// The content of float8_others.bin: what AMD's code and ml_dtypes make of the numbers of float8.bin, what each
// publisher widens the codes to, and heads of 16-bit elements with a scale of each head.
struct Float8Others {
    struct Format {
        RopeElement element;
        std::vector<uint8_t> amd, ml_dtypes;
        std::vector<float> wide[3]; // by CUDA, AMD, ml_dtypes
    };
    std::vector<Format> formats = {{ROPE_ELEMENT_F8_E4M3, {}, {}, {}}, {ROPE_ELEMENT_F8_E5M2, {}, {}, {}}};
    std::vector<float> scales;
    std::vector<Copy> copies;

    Float8Others() {
        Reader file("float8_others.bin");
        const std::vector<uint32_t> counts = file.all<uint32_t>(3);
        const uint32_t heads = counts[1], dim = counts[2];
        for (Format& f : formats) f.amd = file.bytes(counts[0]), f.ml_dtypes = file.bytes(counts[0]);
        for (Format& f : formats) {
            for (std::vector<float>& wide : f.wide) wide = file.all<float>(256);
        }
        scales = file.all<float>(heads);
        for (const RopeElement from : {ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}) {
            const std::vector<uint8_t> input = file.bytes(heads * dim * sizeof(uint16_t));
            for (const Format& f : formats) {
                for (const uint32_t multiplies : {0u, 1u}) {
                    copies.emplace_back(f.element, dim, input, file.bytes(heads * dim), heads, from);
                    copies.back().d.v.given_scale = {scales.data(), heads, multiplies};
                }
            }
        }
        EXPECT_TRUE(file.isAtEnd());
    }
};

TEST(CacheVectors, Float8IsCudasOnTheCpu) {
    const Float8Copies all;
    for (const Copy& c : all.copies) expectBytes(onCpu(c), c, "CPU");
    const Float8Others others;
    for (const Copy& c : others.copies) expectBytes(onCpu(c), c, "CPU, 16 bits");
}

// AMD's code and ml_dtypes keep the sign of a NaN, and ml_dtypes keeps an infinity, or makes it a NaN, where it
// saturates numbers. All else is CUDA's and this library's.
TEST(CacheVectors, Float8IsAmdsAndMlDtypesOnTheCpu) {
    const Float8Copies all;
    const Float8Others others;
    for (const Float8Others::Format& f : others.formats) {
        const uint8_t infinity = f.element == ROPE_ELEMENT_F8_E5M2 ? 0x7C : 0x7F;
        const std::vector<uint8_t>& input = all.copies.front().input;
        std::vector<float> numbers(input.size() / sizeof(float));
        std::memcpy(numbers.data(), input.data(), input.size());
        std::vector<uint8_t> got(numbers.size());
        ropeConvertElements(numbers.data(), ROPE_ELEMENT_F32, got.data(), f.element, got.size());
        ASSERT_EQ(f.amd.size(), got.size());
        for (size_t i = 0; i < got.size(); ++i) {
            const int amd = f.amd[i], ml_dtypes = f.ml_dtypes[i], sign = std::signbit(numbers[i]) ? 0x80 : 0;
            if (std::isnan(numbers[i])) {
                ASSERT_EQ(int{got[i]}, 0x7F);
                ASSERT_EQ(amd, 0x7F | sign);
                ASSERT_EQ(ml_dtypes, (f.element == ROPE_ELEMENT_F8_E5M2 ? 0x7E : 0x7F) | sign);
                continue;
            }
            ASSERT_EQ(int{got[i]}, amd) << numbers[i];
            ASSERT_EQ(std::isinf(numbers[i]) ? infinity | sign : int{got[i]}, ml_dtypes) << numbers[i];
        }
    }
}

TEST(CacheVectors, Float8WidensAsItsPublishersDo) {
    const Float8Others others;
    for (const Float8Others::Format& f : others.formats) {
        for (uint32_t code = 0; code < 256; ++code) {
            const uint8_t byte = static_cast<uint8_t>(code);
            float wide = 0;
            ropeConvertElements(&byte, f.element, &wide, ROPE_ELEMENT_F32, 1);
            for (const std::vector<float>& publisher : f.wide) {
                if (std::isnan(publisher[code]))
                    EXPECT_TRUE(std::isnan(wide)) << code;
                else
                    EXPECT_EQ(std::memcmp(&wide, &publisher[code], sizeof wide), 0) << code;
            }
        }
    }
}

// Every float8 is the same after it was widened, but for the sign of a NaN; and ropeConvertElements narrows as a cache.
TEST(CacheVectors, Float8GoesThereAndBack) {
    const Float8Copies all;
    for (const Copy& c : all.copies) {
        if (c.d.v.given_scale.values != all.one.data()) continue;
        std::vector<uint8_t> out(c.wanted.size());
        ropeConvertElements(c.input.data(), ROPE_ELEMENT_F32, out.data(), c.d.k.element, out.size());
        EXPECT_EQ(out, c.wanted);
    }
    for (const RopeElement element : {ROPE_ELEMENT_F8_E4M3, ROPE_ELEMENT_F8_E5M2}) {
        const uint32_t infinity = element == ROPE_ELEMENT_F8_E5M2 ? 0x7C : 0x7F;
        for (uint32_t code = 0; code < 256; ++code) {
            const uint8_t byte = static_cast<uint8_t>(code);
            uint8_t back = 1;
            float wide = 0;
            ropeConvertElements(&byte, element, &wide, ROPE_ELEMENT_F32, 1);
            ropeConvertElements(&wide, ROPE_ELEMENT_F32, &back, element, 1);
            const uint32_t size = code & 0x7F, bits = element == ROPE_ELEMENT_F8_E5M2 ? 2 : 3;
            const int exponent = static_cast<int>(size >> bits), fraction = static_cast<int>(size & ((1u << bits) - 1));
            const int lowest = element == ROPE_ELEMENT_F8_E5M2 ? -16 : -9;
            if (size < infinity) {
                const double value = std::ldexp(exponent == 0 ? fraction : (1 << bits) + fraction,
                                                lowest + (exponent == 0 ? 0 : exponent - 1));
                EXPECT_EQ(wide, static_cast<float>(code >= 128 ? -value : value)) << code;
                EXPECT_EQ(back, byte);
            } else if (element == ROPE_ELEMENT_F8_E5M2 && size == infinity) {
                EXPECT_TRUE(std::isinf(wide));
                EXPECT_EQ(back, byte - 1); // saturated
            } else {
                EXPECT_TRUE(std::isnan(wide)) << code;
                EXPECT_EQ(back, 0x7F);
            }
        }
    }
}

TEST(CacheVectors, BlocksAreGgmlsOnTheCpu) {
    for (const uint32_t dim : {32u, 64u, 96u}) {
        for (const Copy& c : blockCopies(dim, true)) expectBytes(onCpu(c), c, "CPU");
    }
}

class CacheVectorsOnDevice : public gpu::OnDevice {
  protected:
    void expectOnDevice(const Copy& c, const RopePlan& plan) {
        gpu::Slots slots;
        slots.bytes[ROPE_SLOT_V] = c.input;
        slots.bytes[ROPE_SLOT_V_OUT].assign(plan.bytes[ROPE_SLOT_V_OUT], 0xEE);
        slots.bytes[ROPE_SLOT_PARAMETERS].resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
        if (plan.bytes[ROPE_SLOT_PARAMETERS] != 0)
            ropeWriteParameters(&c.d, slots.bytes[ROPE_SLOT_PARAMETERS].data(), nullptr);
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        expectBytes(slots.bytes[ROPE_SLOT_V_OUT], c, "device");
    }
};

TEST_P(CacheVectorsOnDevice, Float8IsCudas) {
    const Float8Copies all;
    for (const Copy& c : all.copies) {
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&c.d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        expectOnDevice(c, plan);
    }
}

TEST_P(CacheVectorsOnDevice, Float8OfSixteenBitsIsCudas) {
    const Float8Others others;
    for (const Copy& c : others.copies) {
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&c.d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        expectOnDevice(c, plan);
    }
}

TEST_P(CacheVectorsOnDevice, BlocksAreGgmls) {
    for (const uint32_t dim : {32u, 64u, 256u}) {
        for (const Copy& c : blockCopies(dim, false)) {
            RopePlan plan;
            const RopeResult planned = ropePlanFused(&c.d, &device().limits(), &plan);
            const bool whole = dim % rope::elementsOfWords(c.d.k.element) == 0;
            if (!whole && (device().limits().enabled & ROPE_ENABLED_STORAGE_16) == 0) {
                EXPECT_NE(std::string(plan.reason.text).find("without ROPE_ENABLED_STORAGE_16"), std::string::npos);
                continue;
            }
            ASSERT_EQ(planned, ROPE_SUCCESS) << plan.reason.text;
            expectOnDevice(c, plan);
        }
    }
}

} // namespace

ROPE_ON_EVERY_DEVICE(CacheVectorsOnDevice);
