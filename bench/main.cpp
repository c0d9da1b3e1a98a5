// Every case as a Google Benchmark. Manual time is the device's own clock. VKROPE_DEVICE names the device.
#include "host_costs.hpp"
#include "fused.hpp"
#include "encodings.hpp"
#include "rotation.hpp"
#include "table.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace measure;

constexpr double kMicro = 1e6;

// Each iteration is a round.
void time(benchmark::State& state, std::vector<Contestant> contestants, double bytes) {
    Turns turns(std::move(contestants), Clock::kDevice);
    turns.warm();
    for (auto _ : state) {
        turns.round();
        state.SetIterationTime(turns.last());
    }
    const double seconds = turns.seconds(0).middle;
    state.counters["us"] = seconds * kMicro;
    state.counters["MB"] = bytes * 1e-6;
    state.counters["GB/s"] = bytes / seconds * 1e-9;
    state.counters["us/MB"] = seconds * kMicro / (bytes * 1e-6);
    double fastest = INFINITY;
    for (size_t i = 1; i < turns.size(); ++i) {
        const double other = turns.seconds(i).middle;
        if (turns.name(i) == kEmpty) {
            state.counters["us_empty"] = other * kMicro;
            continue;
        }
        state.counters["to_" + turns.name(i)] = turns.ratio(i).middle;
        if (!Rotation::isCopyKernel(turns.name(i)) || other >= fastest) continue;
        fastest = other;
        state.counters["to_fastest_copy"] = turns.ratio(i).middle;
    }
}

// What does not fit is named, and the run goes on; wrong results end in failure.
bool all_right = true;
template <typename Make> void guarded(benchmark::State& state, Make make) {
    try {
        make();
    } catch (const Unfit& unfit) {
        state.SkipWithError(("does not fit: " + std::string(unfit.what())).c_str());
    } catch (const std::exception& failure) {
        all_right = false;
        state.SkipWithError(failure.what());
    }
}

template <typename Run> void add(const std::string& name, uint32_t tokens, Run run) {
    benchmark::RegisterBenchmark(name.c_str(), [run](benchmark::State& state) { guarded(state, [&] { run(state); }); })
        ->Arg(tokens)
        ->UseManualTime()
        ->Iterations(roundsFor(tokens));
}

void addRotations(Bench* bench) {
    for (const Case& c : product(allChoices())) {
        add("rotate/" + nameOf(c), c.tokens, [bench, c](benchmark::State& state) {
            Rotation rotation(bench, c);
            time(state, rotation.contestants(), static_cast<double>(rotation.bytes()));
        });
    }
}

void addTables(Bench* bench) {
    for (const Model& model : models()) {
        for (const uint32_t rows : tokenCounts()) {
            add(std::string("table/") + model.name, rows, [bench, &model, rows](benchmark::State& state) {
                Table table(bench, model, rows);
                time(state, table.contestants(), static_cast<double>(table.bytes()));
            });
        }
    }
}

void addFused(Bench* bench) {
    for (const FusedKind& kind : fusedKinds()) {
        for (const uint32_t tokens : {1u, 32u, 512u, 4096u}) {
            if (!kind.takes(tokens)) continue;
            add(std::string("fused/") + kind.name, tokens, [bench, &kind, tokens](benchmark::State& state) {
                Fused fused(bench, kind, tokens);
                time(state, fused.contestants(), static_cast<double>(fused.bytes()));
                state.counters["MB_unfused"] = static_cast<double>(fused.unfusedBytes()) * 1e-6;
            });
        }
    }
}

void addOthers(Bench* bench) {
    for (const OtherKind& kind : otherKinds()) {
        for (const uint32_t size : kind.sizes) {
            add(std::string("other/") + kind.name, size, [bench, kind, size](benchmark::State& state) {
                Other other = kind.make(bench, size);
                time(state, other.contestants(), static_cast<double>(other.bytes));
            });
        }
    }
}

// On the CPU.
void addCosts(Bench* bench, std::unique_ptr<Costs>* costs) {
    *costs = std::make_unique<Costs>(bench);
    for (const Probe& probe : (*costs)->probes()) {
        const auto run = [costs, probe](benchmark::State& state) {
            guarded(state, [&] {
                state.counters["allocations"] = (*costs)->measure(probe).allocations;
                for (auto _ : state) state.SetIterationTime((*costs)->sample(probe));
            });
        };
        benchmark::RegisterBenchmark(probe.name.c_str(), run)->UseManualTime()->Iterations(probe.samples);
    }
}

int run(int argc, char** argv) {
    const char* select = std::getenv("VKROPE_DEVICE");
    Bench bench = openBench(select != nullptr ? select : "", Clock::kDevice);
    std::fprintf(stderr, "device: %s\n", rope::describe(bench.device().info()).c_str());
    std::unique_ptr<Costs> costs;
    addCosts(&bench, &costs);
    addRotations(&bench);
    addTables(&bench);
    addFused(&bench);
    addOthers(&bench);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return all_right ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "vkrope-bench: %s\n", failure.what());
        return 1;
    }
}
