// vkrope rotate: rotates Q and K.
#include "program/commands/rotate_run.hpp"
#include "program/format_names.hpp"
#include "program/option_values.hpp"
#include "program/output.hpp"
#include "program/progress.hpp"
#include "program/tool.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>

namespace tool {
namespace {

OutputArray rotateOutput(const char* option, const std::string& path, const RotateRequest& request,
                         const Tensor& tensor, std::vector<uint8_t> data) {
    const RopeRotateDescription& d = request.description;
    OutputArray output = {{option, path, ""}, {}};
    output.array.type = typeOf(d.element_out == ROPE_ELEMENT_DEFAULT ? d.element : d.element_out);
    output.array.shape = tensor.array.shape;
    output.array.data = std::move(data);
    return output;
}

// If an array has as many tokens as heads, no position tells that its axes are in another order.
void noteOrder(const RotateOptions& options, const Tensor& q) {
    const std::vector<uint64_t>& shape = q.array.shape;
    const bool one_head = shape.size() == 3;
    const size_t tokens = one_head ? 0 : 1;
    if (!options.order.empty() || shape[tokens] != shape[tokens + 1] || shape[tokens] == 1) return;
    remark("rotate",
           "--q has the shape " + shapeText(q.array) + " and is taken as " +
               (one_head ? "[batch, seq, dim] of one head; --order shd says [seq, heads, dim], and --order bsd "
                           "this"
                         : "[batch, seq, heads, dim]; --order bhsd says [batch, heads, seq, dim], and --order "
                           "bshd this"));
}

bool runRotate(RotateOptions options, Failure* failure) {
    Progress progress;
    options.encoding.compatible = options.angle == "compatible";
    RotateRequest request;
    Target target;
    RotateResult result;
    progress.show("reading");
    if (!readRotateRequest(options, &request, failure) || !openTarget(options.device, &target, failure)) return false;
    progress.show("rotating");
    const auto rotate = [&](RotateRequest* one, RotateResult* to) {
        return target.device ? rotateOnDevice(&target.device, one, to, failure)
                             : rotateOnCpu(*one, target.reference, to, failure);
    };
    std::optional<RotateRequest> k = takeOutK(&request);
    RotateResult of_k;
    if (!rotate(&request, &result) || (k && !rotate(&*k, &of_k))) return false;
    if (k) result.k = std::move(of_k.q);
    progress.show("writing");
    std::vector<OutputArray> outputs;
    outputs.push_back(rotateOutput("--q-out", options.q_out, request, request.q, std::move(result.q)));
    if (!options.k.empty())
        outputs.push_back(rotateOutput("--k-out", options.k_out, request, k ? k->q : request.k, std::move(result.k)));
    if (!writeArrays(outputs, failure)) return false;
    progress.show("");
    noteOrder(options, request.q);
    sayRemarksAndNotes("rotate", request.encoding);
    const RopeRotateDescription& d = request.description;
    const bool given = !options.cos.empty(); // what is outside int32 is outside a given table
    const uint64_t left = given ? result.outside : request.without_position;
    if (left != 0) {
        warn("rotate", std::to_string(left) + " of " + std::to_string(uint64_t{d.batch} * d.tokens) +
                           " tokens have positions " +
                           (given ? "outside the table of " + std::to_string(d.rotation.rows.count)
                                  : std::string("beyond int32")) +
                           "; they pass through unchanged");
    }
    return true;
}

// ---- The options of the command
// --------------------------------------------------------------------------------------

void addFileOptions(CLI::App* app, RotateOptions* options) {
    app->add_option("--positions", options->positions, kPositionsHelp);
    CLI::Option* cos = app->add_option("--cos", options->cos,
                                       "a given table in place of frequencies, [max positions, pairs], read by "
                                       "position; or, without --positions, one row per token, with --source rows or "
                                       "as [batch, tokens, pairs]");
    CLI::Option* sin = app->add_option("--sin", options->sin, "the table's sines, of the same shape");
    addOutside(app, &options->outside, "leaves their tokens as they are and counts them");
    cos->needs(sin)->excludes(app->get_option("--config"))->excludes(app->get_option("--frequencies"));
    sin->needs(cos);
    app->add_option("--q", options->q, "an array in the order of --order")->required();
    app->add_option("--q-out", options->q_out, "the file to write, of the same shape")->required();
    CLI::Option* k = app->add_option("--k", options->k, "K beside Q, with heads of its own");
    CLI::Option* k_out = app->add_option("--k-out", options->k_out, "the file to write");
    k->needs(k_out);
    k_out->needs(k);
}

void addChoiceOptions(CLI::App* app, RotateOptions* options) {
    const CLI::IsMember pairing(pairingNames()), element(elementNames());
    app->add_option("--order", options->order,
                    "the axes: batch, seq, heads, dim as bshd or bhsd; without a batch shd or hsd; with one head bsd; "
                    "without it bshd, and bsd if the rank is 3")
        ->check(CLI::IsMember({"bshd", "bhsd", "bsd", "shd", "hsd"}));
    app->add_option("--pairing", options->pairing,
                    "half or interleaved; without it the model's, which must be known, and with other frequencies half")
        ->check(pairing);
    app->add_option("--pairing-out", options->pairing_out,
                    "the pairing of the output; without it the model's, else the input's")
        ->check(pairing);
    takesCount(
        app->add_option("--rotary-offset", options->rotary_offset, "element of the head where the rotary part starts"),
        "a whole number", 0, UINT32_MAX);
    takesCount(app->add_option("--chunk-dim", options->chunk_dim,
                               "half pairing inside chunks of so many elements; without it the model's, else of the "
                               "whole rotary part"),
               "a whole number", 2, uint64_t{2} * ROPE_MAX_PAIRS);
    CLI::Option* transpose =
        app->add_flag("--transpose", options->transpose, "turn back, keeping the scale: the gradient");
    CLI::Option* inverse = app->add_flag("--inverse", options->inverse, "turn back and undo the scale");
    app->add_flag("--shift", options->shift, "turn rotated elements once more, by a delta, without scale")
        ->excludes(transpose)
        ->excludes(inverse);
    inverse->excludes(transpose);
    app->add_option("--source", options->source,
                    "inline: the kernel computes cos and sin; table: a row by position; rows: a row per token; without "
                    "it inline")
        ->check(CLI::IsMember({"table", "rows", "inline"}));
    app->add_option("--element", options->element, kElementHelp)->check(element);
    app->add_option("--element-out", options->element_out, "what the output holds; without it the same")
        ->check(element);
    app->add_option("--angle", options->angle,
                    "exact, or compatible: the float32 product that PyTorch forms; without it exact")
        ->check(CLI::IsMember({"exact", "compatible"}));
    app->add_option("--device", options->device, kDeviceHelp);
}

void addSkipOptions(CLI::App* app, RotateOptions* options) {
    takesCount(app->add_option("--skip-first", options->skip_first,
                               "tokens at each sequence's begin that are not turned; --positions may leave them out; "
                               "without it the model's, if --positions leaves them out"),
               "a whole number", 0, UINT32_MAX);
    takesCount(app->add_option("--skip-last", options->skip_last, "tokens at each sequence's end that are not turned"),
               "a whole number", 0, UINT32_MAX);
}

// The examples need nothing but a shell: they write an array of 0.747s, and positions of 4 x 4 patches.
const char kRotateExample[] =
    "examples, of text and of an image whose positions are [axes, batch, tokens]:\n"
    "  echo '{\"model_type\": \"llama\", \"head_dim\": 128, \"rope_theta\": 500000}' > config.json\n"
    "  printf '\\223NUMPY\\1\\0v\\0%-117s\\n' \"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 16, 32, 128), "
    "}\" > q.npy\n"
    "  head -c 262144 /dev/zero | tr '\\0' '?' >> q.npy\n"
    "  vkrope rotate --config config.json --positions 0:16 --q q.npy --q-out q_rotated.npy\n"
    "  printf '\\223NUMPY\\1\\0v\\0%-117s\\n' \"{'descr': '<i4', 'fortran_order': False, 'shape': (3, 1, 16), }\" "
    "> thw.npy\n"
    "  for at in 0 i/4 i%4; do\n"
    "    for i in $(seq 0 15); do printf \"\\\\$(printf %03o $(($at)))\\0\\0\\0\"; done\n"
    "  done >> thw.npy\n"
    "  vkrope rotate --config config.json --sections 16,24,24 --positions thw.npy --q q.npy --q-out q_image.npy";

} // namespace

RunCommand addRotateCommand(CLI::App* app) {
    const auto options = std::make_shared<RotateOptions>();
    addEncodingOptions(app, &options->encoding);
    addFileOptions(app, options.get());
    addSkipOptions(app, options.get());
    addChoiceOptions(app, options.get());
    app->footer(kRotateExample);
    return [options](Failure* failure) { return runRotate(*options, failure); };
}

} // namespace tool
