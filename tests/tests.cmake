find_package(GTest REQUIRED)
find_library(VKROPE_MPFR mpfr REQUIRED DOC "The judge of the frequencies (Debian: libmpfr-dev)")
find_library(VKROPE_GMP gmp REQUIRED)

add_executable(vkrope-tests
    tests/angle_test.cpp
    tests/context_test.cpp
    tests/device_test.cpp
    tests/examples_test.cpp
    tests/frequencies_test.cpp
    tests/gpu.cpp
    tests/index_test.cpp
    tests/interface_test.cpp
    tests/large_test.cpp
    tests/plan_test.cpp
    tests/reference_angle_test.cpp
    tests/resubmit_test.cpp
    tests/rotate_test.cpp
    tests/rotation.cpp
    tests/table_test.cpp)
target_link_libraries(vkrope-tests PRIVATE vkrope-device GTest::gtest_main ${VKROPE_MPFR} ${VKROPE_GMP})
target_compile_options(vkrope-tests PRIVATE ${VKROPE_WARNINGS})

include(GoogleTest)
gtest_discover_tests(vkrope-tests DISCOVERY_MODE PRE_TEST)

# A C99 host, linked by the C compiler alone.
add_executable(vkrope-consumer-c99 tests/consumer_c99.c)
target_link_libraries(vkrope-consumer-c99 PRIVATE vkrope m)
set_target_properties(vkrope-consumer-c99 PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF LINKER_LANGUAGE C)
target_compile_options(vkrope-consumer-c99 PRIVATE -pedantic -Wall -Wextra -Werror)
target_link_options(vkrope-consumer-c99 PRIVATE -Wl,--gc-sections)
add_test(NAME Consumer.OfC99 COMMAND vkrope-consumer-c99)
add_test(NAME Core.NamesNoVulkanSymbolAndIsSmall
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/symbols.sh $<TARGET_FILE:vkrope> $<TARGET_FILE:vkrope-consumer-c99>)
