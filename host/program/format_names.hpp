// The names of elements and pairings, as options and reports have them; the tables of the formats hold them.
#pragma once

#include <vkrope/rope.h>

#include <string>
#include <vector>

namespace tool {

// The names of the elements that tensors and rows may have: "f32", "f16" and so on. `suffix` follows each.
std::vector<std::string> elementNames(const std::string& suffix = "");
std::vector<std::string> pairingNames(const std::string& suffix = "");

// The default where the name is of none.
RopeElement elementOf(const std::string& name);
RopePairing pairingOf(const std::string& name);

const char* elementName(RopeElement element); // of the default, float32's
const char* pairingName(RopePairing pairing); // of the default, "unknown"

} // namespace tool
