#!/usr/bin/env bash
# Conan's recipe makes a package of the sources, and a program of it prints what this build's library gives. Vulkan's headers and
# glslc are the system's: no recipe of others is fetched. A whole run takes it, where conan is there.
set -euo pipefail
[ "${VKROPE_TEST_WHOLE:-0}" != 0 ] || { echo "skipped: only a whole run takes Conan" && exit 77; }
command -v conan >/dev/null || { echo "skipped: there is no conan" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CONAN_HOME=$work/conan PYTHONDONTWRITEBYTECODE=1

cat >"$work/profile" <<END
include(default)
[platform_requires]
vulkan-headers/1.3.0
[platform_tool_requires]
shaderc/2023.2
[conf]
tools.cmake.cmaketoolchain:extra_variables={"VKROPE_SPIRV": "$SPIRV"}
tools.cmake.cmaketoolchain:user_presets=
tools.cmake.cmake_layout:test_folder=$work/test
END
{ conan profile detect && conan create "$SOURCE/host/package/conan" --profile:all "$work/profile"; } >"$work/log" 2>&1 ||
    { tail -n 50 "$work/log" && exit 1; }
grep -F "$("$EXPECTED")" "$work/log" || { tail -n 5 "$work/log" && echo "the consumer does not print $("$EXPECTED")" && exit 1; }
grep -qF "vkrope/$VERSION" "$work/log" || { echo "the package is not of version $VERSION" && exit 1; }
