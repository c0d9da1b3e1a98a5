# Compiles every row of list.def to an object file of its own. Adds their C sources to VKROPE_SHADER_SOURCES.
find_program(VKROPE_GLSLC glslc REQUIRED DOC "shaderc's compiler (Debian: glslc)")

set(VKROPE_SHADER_LIST ${CMAKE_CURRENT_LIST_DIR}/list.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${VKROPE_SHADER_LIST})
file(STRINGS ${VKROPE_SHADER_LIST} rows REGEX "^ROPE_SHADER")

set(VKROPE_SHADER_SOURCES)
set(VKROPE_SPIRV)
set(names)
foreach(row IN LISTS rows)
    if(NOT row MATCHES "^ROPE_SHADER\\(([a-z0-9_]+), ([a-z0-9_.]+), ([A-Z0-9_]+), (.*)\\)$")
        message(FATAL_ERROR "shaders/list.def: not a ROPE_SHADER(name, file, needs, defines) row: ${row}")
    endif()
    set(name ${CMAKE_MATCH_1})
    set(source ${CMAKE_CURRENT_LIST_DIR}/${CMAKE_MATCH_2})
    set(needs ${CMAKE_MATCH_3})
    separate_arguments(defines UNIX_COMMAND "${CMAKE_MATCH_4}")
    if(name IN_LIST names)
        message(FATAL_ERROR "shaders/list.def names the shader ${name} twice")
    endif()
    list(APPEND names ${name})

    set(numbers ${CMAKE_CURRENT_BINARY_DIR}/shaders/${name}.inc)
    add_custom_command(
        OUTPUT ${numbers}
        COMMAND ${VKROPE_GLSLC} --target-env=vulkan1.1 -O -mfmt=num -MD -MF ${numbers}.d -MT ${numbers} ${defines}
                -fshader-stage=compute ${source} -o ${numbers}
        DEPENDS ${source} ${VKROPE_SHADER_LIST}
        DEPFILE ${numbers}.d
        COMMENT "Compiling shader ${name}"
        VERBATIM)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/shaders/${name}.c
        CONTENT [[
#include "shaders.h"
static const uint32_t kWords[] = {
#include "@name@.inc"
};
const RopeShader rope_shader_@name@ = {"@name@", kWords, sizeof kWords, @needs@};
]] @ONLY)
    set_property(SOURCE ${CMAKE_CURRENT_BINARY_DIR}/shaders/${name}.c PROPERTY OBJECT_DEPENDS ${numbers})
    list(APPEND VKROPE_SHADER_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/shaders/${name}.c)
    list(APPEND VKROPE_SPIRV ${numbers})
endforeach()
