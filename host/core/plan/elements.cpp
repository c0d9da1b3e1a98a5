// This file owns the size of an element: ropeElementBytes.
#include "plan/element_formats.h"

using namespace rope;

namespace {

// This is one column of kElementFormats. Small hosts that link only this file then hold no names.
struct BytesPerElement {
    uint8_t of[kElementCount];
};
constexpr BytesPerElement bytesPerElement() {
    BytesPerElement bytes = {};
    for (uint32_t i = 0; i < kElementCount; ++i) {
        const ElementFormat& format = kElementFormats[i];
        bytes.of[i] = format.block_elements == 1 ? format.block_bytes : 0;
    }
    return bytes;
}
constexpr BytesPerElement kBytesPerElement = bytesPerElement();

} // namespace

uint32_t ropeElementBytes(RopeElement element) {
    return static_cast<uint32_t>(element) < kElementCount ? kBytesPerElement.of[element] : 4;
}
