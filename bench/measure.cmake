# vkrope-measure is the library that the program measures with. What needs none of it does not build it.
include(bench/harness/allocations.cmake)
vkrope_shaders(${CMAKE_CURRENT_LIST_DIR}/cases/list.def VKROPE_BASELINES)
add_library(vkrope-measure STATIC EXCLUDE_FROM_ALL
    bench/cases/baselines.cpp
    bench/harness/bench_device.cpp
    bench/harness/buffer_copies.cpp
    bench/cases/cases.cpp
    bench/harness/clock_probe.cpp
    bench/harness/clock_report.cpp
    bench/cases/encodings.cpp
    bench/cases/foreign.cpp
    bench/cases/fused.cpp
    bench/cases/host_costs.cpp
    bench/harness/keep_awake.cpp
    bench/cases/models.cpp
    bench/harness/repeats.cpp
    bench/cases/rotation.cpp
    bench/harness/round_robin.cpp
    bench/cases/table.cpp
    bench/cases/typical_passes.cpp
    ${VKROPE_BASELINES})
target_include_directories(vkrope-measure PRIVATE ${VKROPE_ROOTS})
target_link_libraries(vkrope-measure PUBLIC vkrope-device vkrope-allocations)
target_compile_options(vkrope-measure PRIVATE ${VKROPE_WARNINGS})

# tests/portability.sh runs two programs: bench/compilers.py takes the one, and the other writes modules for other compilers of
# SPIR-V. They name every shader, which a shared library does not export. Without the tests they are built by name alone.
if(NOT VKROPE_IS_SHARED)
    set(excluded EXCLUDE_FROM_ALL)
    if(VKROPE_BUILD_TESTS AND NOT CMAKE_CROSSCOMPILING)
        set(excluded)
    endif()
    foreach(name compilers modules)
        add_executable(vkrope-${name} ${excluded} bench/${name}.cpp)
        target_include_directories(vkrope-${name} PRIVATE ${VKROPE_ROOTS})
        target_link_libraries(vkrope-${name} PRIVATE vkrope-measure)
        target_compile_options(vkrope-${name} PRIVATE ${VKROPE_WARNINGS})
    endforeach()
endif()
