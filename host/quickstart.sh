#!/usr/bin/env bash
# Installs what is missing, builds host/quickstart.cpp and runs it with this script's arguments.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${VKROPE_BUILD:-$root/build-quickstart}
if ! mkdir -p "$build" 2>/dev/null || [ ! -w "$build" ]; then
    build=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/vkrope-quickstart
    mkdir -p "$build"
fi
export VKROPE_BUILD=$build
log=$build/quickstart.log

make_program() {
    local -a generator=()
    if ! [ -f "$build/build.ninja" ] && ! [ -f "$build/Makefile" ]; then
        rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
        command -v ninja >/dev/null && generator=(-G Ninja)
        echo "quickstart: building, half a minute the first time"
        cmake -S "$root" -B "$build" ${generator[@]+"${generator[@]}"} -DCMAKE_BUILD_TYPE=Release -DVKROPE_BUILD_DEVICE=ON \
            -DVKROPE_BUILD_TESTS=OFF -DVKROPE_BUILD_TOOL=OFF >"$log" 2>&1 || return
    fi
    cmake --build "$build" --target vkrope-quickstart --parallel "$(getconf _NPROCESSORS_ONLN)" >"$log" 2>&1
}

"$root/host/package/install_packages.sh" build
if ! make_program; then
    tail -n 20 "$log" >&2
    echo "quickstart: the build failed; all of it is in $log" >&2
    exit 1
fi
program=$build/vkrope-quickstart
exec "$program" "$@"
