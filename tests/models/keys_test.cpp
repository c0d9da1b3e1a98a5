// Keys beside keys: each is read as the model's own code reads it, or named in a note.
#include "support/config_read.hpp"
#include "support/paths.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

using namespace config;
using Json = nlohmann::ordered_json;

namespace {

// The class of a model type made this of some keys: elements that turn, the sum of the frequencies, and the scale.
struct Outcome {
    double elements, sum, scale;
};

struct Counts {
    size_t same = 0, named = 0, refused = 0, silent = 0;
};

// A type, and after a space the type of its layers where these differ.
struct Case {
    std::string type, layer;
    explicit Case(const std::string& words)
        : type(words.substr(0, words.find(' '))), layer(words.substr(std::min(words.find(' '), words.size()))) {
        if (!layer.empty()) layer.erase(0, 1);
    }
};

Json loadExperiments() {
    std::ifstream in(paths::data("keys.json"));
    return Json::parse(in);
}

Json configOf(const Json& data, const Case& one, const Json& keys) {
    Json config = keys;
    config["model_type"] = one.type;
    if (one.type == "esm" || one.type == "evolla") config["position_embedding_type"] = "rotary";
    if (one.type == "granitemoehybrid") config["position_embedding_type"] = "rope";
    for (const char* name : {"rope_parameters", "rope_scaling"}) {
        if (!config.contains(name) || !config[name].is_object() || !config[name].contains("*")) continue;
        const Json rule = config[name]["*"];
        config[name] = Json::object();
        for (const Json& layer : data["layers"][one.type]) config[name][layer.get<std::string>()] = rule;
    }
    return config;
}

bool near(double value, double wanted) { return std::abs(value - wanted) <= 2e-4 * std::abs(wanted); }

bool isSame(const rope::ModelEncoding& model, const Outcome& wanted) {
    double sum = 0;
    for (const double frequency : model.frequencies) sum += std::abs(frequency);
    return 2.0 * static_cast<double>(model.frequencies.size()) == wanted.elements && near(sum, wanted.sum) &&
           near(model.scale, wanted.scale);
}

bool names(const std::vector<std::string>& notes, const Json& keys) {
    for (const std::string& note : notes) {
        for (const auto& item : keys.items()) {
            if (note.find(item.key()) != std::string::npos) return true;
            if (item.value().is_object() && names({note}, item.value())) return true;
        }
    }
    return false;
}

// These types' remarks say what is done otherwise whatever the keys are.
bool isRemarked(const std::string& type) {
    for (const char* other : {"recurrent_gemma", "glm4v_text", "glm_image_text", "minimax_m3_vl_text"}) {
        if (type == other) return true;
    }
    return false;
}

void tryExperiment(const Json& data, const Case& one, const std::string& name, const Outcome& wanted, Counts* counts) {
    const Json config = configOf(data, one, data["keys"][name]);
    rope::ConfigRequest request;
    rope::ModelEncoding model;
    std::string error;
    request.layer_type = one.layer;
    if (!rope::readConfig(config.dump(), request, &model, &error)) {
        EXPECT_FALSE(error.empty());
        ++counts->refused;
    } else if (isSame(model, wanted)) {
        ++counts->same;
    } else if (names(model.notes, config) || (isRemarked(one.type) && !model.notes.empty())) {
        ++counts->named;
    } else {
        ++counts->silent;
        ADD_FAILURE() << config.dump() << " " << one.layer << ": " << model.frequencies.size() << " pairs, base "
                      << model.rule.base << "; its own code has " << wanted.elements << " elements";
    }
}

TEST(Config, KeysAreReadAsTheModelsOwnCodeDoesOrNamed) {
    const Json data = loadExperiments();
    std::vector<std::string> sets;
    for (const auto& item : data["keys"].items()) sets.push_back(item.key());
    Counts counts;
    for (const auto& item : data["types"].items()) {
        const Case one(item.key());
        for (const Json& outcome : item.value()) {
            const Outcome wanted = {outcome[0][0], outcome[0][1], outcome[0][2]};
            for (const Json& index : outcome[1]) tryExperiment(data, one, sets[index], wanted, &counts);
        }
    }
    std::printf("%zu as the model's own code, %zu otherwise and named, %zu refused, %zu otherwise without a word\n",
                counts.same, counts.named, counts.refused, counts.silent);
    EXPECT_GT(counts.same, 4000u);
    EXPECT_EQ(counts.silent, 0u);
}

std::string notesOf(const std::string& text, const std::string& layer = "") {
    std::string all;
    for (const std::string& note : read(text, layer).notes) {
        if (note.find("was not checked") == note.npos) all += note + "\n";
    }
    return all;
}

TEST(Config, RecordsThatWereNotCheckedSayIt) {
    const std::string skywork = R"({"model_type": "skywork"})";
    EXPECT_EQ(read(skywork).notes,
              std::vector<std::string>{"what is known of the model type \"skywork\" was not checked against the "
                                       "model's own code"});
    EXPECT_TRUE(read(R"({"model_type": "llama"})").notes.empty());
    EXPECT_TRUE(read(R"({"model_type": "arctic", "num_hidden_layers": 2})").notes.empty());
}

TEST(Config, IgnoredKeysAreNamedWithWhatHoldsInstead) {
    const char* const rows[][3] = {
        {R"({"model_type": "gpt_neox", "rope_theta": 54321})", "rope_theta of 54321", "base is 10000"},
        {R"({"model_type": "apertus", "rope_theta": 54321})", "rope_theta", "base is 12000000"},
        {R"({"model_type": "bamba", "partial_rotary_factor": 0.25})", "partial_rotary_factor", "64 of a head's 128"},
        {R"({"model_type": "deepseek_v3", "qk_nope_head_dim": 128, "partial_rotary_factor": 0.5})",
         "partial_rotary_factor of 0.5", "64 of a head's 64"},
        {R"({"model_type": "llama", "partial_rotary_factor": 0.5})", "partial_rotary_factor of 0.5", "128 of a head's"},
        {R"({"model_type": "llama", "rotary_pct": 0.5})", "rotary_pct of 0.5", "128 of a head's 128"},
        {R"({"model_type": "llama", "n_embd": 64})", "n_embd of 64", "128 elements"},
        {R"({"model_type": "step3p5", "partial_rotary_factor": 0.5})", "partial_rotary_factor", "128 of a head's 128"},
        {R"({"model_type": "gptj", "rope_theta": 5})", "rope_theta", "base is 10000"},
        {R"({"model_type": "cohere2_moe", "rope_theta": 10000, "rope_scaling": {"type": "linear", "factor": 2}})",
         "rope_scaling", "'default'"},
        {R"({"model_type": "qwen3", "rope_parameters": {"full_attention": {"rope_theta": 5}}})", "rope_parameters",
         "'default'"},
        {R"({"model_type": "glm", "rope_parameters": {"rope_type": "linear", "factor": 2, "partial_rotary_factor": 0.25}})",
         "partial_rotary_factor of 0.25", "64 of a head's 128"},
        {R"({"model_type": "mimo_v2_flash", "rope_theta": 7, "swa_rope_theta": 8})", "rope_theta of 7",
         "base is 5000000"},
        {R"({"model_type": "phi3", "default_theta": 54321})", "default_theta is not read", "rope_theta"},
        {R"({"model_type": "phi4_multimodal", "default_theta": 54321})", "default_theta is not read", "rope_theta"},
        {R"({"model_type": "dbrx", "max_position_embeddings": 8192, "rope_scaling": {"type": "yarn", "factor": 4}})",
         "max_position_embeddings is read", "max_seq_len"},
        {R"({"model_type": "longcat_flash", "qk_rope_head_dim": 32})", "qk_rope_head_dim of 32", "head has 64"},
        {R"({"model_type": "minimax_m2", "rotary_dim": 64})", "rotary_dim is read", "partial_rotary_factor"},
        {R"({"model_type": "codeshell", "position_embedding_type": "rope", "rope_theta": 54321})",
         "rope_theta of 54321", "base is 10000"},
        {R"({"model_type": "RefinedWeb", "hidden_size": 8192, "n_head": 128, "rope_scaling": {"type": "linear", "factor": 2}})",
         "rope_scaling", "'default'"},
        {R"({"model_type": "internlm", "rope_theta": 54321, "rotary": {"base": 20000, "type": "origin"}})",
         "rope_theta of 54321", "base is 20000"},
        {R"({"model_type": "minimax_m1", "attn_type_list": [0, 1], "rope_scaling": {"type": "linear", "factor": 2}})",
         "rope_scaling is read", "vLLM"},
    };
    for (const auto& row : rows) {
        const std::string notes = notesOf(row[0]);
        EXPECT_EQ(notes.empty(), row[1][0] == 0) << row[0] << ": " << notes;
        EXPECT_NE(notes.find(row[1]), std::string::npos) << row[0] << ": " << notes;
        EXPECT_NE(notes.find(row[2]), std::string::npos) << row[0] << ": " << notes;
    }
}

// The class has an original length of its own beside the rule, and that one goes first: sqrt(1 + ln(32) / ln(4096)).
TEST(Config, PhisOriginalLengthStandsBesideTheRule) {
    const auto config = [](const std::string& type, const std::string& beside, const std::string& within) {
        return R"({"model_type": ")" + type + R"(", "head_dim": 8, "max_position_embeddings": 131072, )" + beside +
               R"("rope_scaling": {"type": "longrope", )" + within +
               R"("short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 2]}})";
    };
    const std::string key = R"("original_max_position_embeddings": )";
    for (const char* type : {"phi3", "phi3_v", "phi4_multimodal", "phi4mm"}) {
        for (const std::string& text :
             {config(type, "", ""), config(type, key + "4096, ", ""), config(type, "", key + "8192, "),
              config(type, key + "4096, ", key + "8192, ")}) {
            EXPECT_NEAR(read(text).scale, std::sqrt(1 + std::log(32.0) / std::log(4096.0)), 1e-12) << text;
            EXPECT_EQ(read(text, "", 4096).frequencies.at(0), 1) << text;
            EXPECT_EQ(read(text, "", 4097).frequencies.at(0), 0.5) << text;
            EXPECT_EQ(notesOf(text).empty(), text.find("8192") == text.npos) << text << notesOf(text);
        }
        EXPECT_NE(notesOf(config(type, "", key + "8192, "))
                      .find("original_max_position_embeddings of 8192 is ignored, because the code of the model type"),
                  std::string::npos);
        EXPECT_NE(notesOf(config(type, "", key + "8192, ")).find("the original length is 4096\n"), std::string::npos);
        EXPECT_EQ(read(config(type, key + "2048, ", ""), "", 2049).frequencies.at(0), 0.5);
        EXPECT_EQ(notesOf(config(type, key + "2048, ", key + "2048, ")), "");
    }
    const std::string plain = R"({"model_type": "phi3", "rope_scaling": {"type": "default", )" + key + "64}}";
    EXPECT_EQ(notesOf(plain), "");
}

TEST(Config, KeysThatSayWhatHoldsAnywayAreNotNamed) {
    for (
        const char* text :
        {R"({"model_type": "apertus", "rope_theta": 12000000, "rope_scaling": {"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 8192, "low_freq_factor": 1, "high_freq_factor": 4}})",
         R"({"model_type": "mimo_v2_flash", "rope_theta": 5000000, "swa_rope_theta": 10000, "partial_rotary_factor": 0.334})",
         R"({"model_type": "gpt_neox", "rotary_pct": 0.25, "rotary_emb_base": 10000, "rope_theta": 10000})",
         R"({"model_type": "longcat_flash", "qk_rope_head_dim": 64})", R"({"model_type": "phi3"})",
         R"({"model_type": "dbrx", "max_seq_len": 8192})", R"({"model_type": "cwm", "rope_theta": 1000000})",
         R"({"model_type": "llama", "rotary_pct": 1})",
         R"({"model_type": "deepseek_ocr2_text", "hidden_size": 1280, "num_attention_heads": 10, "head_dim": 128})",
         R"({"model_type": "deepseek_v3", "qk_nope_head_dim": 128, "partial_rotary_factor": 0.3333333333333333})",
         R"({"model_type": "llama", "hidden_size": 4096, "d_model": 4096})"})
        EXPECT_EQ(notesOf(text), "") << text;
}

TEST(Config, UnknownTypesAreReadPlainlyAndThatIsSaid) {
    const std::string notes = notesOf(
        R"({"model_type": "wat", "head_dim": 64, "rope_theta": 5000, "rope_scaling": {"type": "linear", "factor": 2}})");
    for (const char* word : {"\"wat\"", "not known", "'linear'", "5000", "64"})
        EXPECT_NE(notes.find(word), std::string::npos) << notes;
    const std::string plain = notesOf(
        R"({"model_type": "wat", "hidden_size": 512, "num_attention_heads": 8, "rope_theta": 5000, "partial_rotary_factor": 0.5})");
    EXPECT_NE(plain.find("names no rule"), std::string::npos) << plain;
    EXPECT_NE(plain.find("32 of a head's 64"), std::string::npos) << plain;
    EXPECT_NE(notesOf(R"({"head_dim": 64, "rope_theta": 5000})").find("no model_type"), std::string::npos);
}

} // namespace
