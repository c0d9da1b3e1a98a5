#!/usr/bin/env bash
# portability.sh [--install] [--whole] [WHAT...]: runs the tests, or compiles the shaders, for each of the following that this
# machine has, and prints a table. Without WHAT all of them.
#
#   lavapipe     every test on the system's lavapipe (Mesa)                                          8 minutes
#   backports    every test on the newer lavapipe of Debian's backports, unpacked beside it          8 minutes
#   newest       the tests of devices on the lavapipe and validation layer of Debian's unstable   15 minutes
#   swiftshader  every test on SwiftShader                                                           8 minutes
#   floor        the tests of devices, on devices cut down to the least that Vulkan promises        19 minutes
#   fences       the tests of devices on SwiftShader, with a page behind each buffer that nothing may touch   3 minutes
#   arm64        the tests built for arm64, under qemu, some of them with arm64's lavapipe            an hour
#   windows      the tests built for Windows, under Wine, on the host's lavapipe                    10 minutes
#   android      the program built for Android's arm64, by the NDK of ANDROID_NDK_HOME; nothing runs it   2 minutes
#   amd          every shader through the compiler of AMD's GPUs (RADV), and the order of loads      5 minutes
#   intel        the same of Intel's (ANV); none of these rows asks for a GPU                        1 minute
#   nvidia       the same of NVIDIA's (NVK)                                                          1 minute
#   adreno       the same of Qualcomm's (Turnip)                                                     1 minute
#   apple        the same of Apple's (Honeykrisp)                                                    1 minute
#   mali         the same of Arm's (PanVK), built for arm64, under qemu                             10 minutes
#   cross        every shader through spirv-cross to MSL and HLSL                                    1 minute
#   glslc        every shader by the glslc of Debian 13: valid, and nothing to fuse                  1 minute
#   ggml         ggml's own tests of rope, of a ggml that takes vkrope: VKROPE_GGML, see docs/llama.md   1 minute
#   llama        llama.cpp v0.5.0 with vkrope inside, its tests and far positions: VKROPE_LLAMA, see there  5 minutes
#
# Times are of two cores. The compilers, cross, glslc, floor and fences belong into every run that changes a shader; all of it once a
# week, and before a release. Downloads go into the build folder (VKROPE_BUILD, else build/), and the packages of the
# vendors' compilers, whose versions tests/portability/packages.lock names, into ~/.cache/vkrope; the system's own
# drivers and its list of architectures stay as they are. --install first installs the packages that the rows take
# (host/package/install_packages.sh portability), and fetches those of packages.lock. --whole takes the combinations
# that tests/run.sh --whole takes, and every test of arm64, which takes hours. The newest result of each row is kept
# in bench/results/portability.md, with its date and commit. The exit status is 1 where a row fails; "not here" is no
# failure.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${VKROPE_BUILD:-$root/build}
work=$build/portability
jobs=$(getconf _NPROCESSORS_ONLN)
suite=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
mirror=${VKROPE_DEBIAN:-http://deb.debian.org/debian}
results=${VKROPE_RESULTS:-$root/bench/results/portability.md}
readonly every_row=(lavapipe backports newest swiftshader floor fences arm64 windows android amd intel nvidia adreno apple mali cross glslc ggml llama)
failed=0

has() { command -v "$1" >/dev/null 2>&1; }

# A row of the table, and its verdict: ok, FAILED, or not here.
row() { # WHERE VERDICT NOTE
    printf '| %s | %s | %s |\n' "$1" "$2" "$3"
    if [ "$2" = FAILED ]; then failed=1; fi
    if [ "$2" != "not here" ]; then collect_row "$@"; fi
}

not_here() { row "$1" "not here" "install $2"; }

say() { echo "portability: $*" >&2; }

seconds_since() { echo "$(($(date +%s) - $1)) s"; }

. "$root/tests/portability/packages.sh"
. "$root/tests/portability/results.sh"
. "$root/tests/portability/vendors.sh"

# ---- Builds

native_build() { # [TARGET]: all, or this one
    if [ "${built:-}" = all ] || [ "${built:-}" = "${1:-all}" ]; then return; fi
    cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DVKROPE_BUILD_DEVICE=ON \
        -DVKROPE_BUILD_TOOL=ON -DVKROPE_BUILD_TESTS=ON >"$work/build.log" 2>&1 || return 1
    cmake --build "$build" --parallel "$jobs" ${1:+--target "$1"} >>"$work/build.log" 2>&1 || return 1
    built=${1:-all}
}

# Headers alone, which are the same for all: not beside the machine's own, which another target's compiler must not see.
copy_headers() { # PREFIX
    local file
    if [ -f "$1/copied" ]; then return; fi
    dpkg -L libvulkan-dev libcli11-dev nlohmann-json3-dev spirv-headers 2>/dev/null | grep -E '^/usr/(include|share/cmake)/' |
        while read -r file; do
            if [ -f "$file" ]; then install -D -m 644 "$file" "$1/${file#/usr/}"; fi
        done
    touch "$1/copied"
}

# Configures for another system; its libraries and headers lie in PREFIX alone.
configure_cross() { # SOURCE BUILD PREFIX SYSTEM PROCESSOR C-COMPILER CXX-COMPILER OPTION...
    local -a launcher=() generator=()
    if has ccache; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
    if has ninja && [ ! -f "$2/CMakeCache.txt" ]; then generator=(-G Ninja); fi
    cmake -S "$1" -B "$2" ${generator[@]+"${generator[@]}"} ${launcher[@]+"${launcher[@]}"} -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_SYSTEM_NAME="$4" -DCMAKE_SYSTEM_PROCESSOR="$5" -DCMAKE_C_COMPILER="$6" -DCMAKE_CXX_COMPILER="$7" \
        -DCMAKE_FIND_ROOT_PATH="$3" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
        -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY "${@:8}"
}

# ---- Running

# ctest with one driver; the rest of the arguments goes to it.
ctest_row() { # NAME TITLE BUILD DRIVER-JSON ARGUMENT...
    local log=$work/$1.log report=$work/$1.xml start counts status=0
    start=$(date +%s)
    rm -f "$report"
    (cd "$3" && VKROPE_TEST_VALIDATE=1 VK_DRIVER_FILES=$4 VK_ICD_FILENAMES=$4 ctest --output-on-failure --no-tests=error --parallel "$jobs" --timeout "${timeout:-1500}" \
        --output-junit "$report" "${@:5}") >"$log" 2>&1 || status=$?
    counts=$(junit_counts "$report")
    if [ "$status" -eq 0 ]; then
        row "$2" ok "$counts, $(seconds_since "$start")"
    else
        row "$2" FAILED "$counts, $(seconds_since "$start"): $log"
    fi
}

# The same of this machine's own build.
native_row() { # NAME TITLE DRIVER-JSON ARGUMENT...
    native_build || { row "$2" FAILED "does not build: $work/build.log" && return; }
    ctest_row "$1" "$2" "$build" "${@:3}"
}

junit_counts() { # REPORT
    local tests failures skipped
    tests=$(sed -n 's/^\ttests="\([0-9]*\)".*/\1/p' "$1" | head -n 1)
    failures=$(sed -n 's/^\tfailures="\([0-9]*\)".*/\1/p' "$1" | head -n 1)
    skipped=$(grep -c '<skipped' "$1" || true)
    echo "$((${tests:-0} - ${failures:-0} - skipped)) passed, ${failures:-0} failed, $skipped skipped"
}

# GoogleTest's own summary, of a program that ran by itself; what the validation layer below wrote fails too.
gtest_row() { # NAME TITLE STATUS START
    local log=$work/$1.log passed failures skipped messages counts
    touch "$log"
    passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -n 1)
    failures=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -n 1)
    skipped=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$log" | tail -n 1)
    messages=$(grep -c 'Validation Error\|Validation Warning' "$log" || true)
    counts="${passed:-0} passed, ${failures:-0} failed, ${skipped:-0} skipped, $(seconds_since "$4")"
    if [ "$3" -eq 0 ] && [ "${passed:-0}" -gt 0 ] && [ "$messages" -eq 0 ]; then
        row "$2" ok "$counts"
    else
        row "$2" FAILED "$counts, $messages validation messages: $log"
    fi
}

# The C99 consumer and the tests, by an emulator.
run_there() { # LOG BUILD SUFFIX FILTER EMULATOR...
    "${@:5}" "$2/vkrope-consumer-c99$3" >"$1" 2>&1 &&
        "${@:5}" "$2/vkrope-tests$3" --gtest_filter="$4" >>"$1" 2>&1
}

# ---- Drivers of this machine

system_lavapipe() { compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' | head -n 1 || true; }

mesa_version() { dpkg-query -W -f '${Version}' mesa-vulkan-drivers 2>/dev/null | sed 's/-.*//'; }

row_lavapipe() {
    local json
    json=$(system_lavapipe)
    if [ -z "$json" ]; then not_here lavapipe mesa-vulkan-drivers && return; fi
    native_row lavapipe "lavapipe $(mesa_version)" "$json"
}

# Prints the driver file of the newer lavapipe; nothing where its package cannot be had.
newer_lavapipe() { # FOLDER
    local json
    unpack_packages "$1" "$suite-backports" "$(dpkg --print-architecture)" alone mesa-vulkan-drivers || return 1
    json=$(compgen -G "$1/root/usr/share/vulkan/icd.d/lvp_icd*.json" | head -n 1) || return 0
    sed -i "s|\"library_path\": \".*libvulkan_lvp|\"library_path\": \"$(dirname "$(find "$1/root" -name libvulkan_lvp.so)")/libvulkan_lvp|" "$json"
    echo "$json"
}

row_backports() {
    local folder=$work/backports json
    json=$(newer_lavapipe "$folder") || { not_here "lavapipe of $suite-backports" "apt, and let it reach $mirror" && return; }
    if [ -z "$json" ]; then row "lavapipe of $suite-backports" FAILED "its package names no driver: $folder/root" && return; fi
    native_row backports "lavapipe $(mesa_of "$folder/root")" "$json"
}

# These are linked with a newer C library than this machine's; its loader runs the tests.
row_newest() {
    local folder=$work/newest start status=0 libraries json title="lavapipe and validation layer of Debian's unstable"
    start=$(date +%s)
    unpack_packages "$folder" sid "$(dpkg --print-architecture)" everything mesa-vulkan-drivers vulkan-validationlayers libvulkan1 ||
        { not_here "$title" "apt, and let it reach $mirror" && return; }
    json=$(compgen -G "$folder/root/usr/share/vulkan/icd.d/lvp_icd*.json" | head -n 1) ||
        { row "$title" FAILED "its package names no driver: $folder/root" && return; }
    native_build || { row "$title" FAILED "does not build: $work/build.log" && return; }
    libraries=$(dirname "$(find "$folder/root" -name libvulkan_lvp.so)")
    rm -f "$work/newest.log"
    VK_DRIVER_FILES=$json VK_ICD_FILENAMES=$json VK_LAYER_PATH=$folder/root/usr/share/vulkan/explicit_layer.d \
        "$(find "$folder/root" -name 'ld-linux*.so.*' | head -n 1)" --library-path "$libraries" \
        "$build/vkrope-tests" --gtest_filter='Every/*' >"$work/newest.log" 2>&1 || status=$?
    gtest_row newest "lavapipe $(mesa_of "$folder/root"), and the newest validation layer" "$status" "$start"
}

row_swiftshader() {
    local json=$build/swiftshader/vk_swiftshader_icd.json
    if [ ! -f "$json" ]; then not_here SwiftShader "it: host/package/install_packages.sh test" && return; fi
    native_row swiftshader SwiftShader "$json"
}

row_floor() {
    local json
    json=$(printf '%s\n' "$(system_lavapipe)" "$(compgen -G "$build/swiftshader/vk_swiftshader_icd.json" || true)" |
        grep . | paste -sd : -) || true
    if [ -z "$json" ]; then not_here "the floor" mesa-vulkan-drivers && return; fi
    VKROPE_TEST_FLOOR=1 native_row floor "the floor, on lavapipe and SwiftShader" "$json" -R '\.On_'
}

row_fences() {
    local json=$build/swiftshader/vk_swiftshader_icd.json
    if [ ! -f "$json" ]; then not_here fences "SwiftShader: host/package/install_packages.sh test" && return; fi
    VKROPE_TEST_FENCES=1 native_row fences "fences behind every buffer, on SwiftShader" "$json" -R '\.On_SwiftShader'
}

# ---- Other machines

# ctest takes an emulator that is one word. The programs name the libraries that they were linked with, older ones.
write_emulator() { # FILE SYSROOT
    printf '#!/bin/sh\nexec qemu-aarch64 -E LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu -L "%s" "$@"\n' "$2" >"$1"
    chmod +x "$1"
}

arm64_build() { # FOLDER
    local sys=$1/sysroot/root
    unpack_packages "$1/sysroot" "$suite" arm64 everything libvulkan-dev libvulkan-volk-dev libmpfr-dev libgtest-dev &&
        unpack_packages "$1/debian13" trixie arm64 everything libvulkan1 mesa-vulkan-drivers vulkan-validationlayers \
            libmpfr6 libstdc++6 || return 1
    [ -e "$1/debian13/root/lib" ] || ln -s usr/lib "$1/debian13/root/lib"
    copy_headers "$sys/usr"
    write_emulator "$1/emulator" "$1/debian13/root"
    configure_cross "$root" "$1/build" "$sys" Linux aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ \
        -DCMAKE_CROSSCOMPILING_EMULATOR="$1/emulator" -DVKROPE_BUILD_TESTS=ON \
        -DCMAKE_EXE_LINKER_FLAGS="-Wl,-rpath-link,$sys/usr/lib/aarch64-linux-gnu:$sys/lib/aarch64-linux-gnu" &&
        CPLUS_INCLUDE_PATH=$sys/usr/include/aarch64-linux-gnu cmake --build "$1/build" --parallel "$jobs" # gmp.h
}

# The short row has what another processor and compiler can change: arithmetic on the CPU, plans, and those tests on one device
# that take a few seconds there. The long tests of shaders, the program, Python, engines and packages are in the whole row.
arm64_rows() { # TITLE BUILD DRIVER-JSON
    local long='SwiftShader|WithSets|^(Tool|Python|Package|Style|Docs|Engine|Plugin|Raw|Shift)\.'
    long+='|^(Positions|Groups|Elements|Shapes|Add|Tunings|Rotate|Relative|FusedOnDevice|Lacking|HeadsTest|DecoderTest)\.On_'
    long+='|^(Large|Marks|Faults|Bench.*|Frames|BiasGroups|Context|Resubmit|RecordingRefusal|KeptSets)\.On_|^Readme'
    if [ "${VKROPE_TEST_WHOLE-0}" = 0 ]; then
        ctest_row arm64 "$1, the short row" "$2" "$3" --timeout 14400 -E "$long"
        return
    fi
    ctest_row arm64 "$1" "$2" "$3" --timeout 14400 -E 'SwiftShader|WithSets'
    ctest_row arm64-sets "$1, without extensions" "$2" "$3" --timeout 14400 -R WithSets
}

# There is no SwiftShader for arm64. The second way to a driver finds its shaders compiled in Mesa's cache.
row_arm64() {
    local folder=$work/arm64 title="arm64 (qemu), lavapipe of Debian 13"
    if ! has aarch64-linux-gnu-g++ || ! has qemu-aarch64; then not_here arm64 "g++-aarch64-linux-gnu qemu-user" && return; fi
    mkdir -p "$folder"
    arm64_build "$folder" >"$folder/build.log" 2>&1 || { row "$title" FAILED "does not build: $folder/build.log" && return; }
    # The driver's file lies below the emulator's root, where qemu looks first. On LLVM 15, Debian 12's, lavapipe for arm64
    # ends the program at the self-test.
    VKROPE_TEST_RUNNER=$folder/emulator \
        arm64_rows "$title" "$folder/build" /usr/share/vulkan/icd.d/lvp_icd.json
}

windows_build() { # FOLDER
    local -a target=(Windows AMD64 x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-g++-posix)
    copy_headers "$1/prefix" || return 1
    configure_cross /usr/src/googletest "$1/googletest" "$1/prefix" "${target[@]}" -DBUILD_GMOCK=OFF \
        -DCMAKE_INSTALL_PREFIX="$1/prefix" && cmake --build "$1/googletest" --target install || return 1
    configure_cross "$root" "$1/build" "$1/prefix" "${target[@]}" -DVKROPE_BUILD_TESTS=ON \
        -DCMAKE_EXE_LINKER_FLAGS=-static && cmake --build "$1/build" --parallel "$jobs"
}

# Wine's Vulkan is the host's loader, and wants a screen. It shows no layers: the validation layer is put in below, and
# hears of what the floor's own tests do wrong on purpose.
row_windows() {
    local folder=$work/windows start status=0 title="Windows (mingw, Wine), the host's lavapipe" json
    start=$(date +%s)
    json=$(system_lavapipe)
    if ! has x86_64-w64-mingw32-g++-posix || ! has wine || ! has xvfb-run || [ ! -d /usr/src/googletest ] || [ -z "$json" ]; then
        not_here Windows "g++-mingw-w64-x86-64-posix wine wine64 xvfb xauth googletest mesa-vulkan-drivers" && return
    fi
    mkdir -p "$folder"
    rm -f "$work/windows.log"
    windows_build "$folder" >"$folder/build.log" 2>&1 || { row "$title" FAILED "does not build: $folder/build.log" && return; }
    VK_DRIVER_FILES=$json VK_ICD_FILENAMES=$json VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VKROPE_TEST_VALIDATE=0 \
        WINEPREFIX=$folder/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=" \
        xvfb-run -a bash -c "$(declare -f run_there)"$'\nrun_there "$@"' run_there "$work/windows.log" "$folder/build" .exe \
        "-*/SwiftShader:*/Floor.Sees*" wine || status=$?
    gtest_row windows "$title" "$status" "$start"
}

# The program needs nothing but the phone's C library and its Vulkan: it can be pushed and run.
android_build() { # FOLDER NDK
    copy_headers "$1/prefix" &&
        cmake -S "$root" -B "$1/build" -DCMAKE_TOOLCHAIN_FILE="$2/build/cmake/android.toolchain.cmake" -DANDROID_ABI=arm64-v8a \
            -DANDROID_PLATFORM=android-28 -DANDROID_STL=c++_static -DCMAKE_BUILD_TYPE=Release -DCMAKE_FIND_ROOT_PATH="$1/prefix" \
            -DVKROPE_VULKAN_INCLUDE="$1/prefix/include" -DVKROPE_BUILD_TESTS=OFF -DVKROPE_INSTALL=OFF &&
        cmake --build "$1/build" --parallel "$jobs" --target vkrope-tool
}

row_android() {
    local folder=$work/android ndk=${ANDROID_NDK_HOME:-${ANDROID_NDK_LATEST_HOME:-}} needed title="Android (NDK), arm64"
    if [ ! -f "$ndk/build/cmake/android.toolchain.cmake" ]; then not_here "$title" "the NDK, and name its folder: ANDROID_NDK_HOME" && return; fi
    mkdir -p "$folder"
    android_build "$folder" "$ndk" >"$folder/build.log" 2>&1 || { row "$title" FAILED "does not build: $folder/build.log" && return; }
    needed=$(readelf -d "$folder/build/vkrope" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | paste -sd ' ' -)
    if grep -qvE '^(lib(c|m|dl)\.so ?)+$' <<<"$needed"; then row "$title" FAILED "the program needs $needed" && return; fi
    row "$title" ok "the program builds; no phone is here"
}

# ---- Other compilers

# MSL 2.0; HLSL of shader model 6.2, the first with elements of 16 bits; ByteAddressBuffers hold no others before.
row_cross() {
    local folder=$work/cross log=$work/cross.log shader count=0 wrong=0 title="MSL and HLSL (spirv-cross)"
    if ! has spirv-cross; then not_here "$title" spirv-cross && return; fi
    native_build vkrope-modules || { row "$title" FAILED "does not build: $work/build.log" && return; }
    rm -rf "$folder" && mkdir -p "$folder" && : >"$log"
    "$build/vkrope-modules" "$folder" || { row "$title" FAILED "vkrope-modules failed" && return; }
    for shader in "$folder"/*.spv; do
        count=$((count + 1))
        echo "${shader##*/}" >>"$log"
        spirv-cross "$shader" --msl --msl-version 20000 --output "${shader%.spv}.metal" >>"$log" 2>&1 || wrong=$((wrong + 1))
        spirv-cross "$shader" --hlsl --shader-model 62 --hlsl-enable-16bit-types --output "${shader%.spv}.hlsl" \
            >>"$log" 2>&1 || wrong=$((wrong + 1))
    done
    if [ "$wrong" -eq 0 ] && [ "$count" -gt 0 ]; then
        row "$title" ok "$count shaders, plain and specialized, as text; no compiler of either is here"
    else
        row "$title" FAILED "$wrong of $((2 * count)) texts could not be made: $log"
    fi
}

# Unpacked beside the machine's own, with the C library and the loader that it was linked with.
newer_glslc() { # FOLDER
    local loader
    unpack_packages "$1/packages" trixie "$(dpkg --print-architecture)" everything glslc || return 1
    loader=$(find "$1/packages/root" -name 'ld-linux*.so.*' | head -n 1)
    [ -n "$loader" ] || return 1
    printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" \
        "$(dirname "$(find "$1/packages/root" -name 'libshaderc.so.*' | head -n 1)")" "$1/packages/root/usr/bin/glslc" >"$1/glslc"
    chmod +x "$1/glslc"
}

row_glslc() {
    local folder=$work/glslc log=$work/glslc.log start status=0 title="glslc of Debian 13"
    start=$(date +%s)
    mkdir -p "$folder"
    newer_glslc "$folder" || { not_here "$title" "apt, and let it reach $mirror" && return; }
    native_build || { row "$title" FAILED "does not build: $work/build.log" && return; }
    { cmake -S "$root" -B "$folder/build" -DVKROPE_GLSLC="$folder/glslc" -DVKROPE_BUILD_TESTS=OFF &&
        cmake --build "$folder/build" --parallel "$jobs" --target vkrope-spirv; } >"$log" 2>&1 ||
        { row "$title" FAILED "does not compile the shaders: $log" && return; }
    VKROPE_TEST_SPIRV=$folder/build/shaders "$build/vkrope-tests" --gtest_filter='Shaders.*' >"$log" 2>&1 || status=$?
    gtest_row glslc "$title" "$status" "$start"
}

# ---- Engines

# ggml's own tests of the four operations that vkrope takes over, on the newer lavapipe where it can be had: on 22.3.6 ggml as it
# is writes beyond its memory. A rotation that goes to ggml's own shaders ends its test.
row_ggml() {
    local program=${VKROPE_GGML:-}/bin/test-backend-ops json operation start status note="" title="ggml's test-backend-ops"
    start=$(date +%s)
    if [ ! -x "$program" ]; then row "$title" "not here" "build ggml with vkrope (docs/llama.md), and name its folder: VKROPE_GGML" && return; fi
    json=$(newer_lavapipe "$work/backports") || json=$(system_lavapipe)
    for operation in ROPE ROPE_BACK ROPE_SET_ROWS RMS_NORM_MUL_ROPE; do
        status=0
        VK_DRIVER_FILES=$json VK_ICD_FILENAMES=$json GGML_VK_VISIBLE_DEVICES=0 VKROPE_OR_ABORT=1 \
            "$program" test -o "$operation" -b Vulkan0 >"$work/ggml-$operation.log" 2>&1 || status=$?
        note+="$operation $(grep -ac "^ *$operation(.*OK" "$work/ggml-$operation.log" || true), "
        if [ "$status" -ne 0 ] || ! grep -aq "$operation(.*OK" "$work/ggml-$operation.log"; then
            row "$title" FAILED "$operation ended with $status: $work/ggml-$operation.log" && return
        fi
    done
    ggml_program cases "$json" >"$work/ggml-cases.log" 2>&1 ||
        { row "$title" FAILED "cases of vkrope's own: $work/ggml-cases.log" && return; }
    ggml_program toy "$json" 1e-5 >"$work/ggml-toy.log" 2>&1 ||
        { row "$title" FAILED "the toy decoder's logits: $work/ggml-toy.log" && return; }
    row "$title" ok "${note}all by vkrope; $(tail -n 1 "$work/ggml-cases.log"); the toy decoder's logits are within 1e-5; $(seconds_since "$start")"
}

# llama.cpp's own tests of what vkrope takes, on the newer lavapipe where it can be had; six of its architectures, and a random
# model at far positions and with a cache that is shifted, on the system's: a newer one compiles attention for minutes.
row_llama() {
    local bin=${VKROPE_LLAMA:-}/bin folder=$work/llama name json start title="llama.cpp v0.5.0" note="" type
    local -a runs=()
    start=$(date +%s)
    if [ ! -x "$bin/test-llama-archs" ] || [ ! -x "$bin/test-backend-ops" ]; then
        row "$title" "not here" "build llama.cpp with vkrope (docs/llama.md), and name its folder: VKROPE_LLAMA" && return
    fi
    json=$(newer_lavapipe "$work/backports") || json=$(system_lavapipe)
    rm -rf "$folder"
    mkdir -p "$folder"
    for name in ROPE ROPE_BACK ROPE_SET_ROWS SET_ROWS RMS_NORM_MUL_ROPE MUL_MAT_HADAMARD; do
        llama_program "$json" "$bin/test-backend-ops" test -o "$name" -b Vulkan0 >"$folder/$name.log" 2>&1 ||
            { row "$title" FAILED "$name: $folder/$name.log" && return; }
        note+="$name $(sed -n 's|^ *\([0-9]*\)/.* tests passed$|\1|p' "$folder/$name.log" | head -n 1), "
    done
    json=$(system_lavapipe)
    for name in llama qwen3 gemma3 qwen2vl gpt-oss phi2; do
        llama_program "$json" "$bin/test-llama-archs" -a "$name" -s 1 >"$folder/$name.log" 2>&1 ||
            { row "$title" FAILED "the architecture $name: $folder/$name.log" && return; }
    done
    for type in f16 q8_0 q4_0 q4_1 q5_0 q5_1 iq4_nl; do runs+=("$type:0:0" "$type:1000000:0"); done
    VKROPE_GGML=$VKROPE_LLAMA
    { llama_program "$json" "$bin/test-llama-archs" -a llama -s 1 -d 0.5 -o "$folder" && # -d: attention has peaks
        ggml_program far "$json" "$folder/llama-dense.gguf" 99 "$folder/logits" 128 "${runs[@]}" q8_0:0:4 q4_0:0:4 &&
        "$(numpy_python)" "$root/bench/far_positions.py" judge "$folder/logits/128"; } >"$folder/far.log" 2>&1 ||
        { row "$title" FAILED "far positions: $folder/far.log" && return; }
    row "$title" ok "${note}six architectures; at position 1 000 000 f16's logits change by $(sed -n 's/^| f16:1000000:0 | \([^ ]*\).*/\1/p' "$folder/far.log") of their mean square; $(seconds_since "$start")"
}

numpy_python() {
    local python
    for python in "$build/venv/bin/python" /usr/bin/python3 python3; do
        if "$python" -c 'import numpy' 2>/dev/null; then echo "$python" && return; fi
    done
    echo python3
}

llama_program() { # DRIVER_FILE PROGRAM ARGUMENT...
    VK_DRIVER_FILES=$1 VK_ICD_FILENAMES=$1 GGML_VK_VISIBLE_DEVICES=0 VKROPE_OR_ABORT=1 "${@:2}"
}

# A program of tests/engine/ggml, with the headers and libraries of that ggml.
ggml_program() { # NAME DRIVER_FILE ARGUMENT...
    local source libraries llama=""
    source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$VKROPE_GGML/CMakeCache.txt")
    libraries=$(dirname "$(find "$VKROPE_GGML" -name 'libggml-base.so' | head -n 1)")
    [ ! -e "$libraries/libllama.so" ] || llama=-lllama
    "${CXX:-c++}" -std=c++17 -O1 "$root/tests/engine/ggml/$1.cpp" -I"$source/include" -I"$source/ggml/include" \
        -L"$libraries" $llama -lggml -lggml-base -Wl,-rpath,"$libraries" -o "$work/ggml-$1" &&
        llama_program "$2" "$work/ggml-$1" "${@:3}"
}

# ---- What is asked for

refuse() {
    echo "portability: there is no '$1'; there are ${every_row[*]}, --install, --whole and --help" >&2
    exit 2
}

main() {
    local -a asked=()
    local what set why
    for what in "$@"; do
        case $what in
        --help | -h) sed -n '2,/^set -/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0 ;;
        --install)
            "$root/host/package/install_packages.sh" portability
            for set in $(locked_sets); do why=$(locked_root "$set") || say "the set $set is not here: ${why:-$cache/log}"; done
            ;;
        --whole) export VKROPE_TEST_WHOLE=1 timeout=14400 ;;
        *)
            [[ " ${every_row[*]} " == *" $what "* ]] || refuse "$what"
            asked+=("$what")
            ;;
        esac
    done
    mkdir -p "$work"
    printf '| where | verdict | what |\n|---|---|---|\n'
    for what in "${asked[@]:-${every_row[@]}}"; do
        begin_rows
        "row_$what"
        keep_rows "$what"
    done
    exit "$failed"
}

main "$@"
