# The reference of the headers, by Doxygen: cmake --build build --target vkrope-docs, then build/docs/html/index.html.
find_program(VKROPE_DOXYGEN doxygen)
configure_file(host/Doxyfile.in Doxyfile @ONLY)
if(VKROPE_DOXYGEN)
    add_custom_target(vkrope-docs COMMAND ${VKROPE_DOXYGEN} ${CMAKE_CURRENT_BINARY_DIR}/Doxyfile VERBATIM)
endif()
