#include "config/gguf.hpp"
#include "config/gguf_header.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

namespace rope {
namespace {

using namespace gguf;

constexpr double kMaxHeadDim = 65536;

// ---- Architectures -----------------------------------------------------------------------------------------------

// What llama_model_rope_type in src/llama-model.cpp of llama.cpp (ggml-org, late 2026) says of each name in its
// src/llama-arch.cpp: NORM are neighbours, NEOX are halves, MROPE are axes, IMROPE dealt_axes. Those that stand there
// with a type and whose graphs never rotate (bert, starcoder) are unturned here. Of those with axes dimension_sections
// tells which pair is whose, in turns for IMROPE; glm4 and glm4moe have axes, and halves, where they have sections. The
// weights in a .gguf were permuted to suit when it was made, so that the pairing is another than in the same model's
// config.json: llama, say.
enum class Turn { neighbours, halves, axes, dealt_axes, unturned, beyond };

struct Family {
    Turn turn;
    const char* names; // each between spaces
};

constexpr Family kFamilies[] = {
    {Turn::neighbours,
     " llama llada llama4 deci baichuan internlm2 minicpm xverse command-r cohere2 cohere2moe olmo arctic deepseek "
     "deepseek2 deepseek32 muse-glimmer plm chatglm granite granitemoe granitehybrid chameleon bailingmoe neo-bert "
     "smollm3 arcee ernie4_5 ernie4_5-moe mistral3 mistral4 llama-embed maincoder glm-dsa glm4 "},
    {Turn::halves,
     " falcon falcon-h1 grok dbrx jina-bert-v3 modern-bert nomic-bert nomic-bert-moe eurobert stablelm bitnet qwen "
     "qwen2 dream qwen2moe qwen3 qwen3moe llada-moe rnd1 olmo2 olmoe phi2 phi3 phimoe plamo plamo2 plamo3 gemma gemma2 "
     "gemma3 gemma3n gemma4 gemma4-assistant gemma-embedding starcoder2 openelm gptneox codeshell orion nemotron "
     "exaone exaone4 exaone-moe minicpm3 bailingmoe2 dots1 hunyuan-moe jais2 gpt-oss hunyuan-dense hunyuan_vl hy_v3 "
     "lfm2 lfm2moe smallthinker seed_oss grovemoe apertus minimax-m2 cogvlm pangu-embedded afmoe qwen3next mimo2 "
     "talkie mellum glm4moe "},
    {Turn::axes, " qwen2vl paddleocr "},
    {Turn::dealt_axes, " qwen3vl qwen3vlmoe qwen35 qwen35moe "},
    {Turn::unturned,
     " clip gpt2 gptj mpt refact bloom mamba mamba2 jamba jina-bert-v2 t5 t5encoder jais rwkv6 rwkv6qwen2 rwkv7 arwkv7 "
     "wavtokenizer-dec nemotron_h nemotron_h_moe kimi-linear bert starcoder "},
    {Turn::beyond, " deepseek4 deepseek2-ocr step35 laguna eagle3 dflash "},
};

// Those whose sliding layers may turn otherwise than the others: the base where <arch>.rope.freq_base_swa is absent,
// and whether the scaling holds for them (src/models/*.cpp of llama.cpp; 10000 and 1 are the defaults of its
// src/llama-hparams.h). Gemma 4 gives the factors to its full layers alone.
struct Sliding {
    const char* name;
    bool base_of_full;
    bool scaled;
};

constexpr Sliding kSliding[] = {
    {"gemma2", true, true},        {"cohere2", true, true},
    {"gpt-oss", true, true},       {"exaone4", true, true},
    {"olmo2", true, false},        {"mellum", true, false},
    {"muse-glimmer", true, false}, {"gemma3", false, false},
    {"gemma3n", false, false},     {"gemma-embedding", false, false},
    {"gemma4", false, false},      {"gemma4-assistant", false, false},
    {"modern-bert", false, false}, {"plamo3", false, false},
    {"mimo2", false, false},
};

const Family* findFamily(const std::string& name) {
    for (const Family& family : kFamilies) {
        if (isIn(family.names, name)) return &family;
    }
    return nullptr;
}

const Sliding* findSliding(const std::string& name) {
    for (const Sliding& sliding : kSliding) {
        if (name == sliding.name) return &sliding;
    }
    return nullptr;
}

// Multi-head latent attention: the rotary part is the last of a head, <arch>.attention.key_length_mla the whole of it.
bool turnsItsEnd(const std::string& name) { return isIn(" deepseek2 deepseek32 glm-dsa mistral4 minicpm3 plm ", name); }

// ---- The keys of one architecture ----------------------------------------------------------------------------------

class Keys {
  public:
    Keys(const Header& header, const std::string& architecture) : header_(header), prefix_(architecture + ".") {}

    const Value* find(const char* suffix) const {
        const auto found = header_.values.find(prefix_ + suffix);
        return found == header_.values.end() ? nullptr : &found->second;
    }

    std::string name(const char* suffix) const { return "'" + prefix_ + suffix + "'"; }

    // Leaves *value as it is where the key is absent. A list must have the same number for each layer.
    bool number(const char* suffix, double low, double high, double* value, std::string* error) const {
        const Value* found = find(suffix);
        if (found == nullptr) return true;
        const bool numeric = found->kind == Value::Kind::number || found->kind == Value::Kind::list;
        if (!numeric || found->numbers.empty()) return refuse(error, "the key " + name(suffix) + " is no number");
        for (const double number : found->numbers) {
            if (!(number >= low && number <= high)) {
                return refuse(error, "the key " + name(suffix) + " is " + shown(number) + "; it must be from " +
                                         shown(low) + " to " + shown(high));
            }
            if (number != found->numbers[0])
                return refuse(error, "the key " + name(suffix) + " differs from layer to layer: " +
                                         shown(found->numbers[0]) + " and " + shown(number));
        }
        *value = found->numbers[0];
        return true;
    }

    bool count(const char* suffix, double high, uint32_t* value, std::string* error) const {
        double number = *value;
        if (find(suffix) == nullptr) return true;
        if (!this->number(suffix, 1, high, &number, error)) return false;
        if (number != std::floor(number))
            return refuse(error, "the key " + name(suffix) + " is " + shown(number) + "; it must be a whole number");
        *value = static_cast<uint32_t>(number);
        return true;
    }

    // The first key about rotation that is not read.
    bool checkUnknown(std::string* error) const {
        for (const auto& entry : header_.values) {
            if (entry.first.compare(0, prefix_.size(), prefix_) != 0) continue;
            if (!isKnown(entry.first.substr(prefix_.size())))
                return refuse(error, "the key " + shown(entry.first) + " is not one that is read");
        }
        return true;
    }

  private:
    const Header& header_;
    std::string prefix_;
};

bool readArchitecture(const Header& header, std::string* name, RopePairing* pairing, std::string* error) {
    const auto found = header.values.find("general.architecture");
    if (found == header.values.end() || found->second.text.empty())
        return refuse(error, "the header has no 'general.architecture'");
    *name = found->second.text;
    const Family* family = findFamily(*name);
    const std::string subject = "the architecture " + shown(*name);
    if (family == nullptr) return refuse(error, subject + " is not one that is known");
    if (family->turn == Turn::unturned) return refuse(error, subject + " has no rotary position encoding");
    if (family->turn == Turn::beyond)
        return refuse(error,
                      subject + " is not read: its rotation is more than a base, a part of the head and factors");
    *pairing = family->turn == Turn::neighbours ? ROPE_PAIRING_INTERLEAVED : ROPE_PAIRING_HALF;
    return true;
}

// What a file of a known architecture may have that makes it another model.
bool checkModel(const Keys& keys, const Header& header, const std::string& name, std::string* error) {
    const auto part = header.values.find("split.no");
    if (part != header.values.end() && part->second.numbers != std::vector<double>{0})
        return refuse(error, "the file is a later part of a split model; the first part has the keys");
    double finetuned = 1, alpha = 0, blocks = 0;
    if (!keys.number("rope.scaling.finetuned", 0, 1, &finetuned, error) ||
        !keys.number("rope.scaling.alpha", 0, 1e6, &alpha, error) ||
        !keys.number("block_count", 0, 1e6, &blocks, error))
        return false;
    // For these, and no other, llama.cpp takes the key for a switch.
    if (isIn(" granite granitemoe granitehybrid ", name) && finetuned == 0)
        return refuse(error, "the key " + keys.name("rope.scaling.finetuned") + " switches the rotation off");
    if (name == "baichuan" && blocks == 40) // 13B, which llama.cpp tells by its depth too
        return refuse(error, "the model is Baichuan 13B, which has no rotary position encoding");
    if (alpha != 0 && !isIn(" hunyuan-dense hunyuan_vl ", name))
        return refuse(error, "the key " + keys.name("rope.scaling.alpha") + " is not read for the architecture " +
                                 shown(name));
    return keys.checkUnknown(error);
}

// ---- The head
// --------------------------------------------------------------------------------------------------------

bool readHead(const Keys& keys, const std::string& name, uint32_t* head_dim, uint32_t* rotary_dim, std::string* error) {
    const bool latent = turnsItsEnd(name) && keys.find("attention.key_length_mla") != nullptr;
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
        if (width % heads != 0 || width / heads > kMaxHeadDim) {
            return refuse(error, "an " + keys.name("embedding_length") + " of " + std::to_string(width) + " and an " +
                                     keys.name("attention.head_count") + " of " + std::to_string(heads) +
                                     " make no head of whole elements up to " + shown(kMaxHeadDim));
        }
        *head_dim = width / heads;
    }
    *rotary_dim = *head_dim;
    return keys.count("rope.dimension_count", kMaxHeadDim, rotary_dim, error);
}

bool checkPart(const ModelEncoding& model, std::string* error) {
    const uint32_t rotary = model.rotary_dim;
    if (rotary > model.head_dim) {
        return refuse(error, "a rotary part of " + std::to_string(rotary) + " elements does not fit into a head of " +
                                 std::to_string(model.head_dim));
    }
    if (rotary % 2 == 0 && rotary != 0 && rotary <= 2 * ROPE_MAX_PAIRS) return true;
    return refuse(error, "the rotary part has " + std::to_string(rotary) + " elements; it must be even and from 2 to " +
                             std::to_string(2 * ROPE_MAX_PAIRS));
}

bool checkHead(const std::string& name, const ModelEncoding& model, std::string* error) {
    // llama.cpp refuses these too.
    if (model.rotary_dim < model.head_dim && isIn(" llama deci falcon llama-embed ", name)) {
        return refuse(error, "a rotary part of " + std::to_string(model.rotary_dim) + " elements in a head of " +
                                 std::to_string(model.head_dim) + " is not what the architecture " + shown(name) +
                                 " has, which rotates the whole head");
    }
    return checkPart(model, error);
}

// A part that the caller wants, whatever the architecture has.
bool replaceRotaryDim(uint32_t wanted, ModelEncoding* model, std::string* error) {
    if (wanted == 0) return true;
    model->rotary_dim = wanted;
    return checkPart(*model, error);
}

// ---- The axes ------------------------------------------------------------------------------------------------------

const char kSections[] = "rope.dimension_sections";

// Pairs of t, h, w and a fourth axis. All 0, or none: one axis.
bool readSections(const Keys& keys, const std::string& name, std::array<uint32_t, 4>* sections, std::string* error) {
    const Value* value = keys.find(kSections);
    *sections = {};
    bool any = false, fits = value == nullptr || value->kind == Value::Kind::list;
    for (size_t i = 0; fits && value != nullptr && i < value->numbers.size(); ++i) {
        const double pairs = value->numbers[i];
        fits = i < sections->size() && pairs >= 0 && pairs <= ROPE_MAX_PAIRS && pairs == std::floor(pairs);
        if (fits) (*sections)[i] = static_cast<uint32_t>(pairs);
        any = any || pairs != 0;
    }
    if (!fits) return refuse(error, "the key " + keys.name(kSections) + " must be up to four counts of pairs");
    const Turn turn = findFamily(name)->turn;
    const bool always = turn == Turn::axes || turn == Turn::dealt_axes;
    if (always && !any) {
        return refuse(error, "the architecture " + shown(name) + " has positions of several axes, and the header no " +
                                 keys.name(kSections));
    }
    return !any || always || isIn(" glm4 glm4moe ", name) ||
           refuse(error, "the key " + keys.name(kSections) +
                             " asks for positions of several axes, which are not read for the architecture " +
                             shown(name));
}

// llama.cpp leaves to the fourth axis, which it holds at 0, what IMROPE's turns do not reach: two of Qwen3-VL's slowest
// pairs. The model's own code turns those by t, and so does this.
bool setAxes(const Keys& keys, const std::string& name, ModelEncoding* model, std::string* error) {
    std::array<uint32_t, 4> sections;
    if (!readSections(keys, name, &sections, error)) return false;
    const uint32_t pairs = model->rotary_dim / 2;
    uint64_t sum = 0;
    for (const uint32_t section : sections) sum += section;
    if (sum == 0) return true;
    const bool dealt = findFamily(name)->turn == Turn::dealt_axes;
    if (dealt && sections[3] != 0)
        return refuse(error, "the key " + keys.name(kSections) + " has pairs of a fourth axis, and three take turns");
    if (sum != pairs) {
        return refuse(error, "the key " + keys.name(kSections) + " is of " + std::to_string(sum) + " pairs, but " +
                                 std::to_string(pairs) + " turn");
    }
    const uint32_t count = sections[3] != 0 ? 4 : 3;
    model->axes.resize(pairs);
    model->axis_names = {"t", "h", "w"};
    if (count == 4) model->axis_names.push_back("e");
    model->pairing = ROPE_PAIRING_HALF;
    RopeReason reason;
    return ropeSetAxes(dealt ? ROPE_AXES_INTERLEAVED : ROPE_AXES_CONTIGUOUS, sections.data(), count, pairs,
                       model->axes.data(), &reason) == ROPE_SUCCESS ||
           refuse(error, reason.text);
}

// ---- The rule ----------------------------------------------------------------------------------------------------

struct Scaling {
    std::string type;  // empty: none is named
    double factor = 0; // 0: none is given
    bool yarn = false;
    double attention = 1; // llama.cpp multiplies cos and sin by it whatever the type
};

bool readScaling(const Keys& keys, Scaling* scaling, std::string* error) {
    const Value* type = keys.find("rope.scaling.type");
    const bool named = type != nullptr && type->kind == Value::Kind::text;
    if (named) scaling->type = type->text;
    if ((type != nullptr && !named) || (named && !isIn(" none linear yarn longrope ", type->text))) {
        return refuse(error, "the key " + keys.name("rope.scaling.type") + " is " +
                                 (named ? shown(type->text) : "no text") +
                                 "; 'none', 'linear', 'yarn' and 'longrope' are read");
    }
    double older = 0, extrapolation = -1, unread = 1;
    if (!keys.number("rope.scaling.factor", 0, 1e6, &scaling->factor, error) ||
        !keys.number("rope.scale_linear", 0, 1e6, &older, error) ||
        !keys.number("rope.scaling.attn_factor", 1e-3, 1e3, &scaling->attention, error) ||
        !keys.number("rope.scaling.yarn_ext_factor", -1e3, 1e3, &extrapolation, error) ||
        !keys.number("rope.scaling.yarn_attn_factor", -1e3, 1e3, &unread, error))
        return false;
    if (scaling->factor != 0 && older != 0 && scaling->factor != older) {
        return refuse(error, "the keys " + keys.name("rope.scaling.factor") + " and " + keys.name("rope.scale_linear") +
                                 " differ, " + shown(scaling->factor) + " and " + shown(older));
    }
    if (scaling->factor == 0) scaling->factor = older;
    if (scaling->factor != 0 && scaling->factor < 1e-6)
        return refuse(error, "the key " + keys.name("rope.scaling.factor") + " is " + shown(scaling->factor) +
                                 "; it must be from 1e-06 to 1000000, or 0 for none");
    if (extrapolation > 0 && extrapolation != 1)
        return refuse(error, "the key " + keys.name("rope.scaling.yarn_ext_factor") + " is " + shown(extrapolation) +
                                 "; 0 and 1 are read");
    // llama.cpp computes it anew for yarn, whatever stands here.
    if (unread != 1)
        return refuse(error, "the key " + keys.name("rope.scaling.yarn_attn_factor") + " is " + shown(unread) +
                                 "; only 1 is read");
    scaling->yarn = extrapolation < 0 ? scaling->type == "yarn" : extrapolation == 1;
    if (scaling->type == "none" && (scaling->yarn || (scaling->factor != 0 && scaling->factor != 1)))
        return refuse(error, "the key " + keys.name("rope.scaling.type") + " is 'none', and other keys scale");
    if (scaling->factor == 0 && (scaling->yarn || isIn(" linear yarn ", scaling->type)) && type != nullptr) {
        return refuse(error, "the scaling " + shown(scaling->type) + " has no " + keys.name("rope.scaling.factor"));
    }
    return true;
}

bool readOriginalLength(const Keys& keys, const std::string& why, double* length, std::string* error) {
    if (!keys.number("context_length", 1, 1e12, length, error) ||
        !keys.number("rope.scaling.original_context_length", 1, 1e12, length, error))
        return false;
    if (*length != 0) return true;
    return refuse(error, why + " has neither " + keys.name("rope.scaling.original_context_length") + " nor " +
                             keys.name("context_length"));
}

// What cos and sin are multiplied by (src/llama-context.cpp and rope_yarn in ggml/src/ggml-cpu/ops.cpp of llama.cpp).
// There g(1) / (1 + 0.1 ln s) goes into the kernel, which multiplies by 1 + 0.1 ln(1 / freq_scale), the same again, so
// that g(1) is left, with g(m) = 1 + 0.1 m ln s beyond s = 1. With a yarn_log_multiplier L it is g(1) / g(L), but for
// DeepSeek 2 g(L) / g(L) = 1: its attention is scaled instead. All but Mistral 3 wrote 0.1 L, and llama.cpp divides by
// 0.1f.
bool yarnScale(const Keys& keys, const std::string& name, double factor, double* scale, std::string* error) {
    const auto magnitude = [factor](double m) { return factor <= 1 ? 1 : 1 + 0.1 * m * std::log(factor); };
    double multiplier = 0;
    if (!keys.number("rope.scaling.yarn_log_multiplier", 0, 1e3, &multiplier, error)) return false;
    *scale = magnitude(1);
    if (multiplier == 0) return true;
    if (!isIn(" deepseek2 deepseek32 glm-dsa mistral3 mistral4 ", name)) {
        return refuse(error, "the key " + keys.name("rope.scaling.yarn_log_multiplier") +
                                 " is not read for the architecture " + shown(name));
    }
    if (name != "mistral3") multiplier = static_cast<double>(static_cast<float>(multiplier) / 0.1f);
    *scale = name == "deepseek2" ? 1 : magnitude(1) / magnitude(multiplier);
    return true;
}

bool readYarn(const Keys& keys, const std::string& name, const Scaling& scaling, RopeRule* rule, std::string* error) {
    rule->kind = ROPE_RULE_YARN;
    double scale = 1;
    if (!readOriginalLength(keys, "the scaling 'yarn'", &rule->original_length, error) ||
        !keys.number("rope.scaling.yarn_beta_fast", 1e-6, 1e6, &rule->beta_fast, error) ||
        !keys.number("rope.scaling.yarn_beta_slow", 1e-6, 1e6, &rule->beta_slow, error) ||
        !yarnScale(keys, name, scaling.factor, &scale, error))
        return false;
    rule->attention_factor = scale * scaling.attention;
    return true;
}

bool readRule(const Keys& keys, const std::string& name, const Scaling& scaling, RopeRule* rule, std::string* error) {
    rule->base = 10000;
    rule->factor = scaling.factor;
    double alpha = 0;
    if (!keys.number("rope.freq_base", 1, 1e19, &rule->base, error) ||
        !keys.number("rope.scaling.alpha", 0, 1e6, &alpha, error))
        return false;
    if (alpha != 0 && (scaling.yarn || (scaling.factor != 0 && scaling.factor != 1))) {
        return refuse(error, "the keys " + keys.name("rope.scaling.alpha") + " and " +
                                 keys.name("rope.scaling.factor") + " ask for two rules at once");
    }
    if (scaling.yarn) return readYarn(keys, name, scaling, rule, error);
    rule->kind = scaling.factor == 0 || scaling.factor == 1 ? ROPE_RULE_DEFAULT : ROPE_RULE_LINEAR;
    if (alpha != 0) {
        rule->kind = ROPE_RULE_NTK;
        rule->factor = alpha;
    }
    return true;
}

// ---- Layers of two types -------------------------------------------------------------------------------------------

struct Layer {
    uint32_t head_dim = 0;
    uint32_t rotary_dim = 0;
    RopeRule rule = {};
    double scale = 1;    // where the rule has none of its own
    bool factors = true; // whether the tensors of factors hold
};

bool same(const Layer& a, const Layer& b) {
    return a.head_dim == b.head_dim && a.rotary_dim == b.rotary_dim && a.rule.kind == b.rule.kind &&
           a.rule.base == b.rule.base && a.rule.factor == b.rule.factor && a.scale == b.scale && a.factors == b.factors;
}

bool readSliding(const Keys& keys, const Sliding& sliding, bool has_factors, const Layer& full, Layer* layer,
                 std::string* error) {
    *layer = full;
    if (!sliding.scaled) {
        layer->rule = {};
        layer->rule.base = full.rule.base;
        layer->scale = 1;
        layer->factors = !has_factors;
    }
    if (!sliding.base_of_full) layer->rule.base = 10000;
    if (!keys.number("rope.freq_base_swa", 1, 1e19, &layer->rule.base, error) ||
        !keys.count("attention.key_length_swa", kMaxHeadDim, &layer->head_dim, error))
        return false;
    if (layer->head_dim != full.head_dim && full.rotary_dim == full.head_dim) layer->rotary_dim = layer->head_dim;
    return keys.count("rope.dimension_count_swa", kMaxHeadDim, &layer->rotary_dim, error);
}

bool chooseLayer(const Keys& keys, const std::string& name, const std::string& type, bool has_factors, Layer* layer,
                 std::string* error) {
    if (!type.empty() && type != "full_attention" && type != "sliding_attention")
        return refuse(error, "there are no layers of type " + shown(type) +
                                 " in a .gguf file; full_attention and sliding_attention are");
    const Sliding* sliding = findSliding(name);
    const Layer full = *layer;
    if (sliding == nullptr) {
        for (const char* key : {"rope.freq_base_swa", "rope.dimension_count_swa", "attention.key_length_swa"}) {
            if (keys.find(key) != nullptr)
                return refuse(error, "the key " + keys.name(key) + " is not read for the architecture " + shown(name));
        }
        if (type == "sliding_attention")
            return refuse(error, "the architecture " + shown(name) + " has no layers of type sliding_attention");
        return true;
    }
    if (!readSliding(keys, *sliding, has_factors, full, layer, error)) return false;
    double window = keys.find("rope.freq_base_swa") != nullptr ? 1 : 0;
    if (!keys.number("attention.sliding_window", 0, 1e12, &window, error)) return false;
    const bool differ = window != 0 && !same(full, *layer);
    if (type.empty() && differ)
        return refuse(error, "the layers of two types rotate differently; ask for full_attention or sliding_attention");
    if (type != "sliding_attention") *layer = full;
    return true;
}

// ---- All of it together
// ----------------------------------------------------------------------------------------------

struct Factors {
    std::vector<double> one, by_short, by_long;
};

bool readAllFactors(Cursor* file, const Header& header, uint32_t pairs, Factors* factors, std::string* error) {
    if (!readFactors(file, header, "rope_freqs.weight", pairs, &factors->one, error) ||
        !readFactors(file, header, "rope_factors_short.weight", pairs, &factors->by_short, error) ||
        !readFactors(file, header, "rope_factors_long.weight", pairs, &factors->by_long, error))
        return false;
    if (factors->by_short.empty() != factors->by_long.empty())
        return refuse(error, "the file has only one of the tensors 'rope_factors_short.weight' and "
                             "'rope_factors_long.weight'");
    if (!factors->one.empty() && !factors->by_long.empty())
        return refuse(error, "the file has both 'rope_freqs.weight' and 'rope_factors_long.weight'; one is enough");
    return true;
}

// llama.cpp divides the angle by the pair's factor, before what the scaling does to it, and takes the long factors
// where the context is longer than the original one.
bool applyFactors(const Keys& keys, const Factors& factors, double length, ModelEncoding* model, std::string* error) {
    const std::vector<double>* chosen = &factors.one;
    if (!factors.by_long.empty()) {
        RopeRule& rule = model->rule;
        if (!readOriginalLength(keys, "a file with 'rope_factors_long.weight'", &rule.original_length, error))
            return false;
        rule.length = length;
        chosen = length > rule.original_length ? &factors.by_long : &factors.by_short;
        if (rule.kind == ROPE_RULE_DEFAULT) {
            rule.kind = ROPE_RULE_LONGROPE;
            rule.attention_factor = model->scale;
        }
    }
    for (size_t i = 0; i < chosen->size(); ++i) model->frequencies[i] /= (*chosen)[i];
    return true;
}

bool makeFrequencies(const Layer& layer, ModelEncoding* model, std::string* error) {
    model->rule = layer.rule;
    model->rule.rotary_dim = model->rotary_dim;
    model->frequencies.resize(model->rotary_dim / 2);
    RopeReason reason;
    if (ropeMakeFrequencies(&model->rule, model->frequencies.data(), &model->scale, &reason) != ROPE_SUCCESS)
        return refuse(error, reason.text);
    model->scale *= layer.scale;
    return true;
}

bool resolve(Cursor* file, const Header& header, const GgufRequest& request, ModelEncoding* model, std::string* error) {
    if (!readArchitecture(header, &model->model_type, &model->pairing, error)) return false;
    const std::string& name = model->model_type;
    const Keys keys(header, name);
    Layer layer;
    Scaling scaling;
    Factors factors;
    if (!checkModel(keys, header, name, error) || !readHead(keys, name, &layer.head_dim, &layer.rotary_dim, error) ||
        !readScaling(keys, &scaling, error) || !readRule(keys, name, scaling, &layer.rule, error))
        return false;
    if (layer.rule.kind != ROPE_RULE_YARN) layer.scale = scaling.attention;
    if (!chooseLayer(keys, name, request.layer_type, !header.factors.empty(), &layer, error)) return false;
    model->head_dim = layer.head_dim;
    model->rotary_dim = layer.rotary_dim;
    if (!checkHead(name, *model, error) || !replaceRotaryDim(request.rotary_dim, model, error)) return false;
    model->rotary_begin = turnsItsEnd(name) ? model->head_dim - model->rotary_dim : 0;
    if (layer.factors && !readAllFactors(file, header, model->rotary_dim / 2, &factors, error)) return false;
    if (scaling.type == "longrope" && factors.by_long.empty())
        return refuse(error, "the scaling 'longrope' has no tensors 'rope_factors_short.weight' and "
                             "'rope_factors_long.weight'");
    return setAxes(keys, name, model, error) && makeFrequencies(layer, model, error) &&
           applyFactors(keys, factors, request.length, model, error);
}

} // namespace

bool parseGguf(const GgufSource& source, const GgufRequest& request, ModelEncoding* model, std::string* error) {
    *model = {};
    Header header;
    Cursor file(source);
    if (!readHeader(&file, &header)) return refuse(error, file.problem());
    return resolve(&file, header, request, model, error);
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
