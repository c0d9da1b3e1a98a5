// Facts of elements that the plan and the CPU both go by.
#include "rope.h"

uint32_t ropeElementBytes(RopeElement element) {
    static constexpr uint32_t kBytes[] = {4, 4, 2, 2, 1, 0};
    return static_cast<uint32_t>(element) <= ROPE_ELEMENT_Q8_0 ? kBytes[element] : 4;
}
