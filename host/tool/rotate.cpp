// vkrope rotate
#include "tool/element.hpp"
#include "tool/output.hpp"
#include "tool/progress.hpp"
#include "tool/rotate_run.hpp"
#include "tool/tool.hpp"
#include "tool/option_values.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

namespace tool {
namespace {

struct Options {
    EncodingOptions encoding;
    std::string positions, cos, sin, q, q_out, k, k_out;
    std::string order = "bshd", pairing, pairing_out, source, element, element_out, angle, device;
    std::optional<uint32_t> rotary_offset, skip_first, skip_last;
    uint32_t chunk_dim = 0; // 0: not given
    bool transpose = false, inverse = false, shift = false;
};

RopePairing pairingOf(const std::string& name) {
    return name == "half" ? ROPE_PAIRING_HALF : name == "interleaved" ? ROPE_PAIRING_INTERLEAVED : ROPE_PAIRING_DEFAULT;
}

// ---- What is asked for -------------------------------------------------------------------------------------------

bool checkOptions(const Options& options, Failure* failure) {
    const bool given = !options.cos.empty();
    if (!given && options.encoding.model.config.empty() && options.encoding.frequencies.empty())
        return refuse(failure, "--config, --frequencies, or --cos and --sin are missing; one gives the angles");
    if (!given && options.positions.empty())
        return refuse(failure, "--positions is missing; it says where each token stands");
    if (!given && options.encoding.frequencies.empty() && options.encoding.scale != 0)
        return refuse(failure, "--scale goes with --frequencies, or with --cos and --sin");
    if (given && options.source == "inline")
        return refuse(failure, "--source inline computes cos and sin; with --cos and --sin it is table or rows");
    if (given && !options.angle.empty())
        return refuse(failure, "--angle says how cos and sin are made; --cos and --sin are made already");
    const std::vector<File> inputs = {{"--config", options.encoding.model.config, ""},
                                      {"--frequencies", options.encoding.frequencies, ""},
                                      {"--positions", options.positions, ""},
                                      {"--cos", options.cos, ""},
                                      {"--sin", options.sin, ""},
                                      {"--q", options.q, ""},
                                      {"--k", options.k, ""}};
    std::vector<File> outputs = {{"--q-out", options.q_out, options.q}};
    if (!options.k.empty()) outputs.push_back({"--k-out", options.k_out, options.k});
    return checkPaths(inputs, outputs, failure);
}

bool readTensors(const Options& options, Rotation* rotation, Failure* failure) {
    const bool heads_first = options.order == "bhsd";
    const RopeElement element = elementOf(options.element);
    Tensor& q = rotation->q;
    Tensor& k = rotation->k;
    if (!readTensor("--q", options.q, heads_first, element, &q, failure)) return false;
    RopeRotateDescription& d = rotation->description;
    d.batch = q.batch;
    d.tokens = q.tokens;
    d.head_dim = q.head_dim;
    d.element_in = q.element;
    d.element_out = elementOf(options.element_out);
    d.q = {q.heads, q.layout, q.layout};
    if (options.k.empty()) return true;
    if (!readTensor("--k", options.k, heads_first, element, &k, failure)) return false;
    if (k.batch != q.batch || k.tokens != q.tokens || k.head_dim != q.head_dim) {
        return refuse(failure, "--q has the shape " + shapeOf(q.array) + " and --k " + shapeOf(k.array) +
                                   " in the order " + options.order + "; batch, tokens and head must be alike");
    }
    if (k.element != q.element) {
        return refuse(failure, std::string("--q holds ") + rope::npyTypeName(q.array.type) + " and --k " +
                                   rope::npyTypeName(k.array.type) + "; they must be alike");
    }
    d.k = {k.heads, k.layout, k.layout};
    return true;
}

// ---- Positions ------------------------------------------------------------------------------------------------------

// What the options say; without them the model's own, where positions leave those tokens out.
bool readSkips(const Options& options, RopeRotateDescription* d, Failure* failure) {
    const uint64_t first = options.skip_first.value_or(0), last = options.skip_last.value_or(0);
    if (first + last > d->tokens) {
        return refuse(failure, "--skip-first and --skip-last are " + std::to_string(first + last) +
                                   " tokens together, but --q has " + std::to_string(d->tokens));
    }
    d->skip_first = static_cast<uint32_t>(first);
    d->skip_last = static_cast<uint32_t>(last);
    return true;
}

void takeModelsSkips(const Options& options, Rotation* rotation) {
    RopeRotateDescription& d = rotation->description;
    const Encoding& encoding = rotation->encoding;
    if (options.skip_first || options.skip_last) return;
    if (uint64_t{rotation->positions.tokens} + encoding.skip_first + encoding.skip_last != d.tokens) return;
    d.skip_first = encoding.skip_first;
    d.skip_last = encoding.skip_last;
}

uint32_t turning(const RopeRotateDescription& d) { return d.tokens - d.skip_first - d.skip_last; }

bool refuseTokens(const Rotation& rotation, Failure* failure) {
    const RopeRotateDescription& d = rotation.description;
    const Positions& positions = rotation.positions;
    const std::string shape = (positions.axes == 1 ? "" : std::to_string(positions.axes) + " x ") +
                              (positions.batch == 0 ? "" : std::to_string(positions.batch) + " x ");
    const uint32_t axes = rotation.encoding.axes.count;
    return refuse(failure, "--positions has " + shape + std::to_string(positions.tokens) + " positions, but --q has " +
                               std::to_string(d.batch) + " x " + std::to_string(d.tokens) + " tokens" +
                               (turning(d) == d.tokens ? "" : ", of which " + std::to_string(turning(d)) + " turn") +
                               (axes == 1 ? ""
                                          : "; [axes, batch, tokens] gives them for each of the " +
                                                std::to_string(axes) + " axes, [batch, tokens] for all"));
}

bool readTokens(const Options& options, Rotation* rotation, Failure* failure) {
    RopeRotateDescription& d = rotation->description;
    Positions& positions = rotation->positions;
    const uint32_t axes = rotation->encoding.axes.count;
    d.positions.kind = ROPE_POSITIONS_COUNTED; // read by none where rows are given
    if (options.positions.empty()) return true;
    if (!readPositions(options.positions, axes, d.batch, &positions, failure)) return false;
    if (positions.ambiguous) {
        warn("rotate", "--positions has as many rows as there are sequences and axes, and is taken as [batch, tokens]; "
                       "[axes, batch, tokens] says the other");
    }
    if (positions.batch == 1) positions.batch = 0; // one for all, as [1, tokens] is elsewhere too
    takeModelsSkips(options, rotation);
    const bool fits = (positions.tokens == d.tokens || positions.tokens == turning(d)) &&
                      (positions.batch == 0 || positions.batch == d.batch);
    if (!fits && d.source != ROPE_SOURCE_ROWS) return refuseTokens(*rotation, failure);
    if (!fits) return refuse(failure, "--positions do not fit --q, and a row per token needs none; leave them out");
    if (d.source == ROPE_SOURCE_TABLE && !positions.whole) {
        return refuse(failure, options.cos.empty()
                                   ? "--source table has rows of whole positions, and not all of --positions are; "
                                     "inline and rows take them"
                                   : "--cos and --sin have rows of whole positions, and not all of --positions are; "
                                     "--frequencies take them");
    }
    surround(d.tokens, d.skip_first, d.skip_last, &positions);
    setPositions(positions, &d.positions);
    return true;
}

// ---- Cos and sin ----------------------------------------------------------------------------------------------------

// Rows of one sequence serve all of them.
void repeatRows(uint32_t times, std::vector<float>* rows) {
    const size_t size = rows->size();
    rows->reserve(size * times);
    for (uint32_t i = 1; i < times; ++i)
        rows->insert(rows->end(), rows->begin(), rows->begin() + static_cast<ptrdiff_t>(size));
}

// Rows of the tokens that turn, each sequence's `count` of them, become rows of all.
void surroundRows(const RopeRotateDescription& d, size_t count, size_t width, std::vector<float>* rows) {
    std::vector<float> all;
    for (auto row = rows->begin(); row != rows->end(); row += static_cast<ptrdiff_t>(count * width)) {
        all.resize(all.size() + d.skip_first * width);
        all.insert(all.end(), row, row + static_cast<ptrdiff_t>(count * width));
        all.resize(all.size() + d.skip_last * width);
    }
    *rows = std::move(all);
}

bool placeRows(const Options& options, const GivenRows& given, Rotation* rotation, Failure* failure) {
    RopeRotateDescription& d = rotation->description;
    const bool by_token = given.batch != 0 || options.source == "rows" || options.positions.empty();
    if (by_token && options.source == "table") {
        return refuse(failure,
                      given.batch != 0
                          ? "--source table takes --cos of [max positions, pairs]; with a batch axis it is rows"
                          : "--source table needs --positions");
    }
    d.source = by_token ? ROPE_SOURCE_ROWS : ROPE_SOURCE_TABLE;
    d.rows.count = given.count;
    d.count_outside = by_token ? 0 : 1;
    if (!by_token) return true;
    if (isGiven(options.encoding.axes)) {
        return refuse(failure,
                      "--sections and --axes go with --positions and --cos of [max positions, pairs]; a row per "
                      "token has its axes in it");
    }
    const bool one = given.batch == 0 && (given.count == d.tokens || given.count == turning(d));
    const uint32_t sequences = given.batch != 0 ? given.batch : one ? 1 : d.batch;
    const uint32_t count = given.batch != 0 ? given.count : given.count / sequences;
    if ((sequences != 1 && sequences != d.batch) || (given.batch == 0 && given.count % sequences != 0) ||
        (count != d.tokens && count != turning(d))) {
        return refuse(failure, "--cos has " + (given.batch == 0 ? "" : std::to_string(given.batch) + " x ") +
                                   std::to_string(given.count) + " rows, but --q has " + std::to_string(d.batch) +
                                   " x " + std::to_string(d.tokens) +
                                   " tokens; give a row per token, or --positions with a table");
    }
    if (count != d.tokens) surroundRows(d, count, 2 * given.pairs, &rotation->given_rows);
    if (sequences != d.batch) repeatRows(d.batch, &rotation->given_rows);
    return true;
}

bool checkHead(const Options& options, uint32_t rotary_dim, Rotation* rotation, Failure* failure) {
    RopeRotateDescription& d = rotation->description;
    d.rotary_dim = rotary_dim;
    if (uint64_t{d.rotary_begin} + rotary_dim <= d.head_dim) return true;
    const std::string text = "a rotary part of " + std::to_string(rotary_dim) + " elements from element " +
                             std::to_string(d.rotary_begin) + " on does not fit into heads of " +
                             std::to_string(d.head_dim);
    // Hugging Face's arrays hold each half twice.
    return refuse(failure, text + (!options.cos.empty() && rotary_dim == 2 * d.head_dim
                                       ? "; if --cos and --sin hold each value twice, give their first halves"
                                       : ""));
}

// Given rows hold what scale they hold; without being told, what undoes a scale would leave it in.
void warnOfScale(const Options& options, const GivenRows& given) {
    if (options.encoding.scale != 0 || (!options.inverse && !options.shift) || given.values.size() < 2 * given.pairs)
        return;
    const double scale = std::hypot(given.values[0], given.values[given.pairs]);
    if (std::fabs(scale - 1) < 1e-2) return;
    warn("rotate", "--cos and --sin seem to hold a scale of " + std::to_string(scale) + "; it stays without --scale");
}

bool readGiven(const Options& options, Rotation* rotation, Failure* failure) {
    RopeRotateDescription& d = rotation->description;
    GivenRows given;
    if (!readRows(options.cos, options.sin, elementOf(options.element), &given, failure)) return false;
    if (options.encoding.rotary_dim != 0 && options.encoding.rotary_dim != 2 * given.pairs) {
        return refuse(failure, "--rotary-dim is " + std::to_string(options.encoding.rotary_dim) + ", but --cos has " +
                                   std::to_string(given.pairs) + " pairs, of " + std::to_string(2 * given.pairs) +
                                   " elements");
    }
    d.rotary_begin = options.rotary_offset.value_or(0);
    d.frequencies.count = given.pairs;
    d.frequencies.scale = options.encoding.scale;
    warnOfScale(options, given);
    d.pairing_in = pairingOf(options.pairing);
    rotation->given_rows = std::move(given.values);
    if (!readAxes(options.encoding.axes, given.pairs, &rotation->encoding.axes, failure) ||
        !placeRows(options, given, rotation, failure) || !readTokens(options, rotation, failure))
        return false;
    d.frequencies.axes = frequenciesOf(rotation->encoding, rotation->positions).axes;
    return checkHead(options, 2 * given.pairs, rotation, failure);
}

bool readAngles(const Options& options, Rotation* rotation, Failure* failure) {
    RopeRotateDescription& d = rotation->description;
    Encoding& encoding = rotation->encoding;
    d.source = options.source == "table"  ? ROPE_SOURCE_TABLE
               : options.source == "rows" ? ROPE_SOURCE_ROWS
                                          : ROPE_SOURCE_INLINE;
    if (!readEncoding(options.encoding, &encoding, failure)) return false;
    if (!readTokens(options, rotation, failure)) return false;
    if (encoding.head_dim != 0 && encoding.head_dim != d.head_dim) {
        return refuse(failure, "--q has heads of " + std::to_string(d.head_dim) + " elements, but --config says " +
                                   std::to_string(encoding.head_dim));
    }
    d.angle = options.encoding.compatible ? ROPE_ANGLE_COMPATIBLE : ROPE_ANGLE_EXACT;
    d.rotary_begin = options.rotary_offset.value_or(encoding.rotary_begin);
    d.frequencies = frequenciesOf(encoding, rotation->positions);
    d.pairing_in = options.pairing.empty() ? encoding.pairing : pairingOf(options.pairing);
    if (!encoding.ignored_note.empty()) warn("rotate", encoding.ignored_note);
    if (options.pairing.empty() && encoding.unknown_pairing) {
        return refuse(failure, (encoding.model_type.empty() ? "--config has no model_type, which would tell the pairing"
                                                            : "--config is of the model type '" + encoding.model_type +
                                                                  "', whose pairing is not known") +
                                   std::string("; --pairing half or --pairing interleaved says it"));
    }
    if (!checkHead(options, 2 * d.frequencies.count, rotation, failure)) return false;
    if (d.source != ROPE_SOURCE_TABLE) return true;
    const int64_t first = lowest(rotation->positions);
    const int64_t count = highest(rotation->positions) - first + 1;
    d.rows.first_position = static_cast<int32_t>(first);
    d.rows.count = static_cast<uint32_t>(std::min<int64_t>(count, UINT32_MAX));
    return fitsMemory("a table of " + std::to_string(count) + " positions",
                      8.0 * static_cast<double>(count) * d.frequencies.count, failure);
}

bool readChunks(const Options& options, Rotation* rotation, Failure* failure) {
    RopeRotateDescription& d = rotation->description;
    const bool interleaved = d.pairing_in == ROPE_PAIRING_INTERLEAVED && d.pairing_out != ROPE_PAIRING_HALF;
    if (options.chunk_dim != 0 && interleaved)
        return refuse(failure, "--chunk-dim goes with half pairing, and the pairs are interleaved");
    if (!interleaved) d.chunk_dim = options.chunk_dim != 0 ? options.chunk_dim : rotation->encoding.chunk_dim;
    if (options.chunk_dim == 0) return true;
    if (d.chunk_dim % 2 == 0 && d.rotary_dim % d.chunk_dim == 0) return true;
    return refuse(failure, "--chunk-dim is " + std::to_string(d.chunk_dim) +
                               "; it must be even and divide the rotary part of " + std::to_string(d.rotary_dim) +
                               " elements");
}

// Rows hold the scale that the operation wants, so that nothing is rounded twice: those made here from the start, given
// ones multiplied once.
void scaleRows(Rotation* rotation) {
    RopeRotateDescription& d = rotation->description;
    const bool inverse = d.operation == ROPE_OPERATION_INVERSE;
    if (d.source == ROPE_SOURCE_INLINE || (!inverse && d.operation != ROPE_OPERATION_SHIFT)) return;
    const double held = d.frequencies.scale == 0 ? 1 : d.frequencies.scale;
    const double wanted = inverse ? 1 / held : 1;
    for (float& value : rotation->given_rows) value = static_cast<float>(value * (wanted / held));
    d.frequencies.scale = wanted;
    d.operation = inverse ? ROPE_OPERATION_TRANSPOSE : ROPE_OPERATION_FORWARD;
}

bool read(const Options& options, Rotation* rotation, Failure* failure) {
    RopeRotateDescription& d = rotation->description;
    if (!readTensors(options, rotation, failure) || !readSkips(options, &d, failure)) return false;
    if (!(options.cos.empty() ? readAngles(options, rotation, failure) : readGiven(options, rotation, failure)))
        return false;
    d.operation = options.transpose ? ROPE_OPERATION_TRANSPOSE
                  : options.inverse ? ROPE_OPERATION_INVERSE
                  : options.shift   ? ROPE_OPERATION_SHIFT
                                    : ROPE_OPERATION_FORWARD;
    d.pairing_out = pairingOf(options.pairing_out);
    if (options.pairing_out.empty() && options.pairing.empty()) d.pairing_out = rotation->encoding.pairing_out;
    const RopePairing in = d.pairing_in == ROPE_PAIRING_DEFAULT ? ROPE_PAIRING_HALF : d.pairing_in;
    const bool moved = d.pairing_out != ROPE_PAIRING_DEFAULT && d.pairing_out != in;
    const bool converted = d.element_out != ROPE_ELEMENT_DEFAULT && d.element_out != d.element_in;
    d.out_of_place = moved || converted ? 1 : 0;
    scaleRows(rotation);
    return readChunks(options, rotation, failure);
}

// ---- The command
// ------------------------------------------------------------------------------------------------------

Output outputOf(const char* option, const std::string& path, const Rotation& rotation, const Tensor& tensor,
                std::vector<uint8_t> data) {
    const RopeRotateDescription& d = rotation.description;
    Output output = {{option, path, ""}, {}};
    output.array.type = typeOf(d.element_out == ROPE_ELEMENT_DEFAULT ? d.element_in : d.element_out);
    output.array.shape = tensor.array.shape;
    output.array.data = std::move(data);
    return output;
}

bool run(Options options, Failure* failure) {
    Progress progress;
    options.encoding.compatible = options.angle == "compatible";
    Rotation rotation;
    Target target;
    Rotated rotated;
    progress.show("reading");
    if (!checkOptions(options, failure) || !read(options, &rotation, failure) ||
        !openTarget(options.device, &target, failure))
        return false;
    progress.show("rotating");
    if (!(target.reference ? rotateOnReference(&rotation, &rotated, failure)
                           : rotateOnDevice(&target.device, &rotation, &rotated, failure)))
        return false;
    progress.show("writing");
    std::vector<Output> outputs;
    outputs.push_back(outputOf("--q-out", options.q_out, rotation, rotation.q, std::move(rotated.q)));
    if (!options.k.empty())
        outputs.push_back(outputOf("--k-out", options.k_out, rotation, rotation.k, std::move(rotated.k)));
    if (!writeAll(outputs, failure)) return false;
    progress.show("");
    if (rotated.outside != 0) {
        const RopeRotateDescription& d = rotation.description;
        warn("rotate", std::to_string(rotated.outside) + " of " + std::to_string(uint64_t{d.batch} * d.tokens) +
                           " tokens have positions outside the table of " + std::to_string(d.rows.count) +
                           "; they pass through unchanged");
    }
    return true;
}

// ---- Its options
// --------------------------------------------------------------------------------------------------------

void addFiles(CLI::App* app, Options* options) {
    app->add_option("--positions", options->positions, kPositionsHelp);
    CLI::Option* cos = app->add_option("--cos", options->cos,
                                       "in place of frequencies a given table, [max positions, pairs], read by "
                                       "position; or, without --positions, with --source rows or as [batch, tokens, "
                                       "pairs], one row per token");
    CLI::Option* sin = app->add_option("--sin", options->sin, "the table's sines, alike");
    cos->needs(sin)->excludes(app->get_option("--config"))->excludes(app->get_option("--frequencies"));
    sin->needs(cos);
    app->add_option("--q", options->q, "an .npy of rank 4 in the order of --order, or [batch, seq, dim] of one head")
        ->required();
    app->add_option("--q-out", options->q_out, "the .npy to write, of the same shape")->required();
    CLI::Option* k = app->add_option("--k", options->k, "K beside Q, with heads of its own");
    CLI::Option* k_out = app->add_option("--k-out", options->k_out, "the .npy to write");
    k->needs(k_out);
    k_out->needs(k);
}

void addChoices(CLI::App* app, Options* options) {
    const CLI::IsMember pairing({"half", "interleaved"}), element({"f32", "f16", "bf16"});
    app->add_option("--order", options->order, "bshd or bhsd: batch, seq, heads, dim; without it bshd")
        ->check(CLI::IsMember({"bshd", "bhsd"}));
    app->add_option("--pairing", options->pairing,
                    "half or interleaved; without it the model's, which must be known, and with other frequencies half")
        ->check(pairing);
    app->add_option("--pairing-out", options->pairing_out,
                    "that of the output; without it the model's, else the input's")
        ->check(pairing);
    takesCount(
        app->add_option("--rotary-offset", options->rotary_offset, "element of the head where the rotary part starts"),
        "a whole number", 0, UINT32_MAX);
    takesCount(app->add_option("--chunk-dim", options->chunk_dim,
                               "half pairing inside chunks of so many elements; without it the model's, else of the "
                               "whole rotary part"),
               "a whole number", 2, 2 * ROPE_MAX_PAIRS);
    CLI::Option* transpose =
        app->add_flag("--transpose", options->transpose, "turn back, keeping the scale: the gradient");
    CLI::Option* inverse = app->add_flag("--inverse", options->inverse, "turn back and undo the scale");
    app->add_flag("--shift", options->shift, "turn without scale: by a delta, what is rotated already")
        ->excludes(transpose)
        ->excludes(inverse);
    inverse->excludes(transpose);
    app->add_option("--source", options->source,
                    "inline: cos and sin computed in the kernel; table: one by position; rows: one per token; without "
                    "it inline")
        ->check(CLI::IsMember({"table", "rows", "inline"}));
    app->add_option("--element", options->element, "what the arrays hold: f32, f16 or bf16, which travels as uint16")
        ->check(element);
    app->add_option("--element-out", options->element_out, "what the output holds; without it the same")
        ->check(element);
    app->add_option("--angle", options->angle,
                    "exact, or compatible: the float32 product that PyTorch forms; without it exact")
        ->check(CLI::IsMember({"exact", "compatible"}));
    app->add_option("--device", options->device, kDeviceHelp);
}

void addSkips(CLI::App* app, Options* options) {
    takesCount(app->add_option("--skip-first", options->skip_first,
                               "tokens at each sequence's begin that are not turned; --positions may leave them out. "
                               "Without it the model's, where they do"),
               "a whole number", 0, UINT32_MAX);
    takesCount(app->add_option("--skip-last", options->skip_last, "and at its end"), "a whole number", 0, UINT32_MAX);
}

// Needs nothing but a shell: an array of 0.747s, and positions of 4 x 4 patches.
const char kExample[] =
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

Work addRotate(CLI::App* app) {
    const auto options = std::make_shared<Options>();
    addEncodingOptions(app, &options->encoding);
    addFiles(app, options.get());
    addSkips(app, options.get());
    addChoices(app, options.get());
    app->footer(kExample);
    return [options](Failure* failure) { return run(*options, failure); };
}

} // namespace tool
