# Included by ctest, with PROGRAM and RUNNER set: a test for each suite of GoogleTest's and each device that it runs on, so
# that its cases share a process, a device and its pipelines. A suite's cases: PROGRAM --gtest_list_tests.
execute_process(COMMAND ${RUNNER} ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    add_test(${PROGRAM}.ListsItsTests ${RUNNER} ${PROGRAM} --gtest_list_tests)
    return()
endif()
string(REGEX REPLACE "[[;]" "_" listed "${listed}")
string(REGEX REPLACE "\r?\n" ";" lines "${listed}")
# These suites compare results and no calls. On SwiftShader, which keeps buffers in the process' memory, they have a page behind each
# buffer that nothing may touch, and no validation layer: buffers then begin anywhere. Lavapipe runs them below the layer. Where
# SwiftShader is there, which takes descriptor sets, lavapipe does not run them with sets. A whole run has all of them below the
# layer, and tests/portability.sh fences has the pages.
string(JOIN "|" results Add Bias BiasGroups CacheVectorsOnDevice DecoderTest Elements FusedOnDevice FusedSequences Groups HeadsTest
    IndirectGroups Large Positions Relative Rotate Scaled Shapes Shift Table Tunings Vectors ZerosThroughNorms)
set(names)
set(suite)
foreach(line IN LISTS lines)
    if(line MATCHES "^([A-Za-z0-9_/]+)\\.")
        set(suite ${CMAKE_MATCH_1})
    elseif(line MATCHES "^  [A-Za-z0-9_]+/([A-Za-z0-9_]+)")
        list(APPEND names "${suite}.*/${CMAKE_MATCH_1}")
    elseif(line MATCHES "^  [A-Za-z0-9_]+")
        list(APPEND names "${suite}.*")
    endif()
endforeach()
list(REMOVE_DUPLICATES names)
foreach(filter IN LISTS names)
    string(REPLACE ".*/" ".On_" name "${filter}")
    string(REGEX REPLACE "^Every/|\\.\\*$" "" name "${name}")
    if(name MATCHES "^(${results})\\.On_.*WithSets$" AND names MATCHES "SwiftShader" AND NOT DEFINED ENV{VKROPE_TEST_WHOLE})
        continue()
    endif()
    add_test("${name}" ${RUNNER} ${PROGRAM} "--gtest_filter=${filter}")
    set_tests_properties("${name}" PROPERTIES SKIP_RETURN_CODE 77)
    if(name MATCHES "^(${results})\\.On_SwiftShader$" AND NOT DEFINED ENV{VKROPE_TEST_WHOLE})
        set_tests_properties("${name}" PROPERTIES ENVIRONMENT VKROPE_TEST_FENCES=1)
    endif()
    # A device's second setup comes after its first, whose shaders are then in the driver's cache.
    if(name MATCHES "^(.*)WithSets$")
        set_tests_properties("${name}" PROPERTIES DEPENDS "${CMAKE_MATCH_1}")
    endif()
endforeach()
