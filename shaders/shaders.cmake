# Compiles every row of list.def to an object file of its own. Adds their C sources to VKROPE_SHADER_SOURCES.
set(VKROPE_SPIRV "" CACHE PATH "A release's generated SPIR-V, which takes the place of glslc; see the target vkrope-spirv")
find_program(VKROPE_GLSLC glslc DOC "shaderc's compiler (Debian: glslc)")
if(NOT VKROPE_SPIRV AND NOT VKROPE_GLSLC)
    message(FATAL_ERROR "vkrope: glslc, shaderc's compiler, was not found: install it (Debian: glslc), or unpack "
        "vkrope-${PROJECT_VERSION}-spirv.tar.gz, which comes with the release, and give its folder with -DVKROPE_SPIRV=")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/spirv.cmake)

# A shader as numbers for a C array; further arguments go to glslc.
function(vkrope_compile source numbers)
    if(NOT VKROPE_GLSLC)
        message(FATAL_ERROR "vkrope: ${source} needs glslc: VKROPE_SPIRV holds what the library and the program take, "
            "not the tests' shaders; -DVKROPE_BUILD_TESTS=OFF does without them")
    endif()
    get_filename_component(name ${numbers} NAME_WE)
    set_property(GLOBAL APPEND PROPERTY VKROPE_NUMBERS ${numbers})
    add_custom_command(
        OUTPUT ${numbers}
        COMMAND ${VKROPE_GLSLC} --target-env=vulkan1.1 -O -mfmt=num -MD -MF ${numbers}.d -MT ${numbers} ${ARGN}
                -fshader-stage=compute ${source} -o ${numbers}
        DEPENDS ${source}
        DEPFILE ${numbers}.d
        COMMENT "Compiling shader ${name}"
        VERBATIM)
endfunction()

# Refuses generated SPIR-V that is of other shaders than those here.
function(vkrope_check_spirv list)
    vkrope_fingerprint(${list} name wanted)
    set(found)
    if(EXISTS ${VKROPE_SPIRV}/${name})
        file(STRINGS ${VKROPE_SPIRV}/${name} found LIMIT_COUNT 1)
    endif()
    if(NOT found STREQUAL wanted)
        message(FATAL_ERROR "vkrope: VKROPE_SPIRV is ${VKROPE_SPIRV}, whose ${name} is not of these shaders "
            "(${wanted}): take the folder of vkrope ${PROJECT_VERSION}, or install glslc and leave VKROPE_SPIRV empty")
    endif()
    get_filename_component(folder ${list} DIRECTORY)
    file(GLOB_RECURSE sources ${folder}/*.comp ${PROJECT_SOURCE_DIR}/shaders/*.h ${PROJECT_SOURCE_DIR}/shaders/*.glsl)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources} ${VKROPE_SPIRV}/${name})
endfunction()

# Every row of a list of shaders, whose files lie beside it, as a C source of its own in the variable `sources`, but for those of
# families that the build leaves out. Further arguments go to glslc.
function(vkrope_shaders list sources)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    get_filename_component(folder ${list} DIRECTORY)
    file(RELATIVE_PATH title ${PROJECT_SOURCE_DIR} ${list})
    set(generated NO)
    if(VKROPE_SPIRV AND NOT title MATCHES "^tests/")
        vkrope_check_spirv(${list})
        set(generated YES)
    endif()
    file(STRINGS ${list} rows REGEX "^ROPE_SHADER")
    set(made)
    foreach(row IN LISTS rows)
        if(NOT row MATCHES "^ROPE_SHADER\\(([a-z0-9_]+), ([a-z0-9_./]+), ([A-Z]+), ([A-Z0-9_]+), (.*)\\)$")
            message(FATAL_ERROR "${title}: not a ROPE_SHADER(name, file, family, needs, defines) row: ${row}")
        endif()
        set(name ${CMAKE_MATCH_1})
        set(source ${folder}/${CMAKE_MATCH_2})
        set(family ${CMAKE_MATCH_3})
        set(needs ${CMAKE_MATCH_4})
        separate_arguments(defines UNIX_COMMAND "${CMAKE_MATCH_5}")
        if(NOT family IN_LIST VKROPE_FAMILIES AND NOT family STREQUAL "ALWAYS")
            list(JOIN VKROPE_FAMILIES ", " families)
            message(FATAL_ERROR "${title}: the shader ${name} is of the family ${family}; there are ALWAYS, ${families}")
        endif()
        if(family IN_LIST VKROPE_LEFT_OUT)
            continue()
        endif()

        set(numbers ${PROJECT_BINARY_DIR}/shaders/${name}.inc)
        list(APPEND listed ${numbers})
        if(generated)
            configure_file(${VKROPE_SPIRV}/${name}.inc ${numbers} COPYONLY)
            set_property(GLOBAL APPEND PROPERTY VKROPE_NUMBERS ${numbers})
        else()
            vkrope_compile(${source} ${numbers} ${defines} ${ARGN})
        endif()
        file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/shaders/${name}.c
            CONTENT [[
#include "shaders/modules.h"
static const uint32_t kWords[] = {
#include "@name@.inc"
};
const RopeShader rope_shader_@name@ = {"@name@", kWords, sizeof kWords, @needs@};
]] @ONLY)
        set_property(SOURCE ${PROJECT_BINARY_DIR}/shaders/${name}.c PROPERTY OBJECT_DEPENDS ${numbers})
        list(APPEND made ${PROJECT_BINARY_DIR}/shaders/${name}.c)
    endforeach()
    set(${sources} ${made} PARENT_SCOPE)
    if(NOT title MATCHES "^tests/")
        set(VKROPE_LISTS ${VKROPE_LISTS} ${list} PARENT_SCOPE)
        set(VKROPE_LISTED ${VKROPE_LISTED} ${listed} PARENT_SCOPE)
    endif()
endfunction()

# The target vkrope-spirv: the folder for VKROPE_SPIRV, of all lists so far, and a tarball of it to go with a release.
function(vkrope_spirv_target)
    set(folder vkrope-${PROJECT_VERSION}-spirv)
    add_custom_target(vkrope-spirv
        COMMAND ${CMAKE_COMMAND} -DNUMBERS=${PROJECT_BINARY_DIR}/shaders -DFOLDER=${PROJECT_BINARY_DIR}/${folder}
                -P ${PROJECT_SOURCE_DIR}/shaders/spirv.cmake ${VKROPE_LISTS}
        COMMAND ${CMAKE_COMMAND} -E tar czf ${folder}.tar.gz ${folder}
        WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
        DEPENDS ${VKROPE_LISTED}
        COMMENT "Making ${folder}.tar.gz"
        VERBATIM)
endfunction()

vkrope_shaders(${CMAKE_CURRENT_LIST_DIR}/list.def VKROPE_SHADER_SOURCES)
