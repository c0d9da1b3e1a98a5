# vkrope-measure is the library that the program measures with. What needs none of it does not build it.
include(bench/allocations.cmake)
vkrope_shaders(${CMAKE_CURRENT_LIST_DIR}/list.def VKROPE_BASELINES)
add_library(vkrope-measure STATIC EXCLUDE_FROM_ALL
    bench/baselines.cpp
    bench/bench_device.cpp
    bench/buffer_copies.cpp
    bench/cases.cpp
    bench/clock_probe.cpp
    bench/clock_report.cpp
    bench/encodings.cpp
    bench/fused.cpp
    bench/host_costs.cpp
    bench/keep_awake.cpp
    bench/models.cpp
    bench/repeats.cpp
    bench/rotation.cpp
    bench/round_robin.cpp
    bench/table.cpp
    bench/tuner.cpp
    bench/typical_passes.cpp
    ${VKROPE_BASELINES})
target_include_directories(vkrope-measure PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/bench PRIVATE host)
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
        target_include_directories(vkrope-${name} PRIVATE host)
        target_link_libraries(vkrope-${name} PRIVATE vkrope-measure)
        target_compile_options(vkrope-${name} PRIVATE ${VKROPE_WARNINGS})
    endforeach()
endif()
