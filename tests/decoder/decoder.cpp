#include "decoder.hpp"
#include "plan/description.h"

#include "support/sample.hpp"

#include <algorithm>

namespace decoder {
namespace {

constexpr size_t kCacheBytes = 2 * CACHE_V_AT * sizeof(float); // of one layer
constexpr uint8_t kUntouched = 0x40;                           // as a float32, about 3
constexpr uint32_t kMostDispatches = 64;
constexpr size_t kGuardBytes = 256;
constexpr uint32_t kFaultAt = 33; // tokens in the cache when a slot or page goes wrong
// The sequence's, in its order; the others are nobody's.
const std::vector<int32_t> kPages = {7, 2, 9, 0, 5, 10, 3, 6};
constexpr int32_t kForeignPage = 4;

size_t countUntouched(const std::vector<uint8_t>& bytes, size_t at, size_t count) {
    return static_cast<size_t>(std::count(bytes.data() + at, bytes.data() + at + count, kUntouched));
}

} // namespace

Decoder::Decoder(rope::Device* device, const Model& model, const Options& options)
    : device_(device), model_(model), options_(options), kernels_(device), recording_(device), pages_(kPages),
      given_(CACHE_PAGES * PAGE_SIZE) {}

rope::Buffer Decoder::makeBuffer(size_t bytes) {
    rope::Buffer buffer;
    EXPECT_TRUE(device_->makeBuffer(bytes + kGuardBytes, &buffer, &error_)) << error_;
    EXPECT_TRUE(device_->fill(buffer, kUntouched, &error_)) << error_;
    return buffer;
}

template <typename T> rope::Buffer Decoder::send(const std::vector<T>& values) {
    rope::Buffer buffer = makeBuffer(values.size() * sizeof(T));
    EXPECT_TRUE(device_->upload(buffer, 0, values.data(), values.size() * sizeof(T), &error_)) << error_;
    return buffer;
}

void Decoder::makeBuffers() {
    const size_t row = MOST_TOKENS * sizeof(float);
    step_ = makeBuffer(STEP_WORDS * sizeof(int32_t));
    hidden_ = makeBuffer(row * HIDDEN);
    qkv_ = makeBuffer(row * QKV_ROW);
    q_ = makeBuffer(row * HEADS * DIM);
    k_ = makeBuffer(row * KV_HEADS * DIM);
    attended_ = makeBuffer(row * HEADS * DIM);
    logits_ = makeBuffer(row * VOCABULARY);
    groups_ = makeBuffer(kMostDispatches * sizeof(VkDispatchIndirectCommand));
    cache_ = makeBuffer(LAYERS * kCacheBytes);
    frequencies_ = send(sample::words(frequencies(options_.fault == Fault::kSign), ROPE_ANGLE_EXACT));
    attention_frequencies_ = send(sample::words(frequencies(false), ROPE_ANGLE_EXACT));
    for (uint32_t i = 0; i < LAYERS; ++i) {
        qkv_weights_[i] = send(model_.layers[i].qkv);
        out_weights_[i] = send(model_.layers[i].out);
    }
    logit_weights_ = send(model_.logits);
}

void Decoder::make() {
    ASSERT_NO_FATAL_FAILURE(kernels_.make());
    makeBuffers();
    ASSERT_FALSE(testing::Test::HasFailure());
    if (options_.submission == Submission::kRecordedEachStep) return;
    Program& program = programs_[MOST_TOKENS];
    ASSERT_NO_FATAL_FAILURE(build(MOST_TOKENS, &program));
    ASSERT_NO_FATAL_FAILURE(
        recording_.record([&](VkCommandBuffer commands) { record(commands, program, MOST_TOKENS); }));
}

// ---- A step's operations

void Decoder::addPlan(const Stage& stage, uint32_t layer, Program* program) {
    Operation made = {};
    const RopeLimits& limits = device_->limits();
    const RopeRotateDescription turned = rope::rotationOf(stage.d);
    const RopeResult planned = stage.rotates_only ? ropePlanRotate(&turned, &limits, &made.plan)
                                                  : ropePlanFused(&stage.d, &limits, &made.plan);
    ASSERT_EQ(planned, ROPE_SUCCESS) << made.plan.reason.text;
    ASSERT_EQ(ropePrepare(device_->context(), &made.plan, 1, nullptr), VK_SUCCESS);
    const bool cached = stage.d.cache.kind != ROPE_CACHE_NONE;
    RopeBuffer* slots = made.buffers.slots;
    slots[ROPE_SLOT_POSITIONS] = step_.slot();
    slots[ROPE_SLOT_FREQUENCIES] = frequencies_.slot();
    slots[ROPE_SLOT_Q] = stage.rotates_only ? q_.slot() : qkv_.slot();
    slots[ROPE_SLOT_K] = k_.slot();
    slots[ROPE_SLOT_V] = qkv_.slot();
    slots[ROPE_SLOT_Q_OUT] = q_.slot();
    slots[ROPE_SLOT_K_OUT] = cached ? cache_.slot(layer * kCacheBytes) : k_.slot();
    if (made.plan.bytes[ROPE_SLOT_PARAMETERS] != 0) {
        std::vector<uint8_t> parameters(made.plan.bytes[ROPE_SLOT_PARAMETERS]);
        ASSERT_EQ(ropeWriteParameters(&stage.d, parameters.data(), nullptr), ROPE_SUCCESS);
        parameters_.push_back(send(parameters));
        slots[ROPE_SLOT_PARAMETERS] = parameters_.back().slot();
    }
    if ((limits.enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0) {
        made.sets.resize(ropeDispatchCount(&made.plan));
        ASSERT_EQ(ropeAllocateSets(device_->context(), &made.plan, &made.buffers, kernels_.pool(), made.sets.data()),
                  VK_SUCCESS);
    }
    program->push_back(std::move(made));
    program->back().buffers.sets = program->back().sets.data();
}

void Decoder::addCall(const Call& call, Program* program) {
    Operation made = {};
    made.call = call;
    program->push_back(std::move(made));
}

void Decoder::addMatmul(const rope::Buffer& input, const rope::Buffer& weights, const rope::Buffer& output,
                        uint32_t inputs, uint32_t outputs, bool add, Program* program) {
    const VkDescriptorSet set =
        kernels_.bind({step_.slot(), input.slot(), weights.slot(), RopeBuffer(), output.slot()});
    addCall({Kernel::kMatmul, set, {inputs, outputs, add}, (outputs + 63) / 64}, program);
}

void Decoder::addAttention(uint32_t layer, Program* program) {
    const VkDescriptorSet set = kernels_.bind(
        {step_.slot(), q_.slot(), cache_.slot(layer * kCacheBytes), attention_frequencies_.slot(), attended_.slot()});
    const bool turns = options_.path == Path::kTurnedAsRead;
    addCall({turns ? Kernel::kTurningAttention : Kernel::kAttention, set, {}, HEADS}, program);
}

void Decoder::build(uint32_t tokens, Program* program) {
    for (uint32_t i = 0; i < LAYERS; ++i) {
        addMatmul(hidden_, qkv_weights_[i], qkv_, HIDDEN, QKV_ROW, false, program);
        for (const Stage& stage : stages(options_, model_.layers[i], tokens)) {
            ASSERT_NO_FATAL_FAILURE(addPlan(stage, i, program));
        }
        addAttention(i, program);
        addMatmul(attended_, out_weights_[i], hidden_, HEADS * DIM, HIDDEN, true, program);
    }
    addMatmul(hidden_, logit_weights_, logits_, HIDDEN, VOCABULARY, false, program);
}

// ---- Submission

std::vector<VkDispatchIndirectCommand> Decoder::groups(const Program& program, uint32_t tokens) const {
    std::vector<VkDispatchIndirectCommand> all;
    for (const Operation& operation : program) {
        const uint32_t dispatches = operation.is_plan() ? ropeDispatchCount(&operation.plan) : 1;
        for (uint32_t i = 0; i < dispatches; ++i) {
            uint32_t counts[3] = {operation.call.groups, tokens, 1};
            if (operation.is_plan()) ropeGroups(&operation.plan, i, tokens, counts);
            if (operation.is_plan() && options_.excess) counts[0] *= 3;
            all.push_back({counts[0], counts[1], counts[2]});
        }
    }
    return all;
}

void Decoder::record(VkCommandBuffer commands, const Program& program, uint32_t tokens) const {
    const rope::VulkanFunctions& vk = device_->vk();
    const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                     VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    VkDeviceSize at = 0;
    for (const Operation& operation : program) {
        const RopePlan& plan = operation.plan;
        if (!operation.is_plan()) {
            kernels_.begin(commands, operation.call);
            if (indirect()) {
                vk.CmdDispatchIndirect(commands, groups_.handle(), at);
            } else {
                vk.CmdDispatch(commands, operation.call.groups, tokens, 1);
            }
        } else if (indirect()) {
            ASSERT_EQ(
                ropeCmdExecuteIndirect(commands, device_->context(), &plan, &operation.buffers, groups_.handle(), at),
                ROPE_SUCCESS);
        } else {
            ASSERT_EQ(ropeCmdExecute(commands, device_->context(), &plan, &operation.buffers), ROPE_SUCCESS);
        }
        at += (operation.is_plan() ? ropeDispatchCount(&plan) : 1) * sizeof(VkDispatchIndirectCommand);
        vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0,
                              1, &barrier, 0, nullptr, 0, nullptr);
    }
    ASSERT_LE(at, groups_.size());
}

void Decoder::writeStep(uint32_t start, uint32_t count) {
    std::vector<int32_t> words(STEP_WORDS, -1);
    words[STEP_START] = static_cast<int32_t>(start);
    words[STEP_COUNT] = static_cast<int32_t>(count);
    std::copy(pages_.begin(), pages_.end(), words.begin() + STEP_TABLE);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t position = start + i;
        const int32_t slot = pages_[position / PAGE_SIZE] * PAGE_SIZE + static_cast<int32_t>(position % PAGE_SIZE);
        words[STEP_SLOTS + i] = slot;
        given_[static_cast<size_t>(slot)] = true;
    }
    if (options_.excess && count == MOST_TOKENS) words[STEP_COUNT] = 1000;
    if (options_.fault == Fault::kSlot && start == kFaultAt) ++words[STEP_SLOTS];
    if (options_.fault == Fault::kPage && start >= kFaultAt) words[STEP_TABLE + 1] = kForeignPage;
    ASSERT_TRUE(device_->upload(step_, 0, words.data(), words.size() * sizeof(int32_t), &error_)) << error_;
}

void Decoder::submit(uint32_t tokens) {
    if (options_.submission == Submission::kRecordedEachStep) {
        Program& program = programs_[tokens];
        if (program.empty()) {
            ASSERT_NO_FATAL_FAILURE(build(tokens, &program));
        }
        const auto commands = [&](VkCommandBuffer buffer) { record(buffer, program, tokens); };
        ASSERT_TRUE(device_->submit(commands, &error_)) << error_;
        return;
    }
    if (indirect()) {
        const std::vector<VkDispatchIndirectCommand> counts = groups(programs_[MOST_TOKENS], tokens);
        ASSERT_TRUE(device_->upload(groups_, 0, counts.data(), counts.size() * sizeof counts[0], &error_)) << error_;
    }
    ASSERT_NO_FATAL_FAILURE(recording_.submit());
}

void Decoder::step(const std::vector<uint32_t>& tokens, std::vector<float>* logits) {
    std::vector<float> rows;
    for (uint32_t token : tokens) {
        const auto row = model_.embedding.begin() + token * HIDDEN;
        rows.insert(rows.end(), row, row + HIDDEN);
    }
    const uint32_t count = static_cast<uint32_t>(tokens.size());
    ASSERT_TRUE(device_->upload(hidden_, 0, rows.data(), rows.size() * sizeof(float), &error_)) << error_;
    ASSERT_NO_FATAL_FAILURE(writeStep(length_, count));
    ASSERT_NO_FATAL_FAILURE(submit(count));
    length_ += count;
    logits->resize(count * VOCABULARY);
    ASSERT_TRUE(device_->download(logits_, 0, logits->data(), logits->size() * sizeof(float), &error_)) << error_;
}

// Where K is turned as it is read, its place in the table is all that tells its position.
void Decoder::shift() {
    const auto dropped = pages_.begin() + kKept / PAGE_SIZE;
    std::rotate(dropped, dropped + kDropped / PAGE_SIZE, pages_.end());
    length_ -= kDropped;
    if (options_.path == Path::kTurnedAsRead) return;
    const int32_t delta = kDropped;
    const uint32_t count = length_ - kKept;
    const Stage stage = {shiftStage(options_, count, options_.fault == Fault::kDelta ? delta : -delta), false};
    Program program;
    for (uint32_t i = 0; i < LAYERS; ++i) ASSERT_NO_FATAL_FAILURE(addPlan(stage, i, &program));
    ASSERT_NO_FATAL_FAILURE(writeStep(kKept, count));
    for (const Operation& operation : program) {
        ASSERT_TRUE(device_->run(&operation.plan, 1, &operation.buffers, &error_)) << error_;
    }
}

void Decoder::expectRestUntouched() {
    for (const rope::Buffer* buffer : {&qkv_, &q_, &k_, &cache_}) {
        std::vector<uint8_t> guard(kGuardBytes);
        ASSERT_TRUE(device_->download(*buffer, buffer->size() - kGuardBytes, guard.data(), kGuardBytes, &error_));
        EXPECT_EQ(countUntouched(guard, 0, kGuardBytes), kGuardBytes);
    }
    std::vector<uint8_t> cache(LAYERS * kCacheBytes);
    ASSERT_TRUE(device_->download(cache_, 0, cache.data(), cache.size(), &error_)) << error_;
    const size_t slot_bytes = KV_HEADS * DIM * sizeof(float);
    for (size_t tensor = 0; tensor < cache.size(); tensor += kCacheBytes / 2) { // K and V of each layer
        for (size_t slot = 0; slot < given_.size(); ++slot) {
            if (given_[slot]) continue;
            EXPECT_EQ(countUntouched(cache, tensor + slot * slot_bytes, slot_bytes), slot_bytes)
                << tensor << " " << slot;
        }
    }
}

} // namespace decoder
