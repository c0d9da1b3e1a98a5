// This program runs rotations that ggml's own tests do not have, on ggml's first Vulkan device and on its CPU: tensors
// in buffers of their own, factors that a graph writes, norms whose weights have any shape. The exit status is 1 if a
// result differs.
#include "ggml-backend.h"
#include "ggml.h"
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kHeadDim = 64, kHeads = 4, kTokens = 4;

// A graph whose tensors lie in as many buffers as it asks for.
class Graph {
  public:
    explicit Graph(ggml_backend_t backend) : backend_(backend) {}
    ~Graph() {
        for (ggml_backend_buffer_t buffer : buffers_) ggml_backend_buffer_free(buffer);
        for (ggml_context* context : contexts_) ggml_free(context);
    }
    // Tensors made from here on lie in a buffer of their own.
    ggml_context* inNewBuffer() {
        contexts_.push_back(ggml_init({1 << 18, nullptr, true}));
        return contexts_.back();
    }
    ggml_context* here() { return contexts_.back(); }
    ggml_tensor* input(std::array<int64_t, 4> ne, float first = -0.4f) {
        inputs_.push_back({ggml_new_tensor(here(), GGML_TYPE_F32, 4, ne.data()), first});
        return inputs_.back().first;
    }
    ggml_tensor* positions() {
        positions_ = ggml_new_tensor_1d(here(), GGML_TYPE_I32, kTokens);
        return positions_;
    }
    std::vector<float> compute(ggml_tensor* result, ggml_tensor* before = nullptr) {
        ggml_cgraph* graph = fill(result, before);
        ggml_backend_graph_compute(backend_, graph);
        return read(result);
    }
    // Computes the graph three times, at other positions each time. ggml's scheduler says that it is the same graph.
    std::vector<float> computeThrice(ggml_tensor* result) {
        ggml_cgraph* graph = fill(result, nullptr);
        ggml_backend_t backends[] = {backend_, ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr)};
        ggml_backend_sched_t scheduler = ggml_backend_sched_new(backends, nullptr, 2, 64, false, false);
        std::vector<float> all;
        for (const int first : {5, 1000, 70}) {
            place({first, first + 1, first + 2, 300});
            ggml_backend_sched_graph_compute(scheduler, graph);
            const std::vector<float> values = read(result);
            all.insert(all.end(), values.begin(), values.end());
        }
        ggml_backend_sched_free(scheduler);
        ggml_backend_free(backends[1]);
        return all;
    }

  private:
    ggml_cgraph* fill(ggml_tensor* result, ggml_tensor* before) {
        ggml_cgraph* graph = ggml_new_graph(here());
        if (before != nullptr) ggml_build_forward_expand(graph, before);
        ggml_build_forward_expand(graph, result);
        for (ggml_context* context : contexts_) buffers_.push_back(ggml_backend_alloc_ctx_tensors(context, backend_));
        for (const auto& [tensor, first] : inputs_) {
            std::vector<float> values(static_cast<size_t>(ggml_nelements(tensor)));
            for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i * 37 % 101) / 101;
            ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
        }
        place({5, 6, 7, 300});
        return graph;
    }
    void place(const std::array<int, kTokens>& positions) {
        ggml_backend_tensor_set(positions_, positions.data(), 0, sizeof positions);
    }
    static std::vector<float> read(ggml_tensor* result) {
        std::vector<float> values(static_cast<size_t>(ggml_nelements(result)));
        ggml_backend_tensor_get(result, values.data(), 0, ggml_nbytes(result));
        return values;
    }

    ggml_backend_t backend_;
    std::vector<ggml_context*> contexts_;
    std::vector<ggml_backend_buffer_t> buffers_;
    std::vector<std::pair<ggml_tensor*, float>> inputs_;
    ggml_tensor* positions_ = nullptr;
};

ggml_tensor* rope(Graph& g, ggml_tensor* x, ggml_tensor* positions, ggml_tensor* factors = nullptr) {
    return ggml_rope_ext(g.here(), x, positions, factors, kHeadDim, GGML_ROPE_TYPE_NEOX, 8192, 10000, 1, 0, 1, 32, 1);
}

std::vector<float> eachInItsBuffer(Graph& g) {
    g.inNewBuffer();
    ggml_tensor* x = g.input({kHeadDim, kHeads, kTokens, 1});
    g.inNewBuffer();
    ggml_tensor* positions = g.positions();
    g.inNewBuffer();
    return g.compute(rope(g, x, positions));
}

std::vector<float> twoSetsOfFactors(Graph& g) {
    g.inNewBuffer();
    ggml_tensor* first = g.input({kHeadDim / 2, 1, 1, 1}, 1);
    g.inNewBuffer();
    ggml_tensor* second = g.input({kHeadDim / 2, 1, 1, 1}, 4);
    g.inNewBuffer();
    ggml_tensor* x = g.input({kHeadDim, kHeads, kTokens, 1});
    ggml_tensor* positions = g.positions();
    return g.compute(rope(g, x, positions, second), rope(g, x, positions, first));
}

std::vector<float> factorsThatTheGraphWrites(Graph& g) {
    g.inNewBuffer();
    ggml_tensor* factors = g.input({kHeadDim / 2, 1, 1, 1}, 1);
    ggml_tensor* written = g.input({kHeadDim / 2, 1, 1, 1}, 7);
    ggml_tensor* x = g.input({kHeadDim, kHeads, kTokens, 1});
    ggml_tensor* positions = g.positions();
    return g.compute(rope(g, x, positions, factors), ggml_cpy(g.here(), written, factors));
}

std::vector<float> aGraphThatRepeats(Graph& g) {
    ggml_context* context = g.inNewBuffer();
    ggml_tensor* factors = g.input({kHeadDim / 2, 1, 1, 1}, 1);
    ggml_tensor* x = g.input({kHeadDim, kHeads, kTokens, 1});
    ggml_tensor* positions = g.positions();
    return g.computeThrice(ggml_add(context, rope(g, x, positions, factors), rope(g, x, positions)));
}

std::vector<float> aScaleAfterTheNorm(Graph& g) {
    ggml_context* context = g.inNewBuffer();
    ggml_tensor* x = g.input({kHeadDim, kHeads, kTokens, 1});
    return g.compute(rope(g, ggml_scale(context, ggml_rms_norm(context, x, 1e-6f), 0.5f), g.positions()));
}

std::vector<float> normWithWeights(Graph& g, const std::array<int64_t, 4>& ne) {
    ggml_context* context = g.inNewBuffer();
    ggml_tensor* x = g.input({kHeadDim, kHeads, kTokens, 2});
    ggml_tensor* weights = g.input(ne);
    return g.compute(rope(g, ggml_mul(context, ggml_rms_norm(context, x, 1e-6f), weights), g.positions()));
}

ggml_backend_t open(const char* prefix) {
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (strncmp(ggml_backend_dev_name(device), prefix, strlen(prefix)) == 0)
            return ggml_backend_dev_init(device, nullptr);
    }
    return nullptr;
}

using Case = std::function<std::vector<float>(Graph&)>;

double difference(const Case& run, ggml_backend_t device, ggml_backend_t cpu) {
    Graph on_device(device), on_cpu(cpu);
    const std::vector<float> a = run(on_device), b = run(on_cpu);
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = a[i] == b[i] ? most : std::fmax(most, std::fabs(a[i] - b[i]));
    for (const float value : a) most = std::isnan(value) ? HUGE_VAL : most;
    return most;
}

} // namespace

int main() {
    ggml_backend_t device = open("Vulkan"), cpu = open("CPU");
    if (device == nullptr || cpu == nullptr) return puts("cases: ggml has no Vulkan device, or no CPU"), 2;
    std::vector<std::pair<std::string, Case>> cases = {{"each tensor in its buffer", eachInItsBuffer},
                                                       {"two sets of factors", twoSetsOfFactors},
                                                       {"factors that the graph writes", factorsThatTheGraphWrites},
                                                       {"a graph that repeats", aGraphThatRepeats},
                                                       {"a scale after the norm", aScaleAfterTheNorm}};
    for (const std::array<int64_t, 4> ne : {std::array<int64_t, 4>{kHeadDim, 1, 1, 1},
                                            {1, 1, 1, 1},
                                            {32, 1, 1, 1},
                                            {kHeadDim, 2, 1, 1},
                                            {kHeadDim, kHeads, 1, 1},
                                            {kHeadDim, 1, 2, 1},
                                            {kHeadDim, 1, kTokens, 1},
                                            {kHeadDim, 1, 1, 2},
                                            {kHeadDim, 4, 4, 2}}) {
        std::string name = "weights of";
        for (const int64_t n : ne) name += " " + std::to_string(n);
        cases.push_back({name, [ne](Graph& g) { return normWithWeights(g, ne); }});
    }
    int wrong = 0;
    for (const auto& [name, run] : cases) {
        const double most = difference(run, device, cpu);
        if (!(most < 1e-4)) ++wrong;
        printf("%s: %.2g%s\n", name.c_str(), most, most < 1e-4 ? "" : " WRONG");
    }
    printf("%zu cases, %d wrong\n", cases.size(), wrong);
    ggml_backend_free(device);
    ggml_backend_free(cpu);
    return wrong != 0;
}
