# Compiles every row of list.def to an object file of its own. Adds their C sources to VKROPE_SHADER_SOURCES.
find_program(VKROPE_GLSLC glslc REQUIRED DOC "shaderc's compiler (Debian: glslc)")

# A shader as numbers for a C array; further arguments go to glslc.
function(vkrope_compile source numbers)
    get_filename_component(name ${numbers} NAME_WE)
    add_custom_command(
        OUTPUT ${numbers}
        COMMAND ${VKROPE_GLSLC} --target-env=vulkan1.1 -O -mfmt=num -MD -MF ${numbers}.d -MT ${numbers} ${ARGN}
                -fshader-stage=compute ${source} -o ${numbers}
        DEPENDS ${source}
        DEPFILE ${numbers}.d
        COMMENT "Compiling shader ${name}"
        VERBATIM)
endfunction()

# Every row of a list of shaders, whose files lie beside it, as a C source of its own in the variable `sources`. Further
# arguments go to glslc.
function(vkrope_shaders list sources)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    get_filename_component(folder ${list} DIRECTORY)
    file(RELATIVE_PATH title ${PROJECT_SOURCE_DIR} ${list})
    file(STRINGS ${list} rows REGEX "^ROPE_SHADER")
    set(names)
    set(made)
    foreach(row IN LISTS rows)
        if(NOT row MATCHES "^ROPE_SHADER\\(([a-z0-9_]+), ([a-z0-9_.]+), ([A-Z0-9_]+), (.*)\\)$")
            message(FATAL_ERROR "${title}: not a ROPE_SHADER(name, file, needs, defines) row: ${row}")
        endif()
        set(name ${CMAKE_MATCH_1})
        set(source ${folder}/${CMAKE_MATCH_2})
        set(needs ${CMAKE_MATCH_3})
        separate_arguments(defines UNIX_COMMAND "${CMAKE_MATCH_4}")
        if(name IN_LIST names)
            message(FATAL_ERROR "${title} names the shader ${name} twice")
        endif()
        list(APPEND names ${name})

        set(numbers ${PROJECT_BINARY_DIR}/shaders/${name}.inc)
        vkrope_compile(${source} ${numbers} ${defines} ${ARGN})
        file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/shaders/${name}.c
            CONTENT [[
#include "shaders.h"
static const uint32_t kWords[] = {
#include "@name@.inc"
};
const RopeShader rope_shader_@name@ = {"@name@", kWords, sizeof kWords, @needs@};
]] @ONLY)
        set_property(SOURCE ${PROJECT_BINARY_DIR}/shaders/${name}.c PROPERTY OBJECT_DEPENDS ${numbers})
        list(APPEND made ${PROJECT_BINARY_DIR}/shaders/${name}.c)
    endforeach()
    set(${sources} ${made} PARENT_SCOPE)
endfunction()

vkrope_shaders(${CMAKE_CURRENT_LIST_DIR}/list.def VKROPE_SHADER_SOURCES)
