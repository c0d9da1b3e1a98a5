# The core library, the device target, and the programs.
# Includes are written from these folders: "plan/planner.h", "device/state.hpp", "shaders/interface.h".
set(VKROPE_ROOTS ${CMAKE_CURRENT_SOURCE_DIR}/host/core ${CMAKE_CURRENT_SOURCE_DIR}/host ${CMAKE_CURRENT_SOURCE_DIR})

# Families that hosts may leave out come last: in one file a string belongs to the first function that has it.
set(VKROPE_SOURCES
    ${VKROPE_SHADER_SOURCES}
    host/core/rules/alibi.cpp
    host/core/rules/buckets.cpp
    host/core/rules/geometric.cpp
    host/core/rules/ggml.cpp
    host/core/rules/members.cpp
    host/core/rules/position.cpp
    host/core/rules/query_scale.cpp
    host/core/rules/real.cpp
    host/core/rules/refuse.cpp
    host/core/rules/rules.cpp
    host/core/rules/yarn.cpp
    host/core/plan/axes.cpp
    host/core/plan/dispatch.cpp
    host/core/plan/elements.cpp
    host/core/plan/factors.cpp
    host/core/plan/frequencies.cpp
    host/core/plan/ggml.cpp
    host/core/plan/layout.cpp
    host/core/plan/limits.cpp
    host/core/plan/pass.cpp
    host/core/plan/permutation.cpp
    host/core/plan/planner.cpp
    host/core/plan/positions.cpp
    host/core/plan/print.cpp
    host/core/plan/resolve.cpp
    host/core/plan/range.cpp
    host/core/plan/rotate.cpp
    host/core/plan/rows.cpp
    host/core/plan/scale.cpp
    host/core/plan/selftest.cpp
    host/core/plan/table.cpp
    host/core/plan/tensor.cpp
    host/core/plan/tuning.cpp
    host/core/record/context.cpp
    host/core/record/record.cpp
    host/core/record/specialize.cpp
    host/core/reference/divide.cpp
    host/core/reference/element.cpp
    host/core/reference/quantize.cpp
    host/core/reference/rotation.cpp
    host/core/reference/run_add.cpp
    host/core/reference/run_bias.cpp
    host/core/reference/run_fused.cpp
    host/core/reference/norm_sums.cpp
    host/core/reference/run_relative.cpp
    host/core/reference/shader_angle.cpp
    host/core/reference/slot.cpp
    host/core/reference/token.cpp
    host/core/reference/true_angle.cpp
    host/core/plan/encodings/add.cpp
    host/core/plan/encodings/add_resolve.cpp
    host/core/plan/encodings/bias.cpp
    host/core/plan/encodings/bias_resolve.cpp
    host/core/plan/encodings/relative.cpp
    host/core/plan/encodings/relative_resolve.cpp
    host/core/plan/encodings/scores.cpp
    host/core/plan/fused/fused.cpp
    host/core/plan/fused/arrangement.cpp
    host/core/plan/fused/bindings.cpp
    host/core/plan/fused/cache.cpp
    host/core/plan/fused/geometry.cpp
    host/core/plan/fused/biases.cpp
    host/core/plan/fused/norms.cpp
    host/core/plan/fused/record.cpp
    host/core/plan/fused/strides.cpp
    host/core/plan/fused/parameters.cpp
    host/core/plan/fused/resolve.cpp
    host/core/plan/fused/groups.cpp
    host/core/plan/fused/hadamard.cpp)
set(type) # BUILD_SHARED_LIBS decides
if(VKROPE_STATIC)
    set(type STATIC)
endif()
add_library(vkrope ${type} ${VKROPE_SOURCES})
add_library(vkrope::vkrope ALIAS vkrope)

# A user's build reaches the public headers and no other file of host/, as <vkrope/rope.h>, which is where an installation has
# them too.
set(VKROPE_PUBLIC_HEADERS rope.h rope.hpp)
if(VKROPE_BUILD_DEVICE)
    set(VKROPE_DEVICE_HEADERS device.hpp loader.hpp)
endif()
set(VKROPE_INCLUDE ${CMAKE_CURRENT_SOURCE_DIR}/host/include)
target_include_directories(vkrope PUBLIC "$<BUILD_INTERFACE:${VKROPE_INCLUDE}>" PRIVATE ${VKROPE_ROOTS})
if(TARGET Vulkan::Headers)
    target_link_libraries(vkrope PUBLIC $<BUILD_INTERFACE:Vulkan::Headers>)
else()
    target_include_directories(vkrope PUBLIC $<BUILD_INTERFACE:${VKROPE_VULKAN_INCLUDE}>)
endif()
target_compile_features(vkrope PRIVATE cxx_std_17)
list(TRANSFORM VKROPE_LEFT_OUT PREPEND VKROPE_NO_ OUTPUT_VARIABLE left_out)
target_compile_definitions(vkrope PRIVATE VK_NO_PROTOTYPES ${left_out})
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
        list(FILTER reference INCLUDE REGEX "^host/core/reference/")
        set_property(SOURCE ${reference} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
        set(VKROPE_WARNINGS -Wall -Wextra -Wpedantic -Werror=return-type)
    endif()
else()
    target_compile_options(vkrope PRIVATE /fp:precise)
endif()
target_compile_options(vkrope PRIVATE ${VKROPE_WARNINGS})

if(VKROPE_BUILD_DEVICE)
    set(VKROPE_DEVICE_SOURCES host/device/device.cpp host/device/choose.cpp host/device/buffer.cpp host/device/submit.cpp host/device/loader.cpp)
    add_library(vkrope-device STATIC ${VKROPE_DEVICE_SOURCES})
    add_library(vkrope::device ALIAS vkrope-device)
    target_link_libraries(vkrope-device PUBLIC vkrope PRIVATE ${CMAKE_DL_LIBS})
    target_include_directories(vkrope-device PRIVATE ${VKROPE_ROOTS})
    target_compile_features(vkrope-device PUBLIC cxx_std_17)
    target_compile_definitions(vkrope-device PRIVATE VK_NO_PROTOTYPES)
    set_target_properties(vkrope-device PROPERTIES EXPORT_NAME device)
    vkrope_may_go_inside(vkrope-device)
    target_compile_options(vkrope-device PRIVATE ${VKROPE_WARNINGS})

    add_library(vkrope-npy STATIC EXCLUDE_FROM_ALL host/program/files/input_file.cpp host/program/files/new_file.cpp
        host/program/files/npy.cpp host/program/files/npy_file.cpp)
    target_include_directories(vkrope-npy PRIVATE ${VKROPE_ROOTS})
    target_compile_features(vkrope-npy PUBLIC cxx_std_17)
    target_compile_definitions(vkrope-npy PRIVATE _FILE_OFFSET_BITS=64) # files may have more than 2 GiB
    target_compile_options(vkrope-npy PRIVATE ${VKROPE_WARNINGS})
endif()

if(VKROPE_BUILD_TOOL OR VKROPE_BUILD_PYTHON)
    find_package(nlohmann_json CONFIG REQUIRED)

    # What is known of models stands in JSON, and becomes tables of constants. The program that writes them runs on this machine,
    # whatever machine the build is for.
    set(data gguf text vision diffusers)
    list(TRANSFORM data PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/host/models/)
    list(TRANSFORM data APPEND .json)
    set(writer vkrope-write-tables)
    if(CMAKE_CROSSCOMPILING)
        find_program(VKROPE_HOST_CXX NAMES c++ g++ clang++ REQUIRED NO_CMAKE_FIND_ROOT_PATH
            DOC "A C++ compiler of this machine, for a program that runs at the build")
        set(writer ${CMAKE_CURRENT_BINARY_DIR}/vkrope-write-tables)
        set(include $<TARGET_PROPERTY:nlohmann_json::nlohmann_json,INTERFACE_INCLUDE_DIRECTORIES>)
        add_custom_command(OUTPUT ${writer}
            COMMAND ${VKROPE_HOST_CXX} -std=c++17 -I${CMAKE_CURRENT_SOURCE_DIR}/host "-I$<JOIN:${include},;-I>"
                ${CMAKE_CURRENT_SOURCE_DIR}/host/models/write_tables.cpp -o ${writer}
            DEPENDS host/models/write_tables.cpp host/models/records.def COMMAND_EXPAND_LISTS VERBATIM)
    else()
        add_executable(vkrope-write-tables host/models/write_tables.cpp)
        target_include_directories(vkrope-write-tables PRIVATE ${VKROPE_ROOTS})
        target_link_libraries(vkrope-write-tables PRIVATE nlohmann_json::nlohmann_json)
        target_compile_features(vkrope-write-tables PRIVATE cxx_std_17)
        target_compile_options(vkrope-write-tables PRIVATE ${VKROPE_WARNINGS} $<$<CONFIG:Release>:-O0>)
    endif()
    add_custom_command(OUTPUT models_tables.inc
        COMMAND ${writer} ${CMAKE_CURRENT_SOURCE_DIR}/host/models models_tables.inc DEPENDS ${writer} ${data} VERBATIM)
    add_library(vkrope-models STATIC
        ${CMAKE_CURRENT_BINARY_DIR}/models_tables.inc
        host/models/models.cpp)
    vkrope_together(vkrope-models host/models/config.cpp host/models/grid.cpp host/models/keys.cpp host/models/layers.cpp
        host/models/source.cpp host/models/values.cpp host/models/words.cpp)
    vkrope_together(vkrope-models host/models/gguf/gguf.cpp host/models/gguf/header.cpp host/models/gguf/layers.cpp
        host/models/gguf/rule.cpp host/models/rule.cpp)
    set_property(SOURCE host/models/models.cpp APPEND PROPERTY INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR})
    target_include_directories(vkrope-models PRIVATE ${VKROPE_ROOTS})
    target_link_libraries(vkrope-models PUBLIC vkrope PRIVATE nlohmann_json::nlohmann_json)
    target_compile_features(vkrope-models PUBLIC cxx_std_17)
    target_compile_options(vkrope-models PRIVATE ${VKROPE_WARNINGS})
    if(PROJECT_IS_TOP_LEVEL AND NOT MSVC) # as the program
        target_compile_options(vkrope-models PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
endif()

if(VKROPE_BUILD_TOOL AND VKROPE_BUILD_DEVICE)
    find_package(CLI11 CONFIG REQUIRED)
    find_package(Threads REQUIRED)
    # The Vulkan SDK has them beside Vulkan's headers.
    find_path(VKROPE_SPIRV_INCLUDE spirv/unified1/spirv.hpp11 HINTS "${VKROPE_VULKAN_INCLUDE}" ENV VULKAN_SDK PATH_SUFFIXES include Include
        DOC "Where SPIRV-Headers' spirv/unified1/spirv.hpp11 is (Debian: spirv-headers)")
    if(NOT VKROPE_SPIRV_INCLUDE)
        message(FATAL_ERROR "vkrope: the program's check-spirv takes SPIRV-Headers, and there is no spirv/unified1/spirv.hpp11. "
            "Install Debian's spirv-headers or the Vulkan SDK, give -DVKROPE_SPIRV_INCLUDE=FOLDER, or leave the program out with "
            "-DVKROPE_BUILD_TOOL=OFF.")
    endif()

    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS host/program/commands/frequencies.schema.json)
    file(READ host/program/commands/frequencies.schema.json VKROPE_FREQUENCIES_SCHEMA)
    configure_file(host/program/commands/frequencies_schema.cpp.in frequencies_schema.cpp @ONLY)

    add_executable(vkrope-tool
        host/program/bench/beside.cpp
        host/program/check/spirv.cpp
        host/program/check/contraction.cpp
        host/program/check/interface.cpp
        host/program/check/covering.cpp
        host/program/check/matrix.cpp
        ${CMAKE_CURRENT_BINARY_DIR}/frequencies_schema.cpp)
    vkrope_together(vkrope-tool host/program/bench/bench.cpp host/program/bench/cases.cpp host/program/bench/report.cpp)
    vkrope_together(vkrope-tool host/program/commands/devices.cpp host/program/commands/frequencies.cpp
        host/program/commands/models.cpp)
    vkrope_together(vkrope-tool host/program/main.cpp host/program/option_values.cpp)
    vkrope_together(vkrope-tool host/program/check/check.cpp host/program/check/caches.cpp host/program/check/case.cpp
        host/program/check/halves.cpp host/program/commands/encoding.cpp host/program/elements.cpp
        host/program/commands/positions.cpp host/program/commands/rotate.cpp host/program/commands/rotate_request.cpp
        host/program/commands/table.cpp host/program/files/arrays.cpp host/program/progress.cpp host/program/target.cpp)
    target_include_directories(vkrope-tool PRIVATE ${VKROPE_ROOTS} ${VKROPE_SPIRV_INCLUDE})
    target_link_libraries(vkrope-tool PRIVATE vkrope-models vkrope-measure vkrope-npy CLI11::CLI11 nlohmann_json::nlohmann_json
        Threads::Threads)
    target_compile_options(vkrope-tool PRIVATE ${VKROPE_WARNINGS})
    set_target_properties(vkrope-tool PROPERTIES OUTPUT_NAME vkrope)
    if(PROJECT_IS_TOP_LEVEL AND NOT MSVC)
        # Their time goes into the library and the driver; optimized further they take half as long again to compile.
        target_compile_options(vkrope-tool PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
endif()
