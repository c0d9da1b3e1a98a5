#!/usr/bin/env bash
# Installs what is missing and builds. Then it runs README's first program as it stands, `vkrope check --quick`, and `vkrope bench`
# with this script's arguments: `quickstart.sh --tokens 1,4096`.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${VKROPE_BUILD:-$root/build-quickstart}
if ! mkdir -p "$build" 2>/dev/null || [ ! -w "$build" ]; then
    build=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/vkrope-quickstart
    mkdir -p "$build"
fi
export VKROPE_BUILD=$build
log=$build/quickstart.log

configure() {
    local -a generator=()
    if [ -f "$build/build.ninja" ] || [ -f "$build/Makefile" ]; then return; fi
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
    command -v ninja >/dev/null && generator=(-G Ninja)
    cmake -S "$root" -B "$build" ${generator[@]+"${generator[@]}"} -DCMAKE_BUILD_TYPE=Release -DVKROPE_BUILD_TESTS=OFF
}

make_target() { cmake --build "$build" --target "$1" --parallel "$(getconf _NPROCESSORS_ONLN)"; }

compile_program() {
    awk '/^```/ { if (taken) exit; taken = /^```cpp$/; next } taken' "$root/README.md" >"$build/first.cpp"
    "${CXX:-c++}" -std=c++17 -O2 -I "$root/host/include" "$build/first.cpp" "$build/libvkrope-device.a" "$build/libvkrope.a" -ldl \
        -o "$build/first"
}

logged() { # COMMAND...
    if ! "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "quickstart: the build failed; all of it is in $log" >&2
        exit 1
    fi
}

"$root/host/package/install_packages.sh" build
[ -x "$build/first" ] || echo "quickstart: building the library, half a minute the first time"
logged configure
logged make_target vkrope-device
logged compile_program
"$build/first"

[ -x "$build/vkrope" ] || echo "quickstart: building the program vkrope, two minutes the first time"
logged make_target vkrope-tool
"$build/vkrope" check --quick
exec "$build/vkrope" bench "$@"
