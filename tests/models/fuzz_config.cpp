// Any text is either refused with one sentence, or gives an encoding whose members agree, for each of its layer types
// and any length.
#include "models/config.hpp"
#include "support/layers_agree.hpp"

#include <cmath>
#include <cstdlib>

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void requireWhole(const rope::ModelEncoding& model) {
    require(model.rotary_dim >= 2 && model.rotary_dim == 2 * model.frequencies.size());
    require(model.rotary_begin + model.rotary_dim <= model.head_dim);
    require(model.scale > 0 && std::isfinite(model.scale));
    require(model.rule.short_factors == nullptr && model.rule.long_factors == nullptr);
    for (const double frequency : model.frequencies) require(std::isfinite(frequency));
    require(model.axes.empty() ? model.axis_names.empty() : model.axes.size() == model.frequencies.size());
    for (const uint8_t axis : model.axes) require(axis < model.axis_names.size() && axis < ROPE_MAX_AXES);
    require(model.chunk_dim == 0 || (model.chunk_dim % 2 == 0 && model.rotary_dim % model.chunk_dim == 0));
}

void read(const std::string& text, const rope::ConfigRequest& request, rope::ModelEncoding* model) {
    std::string error;
    const bool accepted = rope::readConfig(text, request, model, &error);
    require(accepted == error.empty() && error.find('\n') == std::string::npos);
    if (!accepted) return;
    requireWhole(*model);
    require(layersAgree(*model));
}

} // namespace

void fuzzConfig(const uint8_t* bytes, size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    rope::ModelEncoding model, other;
    read(text, {}, &model);
    std::vector<std::string> types = model.layer_types;
    types.resize(types.size() < 4 ? types.size() : 4);
    types.emplace_back();
    types.emplace_back("none");
    types.emplace_back("vision");
    for (const std::string& type : types) {
        rope::ConfigRequest request;
        request.layer_type = type;
        request.length = 1e6;
        read(text, request, &other);
        request.rotary_dim = 16;
        read(text, request, &other);
        for (const uint32_t layer : {0u, 3u, 40u}) {
            request.layer = layer;
            read(text, request, &other);
        }
    }
}

#ifdef VKROPE_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    fuzzConfig(bytes, size);
    return 0;
}
#endif
