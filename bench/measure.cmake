# vkrope-measure is the library that vkrope-bench and the program measure with.
include(bench/allocations.cmake)
vkrope_shaders(${CMAKE_CURRENT_LIST_DIR}/list.def VKROPE_BASELINES)
add_library(vkrope-measure STATIC
    bench/baselines.cpp
    bench/bench_device.cpp
    bench/buffer_copies.cpp
    bench/cases.cpp
    bench/clock_probe.cpp
    bench/clock_report.cpp
    bench/encodings.cpp
    bench/fused.cpp
    bench/host_costs.cpp
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
