# CPack runs this on the tree that becomes the Debian package, whose policy wants manual and changelog compressed.
file(GLOB_RECURSE files ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/vkrope.1 ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/changelog)
foreach(file IN LISTS files)
    execute_process(COMMAND gzip -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
