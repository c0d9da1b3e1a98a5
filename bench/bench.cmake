find_package(benchmark REQUIRED)
add_executable(vkrope-bench bench/rotate_bench.cpp)
target_link_libraries(vkrope-bench PRIVATE vkrope-device benchmark::benchmark)
target_compile_options(vkrope-bench PRIVATE ${VKROPE_WARNINGS})
