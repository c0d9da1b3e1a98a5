// vkrope rotate: rotates Q and K.
#include "program/commands/rotate_request.hpp"
#include "program/elements.hpp"
#include "program/files/arrays.hpp"
#include "program/option_values.hpp"
#include "program/progress.hpp"
#include "program/target.hpp"
#include "program/tool.hpp"

#include <cstring>
#include <memory>
#include <optional>

namespace tool {
namespace {

// ---- The rotation, on a device or on the CPU

struct RotateResult {
    std::vector<uint8_t> q, k;
};

RopeElement outputElement(const RopeRotateDescription& d) {
    return d.element_out == ROPE_ELEMENT_DEFAULT ? d.element : d.element_out;
}

size_t outputBytes(const RopeRotateDescription& d, const Tensor& tensor) {
    return static_cast<size_t>(tensor.array.count()) * ropeElementBytes(outputElement(d));
}

bool rotateOnDevice(rope::Device* device, RotateRequest* request, RotateResult* result, Failure* failure) {
    RopeRotateDescription& d = request->description;
    RopePlan plan;
    if (ropePlanRotate(&d, &device->limits(), &plan) != ROPE_SUCCESS) return refuse(failure, plan.reason.text);
    SlotBytes slots;
    slots.set(ROPE_SLOT_POSITIONS, request->positions.values);
    slots.bytes[ROPE_SLOT_Q] = std::move(request->q.array.data);
    slots.bytes[ROPE_SLOT_K] = std::move(request->k.array.data);
    slots.bytes[ROPE_SLOT_FREQUENCIES] = frequencyWords(d.rotation.frequencies, d.rotation.angle);
    const RopeSlot q = d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q;
    const RopeSlot k = d.out_of_place != 0 ? ROPE_SLOT_K_OUT : ROPE_SLOT_K;
    if (!runPlans(device, {plan}, {q, k}, &slots, failure)) return false;
    result->q = std::move(slots.bytes[q]);
    result->k = std::move(slots.bytes[k]);
    result->q.resize(outputBytes(d, request->q)); // buffers end with a whole word
    if (d.k.heads != 0) result->k.resize(outputBytes(d, request->k));
    return true;
}

// Has the shaders' own bits, or as the reference computes in double and rounds once to the output's element.
bool rotateOnCpu(const RotateRequest& request, bool reference, RotateResult* result, Failure* failure) {
    RopeRotateDescription d = request.description;
    d.out_of_place = 1;
    const RopeElement element = outputElement(d);
    const size_t q_count = static_cast<size_t>(request.q.array.count());
    const size_t k_count = static_cast<size_t>(d.k.heads != 0 ? request.k.array.count() : 0);
    std::vector<double> q(reference ? q_count : 0), k(reference ? k_count : 0);
    result->q.resize(q_count * ropeElementBytes(element));
    result->k.resize(k_count * ropeElementBytes(element));
    RopeHostRotate data = {};
    data.positions = request.positions.values.data();
    data.q = request.q.array.data.data();
    data.k = request.k.array.data.data();
    data.reference_q = reference ? q.data() : nullptr;
    data.reference_k = reference ? k.data() : nullptr;
    data.q_out = result->q.data();
    data.k_out = result->k.data();
    RopeReason reason;
    if (ropeHostRunRotate(&d, &data, &reason) != ROPE_SUCCESS) return refuse(failure, reason.text);
    if (reference) {
        result->q = roundedOnce(q, element, result->q);
        result->k = roundedOnce(k, element, result->k);
    }
    return true;
}

// ---- What is written and said

OutputArray rotateOutput(const char* option, const std::string& path, const RotateRequest& request,
                         const Tensor& tensor, std::vector<uint8_t> data) {
    OutputArray output = {{option, path, ""}, {}};
    output.array.type = typeOf(outputElement(request.description));
    output.array.shape = tensor.array.shape;
    output.array.data = std::move(data);
    return output;
}

// If an array's tokens and heads are equal in number, no position tells that its axes are in another order.
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

bool runRotate(const RotateOptions& options, Failure* failure) {
    Progress progress;
    RotateRequest request;
    Target target;
    RotateResult result;
    progress.show("reading");
    if (!readRotateRequest(options, &request, failure) || !openTarget(options.encoding.device, &target, failure))
        return false;
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
    return true;
}

// ---- The options of the command

void addFileOptions(CLI::App* app, RotateOptions* options) {
    require(addOption(app, "--positions", &options->positions, kPositionsHelp));
    require(addOption(app, "--q", &options->q, "an array in the order of --order"));
    require(addOption(app, "--q-out", &options->q_out, "the file to write, of the same shape"));
    CLI::Option* k = addOption(app, "--k", &options->k, "K beside Q, with heads of its own");
    needsEachOther(k, addOption(app, "--k-out", &options->k_out, "the file to write"));
}

void addChoiceOptions(CLI::App* app, RotateOptions* options) {
    takesOneOf(addOption(app, "--order", &options->order,
                         "the axes: batch, seq, heads, dim as bshd or bhsd; without a batch shd or hsd; with one head "
                         "bsd; without it bshd, and bsd if the rank is 3"),
               {"bshd", "bhsd", "bsd", "shd", "hsd"});
    takesOneOf(addOption(app, "--pairing", &options->pairing,
                         "half or interleaved; without it the model's, which must be known"),
               pairingNames());
    takesOneOf(addOption(app, "--pairing-out", &options->pairing_out,
                         "the pairing of the output; without it the model's, else the input's"),
               pairingNames());
    takesCount(
        addOption(app, "--rotary-offset", &options->rotary_offset, "element of the head where the rotary part starts"),
        "a whole number", 0, UINT32_MAX);
    CLI::Option* transpose =
        addFlag(app, "--transpose", &options->transpose, "turn back, keeping the scale: the gradient");
    CLI::Option* inverse = addFlag(app, "--inverse", &options->inverse, "turn back and undo the scale");
    CLI::Option* shift =
        addFlag(app, "--shift", &options->shift, "turn rotated elements once more, by a delta, without scale");
    excludes(shift, transpose);
    excludes(shift, inverse);
    excludes(inverse, transpose);
    takesOneOf(addOption(app, "--element", &options->element, kElementHelp), elementNames());
    takesOneOf(addOption(app, "--element-out", &options->element_out, "what the output holds; without it the same"),
               elementNames());
}

// The examples need nothing but a shell: they write an array of 0.747s, and positions of 4 x 4 patches.
const char kRotateExample[] =
    "examples, of text and of an image whose positions are [axes, batch, tokens]:\n"
    "  echo '{\"model_type\": \"qwen2_vl\", \"head_dim\": 128, \"rope_theta\": 500000, \"rope_scaling\": "
    "{\"mrope_section\": [16, 24, 24]}}' > "
    "config.json\n"
    "  printf '\\223NUMPY\\1\\0v\\0%-117s\\n' \"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 16, 32, 128), "
    "}\" > q.npy\n"
    "  head -c 262144 /dev/zero | tr '\\0' '?' >> q.npy\n"
    "  vkrope rotate --config config.json --positions 0:16 --q q.npy --q-out q_rotated.npy\n"
    "  printf '\\223NUMPY\\1\\0v\\0%-117s\\n' \"{'descr': '<i4', 'fortran_order': False, 'shape': (3, 1, 16), }\" "
    "> thw.npy\n"
    "  for at in 0 i/4 i%4; do\n"
    "    for i in $(seq 0 15); do printf \"\\\\$(printf %03o $(($at)))\\0\\0\\0\"; done\n"
    "  done >> thw.npy\n"
    "  vkrope rotate --config config.json --positions thw.npy --q q.npy --q-out q_image.npy";

} // namespace

RunCommand addRotateCommand(CLI::App* app) {
    const auto options = std::make_shared<RotateOptions>();
    addEncodingOptions(app, &options->encoding);
    addFileOptions(app, options.get());
    addChoiceOptions(app, options.get());
    addFooter(app, kRotateExample);
    return [options](Failure* failure) { return runRotate(*options, failure); };
}

} // namespace tool
