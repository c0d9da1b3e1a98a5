// Any words are either refused with one sentence, or give operations of which each stands in the module, and an
// interface.
#include "program/check/contraction.hpp"
#include "program/check/interface.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

} // namespace

void fuzzSpirv(const uint8_t* bytes, size_t size) {
    std::vector<uint32_t> words(size / 4);
    if (!words.empty()) std::memcpy(words.data(), bytes, words.size() * 4);
    rope::Arithmetic arithmetic;
    std::string error;
    if (!rope::readArithmetic(words, &arithmetic, &error)) return require(!error.empty());
    require(arithmetic.operations <= words.size() && arithmetic.undecorated.size() <= arithmetic.operations);
    for (const rope::FloatOperation& operation : arithmetic.undecorated) require(operation.name != nullptr);
    rope::ShaderInterface interface;
    require(rope::readInterface(words, &interface, &error));
    require(interface.bindings.size() <= words.size() && interface.ids.size() <= words.size());
}

#ifdef VKROPE_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    fuzzSpirv(bytes, size);
    return 0;
}
#endif
