// vkrope bench
#include "tool/bench_cases.hpp"
#include "tool/bench_report.hpp"
#include "tool/output.hpp"
#include "tool/progress.hpp"
#include "tool/tool.hpp"
#include "tool/option_values.hpp"

#include "../bench/allocations.hpp"
#include "../bench/host_costs.hpp"
#include "../bench/fused.hpp"
#include "../bench/encodings.hpp"
#include "../bench/rotation.hpp"
#include "../bench/table.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace tool {
namespace {

using measure::Bench;
using measure::Case;

struct Options {
    std::string device, clock = "device", plot, tuning;
    CaseOptions cases;
    uint32_t rounds = 0;
    bool tables = false, fused = false, encodings = false, costs = false, json = false;
    bool rotations() const { return !tables && !fused && !encodings && !costs; }
};

bool check(const Options& options, Failure* failure) {
    const std::pair<const char*, bool> given[] = {{"--element", !options.cases.elements.empty()},
                                                  {"--pairing", !options.cases.pairings.empty()},
                                                  {"--place", !options.cases.places.empty()},
                                                  {"--source", !options.cases.sources.empty()},
                                                  {"--plot", !options.plot.empty()},
                                                  {"--tuning", !options.tuning.empty()},
                                                  {"--model", !options.cases.models.empty() && !options.tables}};
    for (const auto& option : given) {
        if (option.second && !options.rotations())
            return refuse(failure,
                          std::string(option.first) +
                              " goes with rotations; leave it out, or --table, --fused, --encodings and --costs");
    }
    if (options.device == "reference")
        return refuse(failure, "the reference is not timed; --device takes a Vulkan device");
    return options.plot.empty() || checkPaths({}, {{"--plot", options.plot, ""}}, failure);
}

// ---- Measuring -----------------------------------------------------------------------------------------------------

// One thing to measure, and how its row begins.
struct Job {
    Measured row;
    std::string name;
    uint32_t tokens;
    // Makes and verifies it, gives its contestants to `time`, and its bytes.
    std::function<void(Bench*, Measured*, const std::function<void(std::vector<measure::Contestant>)>&)> work;
};

Job rotationJob(const Case& c) {
    Job job;
    job.name = measure::nameOf(c);
    job.tokens = c.tokens;
    const char* pairing = measure::nameIn(measure::pairings(), c.pairing);
    const char* place = measure::nameIn(measure::places(), c.out_of_place);
    job.row.group = measure::describe(*c.model) + ", " + pairing + ", " + place;
    job.row.labels = {{"model", c.model->name},
                      {"pairing", pairing},
                      {"place", place},
                      {"tokens", c.tokens},
                      {"element", measure::nameIn(measure::elements(), c.element)},
                      {"source", measure::nameIn(measure::sources(), c.source)}};
    job.row.shown = 3;
    job.work = [c](Bench* bench, Measured* row, const auto& time) {
        measure::Rotation rotation(bench, c);
        row->bytes = static_cast<double>(rotation.bytes());
        time(rotation.contestants());
    };
    return job;
}

Job tableJob(const measure::Model& model, uint32_t tokens) {
    Job job;
    job.name = std::string("table/") + model.name;
    job.tokens = tokens;
    job.row.group = "tables of cos and sin, written by position";
    job.row.labels = {{"model", model.name}, {"tokens", tokens}};
    job.row.shown = 2;
    job.work = [&model, tokens](Bench* bench, Measured* row, const auto& time) {
        measure::Table table(bench, model, tokens);
        row->bytes = static_cast<double>(table.bytes());
        time(table.contestants());
    };
    return job;
}

Job fusedJob(const measure::FusedKind& kind, uint32_t tokens) {
    Job job;
    job.name = std::string("fused/") + kind.name;
    job.tokens = tokens;
    job.row.group = std::string("fused: ") + kind.name + ", " + std::to_string(kind.q_heads) + " + " +
                    std::to_string(kind.kv_heads) + " + " + std::to_string(kind.kv_heads) + " heads";
    job.row.labels = {{"fused", kind.name}, {"tokens", tokens}};
    job.row.shown = 1;
    job.work = [&kind, tokens](Bench* bench, Measured* row, const auto& time) {
        measure::Fused fused(bench, kind, tokens);
        row->bytes = static_cast<double>(fused.bytes());
        time(fused.contestants());
    };
    return job;
}

Job encodingJob(const measure::OtherKind& kind, uint32_t size) {
    Job job;
    job.name = kind.name;
    job.tokens = size;
    job.row.group = kind.name + (", " + kind.of);
    job.row.labels = {{"encoding", kind.name}, {kind.unit, size}};
    job.row.shown = 1;
    job.work = [kind, size](Bench* bench, Measured* row, const auto& time) {
        measure::Other other = kind.make(bench, size);
        row->bytes = static_cast<double>(other.bytes);
        time(other.contestants());
    };
    return job;
}

std::vector<Job> jobsOf(const Options& options) {
    const measure::Choices choices = choicesOf(options.cases, options.plot.empty() ? kShort : kPicture);
    std::vector<Job> jobs;
    if (options.rotations()) {
        for (Case c : measure::product(choices)) {
            c.tuning = readTuning(options.tuning);
            jobs.push_back(rotationJob(c));
        }
    }
    if (options.tables) {
        for (const measure::Model* model : choices.models)
            for (const uint32_t tokens : choices.tokens) jobs.push_back(tableJob(*model, tokens));
    }
    if (options.fused) {
        for (const measure::FusedKind& kind : measure::fusedKinds())
            for (const uint32_t tokens : choices.tokens)
                if (kind.takes(tokens)) jobs.push_back(fusedJob(kind, tokens));
    }
    if (options.encodings) {
        for (const measure::OtherKind& kind : measure::otherKinds())
            for (const uint32_t size : options.cases.tokens.empty() ? kind.sizes : options.cases.tokens)
                jobs.push_back(encodingJob(kind, size));
    }
    return jobs;
}

// What does not fit the device, or is wrong, is said in its row, and the run goes on.
Measured carryOut(const Job& job, uint32_t rounds, Bench* bench) {
    Measured row = job.row;
    const auto time = [&](std::vector<measure::Contestant> contestants) {
        measure::Turns turns(std::move(contestants), bench->clock());
        turns.go(rounds, job.tokens);
        row.take(turns);
    };
    try {
        job.work(bench, &row, time);
    } catch (const measure::Unfit& unfit) {
        row.trouble = unfit.what();
    } catch (const measure::Wrong& wrong) {
        row.trouble = wrong.what();
        row.wrong = true;
    }
    return row;
}

std::vector<Measured> measureAll(const Options& options, Bench* bench) {
    const std::vector<Job> jobs = jobsOf(options);
    std::vector<Measured> rows;
    Progress progress;
    for (const Job& job : jobs) {
        progress.show("timing " + std::to_string(rows.size() + 1) + " of " + std::to_string(jobs.size()) + ": " +
                      job.name + ", " + std::to_string(job.tokens) + " tokens");
        rows.push_back(carryOut(job, options.rounds, bench));
        progress.show("");
        if (!options.json) print(rows.back(), rows.size() > 1 ? &rows[rows.size() - 2] : nullptr);
    }
    return rows;
}

// ---- What stands around the kernel ---------------------------------------------------------------------------------

std::string inWords(double seconds) {
    char text[32];
    const bool fast = seconds < 1e-3;
    std::snprintf(text, sizeof text, "%.3f %s", seconds * (fast ? 1e6 : 1e3), fast ? "us" : "ms");
    return text;
}

Json measureCosts(bool json, Bench* bench) {
    measure::Costs costs(bench);
    Json list = Json::array();
    if (!json)
        std::printf("\non the CPU, one decode step of Llama-3-8B in place\n%-62s %12s %12s\n", "", "time",
                    "allocations");
    for (const measure::Probe& probe : costs.probes()) {
        const measure::Cost cost = costs.measure(probe);
        Json one = {{"name", probe.name}, {"what", probe.what}, {"us", cost.seconds.middle * 1e6}};
        if (measure::countsAllocations()) one["allocations"] = static_cast<uint64_t>(cost.allocations);
        one["vulkan_allocations"] = static_cast<uint64_t>(cost.through_callbacks);
        list.push_back(one);
        if (json) continue;
        const std::string counted =
            measure::countsAllocations() ? std::to_string(static_cast<uint64_t>(cost.allocations)) : "not counted";
        std::printf("%-62s %12s %12s\n", probe.what.c_str(), inWords(cost.seconds.middle).c_str(), counted.c_str());
    }
    for (const measure::Code& code : costs.code()) {
        list.push_back({{"name", "spirv/" + code.what}, {"bytes", code.bytes}});
        if (!json) std::printf("SPIR-V of %-52s %6zu bytes\n", code.what.c_str(), static_cast<size_t>(code.bytes));
    }
    return list;
}

// ---- The command ---------------------------------------------------------------------------------------------------

void printHead(const Bench& bench, const rope::DeviceInfo& info) {
    std::printf("device: %s\n", oneLine(rope::describe(info)).c_str());
    std::printf("clock: %s\n", bench.clock() == measure::Clock::kDevice
                                   ? "the device's timestamps"
                                   : "the host's, around submit and wait, less what an empty dispatch takes");
    std::printf("medians of rounds in turns; GB/s and us/MB of all bytes read and written\n"
                "under a kernel's name: how many times that kernel's time was taken\n");
}

// Before anything is printed.
bool checkTuning(const Options& options, const Bench& bench, Failure* failure) {
    measure::Described described(measure::product(kShort).front());
    described.description.tuning = readTuning(options.tuning);
    RopePlan plan;
    return ropePlanRotate(&described.description, &bench.limits(), &plan) == ROPE_SUCCESS ||
           refuse(failure, "--tuning: " + std::string(plan.reason.text));
}

bool run(const Options& options, Failure* failure) try {
    if (!check(options, failure)) return false;
    Bench bench = measure::openBench(options.device, clockOf(options.clock));
    if (!checkTuning(options, bench, failure)) return false;
    const rope::DeviceInfo& info = bench.device().info();
    if (!options.json) printHead(bench, info);
    const std::vector<Measured> rows = measureAll(options, &bench);
    Json costs;
    if (options.costs) costs = measureCosts(options.json, &bench);
    if (options.json) {
        Json list = Json::array();
        for (const Measured& row : rows) list.push_back(described(row));
        Json whole = {{"device", {{"name", info.name}, {"type", info.type}, {"driver", info.driver}}},
                      {"clock", options.clock},
                      {"rows", list}};
        if (options.costs) whole["costs"] = costs;
        std::printf("%s\n", whole.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    }
    const auto wrong = std::count_if(rows.begin(), rows.end(), [](const Measured& row) { return row.wrong; });
    if (wrong != 0)
        return fail(failure, std::to_string(wrong) + " of " + std::to_string(rows.size()) +
                                 " cases have wrong results and were not timed; vkrope check says more");
    return options.plot.empty() ||
           writeText({"--plot", options.plot, ""}, rope::drawChart(bandwidth(info.name, rows)), failure);
} catch (const std::invalid_argument& refused) {
    return refuse(failure, refused.what());
}

const char kFooter[] = "Every case is verified against the CPU's bits before it is timed. Beside it, in turns and on "
                       "as many bytes: in place "
                       "a kernel of the same loads and stores that only negates, and one with the other loads too; "
                       "out of place that one, copies "
                       "of 1, 2, 4 and 8 times 16 bytes a thread and vkCmdCopyBuffer; an empty dispatch. Without "
                       "further options: Llama-3-8B, "
                       "half, inline, at 1, 32, 512 and 4096 tokens.\n"
                       "Exit status 1 where results are wrong.\n\n"
                       "examples:\n"
                       "  vkrope bench --tokens 1,32 --element f16\n"
                       "  vkrope bench --tokens 1,32,512 --element f32 --plot bandwidth.svg\n"
                       "  vkrope bench --costs";

} // namespace

Work addBench(CLI::App* app) {
    const auto options = std::make_shared<Options>();
    app->add_option("--device", options->device,
                    "a device's index or a part of its name; without it the best there is");
    addCaseOptions(app, &options->cases);
    takesCount(app->add_option("--rounds", options->rounds, "of each case; without it as many as fit some seconds"),
               "a whole number of rounds", 1, 100000);
    addClock(app, &options->clock);
    takesTuning(app->add_option("--tuning", options->tuning, "in place of the library's own; see vkrope tune"));
    app->add_flag("--table", options->tables, "instead, how tables are made, beside vkCmdFillBuffer");
    app->add_flag("--fused", options->fused, "instead, the passes from projection to cache, beside what they replace");
    app->add_flag(
        "--encodings", options->encodings,
        "instead, what is added to embeddings, and biases on scores (--tokens are their queries), beside copies, and "
        "additions beside a kernel that only adds, sum");
    app->add_flag("--costs", options->costs, "instead, planning, recording, pipelines, first use, bytes of SPIR-V");
    app->add_flag("--json", options->json, "as JSON");
    app->add_option(
        "--plot", options->plot,
        "the .svg to draw bandwidth over bytes to; without --place out-of-place, without --tokens all lengths");
    app->footer(kFooter);
    return [options](Failure* failure) { return run(*options, failure); };
}

} // namespace tool
