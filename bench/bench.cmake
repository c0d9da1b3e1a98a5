find_package(benchmark REQUIRED)
vkrope_shaders(${CMAKE_CURRENT_LIST_DIR}/list.def VKROPE_BASELINES)
add_executable(vkrope-bench bench/baselines.cpp bench/bench.cpp bench/fused_bench.cpp bench/other_bench.cpp bench/rotate_bench.cpp
    ${VKROPE_BASELINES})
target_link_libraries(vkrope-bench PRIVATE vkrope-device benchmark::benchmark)
target_compile_options(vkrope-bench PRIVATE ${VKROPE_WARNINGS})
