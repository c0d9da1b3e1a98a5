// vkrope permute: permutes weights made for one pairing to the other.
#include "tool/format_names.hpp"
#include "tool/input.hpp"
#include "tool/option_values.hpp"
#include "tool/output.hpp"
#include "tool/progress.hpp"
#include "tool/tool.hpp"

#include <CLI/CLI.hpp>

#include <cstring>
#include <memory>

namespace tool {
namespace {

struct PermuteOptions {
    std::string to, input, output;
    uint32_t heads = 0, rotary_dim = 0, rotary_offset = 0;
};

bool findPermutation(const PermuteOptions& options, const rope::NpyArray& weights, std::vector<uint32_t>* permutation,
                     Failure* failure) {
    const uint64_t rows = weights.shape.empty() ? 0 : weights.shape[0];
    if (rows == 0 || rows % options.heads != 0) {
        return refuse(failure, options.input + " has the shape " + shapeText(weights) +
                                   "; its first axis must be heads * head_dim with --heads " +
                                   std::to_string(options.heads));
    }
    const uint64_t head_dim = rows / options.heads;
    if (head_dim > UINT32_MAX || options.rotary_offset >= head_dim) {
        return refuse(failure, "the rotary part from element " + std::to_string(options.rotary_offset) +
                                   " on does not fit into heads of " + std::to_string(head_dim));
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

bool runPermute(const PermuteOptions& options, Failure* failure) {
    Progress progress;
    const PathOption input = {"the input", options.input, ""};
    const PathOption output = {"--output", options.output, options.input};
    OutputArray result = {output, {}};
    rope::NpyArray weights;
    std::vector<uint32_t> permutation;
    progress.show("reading " + options.input);
    if (!checkPaths({input}, {output}, failure) || !readArrayFile("the input", options.input, &weights, failure) ||
        !findPermutation(options, weights, &permutation, failure))
        return false;
    result.array.type = weights.type;
    result.array.shape = weights.shape;
    result.array.data.resize(weights.data.size());
    const size_t row_bytes = weights.data.size() / static_cast<size_t>(weights.shape[0]);
    const size_t head_dim = permutation.size();
    progress.show("permuting");
    for (size_t row = 0; row < weights.shape[0] && row_bytes != 0; ++row) {
        const size_t from = row - row % head_dim + permutation[row % head_dim];
        std::memcpy(&result.array.data[row * row_bytes], &weights.data[from * row_bytes], row_bytes);
    }
    progress.show("writing " + options.output);
    return writeArrays({result}, failure);
}

const char kPermuteExample[] =
    "example, weights of 2 heads of 64:\n"
    "  printf '\\223NUMPY\\1\\0v\\0%-117s\\n' \"{'descr': '<f4', 'fortran_order': False, 'shape': "
    "(128, 32), }\" > w.npy\n"
    "  head -c 16384 /dev/urandom >> w.npy\n"
    "  vkrope permute --to half --heads 2 w.npy -o w_half.npy";

} // namespace

RunCommand addPermuteCommand(CLI::App* app) {
    const auto options = std::make_shared<PermuteOptions>();
    app->add_option("--to", options->to, "the pairing that the weights are wanted for: half or interleaved")
        ->required()
        ->check(CLI::IsMember(pairingNames()));
    CLI::Option* heads = app->add_option("--heads", options->heads, "heads in the first axis of the weights");
    heads->required();
    takesCount(heads, "a whole number", 1, 1u << 30);
    takesCount(app->add_option("--rotary-dim", options->rotary_dim, "rotated elements of each head; without it all"),
               "a whole number", 2, 2 * ROPE_MAX_PAIRS);
    takesCount(
        app->add_option("--rotary-offset", options->rotary_offset, "element of the head where the rotary part starts"),
        "a whole number", 0, UINT32_MAX);
    app->add_option("weights", options->input, "an .npy of any type, [heads * head_dim, ...]")->required();
    app->add_option("-o,--output", options->output, "the .npy to write")->required();
    app->footer(kPermuteExample);
    return [options](Failure* failure) { return runPermute(*options, failure); };
}

} // namespace tool
