#include "python/rope_python.h"

#include "models/gguf/gguf.hpp"
#include <vkrope/device.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
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

struct NamedCall {
    const char* name;
    const void* address;
};
#define CALL(name)                                                                                                     \
    { #name, reinterpret_cast < const void*>(name) }
const NamedCall kCalls[] = {
    CALL(ropePlanTable),        CALL(ropePlanRotate),      CALL(ropePlanFused),       CALL(ropePlanAdd),
    CALL(ropePlanBias),         CALL(ropeHostRunTable),    CALL(ropeHostRunRotate),   CALL(ropeHostRunFused),
    CALL(ropeHostRunAdd),       CALL(ropeHostRunBias),     CALL(ropeWriteParameters), CALL(ropeWriteBuckets),
    CALL(ropeWriteFrequencies), CALL(ropePairPermutation), CALL(ropeMakeAlibiSlopes),
};
#undef CALL

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

const void* ropePythonCall(const char* name) {
    for (const rope::NamedCall& call : rope::kCalls) {
        if (std::strcmp(call.name, name) == 0) return call.address;
    }
    return nullptr;
}

void ropePythonLimits(const RopePythonDevice* device, RopeLimits* limits) {
    if (device->device) {
        *limits = device->device.limits();
        return;
    }
    ropeMinimumLimits(limits);
    limits->storage_range = UINT64_MAX;
    limits->group_count[0] = limits->group_count[1] = UINT32_MAX;
    limits->storage_buffers = ROPE_BINDING_COUNT;
    limits->enabled = ROPE_ENABLED_STORAGE_16;
}

RopePythonStatus ropePythonRun(RopePythonDevice* device, const RopePlan* plan, const RopePythonSlot* slots,
                               RopePythonReason* reason) {
    return rope::answer(reason, [&] {
        const std::lock_guard<std::mutex> lock(device->mutex);
        return rope::runOnDevice(device, *plan, slots);
    });
}
