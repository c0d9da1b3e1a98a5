// This file reads frequencies from a model's configuration.
#include "program/commands/encoding.hpp"
#include "models/gguf/gguf.hpp"
#include "program/commands/positions.hpp"
#include "program/option_values.hpp"
#include "program/target.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

namespace tool {
namespace {

// ---- The file that --config names: a config.json, a .gguf, or a pipe that gives one of them

struct ConfigFile {
    bool is_gguf = false;                     // by its first bytes
    bool is_cut = false;                      // the pipe has more than is read
    std::shared_ptr<const std::string> bytes; // null: a .gguf that is no pipe, of which only parts are read
};

namespace fs = std::filesystem;

constexpr char kGgufMagic[] = "GGUF";
constexpr size_t kMagicBytes = sizeof kGgufMagic - 1;
constexpr size_t kMaxJsonBytes = 16 << 20;
constexpr size_t kMaxPipedGgufBytes = 256 << 20; // the header, and factors, which stand before the large tensors

// Appends what there is until `bytes` has `most`; returns whether there may be more.
bool readUpTo(size_t most, std::ifstream* file, std::string* bytes) {
    constexpr size_t kPiece = 1 << 16;
    while (*file && bytes->size() < most) {
        const size_t before = bytes->size();
        bytes->resize(std::min(most, before + kPiece));
        file->read(&(*bytes)[before], static_cast<std::streamsize>(bytes->size() - before));
        bytes->resize(before + static_cast<size_t>(file->gcount()));
    }
    return bool(*file);
}

bool readConfigFile(const std::string& path, ConfigFile* config, Failure* failure) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
        return refuse(failure, "--config: " + path + " is a folder; name a config.json or a .gguf in it");
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return refuse(failure, "--config: " + path + ": " +
                                   (errno == 0 || errno == ENOENT ? "there is no such file" : std::strerror(errno)));
    std::string bytes;
    readUpTo(kMagicBytes, &file, &bytes);
    config->is_gguf = bytes == kGgufMagic;
    if (config->is_gguf && fs::is_regular_file(path, ignored)) return true;
    const size_t most = config->is_gguf ? kMaxPipedGgufBytes : kMaxJsonBytes;
    config->is_cut = readUpTo(most, &file, &bytes) && file.peek() != std::ifstream::traits_type::eof();
    if (file.bad()) return refuse(failure, "--config: " + path + " cannot be read");
    if (config->is_cut && !config->is_gguf)
        return refuse(failure,
                      "--config: " + path + " is no .gguf, and no file of at most 16 MiB, as configurations are");
    config->bytes = std::make_shared<const std::string>(std::move(bytes));
    return true;
}

// A pipe can be read once, and an encoding is read anew for its positions' length.
bool openConfigFile(const std::string& path, ConfigFile* file, Failure* failure) {
    static ConfigFile kept;
    static bool is_read = false;
    if (!is_read && !readConfigFile(path, &kept, failure)) return false;
    is_read = true;
    *file = kept;
    return true;
}

// ---- The encoding

std::string exactly(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
}

// Both readers' requests have the same members.
template <typename Request> Request requestOf(const ModelOptions& options, uint32_t rotary_dim) {
    Request request;
    request.rotary_dim = rotary_dim;
    request.length = options.length;
    request.layer_type = options.layer_type;
    request.layer = options.layer;
    return request;
}

} // namespace

bool readEncoding(const EncodingOptions& options, Encoding* encoding, Failure* failure) {
    *encoding = {};
    rope::ModelEncoding& model = encoding->model;
    if (!readModel(options.model, options.rotary_dim, &model, failure)) return false;
    const std::string layers = describeLayers(model);
    if (!layers.empty()) encoding->remarks.push_back(layers);
    encoding->axes = std::max<uint32_t>(1, static_cast<uint32_t>(model.axis_names.size()));
    for (const uint8_t axis : model.axes) encoding->axes = std::max(encoding->axes, axis + 1u);
    encoding->length = describeLength(model);
    return true;
}

std::string describeLength(const rope::ModelEncoding& model) {
    const RopeRule& rule = model.rule;
    const RopeRuleKind kind = rule.kind;
    // HunYuan's alpha and Qwen's steps have a length though their rule reads none.
    const bool stretched = (kind == ROPE_RULE_NTK || kind == ROPE_RULE_DEFAULT) && rule.original_length != 0;
    const bool factors = kind == ROPE_RULE_LONGROPE || !model.long_factors.empty();
    if (!factors && !stretched && kind != ROPE_RULE_DYNAMIC_NTK && kind != ROPE_RULE_YARN_RAMPED) return "";
    const bool beyond = rule.length > rule.original_length;
    const std::string length = "a length of " + exactly(beyond ? rule.length : rule.original_length);
    if (factors) return (beyond ? "long factors, of " : "short factors up to ") + length;
    return (beyond ? "of " : "up to ") + length;
}

std::vector<uint8_t> frequencyWords(const RopeFrequencies& frequencies, RopeAngle angle) {
    std::vector<uint8_t> words(ropeFrequencyBytes(frequencies.count));
    ropeWriteFrequencies(&frequencies, angle, words.data(), nullptr);
    return words;
}

RopeFrequencies describeFrequencies(const Encoding& encoding, const Positions& positions) {
    const rope::ModelEncoding& model = encoding.model;
    const bool several = positions.axes > 1 && !model.axes.empty();
    return {model.frequencies.data(), static_cast<uint32_t>(model.frequencies.size()), model.scale,
            several ? model.axes.data() : nullptr, 1};
}

// Returns --config.
static CLI::Option* addModel(CLI::App* app, ModelOptions* options, const char* length_help) {
    CLI::Option* config =
        addOption(app, "--config", &options->config, "a model's config.json, as Hugging Face has it, or its .gguf");
    addOption(
        app, "--layer-type", &options->layer_type,
        "which type of layers, if a model's layers differ: full_attention, sliding_attention, ...; vision or audio for "
        "the part of a model that reads images or sounds; without it full_attention, or the type that rotates");
    takesCount(addOption(app, "--layer", &options->layer,
                         "one layer by its number, from 0 on, where layers differ; --layer-type may be left out"),
               "a whole number", 0, 65535);
    takesNumber(addOption(app, "--length", &options->length, length_help), "a whole number of positions", 1, 0x1p53,
                true);
    return config;
}

void addModelOptions(CLI::App* app, ModelOptions* options) {
    addModel(app, options,
             "the largest position so far plus 1, a whole number, for rules that depend on it; without it table and "
             "rotate take the length from --positions, and other commands take the model's original length");
}

void addRotaryDim(CLI::App* app, uint32_t* rotary_dim) {
    takesCount(addOption(app, "--rotary-dim", rotary_dim, "elements of the head that are rotated, an even number"),
               "a whole number", 2, uint64_t{2} * ROPE_MAX_PAIRS);
}

bool readModel(const ModelOptions& options, uint32_t rotary_dim, rope::ModelEncoding* model, Failure* failure) {
    ConfigFile file;
    if (!openConfigFile(options.config, &file, failure)) return false;
    std::string error;
    const auto gguf = requestOf<rope::GgufRequest>(options, rotary_dim);
    if (file.bytes == nullptr)
        return rope::readGguf(options.config, gguf, model, &error) || refuse(failure, "--config: " + error);
    const std::string& bytes = *file.bytes;
    const uint8_t* first = reinterpret_cast<const uint8_t*>(bytes.data());
    if (file.is_gguf ? rope::parseGguf(first, bytes.size(), gguf, model, &error)
                     : rope::readConfig(bytes, requestOf<rope::ConfigRequest>(options, rotary_dim), model, &error))
        return true;
    return refuse(failure, "--config: " + options.config + ": " + error +
                               (file.is_cut          ? "; only the first 256 MiB of a pipe are read"
                                : model->needs_layer ? ", which --layer does"
                                                     : ""));
}

void addEncodingOptions(CLI::App* app, EncodingOptions* options) {
    require(addModel(app, &options->model,
                     "the largest position so far plus 1, for rules that depend on it; without it the largest of "
                     "--positions plus 1"));
    addRotaryDim(app, &options->rotary_dim);
    takesOneOf(addOption(app, "--angle", &options->angle,
                         "exact, or compatible: the float32 product that PyTorch forms; without it exact"),
               {"exact", "compatible"});
    addOption(app, "--device", &options->device, kDeviceHelp);
}

namespace {

bool readForLength(const Positions& positions, const EncodingOptions& options, Encoding* encoding, Failure* failure) {
    const double length = lengthOfPositions(positions), given = options.model.length;
    std::vector<std::string>* remarks = &encoding->remarks;
    if (given != 0) {
        if (given < length && !encoding->length.empty())
            remarks->push_back("--length is " + exactly(given) + ", and the largest position plus one is " +
                               exactly(length) + "; the frequencies are those of --length");
        return true;
    }
    EncodingOptions asked = options;
    asked.model.length = length;
    const rope::ModelEncoding before = encoding->model;
    if (length != 0 && !readEncoding(asked, encoding, failure)) return false;
    if (encoding->model.frequencies != before.frequencies || encoding->model.scale != before.scale) {
        remarks->push_back("the frequencies are those of a length of " + exactly(length) +
                           ", the largest position plus one; --length N chooses another");
    } else if (!encoding->length.empty()) {
        remarks->push_back("the frequencies depend on the length (these: " + encoding->length +
                           "); --length N chooses another");
    }
    return true;
}

} // namespace

bool readEncodingFor(const Positions& positions, const EncodingOptions& options, Encoding* encoding, Failure* failure) {
    if (!readForLength(positions, options, encoding, failure)) return false;
    if (encoding->model.on_a_grid && encoding->axes > 1 && positions.axes == 1) {
        encoding->model.notes.push_back("--positions have one row, and so each token has the same position on all " +
                                        std::to_string(encoding->axes) +
                                        " axes; [axes, batch, tokens] gives each axis its own");
    }
    return true;
}

void sayRemarksAndNotes(const char* command, const Encoding& encoding) {
    for (const std::string& line : encoding.remarks) remark(command, line);
    for (const std::string& line : encoding.model.notes) warn(command, line);
}

} // namespace tool
