// Heads of quantized formats are stored on the CPU with the shaders' own roundings.
#pragma once

#include "reference/rotation.h"

namespace rope {

// Stores one head from element `at` on. `scale` is the place of the float32 scale of a format whose scales lie apart.
void storeQuantizedHead(void* array, RopeElement element, uint64_t at, uint64_t scale, const ElementValue* values,
                        uint32_t count);

} // namespace rope
