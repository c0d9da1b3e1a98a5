#include "models/gguf/gguf.hpp"
#include "models/gguf/architectures.hpp"
#include "models/gguf/axes.hpp"
#include "models/gguf/layers.hpp"
#include "models/gguf/rule.hpp"
#include "models/gguf/scales.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace rope {
namespace {

using namespace gguf;

bool readArchitecture(const Header& header, std::string* name, RopePairing* pairing, std::string* error) {
    const auto found = header.values.find("general.architecture");
    if (found == header.values.end() || found->second.text.empty())
        return refuse(error, "the header has no 'general.architecture'");
    *name = found->second.text;
    const std::string subject = "the architecture " + shown(*name);
    const RotationKind kind = rotationKindOf(*name);
    if (kind == RotationKind::unknown) return refuse(error, subject + " is not one that is known");
    if (kind == RotationKind::none) return refuse(error, subject + " has no rotary position encoding");
    if (kind == RotationKind::unsupported)
        return refuse(error,
                      subject + " is not read: its rotation is more than a base, a part of the head and factors");
    *pairing = kind == RotationKind::interleaved ? ROPE_PAIRING_INTERLEAVED : ROPE_PAIRING_HALF;
    return true;
}

// Refuses files of a known architecture that hold another model, or a part of one.
bool checkGgufModel(const ArchitectureKeys& keys, const Header& header, const std::string& architecture,
                    std::string* error) {
    const auto part = header.values.find("split.no");
    if (part != header.values.end() && part->second.numbers != std::vector<double>{0})
        return refuse(error, "the file is a later part of a split model; the first part has the keys");
    double finetuned = 1, alpha = 0, blocks = 0;
    if (!keys.number("rope.scaling.finetuned", 0, 1, &finetuned, error) ||
        !keys.number("rope.scaling.alpha", 0, 1e6, &alpha, error) ||
        !keys.number("block_count", 0, 1e6, &blocks, error))
        return false;
    // llama.cpp takes the key for a switch in these architectures, and in no other.
    if (isIn(" granite granitemoe granitehybrid ", architecture) && finetuned == 0)
        return refuse(error, "the key " + keys.name("rope.scaling.finetuned") + " switches the rotation off");
    if (architecture == "baichuan" && blocks == 40) // llama.cpp too tells the 13B model by its depth
        return refuse(error, "the model is Baichuan 13B, which has no rotary position encoding");
    if (alpha != 0 && !isIn(" hunyuan-dense hunyuan_vl ", architecture))
        return refuse(error, "the key " + keys.name("rope.scaling.alpha") + " is not read for the architecture " +
                                 shown(architecture));
    return keys.checkUnknown(error);
}

bool readGgufHead(const ArchitectureKeys& keys, const std::string& architecture, uint32_t* head_dim,
                  uint32_t* rotary_dim, std::string* error) {
    const bool latent = rotatesHeadEnd(architecture) && keys.find("attention.key_length_mla") != nullptr;
    const char* length = latent ? "attention.key_length_mla" : "attention.key_length";
    if (!keys.count(length, kMaxHeadDim, head_dim, error)) return false;
    if (*head_dim == 0) {
        uint32_t width = 0, heads = 0;
        if (!keys.count("embedding_length", 1 << 30, &width, error) ||
            !keys.count("attention.head_count", 1 << 30, &heads, error))
            return false;
        if (width == 0 || heads == 0) {
            return refuse(error, "the header has neither " + keys.name("attention.key_length") + " nor both " +
                                     keys.name("embedding_length") + " and " + keys.name("attention.head_count"));
        }
        const uint32_t whole = width / heads;
        if (width % heads != 0 || whole > kMaxHeadDim) {
            return refuse(error, "an " + keys.name("embedding_length") + " of " + std::to_string(width) + " and an " +
                                     keys.name("attention.head_count") + " of " + std::to_string(heads) +
                                     " make no head of whole elements up to " + shown(kMaxHeadDim));
        }
        *head_dim = whole;
    }
    *rotary_dim = *head_dim;
    return keys.count("rope.dimension_count", kMaxHeadDim, rotary_dim, error);
}

bool checkRotaryPart(const ModelEncoding& model, std::string* error) {
    const uint32_t rotary = model.rotary_dim;
    if (rotary > model.head_dim) {
        return refuse(error, "a rotary part of " + std::to_string(rotary) + " elements does not fit into a head of " +
                                 std::to_string(model.head_dim));
    }
    if (rotary % 2 == 0 && rotary != 0 && rotary <= 2 * ROPE_MAX_PAIRS) return true;
    return refuse(error, "the rotary part has " + std::to_string(rotary) + " elements; it must be even and from 2 to " +
                             std::to_string(2 * ROPE_MAX_PAIRS));
}

bool checkGgufHead(const std::string& architecture, const ModelEncoding& model, std::string* error) {
    // llama.cpp too refuses a part of the head in these architectures.
    if (model.rotary_dim < model.head_dim && isIn(" llama deci falcon llama-embed ", architecture)) {
        return refuse(error, "a rotary part of " + std::to_string(model.rotary_dim) + " elements in a head of " +
                                 std::to_string(model.head_dim) + " is not what the architecture " +
                                 shown(architecture) + " has, which rotates the whole head");
    }
    return checkRotaryPart(model, error);
}

// The caller's rotary part replaces the architecture's; 0 keeps the architecture's.
bool replaceRotaryDim(uint32_t wanted, ModelEncoding* model, std::string* error) {
    if (wanted == 0) return true;
    model->rotary_dim = wanted;
    return checkRotaryPart(*model, error);
}

// A file has either one list of factors, or one list for each length of context.
struct Factors {
    std::vector<double> any_length, short_length, long_length;
};

bool readAllFactors(Cursor* file, const Header& header, uint32_t pairs, Factors* factors, std::string* error) {
    if (!readFactorTensors(file, header, "rope_freqs.weight", pairs, &factors->any_length, error) ||
        !readFactorTensors(file, header, "rope_factors_short.weight", pairs, &factors->short_length, error) ||
        !readFactorTensors(file, header, "rope_factors_long.weight", pairs, &factors->long_length, error))
        return false;
    if (factors->short_length.empty() != factors->long_length.empty())
        return refuse(error, "the file has only one of the tensors 'rope_factors_short.weight' and "
                             "'rope_factors_long.weight'");
    if (!factors->any_length.empty() && !factors->long_length.empty())
        return refuse(error, "the file has both 'rope_freqs.weight' and 'rope_factors_long.weight'; one is enough");
    return true;
}

// llama.cpp divides the angle by the pair's factor before it scales the angle. It takes the long factors where the
// context is longer than the original one.
bool applyFactors(const ArchitectureKeys& keys, const Factors& factors, double length, ModelEncoding* model,
                  std::string* error) {
    const std::vector<double>* chosen = &factors.any_length;
    model->factors = factors.any_length;
    model->short_factors = factors.short_length;
    model->long_factors = factors.long_length;
    if (!factors.long_length.empty()) {
        RopeRule& rule = model->rule;
        if (!readGgufOriginalLength(keys, "a file with 'rope_factors_long.weight'", &rule.original_length, error))
            return false;
        rule.length = length;
        chosen = length > rule.original_length ? &factors.long_length : &factors.short_length;
        if (rule.kind == ROPE_RULE_DEFAULT) {
            rule.kind = ROPE_RULE_LONGROPE;
            rule.attention_factor = model->scale;
        }
    }
    for (size_t i = 0; i < chosen->size(); ++i) model->frequencies[i] /= (*chosen)[i];
    return true;
}

bool makeGgufFrequencies(const LayerRotation& layer, ModelEncoding* model, std::string* error) {
    model->rule = layer.rule;
    model->rule.rotary_dim = model->rotary_dim;
    model->frequencies.resize(model->rotary_dim / 2);
    RopeReason reason;
    if (ropeMakeFrequencies(&model->rule, model->frequencies.data(), &model->scale, &reason) != ROPE_SUCCESS)
        return refuse(error, reason.text);
    model->scale *= layer.scale;
    return true;
}

bool readEncoding(Cursor* file, const Header& header, const GgufRequest& request, ModelEncoding* model,
                  std::string* error) {
    if (!readArchitecture(header, &model->model_type, &model->pairing, error)) return false;
    const std::string& architecture = model->model_type;
    const ArchitectureKeys keys(header, architecture);
    LayerRotation layer;
    Scaling scaling;
    Factors factors;
    if (!checkGgufModel(keys, header, architecture, error) ||
        !readGgufHead(keys, architecture, &layer.head_dim, &layer.rotary_dim, error) ||
        !readScaling(keys, architecture, &scaling, error) ||
        !readGgufRule(keys, architecture, scaling, &layer.rule, error))
        return false;
    if (layer.rule.kind != ROPE_RULE_YARN) layer.scale = scaling.attention;
    if (!chooseGgufLayer(keys, architecture, request, !header.factors.empty(), &layer, model, error)) return false;
    model->head_dim = layer.head_dim;
    model->rotary_dim = layer.rotary_dim;
    if (!checkGgufHead(architecture, *model, error) || !replaceRotaryDim(request.rotary_dim, model, error))
        return false;
    model->rotary_begin = rotatesHeadEnd(architecture) ? model->head_dim - model->rotary_dim : 0;
    if (layer.takes_factors && !readAllFactors(file, header, model->rotary_dim / 2, &factors, error)) return false;
    if (scaling.type == "longrope" && factors.long_length.empty())
        return refuse(error, "the scaling 'longrope' has no tensors 'rope_factors_short.weight' and "
                             "'rope_factors_long.weight'");
    return setGgufAxes(keys, architecture, model, error) && makeGgufFrequencies(layer, model, error) &&
           applyFactors(keys, factors, request.length, model, error) &&
           noteGgufBetas(keys, architecture, model, error) && readGgufScales(keys, architecture, model, error);
}

} // namespace

bool parseGguf(const GgufSource& source, const GgufRequest& request, ModelEncoding* model, std::string* error) {
    *model = {};
    Header header;
    Cursor file(source);
    if (!readHeader(&file, &header)) return refuse(error, file.problem());
    return readEncoding(&file, header, request, model, error);
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
    const auto fail = [&](const std::string& why) { return refuse(error, path + ": " + why); };
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
