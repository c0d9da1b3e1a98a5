#include "models/gguf/axes.hpp"

#include "models/gguf/architectures.hpp"

#include <array>
#include <cmath>

namespace rope {
namespace gguf {
namespace {

const char kSections[] = "rope.dimension_sections";

// Counts the pairs of t, h, w and a fourth axis. All are 0 where the positions have one axis.
bool readGgufSections(const ArchitectureKeys& keys, const std::string& architecture, RotationKind kind,
                      std::array<uint32_t, 4>* sections, std::string* error) {
    const Value* value = keys.find(kSections);
    *sections = {};
    bool any = false, fits = value == nullptr || value->kind == Value::Kind::list;
    for (size_t i = 0; fits && value != nullptr && i < value->numbers.size(); ++i) {
        const double pairs = value->numbers[i];
        fits = i < sections->size() && pairs >= 0 && pairs <= ROPE_MAX_PAIRS && pairs == std::floor(pairs);
        if (fits) (*sections)[i] = static_cast<uint32_t>(pairs);
        any = any || pairs != 0;
    }
    if (!fits) return refuse(error, "the key " + keys.name(kSections) + " must be up to four counts of pairs");
    const bool always = alwaysHasAxes(kind);
    if (always && !any) {
        return refuse(error, "the architecture " + shown(architecture) +
                                 " has positions of several axes, and the header no " + keys.name(kSections));
    }
    return !any || always || isIn(" glm4 glm4moe ", architecture) ||
           refuse(error, "the key " + keys.name(kSections) +
                             " asks for positions of several axes, which are not read for the architecture " +
                             shown(architecture));
}

} // namespace

// IMROPE's round robin does not reach two of Qwen3-VL's slowest pairs. llama.cpp leaves them to the fourth axis, which
// it holds at 0. The model's own code turns them by t, and so does this function.
bool setGgufAxes(const ArchitectureKeys& keys, const std::string& architecture, ModelEncoding* model,
                 std::string* error) {
    const RotationKind kind = rotationKindOf(architecture);
    std::array<uint32_t, 4> sections;
    if (!readGgufSections(keys, architecture, kind, &sections, error)) return false;
    const uint32_t pairs = model->rotary_dim / 2;
    uint64_t sum = 0;
    for (const uint32_t section : sections) sum += section;
    if (sum == 0) return true;
    const bool round_robin = kind == RotationKind::axes_round_robin;
    if (round_robin && sections[3] != 0)
        return refuse(error, "the key " + keys.name(kSections) + " has pairs of a fourth axis, and three take turns");
    if (sum != pairs) {
        return refuse(error, "the key " + keys.name(kSections) + " is of " + std::to_string(sum) + " pairs, but " +
                                 std::to_string(pairs) + " turn");
    }
    const uint32_t count = sections[3] != 0 ? 4 : 3;
    model->axes.resize(pairs);
    model->axis_names = {"t", "h", "w"};
    if (count == 4) model->axis_names.emplace_back("e");
    model->pairing = ROPE_PAIRING_HALF;
    RopeReason reason;
    return ropeSetAxes(round_robin ? ROPE_AXES_INTERLEAVED : ROPE_AXES_CONTIGUOUS, sections.data(), count, pairs,
                       model->axes.data(), &reason) == ROPE_SUCCESS ||
           refuse(error, reason.text);
}

} // namespace gguf
} // namespace rope
