#include "program/commands/rotate_request.hpp"

#include "program/elements.hpp"
#include "program/files/arrays.hpp"

#include <algorithm>

namespace tool {
namespace {

// ---- Options and tensors -----------------------------------------------------------------------------------------

bool checkFiles(const RotateOptions& options, Failure* failure) {
    const std::vector<PathOption> inputs = {{"--config", options.encoding.model.config, ""},
                                            {"--positions", options.positions, ""},
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
    if (k.batch != q.batch || k.tokens != q.tokens) {
        const bool heads_first =
            options.order.empty() && k.batch == q.batch && k.heads == q.heads && q.array.shape.size() == 4;
        return refuse(failure,
                      "--q has the shape " + shapeText(q.array) + " and --k " + shapeText(k.array) +
                          (options.order.empty() ? "" : " in the order " + options.order) +
                          "; batch and tokens must be alike" +
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

// The model says which tokens it does not rotate, if positions leave those tokens out.
void takeModelSkips(RotateRequest* request) {
    RopeRotateDescription& d = request->description;
    const rope::ModelEncoding& model = request->encoding.model;
    if (uint64_t{request->positions.tokens} + model.skip_first + model.skip_last != d.tokens) return;
    d.rotation.skip_first = model.skip_first;
    d.rotation.skip_last = model.skip_last;
}

uint32_t turningTokens(const RopeRotateDescription& d) {
    return d.tokens - d.rotation.skip_first - d.rotation.skip_last;
}

// If the number of positions is the number of heads, tokens and heads have changed places. A Q of rank 3 and
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
    const uint32_t axes = request.encoding.axes;
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
    takeModelSkips(request);
    const bool fits = (positions.tokens == d.tokens || positions.tokens == turningTokens(d)) &&
                      (positions.batch == 0 || positions.batch == d.batch);
    return fits || refusePositionShape(options, *request, failure);
}

bool readTokenPositions(const RotateOptions& options, RotateRequest* request, Failure* failure) {
    RopeRotateDescription& d = request->description;
    Positions& positions = request->positions;
    const auto check = [&](Failure* why) { return fitPositions(options, request, why); };
    if (!readPositionsOption(options.positions, request->encoding.axes, d.batch, &positions, failure, check))
        return false;
    padSkippedTokens(d.tokens, d.rotation.skip_first, d.rotation.skip_last, &positions);
    describePositions(positions, &d.positions);
    return checkInInt32(positions, d.rotation.skip_first, d.tokens - d.rotation.skip_last, failure);
}

// ---- The rotary part ------------------------------------------------------------------------------------------------

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
bool findRotaryBegin(const RotateOptions& options, const std::string& option, const rope::ModelEncoding& encoding,
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

// A model may read one pairing and write another. Elements that are rotated already lie as it writes them.
void findPairings(const RotateOptions& options, const rope::ModelEncoding& encoding, RopeRotateDescription* d) {
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

bool readAngles(const RotateOptions& options, RotateRequest* request, Failure* failure) {
    RopeRotation& rotation = request->description.rotation;
    Encoding& encoding = request->encoding;
    const rope::ModelEncoding& model = encoding.model;
    if (!readEncoding(options.encoding, &encoding, failure) || !readTokenPositions(options, request, failure) ||
        // a shift's positions are distances, which ask for no length
        (!options.shift && !readEncodingFor(request->positions, options.encoding, &encoding, failure)) ||
        !findRotaryBegin(options, "--q", model, request->q, &rotation.rotary_begin, failure) ||
        (request->k.heads != 0 &&
         !findRotaryBegin(options, "--k", model, request->k, &request->k_rotary_begin, failure)))
        return false;
    if (options.pairing.empty() && model.pairing == ROPE_PAIRING_DEFAULT) {
        return refuse(failure, (model.model_type.empty() ? "--config has no model_type, which would tell the pairing"
                                                         : "--config is of the model type '" + model.model_type +
                                                               "', whose pairing is not known") +
                                   std::string("; --pairing half or --pairing interleaved says it"));
    }
    rotation.angle = options.encoding.angleKind();
    rotation.frequencies = describeFrequencies(encoding, request->positions);
    rotation.rotary_dim = 2 * rotation.frequencies.count;
    const uint32_t head_dim = request->description.head_dim;
    return uint64_t{rotation.rotary_begin} + rotation.rotary_dim <= head_dim ||
           refuse(failure, "a rotary part of " + std::to_string(rotation.rotary_dim) + " elements from element " +
                               std::to_string(rotation.rotary_begin) + " on does not fit into heads of " +
                               std::to_string(head_dim));
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
    if (!checkFiles(options, failure) || !readTensors(options, request, failure) ||
        !readAngles(options, request, failure))
        return false;
    d.rotation.operation = options.transpose ? ROPE_OPERATION_TRANSPOSE
                           : options.inverse ? ROPE_OPERATION_INVERSE
                           : options.shift   ? ROPE_OPERATION_SHIFT
                                             : ROPE_OPERATION_FORWARD;
    findPairings(options, request->encoding.model, &d);
    const RopePairing in = d.rotation.pairing == ROPE_PAIRING_DEFAULT ? ROPE_PAIRING_HALF : d.rotation.pairing;
    const bool moved = d.rotation.pairing_out != ROPE_PAIRING_DEFAULT && d.rotation.pairing_out != in;
    const bool converted = d.element_out != ROPE_ELEMENT_DEFAULT && d.element_out != d.element;
    d.out_of_place = moved || converted ? 1 : 0;
    const bool interleaved = in == ROPE_PAIRING_INTERLEAVED && d.rotation.pairing_out != ROPE_PAIRING_HALF;
    if (!interleaved) d.rotation.chunk_dim = request->encoding.model.chunk_dim;
    return true;
}

} // namespace tool
