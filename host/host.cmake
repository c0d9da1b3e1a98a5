# The core library, the device target, and the programs.
set(VKROPE_SOURCES
    ${VKROPE_SHADER_SOURCES}
    host/rules/alibi.cpp
    host/rules/buckets.cpp
    host/rules/geometric.cpp
    host/rules/ggml.cpp
    host/rules/members.cpp
    host/rules/position.cpp
    host/rules/query_scale.cpp
    host/rules/real.cpp
    host/rules/refuse.cpp
    host/rules/rules.cpp
    host/rules/yarn.cpp
    host/plan/add.cpp
    host/plan/add_resolve.cpp
    host/plan/axes.cpp
    host/plan/bias.cpp
    host/plan/bias_resolve.cpp
    host/plan/dispatch.cpp
    host/plan/elements.cpp
    host/plan/factors.cpp
    host/plan/frequencies.cpp
    host/plan/fused.cpp
    host/plan/fused_bindings.cpp
    host/plan/fused_cache.cpp
    host/plan/fused_geometry.cpp
    host/plan/fused_inputs.cpp
    host/plan/fused_norms.cpp
    host/plan/fused_parameters.cpp
    host/plan/fused_weights.cpp
    host/plan/fused_words.cpp
    host/plan/fused_resolve.cpp
    host/plan/fused_groups.cpp
    host/plan/ggml.cpp
    host/plan/layout.cpp
    host/plan/limits.cpp
    host/plan/pass.cpp
    host/plan/permutation.cpp
    host/plan/planner.cpp
    host/plan/positions.cpp
    host/plan/print.cpp
    host/plan/relative.cpp
    host/plan/relative_resolve.cpp
    host/plan/resolve.cpp
    host/plan/range.cpp
    host/plan/rotate.cpp
    host/plan/rows.cpp
    host/plan/scale.cpp
    host/plan/scores.cpp
    host/plan/selftest.cpp
    host/plan/split_scale.cpp
    host/plan/table.cpp
    host/plan/tensor.cpp
    host/plan/tuning.cpp
    host/record/check_plan.cpp
    host/record/context.cpp
    host/record/labels.cpp
    host/record/record.cpp
    host/record/record_indirect.cpp
    host/record/specialize.cpp
    host/reference/divide.cpp
    host/reference/element.cpp
    host/reference/quantize.cpp
    host/reference/rotation.cpp
    host/reference/run_add.cpp
    host/reference/run_bias.cpp
    host/reference/run_fused.cpp
    host/reference/norm_sums.cpp
    host/reference/run_relative.cpp
    host/reference/shader_angle.cpp
    host/reference/slot.cpp
    host/reference/token.cpp
    host/reference/true_angle.cpp)
if(VKROPE_LEFT_OUT)
    list(REMOVE_ITEM VKROPE_SOURCES ${VKROPE_LEFT_OUT_FILES})
    list(APPEND VKROPE_SOURCES host/plan/left_out.cpp)
    list(TRANSFORM VKROPE_LEFT_OUT PREPEND VKROPE_LEAVES_OUT_ OUTPUT_VARIABLE definitions)
    set_property(SOURCE host/plan/left_out.cpp PROPERTY COMPILE_DEFINITIONS ${definitions})
endif()
set(type) # BUILD_SHARED_LIBS decides
if(VKROPE_STATIC)
    set(type STATIC)
endif()
add_library(vkrope ${type} ${VKROPE_SOURCES})
add_library(vkrope::vkrope ALIAS vkrope)

# A user's build reaches copies of the public headers and no other file of host/, as <vkrope/rope.h>, which is where an
# installation has them too.
set(VKROPE_PUBLIC_HEADERS rope.h rope.hpp)
if(VKROPE_BUILD_DEVICE)
    set(VKROPE_DEVICE_HEADERS device.hpp loader.hpp)
endif()
foreach(header IN LISTS VKROPE_PUBLIC_HEADERS VKROPE_DEVICE_HEADERS)
    configure_file(host/${header} include/vkrope/${header} COPYONLY)
endforeach()
set(VKROPE_INCLUDE ${CMAKE_CURRENT_BINARY_DIR}/include)
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
if(VKROPE_IS_SHARED)
    target_compile_definitions(vkrope PUBLIC VKROPE_SHARED PRIVATE VKROPE_BUILDING)
    # It takes nothing of the C++ runtime, so linked by the C compiler it does not drag it in.
    set_target_properties(vkrope PROPERTIES CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden LINKER_LANGUAGE C)
endif()

# A library that may become a part of another. With VKROPE_STATIC the other exports none of its names.
function(vkrope_may_go_inside target)
    if(VKROPE_STATIC)
        set_target_properties(${target} PROPERTIES
            C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    endif()
    if(VKROPE_STATIC OR NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
endfunction()
vkrope_may_go_inside(vkrope)
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
    # A guest is small; only what works through whole tensors on the CPU is not. Below a parent its flags decide.
    if(PROJECT_IS_TOP_LEVEL)
        target_compile_options(vkrope PRIVATE $<$<CONFIG:Release>:-Os>)
        get_target_property(reference vkrope SOURCES)
        list(FILTER reference INCLUDE REGEX "^host/reference/")
        set_property(SOURCE ${reference} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
        set(VKROPE_WARNINGS -Wall -Wextra -Wpedantic -Werror=return-type)
    endif()
else()
    target_compile_options(vkrope PRIVATE /fp:precise)
endif()
target_compile_options(vkrope PRIVATE ${VKROPE_WARNINGS})

if(VKROPE_BUILD_DEVICE)
    add_library(vkrope-device STATIC host/device/device.cpp host/device/choose.cpp host/device/buffer.cpp host/device/submit.cpp host/device/loader.cpp)
    add_library(vkrope::device ALIAS vkrope-device)
    target_link_libraries(vkrope-device PUBLIC vkrope PRIVATE ${CMAKE_DL_LIBS})
    target_include_directories(vkrope-device PRIVATE host)
    target_compile_features(vkrope-device PUBLIC cxx_std_17)
    target_compile_definitions(vkrope-device PRIVATE VK_NO_PROTOTYPES)
    set_target_properties(vkrope-device PROPERTIES EXPORT_NAME device)
    vkrope_may_go_inside(vkrope-device)
    target_compile_options(vkrope-device PRIVATE ${VKROPE_WARNINGS})

    add_library(vkrope-npy STATIC EXCLUDE_FROM_ALL host/tool/array.cpp host/tool/input_file.cpp host/tool/held_signals.cpp
        host/tool/new_file.cpp host/tool/npy.cpp host/tool/npy_file.cpp host/tool/replace_files.cpp)
    target_include_directories(vkrope-npy PRIVATE host)
    target_compile_features(vkrope-npy PUBLIC cxx_std_17)
    target_compile_definitions(vkrope-npy PRIVATE _FILE_OFFSET_BITS=64) # files may have more than 2 GiB
    target_compile_options(vkrope-npy PRIVATE ${VKROPE_WARNINGS})

    if(PROJECT_IS_TOP_LEVEL)
        add_executable(vkrope-quickstart host/quickstart.cpp host/quickstart_timing.cpp)
        target_link_libraries(vkrope-quickstart PRIVATE vkrope-device)
        target_compile_options(vkrope-quickstart PRIVATE ${VKROPE_WARNINGS})
    endif()
endif()

if(VKROPE_BUILD_TOOL AND VKROPE_BUILD_DEVICE)
    find_package(CLI11 CONFIG REQUIRED)
    find_package(nlohmann_json CONFIG REQUIRED)
    find_package(Threads REQUIRED)

    add_library(vkrope-config STATIC
        host/config/axes.cpp
        host/config/config.cpp
        host/config/diffusers.cpp
        host/config/gguf.cpp
        host/config/gguf_architectures.cpp
        host/config/gguf_axes.cpp
        host/config/gguf_header.cpp
        host/config/gguf_keys.cpp
        host/config/gguf_layers.cpp
        host/config/gguf_rule.cpp
        host/config/gguf_scales.cpp
        host/config/grid.cpp
        host/config/grid_frequencies.cpp
        host/config/grid_models.cpp
        host/config/head.cpp
        host/config/layer_list.cpp
        host/config/layer_names.cpp
        host/config/layer_plans.cpp
        host/config/layers.cpp
        host/config/models.cpp
        host/config/no_rotation.cpp
        host/config/numbers.cpp
        host/config/own_keys.cpp
        host/config/parse.cpp
        host/config/query_scale.cpp
        host/config/rule.cpp
        host/config/source.cpp
        host/config/values.cpp
        host/config/vision.cpp)
    target_include_directories(vkrope-config PRIVATE host)
    target_link_libraries(vkrope-config PUBLIC vkrope PRIVATE nlohmann_json::nlohmann_json)
    target_compile_features(vkrope-config PUBLIC cxx_std_17)
    target_compile_options(vkrope-config PRIVATE ${VKROPE_WARNINGS})

    # Files of several arrays.
    add_library(vkrope-arrays STATIC EXCLUDE_FROM_ALL host/tool/npz.cpp host/tool/safetensors.cpp host/tool/safetensors_index.cpp)
    target_include_directories(vkrope-arrays PRIVATE host)
    target_link_libraries(vkrope-arrays PUBLIC vkrope-npy PRIVATE nlohmann_json::nlohmann_json)
    target_compile_options(vkrope-arrays PRIVATE ${VKROPE_WARNINGS})

    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS host/tool/frequencies.schema.json)
    file(READ host/tool/frequencies.schema.json VKROPE_FREQUENCIES_SCHEMA)
    configure_file(host/tool/frequencies_schema.cpp.in frequencies_schema.cpp @ONLY)

    add_executable(vkrope-tool
        host/tool/add_positions.cpp
        host/tool/array_file.cpp
        host/tool/arrays.cpp
        host/tool/axes.cpp
        host/tool/bench.cpp
        host/tool/bench_cases.cpp
        host/tool/bench_report.cpp
        host/tool/bias.cpp
        host/tool/chart.cpp
        host/tool/check.cpp
        host/tool/check_case.cpp
        host/tool/check_halves.cpp
        host/tool/check_spirv.cpp
        host/tool/config_file.cpp
        host/tool/contraction.cpp
        host/tool/covering.cpp
        host/tool/devices.cpp
        host/tool/element.cpp
        host/tool/encoding.cpp
        host/tool/format_names.cpp
        host/tool/frequencies.cpp
        host/tool/frequencies_json.cpp
        ${CMAKE_CURRENT_BINARY_DIR}/frequencies_schema.cpp
        host/tool/main.cpp
        host/tool/matrix.cpp
        host/tool/models.cpp
        host/tool/nearest_names.cpp
        host/tool/option_values.cpp
        host/tool/output.cpp
        host/tool/permute.cpp
        host/tool/plot.cpp
        host/tool/positions.cpp
        host/tool/progress.cpp
        host/tool/rotate.cpp
        host/tool/rotate_request.cpp
        host/tool/rotate_run.cpp
        host/tool/table.cpp
        host/tool/target.cpp
        host/tool/tune.cpp)
    target_include_directories(vkrope-tool PRIVATE host)
    target_link_libraries(vkrope-tool PRIVATE vkrope-config vkrope-measure vkrope-arrays CLI11::CLI11 nlohmann_json::nlohmann_json
        Threads::Threads)
    target_compile_options(vkrope-tool PRIVATE ${VKROPE_WARNINGS})
    set_target_properties(vkrope-tool PROPERTIES OUTPUT_NAME vkrope)
    if(PROJECT_IS_TOP_LEVEL AND NOT MSVC)
        # Its time goes into the library and the driver; optimized further it takes half as long again to compile.
        target_compile_options(vkrope-tool PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
endif()
