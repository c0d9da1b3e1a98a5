// Runs GoogleTest. A run in which every test was skipped says so by its exit status, 77.
#include <gtest/gtest.h>

int main(int argument_count, char** arguments) {
    testing::InitGoogleTest(&argument_count, arguments);
    const int result = RUN_ALL_TESTS();
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    const bool skipped = all.skipped_test_count() != 0 && all.skipped_test_count() == all.test_to_run_count();
    return result == 0 && skipped ? 77 : result;
}
