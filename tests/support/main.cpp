// Runs GoogleTest. A run in which no test ran says so by its exit status, 77. The names of skipped tests go
// to the end of the file that VKROPE_TEST_SKIPPED names, for ctest tells of whole runs alone.
#include "support/validation.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

static void listSkipped(const testing::UnitTest& all, const char* path) {
    std::FILE* file = std::fopen(path, "a");
    if (file == nullptr) return;
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
        const testing::TestSuite& suite = *all.GetTestSuite(i);
        for (int j = 0; j < suite.total_test_count(); ++j) {
            const testing::TestInfo& test = *suite.GetTestInfo(j);
            const testing::TestResult& result = *test.result();
            if (!result.Skipped()) continue;
            const char* why = result.total_part_count() != 0 ? result.GetTestPartResult(0).message() : "";
            std::fprintf(file, "%s.%s: %s\n", suite.name(), test.name(), why);
        }
    }
    std::fclose(file);
}

int main(int argument_count, char** arguments) {
    askLayerForShaders();
    testing::InitGoogleTest(&argument_count, arguments);
    const int result = RUN_ALL_TESTS();
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    const char* path = std::getenv("VKROPE_TEST_SKIPPED");
    if (path != nullptr && all.skipped_test_count() != 0) listSkipped(all, path);
    const bool skipped = all.skipped_test_count() == all.test_to_run_count(); // or there is none of that name
    return result == 0 && skipped ? 77 : result;
}
