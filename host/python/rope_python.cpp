#include "python/rope_python.h"

#include "models/gguf/gguf.hpp"
#include <vkrope/device.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
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

nlohmann::json nameOf(RopePairing pairing) {
    return pairing == ROPE_PAIRING_DEFAULT ? nlohmann::json() : pairing == ROPE_PAIRING_HALF ? "half" : "interleaved";
}

// The keyword arguments of the package's Encoding.
nlohmann::json told(const ModelEncoding& encoding) {
    std::vector<std::string> notes = encoding.notes;
    const std::string layers = describeLayers(encoding);
    if (!layers.empty()) notes.push_back(layers);
    return {{"model_type", encoding.model_type},
            {"rule", ropeRuleName(encoding.rule.kind)},
            {"layer_type", encoding.layer_type},
            {"layer_types", encoding.layer_types},
            {"axis_names", encoding.axis_names},
            {"notes", notes},
            {"frequencies", encoding.frequencies},
            {"axes", encoding.axes.empty() ? nlohmann::json() : nlohmann::json(encoding.axes)},
            {"scale", encoding.scale},
            {"head_dim", encoding.head_dim},
            {"nope_dim", encoding.nope_dim},
            {"rotary_begin", encoding.rotary_begin},
            {"chunk_dim", encoding.chunk_dim},
            {"skip_first", encoding.skip_first},
            {"skip_last", encoding.skip_last},
            {"pairing", nameOf(encoding.pairing)},
            {"pairing_out", nameOf(encoding.pairing_out)}};
}

char* copyOf(const std::string& text) {
    char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
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

// The call makes these itself.
bool isMadeHere(size_t slot) { return slot == ROPE_SLOT_FREQUENCIES || slot == ROPE_SLOT_PARAMETERS; }

// Buffers end with a whole word, arrays of 16-bit elements need not.
Outcome checkBytes(const RopePlan& plan, const RopePythonSlot* slots) {
    for (size_t i = 0; i < ROPE_SLOT_COUNT; ++i) {
        const bool missing = slots[i].from == nullptr && slots[i].to == nullptr;
        const uint64_t needed = plan.bytes[i], given = missing ? 0 : slots[i].bytes;
        if (isMadeHere(i) || given + (given % 4 == 2 ? 2 : 0) >= needed) continue;
        return refused("the array of slot " + std::string(ropeSlotName(static_cast<RopeSlot>(i))) + " has " +
                       std::to_string(given) + " bytes; the description takes " + std::to_string(needed));
    }
    return {};
}

Outcome runOnDevice(RopePythonDevice* device, const RopePlan& plan, const RopePythonSlot* slots) {
    RopeBuffers bound = {};
    std::string error;
    for (size_t i = 0; i < ROPE_SLOT_COUNT; ++i) {
        const RopePythonSlot& slot = slots[i];
        if (plan.bytes[i] == 0) continue;
        const uint64_t bytes = std::max(plan.bytes[i], slot.bytes);
        Buffer& buffer = device->buffers[i];
        if (buffer.size() < bytes && !device->device.makeBuffer(bytes, &buffer, &error)) return failed(error);
        if (slot.from != nullptr && !device->device.upload(buffer, 0, slot.from, slot.bytes, &error))
            return failed(error);
        bound.slots[i] = buffer.slot();
    }
    if (!device->device.run(&plan, 1, &bound, &error)) return failed(error);
    for (size_t i = 0; i < ROPE_SLOT_COUNT; ++i) {
        const RopePythonSlot& slot = slots[i];
        if (slot.to == nullptr || plan.bytes[i] == 0) continue;
        if (!device->device.download(device->buffers[i], 0, slot.to, slot.bytes, &error)) return failed(error);
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

// How a kind of description is carried out.
template <class Description, class Data> struct Way {
    RopeResult (*plan)(const Description*, const RopeLimits*, RopePlan*);
    RopeResult (*on_cpu)(const Description*, Data*, RopeReason*);
    const RopeFrequencies* frequencies;
    RopeAngle angle;
    RopeResult (*parameters)(const Description*, void*, RopeReason*);
};

// Plans, checks the arrays, makes the slots that the description gives, and runs on the device or on the CPU.
template <class Description, class Data>
Outcome run(RopePythonDevice* device, const Description& d, const RopePythonSlot* given, Data data,
            const Way<Description, Data>& way) {
    const RopeLimits limits = limitsOf(*device);
    RopePlan plan;
    RopeReason reason;
    if (way.plan(&d, &limits, &plan) != ROPE_SUCCESS) return refused(plan.reason.text);
    const Outcome checked = checkBytes(plan, given);
    if (checked.status != ROPE_PYTHON_DONE) return checked;
    std::vector<uint8_t> words(static_cast<size_t>(plan.bytes[ROPE_SLOT_FREQUENCIES]));
    std::vector<uint8_t> parameters(static_cast<size_t>(plan.bytes[ROPE_SLOT_PARAMETERS]));
    if ((!words.empty() && ropeWriteFrequencies(way.frequencies, way.angle, words.data(), &reason) != ROPE_SUCCESS) ||
        (!parameters.empty() && way.parameters(&d, parameters.data(), &reason) != ROPE_SUCCESS))
        return refused(reason.text);
    if (!device->device) return way.on_cpu(&d, &data, &reason) == ROPE_SUCCESS ? Outcome() : refused(reason.text);
    std::array<RopePythonSlot, ROPE_SLOT_COUNT> slots;
    std::copy(given, given + ROPE_SLOT_COUNT, slots.begin());
    slots[ROPE_SLOT_FREQUENCIES] = {words.data(), nullptr, words.size()};
    slots[ROPE_SLOT_PARAMETERS] = {parameters.data(), nullptr, parameters.size()};
    const std::lock_guard<std::mutex> lock(device->mutex);
    return runOnDevice(device, plan, slots.data());
}

RopeResult runTableOnCpu(const RopeTableDescription* d, RopeHostTable* data, RopeReason* reason) {
    return ropeHostRunTable(d, data, reason);
}

RopeResult runBiasOnCpu(const RopeBiasDescription* d, RopeHostBias* data, RopeReason* reason) {
    return ropeHostRunBias(d, data, reason);
}

Outcome runWork(RopePythonDevice* device, RopePythonWork work, const void* description, const RopePythonSlot* s) {
    const auto from = [s](RopeSlot slot) { return s[slot].from; };
    const auto to = [s](RopeSlot slot) { return s[slot].to; };
    const void* const positions = from(ROPE_SLOT_POSITIONS);
    if (work == ROPE_PYTHON_TABLE) {
        const auto& d = *static_cast<const RopeTableDescription*>(description);
        const RopeHostTable data = {positions, nullptr, static_cast<float*>(to(ROPE_SLOT_ROWS))};
        return run(device, d, s, data, {ropePlanTable, runTableOnCpu, &d.frequencies, d.angle, nullptr});
    }
    if (work == ROPE_PYTHON_ROTATE) {
        const auto& d = *static_cast<const RopeRotateDescription*>(description);
        RopeHostRotate data = {};
        data.positions = positions;
        data.q = from(ROPE_SLOT_Q);
        data.q_out = to(d.out_of_place != 0 ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q);
        return run(device, d, s, data,
                   {ropePlanRotate, ropeHostRunRotate, &d.rotation.frequencies, d.rotation.angle, nullptr});
    }
    if (work == ROPE_PYTHON_FUSED) {
        const auto& d = *static_cast<const RopeFusedDescription*>(description);
        RopeHostFused data = {};
        data.positions = positions;
        data.q = from(ROPE_SLOT_Q);
        data.k = from(ROPE_SLOT_K);
        data.v = from(ROPE_SLOT_V);
        data.slot_map = from(ROPE_SLOT_SLOT_MAP);
        data.q_weights = from(ROPE_SLOT_Q_WEIGHTS);
        data.k_weights = from(ROPE_SLOT_K_WEIGHTS);
        data.biases = from(ROPE_SLOT_BIASES);
        data.q_out = to(ROPE_SLOT_Q_OUT);
        data.k_out = to(ROPE_SLOT_K_OUT);
        data.v_out = to(ROPE_SLOT_V_OUT);
        return run(device, d, s, data,
                   {ropePlanFused, ropeHostRunFused, &d.rotation.frequencies, d.rotation.angle, ropeWriteParameters});
    }
    if (work == ROPE_PYTHON_ADD) {
        const auto& d = *static_cast<const RopeAddDescription*>(description);
        const RopeHostAdd data = {positions, from(ROPE_SLOT_ROWS), from(ROPE_SLOT_X), nullptr, to(ROPE_SLOT_X_OUT), 0};
        return run(device, d, s, data, {ropePlanAdd, ropeHostRunAdd, &d.frequencies, d.angle, nullptr});
    }
    if (work != ROPE_PYTHON_BIAS) return refused("there is no work of the number " + std::to_string(work));
    const auto& d = *static_cast<const RopeBiasDescription*>(description);
    const RopeHostBias data = {positions, from(ROPE_SLOT_ROWS), from(ROPE_SLOT_X), nullptr, to(ROPE_SLOT_X)};
    return run(device, d, s, data, {ropePlanBias, runBiasOnCpu, nullptr, ROPE_ANGLE_EXACT, ropeWriteBuckets});
}

} // namespace
} // namespace rope

RopePythonStatus ropePythonReadModel(const RopePythonRequest* request, char** json, RopePythonReason* reason) {
    *json = nullptr;
    return rope::answer(reason, [&]() -> rope::Outcome {
        rope::ModelEncoding encoding;
        std::string error;
        if (!rope::readEncoding(*request, &encoding, &error)) return rope::refused(error);
        const auto replace = nlohmann::json::error_handler_t::replace; // bytes that are no UTF-8
        *json = rope::copyOf(rope::told(encoding).dump(-1, ' ', false, replace));
        return {};
    });
}

void ropePythonFreeText(char* text) { std::free(text); }

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
