// This file has the steps of a gradient through a norm and a rotation, on the CPU.
#include "reference/gradient.h"

namespace rope {

void turnHead(const HostRotation& r, const CosSin* cos_sin, bool forward, ElementValue* head) {
    const RopeRotateDescription& d = r.d;
    for (uint32_t pair = 0; pair < d.rotary_dim / 2; ++pair) {
        CosSin turn = cos_sin[pair];
        if (forward) {
            turn.reference[1] = -turn.reference[1];
            turn.float32[1] = -turn.float32[1];
        }
        ElementValue* const rotary = head + d.rotary_begin;
        const uint32_t first = pairElement(d, d.pairing_in, pair, 0), second = pairElement(d, d.pairing_in, pair, 1);
        ElementValue values[2] = {rotary[first], rotary[second]};
        turnPair(r, turn, values);
        rotary[first] = values[0];
        rotary[second] = values[1];
    }
}

void passNorm(const Factor& factor, const Factor& sum, uint32_t count, const ElementValue* x, uint32_t head_dim,
              ElementValue* gradient) {
    const float cube = product(product(factor.float32, factor.float32), factor.float32);
    const float share = product(cube, product(sum.float32, 1.0f / static_cast<float>(count)));
    const double f = factor.reference, reference = f * f * f * (sum.reference / count);
    for (uint32_t e = 0; e < head_dim; ++e) {
        const float straight = product(floatOf(gradient[e].bits), factor.float32);
        const float along = product(floatOf(x[e].bits), share);
        gradient[e] = {gradient[e].reference * f - x[e].reference * reference, bitsOf(straight - along)};
    }
}

} // namespace rope
