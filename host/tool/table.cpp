// vkrope table: makes the cos and sin of every position and pair.
#include "tool/input.hpp"
#include "tool/output.hpp"
#include "tool/progress.hpp"
#include "tool/target.hpp"
#include "tool/tool.hpp"

#include <CLI/CLI.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tool {
namespace {

struct TableOptions {
    EncodingOptions encoding;
    std::string positions, cos, sin, angle = "exact", device;
};

struct TableRequest {
    RopeTableDescription description = {};
    Positions positions;
    Encoding encoding;
    uint64_t rows = 0;
};

bool readTableRequest(const TableOptions& options, TableRequest* table, Failure* failure) {
    if (!readEncoding(options.encoding, &table->encoding, failure) ||
        !readPositionsOption(options.positions, table->encoding.axes.count, 0, &table->positions, failure))
        return false;
    RopeTableDescription& d = table->description;
    d.frequencies = describeFrequencies(table->encoding, table->positions);
    d.angle = options.encoding.compatible ? ROPE_ANGLE_COMPATIBLE : ROPE_ANGLE_EXACT;
    d.batch = table->positions.batch == 0 ? 1 : table->positions.batch;
    d.tokens = table->positions.tokens;
    describePositions(table->positions, &d.positions);
    table->rows = uint64_t{d.batch} * d.tokens;
    // The memory holds the rows, their two arrays, and the device's copy.
    return fitsMemory("a table of " + std::to_string(table->rows) + " positions",
                      3.0 * 8.0 * static_cast<double>(table->rows) * d.frequencies.count, failure);
}

bool tableOnReference(const TableRequest& table, std::vector<float>* rows, Failure* failure) {
    std::vector<double> values(2 * table.rows * table.description.frequencies.count);
    const RopeHostTable data = {table.positions.values.data(), values.data(), nullptr};
    RopeReason reason;
    if (ropeHostRunTable(&table.description, &data, &reason) != ROPE_SUCCESS) return refuse(failure, reason.text);
    rows->assign(values.begin(), values.end());
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

// Returns the cosines or the sines as [positions, pairs], or with a batch as [batch, tokens, pairs].
rope::NpyArray cosOrSin(const TableRequest& table, const std::vector<float>& rows, bool sines) {
    const size_t pairs = table.encoding.frequencies.size();
    rope::NpyArray array;
    array.type = rope::NpyArray::Type::f32;
    if (table.positions.batch != 0) array.shape.push_back(table.positions.batch);
    array.shape.push_back(table.positions.tokens);
    array.shape.push_back(pairs);
    array.data.resize(rows.size() / 2 * sizeof(float));
    for (size_t row = 0; row < table.rows; ++row) {
        std::memcpy(&array.data[row * pairs * sizeof(float)], &rows[2 * row * pairs + (sines ? pairs : 0)],
                    pairs * sizeof(float));
    }
    return array;
}

bool runTable(TableOptions options, Failure* failure) {
    Progress progress;
    options.encoding.compatible = options.angle == "compatible";
    if (options.encoding.model.config.empty() && options.encoding.frequencies.empty())
        return refuse(failure, "--config or --frequencies is missing; one of them gives the frequencies");
    const PathOption cosines = {"--cos", options.cos, ""}, sines = {"--sin", options.sin, ""};
    const std::vector<PathOption> inputs = {{"--config", options.encoding.model.config, ""},
                                            {"--frequencies", options.encoding.frequencies, ""},
                                            {"--positions", options.positions, ""}};
    TableRequest table;
    Target target;
    progress.show("reading");
    if (!checkPaths(inputs, {cosines, sines}, failure) || !readTableRequest(options, &table, failure) ||
        !openTarget(options.device, &target, failure))
        return false;
    std::vector<float> rows;
    progress.show("making " + std::to_string(table.rows) + " rows");
    if (target.reference ? !tableOnReference(table, &rows, failure)
                         : !tableOnDevice(&target.device, table, &rows, failure))
        return false;
    progress.show("writing");
    if (!writeArrays({{cosines, cosOrSin(table, rows, false)}, {sines, cosOrSin(table, rows, true)}}, failure))
        return false;
    progress.show("");
    const uint64_t pairs = table.encoding.frequencies.size();
    std::printf("%" PRIu64 " bytes: cos and sin of %" PRIu64 " positions and %" PRIu64 " pairs in float32\n",
                8 * table.rows * pairs, table.rows, pairs);
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
    app->add_option("--positions", options->positions, kPositionsHelp)->required();
    app->add_option("--cos", options->cos, "the .npy to write the cosines to, float32 [positions, pairs]")->required();
    app->add_option("--sin", options->sin, "the .npy to write the sines to")->required();
    app->add_option("--angle", options->angle,
                    "exact, or compatible: the float32 product that PyTorch forms; without it exact")
        ->check(CLI::IsMember({"exact", "compatible"}));
    app->add_option("--device", options->device, kDeviceHelp);
    app->footer(kTableExample);
    return [options](Failure* failure) { return runTable(*options, failure); };
}

} // namespace tool
