// This file has the geometric frequencies that the rules begin with.
#include "rules/geometric.h"

#include "rules/members.h"

namespace rope {

Real logOfBase(const RopeRule& rule) { return realLog(realFromDouble(rule.base)); }

Real frequencyStep(const RopeRule& rule, const Real& log_base) { return realExp(-log_base / pairsOf(rule)); }

void writeGeometric(const Real& first, const Real& step, uint32_t count, double* frequencies) {
    Real frequency = first;
    for (uint32_t i = 0; i < count; ++i) {
        frequencies[i] = realToDouble(frequency);
        frequency = frequency * step;
    }
}

} // namespace rope
