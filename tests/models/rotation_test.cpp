// Whole rotations against those that the models' own code has made.
#include "support/config_read.hpp"
#include "support/paths.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace config;

namespace {

struct Vectors {
    nlohmann::json manifest;
    std::string data;

    Vectors() {
        const std::string folder = paths::data("rotations/");
        manifest = nlohmann::json::parse(std::ifstream(folder + "manifest.json"));
        std::ifstream in(folder + "data.bin", std::ios::binary);
        data.assign(std::istreambuf_iterator<char>(in), {});
    }
    const nlohmann::json& find(const std::string& name) const {
        for (const auto& each : manifest["cases"]) {
            if (each["name"] == name) return each;
        }
        ADD_FAILURE() << "no case " << name;
        return manifest;
    }
    template <typename T> std::vector<T> array(const nlohmann::json& tensor) const {
        size_t count = 1;
        for (const auto& extent : tensor["shape"]) count *= extent.get<size_t>();
        std::vector<T> values(count);
        std::memcpy(values.data(), &data[tensor["offset"].get<size_t>()], count * sizeof(T));
        return values;
    }
};

// Rotates x [batch, head, token, element] in double by positions [axis][batch * tokens], and returns the greatest
// distance from `wanted`.
double greatestDistance(const rope::ModelEncoding& model, const std::vector<std::vector<double>>& positions,
                        size_t heads, size_t tokens, const std::vector<float>& x, const std::vector<float>& wanted) {
    const size_t dim = model.head_dim, pairs = model.frequencies.size();
    const bool interleaved = model.pairing == kInterleaved;
    double worst = 0;
    for (size_t row = 0; row < x.size() / dim; ++row) {
        const size_t token = row / (heads * tokens) * tokens + row % tokens;
        for (size_t pair = 0; pair < pairs; ++pair) {
            const size_t a = row * dim + (interleaved ? 2 * pair : pair), b = a + (interleaved ? 1 : pairs);
            const double angle = positions[model.axes[pair]][token] * model.frequencies[pair];
            const double c = std::cos(angle), s = std::sin(angle), p = x[a], q = x[b];
            worst = std::fmax(worst, std::fabs(p * c - q * s - wanted[a]));
            worst = std::fmax(worst, std::fabs(p * s + q * c - wanted[b]));
        }
    }
    return worst;
}

TEST(Config, TextsRotateAsTheModelsOwnCodeDoes) {
    const Vectors vectors;
    const char* const cases[][2] = {{"qwen2_vl_d128", "qwen2_vl"},
                                    {"qwen3_vl_d128", "qwen3_vl"},
                                    {"glm4v_d128_partial_interleaved", "glm4v_text"},
                                    {"ernie4_5_vl_d128", "ernie4_5_vl_moe_text"}};
    for (const auto& each : cases) {
        SCOPED_TRACE(each[0]);
        const nlohmann::json& from = vectors.find(each[0]);
        nlohmann::json config = from["params"]["config"];
        config["model_type"] = each[1];
        const auto shape = from["tensors"]["q"]["shape"].get<std::vector<size_t>>();
        const auto ids = vectors.array<int64_t>(from["tensors"]["position_ids"]);
        const size_t count = shape[0] * shape[2];
        std::vector<std::vector<double>> positions;
        for (size_t axis = 0; axis < 3; ++axis)
            positions.emplace_back(ids.data() + axis * count, ids.data() + (axis + 1) * count);
        const double worst = greatestDistance(read(config.dump()), positions, shape[1], shape[2],
                                              vectors.array<float>(from["tensors"]["q"]),
                                              vectors.array<float>(from["tensors"]["q_out"]));
        EXPECT_LT(worst, 1e-5);
    }
}

TEST(Config, GridsRotateAsTheModelsOwnCodeDoes) {
    const Vectors vectors;
    const nlohmann::json& pixtral = vectors.find("pixtral_2d_d64");
    nlohmann::json config = pixtral["params"]["config"];
    config["model_type"] = "pixtral";
    std::vector<std::vector<double>> positions(2);
    for (const int64_t id : vectors.array<int64_t>(pixtral["tensors"]["position_ids"])) {
        positions[0].push_back(static_cast<double>(id / 8));
        positions[1].push_back(static_cast<double>(id % 8));
    }
    EXPECT_LT(greatestDistance(read(config.dump()), positions, 4, 23, vectors.array<float>(pixtral["tensors"]["q"]),
                               vectors.array<float>(pixtral["tensors"]["q_out"])),
              1e-5);
    const nlohmann::json& wan = vectors.find("wan_3d_d48");
    const auto thw = vectors.array<int64_t>(wan["tensors"]["position_thw"]);
    positions.assign(3, {});
    for (size_t i = 0; i < thw.size(); ++i) positions[i % 3].push_back(static_cast<double>(thw[i]));
    EXPECT_LT(greatestDistance(read(R"({"_class_name": "WanTransformer3DModel", "attention_head_dim": 48})"), positions,
                               3, 12, vectors.array<float>(wan["tensors"]["x"]),
                               vectors.array<float>(wan["tensors"]["out"])),
              1e-5);
}

} // namespace
