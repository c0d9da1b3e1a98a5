// This program runs a model of llama.cpp's and writes the logits of every token, for a cache's type, at positions that
// begin far from 0, and after shifts of the cache:
//   far MODEL LAYERS_ON_THE_GPU FOLDER TEXT[,TEXT...] CACHE:OFFSET:SHIFT...
// With `attention` for the layers the GPU has rotations, caches, attention and the norms of Q and K, and the CPU has
// the other weights. TEXT is a file, FILE:MOST for its first tokens, or a number of tokens that are drawn; behind
// TEXT+GREEDY that many tokens are added, each the likeliest. With a SHIFT the second half is decoded when all
// positions of the first have moved by it. The logits lie in FOLDER/TEXT/CACHE:OFFSET:SHIFT.f32, a row of float32 for
// each token, where TEXT is the file's name without its ending, and the text's tokens beside them in tokens.i32. The
// exit status is 2 where something is refused.
#include "ggml-backend.h"
#include "ggml.h"
#include "llama.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

[[noreturn]] void refuse(const std::string& sentence) {
    std::fprintf(stderr, "far: %s\n", sentence.c_str());
    std::exit(2);
}

ggml_type typeNamed(const std::string& name) {
    for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
        const char* found = ggml_type_name(static_cast<ggml_type>(type));
        if (found != nullptr && name == found) return static_cast<ggml_type>(type);
    }
    refuse("there is no type '" + name + "'; f16, q8_0 and q4_0 are some");
}

struct Text {
    std::string folder;
    std::vector<llama_token> tokens;
    int greedy = 0;
};

Text textOf(const llama_vocab* words, const std::string& asked, const std::filesystem::path& folder) {
    Text text;
    std::string name = asked.substr(0, asked.rfind('+'));
    if (name != asked) text.greedy = std::atoi(asked.c_str() + name.size() + 1);
    if (name.find_first_not_of("0123456789") == std::string::npos) {
        const uint32_t count = std::stoul(name);
        for (uint32_t i = 0, drawn = 1; i < count; ++i) {
            drawn = drawn * 1664525 + 1013904223;
            text.tokens.push_back(static_cast<llama_token>((drawn >> 8) % llama_vocab_n_tokens(words)));
        }
    } else {
        const size_t colon = name.rfind(':');
        const int most = colon == std::string::npos ? INT32_MAX : std::atoi(name.c_str() + colon + 1);
        name.resize(std::min(colon, name.size()));
        std::ifstream file(name);
        if (!file) refuse("there is no text " + name);
        const std::string read((std::istreambuf_iterator<char>(file)), {});
        text.tokens.resize(read.size() + 8);
        const int count =
            llama_tokenize(words, read.data(), read.size(), text.tokens.data(), text.tokens.size(), true, false);
        if (count <= 0) refuse(name + " has no tokens");
        text.tokens.resize(std::min(count, most));
    }
    text.folder = (folder / std::filesystem::path(name).stem()).string();
    std::filesystem::create_directories(text.folder);
    std::ofstream(text.folder + "/tokens.i32", std::ios::binary)
        .write(reinterpret_cast<const char*>(text.tokens.data()), text.tokens.size() * sizeof(text.tokens[0]));
    return text;
}

struct Run {
    llama_context* context;
    size_t words;
    std::ofstream out;

    // Decodes tokens that lie beside each other, the first at `position`, and returns the likeliest word behind them.
    llama_token decode(const llama_token* tokens, size_t count, llama_pos position) {
        constexpr size_t kMost = 64;
        llama_token likeliest = 0;
        for (size_t begin = 0; begin < count; begin += kMost) {
            const size_t some = std::min(kMost, count - begin);
            llama_batch batch = llama_batch_init(some, 0, 1);
            batch.n_tokens = some;
            for (size_t i = 0; i < some; ++i) {
                batch.token[i] = tokens[begin + i];
                batch.pos[i] = position + begin + i;
                batch.n_seq_id[i] = 1;
                batch.seq_id[i][0] = 0;
                batch.logits[i] = 1;
            }
            if (llama_decode(context, batch) != 0) refuse("llama_decode failed");
            llama_batch_free(batch);
            for (size_t i = 0; i < some; ++i) {
                const float* logits = llama_get_logits_ith(context, i);
                out.write(reinterpret_cast<const char*>(logits), words * sizeof(float));
                likeliest = static_cast<llama_token>(std::max_element(logits, logits + words) - logits);
            }
        }
        return likeliest;
    }
};

// Runs a text as CACHE:OFFSET:SHIFT says. The logits have their name when all of them are there.
void run(llama_model* model, const Text& text, const std::string& name, bool attention) {
    std::istringstream wanted(name);
    std::string cache, offset, shift;
    std::getline(wanted, cache, ':');
    std::getline(wanted, offset, ':');
    std::getline(wanted, shift, ':');
    llama_context_params p = llama_context_default_params();
    p.n_ctx = text.tokens.size() + text.greedy + 64;
    p.n_batch = p.n_ubatch = 64;
    p.type_k = p.type_v = typeNamed(cache);
    p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    p.op_offload = !attention;
    const std::string path = text.folder + "/" + name;
    Run run = {llama_init_from_model(model, p), static_cast<size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model))),
               std::ofstream(path + ".part", std::ios::binary)};
    if (run.context == nullptr) refuse("llama.cpp makes no context with a cache of " + cache);
    const std::vector<llama_token>& tokens = text.tokens;
    llama_pos at = std::atoi(offset.c_str());
    const llama_pos moved = std::atoi(shift.c_str());
    const size_t first = moved != 0 ? tokens.size() / 2 : tokens.size();
    llama_token next = run.decode(tokens.data(), first, at);
    if (moved != 0) {
        llama_memory_seq_add(llama_get_memory(run.context), 0, -1, -1, moved);
        at += moved;
        next = run.decode(tokens.data() + first, tokens.size() - first, at + first);
    }
    for (int i = 0; i < text.greedy; ++i) next = run.decode(&next, 1, at + tokens.size() + i);
    llama_free(run.context);
    if (!run.out.flush()) refuse("nothing can be written into " + text.folder);
    std::filesystem::rename(path + ".part", path + ".f32");
}

} // namespace

int main(int count, char** arguments) {
    if (count < 6) refuse("it takes MODEL LAYERS FOLDER TEXT[,TEXT...] CACHE:OFFSET:SHIFT...");
    llama_log_set(
        [](ggml_log_level level, const char* text, void*) {
            if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
        },
        nullptr);
    llama_model_params of_model = llama_model_default_params();
    const bool attention = arguments[2] == std::string("attention");
    of_model.use_extra_bufts = false; // the CPU takes weights as the file has them, on every machine
    of_model.n_gpu_layers = attention ? 99 : std::atoi(arguments[2]);
    ggml_backend_dev_t none[] = {nullptr};
    if (of_model.n_gpu_layers == 0) of_model.devices = none;
    // llama.cpp computes a rotation where the weights of the norm before it lie.
    const llama_model_tensor_buft_override others[] = {{"^(?!.*attn_[qk]_norm)", ggml_backend_cpu_buffer_type()},
                                                       {nullptr, nullptr}};
    if (attention) of_model.tensor_buft_overrides = others;
    llama_model* model = llama_model_load_from_file(arguments[1], of_model);
    if (model == nullptr) refuse(std::string("llama.cpp does not load ") + arguments[1]);
    std::vector<Text> texts;
    std::istringstream asked(arguments[4]);
    for (std::string one; std::getline(asked, one, ',');)
        texts.push_back(textOf(llama_model_get_vocab(model), one, arguments[3]));
    for (int i = 5; i < count; ++i)
        for (const Text& text : texts) run(model, text, arguments[i], attention);
    llama_model_free(model);
    return 0;
}
