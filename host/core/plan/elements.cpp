// This file owns the size of an element: ropeElementBytes.
#include "plan/element_formats.h"

using namespace rope;

uint32_t ropeElementBytes(RopeElement element) {
    if (static_cast<uint32_t>(element) >= kElementCount) return 4;
    return formatOf(element).block_elements == 1 ? formatOf(element).block_bytes : 0;
}
