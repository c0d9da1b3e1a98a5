# What vkrope-bench and the program's own measuring stand on.
include(bench/allocations.cmake)
vkrope_shaders(${CMAKE_CURRENT_LIST_DIR}/list.def VKROPE_BASELINES)
add_library(vkrope-measure STATIC
    bench/baselines.cpp
    bench/bench.cpp
    bench/cases.cpp
    bench/costs.cpp
    bench/fused.cpp
    bench/models.cpp
    bench/other.cpp
    bench/rotation.cpp
    bench/table.cpp
    bench/tuner.cpp
    bench/turns.cpp
    bench/typical.cpp
    ${VKROPE_BASELINES})
target_include_directories(vkrope-measure PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/bench PRIVATE host)
target_link_libraries(vkrope-measure PUBLIC vkrope-device vkrope-allocations)
target_compile_options(vkrope-measure PRIVATE ${VKROPE_WARNINGS})
