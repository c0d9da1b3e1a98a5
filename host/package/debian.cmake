# CPack runs this on the tree that becomes the Debian package, whose policy wants a changelog of its own form, manual, changelog
# and news compressed, and no section that only names the compiler.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(tree ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})
set(documents ${tree}/share/doc/vkrope)
file(WRITE ${documents}/changelog "vkrope (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * See NEWS.gz.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(GLOB_RECURSE files ${tree}/vkrope.1 ${documents}/changelog ${documents}/NEWS)
foreach(file IN LISTS files)
    execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

file(GLOB_RECURSE shared ${tree}/lib/*.so.*.*.*)
file(GLOB_RECURSE binaries ${tree}/bin/* ${tree}/lib/*.a ${tree}/lib/*_python.so)
foreach(file IN LISTS binaries shared)
    execute_process(COMMAND ${CPACK_VKROPE_STRIP} --strip-debug --remove-section=.comment --remove-section=.note ${file}
        COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# What lintian finds and is meant so, each with its reason. One that applies to nothing is a finding itself.
set(overrides)
function(override tag reason)
    set(overrides "${overrides}# ${reason}\nvkrope: ${tag}\n" PARENT_SCOPE)
endfunction()
if(CPACK_PACKAGE_CONTACT MATCHES "@localhost>$")
    set(reason "DEBEMAIL and DEBFULLNAME name who makes the package and answers for it. Nobody was named.")
    override(bogus-mail-host ${reason})
    override(bogus-mail-host-in-debian-changelog ${reason})
endif()
if(EXISTS ${tree}/lib/pkgconfig)
    override(pkg-config-unavailable-for-cross-compilation
        "A build for the prefix /usr has the folder of its architecture; this build was for another prefix.")
endif()
if(shared)
    set(reason "One package holds the library and the files that programs are built with.")
    override(link-to-shared-library-in-wrong-package ${reason})
    override(package-name-doesnt-match-sonames ${reason})
    override(maintscript-calls-ldconfig "CPack writes the scripts; the trigger does the same.")
endif()
if(overrides)
    file(WRITE ${tree}/share/lintian/overrides/vkrope "${overrides}")
endif()
