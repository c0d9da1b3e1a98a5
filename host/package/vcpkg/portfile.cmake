# The port takes the sources that it lies in: vcpkg install vkrope --overlay-ports=vkrope/host/package/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES
    additions VKROPE_WITH_ADDITIONS
    biases VKROPE_WITH_BIASES
    relative VKROPE_WITH_RELATIVE
    fused VKROPE_WITH_FUSED
    reference VKROPE_WITH_REFERENCE
    device VKROPE_BUILD_DEVICE
    tool VKROPE_BUILD_TOOL)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
    ${options}
    -DVKROPE_BUILD_TESTS=OFF
    -DVKROPE_GLSLC=${CURRENT_HOST_INSTALLED_DIR}/tools/shaderc/glslc${VCPKG_HOST_EXECUTABLE_SUFFIX}
    -DVKROPE_VULKAN_INCLUDE=${CURRENT_INSTALLED_DIR}/include)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/vkrope)
vcpkg_fixup_pkgconfig()
if("tool" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES vkrope AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
