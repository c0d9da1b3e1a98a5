// Heads of quantized formats on the CPU, with the shaders' own roundings.
#pragma once

#include "reference/rotation.h"

namespace rope {

// Stores one head from element `at` on. `scale` is the float32 of a format whose scales lie apart.
void storeQuantizedHead(void* array, RopeElement element, uint64_t at, uint64_t scale, const ElementValue* values,
                        uint32_t count);

} // namespace rope
