// This file owns position axes: which pair rotates by which axis, and the constants that tell the shaders.
//
// To add a rule of axes: a case of ropeSetAxes. The shaders read the axis of each pair, and know no rule.
#include "plan/axes.h"

#include "shaders/interface.h"

namespace rope {

uint32_t axisCount(const RopeFrequencies& frequencies) {
    uint32_t last = 0;
    for (uint32_t i = 0; frequencies.axes != nullptr && i < frequencies.count; ++i)
        if (frequencies.axes[i] > last) last = frequencies.axes[i];
    return last + 1;
}

RopeResult checkAxes(const RopeFrequencies& frequencies, RopeReason* reason) {
    const uint32_t axes = axisCount(frequencies), pairs = frequencies.count;
    const RefusalRow refusals[] = {
        invalid(axes > ROPE_MAX_AXES, "frequencies.axes names axis %u; there are at most %u, from 0 to %u", axes - 1,
                ROPE_MAX_AXES, ROPE_MAX_AXES - 1),
        tooLarge(axes > 1 && pairs > ROPE_MAX_AXIS_PAIRS,
                 "frequencies.axes of %u pairs; with several axes at most %u turn", pairs, ROPE_MAX_AXIS_PAIRS),
    };
    return refuseByFirst(refusals, reason);
}

void setAxes(const RopeFrequencies& frequencies, PlanPass* pass) {
    const uint32_t axes = axisCount(frequencies);
    pass->constants[ROPE_ID_AXES] = axes;
    if (axes == 1) return;
    for (uint32_t i = 0; i < frequencies.count; ++i) {
        const uint32_t axis = frequencies.axes[i];
        pass->constants[ROPE_ID_AXIS_MAP + i / ROPE_AXIS_PAIRS] |= axis << (2 * (i % ROPE_AXIS_PAIRS));
    }
}

} // namespace rope

using namespace rope;

RopeResult ropeSetAxes(RopeAxesOrder order, const uint32_t* sections, uint32_t section_count, uint32_t pairs,
                       uint8_t* axes, RopeReason* reason) {
    clear(reason);
    if (sections == nullptr || axes == nullptr) return refuseNull(reason, "sections or axes");
    uint64_t sum = 0;
    for (uint32_t i = 0; i < section_count; ++i) sum += sections[i];
    if (section_count == 0 || section_count > ROPE_MAX_AXES || sum != pairs) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%u sections of %llu pairs together; there must be 1 to %u, of %u pairs together", section_count,
                      static_cast<unsigned long long>(sum), ROPE_MAX_AXES, pairs);
    }
    const RopeResult result = checkChoice("order", order, ROPE_AXES_INTERLEAVED, reason);
    if (result != ROPE_SUCCESS) return result;
    uint8_t axis = 0;
    uint64_t end = sections[0];
    for (uint32_t i = 0; i < pairs; ++i) {
        if (order == ROPE_AXES_INTERLEAVED) {
            axis = static_cast<uint8_t>(i % section_count);
            if (i / section_count >= sections[axis]) axis = 0;
        } else {
            while (i >= end) end += sections[++axis];
        }
        axes[i] = axis;
    }
    return ROPE_SUCCESS;
}
