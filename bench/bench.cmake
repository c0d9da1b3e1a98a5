find_package(benchmark REQUIRED)
add_executable(vkrope-bench bench/main.cpp)
target_include_directories(vkrope-bench PRIVATE host)
target_link_libraries(vkrope-bench PRIVATE vkrope-measure benchmark::benchmark)
target_compile_options(vkrope-bench PRIVATE ${VKROPE_WARNINGS})

# The two programs below name every shader, and a shared library exports none.
if(VKROPE_IS_SHARED)
    return()
endif()

# amd.py runs this program.
add_executable(vkrope-amd bench/amd.cpp)
target_include_directories(vkrope-amd PRIVATE host)
target_link_libraries(vkrope-amd PRIVATE vkrope-measure)
target_compile_options(vkrope-amd PRIVATE ${VKROPE_WARNINGS})

# This program writes modules for other compilers of SPIR-V.
add_executable(vkrope-modules bench/modules.cpp)
target_include_directories(vkrope-modules PRIVATE host)
target_link_libraries(vkrope-modules PRIVATE vkrope-measure)
target_compile_options(vkrope-modules PRIVATE ${VKROPE_WARNINGS})
