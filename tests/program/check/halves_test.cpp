// The counts that `vkrope check` takes of a device's own conversions of float16, beside what the self-test says of
// them.
#include "program/check/halves.hpp"
#include "support/gpu.hpp"

namespace {

class CheckHalves : public gpu::OnDevice {};

// The parts are every float from 2^-23 to 2^-15, from 2^9 to 2^17, and from 2^121 up with infinity and the NaNs.
TEST_P(CheckHalves, AgreesWithTheSelfTest) {
    std::string error;
    uint64_t wrong = 0;
    ASSERT_TRUE(tool::widenEveryHalf(&device(), &wrong, &error)) << error;
    for (const uint32_t part : {13u, 17u, 31u})
        ASSERT_TRUE(tool::narrowFloats(&device(), part, &wrong, &error)) << error;
    EXPECT_EQ((device().limits().enabled & ROPE_ENABLED_NATIVE_HALVES) != 0, wrong == 0) << wrong;
}

ROPE_ON_EVERY_DEVICE(CheckHalves);

} // namespace
