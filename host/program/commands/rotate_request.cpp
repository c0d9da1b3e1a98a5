#include "program/commands/rotate_request.hpp"

#include "program/elements.hpp"
#include "program/files/arrays.hpp"

#include <algorithm>
#include <cmath>

namespace tool {
namespace {

// ---- Options and tensors -----------------------------------------------------------------------------------------

bool checkRotateOptions(const RotateOptions& options, Failure* failure) {
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
    const std::vector<PathOption> inputs = {{"--config", options.encoding.model.config, ""},
                                            {"--frequencies", options.encoding.frequencies, ""},
                                            {"--positions", options.positions, ""},
                                            {"--cos", options.cos, ""},
                                            {"--sin", options.sin, ""},
                                            {"--q", options.q, ""},
                                            {"--k", options.k, ""}};
    std::vector<PathOption> outputs = {{"--q-out", options.q_out, options.q}};
    if (!options.k.empty()) outputs.push_back({"--k-out", options.k_out, options.k});
    return checkPaths(inputs, outputs, failure);
}

bool readTensors(const RotateOptions& options, RotateRequest* request, Failure* failure) {
    const RopeElement element = elementOf(options.element);
    Tensor& q = request->q;
    Tensor& k = request->k;
    if (!readTensorFile("--q", options.q, options.order, element, &q, failure)) return false;
    RopeRotateDescription& d = request->description;
    d.batch = q.batch;
    d.tokens = q.tokens;
    d.head_dim = q.head_dim;
    d.element = q.element;
    d.element_out = elementOf(options.element_out);
    d.q = {q.heads, q.layout, q.layout};
    if (options.k.empty()) return true;
    if (!readTensorFile("--k", options.k, options.order, element, &k, failure)) return false;
    const bool may_differ = !options.encoding.model.config.empty(); // as the heads of latent attention do
    if (k.batch != q.batch || k.tokens != q.tokens || (k.head_dim != q.head_dim && !may_differ)) {
        const bool heads_first =
            options.order.empty() && k.batch == q.batch && k.heads == q.heads && q.array.shape.size() == 4;
        return refuse(failure,
                      "--q has the shape " + shapeText(q.array) + " and --k " + shapeText(k.array) +
                          (options.order.empty() ? "" : " in the order " + options.order) +
                          "; batch, tokens and head must be alike" +
                          (heads_first ? "; if both have their heads before their tokens, say --order bhsd" : ""));
    }
    if (k.element != q.element) {
        return refuse(failure, std::string("--q holds ") + rope::npyTypeName(q.array.type) + " and --k " +
                                   rope::npyTypeName(k.array.type) + "; they must be alike");
    }
    d.k = {k.heads, k.layout, k.layout};
    return true;
}

// ---- Positions ------------------------------------------------------------------------------------------------------

// The options say which tokens are skipped. Without them the model says it, if positions leave those tokens out.
bool readSkips(const RotateOptions& options, RopeRotateDescription* d, Failure* failure) {
    const uint64_t first = options.skip_first.value_or(0), last = options.skip_last.value_or(0);
    if (first + last > d->tokens) {
        return refuse(failure, "--skip-first and --skip-last are " + std::to_string(first + last) +
                                   " tokens together, but --q has " + std::to_string(d->tokens));
    }
    d->rotation.skip_first = static_cast<uint32_t>(first);
    d->rotation.skip_last = static_cast<uint32_t>(last);
    return true;
}

void takeModelSkips(const RotateOptions& options, RotateRequest* request) {
    RopeRotateDescription& d = request->description;
    const Encoding& encoding = request->encoding;
    if (options.skip_first || options.skip_last) return;
    if (uint64_t{request->positions.tokens} + encoding.skip_first + encoding.skip_last != d.tokens) return;
    d.rotation.skip_first = encoding.skip_first;
    d.rotation.skip_last = encoding.skip_last;
}

uint32_t turningTokens(const RopeRotateDescription& d) {
    return d.tokens - d.rotation.skip_first - d.rotation.skip_last;
}

// Tokens and heads in each other's place are told by positions of as many as there seem to be heads. A Q of rank 3 and
// without --order may have its tokens in the place of the batch.
std::string hintAtOrder(const RotateOptions& options, const RotateRequest& request) {
    const bool one_head = options.order.empty() && request.q.array.shape.size() == 3;
    if (one_head && request.positions.tokens == request.q.batch)
        return "; if --q is [seq, heads, dim], say --order shd";
    const std::string order = options.order.empty() ? "bshd" : options.order;
    if (request.q.array.shape.size() != order.size() || request.positions.tokens != request.q.heads) return "";
    const size_t tokens = order.find('s'), heads = order.find('h');
    if (heads == order.npos) return "";
    std::string other = order;
    std::swap(other[tokens], other[heads]);
    return std::string("; if --q has its ") + (tokens < heads ? "heads before its tokens" : "tokens before its heads") +
           ", say --order " + other;
}

bool refusePositionShape(const RotateOptions& options, const RotateRequest& request, Failure* failure) {
    const RopeRotateDescription& d = request.description;
    const Positions& positions = request.positions;
    const std::string shape = (positions.axes == 1 ? "" : std::to_string(positions.axes) + " x ") +
                              (positions.batch == 0 ? "" : std::to_string(positions.batch) + " x ");
    const uint32_t axes = request.encoding.axes.count;
    const std::string hint = hintAtOrder(options, request);
    return refuse(failure,
                  "--positions has " + shape + std::to_string(positions.tokens) + " positions, but --q has " +
                      std::to_string(d.batch) + " x " + std::to_string(d.tokens) + " tokens" +
                      (turningTokens(d) == d.tokens ? "" : ", of which " + std::to_string(turningTokens(d)) + " turn") +
                      (axes == 1 || !hint.empty() ? ""
                                                  : "; [axes, batch, tokens] gives them for each of the " +
                                                        std::to_string(axes) + " axes, [batch, tokens] for all") +
                      hint);
}

bool fitPositions(const RotateOptions& options, RotateRequest* request, Failure* failure) {
    const RopeRotateDescription& d = request->description;
    Positions& positions = request->positions;
    if (positions.batch == 1) positions.batch = 0; // [1, tokens] serves every sequence
    takeModelSkips(options, request);
    const bool fits = (positions.tokens == d.tokens || positions.tokens == turningTokens(d)) &&
                      (positions.batch == 0 || positions.batch == d.batch);
    if (!fits && d.rotation.source != ROPE_SOURCE_ROWS) return refusePositionShape(options, *request, failure);
    return fits || refuse(failure, "--positions do not fit --q, and a row per token needs none; leave them out");
}

bool readTokenPositions(const RotateOptions& options, RotateRequest* request, Failure* failure) {
    RopeRotateDescription& d = request->description;
    Positions& positions = request->positions;
    const uint32_t axes = request->encoding.axes.count;
    d.positions.kind = ROPE_POSITIONS_COUNTED; // given rows read no positions
    if (options.positions.empty()) return true;
    const auto check = [&](Failure* why) { return fitPositions(options, request, why); };
    if (!readPositionsOption(options.positions, axes, d.batch, &positions, failure, check)) return false;
    if (d.rotation.source == ROPE_SOURCE_TABLE && !positions.whole) {
        return refuse(failure, options.cos.empty()
                                   ? "--source table has rows of whole positions, and not all of --positions are; "
                                     "inline and rows take them"
                                   : "--cos and --sin have rows of whole positions, and not all of --positions are; "
                                     "--frequencies take them");
    }
    padSkippedTokens(d.tokens, d.rotation.skip_first, d.rotation.skip_last, &positions);
    const uint32_t last = d.tokens - d.rotation.skip_last;
    const bool given = d.rotation.source == ROPE_SOURCE_TABLE && !options.cos.empty();
    if (options.outside != "pass" &&
        !(given ? checkInTable(positions, d.rotation.skip_first, last, d.rotation.rows.count, failure)
                : checkInInt32(positions, d.rotation.skip_first, last, failure)))
        return false;
    request->without_position =
        countBeyondInt32(positions, d.rotation.skip_first, last) * (positions.batch == 0 ? d.batch : 1);
    describePositions(positions, &d.positions);
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

// Extends the rows of the tokens that turn, `count` of each sequence, to rows of all tokens.
void padSkippedRows(const RopeRotateDescription& d, size_t count, size_t width, std::vector<float>* rows) {
    std::vector<float> all;
    for (auto row = rows->begin(); row != rows->end(); row += static_cast<ptrdiff_t>(count * width)) {
        all.resize(all.size() + d.rotation.skip_first * width);
        all.insert(all.end(), row, row + static_cast<ptrdiff_t>(count * width));
        all.resize(all.size() + d.rotation.skip_last * width);
    }
    *rows = std::move(all);
}

bool placeRows(const RotateOptions& options, const GivenRows& given, RotateRequest* request, Failure* failure) {
    RopeRotateDescription& d = request->description;
    const bool by_token = given.batch != 0 || options.source == "rows" || options.positions.empty();
    if (by_token && options.source == "table") {
        return refuse(failure,
                      given.batch != 0
                          ? "--source table takes --cos of [max positions, pairs]; with a batch axis it is rows"
                          : "--source table needs --positions");
    }
    d.rotation.source = by_token ? ROPE_SOURCE_ROWS : ROPE_SOURCE_TABLE;
    d.rotation.rows.count = given.count;
    d.count_outside = by_token ? 0 : 1;
    if (!by_token) return true;
    if (!options.outside.empty()) return refuse(failure, "--outside goes with --positions; a row per token reads none");
    if (areAxesGiven(options.encoding.axes)) {
        return refuse(failure,
                      "--sections and --axes go with --positions and --cos of [max positions, pairs]; a row per "
                      "token has its axes in it");
    }
    const bool one = given.batch == 0 && (given.count == d.tokens || given.count == turningTokens(d));
    const uint32_t sequences = given.batch != 0 ? given.batch : one ? 1 : d.batch;
    const uint32_t count = given.batch != 0 ? given.count : given.count / sequences;
    if ((sequences != 1 && sequences != d.batch) || (given.batch == 0 && given.count % sequences != 0) ||
        (count != d.tokens && count != turningTokens(d))) {
        return refuse(failure, "--cos has " + (given.batch == 0 ? "" : std::to_string(given.batch) + " x ") +
                                   std::to_string(given.count) + " rows, but --q has " + std::to_string(d.batch) +
                                   " x " + std::to_string(d.tokens) +
                                   " tokens; give a row per token, or --positions with a table");
    }
    if (count != d.tokens) padSkippedRows(d, count, size_t{2} * given.pairs, &request->given_rows);
    if (sequences != d.batch) repeatRows(d.batch, &request->given_rows);
    return true;
}

bool checkRotaryPart(const RotateOptions& options, uint32_t rotary_dim, RotateRequest* request, Failure* failure) {
    RopeRotateDescription& d = request->description;
    d.rotation.rotary_dim = rotary_dim;
    if (uint64_t{d.rotation.rotary_begin} + rotary_dim <= d.head_dim) return true;
    const std::string text = "a rotary part of " + std::to_string(rotary_dim) + " elements from element " +
                             std::to_string(d.rotation.rotary_begin) + " on does not fit into heads of " +
                             std::to_string(d.head_dim);
    // Hugging Face's arrays hold each half twice.
    return refuse(failure, text + (!options.cos.empty() && rotary_dim == 2 * d.head_dim
                                       ? "; if --cos and --sin hold each value twice, give their first halves"
                                       : ""));
}

// Given rows may hold a scale. An operation that undoes a scale would leave it in, unless --scale tells it.
void warnAboutScale(const RotateOptions& options, const GivenRows& given) {
    if (options.encoding.scale != 0 || (!options.inverse && !options.shift) ||
        given.values.size() < size_t{2} * given.pairs)
        return;
    const double scale = std::hypot(given.values[0], given.values[given.pairs]);
    if (std::fabs(scale - 1) < 1e-2) return;
    warn("rotate", "--cos and --sin seem to hold a scale of " + std::to_string(scale) + "; it stays without --scale");
}

bool readGivenRows(const RotateOptions& options, RotateRequest* request, Failure* failure) {
    RopeRotateDescription& d = request->description;
    GivenRows given;
    if (!readRows(options.cos, options.sin, elementOf(options.element), &given, failure)) return false;
    if (options.encoding.rotary_dim != 0 && options.encoding.rotary_dim != 2 * given.pairs) {
        return refuse(failure, "--rotary-dim is " + std::to_string(options.encoding.rotary_dim) + ", but --cos has " +
                                   std::to_string(given.pairs) + " pairs, of " + std::to_string(2 * given.pairs) +
                                   " elements");
    }
    d.rotation.rotary_begin = options.rotary_offset.value_or(0);
    d.rotation.frequencies.count = given.pairs;
    d.rotation.frequencies.scale = options.encoding.scale;
    warnAboutScale(options, given);
    request->given_rows = std::move(given.values);
    if (!readAxes(options.encoding.axes, given.pairs, &request->encoding.axes, failure) ||
        !placeRows(options, given, request, failure) || !readTokenPositions(options, request, failure))
        return false;
    d.rotation.frequencies.axes = describeFrequencies(request->encoding, request->positions).axes;
    return checkRotaryPart(options, 2 * given.pairs, request, failure);
}

// A projection holds the heads of a token side by side.
std::string hintAtHeads(const Tensor& tensor, uint32_t head_dim) {
    const std::vector<uint64_t>& shape = tensor.array.shape;
    if (shape.size() != 3 || tensor.heads != 1 || tensor.head_dim % head_dim != 0) return "";
    rope::NpyArray split;
    split.shape = {shape[0], shape[1], shape[2] / head_dim, head_dim};
    return "; if these are the heads of a token side by side, reshape it to " + shapeText(split);
}

// Finds where the rotary part begins: in the head that the configuration says, in the whole one that it is split off
// from, or in the rotary part by itself.
bool findRotaryBegin(const RotateOptions& options, const std::string& option, const Encoding& encoding,
                     const Tensor& tensor, uint32_t* begin, Failure* failure) {
    const uint32_t head_dim = tensor.head_dim;
    const uint32_t rotary = static_cast<uint32_t>(2 * encoding.frequencies.size());
    const uint32_t whole = encoding.nope_dim + encoding.head_dim;
    const bool ends = encoding.rotary_begin + rotary == encoding.head_dim;
    const bool fits = encoding.head_dim == 0 || head_dim == encoding.head_dim;
    *begin = options.rotary_offset.value_or(encoding.rotary_begin);
    if (options.rotary_offset) return true; // the caller knows of what the heads are made
    if (!fits && head_dim == whole) {
        *begin += encoding.nope_dim;
    } else if (!fits && ends && head_dim == rotary) {
        *begin = 0;
    } else if (!fits) {
        const std::string hint = hintAtHeads(tensor, whole);
        return refuse(failure,
                      option + " has heads of " + std::to_string(head_dim) + " elements, but --config says " +
                          std::to_string(encoding.head_dim) +
                          (encoding.nope_dim == 0
                               ? ""
                               : ", or " + std::to_string(whole) + " with the " + std::to_string(encoding.nope_dim) +
                                     " before them that do not turn") +
                          (hint.empty() ? "; --rotary-offset says where the rotary part of other heads starts" : hint));
    }
    return true;
}

bool readEncodingAngles(const RotateOptions& options, RotateRequest* request, Failure* failure) {
    RopeRotateDescription& d = request->description;
    Encoding& encoding = request->encoding;
    d.rotation.source = options.source == "table"  ? ROPE_SOURCE_TABLE
                        : options.source == "rows" ? ROPE_SOURCE_ROWS
                                                   : ROPE_SOURCE_INLINE;
    if (!readEncoding(options.encoding, &encoding, failure)) return false;
    if (!readTokenPositions(options, request, failure) ||
        // a shift's positions are distances, which ask for no length
        (!options.shift && !readEncodingFor(request->positions, options.encoding, &encoding, failure)) ||
        !findRotaryBegin(options, "--q", encoding, request->q, &d.rotation.rotary_begin, failure) ||
        (d.k.heads != 0 && !findRotaryBegin(options, "--k", encoding, request->k, &request->k_rotary_begin, failure)))
        return false;
    d.rotation.angle = options.encoding.compatible ? ROPE_ANGLE_COMPATIBLE : ROPE_ANGLE_EXACT;
    d.rotation.frequencies = describeFrequencies(encoding, request->positions);
    if (options.pairing.empty() && encoding.unknown_pairing) {
        return refuse(failure, (encoding.model_type.empty() ? "--config has no model_type, which would tell the pairing"
                                                            : "--config is of the model type '" + encoding.model_type +
                                                                  "', whose pairing is not known") +
                                   std::string("; --pairing half or --pairing interleaved says it"));
    }
    if (!checkRotaryPart(options, 2 * d.rotation.frequencies.count, request, failure)) return false;
    if (d.rotation.source != ROPE_SOURCE_TABLE) return true;
    const int64_t first = lowestPosition(request->positions);
    const int64_t count = highestPosition(request->positions) - first + 1;
    d.rotation.rows.first_position = static_cast<int32_t>(first);
    d.rotation.rows.count = static_cast<uint32_t>(std::min<int64_t>(count, UINT32_MAX));
    return fitsMemory("a table of " + std::to_string(count) + " positions",
                      8.0 * static_cast<double>(count) * d.rotation.frequencies.count, failure);
}

bool readChunkDim(const RotateOptions& options, RotateRequest* request, Failure* failure) {
    RopeRotateDescription& d = request->description;
    const bool interleaved =
        d.rotation.pairing == ROPE_PAIRING_INTERLEAVED && d.rotation.pairing_out != ROPE_PAIRING_HALF;
    if (options.chunk_dim != 0 && interleaved)
        return refuse(failure, "--chunk-dim goes with half pairing, and the pairs are interleaved");
    if (!interleaved) d.rotation.chunk_dim = options.chunk_dim != 0 ? options.chunk_dim : request->encoding.chunk_dim;
    if (options.chunk_dim == 0) return true;
    if (d.rotation.chunk_dim % 2 == 0 && d.rotation.rotary_dim % d.rotation.chunk_dim == 0) return true;
    return refuse(failure, "--chunk-dim is " + std::to_string(d.rotation.chunk_dim) +
                               "; it must be even and divide the rotary part of " +
                               std::to_string(d.rotation.rotary_dim) + " elements");
}

// A model may read one pairing and write another. Elements that are turned already lie as it writes them.
void findPairings(const RotateOptions& options, const Encoding& encoding, RopeRotateDescription* d) {
    const RopePairing read = encoding.pairing;
    const RopePairing written = encoding.pairing_out != ROPE_PAIRING_DEFAULT ? encoding.pairing_out : read;
    const bool back =
        d->rotation.operation == ROPE_OPERATION_TRANSPOSE || d->rotation.operation == ROPE_OPERATION_INVERSE;
    d->rotation.pairing = pairingOf(options.pairing);
    d->rotation.pairing_out = pairingOf(options.pairing_out);
    if (!options.pairing.empty()) return;
    d->rotation.pairing = d->rotation.operation == ROPE_OPERATION_FORWARD ? read : written;
    if (options.pairing_out.empty()) d->rotation.pairing_out = back ? read : written;
}

// Rows hold the scale that the operation wants, so that nothing is rounded twice: rows made here hold it from the
// start, given ones are multiplied once.
void scaleRows(RotateRequest* request) {
    RopeRotateDescription& d = request->description;
    const bool inverse = d.rotation.operation == ROPE_OPERATION_INVERSE;
    if (d.rotation.source == ROPE_SOURCE_INLINE || (!inverse && d.rotation.operation != ROPE_OPERATION_SHIFT)) return;
    const double held = d.rotation.frequencies.scale == 0 ? 1 : d.rotation.frequencies.scale;
    const double wanted = inverse ? 1 / held : 1;
    for (float& value : request->given_rows) value = static_cast<float>(value * (wanted / held));
    d.rotation.frequencies.scale = wanted;
    d.rotation.operation = inverse ? ROPE_OPERATION_TRANSPOSE : ROPE_OPERATION_FORWARD;
}

} // namespace

std::optional<RotateRequest> takeOutK(RotateRequest* request) {
    RopeRotateDescription& d = request->description;
    if (d.k.heads == 0 || request->k.head_dim == request->q.head_dim) return std::nullopt;
    RotateRequest k;
    k.description = d;
    k.description.head_dim = request->k.head_dim;
    k.description.rotation.rotary_begin = request->k_rotary_begin;
    k.description.q = d.k;
    k.description.k = d.k = {};
    k.positions = request->positions;
    k.q = std::move(request->k);
    return k;
}

bool readRotateRequest(const RotateOptions& options, RotateRequest* request, Failure* failure) {
    RopeRotateDescription& d = request->description;
    if (!checkRotateOptions(options, failure) || !readTensors(options, request, failure) ||
        !readSkips(options, &d, failure))
        return false;
    if (!(options.cos.empty() ? readEncodingAngles(options, request, failure)
                              : readGivenRows(options, request, failure)))
        return false;
    d.rotation.operation = options.transpose ? ROPE_OPERATION_TRANSPOSE
                           : options.inverse ? ROPE_OPERATION_INVERSE
                           : options.shift   ? ROPE_OPERATION_SHIFT
                                             : ROPE_OPERATION_FORWARD;
    findPairings(options, request->encoding, &d);
    const RopePairing in = d.rotation.pairing == ROPE_PAIRING_DEFAULT ? ROPE_PAIRING_HALF : d.rotation.pairing;
    const bool moved = d.rotation.pairing_out != ROPE_PAIRING_DEFAULT && d.rotation.pairing_out != in;
    const bool converted = d.element_out != ROPE_ELEMENT_DEFAULT && d.element_out != d.element;
    d.out_of_place = moved || converted ? 1 : 0;
    scaleRows(request);
    return readChunkDim(options, request, failure);
}

} // namespace tool
