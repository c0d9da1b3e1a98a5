// Rotations of Transformers, flash-attention and Diffusers, on every device: from their arrays of cos and sin, read
// where they lie, and from their frequencies and positions.
#include "plan/element_formats.h"
#include "support/paths.hpp"
#include "support/vectors.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

using namespace vectors;

namespace {

// Computed in float32 by both and stored once, in 16 bits: float32's last bits may decide a tie.
constexpr Tolerance kStoredOnce = {0, 1};
// Theirs rounds both products (0.5 + 0.25) and the sum (0.5) to 16 bits, ours the result alone (0.5): 1.75, and a
// rounded row may be longer than 1 by 2^-8, which can lift a product into the next binade: 0.25 more.
constexpr Tolerance kEveryStep = {0, 2};
// The same against unrounded cos and sin: theirs are off by 2^-9 each, together sqrt(2) * 2^-9 of the length, which is
// 0.71 ulp at most.
constexpr Tolerance kEveryStepAndRows = {0, 2.75};

enum class Order { kTokenMajor, kHeadMajor };

enum class Rows {
    kSingle,   // cos[row][pair], sin[row][pair]
    kHalves,   // each value twice: pair j at j and j + pairs
    kAdjacent, // each value twice: pair j at 2j and 2j + 1
    kSinCos    // [row][sines, cosines]
};

// The manifest says this in prose.
struct Given {
    const char* name;
    const char* in;
    const char* out; // where there is a k, k and k_out are the other tensor's
    Order order;
    RopePairing pairing_in, pairing_out;
    uint32_t rotary_begin, rotary_dim; // 0: the whole head
    Rows rows;
    RopeOperation operation;
    Tolerance tolerance;
};

constexpr RopePairing kHalf = ROPE_PAIRING_HALF, kInter = ROPE_PAIRING_INTERLEAVED;
constexpr RopeOperation kForward = ROPE_OPERATION_FORWARD;
// clang-format off
constexpr Given kGiven[] = {
    {"fa_neox_d128",           "x",   "out",   Order::kTokenMajor, kHalf,  kHalf,    0,  0, Rows::kSingle,   kForward, kFloat32},
    {"fa_neox_d80_r32",        "x",   "out",   Order::kTokenMajor, kHalf,  kHalf,    0, 32, Rows::kSingle,   kForward, kFloat32},
    {"fa_interleaved_d64_f16", "x",   "out",   Order::kTokenMajor, kInter, kInter,   0,  0, Rows::kSingle,   kForward, kEveryStep},
    {"fa_conjugate_d64",       "dy",  "dx",    Order::kTokenMajor, kHalf,  kHalf,    0,  0, Rows::kSingle,   ROPE_OPERATION_TRANSPOSE, kFloat32},
    {"llama_d128_bf16",        "q",   "q_out", Order::kHeadMajor,  kHalf,  kHalf,    0,  0, Rows::kHalves,   kForward, kEveryStep},
    {"deepseek_v3_interleave_d64", "q", "q_out", Order::kHeadMajor, kInter, kHalf,   0,  0, Rows::kHalves,   kForward, kFloat32},
    {"deepseek_v4_trailing64_of512_bf16", "x", "out", Order::kHeadMajor, kInter, kInter, 448, 64, Rows::kSingle, kForward, kStoredOnce},
    {"deepseek_v4_trailing64_of512_bf16", "out", "out_then_inverse", Order::kHeadMajor, kInter, kInter, 448, 64, Rows::kSingle,
                                                                                              ROPE_OPERATION_INVERSE, kStoredOnce},
    {"gptj_d256_r64",          "x",   "out",   Order::kTokenMajor, kInter, kInter,   0, 64, Rows::kSinCos,   kForward, kFloat32},
    {"qwen2_vl_d128",          "q",   "q_out", Order::kHeadMajor,  kHalf,  kHalf,    0,  0, Rows::kHalves,   kForward, kFloat32},
    {"qwen3_vl_d128",          "q",   "q_out", Order::kHeadMajor,  kHalf,  kHalf,    0,  0, Rows::kHalves,   kForward, kFloat32},
    {"glm4v_d128_partial_interleaved", "q", "q_out", Order::kHeadMajor, kInter, kInter, 0, 64, Rows::kHalves, kForward, kFloat32},
    {"ernie4_5_vl_d128",       "q",   "q_out", Order::kHeadMajor,  kInter, kInter,   0,  0, Rows::kAdjacent, kForward, kFloat32},
    {"pixtral_2d_d64",         "q",   "q_out", Order::kHeadMajor,  kHalf,  kHalf,    0,  0, Rows::kHalves,   kForward, kFloat32},
    {"wan_3d_d48",             "x",   "out",   Order::kHeadMajor,  kInter, kInter,   0,  0, Rows::kAdjacent, kForward, kFloat32}};
// clang-format on

// The tensors of one case of rotations/manifest.json.
class Tensors {
  public:
    explicit Tensors(const std::string& name) {
        static const json manifest = readManifest(paths::data("rotations/manifest.json"));
        for (const json& one : manifest.at("cases"))
            if (one.at("name") == name) case_ = one;
    }
    bool has(const char* tensor) const { return case_.at("tensors").contains(tensor); }
    RopeElement element(const char* tensor) const {
        const std::string type = case_.at("tensors").at(tensor).at("dtype");
        return type == "float32" ? ROPE_ELEMENT_F32 : type == "float16" ? ROPE_ELEMENT_F16 : ROPE_ELEMENT_BF16;
    }
    NpyArray get(const char* tensor) const {
        const json& entry = case_.at("tensors").at(tensor);
        const std::string type = entry.at("dtype");
        NpyArray array;
        array.type = type == "float32"   ? NpyArray::Type::f32
                     : type == "float16" ? NpyArray::Type::f16
                     : type == "int64"   ? NpyArray::Type::i64
                                         : NpyArray::Type::u16;
        array.shape = entry.at("shape").get<std::vector<uint64_t>>();
        static const Bytes all = readData();
        const Bytes::const_iterator begin = all.begin() + entry.at("offset").get<ptrdiff_t>();
        array.data.assign(begin, begin + static_cast<ptrdiff_t>(array.count() * array.elementBytes()));
        return array;
    }
    int32_t offset() const { return case_.at("params").value("offset", 0); }
    int64_t side() const { return case_.at("params").at("max_side"); }

  private:
    static Bytes readData() {
        std::ifstream in(paths::data("rotations/data.bin"), std::ios::binary);
        return Bytes(std::istreambuf_iterator<char>(in), {});
    }
    json case_;
};

void setTensor(const Given& given, const NpyArray& in, const NpyArray& out, int which, Case* c) {
    RopeRotateDescription& d = c->description;
    RopeTensor& tensor = which == 0 ? d.q : d.k;
    tensor.heads = static_cast<uint32_t>(in.shape[given.order == Order::kHeadMajor ? 1 : 2]);
    tensor.from = given.order == Order::kHeadMajor ? headMajor(d, tensor.heads) : tokenMajor(d, tensor.heads);
    tensor.to = tensor.from;
    c->in[which] = in.data;
    c->wanted[which] = out.data;
}

Bytes bytesOf(const std::vector<int64_t>& values) {
    Bytes bytes(values.size() * sizeof(int64_t));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

// ---- Several axes

struct Several {
    const char* name;
    RopeAxesOrder order;
    std::vector<uint32_t> sections;
};
const Several kSeveral[] = {{"qwen2_vl_d128", ROPE_AXES_CONTIGUOUS, {16, 24, 24}},
                            {"qwen3_vl_d128", ROPE_AXES_INTERLEAVED, {24, 20, 20}},
                            {"glm4v_d128_partial_interleaved", ROPE_AXES_CONTIGUOUS, {8, 12, 12}},
                            {"pixtral_2d_d64", ROPE_AXES_CONTIGUOUS, {16, 16}},
                            {"wan_3d_d48", ROPE_AXES_CONTIGUOUS, {8, 8, 8}}};

constexpr uint32_t kErnieSpatial = 44; // pairs that h and w share in turns; those of t follow

std::vector<uint8_t> axesOf(const std::string& name) {
    for (const Several& several : kSeveral)
        if (several.name == name) return vectors::axesOf(several.order, several.sections);
    std::vector<uint8_t> axes;
    for (uint32_t pair = 0; name == "ernie4_5_vl_d128" && pair < 64; ++pair)
        axes.push_back(pair < kErnieSpatial ? 1 + pair % 2 : 0);
    return axes;
}

// Cos and sin of each axis and token: a table whose rows are numbered as these are.
void setRowsByAxis(const NpyArray& cos3, const NpyArray& sin3, const std::string& name, Case* c) {
    NpyArray cos = cos3, sin = sin3;
    cos.shape = sin.shape = {cos3.count() / cos3.shape.back(), cos3.shape.back()};
    setRows(cos, sin, ROPE_ELEMENT_F32, c);
    std::vector<int64_t> numbers(cos.shape[0]);
    std::iota(numbers.begin(), numbers.end(), 0);
    c->positions = bytesOf(numbers);
    c->axes = axesOf(name);
}

void setGivenRows(const Given& given, const Tensors& tensors, Case* c) {
    RopeRotateDescription& d = c->description;
    if (tensors.has("cos3")) return setRowsByAxis(tensors.get("cos3"), tensors.get("sin3"), given.name, c);
    const NpyArray cos = tensors.get("cos"), sin = tensors.get("sin");
    setRows(cos, sin, tensors.element("cos"), c);
    d.rotation.rows.pair_stride = given.rows == Rows::kAdjacent ? 2 : 1;
    const uint32_t pairs = d.rotation.rotary_dim / 2;
    if (given.rows == Rows::kSinCos) {
        c->rows.clear();
        const size_t bytes = pairs * ropeElementBytes(d.rotation.rows.element);
        for (size_t at = 0; at < cos.data.size(); at += bytes) {
            c->rows.insert(c->rows.end(), &sin.data[at], &sin.data[at] + bytes);
            c->rows.insert(c->rows.end(), &cos.data[at], &cos.data[at] + bytes);
        }
        d.rotation.rows.offset = pairs;
        d.rotation.rows.row_stride = 2 * pairs;
        d.rotation.rows.sin_offset = -static_cast<int64_t>(pairs);
    }
    d.positions.kind = ROPE_POSITIONS_COUNTED; // the tables, whose first row is token 0's
    d.positions.first = d.rotation.rows.first_position = tensors.offset();
}

Case caseOf(const Given& given, const Tensors& tensors) {
    Case c;
    c.name = std::string(given.name) + "_" + given.out;
    c.tolerance = given.tolerance;
    RopeRotateDescription& d = c.description;
    const NpyArray in = tensors.get(given.in);
    const bool head_major = given.order == Order::kHeadMajor;
    d.batch = static_cast<uint32_t>(in.shape[0]);
    d.tokens = static_cast<uint32_t>(in.shape[head_major ? 2 : 1]);
    d.head_dim = static_cast<uint32_t>(in.shape[3]);
    d.rotation.rotary_begin = given.rotary_begin;
    d.rotation.rotary_dim = given.rotary_dim != 0 ? given.rotary_dim : d.head_dim;
    d.rotation.pairing = given.pairing_in;
    d.rotation.pairing_out = given.pairing_out;
    d.out_of_place = given.pairing_in != given.pairing_out;
    d.element = tensors.element(given.in);
    d.rotation.operation = given.operation;
    setTensor(given, in, tensors.get(given.out), 0, &c);
    if (tensors.has("k")) setTensor(given, tensors.get("k"), tensors.get("k_out"), 1, &c);
    setGivenRows(given, tensors, &c);
    return c;
}

TEST_P(Vectors, OfOtherLibrariesFromTheirRows) {
    for (const Given& given : kGiven) run(caseOf(given, Tensors(given.name)));
}

// Where the scale is 1, the gradient and the inverse are one operation.
TEST_P(Vectors, TurnBackByInverseAndTransposeAlike) {
    for (const Given& given : kGiven) {
        if (given.operation != ROPE_OPERATION_INVERSE && given.operation != ROPE_OPERATION_TRANSPOSE) continue;
        Case c = caseOf(given, Tensors(given.name));
        c.description.rotation.operation =
            given.operation == ROPE_OPERATION_INVERSE ? ROPE_OPERATION_TRANSPOSE : ROPE_OPERATION_INVERSE;
        run(c);
    }
}

std::vector<double> valuesOf(const NpyArray& floats) {
    std::vector<double> values;
    for (uint64_t i = 0; i < floats.count(); ++i) values.push_back(valueAt(floats.data, ROPE_ELEMENT_F32, i));
    return values;
}

// ERNIE's own code keeps the frequencies of h, of w and of t one behind the other.
std::vector<double> inOrder(const std::vector<double>& prerotated) {
    std::vector<double> values = prerotated;
    for (uint32_t pair = 0; pair < kErnieSpatial; ++pair)
        values[pair] = prerotated[pair / 2 + (pair % 2) * kErnieSpatial / 2];
    return values;
}

// Returns the case's own frequencies, or those of the rule that the manifest names: Pixtral's rows take every second of
// the frequencies and its columns the others; each of Wan's axes has all of its own.
std::vector<double> frequenciesOf(const std::string& name, const Tensors& tensors, uint32_t pairs) {
    if (tensors.has("inv_freq")) return valuesOf(tensors.get("inv_freq"));
    if (tensors.has("inv_freq_prerotated")) return inOrder(valuesOf(tensors.get("inv_freq_prerotated")));
    std::vector<double> values;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const uint32_t turn = name == "wan_3d_d48" ? pair % 8 * 6 : pair % 16 * 4 + pair / 16 * 2; // of 2 * pairs
        values.push_back(std::pow(10000.0, -static_cast<double>(turn) / (2.0 * pairs)));
    }
    return values;
}

void setPositionsOf(const std::string& name, const Tensors& tensors, Case* c) {
    RopePositions& positions = c->description.positions;
    positions = {};
    if (tensors.has("position_thw")) { // [tokens, axes]
        c->positions = positionsOf(tensors.get("position_thw"));
        positions.token_stride = 3;
        positions.axis_stride = 1;
        return;
    }
    const NpyArray array = tensors.get("position_ids");
    c->positions = positionsOf(array);
    if (name != "pixtral_2d_d64") return;
    const uint64_t tokens = array.count(); // each is row * side + column
    std::vector<int64_t> apart(2 * tokens);
    std::memcpy(apart.data(), array.data.data(), array.data.size());
    for (uint64_t token = 0; token < tokens; ++token) {
        apart[tokens + token] = apart[token] % tensors.side();
        apart[token] /= tensors.side();
    }
    c->positions = bytesOf(apart);
}

TEST_P(Vectors, OfOtherLibrariesFromTheirFrequencies) {
    size_t cases = 0;
    for (const Given& given : kGiven) {
        const Tensors tensors(given.name);
        const std::vector<uint8_t> axes = axesOf(std::string(given.name));
        if (!tensors.has("inv_freq") && axes.empty()) continue;
        Case c = caseOf(given, tensors);
        if (given.tolerance.ulps == kEveryStep.ulps) c.tolerance = kEveryStepAndRows;
        c.axes = axes;
        c.frequencies = frequenciesOf(given.name, tensors, c.description.rotation.rotary_dim / 2);
        c.description.rotation.source = ROPE_SOURCE_INLINE;
        c.description.rotation.angle = ROPE_ANGLE_COMPATIBLE;
        c.description.rotation.rows = {};
        setPositionsOf(given.name, tensors, &c);
        run(c);
        ++cases;
    }
    EXPECT_EQ(cases, 8u);
}

} // namespace
