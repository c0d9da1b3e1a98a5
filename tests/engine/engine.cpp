// A headless engine with a frame loop: every frame projects the queries and keys of a few layers and scores them
// against each other. It owns its device, memory, descriptors and threads; three frames are in flight, two threads
// record each of them, and pipelines compile on a third while the first frames go by without them.
//
// Built with ENGINE_ROPE queries and keys are rotated in between. The lines inside these conditions are all that vkrope
// takes in an engine.
#include "arena.hpp"
#include "bench/harness/allocations.hpp"
#include "pass.hpp"
#include "pipeline_file.hpp"
#include "recorder.hpp"
#include "shape.h"

#ifdef ENGINE_ROPE
#include <vkrope/rope.h>
#endif

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace engine {
namespace {

constexpr uint32_t kSlots = 3; // frames in flight
constexpr uint32_t kLayers = 4;
constexpr uint32_t kRecorders = 2;
constexpr uint32_t kQueryValues = TOKENS * QUERY_HEADS * HEAD_DIM;
constexpr uint32_t kKeyValues = TOKENS * KEY_HEADS * HEAD_DIM;
constexpr uint32_t kScores = QUERY_HEADS * TOKENS * TOKENS;

const uint32_t kProjectWords[] = {
#include "engine_project.inc"
};
const uint32_t kScoreWords[] = {
#include "engine_score.inc"
};

struct Options {
    std::string device, cache;
    uint64_t frames = 60;
    bool validate = false;
};

struct Layer {
    Slice q, k, scores;
    VkDescriptorSet project, score;
#ifdef ENGINE_ROPE
    RopeBuffers rope;
    VkDescriptorSet rope_sets[2]; // of queries and of keys
#endif
};

struct Slot {
    uint64_t frame;
    bool submitted;
    bool warm;
    VkCommandPool pools[kRecorders];
    VkCommandBuffer commands[kRecorders];
    Layer layers[kLayers];
#ifdef ENGINE_ROPE
    Slice start; // position of the first token
#endif
};

uint32_t seedOf(uint64_t frame, uint32_t layer) { return static_cast<uint32_t>(frame) * kLayers + layer + 1; }

// project.comp and score.comp once more.
float valueOf(uint32_t index, uint32_t seed) {
    uint32_t mixed = (index ^ seed) * 0x9E3779B1u;
    mixed = (mixed ^ (mixed >> 15)) * 0x85EBCA77u;
    return static_cast<float>((mixed ^ (mixed >> 13)) >> 8) * 0x1p-23f - 1.0f;
}

float scoreOf(const float* q, const float* k, uint32_t index) {
    const uint32_t head = index / (TOKENS * TOKENS);
    q += (index / TOKENS % TOKENS * QUERY_HEADS + head) * HEAD_DIM;
    k += (index % TOKENS * KEY_HEADS + head * KEY_HEADS / QUERY_HEADS) * HEAD_DIM;
    float sum = 0;
    for (uint32_t e = 0; e < HEAD_DIM; ++e) sum += q[e] * k[e];
    return sum;
}

void barrier(VkCommandBuffer commands, VkPipelineStageFlags after, VkAccessFlags accesses) {
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                    VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, accesses};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, after, 0, 1,
                         &memory, 0, nullptr, 0, nullptr);
}

void betweenPasses(VkCommandBuffer commands) {
    barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

class Engine {
  public:
    Engine(const Gpu& gpu, const Options& options);
    ~Engine();

    void run(uint64_t frames);
    void report() const;

  private:
    void makePool();
    void makeLayer(Layer* layer);
    void makeSlot(Slot* slot);
    void makeTimeline();
    void warmUp();
    void recordLayer(VkCommandBuffer commands, const Slot& slot, uint32_t index) const;
    void recordPart(uint32_t recorder) const;
    void frame(uint64_t number);
    void submit(Slot* slot);
    void retire(Slot* slot);
    void check(const Slot& slot);

    const Gpu& gpu_;
    Arena arena_;
    PipelineFile pipelines_;
    Pass project_, score_;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    VkSemaphore timeline_ = VK_NULL_HANDLE; // frame n is done at n + 1
    Slot slots_[kSlots] = {};
    const Slot* recorded_ = nullptr;
    std::atomic<bool> warm_{false};
    std::thread warming_;
    Recorder second_;
    uint64_t loading_frames_ = 0, warm_frames_ = 0, allocations_ = 0;
    float q_[kQueryValues], k_[kKeyValues];
#ifdef ENGINE_ROPE
    void makeRope();
    void bindRope(const Slot& slot, Layer* layer);
    double frequencies_[HEAD_DIM / 2];
    RopeRotateDescription rotate_ = {};
    RopePlan plan_;
    RopeContext* rope_ = nullptr;
    RopeContextInfo rope_info_ = {};
    Slice frequency_words_;
#endif
};

Engine::Engine(const Gpu& gpu, const Options& options)
    : gpu_(gpu), arena_(gpu, 4 << 20), pipelines_(gpu, options.cache),
      project_(gpu, kProjectWords, sizeof kProjectWords, 2), score_(gpu, kScoreWords, sizeof kScoreWords, 3),
      second_([](void* self) { static_cast<const Engine*>(self)->recordPart(1); }, this) {
    makePool();
    makeTimeline();
#ifdef ENGINE_ROPE
    makeRope();
#endif
    for (Slot& slot : slots_) makeSlot(&slot);
    warming_ = std::thread([this] { warmUp(); });
}

Engine::~Engine() {
    warming_.join();
#ifdef ENGINE_ROPE
    ropeDestroyContext(rope_);
#endif
    for (Slot& slot : slots_) {
        for (VkCommandPool pool : slot.pools) vkDestroyCommandPool(gpu_.device, pool, nullptr);
    }
    vkDestroySemaphore(gpu_.device, timeline_, nullptr);
    vkDestroyDescriptorPool(gpu_.device, pool_, nullptr);
}

// One for the whole engine, with room to spare.
void Engine::makePool() {
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1024},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 128}};
    const VkDescriptorPoolCreateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 256, 2, sizes};
    require(vkCreateDescriptorPool(gpu_.device, &info, nullptr, &pool_), "vkCreateDescriptorPool");
}

void Engine::makeTimeline() {
    VkSemaphoreTypeCreateInfo type = {};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    const VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
    require(vkCreateSemaphore(gpu_.device, &info, nullptr, &timeline_), "vkCreateSemaphore");
}

#ifdef ENGINE_ROPE
void Engine::makeRope() {
    RopeRule rule = {};
    rule.rotary_dim = HEAD_DIM, rule.base = 10000;
    double scale;
    require(ropeMakeFrequencies(&rule, frequencies_, &scale, nullptr) == ROPE_SUCCESS, "ropeMakeFrequencies");
    rotate_.tokens = TOKENS, rotate_.head_dim = HEAD_DIM;
    rotate_.q.heads = QUERY_HEADS, rotate_.k.heads = KEY_HEADS;
    rotate_.rotation.frequencies.values = frequencies_, rotate_.rotation.frequencies.count = HEAD_DIM / 2;
    rotate_.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
    rope_info_.device = gpu_.device, rope_info_.get_device_proc_addr = vkGetDeviceProcAddr;
    rope_info_.pipeline_cache = pipelines_.handle();
    const uint32_t enabled = ropeEnabledByExtensions(gpu_.enabled().data(), uint32_t(gpu_.enabled().size()));
    ropeLimitsFromDevice(&gpu_.properties, enabled, &rope_info_.limits);
    require(ropePlanRotate(&rotate_, &rope_info_.limits, &plan_) == ROPE_SUCCESS, plan_.reason.text);
    require(ropeCreateContext(&rope_info_, &rope_), "ropeCreateContext");
    frequency_words_ = arena_.cut(plan_.bytes[ROPE_SLOT_FREQUENCIES]);
    const RopeResult written =
        ropeWriteFrequencies(&rotate_.rotation.frequencies, ROPE_ANGLE_EXACT, frequency_words_.mapped, nullptr);
    require(written == ROPE_SUCCESS, "ropeWriteFrequencies");
}

void Engine::bindRope(const Slot& slot, Layer* layer) {
    layer->rope.slots[ROPE_SLOT_Q].buffer = layer->q.buffer, layer->rope.slots[ROPE_SLOT_K].buffer = layer->k.buffer;
    layer->rope.slots[ROPE_SLOT_POSITIONS].buffer = slot.start.buffer;
    layer->rope.slots[ROPE_SLOT_FREQUENCIES].buffer = frequency_words_.buffer;
    if ((rope_info_.limits.enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) != 0) return;
    require(ropeAllocateSets(rope_, &plan_, &layer->rope, pool_, layer->rope_sets), "ropeAllocateSets");
    layer->rope.sets = layer->rope_sets;
}
#endif

void Engine::makeLayer(Layer* layer) {
    layer->q = arena_.cut(kQueryValues * sizeof(float));
    layer->k = arena_.cut(kKeyValues * sizeof(float));
    layer->scores = arena_.cut(kScores * sizeof(float));
    layer->project = project_.bind(pool_, {layer->q.buffer, layer->k.buffer});
    layer->score = score_.bind(pool_, {layer->q.buffer, layer->k.buffer, layer->scores.buffer});
}

void Engine::makeSlot(Slot* slot) {
    for (uint32_t i = 0; i < kRecorders; ++i) {
        const VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, gpu_.family};
        require(vkCreateCommandPool(gpu_.device, &pool, nullptr, &slot->pools[i]), "vkCreateCommandPool");
        const VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr,
                                                  slot->pools[i], VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
        require(vkAllocateCommandBuffers(gpu_.device, &info, &slot->commands[i]), "vkAllocateCommandBuffers");
    }
    for (Layer& layer : slot->layers) makeLayer(&layer);
#ifdef ENGINE_ROPE
    slot->start = arena_.cut(plan_.bytes[ROPE_SLOT_POSITIONS]);
#endif
}

void Engine::warmUp() {
    project_.compile(pipelines_.handle());
    score_.compile(pipelines_.handle());
#ifdef ENGINE_ROPE
    require(ropePrepare(rope_, &plan_, 1, nullptr), "ropePrepare");
    for (Slot& slot : slots_) // nobody else takes from the pool any more
        for (Layer& layer : slot.layers) bindRope(slot, &layer);
#endif
    if (!pipelines_.write()) std::fprintf(stderr, "the pipeline cache could not be written\n");
    warm_.store(true, std::memory_order_release);
}

void Engine::recordLayer(VkCommandBuffer commands, const Slot& slot, uint32_t index) const {
    const Layer& layer = slot.layers[index];
    if (!slot.warm) {
        vkCmdFillBuffer(commands, layer.scores.buffer, 0, VK_WHOLE_SIZE, 0);
        return;
    }
    project_.record(commands, layer.project, seedOf(slot.frame, index), kQueryValues);
    betweenPasses(commands);
#ifdef ENGINE_ROPE
    require(ropeCmdExecute(commands, rope_, &plan_, &layer.rope) == ROPE_SUCCESS, "ropeCmdExecute");
    betweenPasses(commands);
#endif
    score_.record(commands, layer.score, 0, kScores);
}

void Engine::recordPart(uint32_t recorder) const {
    const Slot& slot = *recorded_;
    const VkCommandBuffer commands = slot.commands[recorder];
    VkCommandBufferBeginInfo begin = {};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    require(vkResetCommandPool(gpu_.device, slot.pools[recorder], 0), "vkResetCommandPool");
    require(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    for (uint32_t i = recorder; i < kLayers; i += kRecorders) recordLayer(commands, slot, i);
    barrier(commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    require(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

void Engine::submit(Slot* slot) {
    const uint64_t done = slot->frame + 1;
    VkTimelineSemaphoreSubmitInfo values = {};
    values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &done;
    VkSubmitInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &values;
    info.commandBufferCount = kRecorders;
    info.pCommandBuffers = slot->commands;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &timeline_;
    require(vkQueueSubmit(gpu_.queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    slot->submitted = true;
}

void Engine::frame(uint64_t number) {
    Slot& slot = slots_[number % kSlots];
    retire(&slot);
    slot.frame = number;
    slot.warm = warm_.load(std::memory_order_acquire);
    ++(slot.warm ? warm_frames_ : loading_frames_);
#ifdef ENGINE_ROPE
    *static_cast<int32_t*>(slot.start.mapped) = static_cast<int32_t>(number * TOKENS);
#endif
    recorded_ = &slot;
    second_.begin();
    recordPart(0);
    second_.finish();
    submit(&slot);
}

void Engine::retire(Slot* slot) {
    if (!slot->submitted) return;
    const uint64_t done = slot->frame + 1;
    VkSemaphoreWaitInfo wait = {};
    wait.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    wait.semaphoreCount = 1;
    wait.pSemaphores = &timeline_;
    wait.pValues = &done;
    require(vkWaitSemaphores(gpu_.device, &wait, 60000000000u), "vkWaitSemaphores");
    slot->submitted = false;
    check(*slot);
}

void Engine::check(const Slot& slot) {
    for (uint32_t l = 0; l < kLayers; ++l) {
        const uint32_t seed = seedOf(slot.frame, l);
        for (uint32_t i = 0; i < kQueryValues; ++i) q_[i] = valueOf(i, seed);
        for (uint32_t i = 0; i < kKeyValues; ++i) k_[i] = valueOf(~i, seed);
#ifdef ENGINE_ROPE
        RopeHostRotate host = {};
        host.positions = slot.start.mapped;
        host.q = host.q_out = q_, host.k = host.k_out = k_;
        require(ropeHostRunRotate(&rotate_, &host, nullptr) == ROPE_SUCCESS, "ropeHostRunRotate");
#endif
        const float* const scores = static_cast<const float*>(slot.layers[l].scores.mapped);
        for (uint32_t i = 0; i < kScores; ++i) {
            require(scores[i] == (slot.warm ? scoreOf(q_, k_, i) : 0), "the scores are those of the CPU");
        }
    }
}

void Engine::run(uint64_t frames) {
    uint64_t number = 0;
    while (!warm_.load(std::memory_order_acquire)) frame(number++);
    const uint64_t before = measure::allocationsSoFar(); // the other thread, which compiled, has no more to do
    while (warm_frames_ < frames) frame(number++);
    for (Slot& slot : slots_) retire(&slot);
    allocations_ = measure::allocationsSoFar() - before;
}

void Engine::report() const {
    std::printf("%s: %llu frames after %llu without pipelines, %zu bytes of pipeline cache read\n",
                gpu_.properties.deviceName, static_cast<unsigned long long>(warm_frames_),
                static_cast<unsigned long long>(loading_frames_), pipelines_.bytesRead());
    if (measure::countsAllocations()) {
        std::printf("host allocations in the loop: %llu\n", static_cast<unsigned long long>(allocations_));
    }
    require(allocations_ == 0, "the loop allocates nothing");
}

Options readOptions(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string name = arguments[i];
        if (name == "--validate") {
            options.validate = true;
            continue;
        }
        require(i + 1 < count, "usage: --device NAME [--frames N] [--cache FILE] [--validate]");
        const char* const value = arguments[++i];
        if (name == "--device") options.device = value;
        if (name == "--frames") options.frames = std::strtoull(value, nullptr, 10);
        if (name == "--cache") options.cache = value;
    }
    return options;
}

// Everything is gone when it returns, so that the layer has said all that it has to say.
bool runEngine(const Options& options) {
    Gpu gpu;
    if (!gpu.choose(options.device, options.validate)) {
        std::printf("no device like '%s', or no validation layer\n", options.device.c_str());
        return false;
    }
    std::vector<const char*> extensions;
#ifdef ENGINE_ROPE
    const std::vector<VkExtensionProperties> available = gpu.extensions();
    extensions.resize(ROPE_MAX_EXTENSIONS);
    extensions.resize(ropeUsefulExtensions(available.data(), uint32_t(available.size()), extensions.data()));
#endif
    gpu.open(extensions);
    Engine engine(gpu, options);
    engine.run(options.frames);
    engine.report();
    return true;
}

} // namespace
} // namespace engine

int main(int count, char** arguments) {
    const engine::Options options = engine::readOptions(count, arguments);
    if (!engine::runEngine(options)) return engine::kSkipped;
    std::printf("validation messages: %u\n", engine::messages());
    return engine::messages() == 0 ? 0 : 1;
}
