// vkrope add-positions: adds sinusoids or a learned table to embeddings.
#include "program/commands/encoding.hpp"
#include "program/commands/positions.hpp"
#include "program/element.hpp"
#include "program/files/array_file.hpp"
#include "program/files/arrays.hpp"
#include "program/format_names.hpp"
#include "program/option_values.hpp"
#include "program/output.hpp"
#include "program/progress.hpp"
#include "program/target.hpp"
#include "program/tool.hpp"

#include <CLI/CLI.hpp>

#include <cstring>
#include <memory>

namespace tool {
namespace {

struct AddPositionsOptions {
    std::string x, out, table, frequencies, positions, order = "interleaved", element, element_out, device, outside;
    double base = 10000;
    double scale = 0; // 0: not given
    int32_t first_position = 0;
    bool cosine_first = false;
};

struct AdditionRequest {
    RopeAddDescription description = {};
    Tensor x;
    GivenTable table;
    Encoding encoding;
    Positions positions;
};

bool readSinusoids(const AddPositionsOptions& options, AdditionRequest* addition, Failure* failure) {
    RopeAddDescription& d = addition->description;
    std::vector<double>& values = addition->encoding.frequencies;
    if (!options.frequencies.empty()) {
        EncodingOptions own;
        own.frequencies = options.frequencies;
        if (!readEncoding(own, &addition->encoding, failure)) return false;
    } else if (d.dim % 2 == 0 && d.dim <= 2 * ROPE_MAX_PAIRS) { // the plan refuses any other dim
        RopeRule rule = {};
        rule.rotary_dim = d.dim;
        rule.base = options.base;
        values.resize(d.dim / 2);
        double scale;
        RopeReason reason;
        if (ropeMakeFrequencies(&rule, values.data(), &scale, &reason) != ROPE_SUCCESS)
            return refuse(failure, reason.text);
    }
    d.order = options.order == "halves" ? ROPE_SINUSOIDS_HALVES : ROPE_SINUSOIDS_INTERLEAVED;
    d.cosine_first = options.cosine_first;
    if (!options.frequencies.empty() && d.dim != 2 * values.size()) {
        return refuse(failure, "--frequencies has " + std::to_string(values.size()) + " pairs, but --x has " +
                                   std::to_string(d.dim) + " elements, two of each pair");
    }
    return true;
}

bool readLearnedTable(const AddPositionsOptions& options, AdditionRequest* addition, Failure* failure) {
    RopeAddDescription& d = addition->description;
    if (!readTable("--table", options.table, "[positions, dim]", elementOf(options.element), &addition->table, failure))
        return false;
    if (addition->table.columns != d.dim) {
        return refuse(failure, "--table has rows of " + std::to_string(addition->table.columns) +
                                   " elements, but --x has " + std::to_string(d.dim));
    }
    d.learned = 1;
    d.count_outside = 1;
    d.rows.count = addition->table.rows;
    d.rows.element = addition->table.element;
    d.rows.first_position = options.first_position;
    return true;
}

bool fitPositions(const RopeAddDescription& d, Positions* fitted, Failure* failure) {
    Positions& positions = *fitted;
    if (positions.batch == 1) positions.batch = 0; // one row serves every sequence
    if (positions.tokens != d.tokens || (positions.batch != 0 && positions.batch != d.batch)) {
        return refuse(failure, "--positions has " +
                                   (positions.batch == 0 ? "" : std::to_string(positions.batch) + " x ") +
                                   std::to_string(positions.tokens) + " positions, but --x has " +
                                   std::to_string(d.batch) + " x " + std::to_string(d.tokens) + " tokens");
    }
    return true;
}

bool readAdditionPositions(const AddPositionsOptions& options, AdditionRequest* addition, Failure* failure) {
    RopeAddDescription& d = addition->description;
    Positions& positions = addition->positions;
    const auto check = [&](Failure* why) { return fitPositions(d, &positions, why); };
    if (!readPositionsOption(options.positions, 1, d.batch, &positions, failure, check)) return false;
    if (d.learned != 0 && !positions.whole)
        return refuse(failure, "--table has rows of whole positions, and not all of --positions are");
    if (options.outside != "pass" &&
        !(d.learned != 0 ? checkInTable(positions, 0, d.tokens, "--table", d.rows.first_position, d.rows.count, failure)
                         : checkInInt32(positions, 0, d.tokens, failure)))
        return false;
    describePositions(positions, &d.positions);
    return true;
}

bool readAddition(const AddPositionsOptions& options, AdditionRequest* addition, Failure* failure) {
    RopeAddDescription& d = addition->description;
    if (!readEmbeddings("--x", options.x, elementOf(options.element), &addition->x, failure)) return false;
    d.batch = addition->x.batch;
    d.tokens = addition->x.tokens;
    d.dim = addition->x.head_dim;
    d.element = addition->x.element;
    d.element_out = options.element_out.empty() ? d.element : elementOf(options.element_out);
    d.out_of_place = d.element_out != d.element;
    d.scale = static_cast<float>(options.scale);
    if (!(options.table.empty() ? readSinusoids : readLearnedTable)(options, addition, failure) ||
        !readAdditionPositions(options, addition, failure))
        return false;
    if (options.table.empty()) d.frequencies = describeFrequencies(addition->encoding, addition->positions);
    return true;
}

size_t additionBytes(const AdditionRequest& addition) {
    return static_cast<size_t>(addition.x.array.count()) * ropeElementBytes(addition.description.element_out);
}

bool addOnDevice(rope::Device* device, const AdditionRequest& addition, std::vector<uint8_t>* out, uint32_t* outside,
                 Failure* failure) {
    const RopeAddDescription& d = addition.description;
    RopePlan plan;
    if (ropePlanAdd(&d, &device->limits(), &plan) != ROPE_SUCCESS) return refusePlan(plan, *device, failure);
    SlotBytes slots;
    slots.set(ROPE_SLOT_POSITIONS, addition.positions.values);
    slots.bytes[ROPE_SLOT_X] = addition.x.array.data;
    slots.bytes[ROPE_SLOT_ROWS] = addition.table.array.data;
    if (d.learned == 0) slots.bytes[ROPE_SLOT_FREQUENCIES] = frequencyWords(d.frequencies, d.angle);
    slots.set(ROPE_SLOT_COUNTER, std::vector<uint32_t>{0});
    const RopeSlot to = d.out_of_place != 0 ? ROPE_SLOT_X_OUT : ROPE_SLOT_X;
    if (!runPlans(device, {plan}, {to, ROPE_SLOT_COUNTER}, &slots, failure)) return false;
    *out = std::move(slots.bytes[to]);
    out->resize(additionBytes(addition)); // buffers end with a whole word
    std::memcpy(outside, slots.bytes[ROPE_SLOT_COUNTER].data(), sizeof *outside);
    return true;
}

bool addOnCpu(const AdditionRequest& addition, bool reference, std::vector<uint8_t>* out, uint32_t* outside,
              Failure* failure) {
    RopeAddDescription d = addition.description;
    d.out_of_place = 1;
    std::vector<double> values(reference ? static_cast<size_t>(addition.x.array.count()) : 0);
    std::vector<uint8_t> bits(additionBytes(addition));
    RopeHostAdd data = {addition.positions.values.data(),
                        d.learned != 0 ? addition.table.array.data.data() : nullptr,
                        addition.x.array.data.data(),
                        reference ? values.data() : nullptr,
                        bits.data(),
                        0};
    RopeReason reason;
    if (ropeHostRunAdd(&d, &data, &reason) != ROPE_SUCCESS) return refuse(failure, reason.text);
    *out = reference ? roundedOnce(values, d.element_out, bits) : std::move(bits);
    *outside = data.outside;
    return true;
}

bool runAddPositions(const AddPositionsOptions& options, Failure* failure) {
    Progress progress;
    const PathOption out = {"--out", options.out, options.x};
    const std::vector<PathOption> inputs = {{"--x", options.x, ""},
                                            {"--table", options.table, ""},
                                            {"--frequencies", options.frequencies, ""},
                                            {"--positions", options.positions, ""}};
    AdditionRequest addition;
    Target target;
    progress.show("reading");
    if (!checkPaths(inputs, {out}, failure) || !readAddition(options, &addition, failure) ||
        !openTarget(options.device, &target, failure))
        return false;
    OutputArray result = {out, {}};
    uint32_t outside = 0;
    progress.show("adding");
    if (!(target.device ? addOnDevice(&target.device, addition, &result.array.data, &outside, failure)
                        : addOnCpu(addition, target.reference, &result.array.data, &outside, failure)))
        return false;
    result.array.type = typeOf(addition.description.element_out);
    result.array.shape = addition.x.array.shape;
    progress.show("writing");
    if (!writeArrays({result}, failure)) return false;
    progress.show("");
    const bool learned = addition.description.learned != 0; // what is beyond int32 is outside its table
    const uint64_t left = learned ? outside
                                  : countBeyondInt32(addition.positions, 0, addition.x.tokens) *
                                        (addition.positions.batch == 0 ? addition.x.batch : 1);
    if (left == 0) return true;
    warn("add-positions",
         std::to_string(left) + " of " + std::to_string(uint64_t{addition.x.batch} * addition.x.tokens) +
             " tokens have positions " +
             (learned ? "outside the table of " + std::to_string(addition.table.rows) : std::string("beyond int32")) +
             "; they are given nothing");
    return true;
}

// The example needs nothing but a shell: it writes embeddings of 0.747s.
const char kAddPositionsExample[] =
    "example:\n"
    "  printf '\\223NUMPY\\1\\0v\\0%-117s\\n' \"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 16, 128), }\" "
    "> x.npy\n"
    "  head -c 8192 /dev/zero | tr '\\0' '?' >> x.npy\n"
    "  vkrope add-positions --positions 0:16 --x x.npy --out x_placed.npy";

void addSourceOptions(CLI::App* app, AddPositionsOptions* options) {
    CLI::Option* table =
        app->add_option("--table", options->table, "a learned table, [positions, dim]; without it sinusoids");
    CLI::Option* first = app->add_option("--first-position", options->first_position,
                                         "the position of the table's first row; without it 0");
    takesWhole(first, INT32_MIN, INT32_MAX);
    first->needs(table);
    addOutside(app, &options->outside, "gives their tokens nothing and counts them");
    CLI::Option* base = app->add_option("--base", options->base, "the sinusoids' base; without it 10000");
    takesNumber(base, "a number", 1, 0x1.fffffffffffffp63);
    CLI::Option* frequencies =
        app->add_option("--frequencies", options->frequencies,
                        "the sinusoids' own frequencies: float64, radians per position, one per pair");
    CLI::Option* order =
        app->add_option("--order", options->order,
                        "interleaved: sine and cosine of each pair in turns; halves: all sines, then all cosines; "
                        "without it interleaved");
    order->check(CLI::IsMember({"interleaved", "halves"}));
    CLI::Option* flip = app->add_flag("--cosine-first", options->cosine_first, "sines and cosines change places");
    frequencies->excludes(base);
    for (CLI::Option* option : {base, frequencies, order, flip}) option->excludes(table);
}

} // namespace

RunCommand addAddPositionsCommand(CLI::App* app) {
    const auto options = std::make_shared<AddPositionsOptions>();
    app->add_option("--x", options->x, "the embeddings, [batch, tokens, dim] or [tokens, dim]")->required();
    app->add_option("--out", options->out, "the file to write, of the same shape")->required();
    app->add_option("--positions", options->positions, kPositionsHelp)->required();
    addSourceOptions(app, options.get());
    takesNumber(app->add_option("--scale", options->scale,
                                "what the embeddings are multiplied by first, the root of dim in some models; without "
                                "it 1"),
                "a number", 0x1p-20, 0x1p20);
    const CLI::IsMember element(elementNames());
    app->add_option("--element", options->element, kElementHelp)->check(element);
    app->add_option("--element-out", options->element_out, "what the output holds; without it the same")
        ->check(element);
    app->add_option("--device", options->device, kDeviceHelp);
    app->footer(kArrayFilesHelp + std::string(kAddPositionsExample));
    return [options](Failure* failure) { return runAddPositions(*options, failure); };
}

} // namespace tool
