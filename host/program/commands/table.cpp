// vkrope table: makes the cos and sin of every position and pair.
#include "program/commands/encoding.hpp"
#include "program/commands/positions.hpp"
#include "program/files/arrays.hpp"
#include "program/option_values.hpp"
#include "program/progress.hpp"
#include "program/target.hpp"
#include "program/tool.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tool {
namespace {

struct TableOptions {
    EncodingOptions encoding;
    std::string positions, cos, sin;
};

struct TableRequest {
    RopeTableDescription description = {};
    Positions positions;
    Encoding encoding;
    uint64_t rows = 0;
};

bool readTableRequest(const TableOptions& options, TableRequest* table, Failure* failure) {
    if (!readEncoding(options.encoding, &table->encoding, failure) ||
        !readPositionsOption(options.positions, table->encoding.axes, 0, &table->positions, failure) ||
        !readEncodingFor(table->positions, options.encoding, &table->encoding, failure) ||
        !checkInInt32(table->positions, 0, table->positions.tokens, failure))
        return false;
    RopeTableDescription& d = table->description;
    d.frequencies = describeFrequencies(table->encoding, table->positions);
    d.angle = options.encoding.angleKind();
    d.batch = table->positions.batch == 0 ? 1 : table->positions.batch;
    d.tokens = table->positions.tokens;
    describePositions(table->positions, &d.positions);
    table->rows = uint64_t{d.batch} * d.tokens;
    // The memory holds the rows, their arrays, and the device's copy.
    return fitsMemory("a table of " + std::to_string(table->rows) + " positions",
                      3 * 8.0 * static_cast<double>(table->rows) * d.frequencies.count, failure);
}

bool tableOnCpu(const TableRequest& table, bool reference, std::vector<float>* rows, Failure* failure) {
    rows->resize(2 * table.rows * table.description.frequencies.count);
    std::vector<double> values(reference ? rows->size() : 0);
    const RopeHostTable data = {table.positions.values.data(), reference ? values.data() : nullptr, rows->data()};
    RopeReason reason;
    if (ropeHostRunTable(&table.description, &data, &reason) != ROPE_SUCCESS) return refuse(failure, reason.text);
    if (reference) rows->assign(values.begin(), values.end());
    return true;
}

bool tableOnDevice(rope::Device* device, const TableRequest& table, std::vector<float>* rows, Failure* failure) {
    RopePlan plan;
    if (ropePlanTable(&table.description, &device->limits(), &plan) != ROPE_SUCCESS)
        return refuse(failure, plan.reason.text);
    SlotBytes slots;
    slots.set(ROPE_SLOT_POSITIONS, table.positions.values);
    slots.bytes[ROPE_SLOT_FREQUENCIES] = frequencyWords(table.description.frequencies, table.description.angle);
    if (!runPlans(device, {plan}, {ROPE_SLOT_ROWS}, &slots, failure)) return false;
    rows->resize(2 * table.rows * table.description.frequencies.count);
    std::memcpy(rows->data(), slots.bytes[ROPE_SLOT_ROWS].data(), rows->size() * sizeof(float));
    return true;
}

bool runTable(const TableOptions& options, Failure* failure) {
    Progress progress;
    const std::vector<PathOption> inputs = {{"--config", options.encoding.model.config, ""},
                                            {"--positions", options.positions, ""}};
    const std::vector<PathOption> outputs = {{"--cos", options.cos, ""}, {"--sin", options.sin, ""}};
    TableRequest table;
    Target target;
    progress.show("reading");
    if (!checkPaths(inputs, outputs, failure) || !readTableRequest(options, &table, failure) ||
        !openTarget(options.encoding.device, &target, failure))
        return false;
    std::vector<float> rows;
    progress.show("making " + std::to_string(table.rows) + " rows");
    if (!(target.device ? tableOnDevice(&target.device, table, &rows, failure)
                        : tableOnCpu(table, target.reference, &rows, failure)))
        return false;
    progress.show("writing");
    const uint64_t pairs = table.description.frequencies.count;
    std::vector<OutputArray> files;
    for (size_t i = 0; i < outputs.size(); ++i) {
        rope::NpyArray array;
        if (table.positions.batch != 0) array.shape.push_back(table.positions.batch);
        array.shape.insert(array.shape.end(), {table.positions.tokens, pairs});
        array.data.resize(rows.size() / 2 * sizeof(float));
        for (uint64_t row = 0; row < table.rows; ++row) // has its cosines, then its sines
            std::memcpy(&array.data[row * pairs * sizeof(float)], &rows[(2 * row + i) * pairs], pairs * sizeof(float));
        files.push_back({outputs[i], std::move(array)});
    }
    if (!writeArrays(files, failure)) return false;
    progress.show("");
    sayRemarksAndNotes("table", table.encoding);
    std::printf("%zu bytes: cos and sin of %" PRIu64 " positions and %" PRIu64 " pairs in float32\n",
                rows.size() * sizeof(float), table.rows, pairs);
    return true;
}

const char kTableExample[] =
    "example:\n"
    "  echo '{\"model_type\": \"llama\", \"head_dim\": 128, \"rope_theta\": 500000}' > config.json\n"
    "  vkrope table --config config.json --positions 0:4096 --cos cos.npy --sin sin.npy";

} // namespace

RunCommand addTableCommand(CLI::App* app) {
    const auto options = std::make_shared<TableOptions>();
    addEncodingOptions(app, &options->encoding);
    require(addOption(app, "--positions", &options->positions, kPositionsHelp));
    require(addOption(app, "--cos", &options->cos, "the file to write the cosines to, float32 [positions, pairs]"));
    require(addOption(app, "--sin", &options->sin, "the file to write the sines to"));
    addFooter(app, kTableExample);
    return [options](Failure* failure) { return runTable(*options, failure); };
}

} // namespace tool
