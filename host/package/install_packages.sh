#!/usr/bin/env bash
# Installs what is missing: install_packages.sh [build|gpu|test|portability]
#   build: what the library, README's first program and the program vkrope are made and run with
#   gpu:   that, and what bench/gpu.sh takes: the program of the tests, and NumPy
#   test:  that, what all tests take, and in the build folder, not installed, a second driver (SwiftShader), the style's tools and
#          Python packages
#   portability: that, and what tests/portability.sh builds and runs with for other machines
# Where nothing is missing it takes a fraction of a second and asks the network nothing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${VKROPE_BUILD:-$root/build}
if ! mkdir -p "$build" 2>/dev/null || [ ! -w "$build" ]; then # another user's copy
    build=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/vkrope-build
    mkdir -p "$build"
fi
swiftshader=$build/swiftshader
style=$build/style
log=$build/install.log
updated=no

say() { echo "install: $*"; }

fail() {
    echo "install: $*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Apt as root, its noise in the log.
apt() {
    local -a as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        has sudo || fail "not root and no sudo; as root: apt-get install ${missing[*]:-}"
        as_root=(sudo)
        [ -t 0 ] || as_root+=(-n) # nobody there to type a password
    fi
    ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
        "$@" >>"$log" 2>&1 </dev/null
}

update() {
    [ "$updated" = no ] || return 0
    updated=yes
    say "updating apt's lists"
    apt update || say "apt's lists could not be updated (see $log); going on with what is there"
}

# The packages of the list that are not installed; those whose program came another way are left out.
missing_packages() {
    local -a wanted=(libvulkan-dev libvulkan1 mesa-vulkan-drivers libcli11-dev nlohmann-json3-dev spirv-headers)
    has c++ || wanted+=(g++)
    has cmake || wanted+=(cmake)
    has glslc || wanted+=(glslc)
    has ninja || has make || wanted+=(ninja-build make) # the scripts take Ninja, and CMake make where nobody says
    if [ "$1" != build ]; then
        wanted+=(vulkan-validationlayers libgtest-dev libmpfr-dev python3-numpy)
        has spirv-val || wanted+=(spirv-tools)
    fi
    if [ "$1" = test ] || [ "$1" = portability ]; then
        wanted+=(libvulkan-volk-dev)
        has pkg-config || wanted+=(pkg-config)
        has groff || wanted+=(groff-base)
        has dpkg-shlibdeps || wanted+=(dpkg-dev)
        has lintian || wanted+=(lintian)
        has file || wanted+=(file) # CPack's Debian package asks it what is a program
        has ccache || wanted+=(ccache)
        python3 -m pip --version >/dev/null 2>&1 || wanted+=(python3-pip)
        wanted+=(python3-venv) # Debian refuses pip outside of a virtual environment
        has doxygen || wanted+=(doxygen)
        if [ "$(uname -m)" = x86_64 ]; then
            wanted+=(g++-aarch64-linux-gnu qemu-user) # the frequencies' doubles on arm64
        fi
    fi
    if [ "$1" = portability ]; then
        wanted+=(spirv-cross googletest)
        if [ "$(uname -m)" = x86_64 ]; then
            wanted+=(g++-mingw-w64-x86-64-posix wine wine64 xvfb xauth)
        fi
    fi
    local installed
    installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
    local package
    for package in "${wanted[@]}"; do
        grep -q "^.i  *$package\$" <<<"$installed" || echo "$package"
    done
}

install_missing() {
    mapfile -t missing < <(missing_packages "$1")
    if [ "${#missing[@]}" -eq 0 ]; then
        return
    fi
    update
    say "installing ${missing[*]}"
    apt install --no-install-recommends "${missing[@]}" || {
        tail -n 5 "$log" >&2
        fail "apt-get could not install ${missing[*]} (all of it in $log)"
    }
}

# SwiftShader comes with Chromium; two files of that package are all that is wanted of it.
unpack_swiftshader() {
    local folder=$swiftshader.new.$$ download candidate
    if [ -f "$swiftshader/vk_swiftshader_icd.json" ] && [ -f "$swiftshader/libvk_swiftshader.so" ]; then
        return
    fi
    if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
        update
    fi
    candidate=$(apt-cache policy chromium-common 2>/dev/null | sed -n 's/^ *Candidate: //p')
    if [ -z "$candidate" ] || [ "$candidate" = "(none)" ]; then
        say "no second driver: this distribution has no package chromium-common, which SwiftShader comes with"
        return
    fi
    say "unpacking SwiftShader from chromium-common"
    download=$(mktemp -d)
    mkdir -p "$folder"
    if fetch_chromium "$download" && dpkg-deb --fsys-tarfile "$download"/chromium-common_*.deb 2>>"$log" |
        tar -x -C "$folder" --strip-components=4 ./usr/lib/chromium/libvk_swiftshader.so \
            ./usr/lib/chromium/vk_swiftshader_icd.json 2>>"$log"; then
        rm -rf "$swiftshader"
        mv "$folder" "$swiftshader"
    else
        say "no second driver: SwiftShader could not be had from chromium-common (see $log)"
    fi
    rm -rf "$download" "$folder"
}

# Old lists name versions that the archive no longer has: once more with new ones.
fetch_chromium() {
    download_here "$1" || { update && download_here "$1"; }
}

download_here() {
    (cd "$1" && apt-get -o APT::Sandbox::User=root -o Acquire::Retries=3 download chromium-common) \
        >>"$log" 2>&1 </dev/null
}

# Each distribution has other versions of them, and no two lay code out alike.
fetch_style_tools() {
    if [ -x "$style/clang_format/data/bin/clang-format" ] && [ -x "$style/clang_tidy/data/bin/clang-tidy" ]; then
        return
    fi
    say "fetching clang-format and clang-tidy 14.0.6 for the style"
    rm -rf "$style"
    python3 -m pip install --quiet --no-deps --target "$style" clang-format==14.0.6 clang-tidy==14.0.6 >>"$log" 2>&1 </dev/null ||
        say "the style is not looked at: PyPI did not give them (see $log)"
}

# What the Python package's tests take besides NumPy, and in a whole run the frameworks, which are gigabytes.
fetch_python_packages() {
    local venv=$build/venv python=/usr/bin/python3
    local -a wanted=(numpy safetensors matplotlib tqdm gguf scikit-build-core)
    [ "${VKROPE_TEST_WHOLE:-0}" = 0 ] || wanted+=(torch transformers)
    [ "$(cat "$venv/packages" 2>/dev/null)" != "${wanted[*]}" ] || return 0
    [ -x $python ] || python=python3
    say "fetching Python packages from PyPI: ${wanted[*]}"
    if $python -m venv "$venv" >>"$log" 2>&1 &&
        "$venv/bin/python" -m pip install --quiet --prefer-binary --retries 1 "${wanted[@]}" >>"$log" 2>&1 </dev/null; then
        echo "${wanted[*]}" >"$venv/packages"
    else
        say "some tests of the Python package are skipped: PyPI did not give these (see $log)"
    fi
}

# Without apt nothing is installed; what can be seen to be missing is named.
name_missing() {
    local -a absent=()
    has c++ || absent+=("a C++17 compiler")
    has cmake || absent+=("CMake 3.22")
    has ninja || has make || absent+=("Ninja or make")
    has glslc || absent+=("glslc (shaderc, Vulkan SDK)")
    if has c++ && ! echo '#include <vulkan/vulkan_core.h>' | c++ -E -x c++ - >/dev/null 2>&1; then
        absent+=("the Vulkan headers")
    fi
    say "the program vkrope also needs CLI11, nlohmann-json and SPIRV-Headers, or -DVKROPE_BUILD_TOOL=OFF"
    say "no apt here; a Vulkan loader and a driver are needed to run anything"
    if [ "$1" != build ]; then
        say "the tests also need: GoogleTest, MPFR, nlohmann-json, SPIRV-Headers, SPIRV-Tools, NumPy, VK_LAYER_KHRONOS_validation"
    fi
    if [ "${#absent[@]}" -gt 0 ]; then
        local list
        list=$(printf ', %s' "${absent[@]}")
        fail "please install: ${list:2}"
    fi
}

what=${1:-build}
case $what in
build | gpu | test | portability) ;;
*) echo "install: '$what' is none of build, gpu, test and portability" >&2 && exit 2 ;;
esac
if ! has apt-get || ! has dpkg-query; then
    name_missing "$what"
    exit 0
fi
install_missing "$what"
if [ "$what" = test ] || [ "$what" = portability ]; then
    unpack_swiftshader
    fetch_style_tools
    fetch_python_packages
fi
