// vkrope-bench runs every case as a Google Benchmark. Manual time is the device's own clock. VKROPE_DEVICE names the
// device.
#include "baselines.hpp"
#include "encodings.hpp"
#include "fused.hpp"
#include "host_costs.hpp"
#include "rotation.hpp"
#include "table.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace measure;

constexpr double kMicro = 1e6;

// The device, and the probe of its clock.
struct Bench {
    explicit Bench(const std::string& select) : device(openBenchDevice(select, Clock::kDevice)), clock(&device) {}
    BenchDevice device;
    ClockProbe clock;
};

// Times the contestants; each iteration is a round.
void timeContestants(benchmark::State& state, Bench* bench, std::vector<Contestant> contestants, double bytes) {
    RoundRobin round_robin(&bench->device, &bench->clock, std::move(contestants));
    round_robin.warmUp();
    for (auto _ : state) {
        round_robin.runRound();
        state.SetIterationTime(round_robin.lastSeconds());
    }
    const double seconds = round_robin.seconds(0).median;
    state.counters["us"] = seconds * kMicro;
    state.counters["MB"] = bytes * 1e-6;
    state.counters["GB/s"] = bytes / seconds * 1e-9;
    state.counters["dispatches"] = round_robin.repeats(0);
    state.counters["us/MB"] = seconds * kMicro / (bytes * 1e-6);
    double fastest = INFINITY;
    for (size_t i = 1; i < round_robin.size(); ++i) {
        const double other = round_robin.seconds(i).median;
        if (round_robin.name(i) == kEmptyDispatch || round_robin.name(i) == kWarm) {
            state.counters["us_" + round_robin.name(i)] = other * kMicro;
            continue;
        }
        state.counters["to_" + round_robin.name(i)] = round_robin.ratio(i).median;
        if (!isCopyKernel(round_robin.name(i)) || other >= fastest) continue;
        fastest = other;
        state.counters["to_fastest_copy"] = round_robin.ratio(i).median;
    }
}

// A case that does not fit is named, and the run goes on. Wrong results end in failure.
bool all_right = true;
template <typename Make> void skipOnFailure(benchmark::State& state, Make make) {
    try {
        make();
    } catch (const DoesNotFit& unfit) {
        state.SkipWithError(("does not fit: " + std::string(unfit.what())).c_str());
    } catch (const std::exception& failure) {
        all_right = false;
        state.SkipWithError(failure.what());
    }
}

template <typename Run> void registerCase(const std::string& name, uint32_t tokens, Run run) {
    benchmark::RegisterBenchmark(name.c_str(),
                                 [run](benchmark::State& state) { skipOnFailure(state, [&] { run(state); }); })
        ->Arg(tokens)
        ->UseManualTime()
        ->Iterations(roundsFor(tokens));
}

void registerRotations(Bench* bench) {
    for (const RotationCase& c : casesOf(allChoices())) {
        registerCase("rotate/" + caseName(c), c.tokens, [bench, c](benchmark::State& state) {
            RotationBench rotation(&bench->device, c);
            timeContestants(state, bench, rotation.contestants(), static_cast<double>(rotation.bytes()));
        });
    }
}

void registerTables(Bench* bench) {
    for (const ModelShape& model : modelShapes()) {
        for (const uint32_t rows : tokenCounts()) {
            registerCase(std::string("table/") + model.name, rows, [bench, &model, rows](benchmark::State& state) {
                TableBench table(&bench->device, model, rows);
                timeContestants(state, bench, table.contestants(), static_cast<double>(table.bytes()));
            });
        }
    }
}

void registerFused(Bench* bench) {
    for (const FusedKind& kind : fusedKinds()) {
        for (const uint32_t tokens : {1u, 32u, 512u, 4096u}) {
            if (!kind.takes(tokens)) continue;
            registerCase(std::string("fused/") + kind.name, tokens, [bench, &kind, tokens](benchmark::State& state) {
                FusedBench fused(&bench->device, kind, tokens);
                timeContestants(state, bench, fused.contestants(), static_cast<double>(fused.bytes()));
                state.counters["MB_unfused"] = static_cast<double>(fused.unfusedBytes()) * 1e-6;
            });
        }
    }
}

void registerEncodings(Bench* bench) {
    for (const EncodingKind& kind : encodingKinds()) {
        for (const uint32_t size : kind.sizes) {
            registerCase(std::string("other/") + kind.name, size, [bench, kind, size](benchmark::State& state) {
                EncodingBench other = kind.make(&bench->device, size);
                timeContestants(state, bench, other.contestants(), static_cast<double>(other.bytes));
            });
        }
    }
}

// Registers the costs on the CPU.
void registerHostCosts(BenchDevice* bench, std::unique_ptr<HostCosts>* costs) {
    *costs = std::make_unique<HostCosts>(bench);
    for (const HostProbe& probe : (*costs)->probes()) {
        const auto run = [costs, probe](benchmark::State& state) {
            skipOnFailure(state, [&] {
                state.counters["allocations"] = (*costs)->measure(probe).allocations;
                for (auto _ : state) state.SetIterationTime((*costs)->sample(probe));
            });
        };
        benchmark::RegisterBenchmark(probe.name.c_str(), run)->UseManualTime()->Iterations(probe.samples);
    }
}

int runBenchmarks(int argc, char** argv) {
    const char* select = std::getenv("VKROPE_DEVICE");
    Bench bench(select != nullptr ? select : "");
    std::fprintf(stderr, "device: %s\n", rope::describe(bench.device.device().info()).c_str());
    std::unique_ptr<HostCosts> costs;
    registerHostCosts(&bench.device, &costs);
    registerRotations(&bench);
    registerTables(&bench);
    registerFused(&bench);
    registerEncodings(&bench);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    const std::string moved = bench.clock.report().sentence();
    if (!moved.empty()) std::fprintf(stderr, "%s\n", moved.c_str());
    return all_right ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return runBenchmarks(argc, argv);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "vkrope-bench: %s\n", failure.what());
        return 1;
    }
}
