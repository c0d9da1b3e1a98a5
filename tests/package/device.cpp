// A program with no Vulkan of its own: rotates on the device present and compares with the CPU.
#include <vkrope/device.hpp>
#include <vkrope/rope.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>

#if __has_include("plan/planner.h") || __has_include("device/state.hpp") || __has_include(<vkrope/device/state.hpp>)
#error "a private header of vkrope is within a program's reach"
#endif

int main() {
    constexpr uint32_t kTokens = 5, kHeads = 2, kHeadDim = 8;
    constexpr VkDeviceSize kBytes = sizeof(float) * kTokens * kHeads * kHeadDim;
    const double frequencies[kHeadDim / 2] = {1, 0.1, 0.01, 0.001};
    float q[kTokens * kHeads * kHeadDim], wanted[kTokens * kHeads * kHeadDim];
    for (uint32_t i = 0; i < kTokens * kHeads * kHeadDim; ++i) q[i] = 0.25f * static_cast<float>(i);

    std::string error;
    rope::Device device = rope::Device::open({}, &error);
    if (!device) {
        std::printf("skipped: %s\n", error.c_str());
        return 77;
    }

    RopeRotateDescription d = {};
    d.tokens = kTokens;
    d.head_dim = kHeadDim;
    d.rotation.frequencies = {frequencies, kHeadDim / 2, 0, nullptr, 0};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = 70;
    d.q.heads = kHeads;
    RopePlan plan;
    RopeHostRotate host = {};
    host.q = q;
    host.q_out = wanted;
    uint32_t words[kHeadDim / 2 * 4];
    if (rope::plan(d, device.limits(), &plan) != ROPE_SUCCESS ||
        ropeHostRunRotate(&d, &host, nullptr) != ROPE_SUCCESS ||
        ropeWriteFrequencies(&d.rotation.frequencies, d.rotation.angle, words, nullptr) != ROPE_SUCCESS) {
        std::fprintf(stderr, "refused: %s\n", plan.reason.text);
        return 1;
    }

    rope::Buffer tensor, table;
    RopeBuffers buffers = {};
    if (!device.makeBuffer(kBytes, &tensor, &error) || !device.makeBuffer(sizeof words, &table, &error) ||
        !device.upload(tensor, 0, q, kBytes, &error) || !device.upload(table, 0, words, sizeof words, &error)) {
        std::fprintf(stderr, "%s\n", error.c_str());
        return 1;
    }
    buffers.slots[ROPE_SLOT_Q] = tensor.slot();
    buffers.slots[ROPE_SLOT_FREQUENCIES] = table.slot();
    if (!device.run(&plan, 1, &buffers, &error) || !device.download(tensor, 0, q, kBytes, &error)) {
        std::fprintf(stderr, "%s\n", error.c_str());
        return 1;
    }
    const bool promised = ropeGetRounding(device.context()) == ROPE_ROUNDING_NEAREST;
    for (uint32_t i = 0; i < kTokens * kHeads * kHeadDim; ++i) {
        const bool right =
            promised ? std::memcmp(&q[i], &wanted[i], sizeof q[i]) == 0 : std::abs(q[i] - wanted[i]) < 1e-4f;
        if (!right) {
            std::fprintf(stderr, "element %u: %.9g, not %.9g\n", i, static_cast<double>(q[i]),
                         static_cast<double>(wanted[i]));
            return 1;
        }
    }
    std::printf("right on %s\n", rope::describe(device.info()).c_str());
    return 0;
}
