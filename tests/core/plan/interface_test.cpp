// The compiled SPIR-V against the header that C++ compiled with: offsets, bindings, constant ids, capabilities.
#include "plan/fused/record.h"
#include "shaders/interface.h"
#include "shaders/modules.h"
#include <vkrope/rope.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

enum {
    kOpExtInst = 12,
    kOpFAdd = 129,
    kOpFSub = 131,
    kOpFMul = 133,
    kOpVectorTimesScalar = 142,
    kFma = 50, // of GLSL.std.450
    kOpEntryPoint = 15,
    kOpCapability = 17,
    kOpTypeInt = 21,
    kOpTypeFloat = 22,
    kOpTypeArray = 28,
    kOpTypeStruct = 30,
    kOpTypePointer = 32,
    kOpConstant = 43,
    kOpVariable = 59,
    kOpDecorate = 71,
    kOpMemberDecorate = 72,
    kNonWritable = 24
};
enum { kSpecId = 1, kArrayStride = 6, kBinding = 33, kDescriptorSet = 34, kOffset = 35, kNoContraction = 42 };
enum { kPushConstant = 9, kStorageBuffer = 12 };

struct Module {
    uint32_t version = 0;
    std::set<uint32_t> capabilities, spec_ids, bindings, widths;
    std::map<uint32_t, std::vector<uint32_t>> structs;        // id: member types
    std::map<uint32_t, std::map<uint32_t, uint32_t>> offsets; // struct: member: bytes
    std::map<uint32_t, uint32_t> pointees, constants, array_lengths, array_strides;
    uint32_t push_struct = 0;
    std::set<uint32_t> storage_classes, no_contraction;
    std::vector<uint32_t> buffers;    // the bindings of all buffers, in the module's order
    std::vector<uint32_t> arithmetic; // float additions, subtractions and products
    bool fuses = false;
    std::string entry;
};

Module parse(const RopeShader& shader) {
    Module m;
    m.version = shader.words[1];
    uint32_t push_pointer = 0;
    for (size_t at = 5; at < shader.bytes / 4;) {
        const uint32_t* w = shader.words + at;
        switch (w[0] & 0xFFFF) {
        case kOpEntryPoint:
            m.entry = reinterpret_cast<const char*>(w + 3);
            break;
        case kOpCapability:
            m.capabilities.insert(w[1]);
            break;
        case kOpTypeInt:
        case kOpTypeFloat:
            m.widths.insert(w[2]);
            break;
        case kOpTypeStruct:
            m.structs[w[1]].assign(w + 2, w + (w[0] >> 16));
            break;
        case kOpTypeArray:
            m.array_lengths[w[1]] = w[3];
            break;
        case kOpConstant:
            m.constants[w[2]] = w[3];
            break;
        case kOpTypePointer:
            m.pointees[w[1]] = w[3];
            break;
        case kOpVariable:
            m.storage_classes.insert(w[3]);
            if (w[3] == kPushConstant) push_pointer = w[1];
            break;
        case kOpFAdd:
        case kOpFSub:
        case kOpFMul:
        case kOpVectorTimesScalar:
            m.arithmetic.push_back(w[2]);
            break;
        case kOpExtInst:
            m.fuses = m.fuses || w[4] == kFma;
            break;
        case kOpDecorate:
            if (w[2] == kNoContraction) m.no_contraction.insert(w[1]);
            if (w[2] == kSpecId) m.spec_ids.insert(w[3]);
            if (w[2] == kArrayStride) m.array_strides[w[1]] = w[3];
            if (w[2] == kBinding) {
                m.bindings.insert(w[3]);
                m.buffers.push_back(w[3]);
            }
            if (w[2] == kDescriptorSet && w[3] != 0) ADD_FAILURE() << "set " << w[3];
            break;
        case kOpMemberDecorate:
            if (w[3] == kOffset) m.offsets[w[1]][w[2]] = w[4];
            break;
        }
        at += w[0] >> 16;
    }
    if (push_pointer != 0) m.push_struct = m.pointees[push_pointer];
    return m;
}

std::vector<const RopeShader*> shaders() {
    return {
#define ROPE_SHADER(name, file, family, needs, defines) &rope_shader_##name,
#include "shaders/list.def"
#undef ROPE_SHADER
    };
}

// Byte offsets of the words, then of the places, that a family's struct has. The others are compared by their order.
template <typename Push> std::vector<uint32_t> whereOffsets() {
    return {offsetof(Push, tokens),        offsetof(Push, first_token),     offsetof(Push, window_begin),
            offsetof(Push, window_end),    offsetof(Push, position_offset), offsetof(Push, position_batch),
            offsetof(Push, position_axis), offsetof(Push, scale_mantissa),  offsetof(Push, scale_exponent),
            offsetof(Push, sin_offset)};
}
template <typename Push> std::vector<uint32_t> tensorOffsets(const std::vector<uint32_t>& own) {
    std::vector<uint32_t> all = whereOffsets<Push>();
    all.insert(all.begin() + 6, offsetof(Push, position_token)); // behind position_batch
    all.insert(all.begin(), offsetof(Push, rows));
    all.insert(all.end(), {offsetof(Push, heads), offsetof(Push, source), offsetof(Push, destination)});
    all.insert(all.end(), own.begin(), own.end());
    return all;
}
// Shaders name each word of an array.
std::vector<uint32_t> fusedOffsets() {
    using Push = rope::RopeFusedPush;
    std::vector<uint32_t> all = whereOffsets<Push>();
    all.insert(all.end(), {offsetof(Push, rows_offset), offsetof(Push, plan_tokens), offsetof(Push, count_at),
                           offsetof(Push, slot_map_at), offsetof(Push, slot_map_batch), offsetof(Push, table_pages),
                           offsetof(Push, slots)});
    const auto add = [&all](size_t at, size_t bytes) {
        for (size_t word = 0; word < bytes; word += sizeof(uint32_t)) all.push_back(static_cast<uint32_t>(at + word));
    };
    add(offsetof(Push, length_from), sizeof Push::length_from);
    add(offsetof(Push, length_to), sizeof Push::length_to);
    add(offsetof(Push, from), sizeof Push::from);
    add(offsetof(Push, to), sizeof Push::to);
    add(offsetof(Push, scale_at), sizeof Push::scale_at);
    add(offsetof(Push, weights_at), sizeof Push::weights_at);
    all.push_back(offsetof(Push, delta));
    return all;
}

std::vector<uint32_t> offsetsOf(const std::string& shader) {
    if (shader == "table") return tensorOffsets<rope::RopeTablePush>({offsetof(rope::RopeTablePush, row_copy)});
    if (shader == "selftest") return tensorOffsets<rope::RopeSelfTestPush>({offsetof(rope::RopeSelfTestPush, one)});
    using Rotate = rope::RopeRotatePush;
    using Relative = rope::RopeRelativePush;
    using Bias = rope::RopeBiasPush;
    if (shader.find("rotate_") == 0 || shader.find("add_") == 0 || shader == "factors")
        return tensorOffsets<Rotate>({offsetof(Rotate, source_k), offsetof(Rotate, destination_k)});
    if (shader.find("fused") == 0 || shader == "count") return fusedOffsets();
    if (shader.find("relative_") == 0)
        return tensorOffsets<Relative>({offsetof(Relative, keys), offsetof(Relative, first_key),
                                        offsetof(Relative, least), offsetof(Relative, most),
                                        offsetof(Relative, row_stride), offsetof(Relative, key_parts),
                                        offsetof(Relative, key_rounds), offsetof(Relative, by_words)});
    return tensorOffsets<Bias>({offsetof(Bias, keys), offsetof(Bias, first_key), offsetof(Bias, row_stride),
                                offsetof(Bias, least), offsetof(Bias, most), offsetof(Bias, lane_bits),
                                offsetof(Bias, lane_parts)});
}

std::vector<uint32_t> valuesOf(const std::map<uint32_t, uint32_t>& map) {
    std::vector<uint32_t> values;
    for (const auto& [key, value] : map) values.push_back(value);
    return values;
}

TEST(Interface, PushConstantsLieWhereTheHostWritesThem) {
    static_assert(sizeof(rope::RopePush) == sizeof(uint32_t) * ROPE_PUSH_WORDS, "all push words");
    static_assert(sizeof(rope::RopeRotatePush) == sizeof(rope::RopePush) &&
                      sizeof(rope::RopeFusedPush) == sizeof(rope::RopePush),
                  "of every family");
    using Rotate = rope::RopeRotatePush;
    static_assert((offsetof(Rotate, rows) | offsetof(Rotate, source) | offsetof(Rotate, destination) |
                   offsetof(Rotate, source_k) | offsetof(Rotate, destination_k)) %
                          16 ==
                      0,
                  "HLSL has structures at multiples of 16 bytes");
    const std::vector<uint32_t> of_place = {offsetof(rope::RopePlace, offset), offsetof(rope::RopePlace, batch),
                                            offsetof(rope::RopePlace, token), offsetof(rope::RopePlace, head)};
    for (const RopeShader* shader : shaders()) {
        SCOPED_TRACE(shader->name);
        const Module m = parse(*shader);
        ASSERT_NE(m.push_struct, 0u);
        ASSERT_EQ(m.structs.at(m.push_struct).size(), 1u);
        EXPECT_EQ(m.offsets.at(m.push_struct).at(0), 0u);
        const uint32_t push = m.structs.at(m.push_struct)[0];
        EXPECT_EQ(valuesOf(m.offsets.at(push)), offsetsOf(shader->name));
        if (m.offsets.count(m.structs.at(push)[0]) != 0)
            EXPECT_EQ(valuesOf(m.offsets.at(m.structs.at(push)[0])), of_place);
        else
            EXPECT_EQ(offsetsOf(shader->name), fusedOffsets()) << "only fused passes and counts have no place";
    }
}

TEST(Interface, BindingsAndConstantsAreThoseOfTheHeader) {
    const std::map<std::string, std::set<uint32_t>> bindings = {
        {"table", {0, 1, 5}},
        {"count", {0, 5, 8}},
        {"selftest", {5}},
        {"factors", {1, 2, 5}},
        {"rotate_wide", {0, 1, 2, 3, 5, 6}},
        {"add_wide", {0, 1, 2, 5}},
        {"bias_wide", {0, 1, 2, 5, 12}},
        {"bias_odd", {0, 1, 2, 5, 12}},
        {"relative_keys", {0, 1, 2, 5}},
        {"relative_values", {0, 1, 2, 5}},
        {"fused_wide", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
        {"fused_odd", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}};
    for (const RopeShader* shader : shaders()) {
        const Module m = parse(*shader);
        EXPECT_EQ(m.bindings, bindings.at(shader->name)) << shader->name;
        EXPECT_TRUE(m.spec_ids.count(ROPE_ID_GROUP_SIZE)) << shader->name;
        EXPECT_LT(*m.spec_ids.rbegin(), ROPE_CONSTANT_COUNT) << shader->name;
    }
    using Ids = std::initializer_list<uint32_t>;
    std::set<uint32_t> rotations, fused;
    for (uint32_t id = 0; id <= ROPE_ID_K_HEADS; ++id) rotations.insert(id);
    EXPECT_EQ(parse(rope_shader_rotate_wide).spec_ids, rotations);
    for (uint32_t id = 0; id < ROPE_ID_RECORD_Q + rope::field::to_page; ++id) fused.insert(id);
    for (const uint32_t id : Ids{ROPE_ID_ROTARY_BEGIN, ROPE_ID_PASS_ELEMENTS}) fused.erase(id);
    EXPECT_EQ(parse(rope_shader_fused_wide).spec_ids, fused);
    EXPECT_LE(*fused.rbegin(), ROPE_CONSTANT_COUNT);
    std::set<uint32_t> additions;
    for (uint32_t id = 0; id <= ROPE_ID_FACTOR; ++id) additions.insert(id);
    for (const uint32_t id : Ids{ROPE_ID_ROTARY_BEGIN, ROPE_ID_PASS_ELEMENTS}) additions.erase(id);
    EXPECT_EQ(parse(rope_shader_add_wide).spec_ids, additions);
}

TEST(Interface, NeedsNothingBeyondThePortableFloor) {
    for (const RopeShader* shader : shaders()) {
        const Module m = parse(*shader);
        EXPECT_LE(m.version, 0x00010300u) << shader->name;
        const std::string name = shader->name;
        const bool odd = name.find("_odd") != name.npos;
        const std::set<uint32_t> storage_16 = {1, 4433}, shader_alone = {1}; // capabilities
        const uint32_t needs = odd ? ROPE_ENABLED_STORAGE_16 : 0;
        const bool meets = name.find("fused") == 0 || name == "selftest" || name.find("rotate_") == 0 ||
                           name.find("relative_") == 0 || name.find("bias_") == 0 || name.find("add_") == 0;
        EXPECT_EQ(m.capabilities, odd ? storage_16 : shader_alone) << shader->name;
        EXPECT_EQ(m.widths, odd ? (std::set<uint32_t>{16, 32}) : std::set<uint32_t>{32}) << shader->name;
        EXPECT_EQ(shader->needs, needs) << shader->name;
        EXPECT_EQ(m.entry, "main") << shader->name;
        EXPECT_EQ(m.storage_classes.count(4), meets) << shader->name << ": shared memory";
    }
}

// This makes the rotation's bits the same on every driver, also on those that fuse or rearrange.
TEST(Interface, NoFloatingPointSumOrProductMayBeContracted) {
    for (const RopeShader* shader : shaders()) {
        const bool adds = std::strstr(shader->name, "add_") != nullptr ||
                          std::strstr(shader->name, "bias_") != nullptr ||
                          std::strstr(shader->name, "relative_") != nullptr;
        if (!adds && std::strstr(shader->name, "rotate_") == nullptr && std::strstr(shader->name, "fused_") == nullptr)
            continue;
        const Module m = parse(*shader);
        EXPECT_GE(m.arithmetic.size(), adds ? 1u : 6u) << shader->name;
        for (const uint32_t result : m.arithmetic) EXPECT_TRUE(m.no_contraction.count(result)) << shader->name;
        EXPECT_FALSE(m.fuses) << shader->name;
    }
}

TEST(Interface, ShaderNamesAreTheirRowsNames) {
    std::set<std::string> names;
    for (const RopeShader* shader : shaders()) EXPECT_TRUE(names.insert(shader->name).second) << shader->name;
    EXPECT_TRUE(names.count("rotate_wide"));
}

void expectValid(const std::string& name, const uint32_t* words, size_t bytes) {
    const std::string path = testing::TempDir() + "vkrope_" + name + ".spv";
    std::FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr) << path;
    EXPECT_EQ(std::fwrite(words, 1, bytes, file), bytes);
    std::fclose(file);
    EXPECT_EQ(std::system(("spirv-val --target-env vulkan1.1 " + path).c_str()), 0) << name;
    std::remove(path.c_str());
}

TEST(Interface, IsValidSpirvForVulkan11) {
    if (std::system("spirv-val --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "spirv-val is not installed";
    for (const RopeShader* shader : shaders()) expectValid(shader->name, shader->words, shader->bytes);
}

// Constants are folded in with values that a plan might choose, and with others. A buffer that is read and not bound
// goes to the first bound one, and a buffer that is written goes to the destination.
TEST(Interface, FoldsEveryConstantIntoValidSpirv) {
    const bool validates = std::system("spirv-val --version > /dev/null 2>&1") == 0;
    for (const RopeShader* shader : shaders()) {
        for (uint32_t value = 1; value < 4; ++value) {
            RopeDispatch dispatch = {};
            dispatch.shader = shader;
            for (uint32_t& constant : dispatch.constants) constant = value;
            dispatch.constants[ROPE_ID_GROUP_SIZE] = 32;
            const std::set<uint32_t> bound = {value, ROPE_BINDING_DESTINATION, ROPE_BINDING_PARAMETERS};
            for (const uint32_t binding : bound) dispatch.bindings[binding].range = 4;
            std::vector<uint32_t> words(shader->bytes / 4 + 1, 0xDEADBEEFu);
            const size_t bytes = ropeSpecialize(&dispatch, words.data());
            ASSERT_GT(bytes, 0u) << shader->name;
            EXPECT_LE(bytes, shader->bytes) << shader->name;
            EXPECT_EQ(words.back(), 0xDEADBEEFu) << shader->name;
            const RopeShader folded = {shader->name, words.data(), bytes, shader->needs};
            const Module before = parse(*shader), after = parse(folded);
            EXPECT_TRUE(after.spec_ids.empty()) << shader->name;
            std::vector<uint32_t> wanted;
            for (const uint32_t binding : before.buffers) {
                const uint32_t written = ROPE_BINDING_DESTINATION;
                const bool is_written = binding > written && binding <= ROPE_BINDING_DESTINATION_V;
                const uint32_t instead = is_written ? written : *bound.begin();
                wanted.push_back(bound.count(binding) != 0 ? binding : instead);
            }
            EXPECT_EQ(after.buffers, wanted) << shader->name;
            for (size_t at = 5; at < bytes / 4; at += words[at] >> 16) {
                const uint32_t op = words[at] & 0xFFFF;
                EXPECT_FALSE(op >= 48 && op <= 52) << shader->name << " keeps a specialization constant";
            }
            if (validates) expectValid(std::string(shader->name) + "_folded", words.data(), bytes);
        }
    }
}

uint32_t countOnlyReadIn(const uint32_t* words, size_t count) {
    uint32_t found = 0;
    for (size_t at = 5; at < count; at += words[at] >> 16) {
        found += (words[at] & 0xFFFF) == kOpMemberDecorate && words[at + 3] == kNonWritable;
    }
    return found;
}

uint32_t countOnlyRead(const RopeShader& shader, const std::set<uint32_t>& bound) {
    RopeDispatch dispatch = {};
    dispatch.shader = &shader;
    for (uint32_t& constant : dispatch.constants) constant = 1;
    for (const uint32_t binding : bound) dispatch.bindings[binding].range = 4;
    std::vector<uint32_t> words(shader.bytes / 4);
    words.resize(ropeSpecialize(&dispatch, words.data()) / 4);
    EXPECT_FALSE(words.empty()) << shader.name;
    return countOnlyReadIn(words.data(), words.size());
}

// Where nothing is bound before the destination, all that is not bound lies there, and it is written.
TEST(Interface, FoldsNoBufferIntoTheDestinationThatIsOnlyRead) {
    for (const RopeShader* shader : shaders()) {
        EXPECT_EQ(countOnlyRead(*shader, {ROPE_BINDING_DESTINATION, ROPE_BINDING_Q_WEIGHTS}), 0u) << shader->name;
        EXPECT_EQ(countOnlyRead(*shader, {ROPE_BINDING_COS_SIN, ROPE_BINDING_DESTINATION}),
                  countOnlyReadIn(shader->words, shader->bytes / 4))
            << shader->name;
    }
}

TEST(Interface, FoldsNoShaderItDoesNotKnow) {
    RopeShader other = rope_shader_table;
    std::vector<uint32_t> words(other.words, other.words + other.bytes / 4), folded(words.size());
    other.words = words.data();
    for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
        if ((words[at] & 0xFFFF) == 52) words[at + 3] = 200; // OpNot
    }
    RopeDispatch dispatch = {};
    dispatch.shader = &other;
    EXPECT_EQ(ropeSpecialize(&dispatch, folded.data()), 0u);
}

} // namespace
