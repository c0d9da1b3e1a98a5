// Prints a hash of what each call of the CPU's reference gives for a fixed description and fixed inputs. The inputs are
// made as bits, so that no floating point arithmetic of this file has a say.
#include "vkrope.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr uint32_t kTokens = 24, kHeads = 4, kDim = 64, kSlots = 32, kHead = kTokens * kHeads * kDim;

RopeReason reason;
double frequencies[kDim / 2];
float q[kHead], k[kHead], v[kHead], weights[kDim];
int32_t positions[kTokens], slots[kTokens];
uint8_t out[3][4 * kSlots * kHeads * kDim];

// Floats of either sign from 2^-5 to 2^3, the same everywhere.
void fill(float* values, uint32_t count, uint64_t seed) {
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t random = (seed * 65536 + i + 1) * 0x9E3779B97F4A7C15;
        const uint32_t bits = static_cast<uint32_t>(random >> 32 & 0x807FFFFF) | (122 + random % 8) << 23;
        std::memcpy(values + i, &bits, sizeof bits);
    }
}

// The hash of what a call has written, which is then cleared.
void print(const char* name, const char* choice, RopeResult result) {
    if (result != ROPE_SUCCESS) {
        std::printf("%s %s: %s\n", name, choice, reason.text);
        std::exit(1);
    }
    uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (const auto& bytes : out) {
        for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
    }
    std::memset(out, 0, sizeof out);
    std::printf("%s %s: %016llx\n", name, choice, static_cast<unsigned long long>(hash));
}

RopeFrequencies given() {
    RopeFrequencies f = {};
    f.values = frequencies;
    f.count = kDim / 2;
    return f;
}

void table(RopeAngle angle, const char* choice) {
    RopeTableDescription d = {};
    d.positions.kind = ROPE_POSITIONS_PER_TOKEN;
    d.tokens = kTokens;
    d.angle = angle;
    d.frequencies = given();
    RopeHostTable data = {};
    data.positions = positions;
    data.rows = reinterpret_cast<float*>(out[0]);
    print("table", choice, ropeHostRunTable(&d, &data, &reason));
}

void rotate(RopeElement element, RopePairing pairing, const char* choice) {
    RopeRotateDescription d = {};
    d.tokens = kTokens;
    d.head_dim = kDim;
    d.rotation.frequencies = given();
    d.rotation.pairing = pairing;
    d.element = ROPE_ELEMENT_F32;
    d.element_out = element;
    d.out_of_place = 1;
    d.q.heads = d.k.heads = kHeads;
    RopeHostRotate data = {};
    data.positions = positions;
    data.q = q;
    data.k = k;
    data.q_out = out[0];
    data.k_out = out[1];
    print("rotation", choice, ropeHostRunRotate(&d, &data, &reason));
}

void fused(RopeNormKind norm, RopeElement element, uint32_t hadamard, const char* choice) {
    RopeFusedDescription d = {};
    d.tokens = kTokens;
    d.head_dim = kDim;
    d.rotation.frequencies = given();
    d.out_of_place = 1;
    d.q.heads = d.k.heads = d.v.heads = kHeads;
    d.q.norm.kind = d.k.norm.kind = norm;
    d.q.norm.epsilon = d.k.norm.epsilon = 0x1p-20f;
    d.q.norm.weights = d.k.norm.weights = weights;
    d.q.hadamard = d.k.hadamard = hadamard;
    d.k.element = d.v.element = element;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.slots = kSlots;
    d.k.stored_scales.offset = d.v.stored_scales.offset = kSlots * kHeads * kDim / 4; // behind the elements
    RopeHostFused data = {};
    data.positions = positions;
    data.slot_map = slots;
    data.q = q;
    data.k = k;
    data.v = v;
    data.q_out = out[0];
    data.k_out = out[1];
    data.v_out = out[2];
    print("fused", choice, ropeHostRunFused(&d, &data, &reason));
}

void add() {
    RopeAddDescription d = {};
    d.tokens = kTokens;
    d.dim = kDim;
    d.scale = 0x1.8p2f;
    d.frequencies = given();
    d.out_of_place = 1;
    RopeHostAdd data = {};
    data.positions = positions;
    data.x = q;
    data.x_out = out[0];
    print("addition", "of sinusoids", ropeHostRunAdd(&d, &data, &reason));
}

void bias() {
    float slopes[kHeads];
    RopeBiasDescription d = {};
    d.kind = ROPE_BIAS_ALIBI;
    d.heads = kHeads;
    d.queries = kTokens;
    d.keys = kDim;
    RopeHostBias data = {};
    data.positions = positions;
    data.rows = slopes;
    data.x = q;
    data.x_out = out[0];
    if (ropeMakeAlibiSlopes(kHeads, slopes, &reason) != ROPE_SUCCESS) std::exit(1);
    print("bias", "of ALiBi", ropeHostRunBias(&d, &data, &reason));
}

void relative(RopeRelativeSide side, const char* choice) {
    RopeRelativeDescription d = {};
    d.side = side;
    d.heads = kHeads;
    d.queries = kTokens;
    d.keys = d.dim = kDim;
    d.least = -8;
    d.most = 8;
    RopeHostRelative data = {};
    data.positions = positions;
    data.rows = v;
    data.q = q;
    data.x = k;
    data.x_out = out[0];
    print("relative", choice, ropeHostRunRelative(&d, &data, &reason));
}

} // namespace

int main() {
    RopeRule rule = {};
    double scale;
    rule.rotary_dim = kDim;
    rule.base = 500000;
    if (ropeMakeFrequencies(&rule, frequencies, &scale, &reason) != ROPE_SUCCESS) return 1;
    fill(q, kHead, 1);
    fill(k, kHead, 2);
    fill(v, kHead, 3);
    fill(weights, kDim, 4);
    for (uint32_t i = 0; i < kTokens; ++i) {
        positions[i] = static_cast<int32_t>(i * i * i * 9973);
        slots[i] = static_cast<int32_t>(i * 5 % kSlots);
    }
    table(ROPE_ANGLE_EXACT, "of exact angles");
    table(ROPE_ANGLE_COMPATIBLE, "of compatible angles");
    rotate(ROPE_ELEMENT_F32, ROPE_PAIRING_HALF, "to float32");
    rotate(ROPE_ELEMENT_F16, ROPE_PAIRING_INTERLEAVED, "to float16");
    rotate(ROPE_ELEMENT_BF16, ROPE_PAIRING_HALF, "to bfloat16");
    fused(ROPE_NORM_RMS, ROPE_ELEMENT_F32, 0, "RMS to float32");
    fused(ROPE_NORM_LAYER, ROPE_ELEMENT_F8_E4M3, 0, "LayerNorm to float8");
    fused(ROPE_NORM_L2, ROPE_ELEMENT_I8, 64, "L2 and Hadamard to int8");
    fused(ROPE_NORM_RMS, ROPE_ELEMENT_Q8_0, 0, "RMS to Q8_0");
    fused(ROPE_NORM_NONE, ROPE_ELEMENT_Q5_1, 32, "Hadamard to Q5_1");
    fused(ROPE_NORM_RMS, ROPE_ELEMENT_IQ4_NL, 0, "RMS to IQ4_NL");
    add();
    bias();
    relative(ROPE_RELATIVE_KEYS, "keys");
    relative(ROPE_RELATIVE_VALUES, "values");
}
