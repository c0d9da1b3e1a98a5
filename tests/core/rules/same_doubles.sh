#!/usr/bin/env bash
# same_doubles.sh VULKAN_INCLUDE FLAG...: the frequency rules give the doubles of same_doubles.expected from every
# compiler on this machine, on x86-64 and arm64, and inside a project that is built with -ffast-math. The flags are the
# library's own, which come after the project's.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
host=$here/../../../host
include=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
tried=0

# Without the machine's own C headers beside them, which another target's compiler must not see.
mkdir "$folder/include"
for headers in vulkan vk_video; do
    if [ -d "$include/$headers" ]; then ln -s "$include/$headers" "$folder/include/$headers"; fi
done

# ccache knows what it has compiled by names that are the same in each run.
launcher=$(command -v ccache || true)
cd "$folder" || exit 1

# build COMPILER PROJECT-FLAGS LINK-FLAGS: the library's files with the project's flags and its own, the rest with the
# project's alone.
build() {
    local file
    for file in rules/rules rules/members rules/geometric rules/yarn rules/real rules/refuse plan/axes \
        plan/frequencies; do
        # shellcheck disable=SC2086
        $launcher "$1" -std=c++17 $2 "${own[@]}" -Iinclude -I"$host/core" -I"$host/.." -I"$host/include" -c "$host/core/$file.cpp" -o "${file##*/}.o" || return 1
    done
    # shellcheck disable=SC2086
    $launcher "$1" -std=c++17 $2 -Iinclude -I"$host/include" -c "$here/same_doubles.cpp" -o same_doubles.o &&
        "$1" ./*.o $3 -o program
}

# try COMPILER RUNNER-OR-EMPTY PROJECT-FLAGS LINK-FLAGS
try() {
    local label="$1 $3"
    if ! build "$1" "$3" "$4" >output 2>&1; then
        echo "$label: does not compile"
        cat output
        failed=1
        return
    fi
    tried=$((tried + 1))
    if $2 ./program >output && diff "$here/same_doubles.expected" output >diff; then
        echo "$label: the same doubles"
    else
        echo "$label: other doubles than tests/core/rules/same_doubles.expected"
        cat diff
        failed=1
    fi
}

# try_all COMPILER RUNNER LINK-FLAGS; the runner may be empty.
try_all() {
    local needed
    for needed in "$1" $2; do
        if ! command -v "$needed" >/dev/null 2>&1; then
            echo "$1: skipped, $needed is not installed"
            return
        fi
    done
    try "$1" "$2" "-O2" "$3"
    try "$1" "$2" "-O3 -ffast-math" "$3"
}

own=("$@")
try_all g++ "" ""
try_all clang++ "" ""
try_all aarch64-linux-gnu-g++ qemu-aarch64 -static
[ "$tried" -gt 0 ] || {
    echo "no compiler was found"
    failed=1
}
exit $failed
