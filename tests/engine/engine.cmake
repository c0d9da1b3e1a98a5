# The engine example, without vkrope and with it, and once more with it under ThreadSanitizer; and the example for
# engines that own their pipelines, on the same device and memory.
include(bench/harness/allocations.cmake)
find_package(Threads REQUIRED)
find_path(VKROPE_VOLK volk.c DOC "Where volk.h and volk.c are (Debian: libvulkan-volk-dev)")

# NAMEOn_DRIVER: a test on each of the drivers; on "first" it takes the first device, a GPU where there is one. Skipped
# where volk or the driver is missing.
function(vkrope_engine_test name drivers target)
    set(lavapipe --device llvmpipe)
    set(SwiftShader --device SwiftShader)
    set(other --device other) # the first one that is neither
    foreach(driver IN LISTS drivers)
        set(test ${name}On_${driver})
        if(VKROPE_VOLK)
            add_test(NAME ${test} COMMAND ${target} ${${driver}} ${ARGN})
        else()
            add_test(NAME ${test} COMMAND sh -c "echo volk was not found && exit 77")
        endif()
        set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
    endforeach()
endfunction()

if(VKROPE_VOLK)
    add_library(vkrope-volk STATIC ${VKROPE_VOLK}/volk.c)
    target_include_directories(vkrope-volk SYSTEM PUBLIC ${VKROPE_VOLK} ${VKROPE_VULKAN_INCLUDE})
    target_link_libraries(vkrope-volk PUBLIC ${CMAKE_DL_LIBS})

    set(VKROPE_ENGINE_DEVICE tests/engine/arena.cpp tests/engine/gpu.cpp)
    set(VKROPE_ENGINE_SOURCES
        ${VKROPE_ENGINE_DEVICE}
        tests/engine/engine.cpp
        tests/engine/pass.cpp
        tests/engine/pipeline_file.cpp)
    foreach(pass project score)
        set(numbers ${CMAKE_CURRENT_BINARY_DIR}/shaders/engine_${pass}.inc)
        vkrope_compile(${CMAKE_CURRENT_SOURCE_DIR}/tests/engine/${pass}.comp ${numbers})
        set_property(SOURCE tests/engine/engine.cpp APPEND PROPERTY OBJECT_DEPENDS ${numbers})
    endforeach()

    function(vkrope_engine target)
        add_executable(${target} ${VKROPE_ENGINE_SOURCES} ${ARGN})
        target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/shaders)
        target_link_libraries(${target} PRIVATE vkrope-volk Threads::Threads)
        target_compile_features(${target} PRIVATE cxx_std_17)
        target_compile_options(${target} PRIVATE ${VKROPE_WARNINGS} ${VKROPE_FLOATING_POINT})
    endfunction()

    vkrope_engine(vkrope-engine-plain)
    target_link_libraries(vkrope-engine-plain PRIVATE vkrope-allocations)
    vkrope_engine(vkrope-engine)
    target_link_libraries(vkrope-engine PRIVATE vkrope vkrope-allocations)
    target_compile_definitions(vkrope-engine PRIVATE ENGINE_ROPE)

    add_executable(vkrope-raw tests/raw/kernel.cpp tests/raw/raw.cpp ${VKROPE_ENGINE_DEVICE})
    target_include_directories(vkrope-raw PRIVATE tests/engine)
    target_link_libraries(vkrope-raw PRIVATE vkrope vkrope-volk)
    target_compile_features(vkrope-raw PRIVATE cxx_std_17)
    target_compile_options(vkrope-raw PRIVATE ${VKROPE_WARNINGS})

    # A native plugin, which shows its own names and none of vkrope's; VKROPE_STATIC would see to that too.
    add_library(vkrope-plugin MODULE tests/engine/plugin/plugin.c)
    target_link_libraries(vkrope-plugin PRIVATE vkrope)
    target_compile_definitions(vkrope-plugin PRIVATE ROPE_PLUGIN_BUILDING VK_NO_PROTOTYPES)
    target_compile_options(vkrope-plugin PRIVATE ${VKROPE_WARNINGS})
    set_target_properties(vkrope-plugin PROPERTIES C_STANDARD 99 C_VISIBILITY_PRESET hidden LINKER_LANGUAGE C)
    if(NOT APPLE AND NOT MSVC)
        target_link_options(vkrope-plugin PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections)
    endif()
    add_executable(vkrope-plugin-host tests/engine/plugin/host.cpp tests/engine/plugin/services.cpp ${VKROPE_ENGINE_DEVICE})
    target_include_directories(vkrope-plugin-host PRIVATE tests/engine)
    target_link_libraries(vkrope-plugin-host PRIVATE vkrope vkrope-volk)
    target_compile_features(vkrope-plugin-host PRIVATE cxx_std_17)
    target_compile_options(vkrope-plugin-host PRIVATE ${VKROPE_WARNINGS})
    add_dependencies(vkrope-plugin-host vkrope-plugin)

    if(TARGET vkrope-tsan)
        vkrope_engine(vkrope-engine-tsan bench/harness/allocations.cpp)
        target_link_libraries(vkrope-engine-tsan PRIVATE vkrope-tsan)
        target_include_directories(vkrope-engine-tsan PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
        target_compile_definitions(vkrope-engine-tsan PRIVATE ENGINE_ROPE)
    endif()
endif()

add_test(NAME Header.StandsBesideVolkAndPrototypes
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/faces/prototypes.sh ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER}
        ${VKROPE_VULKAN_INCLUDE} ${VKROPE_VOLK})
set_tests_properties(Header.StandsBesideVolkAndPrototypes PROPERTIES SKIP_RETURN_CODE 77)

set(VKROPE_ENGINE_DRIVERS lavapipe SwiftShader other)
vkrope_engine_test(Engine.Plain "${VKROPE_ENGINE_DRIVERS}" vkrope-engine-plain --validate)
vkrope_engine_test(Engine.Rope "${VKROPE_ENGINE_DRIVERS}" vkrope-engine --validate)
vkrope_engine_test(Raw.DispatchesAreAllThatAnEngineNeeds "${VKROPE_ENGINE_DRIVERS}" vkrope-raw --validate)
vkrope_engine_test(Plugin.RotatesInItsHost "${VKROPE_ENGINE_DRIVERS}" vkrope-plugin-host --validate --plugin $<TARGET_FILE:vkrope-plugin>)
if(VKROPE_VOLK AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
    add_test(NAME Plugin.ShowsItsOwnNamesAlone
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/faces/plugin_symbols.sh $<TARGET_FILE:vkrope-plugin>)
endif()
if(TARGET vkrope-tsan)
    vkrope_engine_test(Engine.RopeOfManyThreads "lavapipe;SwiftShader" vkrope-engine-tsan)
    foreach(driver lavapipe SwiftShader)
        set_tests_properties(Engine.RopeOfManyThreadsOn_${driver} PROPERTIES ENVIRONMENT
            "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tests/engine/tsan.supp")
    endforeach()
endif()

if(VKROPE_PYTHON)
    set(script ${CMAKE_CURRENT_SOURCE_DIR}/tests/engine/engine_test.py)
    add_test(NAME Engine.TakesVkropeInUnderSixtyLines
        COMMAND ${VKROPE_PYTHON} ${script} difference ${CMAKE_CURRENT_SOURCE_DIR}/tests/engine)
    # They count lines as the style's own formatter lays them out.
    set(VKROPE_FORMATTER_ON_PATH "PATH=path_list_prepend:${CMAKE_CURRENT_BINARY_DIR}/style/clang_format/data/bin")
    set_tests_properties(Engine.TakesVkropeInUnderSixtyLines PROPERTIES SKIP_RETURN_CODE 77
        ENVIRONMENT_MODIFICATION "${VKROPE_FORMATTER_ON_PATH}")
    if(VKROPE_VOLK)
        add_test(NAME Engine.SurvivesAnyPipelineCache
            COMMAND ${VKROPE_PYTHON} ${script} cache $<TARGET_FILE:vkrope-engine> llvmpipe)
        set_tests_properties(Engine.SurvivesAnyPipelineCache PROPERTIES SKIP_RETURN_CODE 77)
    endif()
endif()

if(VKROPE_PYTHON)
    foreach(what lines apply)
        add_test(NAME Ggml.${what}
            COMMAND ${VKROPE_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/engine/ggml/ggml_test.py ${what}
                ${CMAKE_CURRENT_SOURCE_DIR}/tests/engine/ggml)
        set_tests_properties(Ggml.${what} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT_MODIFICATION "${VKROPE_FORMATTER_ON_PATH}")
    endforeach()
endif()
