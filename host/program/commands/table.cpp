// vkrope table: makes the cos and sin of every position and pair.
#include "program/commands/encoding.hpp"
#include "program/commands/positions.hpp"
#include "program/files/arrays.hpp"
#include "program/progress.hpp"
#include "program/target.hpp"
#include "program/tool.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tool {
namespace {

// The formats of rows, as arrays.
struct TableFormat {
    const char* name;
    RopeRowsFormat rows;
    bool two_arrays;      // cosines and sines apart
    uint32_t per_pair[2]; // the last axes: pairs times the first, then the second; 0: there is none
    rope::NpyArray::Type type;
};
constexpr TableFormat kTableFormats[] = {
    {"two-arrays", ROPE_ROWS_TWO_ARRAYS, true, {1, 0}, rope::NpyArray::Type::f32},
    {"duplicated", ROPE_ROWS_DUPLICATED, true, {2, 0}, rope::NpyArray::Type::f32},
    {"split", ROPE_ROWS_SPLIT, false, {2, 0}, rope::NpyArray::Type::f32},
    {"interleaved", ROPE_ROWS_INTERLEAVED, false, {1, 2}, rope::NpyArray::Type::f32},
    {"complex", ROPE_ROWS_COMPLEX, false, {1, 0}, rope::NpyArray::Type::c64},
};

const TableFormat& formatOf(const std::string& name) {
    const auto* found = std::find_if(std::begin(kTableFormats), std::end(kTableFormats),
                                     [&name](const TableFormat& format) { return name == format.name; });
    return found == std::end(kTableFormats) ? kTableFormats[0] : *found;
}

struct TableOptions {
    EncodingOptions encoding;
    std::string positions, cos, sin, out, format = kTableFormats[0].name, angle = "exact", device, outside;
};

struct TableRequest {
    RopeTableDescription description = {};
    Positions positions;
    Encoding encoding;
    uint64_t rows = 0;
};

bool readTableRequest(const TableOptions& options, TableRequest* table, Failure* failure) {
    if (!readEncoding(options.encoding, &table->encoding, failure) ||
        !readPositionsOption(options.positions, table->encoding.axes.count, 0, &table->positions, failure) ||
        !readEncodingFor(table->positions, options.encoding, &table->encoding, failure) ||
        (options.outside != "pass" && !checkInInt32(table->positions, 0, table->positions.tokens, failure)))
        return false;
    RopeTableDescription& d = table->description;
    d.frequencies = describeFrequencies(table->encoding, table->positions);
    d.angle = options.encoding.compatible ? ROPE_ANGLE_COMPATIBLE : ROPE_ANGLE_EXACT;
    d.batch = table->positions.batch == 0 ? 1 : table->positions.batch;
    d.tokens = table->positions.tokens;
    describePositions(table->positions, &d.positions);
    table->rows = uint64_t{d.batch} * d.tokens;
    // The memory holds the rows, their arrays, and the device's copy.
    const double copies = formatOf(options.format).rows == ROPE_ROWS_DUPLICATED ? 4 : 3;
    return fitsMemory("a table of " + std::to_string(table->rows) + " positions",
                      copies * 8.0 * static_cast<double>(table->rows) * d.frequencies.count, failure);
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

// Returns the native rows in the order of a format: one array, or cosines and sines.
std::vector<rope::NpyArray> arraysOf(const TableFormat& format, const TableRequest& table,
                                     const std::vector<float>& rows) {
    const uint64_t pairs = table.description.frequencies.count;
    std::vector<rope::NpyArray> arrays(format.two_arrays ? 2 : 1);
    for (rope::NpyArray& array : arrays) {
        array.type = format.type;
        if (table.positions.batch != 0) array.shape.push_back(table.positions.batch);
        array.shape.insert(array.shape.end(), {table.positions.tokens, pairs * format.per_pair[0]});
        if (format.per_pair[1] != 0) array.shape.push_back(format.per_pair[1]);
        array.data.resize(array.count() * array.elementBytes());
    }
    RopeRows to = {};
    ropeSetRows(format.rows, static_cast<uint32_t>(pairs), static_cast<uint32_t>(table.rows), &to);
    const uint64_t values = arrays[0].data.size() / sizeof(float); // of one array
    for (size_t i = 0; i < rows.size(); ++i) {
        const uint64_t row = i / (2 * pairs), pair = i % pairs;
        const uint64_t sines = i % (2 * pairs) < pairs ? 0 : static_cast<uint64_t>(to.sin_offset);
        const uint64_t at = row * to.row_stride + pair * to.pair_stride + sines;
        for (const uint64_t place : {at, at + to.copy_offset})
            std::memcpy(&arrays[place / values].data[place % values * sizeof(float)], &rows[i], sizeof(float));
    }
    return arrays;
}

bool checkTableOptions(const TableOptions& options, std::vector<PathOption>* outputs, Failure* failure) {
    if (options.encoding.model.config.empty() && options.encoding.frequencies.empty())
        return refuse(failure, "--config or --frequencies is missing; one of them gives the frequencies");
    const bool two = formatOf(options.format).two_arrays;
    if (two && (options.cos.empty() || options.sin.empty() || !options.out.empty()))
        return refuse(failure, "--format " + options.format + " is two arrays; --cos and --sin name their files");
    if (!two && (!options.cos.empty() || !options.sin.empty() || options.out.empty()))
        return refuse(failure, "--format " + options.format + " is one array; --out names its file");
    if (two)
        *outputs = {{"--cos", options.cos, ""}, {"--sin", options.sin, ""}};
    else
        *outputs = {{"--out", options.out, ""}};
    const std::vector<PathOption> inputs = {{"--config", options.encoding.model.config, ""},
                                            {"--frequencies", options.encoding.frequencies, ""},
                                            {"--positions", options.positions, ""}};
    return checkPaths(inputs, *outputs, failure);
}

bool runTable(TableOptions options, Failure* failure) {
    Progress progress;
    options.encoding.compatible = options.angle == "compatible";
    std::vector<PathOption> outputs;
    TableRequest table;
    Target target;
    progress.show("reading");
    if (!checkTableOptions(options, &outputs, failure) || !readTableRequest(options, &table, failure) ||
        !openTarget(options.device, &target, failure))
        return false;
    std::vector<float> rows;
    progress.show("making " + std::to_string(table.rows) + " rows");
    if (!(target.device ? tableOnDevice(&target.device, table, &rows, failure)
                        : tableOnCpu(table, target.reference, &rows, failure)))
        return false;
    progress.show("writing");
    std::vector<rope::NpyArray> arrays = arraysOf(formatOf(options.format), table, rows);
    std::vector<OutputArray> files;
    uint64_t bytes = 0;
    for (size_t i = 0; i < arrays.size(); ++i) {
        bytes += arrays[i].data.size();
        files.push_back({outputs[i], std::move(arrays[i])});
    }
    if (!writeArrays(files, failure)) return false;
    progress.show("");
    sayRemarksAndNotes("table", table.encoding);
    const uint64_t beyond = countBeyondInt32(table.positions, 0, table.positions.tokens);
    if (beyond != 0) {
        warn("table", std::to_string(beyond) + " of " + std::to_string(table.rows) +
                          " positions are beyond int32; their cosines are 1 and their sines 0");
    }
    std::printf("%" PRIu64 " bytes: cos and sin of %" PRIu64 " positions and %zu pairs in float32\n", bytes, table.rows,
                table.encoding.frequencies.size());
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
    addOutside(app, &options->outside, "gives them cosines of 1 and sines of 0");
    app->add_option("--cos", options->cos, "the file to write the cosines to, float32 [positions, pairs]");
    app->add_option("--sin", options->sin, "the file to write the sines to");
    app->add_option("--out", options->out, "the file to write both to, in a format of one array");
    std::vector<std::string> names;
    for (const TableFormat& format : kTableFormats) names.emplace_back(format.name);
    app->add_option(
           "--format", options->format,
           "two-arrays: cos and sin apart, as in ONNX; duplicated: the same with each row twice side by side, as in "
           "Hugging Face; one array: split, a row's cosines and then its sines, as in vLLM; interleaved, "
           "[positions, pairs, 2]; complex, cos + i sin; without it two-arrays")
        ->check(CLI::IsMember(names));
    app->add_option("--angle", options->angle,
                    "exact, or compatible: the float32 product that PyTorch forms; without it exact")
        ->check(CLI::IsMember({"exact", "compatible"}));
    app->add_option("--device", options->device, kDeviceHelp);
    app->footer(kTableExample);
    return [options](Failure* failure) { return runTable(*options, failure); };
}

} // namespace tool
