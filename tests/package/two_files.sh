#!/usr/bin/env bash
# Two files: vkrope copied into an empty folder, with no build system. The same bytes are written twice. A C program and the
# README's first program rotate on every driver under validation. Each compiler that is here takes the sources without a word, and
# gives the reference the same bits, under -ffast-math too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "two files: $*" && exit 1; }

python=$(command -v "$PYTHON") # where there is no git, the commit is unknown
PATH= PYTHONPATH=$SOURCE/host/package "$python" -B -c 'import amalgamate; assert amalgamate.commit() == "unknown"' || fail "it needs git"
"$CMAKE" --build "$BUILD" --target vkrope-amalgamation >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
mkdir "$work/first" && cp "$BUILD"/amalgamation/* "$work/first"
(cd / && umask 077 && PYTHONHASHSEED=7 TZ=Asia/Tokyo LC_ALL=C "$CMAKE" --build "$BUILD" --target vkrope-amalgamation >/dev/null)
diff -r "$work/first" "$BUILD/amalgamation" || fail "the same sources have given other bytes"
cd "$work/first"

# Vulkan's headers alone, for compilers that have no others here.
headers=$STAGE/headers
mkdir -p "$headers"
ln -sfn "${VULKAN:-/usr/include}/vulkan" "${VULKAN:-/usr/include}/vk_video" "$headers"
compile() { # COMPILER ARGUMENT...
    ${LAUNCHER:+"$LAUNCHER"} "$1" -std=c++17 -Wall -Wextra -Wpedantic -Werror -I. -I"$headers" "${@:2}"
}
skip() { echo "two files: skipped: $*" | tee -a "${VKROPE_TEST_SKIPPED:-/dev/null}"; }

# Each compiler's bits under -ffast-math, and the library's.
bits_of() { # NAME COMMAND...
    "${@:2}" | tr -d '\r' | diff "$SOURCE/tests/faces/bits.expected" - || fail "$1 gives other bits than tests/faces/bits.expected"
}
bits() { # COMPILER RUNNER FLAG...: makes COMPILER.o
    local runner
    for runner in "$1" $2; do
        command -v "$runner" >/dev/null || { skip "bits of $1: there is no $runner" && return; }
    done
    compile "$1" "${@:3}" -ffast-math -c vkrope.cpp -o "${1##*/}.o"
    compile "$1" "${@:3}" "$SOURCE/tests/faces/bits.cpp" "${1##*/}.o" -o bits.exe
    # shellcheck disable=SC2086 # there may be no runner
    bits_of "$1" $2 ./bits.exe
}
export WINEPREFIX=$STAGE/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
sections="-ffunction-sections -fdata-sections"
# shellcheck disable=SC2086 # flags are several words
bits "$CXX" "" -Os -fPIC -D_GLIBCXX_ASSERTIONS $sections
bits clang++ "" -O2 -fno-exceptions -fno-rtti
bits x86_64-w64-mingw32-g++ wine -O2 -fno-exceptions -fno-rtti -static
bits aarch64-linux-gnu-g++ qemu-aarch64 -O2 -fno-exceptions -fno-rtti -static
# shellcheck disable=SC2086
compile "$CXX" $CFLAGS "$SOURCE/tests/faces/bits.cpp" "$BUILD/libvkrope.a" -o library_bits
bits_of libvkrope.a ./library_bits
core=${CXX##*/}.o

# A small host links at most 2 % more of the file than of the library, which is made with the same flags.
host_of() { # CORE: bytes of code and data
    "$CC" -O2 -Wl,--gc-sections -I"$SOURCE/host/include" -I"$headers" "$SOURCE/tests/faces/consumer_small.c" "$1" -lm -o small
    size small | awk 'NR == 2 {print $1 + $2}'
}
if [ "$TYPE" = Release ] && [ -z "$CFLAGS" ]; then
    copied=$(host_of "$core") && built=$(host_of "$BUILD/libvkrope.a")
    echo "a host with table and rotation: $copied bytes of code and data; with the library $built"
    [ $((copied * 100)) -le $((built * 102)) ] || fail "the host is more than 2 % larger"
fi

compile "$CXX" -O0 -c vkrope_device.cpp
compile "$CXX" -O0 -DVKROPE_NO_FUSED -DVKROPE_NO_ADDITIONS -DVKROPE_NO_BIASES -DVKROPE_NO_RELATIVE -DVKROPE_NO_REFERENCE \
    -c vkrope.cpp -o least.o
"$CC" -std=c99 -Wall -Wextra -Werror -DVKROPE_NO_REFERENCE -include vkrope.h -I"$SOURCE/host/include" -I"$headers" \
    "$SOURCE/tests/package/inside/left_out.c" least.o -lm -o least && ./least || fail "what is left out is not refused as it should be"
[ "$(stat -c %s least.o)" -lt $(($(stat -c %s "$core") / 2)) ] || fail "without its families vkrope.o has $(stat -c %s least.o) bytes"
foreign=$(nm --defined-only --extern-only "$core" | awk '{print $3}' | grep -vE '^(rope|_ZZ?N?K?4rope)' || true)
[ -z "$foreign" ] || fail "names of others are defined: $foreign"

"$CC" -std=c99 -pedantic -Wall -Wextra -Werror -I. -I"$headers" "$SOURCE/tests/faces/two_files.c" "$core" -lvulkan -lm -o c_program
! ldd c_program | grep -F libstdc++ || fail "the C program takes libstdc++"
awk '/^```/ { if (taken) exit; taken = /^```cpp$/; next } taken' "$SOURCE/README.md" |
    sed 's|<vkrope/device.hpp>|"vkrope_device.hpp"|; s|<vkrope/rope.hpp>|"vkrope.hpp"|' >first.cpp
[ "$(wc -l <first.cpp)" -le 45 ] || fail "the README's program has $(wc -l <first.cpp) lines"
compile "$CXX" first.cpp "$core" vkrope_device.o -ldl -o cpp_program

run_both() {
    VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation ./c_program >said 2>&1 || { cat said && fail "the C program failed"; }
    ! grep -i "validation" said || fail "the layer has a message"
    ./cpp_program | grep -qF '(1.28674567, 0.586758614)' || fail "the README's program gave other numbers"
}
IFS=: read -ra drivers <<<"${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}"
[ ${#drivers[@]} -gt 0 ] || drivers=("")
for driver in "${drivers[@]}"; do
    (
        [ -z "$driver" ] || export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver
        run_both
    )
done
