#include "python/rope_python.h"

#include "models/gguf/gguf.hpp"
#include <vkrope/device.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

struct RopePythonDevice {
    rope::Device device; // empty: the CPU
    std::string name;
    std::mutex mutex; // a device and its buffers belong to one thread at a time
    rope::Buffer buffers[ROPE_SLOT_COUNT];
};

namespace rope {
namespace {

// ---- Sentences ------------------------------------------------------------------------------------------------------

struct Outcome {
    RopePythonStatus status = ROPE_PYTHON_DONE;
    std::string sentence;
};

Outcome refused(const std::string& sentence) { return {ROPE_PYTHON_REFUSED, sentence}; }
Outcome failed(const std::string& sentence) { return {ROPE_PYTHON_FAILED, sentence}; }

void writeReason(const char* sentence, RopePythonReason* reason) {
    const size_t length = std::min(std::strlen(sentence), sizeof reason->text - 1);
    std::memcpy(reason->text, sentence, length);
    reason->text[length] = '\0';
}

// Runs a call's work; what it throws becomes a sentence.
template <class Work> RopePythonStatus answer(RopePythonReason* reason, const Work& work) {
    try {
        const Outcome outcome = work();
        writeReason(outcome.sentence.c_str(), reason);
        return outcome.status;
    } catch (const std::bad_alloc&) {
        writeReason("this takes more memory than there is", reason);
    } catch (const std::exception& exception) {
        writeReason(exception.what(), reason);
    }
    return ROPE_PYTHON_FAILED;
}

// ---- Models ---------------------------------------------------------------------------------------------------------

// A model with what its members point at.
struct OwnedModel : RopePythonModel {
    ModelEncoding encoding;
    std::string lines_of_types, lines_of_axes, lines_of_notes;
};

std::string asLines(const std::vector<std::string>& texts) {
    std::string lines;
    for (const std::string& text : texts) lines += (lines.empty() ? "" : "\n") + text;
    return lines;
}

void fillMembers(OwnedModel* model) {
    const ModelEncoding& encoding = model->encoding;
    model->lines_of_types = asLines(encoding.layer_types);
    model->lines_of_axes = asLines(encoding.axis_names);
    std::vector<std::string> notes = encoding.notes;
    const std::string layers = describeLayers(encoding);
    if (!layers.empty()) notes.push_back(layers);
    model->lines_of_notes = asLines(notes);
    model->model_type = encoding.model_type.c_str();
    model->rule = ropeRuleName(encoding.rule.kind);
    model->layer_type = encoding.layer_type.c_str();
    model->layer_types = model->lines_of_types.c_str();
    model->axis_names = model->lines_of_axes.c_str();
    model->notes = model->lines_of_notes.c_str();
    model->frequencies = encoding.frequencies.data();
    model->axes = encoding.axes.empty() ? nullptr : encoding.axes.data();
    model->scale = encoding.scale;
    model->pairs = static_cast<uint32_t>(encoding.frequencies.size());
    model->head_dim = encoding.head_dim;
    model->nope_dim = encoding.nope_dim;
    model->rotary_begin = encoding.rotary_begin;
    model->rotary_dim = encoding.rotary_dim;
    model->chunk_dim = encoding.chunk_dim;
    model->skip_first = encoding.skip_first;
    model->skip_last = encoding.skip_last;
    model->pairing = encoding.pairing;
    model->pairing_out = encoding.pairing_out;
}

// Both readers' requests have the same members.
template <class Request> Request requestOf(const RopePythonRequest& request) {
    Request wanted;
    wanted.layer_type = request.layer_type == nullptr ? "" : request.layer_type;
    wanted.length = request.length;
    wanted.rotary_dim = request.rotary_dim;
    if (request.layer != 0) wanted.layer = request.layer - 1;
    return wanted;
}

bool readEncoding(const RopePythonRequest& request, ModelEncoding* encoding, std::string* error) {
    if (request.gguf != nullptr) return readGguf(request.gguf, requestOf<GgufRequest>(request), encoding, error);
    const std::string text(static_cast<const char*>(request.config), static_cast<size_t>(request.config_bytes));
    return readConfig(text, requestOf<ConfigRequest>(request), encoding, error);
}

// ---- Work -----------------------------------------------------------------------------------------------------------

// The bytes of an array that a rotation writes: a run for each head of each token. Other threads may write between
// them.
struct WrittenRuns {
    uint64_t counts[3] = {}, strides[3] = {}; // of sequences, tokens and heads; bytes
    uint64_t begin = 0, bytes = 0;            // of the first run
    uint64_t all() const { return counts[0] * counts[1] * counts[2] * bytes; }
};

WrittenRuns writtenRuns(const RopeRotateDescription& d) {
    const bool in_place = d.out_of_place == 0;
    const RopeElement element = in_place || d.element_out == ROPE_ELEMENT_DEFAULT ? d.element : d.element_out;
    const uint64_t size = ropeElementBytes(element), heads = d.q.heads, tokens = d.tokens;
    RopeLayout l = in_place ? d.q.from : d.q.to;
    if ((l.batch_stride | l.token_stride | l.head_stride) == 0) {
        l = {l.offset, tokens * heads * d.head_dim, heads * d.head_dim, d.head_dim};
    }
    const RopeRotation& r = d.rotation;
    const uint32_t rotary_dim = r.rotary_dim != 0 ? r.rotary_dim : d.head_dim - r.rotary_begin;
    return {{std::max(d.batch, 1u), tokens, heads},
            {l.batch_stride * size, l.token_stride * size, l.head_stride * size},
            (l.offset + (in_place ? r.rotary_begin : 0)) * size,
            (in_place ? rotary_dim : d.head_dim) * size};
}

void copyRuns(const WrittenRuns& runs, const uint8_t* from, uint8_t* to) {
    for (uint64_t batch = 0; batch < runs.counts[0]; ++batch) {
        for (uint64_t token = 0; token < runs.counts[1]; ++token) {
            for (uint64_t head = 0; head < runs.counts[2]; ++head) {
                const uint64_t at =
                    runs.begin + batch * runs.strides[0] + token * runs.strides[1] + head * runs.strides[2];
                std::memcpy(to + at, from + at, static_cast<size_t>(runs.bytes));
            }
        }
    }
}

struct WorkSlot : RopePythonSlot {
    WrittenRuns runs = {}; // all of it, or its runs
};
using WorkSlots = std::array<WorkSlot, ROPE_SLOT_COUNT>;

// The call makes these itself.
bool isMadeHere(size_t slot) { return slot == ROPE_SLOT_FREQUENCIES || slot == ROPE_SLOT_PARAMETERS; }

// Buffers end with a whole word, arrays of 16-bit elements need not.
Outcome checkBytes(const RopePlan& plan, const WorkSlots& slots) {
    for (size_t i = 0; i < slots.size(); ++i) {
        const uint64_t needed = plan.bytes[i], given = slots[i].bytes;
        const bool missing = slots[i].from == nullptr && slots[i].to == nullptr && needed != 0;
        if (isMadeHere(i) || (!missing && given + (given % 4 == 2 ? 2 : 0) >= needed)) continue;
        return refused("the array of slot " + std::string(ropeSlotName(static_cast<RopeSlot>(i))) + " has " +
                       std::to_string(missing ? 0 : given) + " bytes; the description takes " + std::to_string(needed));
    }
    return {};
}

Outcome runOnDevice(RopePythonDevice* device, const RopePlan& plan, const WorkSlots& slots) {
    RopeBuffers bound = {};
    std::string error;
    for (size_t i = 0; i < slots.size(); ++i) {
        const WorkSlot& slot = slots[i];
        if (plan.bytes[i] == 0) continue;
        const uint64_t bytes = std::max(plan.bytes[i], slot.bytes);
        Buffer& buffer = device->buffers[i];
        if (buffer.size() < bytes && !device->device.makeBuffer(bytes, &buffer, &error)) return failed(error);
        if (slot.from != nullptr && !device->device.upload(buffer, 0, slot.from, slot.bytes, &error))
            return failed(error);
        bound.slots[i] = buffer.slot();
    }
    if (!device->device.run(&plan, 1, &bound, &error)) return failed(error);
    for (size_t i = 0; i < slots.size(); ++i) {
        const WorkSlot& slot = slots[i];
        if (slot.to == nullptr || plan.bytes[i] == 0) continue;
        const bool whole = slot.runs.bytes == 0 || slot.runs.all() == slot.bytes;
        std::vector<uint8_t> scratch(whole ? 0 : static_cast<size_t>(slot.bytes));
        void* const to = whole ? slot.to : scratch.data();
        if (!device->device.download(device->buffers[i], 0, to, slot.bytes, &error)) return failed(error);
        if (!whole) copyRuns(slot.runs, scratch.data(), static_cast<uint8_t*>(slot.to));
    }
    return {};
}

// The CPU takes what no device's limits forbid.
RopeLimits limitsOf(const RopePythonDevice& device) {
    if (device.device) return device.device.limits();
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_range = UINT64_MAX;
    limits.group_count[0] = limits.group_count[1] = UINT32_MAX;
    limits.storage_buffers = ROPE_BINDING_COUNT;
    limits.enabled = ROPE_ENABLED_STORAGE_16;
    return limits;
}

// ---- The five descriptions: how each is planned, carried out on the CPU, and completed
// ----------------------------------

RopeResult planOf(const RopeTableDescription& d, const RopeLimits& l, RopePlan* plan) {
    return ropePlanTable(&d, &l, plan);
}
RopeResult planOf(const RopeRotateDescription& d, const RopeLimits& l, RopePlan* plan) {
    return ropePlanRotate(&d, &l, plan);
}
RopeResult planOf(const RopeFusedDescription& d, const RopeLimits& l, RopePlan* plan) {
    return ropePlanFused(&d, &l, plan);
}
RopeResult planOf(const RopeAddDescription& d, const RopeLimits& l, RopePlan* plan) {
    return ropePlanAdd(&d, &l, plan);
}
RopeResult planOf(const RopeBiasDescription& d, const RopeLimits& l, RopePlan* plan) {
    return ropePlanBias(&d, &l, plan);
}

RopeResult runOnCpu(const RopeTableDescription& d, const WorkSlots& slots, RopeReason* reason) {
    RopeHostTable data = {};
    data.positions = slots[ROPE_SLOT_POSITIONS].from;
    data.rows = static_cast<float*>(slots[ROPE_SLOT_ROWS].to);
    return ropeHostRunTable(&d, &data, reason);
}

RopeResult runOnCpu(const RopeRotateDescription& d, const WorkSlots& slots, RopeReason* reason) {
    RopeHostRotate data = {};
    data.positions = slots[ROPE_SLOT_POSITIONS].from;
    data.q = slots[ROPE_SLOT_Q].from;
    data.q_out = slots[d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q].to;
    return ropeHostRunRotate(&d, &data, reason);
}

RopeResult runOnCpu(const RopeFusedDescription& d, const WorkSlots& slots, RopeReason* reason) {
    RopeHostFused data = {};
    data.positions = slots[ROPE_SLOT_POSITIONS].from;
    data.q = slots[ROPE_SLOT_Q].from;
    data.k = slots[ROPE_SLOT_K].from;
    data.v = slots[ROPE_SLOT_V].from;
    data.slot_map = slots[ROPE_SLOT_SLOT_MAP].from;
    data.q_weights = slots[ROPE_SLOT_Q_WEIGHTS].from;
    data.k_weights = slots[ROPE_SLOT_K_WEIGHTS].from;
    data.biases = slots[ROPE_SLOT_BIASES].from;
    data.q_out = slots[ROPE_SLOT_Q_OUT].to;
    data.k_out = slots[ROPE_SLOT_K_OUT].to;
    data.v_out = slots[ROPE_SLOT_V_OUT].to;
    return ropeHostRunFused(&d, &data, reason);
}

RopeResult runOnCpu(const RopeAddDescription& d, const WorkSlots& slots, RopeReason* reason) {
    RopeHostAdd data = {};
    data.positions = slots[ROPE_SLOT_POSITIONS].from;
    data.rows = slots[ROPE_SLOT_ROWS].from;
    data.x = slots[ROPE_SLOT_X].from;
    data.x_out = slots[ROPE_SLOT_X_OUT].to;
    return ropeHostRunAdd(&d, &data, reason);
}

RopeResult runOnCpu(const RopeBiasDescription& d, const WorkSlots& slots, RopeReason* reason) {
    RopeHostBias data = {};
    data.positions = slots[ROPE_SLOT_POSITIONS].from;
    data.rows = slots[ROPE_SLOT_ROWS].from;
    data.x = slots[ROPE_SLOT_X].from;
    data.x_out = slots[ROPE_SLOT_X].to;
    return ropeHostRunBias(&d, &data, reason);
}

struct Angles {
    const RopeFrequencies* frequencies;
    RopeAngle angle;
};
Angles anglesOf(const RopeTableDescription& d) { return {&d.frequencies, d.angle}; }
Angles anglesOf(const RopeRotateDescription& d) { return {&d.rotation.frequencies, d.rotation.angle}; }
Angles anglesOf(const RopeFusedDescription& d) { return {&d.rotation.frequencies, d.rotation.angle}; }
Angles anglesOf(const RopeAddDescription& d) { return {&d.frequencies, d.angle}; }
Angles anglesOf(const RopeBiasDescription&) { return {nullptr, ROPE_ANGLE_EXACT}; }

RopeResult writeParameters(const RopeFusedDescription& d, void* to, RopeReason* reason) {
    return ropeWriteParameters(&d, to, reason);
}
RopeResult writeParameters(const RopeBiasDescription& d, void* to, RopeReason* reason) {
    return ropeWriteBuckets(&d, to, reason);
}
template <class Description> RopeResult writeParameters(const Description&, void*, RopeReason*) { return ROPE_SUCCESS; }

void findRuns(const RopeRotateDescription& d, WorkSlots* slots) {
    (*slots)[d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q].runs = writtenRuns(d);
}
template <class Description> void findRuns(const Description&, WorkSlots*) {}

// Plans, checks the arrays, and runs on the device or on the CPU.
template <class Description>
Outcome run(RopePythonDevice* device, const void* description, const RopePythonSlot* given) {
    const Description& d = *static_cast<const Description*>(description);
    const RopeLimits limits = limitsOf(*device);
    WorkSlots slots;
    for (size_t i = 0; i < slots.size(); ++i) static_cast<RopePythonSlot&>(slots[i]) = given[i];
    findRuns(d, &slots);
    RopePlan plan;
    RopeReason reason;
    if (planOf(d, limits, &plan) != ROPE_SUCCESS) return refused(plan.reason.text);
    const Outcome checked = checkBytes(plan, slots);
    if (checked.status != ROPE_PYTHON_DONE) return checked;
    std::vector<uint8_t> words, parameters(static_cast<size_t>(plan.bytes[ROPE_SLOT_PARAMETERS]));
    if (plan.bytes[ROPE_SLOT_FREQUENCIES] != 0) {
        const Angles angles = anglesOf(d);
        words.resize(static_cast<size_t>(plan.bytes[ROPE_SLOT_FREQUENCIES]));
        if (ropeWriteFrequencies(angles.frequencies, angles.angle, words.data(), &reason) != ROPE_SUCCESS)
            return refused(reason.text);
    }
    if (!parameters.empty() && writeParameters(d, parameters.data(), &reason) != ROPE_SUCCESS)
        return refused(reason.text);
    if (!device->device) return runOnCpu(d, slots, &reason) == ROPE_SUCCESS ? Outcome() : refused(reason.text);
    slots[ROPE_SLOT_FREQUENCIES] = {{words.data(), nullptr, words.size()}};
    slots[ROPE_SLOT_PARAMETERS] = {{parameters.data(), nullptr, parameters.size()}};
    const std::lock_guard<std::mutex> lock(device->mutex);
    return runOnDevice(device, plan, slots);
}

Outcome runWork(RopePythonDevice* device, RopePythonWork work, const void* description, const RopePythonSlot* slots) {
    switch (work) {
    case ROPE_PYTHON_TABLE:
        return run<RopeTableDescription>(device, description, slots);
    case ROPE_PYTHON_ROTATE:
        return run<RopeRotateDescription>(device, description, slots);
    case ROPE_PYTHON_FUSED:
        return run<RopeFusedDescription>(device, description, slots);
    case ROPE_PYTHON_ADD:
        return run<RopeAddDescription>(device, description, slots);
    case ROPE_PYTHON_BIAS:
        return run<RopeBiasDescription>(device, description, slots);
    default:
        return refused("there is no work of the number " + std::to_string(work));
    }
}

} // namespace
} // namespace rope

RopePythonStatus ropePythonReadModel(const RopePythonRequest* request, const RopePythonModel** model,
                                     RopePythonReason* reason) {
    *model = nullptr;
    return rope::answer(reason, [&]() -> rope::Outcome {
        auto owned = std::make_unique<rope::OwnedModel>();
        std::string error;
        if (!rope::readEncoding(*request, &owned->encoding, &error)) return rope::refused(error);
        rope::fillMembers(owned.get());
        *model = owned.release();
        return {};
    });
}

void ropePythonFreeModel(const RopePythonModel* model) { delete static_cast<const rope::OwnedModel*>(model); }

RopePythonStatus ropePythonOpenDevice(const char* select, RopePythonDevice** device, RopePythonReason* reason) {
    *device = nullptr;
    return rope::answer(reason, [&]() -> rope::Outcome {
        auto opened = std::make_unique<RopePythonDevice>();
        opened->name = select;
        if (opened->name != "cpu") {
            rope::DeviceOptions options;
            options.select = select;
            std::string error;
            opened->device = rope::Device::open(options, &error);
            if (!opened->device) return rope::refused(error);
            opened->name = rope::describe(opened->device.info());
        }
        *device = opened.release();
        return {};
    });
}

void ropePythonCloseDevice(RopePythonDevice* device) { delete device; }

const char* ropePythonDeviceName(const RopePythonDevice* device) { return device->name.c_str(); }

RopePythonStatus ropePythonRun(RopePythonDevice* device, RopePythonWork work, const void* description,
                               const RopePythonSlot* slots, RopePythonReason* reason) {
    return rope::answer(reason, [&] { return rope::runWork(device, work, description, slots); });
}

RopePythonStatus ropePythonPermutation(uint32_t head_dim, uint32_t rotary_begin, uint32_t rotary_dim, RopePairing to,
                                       uint32_t* permutation, RopePythonReason* reason) {
    return rope::answer(reason, [&]() -> rope::Outcome {
        RopeReason why;
        const RopeResult result = ropePairPermutation(head_dim, rotary_begin, rotary_dim, to, permutation, &why);
        return result == ROPE_SUCCESS ? rope::Outcome() : rope::refused(why.text);
    });
}

RopePythonStatus ropePythonSlopes(uint32_t heads, float* slopes, RopePythonReason* reason) {
    return rope::answer(reason, [&]() -> rope::Outcome {
        RopeReason why;
        return ropeMakeAlibiSlopes(heads, slopes, &why) == ROPE_SUCCESS ? rope::Outcome() : rope::refused(why.text);
    });
}
