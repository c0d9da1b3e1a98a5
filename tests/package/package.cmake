# vkrope as others take it: each way with the same consumers, compared with this build's library.
add_executable(vkrope-consumer tests/package/consumer.c)
target_link_libraries(vkrope-consumer PRIVATE vkrope)
set_target_properties(vkrope-consumer PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF LINKER_LANGUAGE C)

set(VKROPE_STAGE ${CMAKE_CURRENT_BINARY_DIR}/package)
file(MAKE_DIRECTORY ${VKROPE_STAGE})
set(VKROPE_PACKAGE_TESTS ${CMAKE_CURRENT_SOURCE_DIR}/tests/package)
set(VKROPE_PACKAGE_ENVIRONMENT
    CMAKE=${CMAKE_COMMAND}
    CPACK=${CMAKE_CPACK_COMMAND}
    GENERATOR=${CMAKE_GENERATOR}
    CC=${CMAKE_C_COMPILER}
    CXX=${CMAKE_CXX_COMPILER}
    LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
    CFLAGS=${CMAKE_CXX_FLAGS}
    TYPE=${CMAKE_BUILD_TYPE}
    VULKAN=${VKROPE_VULKAN_INCLUDE}
    SOURCE=${CMAKE_CURRENT_SOURCE_DIR}
    BUILD=${CMAKE_CURRENT_BINARY_DIR}
    STAGE=${VKROPE_STAGE}
    VERSION=${PROJECT_VERSION}
    SPIRV=${CMAKE_CURRENT_BINARY_DIR}/vkrope-${PROJECT_VERSION}-spirv
    PYTHON=${VKROPE_PYTHON}
    EXPECTED=$<TARGET_FILE:vkrope-consumer>)

function(vkrope_package_test name)
    add_test(NAME Package.${name} COMMAND ${ARGN})
    set_tests_properties(Package.${name} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT
        "${VKROPE_PACKAGE_ENVIRONMENT}")
endfunction()

vkrope_package_test(SpirvIsMade ${CMAKE_COMMAND} --build ${CMAKE_CURRENT_BINARY_DIR} --target vkrope-spirv)
set_tests_properties(Package.SpirvIsMade PROPERTIES FIXTURES_SETUP VkropeSpirv)
vkrope_package_test(IsInstalledAndMoved ${VKROPE_PACKAGE_TESTS}/install.sh)
set_tests_properties(Package.IsInstalledAndMoved PROPERTIES FIXTURES_SETUP VkropeInstalled)

if(TARGET vkrope-amalgamation)
    vkrope_package_test(IsCopiedInTwoFiles ${VKROPE_PACKAGE_TESTS}/two_files.sh)
    vkrope_package_test(IsASubprojectOfMeson ${VKROPE_PACKAGE_TESTS}/meson.sh)
    vkrope_package_test(TurnsInShadersOfOthers ${VKROPE_PACKAGE_TESTS}/rope_files.sh)
    set_tests_properties(Package.IsCopiedInTwoFiles Package.IsASubprojectOfMeson Package.TurnsInShadersOfOthers PROPERTIES
        RESOURCE_LOCK vkrope-amalgamation) # each writes the folder
endif()
vkrope_package_test(IsTakenByAddSubdirectory ${VKROPE_PACKAGE_TESTS}/subdirectory.sh)
vkrope_package_test(IsTakenByFindPackage ${VKROPE_PACKAGE_TESTS}/installed.sh)
vkrope_package_test(IsTakenByPkgConfig ${VKROPE_PACKAGE_TESTS}/pkgconfig.sh ${VKROPE_STAGE}/moved)
vkrope_package_test(RunsReadmesFirstProgram ${VKROPE_PACKAGE_TESTS}/readme.sh ${VKROPE_STAGE}/moved)
# The public interface is compared with api.txt, which the target vkrope-api renews.
if(VKROPE_PYTHON AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(api ${VKROPE_PYTHON} ${VKROPE_PACKAGE_TESTS}/api.py)
    vkrope_package_test(HasTheInterfaceOfApiTxt ${api} ${CMAKE_C_COMPILER} ${VKROPE_VULKAN_INCLUDE})
    add_custom_target(vkrope-api COMMAND ${api} --renew ${CMAKE_C_COMPILER} ${VKROPE_VULKAN_INCLUDE} VERBATIM)
endif()
vkrope_package_test(IsOfOneVersion ${VKROPE_PACKAGE_TESTS}/version.sh)
vkrope_package_test(HasAPortForVcpkg ${CMAKE_COMMAND} -P ${VKROPE_PACKAGE_TESTS}/vcpkg.cmake)
vkrope_package_test(HasARecipeForConan ${VKROPE_PACKAGE_TESTS}/conan.sh)
vkrope_package_test(IsSharedWithoutGlslc ${VKROPE_PACKAGE_TESTS}/shared.sh)
vkrope_package_test(GoesInsideAnotherLibrary ${VKROPE_PACKAGE_TESTS}/inside.sh)
vkrope_package_test(RefusesOtherSpirv ${VKROPE_PACKAGE_TESTS}/refusals.sh)
set_tests_properties(Package.IsTakenByFindPackage Package.IsTakenByPkgConfig Package.RunsReadmesFirstProgram Package.IsOfOneVersion PROPERTIES FIXTURES_REQUIRED VkropeInstalled)
set_tests_properties(Package.IsTakenByAddSubdirectory Package.HasARecipeForConan Package.IsSharedWithoutGlslc
    Package.GoesInsideAnotherLibrary Package.RefusesOtherSpirv PROPERTIES FIXTURES_REQUIRED VkropeSpirv)
if(TARGET vkrope-python)
    vkrope_package_test(PythonFindsItsLibrary ${VKROPE_PACKAGE_TESTS}/python.sh)
    set_tests_properties(Package.PythonFindsItsLibrary PROPERTIES FIXTURES_REQUIRED VkropeInstalled)
    vkrope_package_test(IsAWheel ${VKROPE_PACKAGE_TESTS}/wheel.sh)
    set_property(TEST Package.IsAWheel APPEND PROPERTY ENVIRONMENT PROGRAM=$<TARGET_FILE:vkrope-tool>)
    set_tests_properties(Package.IsAWheel PROPERTIES FIXTURES_REQUIRED VkropeSpirv)
endif()
if(TARGET vkrope-tool)
    vkrope_package_test(IsADebianPackage ${VKROPE_PACKAGE_TESTS}/debian.sh)
    vkrope_package_test(HasAManual ${VKROPE_PACKAGE_TESTS}/manual.sh)
endif()
