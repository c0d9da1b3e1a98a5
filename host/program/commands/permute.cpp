// vkrope permute: permutes weights made for one pairing to the other.
#include "models/config.hpp"
#include "program/files/array_file.hpp"
#include "program/files/arrays.hpp"
#include "program/format_names.hpp"
#include "program/option_values.hpp"
#include "program/output.hpp"
#include "program/progress.hpp"
#include "program/tool.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstring>
#include <memory>

namespace tool {
namespace {

struct PermuteOptions {
    std::string to, input, output;
    uint32_t heads = 0, head_dim = 0; // one of them is given
    uint32_t rotary_dim = 0, rotary_offset = 0;
};

bool findPermutation(const PermuteOptions& options, const std::string& name, const rope::NpyArray& weights,
                     std::vector<uint32_t>* permutation, Failure* failure) {
    const uint64_t rows = weights.shape.empty() ? 0 : weights.shape[0];
    const bool counted = options.heads != 0;
    const uint32_t given = counted ? options.heads : options.head_dim;
    if (rows == 0 || rows % given != 0) {
        return refuse(failure, name + " has the shape " + shapeText(weights) +
                                   "; its first axis must be heads * head_dim with " +
                                   (counted ? "--heads " : "--head-dim ") + std::to_string(given));
    }
    const uint64_t head_dim = counted ? rows / given : given;
    if (head_dim > UINT32_MAX || options.rotary_offset >= head_dim) {
        return refuse(failure, "the rotary part from element " + std::to_string(options.rotary_offset) +
                                   " on does not fit into heads of " + std::to_string(head_dim));
    }
    const uint64_t most = static_cast<uint64_t>(rope::kMaxHeadDim);
    if (head_dim > most) {
        return refuse(failure, name + " has the shape " + shapeText(weights) + ", which makes heads of " +
                                   std::to_string(head_dim) + " rows; they may have " + std::to_string(most));
    }
    const uint32_t dim = static_cast<uint32_t>(head_dim);
    const RopePairing to = pairingOf(options.to);
    const uint32_t rotary_dim = options.rotary_dim != 0 ? options.rotary_dim : dim - options.rotary_offset;
    permutation->resize(dim);
    RopeReason reason;
    return ropePairPermutation(dim, options.rotary_offset, rotary_dim, to, permutation->data(), &reason) ==
               ROPE_SUCCESS ||
           refuse(failure, reason.text);
}

// Judges an array by its header. Returns in *row_bytes those of a row.
bool judgeWeights(const PermuteOptions& options, const std::string& name, const rope::NpyArray& weights,
                  std::vector<uint32_t>* permutation, size_t* row_bytes, Failure* failure) {
    if (!findPermutation(options, name, weights, permutation, failure)) return false;
    uint64_t bytes = 0;
    const bool counted = rope::countArrayBytes(weights.shape, weights.type, &bytes);
    *row_bytes = static_cast<size_t>(bytes / weights.shape[0]);
    return (counted && bytes % weights.shape[0] == 0) ||
           refuse(failure, name + " is " + rope::npyTypeName(weights.type) + " " + shapeText(weights) +
                               "; its rows are no whole bytes");
}

void permuteRows(const std::vector<uint32_t>& permutation, size_t row_bytes, std::vector<uint8_t>* data) {
    std::vector<uint8_t> head(permutation.size() * row_bytes);
    for (size_t first = 0; first < data->size(); first += head.size()) {
        std::memcpy(head.data(), &(*data)[first], head.size());
        for (size_t row = 0; row < permutation.size(); ++row)
            std::memcpy(&(*data)[first + row * row_bytes], &head[permutation[row] * row_bytes], row_bytes);
    }
}

std::string describeHeads(const PermuteOptions& options, const std::string& name, const rope::NpyArray& weights) {
    const uint64_t rows = weights.shape[0];
    const uint64_t heads = options.heads != 0 ? options.heads : rows / options.head_dim;
    return oneLine(name) + ": " + shapeText(weights) + ", " + std::to_string(heads) + " heads of " +
           std::to_string(rows / heads) + "\n";
}

// Returns the place of an output: a tensor keeps its name where --output gives no other.
PathOption outputOf(const PermuteOptions& options, const std::string& name) {
    const ArrayPath to = arrayPathOf(options.output);
    PathOption output = {"--output", options.output, options.input};
    const bool named = arrayPathOf(options.input).kind != ArrayPath::Kind::npy;
    if (named && to.kind == ArrayPath::Kind::safetensors && to.name.empty()) {
        output.path = to.file;
        output.name = name;
    }
    return output;
}

std::string shownName(const PermuteOptions& options, const ArrayPath& from, const std::string& name) {
    return name.empty() ? options.input : from.file + ":" + name;
}

// Judges all arrays by their headers, before there is memory for their data.
bool judgeAll(const PermuteOptions& options, const ArrayPath& from, ArraySet* set, const std::vector<size_t>& indices,
              Failure* failure) {
    double bytes = 0;
    for (const size_t index : indices) {
        rope::NpyArray header;
        std::vector<uint32_t> permutation;
        std::string error;
        size_t row_bytes = 0;
        if (!set->readHeader(index, &header, &error)) return refuse(failure, "the input: " + error);
        if (!judgeWeights(options, shownName(options, from, set->names()[index]), header, &permutation, &row_bytes,
                          failure))
            return false;
        bytes += static_cast<double>(row_bytes) * static_cast<double>(header.shape[0]);
    }
    return fitsMemory("what " + options.input + " names", bytes, failure);
}

bool runPermute(const PermuteOptions& options, Failure* failure) {
    Progress progress;
    if (options.heads == 0 && options.head_dim == 0)
        return refuse(failure, "the heads are missing; --heads says how many there are, or --head-dim their size");
    const ArrayPath from = arrayPathOf(options.input);
    progress.show("reading " + options.input);
    if (!checkPaths({{"the input", options.input, ""}}, {outputOf(options, "")}, failure)) return false;
    const std::unique_ptr<ArraySet> set = openArrays("the input", from, failure);
    std::vector<size_t> indices;
    if (!set || !findArrays("the input", from, *set, &indices, failure)) return false;
    const ArrayPath to = arrayPathOf(options.output);
    if (indices.size() > 1 && (to.kind != ArrayPath::Kind::safetensors || !to.name.empty())) {
        return refuse(failure, options.input + " names " + std::to_string(indices.size()) + " tensors and --output " +
                                   options.output + " takes one; a FILE.safetensors without :NAME takes all");
    }
    std::vector<OutputArray> results(indices.size());
    std::vector<PathOption> outputs;
    outputs.reserve(indices.size());
    for (const size_t index : indices) outputs.push_back(outputOf(options, set->names()[index]));
    if (!checkNothingLost(outputs, failure)) return false;
    if (!judgeAll(options, from, set.get(), indices, failure)) return false;
    std::string lines;
    for (size_t i = 0; i < indices.size(); ++i) {
        const std::string& name = set->names()[indices[i]];
        const std::string shown = shownName(options, from, name);
        OutputArray& result = results[i];
        result.file = outputs[i];
        std::vector<uint32_t> permutation;
        std::string error;
        size_t row_bytes = 0;
        progress.show("permuting " + shown);
        if (!set->read(indices[i], &result.array, &error)) return refuse(failure, "the input: " + error);
        if (!judgeWeights(options, shown, result.array, &permutation, &row_bytes, failure)) return false;
        permuteRows(permutation, row_bytes, &result.array.data);
        lines += describeHeads(options, shown, result.array);
    }
    progress.show("writing " + options.output);
    if (!writeArrays(results, failure, set->metadata())) return false;
    progress.show("");
    std::fputs(lines.c_str(), stdout);
    return true;
}

const char kPermuteExample[] =
    "example, weights of 2 heads of 64:\n"
    "  printf '\\223NUMPY\\1\\0v\\0%-117s\\n' \"{'descr': '<f4', 'fortran_order': False, 'shape': "
    "(128, 32), }\" > w.npy\n"
    "  head -c 16384 /dev/urandom >> w.npy\n"
    "  vkrope permute --to half --heads 2 w.npy -o w_half.npy\n"
    "  vkrope permute --to half --heads 2 w.npy -o w.safetensors:model.layers.0.self_attn.q_proj.weight\n"
    "  vkrope permute --to interleaved --head-dim 64 'w.safetensors:*.q_proj.weight' -o w_back.safetensors";

} // namespace

RunCommand addPermuteCommand(CLI::App* app) {
    const auto options = std::make_shared<PermuteOptions>();
    app->add_option("--to", options->to, "the pairing that the weights are wanted for: half or interleaved")
        ->required()
        ->check(CLI::IsMember(pairingNames()));
    CLI::Option* heads = app->add_option("--heads", options->heads, "heads in the first axis of the weights");
    CLI::Option* head_dim = app->add_option("--head-dim", options->head_dim,
                                            "elements of a head, in place of --heads: right for Q and K together");
    heads->excludes(head_dim);
    takesCount(heads, "a whole number", 1, 1u << 30);
    takesCount(head_dim, "a whole number", 2, 1u << 30);
    takesCount(app->add_option("--rotary-dim", options->rotary_dim, "rotated elements of each head; without it all"),
               "a whole number", 2, uint64_t{2} * ROPE_MAX_PAIRS);
    takesCount(
        app->add_option("--rotary-offset", options->rotary_offset, "element of the head where the rotary part starts"),
        "a whole number", 0, UINT32_MAX);
    app->add_option(
           "weights", options->input,
           "an array of any type, [heads * head_dim, ...]; in a checkpoint FILE.safetensors:NAME; a * in NAME takes "
           "all tensors whose names have any text there")
        ->required();
    app->add_option(
           "-o,--output", options->output,
           "the file to write; a .safetensors gets the permuted tensors by their names, and nothing else; one that "
           "is there and holds other tensors is refused")
        ->required();
    app->footer(kArrayFilesHelp + std::string(kPermuteExample));
    return [options](Failure* failure) { return runPermute(*options, failure); };
}

} // namespace tool
