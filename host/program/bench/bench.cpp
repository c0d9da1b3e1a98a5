// vkrope bench: times a device's rotations, tables, fused passes and other encodings beside copies of the same bytes.
#include "program/bench/beside.hpp"
#include "program/bench/cases.hpp"
#include "program/bench/report.hpp"
#include "program/option_values.hpp"
#include "program/progress.hpp"
#include "program/target.hpp"
#include "program/tool.hpp"

#include "bench/cases/encodings.hpp"
#include "bench/cases/fused.hpp"
#include "bench/cases/host_costs.hpp"
#include "bench/cases/rotation.hpp"
#include "bench/cases/table.hpp"
#include "bench/harness/allocations.hpp"
#include "bench/harness/keep_awake.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <type_traits>

namespace tool {
namespace {

using measure::BenchDevice;
using measure::RotationCase;

struct BenchOptions {
    std::string device, only, tuning;
    std::vector<std::string> beside;
    TimingOptions timing;
    CaseOptions cases;
    uint32_t rounds = 0, batch = 0, packed = 0;
    bool tables = false, fused = false, encodings = false, costs = false, json = false;
    bool rotations() const { return !tables && !fused && !encodings && !costs; }
};

bool checkBenchOptions(const BenchOptions& options, Failure* failure) {
    const std::pair<const char*, bool> given[] = {{"--element", !options.cases.elements.empty()},
                                                  {"--pairing", !options.cases.pairings.empty()},
                                                  {"--place", !options.cases.places.empty()},
                                                  {"--source", !options.cases.sources.empty()},
                                                  {"--tuning", !options.tuning.empty()},
                                                  {"--batch", options.batch != 0},
                                                  {"--packed", options.packed != 0},
                                                  {"--model", !options.cases.models.empty() && !options.tables}};
    for (const auto& option : given) {
        if (option.second && !options.rotations())
            return refuse(failure,
                          std::string(option.first) +
                              " goes with rotations; leave it out, or --table, --fused, --encodings and --costs");
    }
    if (options.batch != 0 && options.packed != 0)
        return refuse(failure, "--batch and --packed are two layouts of sequences; give one of them");
    return checkDeviceName(options.device, failure);
}

// ---- Measuring -----------------------------------------------------------------------------------------------------

// One thing to measure: its row before it is timed, and how it is made.
struct Measurement {
    BenchRow row;
    std::string name;
    uint32_t tokens;
    // Makes and verifies the case, writes its bytes into the row, and gives its contestants to `time`.
    std::function<void(BenchDevice*, BenchRow*, const std::function<void(std::vector<measure::Contestant>)>&)>
        makeAndTime;
};

// A bench of the type is made of the arguments, and its cases have verified themselves by then.
template <typename Bench, typename... Arguments> auto timingOf(Arguments... arguments) {
    return [=](BenchDevice* device, BenchRow* row, const auto& time) {
        Bench bench(device, arguments...);
        row->bytes = static_cast<double>(bench.bytes());
        if constexpr (std::is_same_v<Bench, measure::FusedBench>)
            row->unfused_bytes = static_cast<double>(bench.unfusedBytes());
        time(bench.contestants());
    };
}

Measurement rotationMeasurement(const RotationCase& c) {
    const char* pairing = measure::nameIn(measure::pairings(), c.pairing);
    const char* place = measure::nameIn(measure::placements(), c.out_of_place);
    BenchRow row;
    row.group = measure::describeModel(*c.model) + ", " + pairing + ", " + place;
    if (c.sequences > 1) {
        row.group += ", " + std::to_string(c.sequences) + (c.packed ? " packed" : "") + " sequences";
        row.labels = {{"sequences", c.sequences}, {"packed", c.packed}};
    }
    row.labels.update(caseLabels(c));
    row.shown = 3;
    return {row, measure::caseName(c), c.tokens, timingOf<measure::RotationBench>(c)};
}

Measurement tableMeasurement(const measure::ModelShape& model, uint32_t tokens) {
    BenchRow row;
    row.group = "tables of cos and sin, written by position";
    row.labels = {{"model", model.name}, {"tokens", tokens}};
    row.shown = 2;
    return {row, std::string("table/") + model.name, tokens, timingOf<measure::TableBench>(std::cref(model), tokens)};
}

Measurement fusedMeasurement(const measure::FusedKind& kind, uint32_t tokens) {
    BenchRow row;
    row.group = std::string("fused: ") + kind.name + ", " + std::to_string(kind.q_heads) + " + " +
                std::to_string(kind.kv_heads) + " + " + std::to_string(kind.vHeads()) + " heads";
    row.labels = {{"fused", kind.name}, {"tokens", tokens}};
    row.shown = 1;
    return {row, std::string("fused/") + kind.name, tokens, timingOf<measure::FusedBench>(std::cref(kind), tokens)};
}

Measurement encodingMeasurement(const measure::EncodingKind& kind, uint32_t size) {
    BenchRow row;
    row.group = kind.name + (", " + kind.of);
    row.labels = {{"encoding", kind.name}, {kind.unit, size}};
    row.shown = 1;
    return {row, kind.name, size, [kind, size](BenchDevice* bench, BenchRow* made, const auto& time) {
                measure::EncodingBench encoding = kind.make(bench, size);
                made->bytes = static_cast<double>(encoding.bytes);
                time(encoding.contestants());
            }};
}

std::vector<Measurement> measurementsOf(const BenchOptions& options) {
    const measure::CaseChoices choices = choicesOf(options.cases, kDefaultChoices);
    std::vector<Measurement> measurements;
    if (options.rotations()) {
        for (RotationCase c : measure::casesOf(choices)) {
            c.tuning = readTuning(options.tuning);
            c.packed = options.packed != 0;
            c.sequences = std::max(1u, std::max(options.batch, options.packed));
            measurements.push_back(rotationMeasurement(c));
        }
    }
    if (options.tables) {
        for (const measure::ModelShape* model : choices.models)
            for (const uint32_t tokens : choices.tokens) measurements.push_back(tableMeasurement(*model, tokens));
    }
    if (options.fused) {
        for (const measure::FusedKind& kind : measure::fusedKinds())
            for (const uint32_t tokens : choices.tokens)
                if (kind.takes(tokens)) measurements.push_back(fusedMeasurement(kind, tokens));
    }
    if (options.encodings) {
        for (const measure::EncodingKind& kind : measure::encodingKinds())
            for (const uint32_t size : options.cases.tokens.empty() ? kind.sizes : options.cases.tokens)
                measurements.push_back(encodingMeasurement(kind, size));
    }
    const auto unwanted = [&](const Measurement& one) { return one.name.find(options.only) == one.name.npos; };
    measurements.erase(std::remove_if(measurements.begin(), measurements.end(), unwanted), measurements.end());
    return measurements;
}

// Other projects' shaders, which take turns with each case.
using Besides = std::vector<std::unique_ptr<measure::ForeignBench>>;

Besides makeBesides(const std::vector<std::string>& paths, BenchDevice* bench) {
    Besides besides;
    for (const std::string& path : paths) {
        const measure::Foreign foreign = readBeside(path, &bench->device());
        besides.push_back(std::make_unique<measure::ForeignBench>(bench));
        besides.back()->make(foreign);
    }
    return besides;
}

// A case that does not fit the device, is wrong or fails says so in its row, and the run goes on unless the device is
// stuck.
BenchRow timeMeasurement(const Measurement& measurement, uint32_t rounds, const Besides& besides, BenchDevice* bench,
                         measure::ClockProbe* clock) {
    BenchRow row = measurement.row;
    row.has_warm_column = bench->workingSet() != 0;
    const auto time = [&](std::vector<measure::Contestant> contestants) {
        for (const auto& beside : besides) beside->addContestants(&contestants);
        measure::RoundRobin round_robin(bench, clock, std::move(contestants));
        round_robin.runRounds(rounds, measurement.tokens);
        row.takeTimes(round_robin);
    };
    try {
        measurement.makeAndTime(bench, &row, time);
    } catch (const measure::DoesNotFit& unfit) {
        row.untimed_reason = unfit.what();
    } catch (const measure::WrongResult& wrong) {
        row.untimed_reason = wrong.what();
        row.wrong = true;
    } catch (const std::runtime_error& failed) {
        if (bench->device().isStuck()) throw;
        row.untimed_reason = failed.what();
        row.failed = true;
    }
    return row;
}

std::vector<BenchRow> timeMeasurements(const BenchOptions& options, const Besides& besides, BenchDevice* bench,
                                       measure::ClockProbe* clock) {
    const std::vector<Measurement> measurements = measurementsOf(options);
    std::vector<BenchRow> rows;
    Progress progress;
    for (const Measurement& measurement : measurements) {
        progress.show("timing " + std::to_string(rows.size() + 1) + " of " + std::to_string(measurements.size()) +
                      ": " + measurement.name + ", " + std::to_string(measurement.tokens) + " tokens");
        rows.push_back(timeMeasurement(measurement, options.rounds, besides, bench, clock));
        progress.show("");
        if (!options.json) printRow(rows.back(), rows.size() > 1 ? &rows[rows.size() - 2] : nullptr);
    }
    return rows;
}

// ---- The host's costs around the kernel ----------------------------------------------------------------------------

std::string timeText(double seconds) {
    char text[32];
    const bool fast = seconds < 1e-3;
    std::snprintf(text, sizeof text, "%.3f %s", seconds * (fast ? 1e6 : 1e3), fast ? "us" : "ms");
    return text;
}

Json measureCosts(bool json, BenchDevice* bench) {
    measure::HostCosts host_costs(bench);
    Json list = Json::array();
    if (!json)
        std::printf("\non the CPU, one decode step of Llama-3-8B in place\n%-62s %12s %12s\n", "", "time",
                    "allocations");
    for (const measure::HostProbe& probe : host_costs.probes()) {
        const measure::HostCost cost = host_costs.measure(probe);
        Json one = {{"name", probe.name}, {"what", probe.what}, {"us", cost.seconds.median * 1e6}};
        if (measure::countsAllocations()) one["allocations"] = static_cast<uint64_t>(cost.allocations);
        one["vulkan_allocations"] = static_cast<uint64_t>(cost.through_callbacks);
        list.push_back(one);
        if (json) continue;
        const std::string counted =
            measure::countsAllocations() ? std::to_string(static_cast<uint64_t>(cost.allocations)) : "not counted";
        std::printf("%-62s %12s %12s\n", probe.what.c_str(), timeText(cost.seconds.median).c_str(), counted.c_str());
    }
    for (const measure::ShaderSize& code : host_costs.shaderSizes()) {
        list.push_back({{"name", "spirv/" + code.what}, {"bytes", code.bytes}});
        if (!json) std::printf("SPIR-V of %-52s %6zu bytes\n", code.what.c_str(), static_cast<size_t>(code.bytes));
    }
    return list;
}

// ---- The command ---------------------------------------------------------------------------------------------------

void printBenchHead(const BenchDevice& bench, bool besides, const rope::DeviceInfo& info) {
    std::printf("device: %s\n", oneLine(rope::describe(info)).c_str());
    std::printf("clock: %s\n",
                bench.clock() == measure::Clock::kDevice
                    ? "the device's timestamps"
                    : "the host's, around submit and wait, less what submitting an empty dispatch takes");
    if (bench.workingSet() != 0)
        std::printf("buffers: sets of %d MiB together in turns, so that no cache holds them; warm us: one set\n",
                    static_cast<int>(bench.workingSet() >> 20));
    else
        std::printf("buffers: one set, which a cache may hold\n");
    const bool unchecked = (bench.limits().enabled & ROPE_ENABLED_PIPELINE_ROBUSTNESS) != 0;
    std::printf("pipelines: %s\n", unchecked ? "all without a driver's checks of bounds"
                                             : "with the driver's checks of bounds, if it has any");
    std::printf(
        "%s", besides
                  ? "unchecked: another project's, whose results nothing checks; it has the driver's checks of bounds\n"
                  : "");
    std::printf("times of one dispatch and a barrier, out of a submission of many; medians of rounds in turns\n"
                "GB/s and us/MB of all bytes read and written\n"
                "under a kernel's name: how many times that kernel's time was taken\n");
}

// The tuning is checked before anything is printed.
bool checkTuningOption(const BenchOptions& options, const BenchDevice& bench, Failure* failure) {
    measure::CaseDescription described(measure::casesOf(kDefaultChoices).front());
    described.description.tuning = readTuning(options.tuning);
    RopePlan plan;
    return ropePlanRotate(&described.description, &bench.limits(), &plan) == ROPE_SUCCESS ||
           refuse(failure, "--tuning: " + std::string(plan.reason.text));
}

bool checkOnlyOption(const BenchOptions& options, Failure* failure) {
    const bool times = options.rotations() || options.tables || options.fused || options.encodings;
    for (const auto& [name, given] :
         {std::pair("--only", !options.only.empty()), {"--beside", !options.beside.empty()}}) {
        if (!times && given)
            return refuse(failure,
                          name + std::string(" goes with measurements, and --costs alone has none; leave one out"));
    }
    return options.only.empty() || !measurementsOf(options).empty() ||
           refuse(failure, "--only: none of the measurements has '" + options.only + "' in its name");
}

bool runBench(const BenchOptions& options, Failure* failure) try {
    if (!checkBenchOptions(options, failure) || !checkOnlyOption(options, failure)) return false;
    BenchDevice bench = openTimedDevice(options.device, options.timing);
    if (!checkTuningOption(options, bench, failure)) return false;
    const Besides besides = makeBesides(options.beside, &bench);
    const rope::DeviceInfo& info = bench.device().info();
    if (!options.json) printBenchHead(bench, !besides.empty(), info);
    measure::ClockProbe clock(&bench);
    std::vector<BenchRow> rows;
    {
        const measure::KeepAwake awake(&bench); // not while allocations are counted
        rows = timeMeasurements(options, besides, &bench, &clock);
    }
    if (!options.json) printClockReport(clock.report());
    Json costs;
    if (options.costs) costs = measureCosts(options.json, &bench);
    if (options.json) {
        Json list = Json::array();
        for (const BenchRow& row : rows) list.push_back(rowJson(row));
        Json whole = {{"device", deviceJson(info)},
                      {"clock", options.timing.clock},
                      {"clock_watch", clockJson(clock)},
                      {"working_set_mib", bench.workingSet() >> 20},
                      {"without_bounds_checks", (bench.limits().enabled & ROPE_ENABLED_PIPELINE_ROBUSTNESS) != 0},
                      {"rows", list}};
        if (options.costs) whole["costs"] = costs;
        std::printf("%s\n", whole.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    }
    const auto wrong =
        std::count_if(rows.begin(), rows.end(), [](const BenchRow& row) { return row.wrong || row.failed; });
    return wrong == 0 ||
           fail(failure, std::to_string(wrong) + " of " + std::to_string(rows.size()) +
                             " cases were wrong or failed; their rows say why, and vkrope check says more");
} catch (const std::invalid_argument& refused) {
    return refuse(failure, refused.what());
}

const char kBenchFooter[] =
    "Every case is verified against the CPU's bits before it is timed. It takes turns with others of as many bytes:\n"
    "copies of 1, 2, 4 and 8 times 16 bytes a thread from one buffer to another, and vkCmdCopyBuffer; in place also a\n"
    "kernel that has the rotation's loads and stores and only negates; the case in float32, and an inline one from a\n"
    "table. An empty dispatch comes last. \"best copy\" is the ratio to the fastest copy kernel, in place too. "
    "Without\n"
    "further options the bench times Llama-3-8B, half, inline, in place and out of place, at 1, 32, 512 and 4096 "
    "tokens.\n"
    "The device is warmed up first. A time is that of a submission of as many dispatches as take a few milliseconds,\n"
    "with a barrier between each two, divided by their number. They use sets of buffers in turns that are larger than "
    "a\n"
    "cache together (--working-set); warm us is the time on one set, where one fits a cache. A line at the end says "
    "so\n"
    "if the device's clock moved.\n"
    "Exit status 1 where results are wrong.\n\n"
    "examples:\n"
    "  vkrope bench --tokens 1,32 --element f16\n"
    "  vkrope bench --costs";

} // namespace

RunCommand addBenchCommand(CLI::App* app) {
    const auto options = std::make_shared<BenchOptions>();
    addOption(app, "--device", &options->device,
              "a device's index or a part of its name; without it the best there is");
    addCaseOptions(app, &options->cases);
    takesCount(addOption(app, "--rounds", &options->rounds, "of each case; without it as many as fit some seconds"),
               "a whole number of rounds", 1, 100000);
    takesCount(addOption(app, "--batch", &options->batch, "sequences of --tokens each; without it 1"),
               "a whole number of sequences", 1, 1024);
    takesCount(addOption(app, "--packed", &options->packed,
                         "sequences that have --tokens together; the second is twice as long as the first, the "
                         "third three times, and so on"),
               "a whole number of sequences", 1, 1024);
    addTimingOptions(app, &options->timing);
    takesTuning(
        addOption(app, "--tuning", &options->tuning,
                  "in place of the library's own: group size, heads and pairs, as 128,2,8; no bit depends on it"));
    addFlag(app, "--table", &options->tables, "instead, how tables are made, beside vkCmdFillBuffer");
    addFlag(app, "--fused", &options->fused, "instead, the passes from projection to cache, beside what they replace");
    addFlag(
        app, "--encodings", &options->encodings,
        "instead, what is added to embeddings, and biases on scores (--tokens are their queries), beside copies, and "
        "additions beside a kernel that only adds, sum");
    addOption(app, "--only", &options->only, "those measurements alone whose names have this in them, as kv_q8_0");
    takesNoMore(addOption(app, "--beside", &options->beside,
                          "another project's shaders, which take turns with each case: a description in JSON, as "
                          "docs/bench.md has it; may be given again"));
    addFlag(app, "--costs", &options->costs, "instead, planning, recording, pipelines, first use, bytes of SPIR-V");
    addFlag(app, "--json", &options->json, "as JSON, which python -m vkrope plot bandwidth draws");
    addFooter(app, kBenchFooter);
    return [options](Failure* failure) { return runBench(*options, failure); };
}

} // namespace tool
