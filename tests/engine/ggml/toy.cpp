// This program computes a toy decoder twice on ggml's first Vulkan device: with ggml_rope_ext, and with cosines and
// sines from a table of exact angles. It prints the largest difference of a logit for each first position. The exit
// status is 1 if a difference is above the bound that an argument names or a logit is not what such a model has, and 2
// without a device.
#include "ggml-backend.h"
#include "ggml.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace {

constexpr int kHeadDim = 64, kHeads = 4, kKvHeads = 2, kWidth = kHeads * kHeadDim, kTokens = 24, kLayers = 2,
              kWords = 97;
constexpr float kBase = 10000;

// Tensors of one graph, with the values that they begin with.
class Model {
  public:
    Model() : context(ggml_init({1 << 20, nullptr, true})), random_(7) {}
    ~Model() {
        ggml_backend_buffer_free(buffer_);
        ggml_free(context);
    }
    // Elements of N(0, deviation).
    ggml_tensor* drawn(int columns, int rows, double deviation) {
        std::normal_distribution<float> normal(0, static_cast<float>(deviation));
        std::vector<float> values(static_cast<size_t>(columns) * rows);
        for (float& value : values) value = normal(random_);
        return given(ggml_new_tensor_2d(context, GGML_TYPE_F32, columns, rows), values.data());
    }
    ggml_tensor* weights(int in, int out) { return drawn(in, out, 1 / std::sqrt(static_cast<double>(in))); }
    ggml_tensor* given(ggml_tensor* tensor, const void* values) {
        const char* bytes = static_cast<const char*>(values);
        inputs_.push_back({tensor, {bytes, bytes + ggml_nbytes(tensor)}});
        return tensor;
    }
    std::vector<float> compute(ggml_backend_t backend, ggml_tensor* result) {
        ggml_cgraph* graph = ggml_new_graph(context);
        ggml_build_forward_expand(graph, result);
        buffer_ = ggml_backend_alloc_ctx_tensors(context, backend);
        for (const auto& [tensor, bytes] : inputs_) ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
        std::vector<float> values(static_cast<size_t>(ggml_nelements(result)));
        if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return values;
        ggml_backend_tensor_get(result, values.data(), 0, ggml_nbytes(result));
        return values;
    }
    ggml_context* const context;

  private:
    std::mt19937 random_;
    ggml_backend_buffer_t buffer_ = nullptr;
    std::vector<std::pair<ggml_tensor*, std::vector<char>>> inputs_;
};

using Rotate = std::function<ggml_tensor*(ggml_tensor*)>;

Rotate byRope(Model& m, int first) {
    std::vector<int32_t> places(kTokens);
    for (int t = 0; t < kTokens; ++t) places[t] = first + t;
    ggml_tensor* positions = m.given(ggml_new_tensor_1d(m.context, GGML_TYPE_I32, kTokens), places.data());
    return [&m, positions](ggml_tensor* x) {
        return ggml_rope_ext(m.context, x, positions, nullptr, kHeadDim, GGML_ROPE_TYPE_NEOX, 0, kBase, 1, 0, 1, 32, 1);
    };
}

// Element i of a head turns with element i + 32.
Rotate byTable(Model& m, int first) {
    std::vector<float> cosines, sines;
    for (int t = 0; t < kTokens; ++t) {
        for (int i = 0; i < kHeadDim; ++i) {
            const double frequency = std::pow(static_cast<double>(kBase), -2.0 * (i % (kHeadDim / 2)) / kHeadDim);
            const double angle = (first + t) * frequency;
            cosines.push_back(static_cast<float>(std::cos(angle)));
            sines.push_back(static_cast<float>(i < kHeadDim / 2 ? -std::sin(angle) : std::sin(angle)));
        }
    }
    const auto table = [&m](const std::vector<float>& values) {
        return m.given(ggml_new_tensor_3d(m.context, GGML_TYPE_F32, kHeadDim, 1, kTokens), values.data());
    };
    ggml_tensor *c = table(cosines), *s = table(sines);
    return [&m, c, s](ggml_tensor* x) {
        const size_t half = kHeadDim / 2 * sizeof(float);
        const auto part = [&](size_t offset) {
            return ggml_cont(m.context,
                             ggml_view_3d(m.context, x, kHeadDim / 2, x->ne[1], kTokens, x->nb[1], x->nb[2], offset));
        };
        ggml_tensor* others = ggml_concat(m.context, part(half), part(0), 0);
        return ggml_add(m.context, ggml_mul(m.context, x, c), ggml_mul(m.context, others, s));
    };
}

ggml_tensor* normed(Model& m, ggml_tensor* x) { return ggml_rms_norm(m.context, x, 1e-6f); }

ggml_tensor* attention(Model& m, ggml_tensor* x, const Rotate& rotate) {
    ggml_context* c = m.context;
    const auto heads = [&](int count) {
        return ggml_reshape_3d(c, ggml_mul_mat(c, m.weights(kWidth, count * kHeadDim), x), kHeadDim, count, kTokens);
    };
    ggml_tensor* q = ggml_permute(c, rotate(heads(kHeads)), 0, 2, 1, 3);
    ggml_tensor* k = ggml_permute(c, rotate(heads(kKvHeads)), 0, 2, 1, 3);
    ggml_tensor* v = ggml_cont(c, ggml_permute(c, heads(kKvHeads), 1, 2, 0, 3));
    ggml_tensor* scores =
        ggml_diag_mask_inf(c, ggml_scale(c, ggml_mul_mat(c, k, q), 1 / std::sqrt(float(kHeadDim))), 0);
    ggml_tensor* mixed = ggml_permute(c, ggml_mul_mat(c, v, ggml_soft_max(c, scores)), 0, 2, 1, 3);
    return ggml_mul_mat(c, m.weights(kWidth, kWidth), ggml_cont_2d(c, mixed, kWidth, kTokens));
}

std::vector<float> logits(ggml_backend_t backend, int first, Rotate (*rotation)(Model&, int)) {
    Model m;
    const Rotate rotate = rotation(m, first);
    ggml_tensor* x = m.drawn(kWidth, kTokens, 1);
    for (int layer = 0; layer < kLayers; ++layer) {
        x = ggml_add(m.context, x, attention(m, normed(m, x), rotate));
        ggml_tensor* hidden =
            ggml_silu(m.context, ggml_mul_mat(m.context, m.weights(kWidth, 2 * kWidth), normed(m, x)));
        x = ggml_add(m.context, x, ggml_mul_mat(m.context, m.weights(2 * kWidth, kWidth), hidden));
    }
    return m.compute(backend, ggml_mul_mat(m.context, m.weights(kWidth, kWords), normed(m, x)));
}

ggml_backend_t openVulkan() {
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (strncmp(ggml_backend_dev_name(device), "Vulkan", 6) == 0) return ggml_backend_dev_init(device, nullptr);
    }
    return nullptr;
}

} // namespace

int main(int argc, char** argv) {
    const double bound = argc > 1 ? std::atof(argv[1]) : HUGE_VAL;
    ggml_backend_t backend = openVulkan();
    if (backend == nullptr) return puts("toy: ggml has no Vulkan device"), 2;
    bool right = true;
    for (const int first : {0, 1000, 100000}) {
        const std::vector<float> a = logits(backend, first, byRope), b = logits(backend, first, byTable);
        double most = 0, squares = 0;
        for (size_t i = 0; i < a.size(); ++i) {
            most = std::fmax(most, std::fabs(a[i] - b[i]));
            squares += a[i] * a[i];
            right = right && std::isfinite(a[i]) && std::isfinite(b[i]);
        }
        const double size = std::sqrt(squares / static_cast<double>(a.size())); // 1 but for chance; 0 if nothing ran
        right = right && most <= bound && size > 0.5 && size < 2;
        printf("positions from %d: logits of %.2f (root mean square) differ by at most %.2g\n", first, size, most);
    }
    ggml_backend_free(backend);
    return right ? 0 : 1;
}
