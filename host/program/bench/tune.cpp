#include "program/bench/tune.hpp"

#include "program/bench/report.hpp"
#include "program/progress.hpp"
#include "program/target.hpp"

#include "bench/cases/tuner.hpp"
#include "bench/harness/keep_awake.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace tool {
namespace {

using Json = nlohmann::ordered_json;
using measure::RotationCase;
using measure::TuningResult;

std::string initializer(const RopeTuning& t) {
    return "{" + std::to_string(t.group_size) + ", " + std::to_string(t.heads) + ", " + std::to_string(t.pairs) + "}";
}

Json tuningJson(const RotationCase& c, const TuningResult& t) {
    Json row = caseLabels(c);
    row["tried"] = t.tried;
    row["own"] = initializer(t.own);
    row["own_us"] = t.own_seconds.median * 1e6;
    row["best"] = initializer(t.best);
    row["best_us"] = t.best_seconds.median * 1e6;
    row["gain"] = {{"low", t.gain.low}, {"median", t.gain.median}, {"high", t.gain.high}};
    row["noise"] = {{"low", t.noise.low}, {"median", t.noise.median}, {"high", t.noise.high}};
    row["sure"] = t.isSure();
    row["tuning"] = t.isSure() ? initializer(t.best) : "{0, 0, 0}";
    return row;
}

void printTuningResult(const RotationCase& c, const TuningResult& t) {
    char gain[64];
    std::snprintf(gain, sizeof gain, "%.2f (%.2f-%.2f)", t.gain.median, t.gain.low, t.gain.high);
    std::printf("%-46s %7u %-15s %10.1f %-15s %10.1f %17s %9.2f  %s\n", measure::caseName(c).c_str(), c.tokens,
                initializer(t.own).c_str(), t.own_seconds.median * 1e6, initializer(t.best).c_str(),
                t.best_seconds.median * 1e6, gain, t.noise.high, t.isSure() ? initializer(t.best).c_str() : "keep");
    std::fflush(stdout);
}

void printTuneHead(const rope::DeviceInfo& info) {
    std::printf("device: %s\n", oneLine(rope::describe(info)).c_str());
    std::printf("tunings are RopeTuning's {group_size, heads, pairs}; gain: the own one's time to the best "
                "one's (its quartiles); noise: the upper quartile of the own one's to its own\n\n");
    std::printf("%-46s %7s %-15s %10s %-15s %10s %17s %9s  %s\n", "", "tokens", "own", "us", "best", "us", "gain",
                "noise", "take");
}

} // namespace

bool runTune(const TuneOptions& options, Failure* failure) try {
    if (!checkDeviceName(options.device, failure)) return false;
    measure::BenchDevice bench = openTimedDevice(options.device, options.timing);
    const measure::KeepAwake awake(&bench);
    measure::ClockProbe clock(&bench);
    const rope::DeviceInfo& info = bench.device().info();
    if (!options.json) printTuneHead(info);
    const std::vector<RotationCase> cases = measure::casesOf(choicesOf(options.cases, kTuneChoices));
    Json rows = Json::array();
    size_t wrong = 0;
    Progress progress;
    for (const RotationCase& c : cases) {
        const std::string name = measure::caseName(c) + ", " + std::to_string(c.tokens) + " tokens";
        progress.show("tuning " + std::to_string(rows.size() + 1) + " of " + std::to_string(cases.size()) + ": " +
                      name);
        std::string reason;
        try {
            const TuningResult tuned = measure::tune(&bench, &clock, c, options.rounds);
            progress.show("");
            rows.push_back(tuningJson(c, tuned));
            if (!options.json) printTuningResult(c, tuned);
            continue;
        } catch (const measure::DoesNotFit& unfit) {
            reason = std::string("not timed: ") + unfit.what();
        } catch (const measure::WrongResult& found) {
            reason = std::string("WRONG, not timed: ") + found.what();
            ++wrong;
        }
        progress.show("");
        rows.push_back(caseLabels(c));
        rows.back()["trouble"] = reason;
        if (!options.json) std::printf("%-46s %7u %s\n", measure::caseName(c).c_str(), c.tokens, reason.c_str());
    }
    if (options.json) {
        const Json whole = {{"device", deviceJson(info)}, {"clock_watch", clockJson(clock)}, {"rows", rows}};
        std::printf("%s\n", whole.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    } else {
        printClockReport(clock.report());
    }
    return wrong == 0 || fail(failure, std::to_string(wrong) + " of " + std::to_string(cases.size()) +
                                           " cases have wrong results with some tuning; vkrope check says more");
} catch (const std::invalid_argument& refused) {
    return refuse(failure, refused.what());
}

} // namespace tool
