// The Python package calls these functions by ctypes: a model's frequencies, and the work of rope.h's descriptions, on
// a Vulkan device or with the same bits on the CPU. layouts.py reads the structures here and in rope.h, and writes them
// into the package's _structures.py, with a number that tells these layouts from any others.
//
// A call that has a status returns ROPE_PYTHON_DONE, or writes one sentence to *reason, which is never null. Nothing is
// thrown. All calls may run on any number of threads at once, also with the same device: a device of Vulkan's then
// works for one after the other, the CPU for all at once.
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
#include <stdexcept>
#include <string>
#include <vector>

#if defined(_WIN32)
#define ROPE_PYTHON_API extern "C" __declspec(dllexport)
#else
#define ROPE_PYTHON_API extern "C" __attribute__((visibility("default")))
#endif

typedef enum RopePythonStatus {
    ROPE_PYTHON_DONE = 0,
    ROPE_PYTHON_FAILED = 1,  // the machine failed: no memory, a device lost
    ROPE_PYTHON_REFUSED = 2, // the request is at fault, also for a device that is not here
} RopePythonStatus;

typedef struct RopePythonReason {
    char text[1024]; // a longer sentence is cut
} RopePythonReason;

// A configuration, in one of two ways. Zeros choose what the configuration says.
typedef struct RopePythonRequest {
    const char* gguf;       // the path of a .gguf; or null, and then
    const void* config;     // the text of a config.json,
    uint64_t config_bytes;  // of so many bytes
    const char* layer_type; // null: full_attention, or the only type
    double length;          // the largest position so far plus 1, for rules that depend on it
    uint32_t rotary_dim;    // elements
    uint32_t layer;         // one layer by its number, from 1 on; 0: by its type
} RopePythonRequest;

// The caller's memory in place of a slot's buffer: what is read before the work, and what is written behind it. Either
// may be null. In place both are one array. All bytes of a slot are written back.
typedef struct RopePythonSlot {
    const void* from;
    void* to;
    uint64_t bytes;
} RopePythonSlot;

#include <python_layouts.inc> // made by layouts.py: ropePythonLayouts returns the number

struct RopePythonDevice {
    rope::Device device; // empty: the CPU
    std::string name;
    std::mutex mutex; // a device and its buffers belong to one thread at a time
    rope::Buffer buffers[ROPE_SLOT_COUNT];
};

namespace rope {
namespace {

// ---- Sentences ------------------------------------------------------------------------------------------------------

// The request is at fault. What else is thrown says that the machine failed.
struct Refused : std::runtime_error {
    using runtime_error::runtime_error;
};

// Runs a call's work; what it throws becomes a sentence.
template <class Work> RopePythonStatus answer(RopePythonReason* reason, const Work& work) {
    RopePythonStatus status = ROPE_PYTHON_FAILED;
    std::string sentence;
    try {
        work();
        status = ROPE_PYTHON_DONE;
    } catch (const Refused& refused) {
        status = ROPE_PYTHON_REFUSED;
        sentence = refused.what();
    } catch (const std::bad_alloc&) {
        sentence = "this takes more memory than there is";
    } catch (const std::exception& exception) {
        sentence = exception.what();
    }
    const size_t length = std::min(sentence.size(), sizeof reason->text - 1);
    std::memcpy(reason->text, sentence.c_str(), length);
    reason->text[length] = '\0';
    return status;
}

void mustDo(bool done, const std::string& error) {
    if (!done) throw std::runtime_error(error);
}

// ---- Models ---------------------------------------------------------------------------------------------------------

nlohmann::json nameOf(RopePairing pairing) {
    return pairing == ROPE_PAIRING_DEFAULT ? nlohmann::json() : pairing == ROPE_PAIRING_HALF ? "half" : "interleaved";
}

// The keyword arguments of the package's Encoding.
nlohmann::json told(const ModelEncoding& encoding) {
    const QueryScaling& queries = encoding.query_scaling;
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
            {"query_scale",
             queries.beta == 0 ? nlohmann::json() : nlohmann::json({queries.beta, queries.interval, queries.offset})},
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

void runOnDevice(RopePythonDevice* device, const RopePlan& plan, const RopePythonSlot* slots) {
    RopeBuffers bound = {};
    std::string error;
    for (size_t i = 0; i < ROPE_SLOT_COUNT; ++i) {
        const RopePythonSlot& slot = slots[i];
        if (plan.bytes[i] == 0) continue;
        const uint64_t bytes = std::max(plan.bytes[i], slot.bytes);
        Buffer& buffer = device->buffers[i];
        if (buffer.size() < bytes) mustDo(device->device.makeBuffer(bytes, &buffer, &error), error);
        if (slot.from != nullptr) mustDo(device->device.upload(buffer, 0, slot.from, slot.bytes, &error), error);
        bound.slots[i] = buffer.slot();
    }
    mustDo(device->device.run(&plan, 1, &bound, &error), error);
    for (size_t i = 0; i < ROPE_SLOT_COUNT; ++i) {
        if (slots[i].to != nullptr && plan.bytes[i] != 0)
            mustDo(device->device.download(device->buffers[i], 0, slots[i].to, slots[i].bytes, &error), error);
    }
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
    CALL(ropeWriteFrequencies), CALL(ropePairPermutation), CALL(ropeMakeAlibiSlopes), CALL(ropeMakeQueryScale),
};
#undef CALL

} // namespace
} // namespace rope

// *json becomes an object in JSON, whose members are the keyword arguments of the package's Encoding, or null.
ROPE_PYTHON_API RopePythonStatus ropePythonReadModel(const RopePythonRequest* request, char** json,
                                                     RopePythonReason* reason) {
    *json = nullptr;
    return rope::answer(reason, [&] {
        rope::ModelEncoding encoding;
        std::string error;
        if (!rope::readEncoding(*request, &encoding, &error)) throw rope::Refused(error);
        const auto replace = nlohmann::json::error_handler_t::replace; // bytes that are no UTF-8
        *json = rope::copyOf(rope::told(encoding).dump(-1, ' ', false, replace));
    });
}

ROPE_PYTHON_API void ropePythonFreeText(char* text) { std::free(text); }

// "cpu" takes no Vulkan; else an index, part of a device's name or driver, or an empty text for the best device.
ROPE_PYTHON_API RopePythonStatus ropePythonOpenDevice(const char* select, RopePythonDevice** device,
                                                      RopePythonReason* reason) {
    *device = nullptr;
    return rope::answer(reason, [&] {
        auto opened = std::make_unique<RopePythonDevice>();
        opened->name = select;
        if (opened->name != "cpu") {
            rope::DeviceOptions options;
            options.select = select;
            std::string error;
            opened->device = rope::Device::open(options, &error);
            if (!opened->device) throw rope::Refused(error);
            opened->name = rope::describe(opened->device.info());
        }
        *device = opened.release();
    });
}

// No other call may be at work with the device.
ROPE_PYTHON_API void ropePythonCloseDevice(RopePythonDevice* device) { delete device; }

ROPE_PYTHON_API const char* ropePythonDeviceName(const RopePythonDevice* device) { return device->name.c_str(); }

// The address of a call of rope.h, by its name. Null: the package has no use for it.
ROPE_PYTHON_API const void* ropePythonCall(const char* name) {
    for (const rope::NamedCall& call : rope::kCalls) {
        if (std::strcmp(call.name, name) == 0) return call.address;
    }
    return nullptr;
}

// The limits to plan by. The CPU takes what no device's limits forbid.
ROPE_PYTHON_API void ropePythonLimits(const RopePythonDevice* device, RopeLimits* limits) {
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

// Carries out a plan on a Vulkan device. `slots` are ROPE_SLOT_COUNT, each of the bytes that the plan says or more.
ROPE_PYTHON_API RopePythonStatus ropePythonRun(RopePythonDevice* device, const RopePlan* plan,
                                               const RopePythonSlot* slots, RopePythonReason* reason) {
    return rope::answer(reason, [&] {
        const std::lock_guard<std::mutex> lock(device->mutex);
        rope::runOnDevice(device, *plan, slots);
    });
}
