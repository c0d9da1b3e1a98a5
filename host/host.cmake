# The core library, the device target, and the programs.
add_library(vkrope
    ${VKROPE_SHADER_SOURCES}
    host/alibi.cpp
    host/angle.cpp
    host/axes.cpp
    host/buckets.cpp
    host/context.cpp
    host/element.cpp
    host/frequencies.cpp
    host/host_add.cpp
    host/host_bias.cpp
    host/host_fused.cpp
    host/host_position.cpp
    host/host_relative.cpp
    host/host_run.cpp
    host/labels.cpp
    host/limits.cpp
    host/parameters.cpp
    host/permutation.cpp
    host/plan.cpp
    host/plan_add.cpp
    host/plan_bias.cpp
    host/plan_fused.cpp
    host/plan_relative.cpp
    host/plan_rotate.cpp
    host/plan_table.cpp
    host/plan_tensor.cpp
    host/tuning.cpp
    host/positions.cpp
    host/print_plan.cpp
    host/query_scale.cpp
    host/real.cpp
    host/record.cpp
    host/record_indirect.cpp
    host/reference_angle.cpp
    host/refuse.cpp
    host/resolve.cpp
    host/resolve_add.cpp
    host/resolve_bias.cpp
    host/resolve_cache.cpp
    host/resolve_fused.cpp
    host/resolve_relative.cpp
    host/rows.cpp
    host/rules.cpp
    host/runs.cpp
    host/scale.cpp
    host/scores.cpp
    host/selftest.cpp
    host/specialize.cpp)
add_library(vkrope::vkrope ALIAS vkrope)

# A user's build reaches copies of the public headers and no other file of host/, as <vkrope/rope.h>, which is where an
# installation has them too. The plain "rope.h" is the name of old; it stays valid for 0.1.
set(VKROPE_PUBLIC_HEADERS rope.h rope.hpp)
if(VKROPE_BUILD_DEVICE)
    set(VKROPE_DEVICE_HEADERS device.hpp loader.hpp)
endif()
foreach(header IN LISTS VKROPE_PUBLIC_HEADERS VKROPE_DEVICE_HEADERS)
    configure_file(host/${header} include/vkrope/${header} COPYONLY)
endforeach()
set(VKROPE_INCLUDE ${CMAKE_CURRENT_BINARY_DIR}/include ${CMAKE_CURRENT_BINARY_DIR}/include/vkrope)
target_include_directories(vkrope PUBLIC "$<BUILD_INTERFACE:${VKROPE_INCLUDE}>" PRIVATE host)
if(TARGET Vulkan::Headers)
    target_link_libraries(vkrope PUBLIC $<BUILD_INTERFACE:Vulkan::Headers>)
else()
    target_include_directories(vkrope PUBLIC $<BUILD_INTERFACE:${VKROPE_VULKAN_INCLUDE}>)
endif()
target_compile_features(vkrope PRIVATE cxx_std_17)
target_compile_definitions(vkrope PRIVATE VK_NO_PROTOTYPES)
# Before 1.0 a minor version may change the interface.
set_target_properties(vkrope PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(NOT DEFINED CMAKE_CXX_EXTENSIONS)
    set_target_properties(vkrope PROPERTIES CXX_EXTENSIONS OFF)
endif()
if(BUILD_SHARED_LIBS)
    target_compile_definitions(vkrope PUBLIC VKROPE_SHARED PRIVATE VKROPE_BUILDING)
    # It takes nothing of the C++ runtime, so linked by the C compiler it does not drag it in.
    set_target_properties(vkrope PROPERTIES CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden LINKER_LANGUAGE C)
elseif(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
    set_target_properties(vkrope PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
if(UNIX)
    target_link_libraries(vkrope PRIVATE m)
endif()

# The folder of rope.glsl and bias.glsl, as an include directory: for glslc's -I in a host's own build.
add_library(vkrope-glsl INTERFACE)
add_library(vkrope::glsl ALIAS vkrope-glsl)
set_target_properties(vkrope-glsl PROPERTIES EXPORT_NAME glsl)
target_include_directories(vkrope-glsl INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/shaders>)

# The host's float32 arithmetic has the promised bits only where nothing is fused or rearranged, whatever the parent asks.
set(VKROPE_FLOATING_POINT -fno-fast-math -ffp-contract=off)
set(VKROPE_WARNINGS)
if(NOT MSVC)
    target_compile_options(vkrope PRIVATE ${VKROPE_FLOATING_POINT}
        $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics> -ffunction-sections -fdata-sections)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(i.86|x86|x86_64|AMD64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 4)
        target_compile_options(vkrope PRIVATE -msse2 -mfpmath=sse) # the x87 rounds to other precisions
    endif()
    # One list of pipelines is all that is atomic: a choice between two kinds of instructions at run time gains nothing.
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(vkrope PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-mno-outline-atomics>)
    endif()
    # A guest is small; only what works through whole tensors on the CPU is not. Below a parent its flags decide.
    if(PROJECT_IS_TOP_LEVEL)
        target_compile_options(vkrope PRIVATE $<$<CONFIG:Release>:-Os>)
        set_property(SOURCE host/angle.cpp host/element.cpp host/host_add.cpp host/host_bias.cpp host/host_fused.cpp
            host/host_position.cpp host/host_relative.cpp host/host_run.cpp host/reference_angle.cpp
            APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
        set(VKROPE_WARNINGS -Wall -Wextra -Wpedantic -Werror=return-type)
    endif()
else()
    target_compile_options(vkrope PRIVATE /fp:precise)
endif()
target_compile_options(vkrope PRIVATE ${VKROPE_WARNINGS})

if(VKROPE_BUILD_DEVICE)
    add_library(vkrope-device STATIC host/device.cpp host/device_buffer.cpp host/device_submit.cpp host/loader.cpp)
    add_library(vkrope::device ALIAS vkrope-device)
    target_link_libraries(vkrope-device PUBLIC vkrope PRIVATE ${CMAKE_DL_LIBS})
    target_compile_features(vkrope-device PUBLIC cxx_std_17)
    target_compile_definitions(vkrope-device PRIVATE VK_NO_PROTOTYPES)
    set_target_properties(vkrope-device PROPERTIES EXPORT_NAME device)
    if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
        set_target_properties(vkrope-device PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    target_compile_options(vkrope-device PRIVATE ${VKROPE_WARNINGS})

    add_library(vkrope-npy STATIC EXCLUDE_FROM_ALL host/npy.cpp host/npy_file.cpp)
    target_compile_features(vkrope-npy PUBLIC cxx_std_17)
    target_compile_options(vkrope-npy PRIVATE ${VKROPE_WARNINGS})

    if(PROJECT_IS_TOP_LEVEL)
        add_executable(vkrope-quickstart host/quickstart.cpp)
        target_link_libraries(vkrope-quickstart PRIVATE vkrope-device)
        target_compile_options(vkrope-quickstart PRIVATE ${VKROPE_WARNINGS})
    endif()
endif()

if(VKROPE_BUILD_TOOL AND VKROPE_BUILD_DEVICE)
    find_package(CLI11 CONFIG REQUIRED)
    find_package(nlohmann_json CONFIG REQUIRED)
    find_package(Threads REQUIRED)

    add_library(vkrope-config STATIC 
        host/config.cpp
        host/config_axes.cpp
        host/config_grid.cpp
        host/config_grid_models.cpp
        host/config_head.cpp
        host/config_ladders.cpp
        host/config_layers.cpp
        host/config_models.cpp
        host/config_numbers.cpp
        host/config_painter.cpp
        host/config_rule.cpp
        host/config_source.cpp
        host/config_tower.cpp
        host/config_values.cpp
        host/gguf.cpp
        host/gguf_header.cpp)
    target_link_libraries(vkrope-config PUBLIC vkrope PRIVATE nlohmann_json::nlohmann_json)
    target_compile_features(vkrope-config PUBLIC cxx_std_17)
    target_compile_options(vkrope-config PRIVATE ${VKROPE_WARNINGS})

    add_executable(vkrope-tool
        host/chart.cpp
        host/contraction.cpp
        host/tool.cpp
        host/tool_add.cpp
        host/tool_arrays.cpp
        host/tool_axes.cpp
        host/tool_bench.cpp
        host/tool_bench_cases.cpp
        host/tool_bench_rows.cpp
        host/tool_bias.cpp
        host/tool_check.cpp
        host/tool_check_case.cpp
        host/tool_check_spirv.cpp
        host/tool_device.cpp
        host/tool_devices.cpp
        host/tool_element.cpp
        host/tool_encoding.cpp
        host/tool_frequencies.cpp
        host/tool_matrix.cpp
        host/tool_meetings.cpp
        host/tool_output.cpp
        host/tool_permute.cpp
        host/tool_plot.cpp
        host/tool_positions.cpp
        host/tool_progress.cpp
        host/tool_rotate.cpp
        host/tool_rotation.cpp
        host/tool_table.cpp
        host/tool_tune.cpp
        host/tool_values.cpp)
    target_include_directories(vkrope-tool PRIVATE host)
    target_link_libraries(vkrope-tool PRIVATE vkrope-config vkrope-measure vkrope-npy CLI11::CLI11 nlohmann_json::nlohmann_json
        Threads::Threads)
    target_compile_options(vkrope-tool PRIVATE ${VKROPE_WARNINGS})
    set_target_properties(vkrope-tool PROPERTIES OUTPUT_NAME vkrope)
    if(PROJECT_IS_TOP_LEVEL AND NOT MSVC)
        # Its time goes into the library and the driver; optimized further it takes half as long again to compile.
        target_compile_options(vkrope-tool PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
endif()
