find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
# The system's Python is the one that has the distribution's numpy.
find_program(VKROPE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(VKROPE_PYTHON python3)
if(NOT WIN32)
    find_library(VKROPE_MPFR mpfr REQUIRED DOC "The judge of the frequencies (Debian: libmpfr-dev)")
    find_library(VKROPE_GMP gmp REQUIRED)
endif()

# These go through millions of cases on the CPU. The others run each case once and are not optimized. The linker takes an inline
# function of the first object that has it, and the objects of another target come first.
add_library(vkrope-many OBJECT tests/core/plan/any_test.cpp tests/core/plan/plan_test.cpp tests/core/plan/uniform_test.cpp
    tests/core/plan/reciprocal_test.cpp tests/core/plan/fused/reach_test.cpp tests/support/combinations.cpp
    tests/support/fusion_draw.cpp tests/program/check/matrix_test.cpp host/program/check/covering.cpp
    host/program/check/halves.cpp host/program/check/matrix.cpp)
target_include_directories(vkrope-many PRIVATE ${VKROPE_ROOTS} tests)
target_link_libraries(vkrope-many PRIVATE vkrope-device GTest::gtest)
target_compile_options(vkrope-many PRIVATE ${VKROPE_WARNINGS} $<$<CONFIG:Release>:-O1>)
add_executable(vkrope-tests $<TARGET_OBJECTS:vkrope-many> tests/decoder/kernels.cpp tests/program/check/contraction_test.cpp)

vkrope_together(vkrope-tests tests/gpu/add_test.cpp tests/gpu/angle_test.cpp tests/gpu/decoder_test.cpp tests/gpu/element_test.cpp
    tests/gpu/examples_test.cpp tests/gpu/floor_test.cpp tests/gpu/frames_test.cpp tests/gpu/groups_test.cpp
    tests/gpu/hadamard_test.cpp)
vkrope_together(vkrope-tests tests/gpu/heads_test.cpp tests/gpu/fused_test.cpp tests/gpu/lacking_test.cpp tests/gpu/large_test.cpp
    tests/gpu/position_test.cpp tests/gpu/selftest_test.cpp tests/gpu/table_test.cpp tests/gpu/zeros_test.cpp
    tests/gpu/vectors_caches_test.cpp)
vkrope_together(vkrope-tests tests/gpu/factors_test.cpp tests/gpu/relative_test.cpp tests/gpu/rotate_test.cpp
    tests/gpu/vectors_onnx_test.cpp tests/decoder/decoder.cpp tests/decoder/model.cpp tests/decoder/stages.cpp
    tests/device/device_test.cpp)
vkrope_together(vkrope-tests tests/gpu/fused_sequences_test.cpp tests/gpu/scale_test.cpp tests/gpu/vectors_libraries_test.cpp
    tests/example/example_test.cpp tests/core/record/context_test.cpp tests/core/record/refusal_test.cpp)
vkrope_together(vkrope-tests tests/gpu/mark_test.cpp tests/faces/face_test.cpp tests/faces/kept_sets_test.cpp
    tests/faces/null_test.cpp tests/core/record/faults_test.cpp tests/support/fences.cpp)
vkrope_together(vkrope-tests tests/gpu/shift_test.cpp tests/example/hlsl_test.cpp tests/support/floor.cpp
    tests/support/rotation.cpp tests/support/host_pass.cpp)
vkrope_together(vkrope-tests tests/core/plan/apart_test.cpp tests/core/plan/barriers_test.cpp tests/core/plan/anywhere_test.cpp
    tests/core/plan/index_test.cpp tests/core/plan/interface_test.cpp tests/core/plan/least_test.cpp
    tests/core/plan/refusal_test.cpp tests/core/plan/range_test.cpp tests/core/plan/rotation_test.cpp
    tests/gpu/shapes_test.cpp)
vkrope_together(vkrope-tests tests/core/plan/ggml_test.cpp tests/core/plan/heads_test.cpp tests/core/plan/split_scale_test.cpp
    tests/core/plan/split_test.cpp tests/core/plan/fused/fused_test.cpp tests/core/plan/fused/pipelines_test.cpp
    tests/core/plan/fused/caches_test.cpp tests/core/record/resubmit_test.cpp tests/core/plan/encodings/add_test.cpp)
vkrope_together(vkrope-tests tests/core/reference/fused_cache_test.cpp tests/core/reference/fused_heads_test.cpp
    tests/core/reference/fused_norm_test.cpp tests/core/reference/fused_query_scale_test.cpp
    tests/core/reference/fused_refusal_test.cpp tests/core/reference/fused_apart_test.cpp
    tests/core/reference/fused_test.cpp tests/core/plan/tuning_test.cpp tests/core/rules/ggml_refusal_test.cpp
    tests/core/rules/ggml_test.cpp tests/core/rules/refuse_test.cpp)
vkrope_together(vkrope-tests tests/support/cut.cpp tests/support/fusion.cpp tests/support/gpu.cpp tests/support/main.cpp
    tests/support/paths.cpp tests/support/vectors.cpp tests/core/record/bindings_test.cpp
    tests/program/check/combinations_test.cpp host/program/check/contraction.cpp host/program/check/interface.cpp)
vkrope_together(vkrope-tests tests/program/files/fuzz_npy.cpp tests/program/bench/timing_test.cpp
    tests/program/bench/typical_test.cpp bench/harness/bench_device.cpp bench/harness/buffer_copies.cpp
    bench/harness/clock_probe.cpp bench/harness/clock_report.cpp bench/harness/repeats.cpp
    bench/harness/round_robin.cpp bench/cases/typical_passes.cpp)
target_include_directories(vkrope-tests PRIVATE ${VKROPE_ROOTS} ${VKROPE_SPIRV_INCLUDE} tests)
target_link_libraries(vkrope-tests PRIVATE vkrope-device vkrope-npy GTest::gtest nlohmann_json::nlohmann_json)
target_precompile_headers(vkrope-tests PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:<gtest/gtest.h$<ANGLE-R>>")
if(NOT WIN32) # for which there is no MPFR in any distribution, nor the pipes and permissions of files
    target_sources(vkrope-tests PRIVATE tests/core/plan/frequencies_test.cpp)
    vkrope_together(vkrope-tests tests/gpu/bias_test.cpp tests/gpu/bias_groups_test.cpp tests/core/rules/buckets_test.cpp
        tests/core/rules/length_test.cpp)
    vkrope_together(vkrope-tests tests/core/rules/reading_test.cpp tests/core/rules/refusal_test.cpp
        tests/core/rules/rules_test.cpp tests/core/rules/real_test.cpp tests/core/reference/true_angle_test.cpp
        tests/core/reference/divide_test.cpp tests/support/rule_samples.cpp tests/program/files/npy_test.cpp)
    target_link_libraries(vkrope-tests PRIVATE ${VKROPE_MPFR} ${VKROPE_GMP})
endif()
if(TARGET vkrope-models)
    vkrope_together(vkrope-tests tests/models/axes_test.cpp tests/models/corpus_test.cpp tests/models/grid_models_test.cpp
        tests/models/keys_test.cpp tests/models/models_test.cpp tests/models/no_rotation_test.cpp
        tests/program/check/fuzz_spirv.cpp)
    vkrope_together(vkrope-tests tests/models/refusal_test.cpp tests/models/rotation_test.cpp tests/models/fuzz_config.cpp
        tests/program/check/spirv_corpus_test.cpp tests/models/gguf/layers_test.cpp tests/models/gguf/read_test.cpp
        tests/models/gguf/refusal_test.cpp tests/models/gguf/scales_test.cpp)
    vkrope_together(vkrope-tests tests/models/layers_test.cpp tests/models/fuzz_gguf.cpp tests/models/gguf/axes_test.cpp
        tests/models/gguf/corpus_test.cpp tests/models/gguf/format_test.cpp tests/models/gguf/models_test.cpp
        tests/support/gguf_file.cpp)
    target_link_libraries(vkrope-tests PRIVATE vkrope-models)
endif()
if(TARGET vkrope-write-tables AND VKROPE_PYTHON)
    add_test(NAME Models.DataThatDoNotFitStopTheBuild
        COMMAND ${VKROPE_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/models/data_test.py $<TARGET_FILE:vkrope-write-tables>)
endif()
# Many small files lie in archives.
foreach(name corpus/config corpus/gguf corpus/npy corpus/spirv data/onnx)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tests/${name}.tar.xz)
    file(REMOVE_RECURSE ${CMAKE_CURRENT_BINARY_DIR}/unpacked/${name})
    file(ARCHIVE_EXTRACT INPUT ${CMAKE_CURRENT_SOURCE_DIR}/tests/${name}.tar.xz
        DESTINATION ${CMAKE_CURRENT_BINARY_DIR}/unpacked/${name})
endforeach()
target_compile_definitions(vkrope-tests PRIVATE VKROPE_TEST_ROOT="${CMAKE_CURRENT_SOURCE_DIR}"
    VKROPE_TEST_BUILD="${CMAKE_CURRENT_BINARY_DIR}")
target_compile_options(vkrope-tests PRIVATE ${VKROPE_WARNINGS} $<$<CONFIG:Release>:-O0>)
# Not a test: it says of a change if any bit of a fused pass moves.
add_executable(vkrope-scene-hashes EXCLUDE_FROM_ALL tests/gpu/scene_hashes.cpp tests/support/combinations.cpp
    tests/support/cut.cpp tests/support/fences.cpp tests/support/floor.cpp tests/support/fusion.cpp tests/support/fusion_draw.cpp
    tests/support/gpu.cpp tests/support/main.cpp tests/support/paths.cpp tests/support/rotation.cpp host/program/check/covering.cpp)
target_include_directories(vkrope-scene-hashes PRIVATE ${VKROPE_ROOTS} tests)
target_link_libraries(vkrope-scene-hashes PRIVATE vkrope-device GTest::gtest)
target_compile_definitions(vkrope-scene-hashes PRIVATE VKROPE_TEST_ROOT="${CMAKE_CURRENT_SOURCE_DIR}"
    VKROPE_TEST_BUILD="${CMAKE_CURRENT_BINARY_DIR}")
set_target_properties(vkrope-scene-hashes PROPERTIES EXPORT_COMPILE_COMMANDS OFF)

# The decoder's own kernels; its attention takes vkrope's GLSL.
foreach(kernel attention matmul)
    set(numbers ${CMAKE_CURRENT_BINARY_DIR}/shaders/decoder_${kernel}.inc)
    vkrope_compile(${CMAKE_CURRENT_SOURCE_DIR}/tests/decoder/${kernel}.comp ${numbers} -I${CMAKE_CURRENT_SOURCE_DIR}/shaders)
    set_property(SOURCE tests/decoder/kernels.cpp APPEND PROPERTY OBJECT_DEPENDS ${numbers})
endforeach()
set_property(SOURCE tests/decoder/kernels.cpp APPEND PROPERTY INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR}/shaders)

# A host's own shader with every encoding in it, run as if it were one of vkrope's.
vkrope_shaders(${CMAKE_CURRENT_LIST_DIR}/example/list.def VKROPE_EXAMPLES -I${CMAKE_CURRENT_SOURCE_DIR}/shaders)
target_sources(vkrope-tests PRIVATE ${VKROPE_EXAMPLES})

# Shaders that are read and not run. A host's unrolled loop: as vkrope's own shaders are compiled, without -O, and with lines.
function(vkrope_read_shader name source)
    set(numbers ${CMAKE_CURRENT_BINARY_DIR}/shaders/example_${name}.inc)
    vkrope_compile(${CMAKE_CURRENT_SOURCE_DIR}/tests/example/${source} ${numbers} -I${CMAKE_CURRENT_SOURCE_DIR}/shaders
        ${ARGN})
    set_property(SOURCE tests/program/check/contraction_test.cpp APPEND PROPERTY OBJECT_DEPENDS ${numbers})
endfunction()
vkrope_read_shader(unrolled unrolled.comp)
vkrope_read_shader(unrolled_plain unrolled.comp -O0)
vkrope_read_shader(unrolled_lines unrolled.comp -O0 -g)
vkrope_read_shader(fusible fusible.comp -O0)
vkrope_read_shader(turn_hlsl_plain turn.hlsl -O0 -x hlsl)

# A test for each suite of a program of GoogleTest's, and for each device that the suite runs on. ctest finds them.
function(vkrope_discover target)
    set(found ${CMAKE_CURRENT_BINARY_DIR}/${target}-tests)
    file(GENERATE OUTPUT ${found}-$<CONFIG>.cmake CONTENT "set(PROGRAM \"$<TARGET_FILE:${target}>\")
set(RUNNER \"${CMAKE_CROSSCOMPILING_EMULATOR}\")
include(\"${CMAKE_CURRENT_SOURCE_DIR}/tests/support/discover.cmake\")
")
    file(WRITE ${found}.cmake "set(VKROPE_CONFIG \"\${CTEST_CONFIGURATION_TYPE}\")
if(VKROPE_CONFIG STREQUAL \"\")
    set(VKROPE_CONFIG \"${CMAKE_BUILD_TYPE}\")
endif()
include(\"${found}-\${VKROPE_CONFIG}.cmake\")
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${found}.cmake)
endfunction()
vkrope_discover(vkrope-tests)

# Some of them once more on devices cut down to the floor; all of them: tests/portability.sh floor.
add_test(NAME Floor.IsEnoughForEveryKindOfPlan
    COMMAND vkrope-tests "--gtest_filter=Every/Context*:Every/Example*:Every/Factors*:Every/Fused*Slots*:Every/Raw*:Every/Vectors.OfOnnx*:-*WithSets")
set_tests_properties(Floor.IsEnoughForEveryKindOfPlan PROPERTIES ENVIRONMENT VKROPE_TEST_FLOOR=1 SKIP_RETURN_CODE 77)

# C99 hosts, linked by the C compiler alone.
foreach(consumer consumer_c99 consumer_fused consumer_small)
    string(REPLACE _ - target vkrope-${consumer})
    add_executable(${target} tests/faces/${consumer}.c)
    target_link_libraries(${target} PRIVATE vkrope m)
    set_target_properties(${target} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF LINKER_LANGUAGE C)
    target_compile_options(${target} PRIVATE -pedantic -Wall -Wextra -Werror)
    target_link_options(${target} PRIVATE -Wl,--gc-sections)
endforeach()
add_test(NAME Consumer.OfC99 COMMAND vkrope-consumer-c99)
set(VKROPE_EXAMPLES ${CMAKE_CURRENT_BINARY_DIR}/examples/fused_examples.inc)
add_custom_command(OUTPUT ${VKROPE_EXAMPLES}
    COMMAND awk -f ${PROJECT_SOURCE_DIR}/tests/faces/examples.awk ${PROJECT_SOURCE_DIR}/host/include/vkrope/rope.h
            > ${VKROPE_EXAMPLES}
    DEPENDS tests/faces/examples.awk host/include/vkrope/rope.h VERBATIM)
target_sources(vkrope-consumer-fused PRIVATE ${VKROPE_EXAMPLES})
target_include_directories(vkrope-consumer-fused PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/examples)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/examples)
add_test(NAME Consumer.PlansTheExamplesOfTheHeader COMMAND vkrope-consumer-fused)

# Not optimized, so that its own inline functions are called by name.
add_executable(vkrope-consumer-names tests/faces/consumer_names.cpp)
target_link_libraries(vkrope-consumer-names PRIVATE vkrope)
target_compile_features(vkrope-consumer-names PRIVATE cxx_std_17)
target_compile_options(vkrope-consumer-names PRIVATE ${VKROPE_WARNINGS} -O0)
add_test(NAME Consumer.KeepsItsOwnNames COMMAND vkrope-consumer-names)

# README's first program, taken out of its text.
set(VKROPE_FIRST ${CMAKE_CURRENT_BINARY_DIR}/first.cpp)
add_custom_command(OUTPUT ${VKROPE_FIRST}
    COMMAND awk "/^```/ { if (taken) exit; taken = /^```cpp$/; next } taken" ${PROJECT_SOURCE_DIR}/README.md > ${VKROPE_FIRST}
    DEPENDS ${PROJECT_SOURCE_DIR}/README.md VERBATIM)
add_executable(vkrope-first ${VKROPE_FIRST})
target_link_libraries(vkrope-first PRIVATE vkrope-device)
target_compile_options(vkrope-first PRIVATE ${VKROPE_WARNINGS})
add_test(NAME Readme.ItsFirstProgramRotates COMMAND vkrope-first)
set_tests_properties(Readme.ItsFirstProgramRotates PROPERTIES PASS_REGULAR_EXPRESSION "\\(1.28674567, 0.586758614\\)")
set(VKROPE_OTHER_LIBRARIES $<TARGET_FILE:vkrope-device> $<TARGET_FILE:vkrope-npy>)
if(TARGET vkrope-models)
    list(APPEND VKROPE_OTHER_LIBRARIES $<TARGET_FILE:vkrope-models>)
endif()
if(TARGET vkrope-python)
    list(APPEND VKROPE_OTHER_LIBRARIES $<TARGET_FILE:vkrope-python>)
endif()
# With the layer set from outside, functions can be had of an extension that the program never enabled.
find_file(VKROPE_LAYER VkLayer_khronos_validation.json PATHS /usr /usr/local /etc PATH_SUFFIXES
    share/vulkan/explicit_layer.d vulkan/explicit_layer.d DOC "The validation layer (Debian: vulkan-validationlayers)")
if(VKROPE_LAYER)
    add_test(NAME Readme.ItsFirstProgramDrawsNoErrorFromALayerSetFromOutside COMMAND vkrope-first)
else()
    add_test(NAME Readme.ItsFirstProgramDrawsNoErrorFromALayerSetFromOutside COMMAND sh -c "echo no validation layer was found && exit 77")
endif()
set_tests_properties(Readme.ItsFirstProgramDrawsNoErrorFromALayerSetFromOutside PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation FAIL_REGULAR_EXPRESSION "Validation Error;has not been enabled")
add_test(NAME Core.NamesNoVulkanSymbolAndIsSmall
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/faces/symbols.sh $<TARGET_FILE:vkrope> $<TARGET_FILE:vkrope-consumer-small>
        ${VKROPE_OTHER_LIBRARIES})

if(VKROPE_INSTALL AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CROSSCOMPILING)
    include(tests/package/package.cmake)
endif()

add_test(NAME Frequencies.AreTheSameDoublesFromEveryCompiler
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/core/rules/same_doubles.sh ${VKROPE_VULKAN_INCLUDE} ${VKROPE_FLOATING_POINT}
        -fno-exceptions -fno-rtti -fno-threadsafe-statics)

if(TARGET vkrope-measure)
    add_dependencies(vkrope-tests vkrope-measure) # whose shaders the tests read too
endif()
if(TARGET vkrope-tool)
    target_sources(vkrope-tests PRIVATE tests/program/check/halves_test.cpp host/program/elements.cpp
        ${CMAKE_CURRENT_BINARY_DIR}/shaders/halves.c)

    # The program with one plan spoiled, to see that its check finds it.
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
        add_executable(vkrope-spoiled tests/program/spoiled_plan.cpp $<TARGET_OBJECTS:vkrope-tool>)
        target_link_libraries(vkrope-spoiled PRIVATE $<TARGET_PROPERTY:vkrope-tool,LINK_LIBRARIES>)
        target_include_directories(vkrope-spoiled PRIVATE ${VKROPE_ROOTS})
        target_link_options(vkrope-spoiled PRIVATE -Wl,--wrap=ropePlanRotate
            -Wl,--wrap=_ZN4tool12quickChoicesERKSt6vectorIS0_IhSaIhEESaIS2_EE)

        add_library(vkrope-faulty-system MODULE tests/program/faulty_system.cpp)
        target_compile_options(vkrope-faulty-system PRIVATE ${VKROPE_WARNINGS})
        target_link_libraries(vkrope-faulty-system PRIVATE ${CMAKE_DL_LIBS})

        # The program on devices that lack what VKROPE_TEST_CUTS names.
        add_executable(vkrope-cut $<TARGET_OBJECTS:vkrope-tool>)
        target_link_libraries(vkrope-cut PRIVATE $<TARGET_PROPERTY:vkrope-tool,LINK_LIBRARIES>)
        target_sources(vkrope-cut PRIVATE tests/support/cut.cpp tests/support/floor.cpp tests/program/cut_program.cpp)
        target_include_directories(vkrope-cut PRIVATE ${VKROPE_ROOTS} tests)
        target_compile_options(vkrope-cut PRIVATE ${VKROPE_WARNINGS})
        target_link_options(vkrope-cut PRIVATE -Wl,--wrap=dlsym)
    endif()
endif()

# The program, as a stranger uses it. run.py lists the functions of tests/program that are marked as tests.
if(TARGET vkrope-tool AND VKROPE_PYTHON)
    file(GLOB files CONFIGURE_DEPENDS tests/program/*.py)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
    set(script ${CMAKE_CURRENT_SOURCE_DIR}/tests/program/run.py)
    execute_process(COMMAND ${VKROPE_PYTHON} ${script} --list OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[A-Za-z0-9]+" names "${names}")
    foreach(name IN LISTS names)
        add_test(NAME Tool.${name} COMMAND ${VKROPE_PYTHON} ${script} $<TARGET_FILE:vkrope-tool> ${name})
        set_tests_properties(Tool.${name} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
    # These run after the check, whose shaders are then in the driver's cache.
    set_tests_properties(Tool.CheckFindsASpoiledPlan Tool.GpuScriptLeavesAReportOfADevice PROPERTIES
        DEPENDS Tool.CheckPassesOnEveryDevice)
endif()

if(TARGET vkrope-python AND NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    set(tests python=HasTheBitsOfTheProgram fused=FillsCaches command=WorksOnFiles plot=Draws bad_calls=RefusesDrawnCalls manual=RunsItsManual
        framework=RotatesAsFrameworksDo)
    foreach(test IN LISTS tests)
        string(REGEX MATCH "^(.*)=(.*)$" test ${test})
        add_test(NAME Python.${CMAKE_MATCH_2} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/python/run.sh ${CMAKE_MATCH_1}
            $<TARGET_FILE:vkrope-tool> ${VKROPE_PYTHON_FOLDER})
        set_tests_properties(Python.${CMAKE_MATCH_2} PROPERTIES SKIP_RETURN_CODE 77 WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
            ENVIRONMENT PYTHON=${VKROPE_PYTHON})
    endforeach()
endif()

# The core once more with ThreadSanitizer in it, which mingw has not, and what rope.h says of threads. It bears no other
# sanitizer, and no emulator.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
check_cxx_source_compiles("int main() { return 0; }" VKROPE_HAS_THREAD_SANITIZER)
unset(CMAKE_REQUIRED_FLAGS)
if(VKROPE_HAS_THREAD_SANITIZER AND NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    get_target_property(VKROPE_CORE vkrope SOURCES)
    add_library(vkrope-tsan STATIC ${VKROPE_CORE})
    target_include_directories(vkrope-tsan PUBLIC ${VKROPE_ROOTS} tests ${VKROPE_INCLUDE} ${VKROPE_VULKAN_INCLUDE})
    target_compile_features(vkrope-tsan PUBLIC cxx_std_17)
    target_compile_definitions(vkrope-tsan PRIVATE VK_NO_PROTOTYPES)
    target_compile_options(vkrope-tsan PUBLIC -fsanitize=thread -g1 -O1 PRIVATE ${VKROPE_FLOATING_POINT})
    target_link_options(vkrope-tsan PUBLIC -fsanitize=thread)
    set_target_properties(vkrope-tsan PROPERTIES EXPORT_COMPILE_COMMANDS OFF) # clang-tidy would look at all twice
    add_executable(vkrope-threads tests/support/main.cpp tests/core/record/threads_test.cpp)
    target_link_libraries(vkrope-threads PRIVATE vkrope-tsan GTest::gtest)
    target_compile_options(vkrope-threads PRIVATE ${VKROPE_WARNINGS})
    vkrope_discover(vkrope-threads)
endif()

include(tests/engine/engine.cmake)

# These tests read the sources and run nothing. tests/style.sh tidy build --all looks at more than the libraries.
if(NOT CMAKE_CROSSCOMPILING)
    get_target_property(VKROPE_TIDIED vkrope SOURCES)
    if(TARGET vkrope-device)
        get_target_property(VKROPE_DEVICE_SOURCES vkrope-device SOURCES)
        list(APPEND VKROPE_TIDIED ${VKROPE_DEVICE_SOURCES})
    endif()
    list(FILTER VKROPE_TIDIED INCLUDE REGEX "^host/")
    add_test(NAME Style.IsFormatted COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/style.sh format)
    add_test(NAME Style.TidyFindsNothing
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/style.sh tidy ${CMAKE_CURRENT_BINARY_DIR} ${VKROPE_TIDIED})
    set_tests_properties(Style.IsFormatted Style.TidyFindsNothing PROPERTIES SKIP_RETURN_CODE 77)
    set_tests_properties(Style.TidyFindsNothing PROPERTIES PROCESSORS 2 COST 100) # begins first
    if(VKROPE_PYTHON)
        add_test(NAME Style.NoTypeHasATwin COMMAND sh -c
            "'${VKROPE_PYTHON}' tests/style/twins.py $(find host shaders bench tests -name '*.h' -o -name '*.hpp' -o -name '*.cpp')"
            WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        add_test(NAME Style.RoomsKeepTheirFloors COMMAND ${VKROPE_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/style/rooms.py)
        add_test(NAME Style.OptionsAreAllInTheManual
            COMMAND ${VKROPE_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/style/options.py)
        add_test(NAME Style.ModelsAreKnownByTheirData COMMAND ${VKROPE_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/style/models.py)
        add_test(NAME Style.LinksLeadSomewhere COMMAND ${VKROPE_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/style/links.py)
    endif()
endif()

if(VKROPE_DOXYGEN)
    add_test(NAME Docs.RenderWithoutWarnings COMMAND ${VKROPE_DOXYGEN} ${CMAKE_CURRENT_BINARY_DIR}/Doxyfile)
    set_tests_properties(Docs.RenderWithoutWarnings PROPERTIES FAIL_REGULAR_EXPRESSION ".") # it is quiet but for warnings
endif()

# The shaders that this build makes, by name: a folder may hold others of an earlier one.
get_property(numbers GLOBAL PROPERTY VKROPE_NUMBERS)
set_property(SOURCE tests/program/check/contraction_test.cpp APPEND PROPERTY OBJECT_DEPENDS ${numbers})
list(TRANSFORM numbers REPLACE "^.*/(.*)\\.inc$" "\\1")
list(JOIN numbers "\n" numbers)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/shaders/names "${numbers}\n")
