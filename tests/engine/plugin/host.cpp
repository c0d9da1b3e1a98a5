// A host of the native plugin: it owns everything that is Vulkan's, loads the plugin, lets it rotate queries and keys
// in frames of other positions and lengths, and compares every bit with the CPU's run, for which vkrope is linked here
// too.
#include "services.hpp"

#include <vkrope/rope.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace {

using engine::require;

constexpr uint32_t kQueryHeads = 4, kKeyHeads = 2, kHeadDim = 64, kMostTokens = 24, kFrames = 6;
constexpr uint32_t kLengths[kFrames] = {24, 1, 2, 17, 1, 8};

class Library {
  public:
#ifdef _WIN32
    explicit Library(const std::string& path) : handle_(LoadLibraryA(path.c_str())) {
        require(handle_ != nullptr, path.c_str());
    }
    ~Library() { FreeLibrary(handle_); }
    template <typename Function> Function get(Function, const char* name) const {
        return reinterpret_cast<Function>(reinterpret_cast<void*>(GetProcAddress(handle_, name)));
    }

  private:
    HMODULE handle_;
#else
    explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        require(handle_ != nullptr, path.c_str());
    }
    ~Library() { dlclose(handle_); }
    template <typename Function> Function get(Function, const char* name) const {
        return reinterpret_cast<Function>(dlsym(handle_, name));
    }

  private:
    void* handle_;
#endif
};

// One frame's queries, keys and positions, at offsets that are not 0 in one buffer each, and what the CPU makes of
// them.
struct Frame {
    uint32_t tokens;
    engine::Slice slices[3]; // queries, keys, positions
    std::vector<float> q, k;
    std::vector<int32_t> positions;

    Frame(uint32_t index, VkDeviceSize offset, engine::Arena* arena);
    RopePluginFrame event(VkCommandBuffer commands, VkDeviceSize offset) const;
    void compare(VkDeviceSize offset);
};

const char* at(const engine::Slice& slice, VkDeviceSize offset) { return static_cast<char*>(slice.mapped) + offset; }

Frame::Frame(uint32_t index, VkDeviceSize offset, engine::Arena* arena) : tokens(kLengths[index]) {
    for (uint32_t i = 0; i < tokens * kQueryHeads * kHeadDim; ++i)
        q.push_back(static_cast<float>((i + 7 * index) * 337 % 1009) / 256 - 2);
    for (uint32_t i = 0; i < tokens * kKeyHeads * kHeadDim; ++i)
        k.push_back(static_cast<float>((i + 5 * index) * 613 % 1009) / 256 - 2);
    for (uint32_t i = 0; i < tokens; ++i) positions.push_back(static_cast<int32_t>(100000 * index + i * i + 1));
    const size_t bytes[3] = {q.size() * sizeof(float), k.size() * sizeof(float), tokens * sizeof(int32_t)};
    const void* const contents[3] = {q.data(), k.data(), positions.data()};
    for (uint32_t i = 0; i < 3; ++i) {
        slices[i] = arena->cut(offset + bytes[i]);
        std::memcpy(static_cast<char*>(slices[i].mapped) + offset, contents[i], bytes[i]);
    }
}

RopePluginFrame Frame::event(VkCommandBuffer commands, VkDeviceSize offset) const {
    RopePluginPlace places[3];
    for (uint32_t i = 0; i < 3; ++i) places[i] = {Services::handle(slices[i]), offset};
    return {reinterpret_cast<RopePluginCommands>(commands), tokens, places[0], places[1], places[2]};
}

void Frame::compare(VkDeviceSize offset) {
    double values[kHeadDim / 2], scale;
    RopeRule rule = {};
    rule.rotary_dim = kHeadDim;
    rule.base = 10000;
    require(ropeMakeFrequencies(&rule, values, &scale, nullptr) == ROPE_SUCCESS, "ropeMakeFrequencies");
    RopeRotateDescription d = {};
    d.tokens = tokens;
    d.head_dim = kHeadDim;
    d.rotation.frequencies = {values, kHeadDim / 2, scale, nullptr, 1};
    d.q.heads = kQueryHeads;
    d.k.heads = kKeyHeads;
    const std::vector<float> before = q;
    RopeHostRotate run = {};
    run.positions = positions.data();
    run.q = run.q_out = q.data();
    run.k = run.k_out = k.data();
    require(ropeHostRunRotate(&d, &run, nullptr) == ROPE_SUCCESS, "ropeHostRunRotate");
    require(std::memcmp(q.data(), at(slices[0], offset), q.size() * sizeof(float)) == 0, "queries have the CPU's bits");
    require(std::memcmp(k.data(), at(slices[1], offset), k.size() * sizeof(float)) == 0, "keys have the CPU's bits");
    require(q != before, "something happened to them");
}

struct Plugin {
    explicit Plugin(const Library& library)
        : version(library.get(&rope_plugin_version, "rope_plugin_version")),
          load(library.get(&rope_plugin_load, "rope_plugin_load")),
          prepare(library.get(&rope_plugin_prepare, "rope_plugin_prepare")),
          event(library.get(&rope_plugin_event, "rope_plugin_event")),
          unload(library.get(&rope_plugin_unload, "rope_plugin_unload")) {
        require(version && load && prepare && event && unload, "the plugin has its five functions");
        require(version != nullptr && version() == ROPE_PLUGIN_VERSION, "the plugin is of this version");
    }
    decltype(&rope_plugin_version) version;
    decltype(&rope_plugin_load) load;
    decltype(&rope_plugin_prepare) prepare;
    decltype(&rope_plugin_event) event;
    decltype(&rope_plugin_unload) unload;
    RopePlugin* state = nullptr;
    RopePluginSentence sentence;

    void expect(RopePluginResult result, RopePluginResult wanted, const char* words) const {
        const bool right = result == wanted && std::strstr(sentence.text, words) != nullptr &&
                           (*words == '\0') == (sentence.text[0] == '\0');
        if (!right) std::fprintf(stderr, "result %d, '%s', and not %d, '%s'\n", result, sentence.text, wanted, words);
        require(right, "the plugin says what it should");
    }
};

const RopePluginModel kModel = {kQueryHeads, kKeyHeads, kHeadDim, 10000, kMostTokens};

void expectRefusals(Plugin* p, const RopePluginHost& functions) {
    RopePluginHost other = functions;
    other.version = 7;
    p->expect(p->load(&other, &p->state, &p->sentence), ROPE_PLUGIN_ERROR_VERSION,
              "is of version 7; this plugin has 1");
    other = functions;
    other.dispatch = nullptr;
    p->expect(p->load(&other, &p->state, &p->sentence), ROPE_PLUGIN_ERROR_REFUSED, "lacks a function");
    require(p->state == nullptr, "a refused plugin is not there");
    other = functions;
    other.allocate = [](void*, size_t) -> void* { return nullptr; };
    p->expect(p->load(&other, &p->state, &p->sentence), ROPE_PLUGIN_ERROR_HOST, "no memory");
    other = functions;
    other.make_pipeline = [](void*, const RopePluginShader*) -> RopePluginPipeline { return nullptr; };
    p->expect(p->load(&other, &p->state, &p->sentence), ROPE_PLUGIN_SUCCESS, "");
    p->expect(p->prepare(p->state, &kModel, &p->sentence), ROPE_PLUGIN_ERROR_HOST, "made no pipeline");
    p->unload(p->state);
}

void expectRefusedModels(Plugin* p, const RopePluginFrame& frame) {
    RopePluginModel model = kModel;
    p->expect(p->event(p->state, &frame, &p->sentence), ROPE_PLUGIN_ERROR_NOT_PREPARED, "no model");
    model.head_dim = 63;
    p->expect(p->prepare(p->state, &model, &p->sentence), ROPE_PLUGIN_ERROR_REFUSED, "63");
    model.head_dim = 258;
    p->expect(p->prepare(p->state, &model, &p->sentence), ROPE_PLUGIN_ERROR_REFUSED, "at most 256");
}

void expectRefusedFrames(Plugin* p, RopePluginFrame frame, VkDeviceSize alignment) {
    if (alignment > 1) {
        frame.k.offset += alignment / 2;
        p->expect(p->event(p->state, &frame, &p->sentence), ROPE_PLUGIN_ERROR_REFUSED, "multiples");
        frame.k.offset -= alignment / 2;
    }
    frame.tokens = kMostTokens + 1;
    p->expect(p->event(p->state, &frame, &p->sentence), ROPE_PLUGIN_ERROR_REFUSED, "most_tokens");
    frame.tokens = 0;
    p->expect(p->event(p->state, &frame, &p->sentence), ROPE_PLUGIN_ERROR_REFUSED, "tokens");
}

void runFrames(const engine::Gpu& gpu, const std::string& path) {
    engine::Arena arena(gpu, 1 << 20);
    Services services(gpu, &arena);
    const VkDeviceSize alignment = gpu.properties.limits.minStorageBufferOffsetAlignment;
    std::vector<Frame> frames;
    for (uint32_t i = 0; i < kFrames; ++i) frames.emplace_back(i, alignment, &arena);

    const Library library(path);
    Plugin plugin(library);
    expectRefusals(&plugin, services.functions());
    require(services.held == 0, "a refused plugin holds nothing");
    {
        const RopePluginHost functions = services.functions(); // gone before the first event
        plugin.expect(plugin.load(&functions, &plugin.state, &plugin.sentence), ROPE_PLUGIN_SUCCESS, "");
    }
    expectRefusedModels(&plugin, frames[0].event(VK_NULL_HANDLE, alignment));
    plugin.expect(plugin.prepare(plugin.state, &kModel, &plugin.sentence), ROPE_PLUGIN_SUCCESS, "");
    const uint32_t held = services.held;
    plugin.expect(plugin.prepare(plugin.state, &kModel, &plugin.sentence), ROPE_PLUGIN_SUCCESS, "");
    require(services.held == held, "another model takes the place of the first");
    expectRefusedFrames(&plugin, frames[0].event(VK_NULL_HANDLE, alignment), alignment);
    require(services.dispatches == 0, "what is refused records nothing");
    const uint32_t made = services.made;
    for (const Frame& frame : frames) { // all in flight at once
        const VkCommandBuffer commands = services.begin();
        const RopePluginFrame event = frame.event(commands, alignment);
        plugin.expect(plugin.event(plugin.state, &event, &plugin.sentence), ROPE_PLUGIN_SUCCESS, "");
        services.submit(commands);
    }
    require(vkQueueWaitIdle(gpu.queue), "vkQueueWaitIdle");
    require(services.made == made, "a frame makes nothing");
    for (Frame& frame : frames) frame.compare(alignment);
    plugin.unload(plugin.state);
    require(services.held == 0, "an unloaded plugin holds nothing");
    std::printf("%s: %u frames, %u dispatches by the plugin: the CPU's bits\n", gpu.properties.deviceName, kFrames,
                services.dispatches);
}

} // namespace

int main(int count, char** arguments) {
    std::string device, plugin;
    bool validate = false;
    for (int i = 1; i < count; ++i) {
        if (std::strcmp(arguments[i], "--validate") == 0) validate = true;
        if (std::strcmp(arguments[i], "--device") == 0 && i + 1 < count) device = arguments[++i];
        if (std::strcmp(arguments[i], "--plugin") == 0 && i + 1 < count) plugin = arguments[++i];
    }
    {
        engine::Gpu gpu;
        if (!gpu.choose(device, validate)) {
            std::printf("no device like '%s', or no validation layer\n", device.c_str());
            return engine::kSkipped;
        }
        gpu.open({});
        runFrames(gpu, plugin);
    }
    std::printf("validation messages: %u\n", engine::messages()); // of the device's end too
    return engine::messages() == 0 ? 0 : 1;
}
