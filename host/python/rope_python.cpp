#include "python/rope_python.h"

#include "models/gguf/gguf.hpp"
#include <vkrope/device.hpp>

#include <algorithm>
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

// A slot is filled from one place before a run, and copied to the other behind it: all of it, or its runs.
struct Slot {
    RopeSlot number;
    const void* from;
    void* to;
    uint64_t bytes;
    WrittenRuns runs = {};
};

const char* nameOf(RopeSlot slot) {
    return slot == ROPE_SLOT_POSITIONS ? "the positions have "
           : slot == ROPE_SLOT_ROWS    ? "the rows have "
                                       : "the array has ";
}

// Buffers end with a whole word, arrays of 16-bit elements need not.
Outcome checkBytes(const RopePlan& plan, const std::vector<Slot>& slots) {
    for (const Slot& slot : slots) {
        const uint64_t needed = plan.bytes[slot.number];
        if ((slot.from == nullptr && slot.to == nullptr && needed != 0) ||
            slot.bytes + (slot.bytes % 4 == 2 ? 2 : 0) < needed) {
            return refused(nameOf(slot.number) + std::to_string(slot.bytes) + " bytes; the description takes " +
                           std::to_string(needed));
        }
    }
    return {};
}

Outcome runOnDevice(RopePythonDevice* device, const RopePlan& plan, const std::vector<Slot>& slots) {
    RopeBuffers bound = {};
    std::string error;
    for (const Slot& slot : slots) {
        const uint64_t bytes = std::max(plan.bytes[slot.number], slot.bytes);
        if (plan.bytes[slot.number] == 0) continue;
        Buffer& buffer = device->buffers[slot.number];
        if (buffer.size() < bytes && !device->device.makeBuffer(bytes, &buffer, &error)) return failed(error);
        if (slot.from != nullptr && !device->device.upload(buffer, 0, slot.from, slot.bytes, &error))
            return failed(error);
        bound.slots[slot.number] = buffer.slot();
    }
    if (!device->device.run(&plan, 1, &bound, &error)) return failed(error);
    for (const Slot& slot : slots) {
        if (slot.to == nullptr || plan.bytes[slot.number] == 0) continue;
        const bool whole = slot.runs.bytes == 0 || slot.runs.all() == slot.bytes;
        std::vector<uint8_t> scratch(whole ? 0 : static_cast<size_t>(slot.bytes));
        void* const to = whole ? slot.to : scratch.data();
        if (!device->device.download(device->buffers[slot.number], 0, to, slot.bytes, &error)) return failed(error);
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

bool writeWords(const RopeFrequencies& frequencies, RopeAngle angle, std::vector<uint8_t>* words, RopeReason* reason) {
    const uint64_t sets = std::max(frequencies.sets, 1u);
    words->resize(ropeFrequencyBytes(static_cast<uint32_t>(std::min<uint64_t>(frequencies.count * sets, UINT32_MAX))));
    return ropeWriteFrequencies(&frequencies, angle, words->data(), reason) == ROPE_SUCCESS;
}

// Plans, checks the arrays, and runs on the device or by `run_on_cpu`.
template <class Description, class RunOnCpu>
Outcome work(RopePythonDevice* device, const Description& d,
             RopeResult (*plan_for)(const Description*, const RopeLimits*, RopePlan*), std::vector<Slot> slots,
             const RopeFrequencies& frequencies, RopeAngle angle, const RunOnCpu& run_on_cpu) {
    const RopeLimits limits = limitsOf(*device);
    RopePlan plan;
    RopeReason reason;
    if (plan_for(&d, &limits, &plan) != ROPE_SUCCESS) return refused(plan.reason.text);
    const Outcome checked = checkBytes(plan, slots);
    if (checked.status != ROPE_PYTHON_DONE) return checked;
    std::vector<uint8_t> words;
    if (!writeWords(frequencies, angle, &words, &reason)) return refused(reason.text);
    if (!device->device) return run_on_cpu(&reason) == ROPE_SUCCESS ? Outcome() : refused(reason.text);
    slots.push_back({ROPE_SLOT_FREQUENCIES, words.data(), nullptr, words.size()});
    const std::lock_guard<std::mutex> lock(device->mutex);
    return runOnDevice(device, plan, slots);
}

Outcome makeTable(RopePythonDevice* device, const RopeTableDescription& d, const RopePythonArray& positions,
                  const RopePythonArray& rows) {
    const std::vector<Slot> slots = {{ROPE_SLOT_POSITIONS, positions.data, nullptr, positions.bytes},
                                     {ROPE_SLOT_ROWS, nullptr, rows.data, rows.bytes}};
    return work(device, d, ropePlanTable, slots, d.frequencies, d.angle, [&](RopeReason* reason) {
        const RopeHostTable data = {positions.data, nullptr, static_cast<float*>(rows.data)};
        return ropeHostRunTable(&d, &data, reason);
    });
}

Outcome rotate(RopePythonDevice* device, const RopeRotateDescription& d, const RopePythonArray& positions,
               const RopePythonArray& x, const RopePythonArray& out) {
    if (d.rotation.source != ROPE_SOURCE_INLINE) return refused("the rotation's source is not inline");
    if (d.out_of_place == 0 && x.data != out.data) return refused("the rotation is in place, and out is another array");
    std::vector<Slot> slots = {{ROPE_SLOT_POSITIONS, positions.data, nullptr, positions.bytes}};
    if (d.out_of_place == 0) {
        slots.push_back({ROPE_SLOT_Q, x.data, out.data, out.bytes, writtenRuns(d)});
    } else {
        slots.push_back({ROPE_SLOT_Q, x.data, nullptr, x.bytes});
        slots.push_back({ROPE_SLOT_Q_OUT, nullptr, out.data, out.bytes, writtenRuns(d)});
    }
    return work(device, d, ropePlanRotate, slots, d.rotation.frequencies, d.rotation.angle, [&](RopeReason* reason) {
        RopeHostRotate data = {};
        data.positions = positions.data;
        data.q = x.data;
        data.q_out = out.data;
        return ropeHostRunRotate(&d, &data, reason);
    });
}

} // namespace
} // namespace rope

uint32_t ropePythonSize(const char* name) {
    static const struct {
        const char* name;
        size_t value;
    } kSizes[] = {
        {"ROPE_VERSION", ROPE_VERSION},
        {"RopeFrequencies", sizeof(RopeFrequencies)},
        {"RopePositions", sizeof(RopePositions)},
        {"RopeRows", sizeof(RopeRows)},
        {"RopeTableDescription", sizeof(RopeTableDescription)},
        {"RopeLayout", sizeof(RopeLayout)},
        {"RopeTensor", sizeof(RopeTensor)},
        {"RopeTuning", sizeof(RopeTuning)},
        {"RopeRotation", sizeof(RopeRotation)},
        {"RopeRotateDescription", sizeof(RopeRotateDescription)},
        {"RopePythonReason", sizeof(RopePythonReason)},
        {"RopePythonRequest", sizeof(RopePythonRequest)},
        {"RopePythonModel", sizeof(RopePythonModel)},
        {"RopePythonArray", sizeof(RopePythonArray)},
    };
    for (const auto& row : kSizes) {
        if (std::strcmp(row.name, name) == 0) return static_cast<uint32_t>(row.value);
    }
    return 0;
}

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

RopePythonStatus ropePythonTable(RopePythonDevice* device, const RopeTableDescription* description,
                                 const RopePythonArray* positions, const RopePythonArray* rows,
                                 RopePythonReason* reason) {
    return rope::answer(reason, [&] { return rope::makeTable(device, *description, *positions, *rows); });
}

RopePythonStatus ropePythonRotate(RopePythonDevice* device, const RopeRotateDescription* description,
                                  const RopePythonArray* positions, const RopePythonArray* x,
                                  const RopePythonArray* out, RopePythonReason* reason) {
    return rope::answer(reason, [&] { return rope::rotate(device, *description, *positions, *x, *out); });
}
