// ONNX's node tests and ONNX Runtime's, on every device.
#include "support/paths.hpp"
#include "support/vectors.hpp"

#include <cstring>

using namespace vectors;

namespace {

// As ONNX Runtime's own tests allow: numbers printed with 4 digits, inputs among them.
constexpr Tolerance kPrinted = {2e-3, 0};

// Both manifests say this, in their own words.
struct Node {
    std::string name;
    uint32_t heads = 0, rotary_dim = 0; // 0: the input's shape says
    bool interleaved = false;
    json files;
    std::vector<uint32_t> sections; // M-RoPE
    RopeAxesOrder order = ROPE_AXES_CONTIGUOUS;
    float scale = 1; // on what comes out
};

NpyArray scaled(NpyArray array, float scale) {
    for (size_t at = 0; at < array.data.size(); at += sizeof(float)) {
        float value;
        std::memcpy(&value, &array.data[at], sizeof value);
        value *= scale;
        std::memcpy(&array.data[at], &value, sizeof value);
    }
    return array;
}

Case caseOf(const Node& node, Tolerance tolerance) {
    Case c;
    c.name = node.name;
    c.tolerance = tolerance;
    auto array = [&](const char* key) {
        return readArray(paths::unpacked("data/onnx/") + node.files.at(key).get<std::string>());
    };
    const NpyArray input = array("input");
    const NpyArray cos = scaled(array("cos_cache"), node.scale), sin = scaled(array("sin_cache"), node.scale);
    RopeRotateDescription& d = c.description;
    const bool head_major = input.shape.size() == 4;
    const uint32_t heads = head_major ? static_cast<uint32_t>(input.shape[1]) : node.heads;
    d.batch = static_cast<uint32_t>(input.shape[0]);
    d.tokens = static_cast<uint32_t>(input.shape[head_major ? 2 : 1]);
    d.head_dim = static_cast<uint32_t>(head_major ? input.shape[3] : input.shape[2] / heads);
    d.rotation.rotary_dim = node.rotary_dim != 0 ? node.rotary_dim : d.head_dim;
    d.rotation.pairing = d.rotation.pairing_out = node.interleaved ? ROPE_PAIRING_INTERLEAVED : ROPE_PAIRING_HALF;
    d.element = ROPE_ELEMENT_F32;
    d.q.heads = heads;
    d.q.from = head_major ? headMajor(d, heads) : tokenMajor(d, heads);
    setRows(cos, sin, ROPE_ELEMENT_F32, &c);
    EXPECT_EQ(cos.shape.size(), node.files.contains("position_ids") ? 2u : 3u);
    if (node.files.contains("position_ids")) {
        c.positions = positionsOf(array("position_ids"));
        if (c.positions.size() == sizeof(int64_t) &&
            d.batch * d.tokens > 1) { // one offset, from which every sequence counts
            d.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
            d.positions.same_for_all_sequences = 1;
        }
    }
    if (!node.sections.empty()) c.axes = axesOf(node.order, node.sections);
    c.in[0] = input.data;
    c.wanted[0] = array("output").data;
    return c;
}

TEST_P(Vectors, OfOnnxsNodeTests) {
    size_t cases = 0;
    const json manifest = readManifest(paths::unpacked("data/onnx/manifest_onnx.json"));
    for (const json& one : manifest.at("cases")) {
        Node node;
        node.name = one.at("name");
        const json& attributes = one.at("attributes");
        node.heads = attributes.value("num_heads", 0u);
        node.rotary_dim = attributes.value("rotary_embedding_dim", 0u);
        node.interleaved = attributes.value("interleaved", 0) != 0;
        node.files = one.at("inputs");
        node.files["output"] = one.at("output");
        run(caseOf(node, kFloat32));
        ++cases;
    }
    EXPECT_EQ(cases, 8u);
}

TEST_P(Vectors, OfOnnxRuntimesTests) {
    size_t cases = 0;
    const json manifest = readManifest(paths::unpacked("data/onnx/manifest_ort.json"));
    for (const json& one : manifest.at("cases")) {
        Node node;
        node.name = one.at("name");
        node.sections = one.value("mrope_section", node.sections);
        if (one.value("mrope_layout", 0) != 0) node.order = ROPE_AXES_INTERLEAVED;
        node.scale = one.value("scale", 1.0f);
        node.heads = one.at("num_heads");
        node.rotary_dim = one.value("rotary_embedding_dim", 0u);
        node.interleaved = one.value("interleaved", 0) != 0;
        node.files = one.at("files");
        run(caseOf(node, kPrinted));
        ++cases;
    }
    EXPECT_EQ(cases, 18u);
}

} // namespace
