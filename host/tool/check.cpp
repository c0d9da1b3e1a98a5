// vkrope check
#include "tool/check_case.hpp"
#include "tool/progress.hpp"
#include "tool/tool.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace tool {
namespace {

// ---- What was found ----------------------------------------------------------------------------------------------

struct Row {
    std::string what;
    uint64_t cases = 0, unequal = 0, misses = 0;
    double error = 0, allowed = 1; // of the case that came nearest to what is allowed, or went beyond it furthest

    void add(const Found& found, bool missed) {
        ++cases;
        unequal += found.unequal;
        misses += missed;
        if (found.error / found.allowed >= error / allowed) {
            error = found.error;
            allowed = found.allowed;
        }
    }
};

struct Check {
    std::string device; // as --device names it
    std::vector<TableCase> tables;
    std::vector<Choices> rotations;
    std::vector<Row> rows;
    uint64_t refused = 0, misses = 0;
    std::map<size_t, std::string> first_misses;

    size_t size() const { return tables.size() + rotations.size(); }

    void add(size_t index, size_t row, const std::string& name, bool bits_promised, const Found& found) {
        constexpr size_t kSaid = 5;
        const bool missed = (bits_promised && found.unequal != 0) || !(found.error <= found.allowed);
        rows[row].add(found, missed);
        if (!missed) return;
        ++misses;
        char counts[80];
        std::snprintf(counts, sizeof counts, ": %" PRIu64 " elements unequal, error %.4g", found.unequal, found.error);
        first_misses[index] = name + counts;
        if (first_misses.size() > kSaid) first_misses.erase(std::prev(first_misses.end()));
    }
};

// ---- The cases, on some threads ------------------------------------------------------------------------------------

// Drivers keep what they compiled, so a device serves for so many cases and is then given back.
constexpr size_t kCasesOfADevice = 1024;
// Each has a device of its own, with what was compiled for it.
constexpr size_t kMostThreads = 4;

bool openBench(const std::string& name, Bench* bench, Failure* failure) {
    Target target;
    if (!openTarget(name, &target, failure)) return false;
    bench->nearest = ropeGetRounding(target.device.context()) == ROPE_ROUNDING_NEAREST;
    bench->device = std::move(target.device);
    return true;
}

// Hands out the cases and takes in what was found.
class Cases {
  public:
    Cases(Check* check, size_t threads)
        : check_(check), step_(std::min(kCasesOfADevice, check->size() / threads + 1)) {}

    // One thread's part. Stops where anything fails on any thread.
    void work() {
        size_t first, end;
        while (take(&first, &end)) {
            Bench bench;
            Failure failure;
            bool done = openBench(check_->device, &bench, &failure);
            for (size_t index = first; index < end && done; ++index) done = checkOne(index, &bench, &failure);
            if (!done) stop(failure);
        }
    }

    bool stopped() const { return stopped_; }
    const Failure& failure() const { return failure_; }

  private:
    bool take(size_t* first, size_t* end) {
        const std::lock_guard<std::mutex> lock(mutex_);
        *first = next_;
        *end = next_ = std::min(next_ + step_, check_->size());
        return !stopped_ && *first < *end;
    }

    void stop(const Failure& failure) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!stopped_) failure_ = failure;
        stopped_ = true;
    }

    bool checkOne(size_t index, Bench* bench, Failure* failure) {
        Found found;
        const size_t tables = check_->tables.size();
        if (index < tables) {
            const TableCase& table = check_->tables[index];
            return checkTable(bench, table, index + 1, &found, failure) &&
                   add(index, table.description.angle == ROPE_ANGLE_EXACT ? 0 : 1, table.name, true, found, false);
        }
        Choices choices = check_->rotations[index - tables];
        RotateCase rotation = rotateCase(choices);
        if (!checkRotation(bench, rotation, index + 1, &found, failure)) return false;
        const bool refused = found.refused && alignForAll(&choices);
        if (refused) {
            rotation = rotateCase(choices);
            found = {};
            if (!checkRotation(bench, rotation, index + 1, &found, failure)) return false;
        }
        const RopeRotateDescription& d = rotation.description;
        const size_t row = 2 + 9u * static_cast<size_t>(d.source) + 3u * static_cast<size_t>(d.element_in - 1) +
                           static_cast<size_t>(d.element_out - 1);
        return add(index, row, rotation.name, bench->nearest, found, refused);
    }

    // False where another thread has failed.
    bool add(size_t index, size_t row, const std::string& name, bool bits_promised, const Found& found, bool refused) {
        const std::lock_guard<std::mutex> lock(mutex_);
        check_->refused += refused;
        check_->add(index, row, name, bits_promised, found);
        if (done_++ % 16 == 0)
            progress_.show("checking " + std::to_string(done_) + " of " + std::to_string(check_->size()));
        return !stopped_;
    }

    std::mutex mutex_; // of all below, while threads run
    Check* check_;
    Progress progress_;
    size_t step_, next_ = 0, done_ = 0;
    bool stopped_ = false;
    Failure failure_;
};

bool runAll(Check* check, Failure* failure) {
    const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
    Cases cases(check, threads);
    std::vector<std::future<void>> others;
    for (size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, [&] { cases.work(); }));
    cases.work();
    for (std::future<void>& other : others) other.get();
    if (cases.stopped()) *failure = cases.failure();
    return !cases.stopped();
}

// ---- The command ---------------------------------------------------------------------------------------------------

void addRows(Check* check) {
    for (const char* angle : {"exact", "compatible"})
        check->rows.push_back({std::string("table, ") + angle + " angle"});
    for (const char* source : {"inline", "table", "rows"}) {
        for (int in = ROPE_ELEMENT_F32; in <= ROPE_ELEMENT_BF16; ++in) {
            for (int out = ROPE_ELEMENT_F32; out <= ROPE_ELEMENT_BF16; ++out) {
                check->rows.push_back({std::string("rotate ") + elementName(static_cast<RopeElement>(in)) + " to " +
                                       elementName(static_cast<RopeElement>(out)) + ", " + source});
            }
        }
    }
}

uint64_t print(const Check& check) {
    for (const auto& miss : check.first_misses) std::fprintf(stderr, "vkrope check: miss: %s\n", miss.second.c_str());
    uint64_t cases = 0;
    std::printf("%-28s %6s %14s %12s %10s\n", "", "cases", "bits unequal", "worst error", "allowed");
    for (const Row& row : check.rows) {
        std::printf("%-28s %6" PRIu64 " %14" PRIu64 " %12.4f %10.4f%s\n", row.what.c_str(), row.cases, row.unequal,
                    row.error, row.allowed, row.misses != 0 ? "  MISSED" : "");
        cases += row.cases;
    }
    if (check.refused != 0) {
        std::printf("%" PRIu64 " cases of odd 16-bit geometry were refused, for the device has no 16-bit storage, and "
                    "aligned by two instead\n",
                    check.refused);
    }
    std::fflush(stdout);
    return cases;
}

bool printDevice(const std::string& name, Failure* failure) {
    Bench bench;
    if (!openBench(name, &bench, failure)) return false;
    std::printf("device: %s\n", oneLine(rope::describe(bench.device.info())).c_str());
    std::printf("float32 rounds %s\n", bench.nearest ? "to nearest: every bit must be the CPU's"
                                                     : "otherwise than to nearest: only the errors of rotations count");
    std::fflush(stdout);
    return true;
}

bool run(const std::string& name, bool quick, Failure* failure) {
    if (name == "reference")
        return refuse(failure, "the reference is what devices are held against; --device takes a Vulkan device");
    if (!printDevice(name, failure)) return false;
    Check check;
    check.device = name;
    check.tables = tableCases();
    check.rotations = rotateChoices();
    if (quick) check.rotations = quickChoices(check.rotations);
    addRows(&check);
    if (!runAll(&check, failure)) return false;
    const uint64_t cases = print(check);
    if (check.misses != 0)
        return fail(failure, std::to_string(check.misses) + " of " + std::to_string(cases) + " cases missed");
    std::printf("%" PRIu64 " cases, none missed\n", cases);
    return true;
}

std::string listAxes(bool in_turn) {
    std::string list;
    for (const Axis& axis : axes()) {
        if (axis.in_turn == in_turn)
            list +=
                (list.empty() ? "" : ", ") + std::string(axis.what) + " (" + std::to_string(axis.names.size()) + ")";
    }
    return list;
}

std::string footer() {
    const std::vector<Choices> all = rotateChoices();
    return std::to_string(tableCases().size()) + " tables and " + std::to_string(all.size()) +
           " rotations: every combination of " + listAxes(false) + "; in turn from one to the next: " + listAxes(true) +
           ".\n--quick: the tables, and " + std::to_string(quickChoices(all).size()) +
           " rotations in which every three choices meet that ever do.\n"
           "Errors are in ulps: a table's of the value, a rotation's of the pair's length, in the element written.\n"
           "Exit status 1 where anything misses.\n\nexample:\n  vkrope check --quick";
}

} // namespace

Work addCheck(CLI::App* app) {
    const auto device = std::make_shared<std::string>();
    const auto quick = std::make_shared<bool>(false);
    app->add_option("--device", *device, "a device's index or a part of its name; without it the best there is");
    app->add_flag("--quick", *quick, "far fewer cases: seconds instead of minutes on a CPU's driver");
    app->footer(footer);
    return [device, quick](Failure* failure) { return run(*device, *quick, failure); };
}

} // namespace tool
