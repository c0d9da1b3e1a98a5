# What is installed, and the Debian package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(VKROPE_HEADERS ${CMAKE_INSTALL_INCLUDEDIR}/vkrope)
set(VKROPE_GLSL ${CMAKE_INSTALL_DATADIR}/vkrope/shaders)
set(VKROPE_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/vkrope)
target_include_directories(vkrope PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR};${VKROPE_HEADERS}>")
target_include_directories(vkrope-glsl INTERFACE $<INSTALL_INTERFACE:${VKROPE_GLSL}>)

# A pkg-config file that finds its prefix from where it lies, so that an installed tree can be moved.
function(vkrope_pkg_config name)
    foreach(folder ${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_DATADIR})
        if(IS_ABSOLUTE ${folder})
            message(FATAL_ERROR "vkrope is installed so that it can be moved: ${folder} must be relative to "
                                "CMAKE_INSTALL_PREFIX. Or -DVKROPE_INSTALL=OFF.")
        endif()
    endforeach()
    file(RELATIVE_PATH VKROPE_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" VKROPE_PREFIX_FROM_PC ${VKROPE_PREFIX_FROM_PC})
    configure_file(host/package/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

set(VKROPE_PC_DEFINES)
if(VKROPE_IS_SHARED)
    set(VKROPE_PC_DEFINES " -DVKROPE_SHARED")
endif()

install(TARGETS vkrope vkrope-glsl EXPORT vkrope-core)
install(EXPORT vkrope-core NAMESPACE vkrope:: FILE vkrope-core.cmake DESTINATION ${VKROPE_PACKAGE})
list(TRANSFORM VKROPE_PUBLIC_HEADERS PREPEND host/ OUTPUT_VARIABLE headers)
install(FILES ${headers} DESTINATION ${VKROPE_HEADERS})
install(FILES shaders/rope.glsl shaders/rope.hlsl shaders/bias.glsl shaders/angle.h shaders/divide.h shaders/pair.h
    shaders/dialect.h shaders/dialect_hlsl.h shaders/interface.h shaders/version.glsl DESTINATION ${VKROPE_GLSL})
vkrope_pkg_config(vkrope)

if(VKROPE_BUILD_DEVICE)
    install(TARGETS vkrope-device EXPORT vkrope-device)
    install(EXPORT vkrope-device NAMESPACE vkrope:: FILE vkrope-device.cmake DESTINATION ${VKROPE_PACKAGE})
    list(TRANSFORM VKROPE_DEVICE_HEADERS PREPEND host/ OUTPUT_VARIABLE headers)
    install(FILES ${headers} DESTINATION ${VKROPE_HEADERS})
    vkrope_pkg_config(vkrope-device)
endif()

configure_package_config_file(host/package/vkrope-config.cmake.in vkrope-config.cmake INSTALL_DESTINATION ${VKROPE_PACKAGE}
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(vkrope-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vkrope-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/vkrope-config-version.cmake
    DESTINATION ${VKROPE_PACKAGE})

if(TARGET vkrope-tool)
    if(VKROPE_IS_SHARED AND NOT DEFINED CMAKE_INSTALL_RPATH AND NOT APPLE)
        file(RELATIVE_PATH lib /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
        set_target_properties(vkrope-tool PROPERTIES INSTALL_RPATH "$ORIGIN/${lib}")
    endif()
    install(TARGETS vkrope-tool)
    configure_file(host/package/vkrope.1.in vkrope.1 @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vkrope.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME NEWS)

if(PROJECT_IS_TOP_LEVEL)
    set(CPACK_PACKAGE_VENDOR "The vkrope authors")
    set(CPACK_PACKAGE_CONTACT "The vkrope authors <vkrope@localhost>")
    if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME}) # who makes the package answers for it
        set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
    endif()
    set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "position encodings of transformer models as Vulkan compute")
    set(CPACK_PACKAGE_DESCRIPTION "Rotary and other position encodings on any Vulkan device: a library that\n\
plans and records them into command buffers of a host, GLSL to include in\nshaders, and the program vkrope.")
    set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
    set(CPACK_STRIP_FILES ON)
    set(CPACK_GENERATOR DEB)
    set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/host/package/debian.cmake)
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    # rope.h includes Vulkan's headers; the loader is opened at run time, where no tool sees it.
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "libvulkan-dev, libvulkan1")
    set(CPACK_DEBIAN_PACKAGE_RECOMMENDS mesa-vulkan-drivers)
    if(VKROPE_IS_SHARED)
        set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
    endif()
    include(CPack)
endif()
