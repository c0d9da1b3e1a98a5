# The Python package vkrope and the library that it loads, in the folder python/ of the build.

# The system's Python is the one that has the distribution's numpy.
find_program(VKROPE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(VKROPE_PYTHON python3 REQUIRED DOC "Python 3, which writes the package's _structures.py")

set(VKROPE_PYTHON_FOLDER ${CMAKE_CURRENT_BINARY_DIR}/python)
set(package ${VKROPE_PYTHON_FOLDER}/vkrope)
set(layouts ${CMAKE_CURRENT_BINARY_DIR}/python_layouts/python_layouts.inc)
set(host ${CMAKE_CURRENT_SOURCE_DIR}/host)
file(GLOB sources CONFIGURE_DEPENDS ${host}/python/vkrope/*.py ${host}/python/vkrope/py.typed)
add_custom_command(OUTPUT ${package}/_structures.py ${layouts}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${package} ${CMAKE_CURRENT_BINARY_DIR}/python_layouts
    COMMAND ${CMAKE_COMMAND} -E copy ${sources} ${package}
    COMMAND ${VKROPE_PYTHON} ${host}/python/layouts.py ${host} ${package}/_structures.py ${layouts}
    DEPENDS ${sources} ${host}/python/layouts.py ${host}/python/rope_python.cpp ${host}/include/vkrope/rope.h
    VERBATIM)

set_target_properties(vkrope-models PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_library(vkrope-python SHARED host/python/rope_python.cpp ${layouts})
target_include_directories(vkrope-python PRIVATE ${VKROPE_ROOTS} ${CMAKE_CURRENT_BINARY_DIR}/python_layouts)
target_link_libraries(vkrope-python PRIVATE vkrope vkrope-device vkrope-models nlohmann_json::nlohmann_json)
target_compile_features(vkrope-python PRIVATE cxx_std_17)
target_compile_definitions(vkrope-python PRIVATE VK_NO_PROTOTYPES)
if(CMAKE_CROSSCOMPILING)
    target_compile_definitions(vkrope-python PRIVATE VKROPE_CROSS)
endif()
target_compile_options(vkrope-python PRIVATE ${VKROPE_WARNINGS})
set_target_properties(vkrope-python PROPERTIES OUTPUT_NAME vkrope_python PREFIX lib
    LIBRARY_OUTPUT_DIRECTORY ${package} RUNTIME_OUTPUT_DIRECTORY ${package}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux") # only the calls of rope_python.cpp come out
    target_link_options(vkrope-python PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,defs)
endif()
