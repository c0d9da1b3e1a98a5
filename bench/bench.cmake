find_package(benchmark REQUIRED)
add_executable(vkrope-bench bench/main.cpp)
target_include_directories(vkrope-bench PRIVATE host)
target_link_libraries(vkrope-bench PRIVATE vkrope-measure benchmark::benchmark)
target_compile_options(vkrope-bench PRIVATE ${VKROPE_WARNINGS})

# The two programs below name every shader, and a shared library exports none.
if(VKROPE_IS_SHARED)
    return()
endif()

# compilers.py runs this program.
add_executable(vkrope-compilers bench/compilers.cpp)
target_include_directories(vkrope-compilers PRIVATE host)
target_link_libraries(vkrope-compilers PRIVATE vkrope-measure)
target_compile_options(vkrope-compilers PRIVATE ${VKROPE_WARNINGS})

# This program writes modules for other compilers of SPIR-V.
add_executable(vkrope-modules bench/modules.cpp)
target_include_directories(vkrope-modules PRIVATE host)
target_link_libraries(vkrope-modules PRIVATE vkrope-measure)
target_compile_options(vkrope-modules PRIVATE ${VKROPE_WARNINGS})
