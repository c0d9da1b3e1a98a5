// On the CPU, the steps of a gradient through a norm and a rotation that forward passes do not have.
#pragma once

#include "reference/norm_sums.h"

namespace rope {

// Turns the rotary part of a head where it lies. `forward` turns against what cos and sin say, which are a gradient's.
void turnHead(const HostRotation& r, const CosSin* cos_sin, bool forward, ElementValue* head);
// Takes the gradient of a head back through the norm of x. The sum is that of the products of x and the gradient,
// `count` the elements that the norm's mean is of.
void passNorm(const Factor& factor, const Factor& sum, uint32_t count, const ElementValue* x, uint32_t head_dim,
              ElementValue* gradient);

} // namespace rope
