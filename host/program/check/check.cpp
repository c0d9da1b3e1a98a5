// vkrope check: holds a device against the reference, over the whole option matrix.
#include "plan/element_formats.h"
#include "program/check/caches.hpp"
#include "program/check/halves.hpp"
#include "program/elements.hpp"
#include "program/option_values.hpp"
#include "program/progress.hpp"
#include "program/tool.hpp"

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

// ---- The errors found --------------------------------------------------------------------------------------------

struct CheckRow {
    std::string what;
    uint64_t cases = 0, unequal = 0, misses = 0;
    double error = 0, allowed = 1; // of the case whose error is the largest fraction of what is allowed

    void add(const CaseErrors& errors, bool missed) {
        ++cases;
        unequal += errors.unequal;
        misses += missed;
        if (errors.error / errors.allowed >= error / allowed) {
            error = errors.error;
            allowed = errors.allowed;
        }
    }
};

struct CheckReport {
    std::string device; // the name that --device gives
    std::vector<TableCase> tables;
    std::vector<CacheCase> caches;
    std::vector<Choices> rotations;
    std::vector<CheckRow> rows;
    uint64_t misses = 0;
    std::map<size_t, std::string> first_misses;

    size_t size() const { return tables.size() + caches.size() + rotations.size(); }

    void add(size_t index, size_t row, const std::string& name, bool bits_promised, const CaseErrors& errors) {
        constexpr size_t kMissesPrinted = 5;
        const bool missed = (bits_promised && errors.unequal != 0) || !(errors.error <= errors.allowed);
        rows[row].add(errors, missed);
        if (!missed) return;
        ++misses;
        char counts[80];
        std::snprintf(counts, sizeof counts, ": %" PRIu64 " elements unequal, error %.4g", errors.unequal,
                      errors.error);
        first_misses[index] = name + counts;
        if (first_misses.size() > kMissesPrinted) first_misses.erase(std::prev(first_misses.end()));
    }
};

// ---- The cases, on some threads ------------------------------------------------------------------------------------

// Drivers keep what they compiled. A device therefore serves this many cases and is then given back.
constexpr size_t kCasesPerDevice = 1024;
// Each thread has a device of its own, with its own compiled pipelines.
constexpr size_t kMostThreads = 4;

bool openCheckDevice(const std::string& name, CheckDevice* device, Failure* failure) {
    if (!openDevice(name, &device->opened, failure)) return false;
    device->nearest = ropeGetRounding(device->opened.context()) == ROPE_ROUNDING_NEAREST;
    return true;
}

// Hands the cases out to threads and collects their errors.
class CaseQueue {
  public:
    CaseQueue(CheckReport* report, size_t threads)
        : report_(report), batch_(std::min(kCasesPerDevice, report->size() / threads + 1)) {}

    // Runs one thread's part, and stops where anything fails on any thread.
    void runThread() {
        size_t first, end;
        while (takeCases(&first, &end)) {
            CheckDevice device;
            Failure failure;
            bool done = openCheckDevice(report_->device, &device, &failure);
            for (size_t index = first; index < end && done; ++index) done = checkOne(index, &device, &failure);
            if (!done) stop(failure);
        }
    }

    bool stopped() const { return stopped_; }
    const Failure& failure() const { return failure_; }

  private:
    bool takeCases(size_t* first, size_t* end) {
        const std::lock_guard<std::mutex> lock(mutex_);
        *first = next_;
        *end = next_ = std::min(next_ + batch_, report_->size());
        return !stopped_ && *first < *end;
    }

    void stop(const Failure& failure) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!stopped_) failure_ = failure;
        stopped_ = true;
    }

    bool checkOne(size_t index, CheckDevice* device, Failure* failure) {
        CaseErrors errors;
        const size_t tables = report_->tables.size();
        if (index < tables) {
            const TableCase& table = report_->tables[index];
            return checkTableCase(device, table, index + 1, &errors, failure) &&
                   add(index, table.description.angle == ROPE_ANGLE_EXACT ? 0 : 1, table.name, true, errors);
        }
        const size_t elements = elementNames().size(),
                     before_caches = 2 + 3 * elements * elements; // as addReportRows has them
        const size_t caches = report_->caches.size();
        if (index < tables + caches) {
            const CacheCase& cache = report_->caches[index - tables];
            return checkCacheCase(device, cache, index + 1, &errors, failure) &&
                   add(index, before_caches + static_cast<size_t>(cache.cache - 1), cache.name, device->nearest,
                       errors);
        }
        const RotateCase rotation = rotateCase(report_->rotations[index - tables - caches]);
        if (!checkRotationCase(device, rotation, index + 1, &errors, failure)) return false;
        const RopeRotateDescription& d = rotation.description;
        const size_t row =
            2 + (static_cast<size_t>(d.rotation.source) * elements + static_cast<size_t>(d.element - 1)) * elements +
            static_cast<size_t>(d.element_out - 1);
        return add(index, row, rotation.name, device->nearest, errors);
    }

    // Returns false where another thread has failed.
    bool add(size_t index, size_t row, const std::string& name, bool bits_promised, const CaseErrors& errors) {
        const std::lock_guard<std::mutex> lock(mutex_);
        report_->add(index, row, name, bits_promised, errors);
        if (done_++ % 16 == 0)
            progress_.show("checking " + std::to_string(done_) + " of " + std::to_string(report_->size()));
        return !stopped_;
    }

    std::mutex mutex_; // guards all members below while threads run
    CheckReport* report_;
    Progress progress_;
    size_t batch_, next_ = 0, done_ = 0;
    bool stopped_ = false;
    Failure failure_;
};

bool runCases(CheckReport* report, Failure* failure) {
    const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
    CaseQueue cases(report, threads);
    std::vector<std::future<void>> others;
    for (size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, [&] { cases.runThread(); }));
    cases.runThread();
    for (std::future<void>& other : others) other.get();
    if (cases.stopped()) *failure = cases.failure();
    return !cases.stopped();
}

// ---- The command ---------------------------------------------------------------------------------------------------

void addReportRows(CheckReport* report) {
    for (const char* angle : {"exact", "compatible"})
        report->rows.push_back({std::string("table, ") + angle + " angle"});
    for (const char* source : {"inline", "table", "rows"}) {
        for (const std::string& in : elementNames()) {
            for (const std::string& out : elementNames())
                report->rows.push_back({"rotate " + in + " to " + out + ", " + source});
        }
    }
    for (const rope::ElementFormat& format : rope::kElementFormats)
        if (format.element != ROPE_ELEMENT_DEFAULT) report->rows.push_back({std::string("cache ") + format.name});
}

uint64_t printReport(const CheckReport& report) {
    for (const auto& miss : report.first_misses) std::fprintf(stderr, "vkrope check: miss: %s\n", miss.second.c_str());
    uint64_t cases = 0;
    std::printf("%-28s %6s %14s %12s %10s\n", "", "cases", "bits unequal", "worst error", "allowed");
    for (const CheckRow& row : report.rows) {
        std::printf("%-28s %6" PRIu64 " %14" PRIu64 " %12.4f %10.4f%s\n", row.what.c_str(), row.cases, row.unequal,
                    row.error, row.allowed, row.misses != 0 ? "  MISSED" : "");
        cases += row.cases;
    }
    std::fflush(stdout);
    return cases;
}

bool printCheckedDevice(const std::string& name, Failure* failure) {
    CheckDevice device;
    if (!openCheckDevice(name, &device, failure)) return false;
    std::printf("device: %s\n", oneLine(rope::describe(device.opened.info())).c_str());
    std::printf("float32 rounds %s\n", device.nearest
                                           ? "to nearest: every bit must be the CPU's"
                                           : "otherwise than to nearest: only the errors of rotations count");
    std::fflush(stdout);
    return true;
}

// Takes every number through the device's own conversions of float16, where the self-test has found nothing against
// them.
bool runHalves(const std::string& name, Failure* failure) {
    CheckDevice device;
    if (!openCheckDevice(name, &device, failure)) return false;
    if ((device.opened.limits().enabled & ROPE_ENABLED_NATIVE_HALVES) == 0) {
        std::printf("float16: the device's own conversion is not proven, and not used\n");
        return true;
    }
    if (!device.nearest) {
        std::printf("float16: the device's own conversion is not checked: the library's takes sums to nearest\n");
        return true;
    }
    uint64_t widened = 0, narrowed = 0;
    std::string error;
    bool done = widenEveryHalf(&device.opened, &widened, &error);
    Progress progress;
    for (uint32_t part = 0; part < kFloatParts && done; ++part) {
        progress.show("narrowing part " + std::to_string(part + 1) + " of " + std::to_string(kFloatParts));
        done = narrowFloats(&device.opened, part, &narrowed, &error);
    }
    if (!done) return fail(failure, error);
    if (widened != 0 || narrowed != 0) {
        return fail(failure, "float16: the device's own conversion has other bits than the library's: " +
                                 std::to_string(widened) + " of 2^17 widened, " + std::to_string(narrowed) +
                                 " of 2^33 narrowed");
    }
    progress.show("");
    std::printf(
        "float16: the device's own conversion has the library's bits for all 2^16 halves and all 2^32 floats\n");
    return true;
}

bool runCheck(const std::string& name, bool quick, Failure* failure) {
    if (!checkDeviceName(name, failure) || !printCheckedDevice(name, failure)) return false;
    CheckReport report;
    report.device = name;
    report.tables = tableCases();
    report.caches = cacheCases(quick);
    report.rotations = rotateChoices();
    if (quick) report.rotations = quickChoices(report.rotations);
    if (!quick && !runHalves(name, failure)) return false;
    addReportRows(&report);
    if (!runCases(&report, failure)) return false;
    const uint64_t cases = printReport(report);
    if (report.misses != 0)
        return fail(failure, std::to_string(report.misses) + " of " + std::to_string(cases) + " cases missed");
    std::printf("%" PRIu64 " cases, none missed\n", cases);
    return true;
}

const char kCheckFooter[] =
    "Tables, caches, and rotations of every combination of their options; options that only choose numbers take "
    "turns.\n"
    "--quick: the tables, some caches, and rotations in which every three choices meet that ever do.\n"
    "Without --quick the device's own conversion also widens every float16 and narrows every float32, if the\n"
    "self-test has proven the conversion.\n"
    "Errors are in ulps of the element written: a table's of the value, a rotation's of the pair's length.\n"
    "The exit status is 1 if any case misses.\n\n"
    "example:\n"
    "  vkrope check --quick";

} // namespace

RunCommand addCheckCommand(CLI::App* app) {
    const auto device = std::make_shared<std::string>();
    const auto quick = std::make_shared<bool>(false);
    addOption(app, "--device", device.get(), "a device's index or a part of its name; without it the best there is");
    addFlag(app, "--quick", quick.get(), "far fewer cases: less than a minute on a CPU's driver, not ten");
    addFooter(app, kCheckFooter);
    return [device, quick](Failure* failure) { return runCheck(*device, *quick, failure); };
}

} // namespace tool
