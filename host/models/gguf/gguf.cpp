#include "models/gguf/gguf.hpp"

#include "models/gguf/architecture.hpp"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace rope {
namespace {

using namespace gguf;

constexpr const char* kSections = "rope.dimension_sections";

const Architecture& readArchitecture(const Header& header) {
    const auto found = header.values.find("general.architecture");
    if (found == header.values.end() || found->second.text.empty()) refuse("the header has no 'general.architecture'");
    const std::string subject = "the architecture " + shown(found->second.text);
    const Architecture* architecture = findArchitecture(found->second.text);
    if (architecture == nullptr) refuse(subject + " is not one that is known");
    if (architecture->rotation == Rotation::none) refuse(subject + " has no rotary position encoding");
    if (architecture->rotation == Rotation::unsupported)
        refuse(subject + " is not read: its rotation is more than a base, a part of the head and factors");
    return *architecture;
}

// Refuses files of a known architecture that hold another model, or a part of one.
void checkGgufModel(const ArchitectureKeys& keys, const Header& header, const Architecture& architecture) {
    const auto part = header.values.find("split.no");
    if (part != header.values.end() && part->second.numbers != std::vector<double>{0})
        refuse("the file is a later part of a split model; the first part has the keys");
    const double finetuned = keys.number("rope.scaling.finetuned", 0, 1, 1);
    const double alpha = keys.number("rope.scaling.alpha", 0, 1e6, 0);
    const double blocks = keys.number("block_count", 0, 1e6, 0);
    if (architecture.finetuned_switches && finetuned == 0)
        keys.refuse("rope.scaling.finetuned", "switches the rotation off");
    if (architecture.biases_at != 0 && blocks == architecture.biases_at) // llama.cpp too tells the model by its depth
        refuse("the model is Baichuan 13B, which has no rotary position encoding");
    if (alpha != 0 && !isOneOf("rope.scaling.alpha", architecture.reads))
        keys.refuse("rope.scaling.alpha", "is not read for the architecture " + shown(architecture.name));
    keys.checkUnknown();
}

uint32_t readGgufHead(const ArchitectureKeys& keys, bool latent) {
    latent = latent && keys.find("attention.key_length_mla") != nullptr;
    const uint32_t head = keys.count(latent ? "attention.key_length_mla" : "attention.key_length", kMaxHeadDim, 0);
    if (head != 0) return head;
    const uint32_t width = keys.count("embedding_length", 1 << 30, 0);
    const uint32_t heads = keys.count("attention.head_count", 1 << 30, 0);
    if (width == 0 || heads == 0) {
        refuse("the header has neither " + keys.name("attention.key_length") + " nor both " +
               keys.name("embedding_length") + " and " + keys.name("attention.head_count"));
    }
    if (width % heads == 0 && width / heads <= kMaxHeadDim) return width / heads;
    refuse("an " + keys.name("embedding_length") + " of " + std::to_string(width) + " and an " +
           keys.name("attention.head_count") + " of " + std::to_string(heads) +
           " make no head of whole elements up to " + shown(kMaxHeadDim));
}

void checkRotaryPart(const ModelEncoding& encoding) {
    const uint32_t rotary = encoding.rotary_dim;
    if (rotary > encoding.head_dim) {
        refuse("a rotary part of " + std::to_string(rotary) + " elements does not fit into a head of " +
               std::to_string(encoding.head_dim));
    }
    if (rotary % 2 != 0 || rotary == 0 || rotary > 2 * ROPE_MAX_PAIRS)
        refuse("the rotary part has " + std::to_string(rotary) + " elements; it must be even and from 2 to " +
               std::to_string(2 * ROPE_MAX_PAIRS));
}

// The caller's rotary part replaces the architecture's; 0 keeps the architecture's.
void setRotaryPart(const Architecture& architecture, const LayerRotation& layer, uint32_t wanted,
                   ModelEncoding* encoding) {
    encoding->head_dim = layer.head_dim;
    encoding->rotary_dim = layer.rotary_dim;
    if (layer.rotary_dim < layer.head_dim && architecture.whole_head) { // llama.cpp refuses it too
        refuse("a rotary part of " + std::to_string(layer.rotary_dim) + " elements in a head of " +
               std::to_string(layer.head_dim) + " is not what the architecture " + shown(architecture.name) +
               " has, which rotates the whole head");
    }
    checkRotaryPart(*encoding);
    if (wanted != 0) encoding->rotary_dim = wanted;
    checkRotaryPart(*encoding);
    if (architecture.rotates_end) encoding->rotary_begin = encoding->head_dim - encoding->rotary_dim;
}

// ---- Axes -----------------------------------------------------------------------------------------------------------

using Sections = std::array<uint32_t, 4>; // pairs of t, h, w and a fourth axis

// All are 0 where the positions have one axis.
Sections readGgufSections(const ArchitectureKeys& keys, const Architecture& architecture) {
    const Value* value = keys.find(kSections);
    Sections sections = {};
    bool any = false, fits = value == nullptr || value->kind == Value::Kind::list;
    for (size_t i = 0; fits && value != nullptr && i < value->numbers.size(); ++i) {
        const double pairs = value->numbers[i];
        fits = i < sections.size() && pairs >= 0 && pairs <= ROPE_MAX_PAIRS && pairs == std::floor(pairs);
        if (fits) sections[i] = static_cast<uint32_t>(pairs);
        any = any || pairs != 0;
    }
    if (!fits) keys.refuse(kSections, "must be up to four counts of pairs");
    const bool always = architecture.rotation == Rotation::axes || architecture.rotation == Rotation::axes_round_robin;
    if (always && !any) {
        refuse("the architecture " + shown(architecture.name) + " has positions of several axes, and the header no " +
               keys.name(kSections));
    }
    if (any && !always && !architecture.sections)
        keys.refuse(kSections, "asks for positions of several axes, which are not read for the architecture " +
                                   shown(architecture.name));
    return sections;
}

// IMROPE's round robin does not reach two of Qwen3-VL's slowest pairs. llama.cpp leaves them to the fourth axis, which
// it holds at 0. The model's own code rotates them by t, and so does this function.
void setGgufAxes(const ArchitectureKeys& keys, const Architecture& architecture, ModelEncoding* encoding) {
    const Sections sections = readGgufSections(keys, architecture);
    const uint32_t pairs = encoding->rotary_dim / 2;
    uint64_t sum = 0;
    for (const uint32_t section : sections) sum += section;
    if (sum == 0) return;
    const bool round_robin = architecture.rotation == Rotation::axes_round_robin, fourth = sections[3] != 0;
    if (round_robin && fourth) keys.refuse(kSections, "has pairs of a fourth axis, and three take turns");
    if (sum != pairs)
        keys.refuse(kSections, "is of " + std::to_string(sum) + " pairs, but " + std::to_string(pairs) + " turn");
    encoding->axes.resize(pairs);
    encoding->axis_names = {"t", "h", "w"};
    if (fourth) encoding->axis_names.emplace_back("e");
    encoding->pairing = ROPE_PAIRING_HALF;
    RopeReason reason;
    if (ropeSetAxes(round_robin ? ROPE_AXES_INTERLEAVED : ROPE_AXES_CONTIGUOUS, sections.data(), fourth ? 4 : 3, pairs,
                    encoding->axes.data(), &reason) != ROPE_SUCCESS)
        refuse(reason.text);
}

// ---- Frequencies ----------------------------------------------------------------------------------------------------

// A file has either one list of factors, or one list for each length of context.
void readFactors(Cursor* file, const Header& header, ModelEncoding* encoding) {
    const uint32_t pairs = encoding->rotary_dim / 2;
    encoding->factors = readFactorTensors(file, header, "rope_freqs.weight", pairs);
    encoding->short_factors = readFactorTensors(file, header, "rope_factors_short.weight", pairs);
    encoding->long_factors = readFactorTensors(file, header, "rope_factors_long.weight", pairs);
    if (encoding->short_factors.empty() != encoding->long_factors.empty())
        refuse("the file has only one of the tensors 'rope_factors_short.weight' and 'rope_factors_long.weight'");
    if (!encoding->factors.empty() && !encoding->long_factors.empty())
        refuse("the file has both 'rope_freqs.weight' and 'rope_factors_long.weight'; one is enough");
}

// llama.cpp divides the angle by the pair's factor before it scales the angle. It takes the long factors where the
// context is longer than the original one.
void applyFactors(const ArchitectureKeys& keys, double length, ModelEncoding* encoding) {
    const std::vector<double>* chosen = &encoding->factors;
    if (!encoding->long_factors.empty()) {
        RopeRule& rule = encoding->rule;
        rule.original_length = readGgufOriginalLength(keys, "a file with 'rope_factors_long.weight'");
        rule.length = length;
        chosen = length > rule.original_length ? &encoding->long_factors : &encoding->short_factors;
        if (rule.kind == ROPE_RULE_DEFAULT) {
            rule.kind = ROPE_RULE_LONGROPE;
            rule.attention_factor = encoding->scale;
        }
    }
    for (size_t i = 0; i < chosen->size(); ++i) encoding->frequencies[i] /= (*chosen)[i];
}

void makeGgufFrequencies(const LayerRotation& layer, ModelEncoding* encoding) {
    encoding->rule = layer.rule;
    encoding->rule.rotary_dim = encoding->rotary_dim;
    encoding->frequencies.resize(encoding->rotary_dim / 2);
    RopeReason reason;
    if (ropeMakeFrequencies(&encoding->rule, encoding->frequencies.data(), &encoding->scale, &reason) != ROPE_SUCCESS)
        refuse(reason.text);
    encoding->scale *= layer.scale;
}

ModelEncoding readEncoding(Cursor* file, const GgufRequest& request) {
    ModelEncoding encoding;
    const Header header = readHeader(file);
    const Architecture& architecture = readArchitecture(header);
    encoding.model_type = architecture.name;
    encoding.pairing = architecture.rotation == Rotation::interleaved ? ROPE_PAIRING_INTERLEAVED : ROPE_PAIRING_HALF;
    const ArchitectureKeys keys(header, architecture.name);
    checkGgufModel(keys, header, architecture);
    LayerRotation full;
    full.head_dim = readGgufHead(keys, architecture.rotates_end);
    full.rotary_dim = keys.count("rope.dimension_count", kMaxHeadDim, full.head_dim);
    const Scaling scaling = readScaling(keys, architecture);
    full.rule = readGgufRule(keys, architecture, scaling);
    if (full.rule.kind != ROPE_RULE_YARN) full.scale = scaling.attention;
    const LayerRotation layer = chooseGgufLayer(keys, architecture, request, !header.factors.empty(), full, &encoding);
    setRotaryPart(architecture, layer, request.rotary_dim, &encoding);
    if (layer.takes_factors) readFactors(file, header, &encoding);
    if (scaling.type == "longrope" && encoding.long_factors.empty())
        refuse("the scaling 'longrope' has no tensors 'rope_factors_short.weight' and 'rope_factors_long.weight'");
    setGgufAxes(keys, architecture, &encoding);
    makeGgufFrequencies(layer, &encoding);
    applyFactors(keys, request.length, &encoding);
    readGgufScales(keys, architecture, &encoding);
    return encoding;
}

} // namespace

bool parseGguf(const GgufSource& source, const GgufRequest& request, ModelEncoding* model, std::string* error) {
    *model = {};
    Cursor file(source);
    try {
        *model = readEncoding(&file, request);
        return true;
    } catch (const Refusal& refusal) {
        *error = refusal.sentence;
        return false;
    }
}

bool parseGguf(const uint8_t* bytes, size_t size, const GgufRequest& request, ModelEncoding* model,
               std::string* error) {
    const auto read = [bytes](uint64_t offset, size_t count, uint8_t* to) {
        std::memcpy(to, bytes + offset, count);
        return true;
    };
    return parseGguf({size, read}, request, model, error);
}

bool readGguf(const std::string& path, const GgufRequest& request, ModelEncoding* model, std::string* error) {
    namespace fs = std::filesystem;
    const auto fail = [&](const std::string& why) {
        *error = path + ": " + why;
        return false;
    };
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (status.type() == fs::file_type::not_found) return fail("there is no such file");
    if (status.type() == fs::file_type::directory) return fail("this is a folder");
    if (status.type() != fs::file_type::regular && status.type() != fs::file_type::none)
        return fail("this is no regular file");
    const uint64_t size = code ? 0 : fs::file_size(path, code);
    if (code) return fail("it cannot be read: " + code.message());
    std::ifstream file;
    file.rdbuf()->pubsetbuf(nullptr, 0); // else each seek would read a block more
    errno = 0;
    file.open(path, std::ios::binary);
    if (!file) return fail("it cannot be read: " + std::generic_category().message(errno));
    const auto read = [&file](uint64_t offset, size_t count, uint8_t* to) {
        file.clear();
        file.seekg(static_cast<std::streamoff>(offset));
        return bool(file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count)));
    };
    std::string problem;
    return parseGguf({size, read}, request, model, &problem) || fail(problem);
}

} // namespace rope
