# vkrope.py and the library that it loads, in the folder python/ of the build.
if(NOT TARGET vkrope-models)
    message(FATAL_ERROR "vkrope: VKROPE_BUILD_PYTHON takes VKROPE_BUILD_TOOL and VKROPE_BUILD_DEVICE, which bring the "
        "readers of models")
endif()

# The system's Python is the one that has the distribution's numpy.
find_program(VKROPE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(VKROPE_PYTHON python3 REQUIRED DOC "Python 3, which writes vkrope.py")

set(VKROPE_PYTHON_FOLDER ${CMAKE_CURRENT_BINARY_DIR}/python)
set(layouts ${CMAKE_CURRENT_BINARY_DIR}/python_layouts.cpp)
set(host ${CMAKE_CURRENT_SOURCE_DIR}/host)
add_custom_command(OUTPUT ${VKROPE_PYTHON_FOLDER}/vkrope.py ${layouts}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${VKROPE_PYTHON_FOLDER}
    COMMAND ${VKROPE_PYTHON} ${host}/python/layouts.py ${host} ${host}/python/vkrope.py.in
        ${VKROPE_PYTHON_FOLDER}/vkrope.py ${layouts}
    DEPENDS ${host}/python/layouts.py ${host}/python/vkrope.py.in ${host}/python/rope_python.h ${host}/include/vkrope/rope.h
    VERBATIM)

set_target_properties(vkrope-models PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_library(vkrope-python SHARED host/python/rope_python.cpp ${VKROPE_PYTHON_FOLDER}/vkrope.py)
if(NOT CMAKE_CROSSCOMPILING) # it compares with the building machine's own layouts
    target_sources(vkrope-python PRIVATE ${layouts})
endif()
target_include_directories(vkrope-python PRIVATE ${VKROPE_ROOTS})
target_link_libraries(vkrope-python PRIVATE vkrope vkrope-device vkrope-models)
target_compile_features(vkrope-python PRIVATE cxx_std_17)
target_compile_definitions(vkrope-python PRIVATE VK_NO_PROTOTYPES)
target_compile_options(vkrope-python PRIVATE ${VKROPE_WARNINGS})
set_target_properties(vkrope-python PROPERTIES OUTPUT_NAME vkrope_python PREFIX lib
    LIBRARY_OUTPUT_DIRECTORY ${VKROPE_PYTHON_FOLDER} RUNTIME_OUTPUT_DIRECTORY ${VKROPE_PYTHON_FOLDER}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux") # only the calls of rope_python.h come out
    target_link_options(vkrope-python PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,defs)
endif()
