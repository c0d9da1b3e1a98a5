#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test on every Vulkan driver there is: run.sh [--whole] [CTEST-ARGUMENT...]
#   --whole  takes every combination of choices, or every four together: once a week, and before a release. Without it every two
#            choices meet, and about 90 % of all groups of three.
#   --help   prints this.
# Further arguments go to ctest: run.sh -R Rules.
# VKROPE_BUILD names another build folder. VK_DRIVER_FILES or VK_ICD_FILENAMES, where set, name the drivers.
set -euo pipefail

whole=()
case ${1:-} in
--help | -h)
    sed -n '2,/^set -/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
--whole)
    export VKROPE_TEST_WHOLE=1
    whole=(--timeout 14400)
    shift
    ;;
esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${VKROPE_BUILD:-$root/build}
if ! mkdir -p "$build" 2>/dev/null || [ ! -w "$build" ]; then
    build=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/vkrope-build
    echo "tests: $root cannot be written to; building in $build"
    mkdir -p "$build"
fi
export VKROPE_BUILD=$build
jobs=$(getconf _NPROCESSORS_ONLN)

configure() {
    local -a generator=()
    if [ -f "$build/CMakeCache.txt" ] && { [ -f "$build/build.ninja" ] || [ -f "$build/Makefile" ]; } &&
        grep -q '^VKROPE_BUILD_TESTS:BOOL=ON$' "$build/CMakeCache.txt" &&
        grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
        return
    fi
    if ! grep -qsx "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
        rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles" # of another copy of the repository, or half made
        command -v ninja >/dev/null && generator=(-G Ninja)
    fi
    command -v python3 >/dev/null && generator+=(-DVKROPE_BUILD_PYTHON=ON)
    # The tests of packages build the library again and again.
    command -v ccache >/dev/null && generator+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    cmake -S "$root" -B "$build" ${generator[@]+"${generator[@]}"} -DCMAKE_BUILD_TYPE=Release -DVKROPE_BUILD_TESTS=ON
}

# Real GPUs leave a node in /dev or a driver of NVIDIA's; Mesa's drivers for them are installed anyway.
has_gpu() {
    compgen -G '/dev/dri/renderD*' >/dev/null || [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]
}

driver_files() {
    local folder
    for folder in "${HOME:-/root}/.local/share" /etc /usr/local/share /usr/share /usr/local/nvidia/share; do
        compgen -G "$folder/vulkan/icd.d/$1" || true
    done
}

choose_drivers() {
    local swiftshader=$build/swiftshader/vk_swiftshader_icd.json files
    if [ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; then
        echo "tests: drivers from the environment: ${VK_DRIVER_FILES:-$VK_ICD_FILENAMES}"
        return
    fi
    if has_gpu; then
        files=$(driver_files '*.json')
    else
        files=$(driver_files 'lvp_icd*.json')
        [ -n "$files" ] || echo "tests: lavapipe is missing: install mesa-vulkan-drivers"
    fi
    if [ -f "$swiftshader" ]; then
        files+=$'\n'$swiftshader
    else
        echo "tests: the second driver, SwiftShader, is missing: what is to be the same on both is tried on one"
    fi
    files=$(grep . <<<"$files" | paste -sd : -) || true
    if [ -n "$files" ]; then
        echo "tests: drivers $files"
        export VK_DRIVER_FILES=$files VK_ICD_FILENAMES=$files # newer loaders read the first, older ones the second
    fi
}

"$root/host/package/install_packages.sh" test
configure
cmake --build "$build" --parallel "$jobs"
choose_drivers
cd "$build"
export VKROPE_TEST_VALIDATE=${VKROPE_TEST_VALIDATE:-1} # no test of a device passes without the validation layer
export VKROPE_TEST_SKIPPED=$build/skipped
: >"$VKROPE_TEST_SKIPPED"
status=0
# Some tests wait, for a process or a disk.
ctest --output-on-failure --no-tests=error --parallel "$((jobs + 1))" ${whole[@]+"${whole[@]}"} "$@" || status=$?
if [ -s "$VKROPE_TEST_SKIPPED" ]; then
    echo "tests: skipped inside these runs:"
    sort -u "$VKROPE_TEST_SKIPPED"
fi
exit "$status"
