// This file asks a device how it rounds float32 and converts float16, and reads the answers: ropePlanSelfTest,
// ropeReadSelfTest, ropeEnabledBySelfTest.
#include "plan/pass.h"
#include "plan/planner.h"
#include "shaders/modules.h"

#include <string.h>

using namespace rope;

RopeResult ropePlanSelfTest(const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(plan, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    Planner planner(limits, plan);
    PlanPass* pass = planner.addPass(rope_shader_selftest, 1, 1, 1);
    pass->access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_COUNTER, sizeof(uint32_t), 0, {0, 0, 0}, ROPE_SELF_TEST_WORDS};
    setGroup(pass->group_size, 1, 1, pass);
    RopeSelfTestPush push = {};
    push.one = 0x3F800000u;
    writePush(push, pass);
    return planner.finish();
}

RopeRounding ropeReadSelfTest(const uint32_t words[ROPE_SELF_TEST_WORDS]) {
    // These are the results of rounding to nearest even without fusing; selftest.comp says what each is.
    static const uint32_t kNearestResults[16] = {
        0x3F800000u, 0x3F800002u, 0xBF800000u, 0x3F800002u, 0x3FC00003u, 0x35000000u, 0x3F800001u, 0xBFC00003u,
        0x34800000u, 0x40000003u, 0x3FC00003u, 0x3F800002u, 0x40000003u, 0xB4800000u, 0x3FC00003u, 0x3F800001u};
    if (words == nullptr) return ROPE_ROUNDING_UNKNOWN;
    return memcmp(words, kNearestResults, sizeof kNearestResults) == 0 ? ROPE_ROUNDING_NEAREST : ROPE_ROUNDING_OTHER;
}

uint32_t ropeEnabledBySelfTest(const uint32_t words[ROPE_SELF_TEST_WORDS]) {
    // Every half was widened twice alone and twice for a product. 16 floats were narrowed for each finite half and for
    // each of 32 turns of 256 binades, and six sums and products for each finite half.
    static const uint32_t kProven[4] = {4 * 65536, 0, 16 * (0x7C00 + 32 * 256) + 6 * 0x7C00, 0};
    return words != nullptr && memcmp(words + 16, kProven, sizeof kProven) == 0 ? ROPE_ENABLED_NATIVE_HALVES : 0;
}
