# The target vkrope-amalgamation: the core in vkrope.h, vkrope.hpp and vkrope.cpp, what programs without Vulkan take in
# vkrope_device.hpp and .cpp, and the rotation for shaders of others, each in one file.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND AND VKROPE_BUILD_DEVICE)
    set(core ${VKROPE_SOURCES})
    list(FILTER core INCLUDE REGEX "^host/")
    vkrope_shader_names(${PROJECT_SOURCE_DIR}/shaders/list.def numbers)
    list(TRANSFORM numbers REPLACE "(.+)" "${PROJECT_BINARY_DIR}/shaders/\\1.inc")
    add_custom_target(vkrope-amalgamation
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/host/package/amalgamate.py --out ${PROJECT_BINARY_DIR}/amalgamation
                --spirv ${PROJECT_BINARY_DIR}/shaders --core ${core} --device ${VKROPE_DEVICE_SOURCES}
        DEPENDS ${numbers}
        COMMENT "Writing ${PROJECT_BINARY_DIR}/amalgamation"
        VERBATIM)
endif()
