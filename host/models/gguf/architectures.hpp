// The architectures that a .gguf file may name, and how each rotates.
#pragma once

#include <string>
#include <vector>

namespace rope {
namespace gguf {

enum class RotationKind {
    interleaved,
    half,
    axes,             // half pairing, positions of several axes in contiguous sections
    axes_round_robin, // half pairing, positions of several axes whose pairs go round robin
    none,             // the architecture has no rotation
    unsupported,      // the rotation is more than a base, a part of the head and factors
    unknown           // no group has the architecture
};

RotationKind rotationKindOf(const std::string& architecture);

std::vector<std::string> listArchitectures(); // all of them, in the order of their letters

bool alwaysHasAxes(RotationKind kind);

// Multi-head latent attention: the rotary part is the end of a head whose whole length is
// <arch>.attention.key_length_mla.
bool rotatesHeadEnd(const std::string& architecture);

} // namespace gguf
} // namespace rope
