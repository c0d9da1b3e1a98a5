// A first program with vkrope: opens a device, runs the worked examples of the formulas, then rotates Q and K of a
// Llama-3-8B prefill, compares them with the CPU and times them beside a copy of the same bytes.
#include "quickstart_timing.hpp"

#include <vkrope/device.hpp>
#include <vkrope/rope.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kMaxTokens = 32768;

struct Arguments {
    std::string device;
    uint32_t tokens = 4096;
    bool help = false;
};

constexpr char kUsage[] = "usage: vkrope-quickstart [--device D] [--tokens N]\n"
                          "  --device D  the device's index or a part of its name; without it, the best there is\n"
                          "  --tokens N  tokens of the prefill, 1 to 32768; without it 4096\n";

bool parse(int count, char** values, Arguments* arguments, std::string* error) {
    for (int i = 1; i < count; ++i) {
        const std::string name = values[i];
        if (name == "--help" || name == "-h") {
            arguments->help = true;
        } else if (name != "--device" && name != "--tokens") {
            *error = "there is no argument '" + name + "'; --help names those there are";
            return false;
        } else if (++i == count) {
            *error = name + " needs a value after it; --help says which";
            return false;
        } else if (name == "--device") {
            arguments->device = values[i];
        } else {
            const std::string text = values[i];
            const bool digits = text.size() < 9 && text.find_first_not_of("0123456789") == std::string::npos;
            arguments->tokens = digits ? static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10)) : 0;
            if (arguments->tokens < 1 || arguments->tokens > kMaxTokens) {
                *error = "--tokens takes a whole number from 1 to 32768, not '" + text + "'";
                return false;
            }
        }
    }
    return true;
}

// A buffer on the device with these values in it.
template <typename T>
bool uploaded(rope::Device& device, const std::vector<T>& values, rope::Buffer* buffer, std::string* error) {
    const VkDeviceSize bytes = values.size() * sizeof(T);
    return device.makeBuffer(bytes, buffer, error) && device.upload(*buffer, 0, values.data(), bytes, error);
}

bool refused(const RopeReason& reason, std::string* error) {
    *error = reason.text;
    return false;
}

// ---- Worked examples ------------------------------------------------------------------------------------------------

// One head of 4 elements, or q and k of 2 elements at consecutive positions, of which the product is wanted.
struct Example {
    RopePairing pairing;
    uint32_t head_dim;
    double base;
    int32_t position;
    std::vector<float> input;
    std::vector<double> expected;
    double tolerance;
};

const std::vector<Example> kExamples = {
    {ROPE_PAIRING_INTERLEAVED, 4, 1e4, 3, {1, 2, 3, 4}, {-1.2722, -1.8389, 2.8787, 4.0882}, 5.1e-5},
    {ROPE_PAIRING_INTERLEAVED, 4, 1e4, 2, {1, 0, 0, 1}, {-0.4161, 0.9093, -0.0200, 0.9998}, 5.1e-5},
    {ROPE_PAIRING_HALF, 4, 1e4, 2, {1, 0, 0, 1}, {-0.4161, -0.0200, 0.9093, 0.9998}, 5.1e-5},
    {ROPE_PAIRING_HALF, 2, 1e4, 1, {1, 2, 3, 4}, {7.62626733416533}, 4e-6},
    {ROPE_PAIRING_HALF, 2, 1e4, 0, {1, 0, 0, 1}, {-0.841470984807897}, 4e-7},
};

bool rotate(rope::Device& device, const Example& example, std::vector<float>* values, std::string* error) {
    RopeReason reason;
    RopeRule rule = {};
    rule.rotary_dim = example.head_dim;
    rule.base = example.base;
    std::vector<double> frequencies(example.head_dim / 2);
    double scale = 0;
    if (ropeMakeFrequencies(&rule, frequencies.data(), &scale, &reason) != ROPE_SUCCESS) {
        return refused(reason, error);
    }

    RopeRotateDescription description = {};
    description.tokens = static_cast<uint32_t>(values->size()) / example.head_dim;
    description.head_dim = example.head_dim;
    description.rotation.pairing = example.pairing;
    description.rotation.frequencies = {frequencies.data(), rule.rotary_dim / 2, scale, nullptr, 1};
    description.positions.kind = ROPE_POSITIONS_COUNTED;
    description.positions.first = example.position;
    description.q.heads = 1;
    RopePlan plan;
    if (ropePlanRotate(&description, &device.limits(), &plan) != ROPE_SUCCESS) {
        return refused(plan.reason, error);
    }

    std::vector<uint8_t> words(ropeFrequencyBytes(rule.rotary_dim / 2));
    if (ropeWriteFrequencies(&description.rotation.frequencies, description.rotation.angle, words.data(), &reason) !=
        ROPE_SUCCESS) {
        return refused(reason, error);
    }
    rope::Buffer frequency_buffer, q;
    if (!uploaded(device, words, &frequency_buffer, error) || !uploaded(device, *values, &q, error)) {
        return false;
    }
    RopeBuffers buffers = {};
    buffers.slots[ROPE_SLOT_FREQUENCIES] = frequency_buffer.slot();
    buffers.slots[ROPE_SLOT_Q] = q.slot();
    return device.run(&plan, 1, &buffers, error) &&
           device.download(q, 0, values->data(), values->size() * sizeof(float), error);
}

template <typename T> std::string listed(const std::vector<T>& values, const char* format) {
    std::string text;
    for (const T& value : values) {
        char number[40];
        std::snprintf(number, sizeof number, format, static_cast<double>(value));
        text += (text.empty() ? "" : ", ") + std::string(number);
    }
    return "[" + text + "]";
}

bool runExamples(rope::Device& device, bool* right, std::string* error) {
    std::printf("\nworked examples\n");
    for (const Example& example : kExamples) {
        std::vector<float> rotated = example.input;
        if (!rotate(device, example, &rotated, error)) {
            return false;
        }
        const bool product = example.expected.size() == 1;
        std::vector<double> result(rotated.begin(), rotated.end());
        if (product) {
            result = {result[0] * result[2] + result[1] * result[3]};
        }
        bool close = true;
        for (size_t i = 0; i < result.size(); ++i) {
            close = close && std::fabs(result[i] - example.expected[i]) <= example.tolerance;
        }
        *right = *right && close;
        const char* format = product ? "%.6f" : "%.4f";
        std::string where = "at " + std::to_string(example.position);
        if (product) {
            where = "q at " + std::to_string(example.position) + ", k at " + std::to_string(example.position + 1);
        }
        std::printf("  %-11s d %u %-14s %s -> %s, expected %s: %s\n",
                    example.pairing == ROPE_PAIRING_HALF ? "half" : "interleaved", example.head_dim, where.c_str(),
                    listed(example.input, "%g").c_str(), listed(result, format).c_str(),
                    listed(example.expected, format).c_str(), close ? "right" : "WRONG");
    }
    return true;
}

// ---- A prefill of Llama 3 8B ----------------------------------------------------------------------------------------

constexpr uint32_t kHeadDim = 128;
constexpr uint32_t kQHeads = 32;
constexpr uint32_t kKHeads = 8;
constexpr double kBase = 500000;

struct Prefill {
    std::vector<double> frequencies;
    std::vector<int32_t> positions;
    std::vector<float> q, k; // before the rotation
    RopeTableDescription table = {};
    RopeRotateDescription rotate = {};
    RopePlan plans[2]; // the rows, then the rotation that reads them
    RopeBuffers slots[2] = {};
    rope::Buffer positions_buffer, frequency_buffer, rows_buffer, q_buffer, k_buffer, q_copy, k_copy;
};

std::vector<float> randomValues(size_t count, uint32_t seed) {
    std::vector<float> values(count);
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(static_cast<int32_t>(seed) >> 8) / 8388608.0f; // -1 to 1
    }
    return values;
}

// Once per step a row of cos and sin for every token, which Q, K and every layer then read.
bool plan(const rope::Device& device, uint32_t tokens, Prefill* p, std::string* error) {
    RopeReason reason;
    RopeRule rule = {};
    rule.rotary_dim = kHeadDim;
    rule.base = kBase;
    double scale = 0;
    p->frequencies.resize(kHeadDim / 2);
    if (ropeMakeFrequencies(&rule, p->frequencies.data(), &scale, &reason) != ROPE_SUCCESS) {
        return refused(reason, error);
    }
    p->table.frequencies = {p->frequencies.data(), kHeadDim / 2, scale, nullptr, 1};
    p->table.tokens = tokens;
    p->table.positions.kind = ROPE_POSITIONS_PER_TOKEN;
    p->rotate.tokens = tokens;
    p->rotate.head_dim = kHeadDim;
    p->rotate.rotation.pairing = ROPE_PAIRING_HALF;
    p->rotate.rotation.source = ROPE_SOURCE_ROWS;
    p->rotate.rotation.frequencies.count = kHeadDim / 2;
    p->rotate.rotation.frequencies.scale = scale;
    p->rotate.q.heads = kQHeads;
    p->rotate.k.heads = kKHeads;
    if (ropePlanTable(&p->table, &device.limits(), &p->plans[0]) != ROPE_SUCCESS) {
        return refused(p->plans[0].reason, error);
    }
    if (ropePlanRotate(&p->rotate, &device.limits(), &p->plans[1]) != ROPE_SUCCESS) {
        return refused(p->plans[1].reason, error);
    }
    return true;
}

bool fillBuffers(rope::Device& device, Prefill* p, std::string* error) {
    const size_t tokens = p->rotate.tokens;
    p->q = randomValues(tokens * kQHeads * kHeadDim, 1);
    p->k = randomValues(tokens * kKHeads * kHeadDim, 2);
    p->positions.resize(tokens);
    for (size_t i = 0; i < tokens; ++i) {
        p->positions[i] = static_cast<int32_t>(i);
    }
    RopeReason reason;
    std::vector<uint8_t> words(ropeFrequencyBytes(kHeadDim / 2));
    if (ropeWriteFrequencies(&p->table.frequencies, p->table.angle, words.data(), &reason) != ROPE_SUCCESS) {
        return refused(reason, error);
    }
    if (!uploaded(device, p->positions, &p->positions_buffer, error) ||
        !uploaded(device, words, &p->frequency_buffer, error) ||
        !device.makeBuffer(p->plans[0].bytes[ROPE_SLOT_ROWS], &p->rows_buffer, error) ||
        !uploaded(device, p->q, &p->q_buffer, error) || !uploaded(device, p->k, &p->k_buffer, error) ||
        !device.makeBuffer(p->q_buffer.size(), &p->q_copy, error) ||
        !device.makeBuffer(p->k_buffer.size(), &p->k_copy, error)) {
        return false;
    }
    p->slots[0].slots[ROPE_SLOT_POSITIONS] = p->positions_buffer.slot();
    p->slots[0].slots[ROPE_SLOT_FREQUENCIES] = p->frequency_buffer.slot();
    p->slots[0].slots[ROPE_SLOT_ROWS] = p->rows_buffer.slot();
    p->slots[1].slots[ROPE_SLOT_ROWS] = p->rows_buffer.slot();
    p->slots[1].slots[ROPE_SLOT_Q] = p->q_buffer.slot();
    p->slots[1].slots[ROPE_SLOT_K] = p->k_buffer.slot();
    return true;
}

struct Difference {
    double ulps = 0;      // the largest error, in float32 ulps of its pair's length
    uint64_t unequal = 0; // elements whose bits are not the CPU's
};

void compare(const std::vector<float>& found, const std::vector<float>& on_cpu, const std::vector<double>& reference,
             Difference* difference) {
    for (size_t head = 0; head < found.size(); head += kHeadDim) {
        for (size_t x = head; x < head + kHeadDim / 2; ++x) {
            const size_t y = x + kHeadDim / 2;
            const double length = std::hypot(reference[x], reference[y]);
            const double ulp = std::ldexp(1.0, std::max(length > 0 ? std::ilogb(length) : -126, -126) - 23);
            const double error = std::max(std::fabs(found[x] - reference[x]), std::fabs(found[y] - reference[y]));
            difference->ulps = std::max(difference->ulps, error / ulp);
        }
    }
    for (size_t i = 0; i < found.size(); ++i) {
        difference->unequal += std::memcmp(&found[i], &on_cpu[i], sizeof(float)) != 0;
    }
}

// Tokens spread from the first to the last; all of them where there are few.
std::vector<int32_t> sampleTokens(uint32_t tokens) {
    const uint32_t count = std::min(tokens, 128u);
    std::vector<int32_t> sample(count);
    for (uint32_t i = 0; i < count; ++i) {
        sample[i] = count == 1 ? 0 : static_cast<int32_t>(uint64_t{i} * (tokens - 1) / (count - 1));
    }
    return sample;
}

std::vector<float> gathered(const std::vector<float>& values, const std::vector<int32_t>& tokens, uint32_t heads) {
    const ptrdiff_t size = static_cast<ptrdiff_t>(heads) * kHeadDim;
    std::vector<float> result;
    for (int32_t token : tokens) {
        result.insert(result.end(), values.begin() + token * size, values.begin() + (token + 1) * size);
    }
    return result;
}

// The sampled tokens rotated on the CPU from their positions, not from the device's rows.
bool compareSample(const Prefill& p, const std::vector<float>& q, const std::vector<float>& k, Difference* difference,
                   size_t* sampled, std::string* error) {
    const std::vector<int32_t> sample = sampleTokens(p.rotate.tokens);
    RopeRotateDescription description = p.rotate;
    description.tokens = static_cast<uint32_t>(sample.size());
    description.rotation.source = ROPE_SOURCE_INLINE;
    description.rotation.frequencies = p.table.frequencies;
    description.positions.kind = ROPE_POSITIONS_PER_TOKEN;

    std::vector<float> q_cpu = gathered(p.q, sample, kQHeads), k_cpu = gathered(p.k, sample, kKHeads);
    std::vector<double> q_reference(q_cpu.size()), k_reference(k_cpu.size());
    RopeHostRotate data = {};
    data.positions = sample.data();
    data.q = data.q_out = q_cpu.data();
    data.k = data.k_out = k_cpu.data();
    data.reference_q = q_reference.data();
    data.reference_k = k_reference.data();
    RopeReason reason;
    if (ropeHostRunRotate(&description, &data, &reason) != ROPE_SUCCESS) {
        return refused(reason, error);
    }
    compare(gathered(q, sample, kQHeads), q_cpu, q_reference, difference);
    compare(gathered(k, sample, kKHeads), k_cpu, k_reference, difference);
    *sampled = sample.size();
    return true;
}

bool check(rope::Device& device, Prefill& p, bool* right, std::string* error) {
    std::vector<float> q(p.q.size()), k(p.k.size());
    Difference difference;
    size_t sampled = 0;
    if (!device.run(p.plans, 2, p.slots, error) || !device.download(p.q_buffer, 0, q.data(), q.size() * 4, error) ||
        !device.download(p.k_buffer, 0, k.data(), k.size() * 4, error) ||
        !compareSample(p, q, k, &difference, &sampled, error)) {
        return false;
    }
    // In ulps of the pair's length: at most 0.72 from the roundings of cos and sin, 0.75 from the two products (only
    // one of them can reach the length's binade), 0.5 from the sum.
    const double bound = 2;
    const bool promised = ropeGetRounding(device.context()) == ROPE_ROUNDING_NEAREST;
    const bool close = difference.ulps <= bound;
    std::printf("  checked %zu tokens: largest error %.3f ulp of the pair's length (at most %.2f): %s\n", sampled,
                difference.ulps, bound, close ? "right" : "WRONG");
    if (difference.unequal == 0) {
        std::printf("  bits equal to the CPU's: yes\n");
    } else {
        std::printf("  bits unequal to the CPU's in %" PRIu64 " elements: %s\n", difference.unequal,
                    promised ? "WRONG" : "this device promises none");
    }
    *right = *right && close && (difference.unequal == 0 || !promised);
    return true;
}

// ---- Timing ---------------------------------------------------------------------------------------------------------

bool measure(rope::Device& device, Prefill& p, std::string* error) {
    const auto repeat = [&](int plan) {
        return [&device, &p, plan, error](uint32_t times, double* seconds) {
            const std::vector<RopePlan> plans(times, p.plans[plan]);
            const std::vector<RopeBuffers> slots(times, p.slots[plan]);
            return device.run(plans.data(), times, slots.data(), error, seconds);
        };
    };
    const auto copy = [&](uint32_t times, double* seconds) {
        const auto record = [&](VkCommandBuffer commands) {
            const VkBufferCopy q = {0, 0, p.q_buffer.size()}, k = {0, 0, p.k_buffer.size()};
            const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_TRANSFER_WRITE_BIT,
                                             VK_ACCESS_TRANSFER_WRITE_BIT};
            for (uint32_t i = 0; i < times; ++i) {
                device.vk().CmdCopyBuffer(commands, p.q_buffer.handle(), p.q_copy.handle(), 1, &q);
                device.vk().CmdCopyBuffer(commands, p.k_buffer.handle(), p.k_copy.handle(), 1, &k);
                device.vk().CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                               0, 1, &barrier, 0, nullptr, 0, nullptr);
            }
        };
        return device.submit(record, error, seconds);
    };
    const double moved = 2.0 * static_cast<double>(p.q_buffer.size() + p.k_buffer.size()); // read once, written once
    const bool cpu = device.info().properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    std::vector<Timed> all = {{"rows, per step", static_cast<double>(p.rows_buffer.size()), repeat(0)},
                              {"Q and K", moved, repeat(1)},
                              {"vkCmdCopyBuffer", moved, copy}};
    if (!timeInTurns(all, 1, cpu)) {
        return false;
    }
    std::printf("  median of %d, %s clock\n", kRounds, device.hasTimestamps() ? "the device's" : "the host's");
    for (const Timed& timed : all) {
        const double seconds = median(timed.seconds);
        std::printf("  %-15s %9.3f ms", timed.what, seconds * 1e3);
        std::printf(seconds > 0 ? "  %7.1f GB/s" : "", timed.bytes / seconds * 1e-9);
        std::printf(timed.times > 1 ? ", %u times in a submission\n" : "\n", timed.times);
    }
    std::printf("  Q and K take %.2f times the copy\n", median(all[1].seconds) / median(all[2].seconds));
    if (cpu) {
        std::printf("  a driver on the CPU says nothing of a GPU's speed; its copy is the host's memcpy\n");
    }
    return true;
}

bool runPrefill(rope::Device& device, uint32_t tokens, bool* right, std::string* error) {
    std::printf("\nLlama 3 8B prefill: %u tokens, %u + %u heads of %u, float32, half pairing, in place\n", tokens,
                kQHeads, kKHeads, kHeadDim);
    Prefill prefill;
    return plan(device, tokens, &prefill, error) && fillBuffers(device, &prefill, error) &&
           check(device, prefill, right, error) && measure(device, prefill, error);
}

// Printed text may wait in a buffer, or have met a full device. Returns the exit status.
int flushed(int status) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    std::fputs("vkrope-quickstart: standard output cannot be written\n", stderr);
    return 1;
}

} // namespace

int main(int count, char** values) {
    Arguments arguments;
    std::string error;
    if (!parse(count, values, &arguments, &error)) {
        std::fprintf(stderr, "vkrope-quickstart: %s\n", error.c_str());
        return 2;
    }
    if (arguments.help) {
        std::fputs(kUsage, stdout);
        return flushed(0);
    }

    rope::DeviceOptions options;
    options.select = arguments.device;
    rope::Device device = rope::Device::open(options, &error);
    if (!device) {
        std::fprintf(stderr, "vkrope-quickstart: %s\n", error.c_str());
        return arguments.device.empty() ? 1 : 2;
    }
    const bool nearest = ropeGetRounding(device.context()) == ROPE_ROUNDING_NEAREST;
    std::printf("device: %s\n", rope::describe(device.info()).c_str());
    std::printf("float32 rounds %s\n", nearest
                                           ? "to nearest: the bits are the same as on every such device and the CPU"
                                           : "otherwise than to nearest: the last bit may differ from other devices");
    bool right = true;
    if (!runExamples(device, &right, &error) || !runPrefill(device, arguments.tokens, &right, &error)) {
        std::fprintf(stderr, "vkrope-quickstart: %s\n", error.c_str());
        return 1;
    }
    return flushed(right ? 0 : 1);
}
