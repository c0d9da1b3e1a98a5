# CPack runs this on the tree that becomes the Debian package, whose policy wants a changelog of its own form, and manual,
# changelog and news compressed.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(documents ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/vkrope)
file(WRITE ${documents}/changelog "vkrope (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * See NEWS.gz.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(GLOB_RECURSE files ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/vkrope.1 ${documents}/changelog ${documents}/NEWS)
foreach(file IN LISTS files)
    execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
