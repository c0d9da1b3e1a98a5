# The open compilers of GPUs' vendors, over stubs of their kernel drivers: for tests/portability.sh. They are Mesa's drivers of
# one version, from packages.lock; bench/compilers.py asks them and judges.

# A row for each device.
vendor_rows() { # TITLE VENDOR ROOT PROGRAM ARGUMENT...
    local log=$work/$2${5:+-${5#--}}.log status=0 verdict device note start
    start=$(date +%s)
    "$root/bench/compilers.py" "$4" "$3" "$2" "${@:5}" >"$log" 2>&1 || status=$?
    while IFS=$'\t' read -r verdict device note; do
        if [ -n "$note" ]; then row "$1: $device" "$verdict" "$note"; fi
    done <"$log"
    if [ "$status" -ne 0 ] && ! grep -q '^FAILED' "$log"; then row "$1" FAILED "compilers.py ended with $status: $log"; fi
    say "$2 took $(seconds_since "$start")"
}

# Sets vendors_root; where that cannot be, prints the row.
find_vendors() { # TITLE SET
    local status=0
    if [ "$(uname -m)" != x86_64 ]; then
        row "$1" "not here" "the packages of packages.lock are x86-64's"
        return 1
    fi
    if ! has python3; then not_here "$1" python3 && return 1; fi
    vendors_root=$(locked_root "$2") || status=$?
    case $status in
        0) ;;
        1) not_here "$1" "apt, and let it reach $mirror or snapshot.debian.org" ;;
        *) row "$1" FAILED "$vendors_root" ;;
    esac
    return "$status"
}

mesa_of() { # ROOT
    zcat "$1"/usr/share/doc/mesa-vulkan-drivers/changelog.Debian.gz | sed -n '1s/.*(\([0-9.]*\).*/\1/p'
}

vendor_row() { # TITLE VENDOR ARGUMENT...
    find_vendors "$1" vendors || return 0
    native_build vkrope-compilers || { row "$1" FAILED "does not build: $work/build.log" && return; }
    vendor_rows "$1 of Mesa $(mesa_of "$vendors_root")" "$2" "$vendors_root" "$build/vkrope-compilers" "${@:3}"
}

# Every shader; then the rotation's wide build in each choice, whose loads must all stand before the group's barrier.
row_amd() {
    vendor_row RADV amd
    vendor_row "RADV, the order of loads" amd --rotations
}

row_nvidia() { vendor_row NVK nvidia; }

row_adreno() { vendor_row Turnip adreno; }

row_apple() { vendor_row Honeykrisp apple; }

# No stub of i915 is packaged.
row_intel() {
    local stub=$work/intel_stub.so
    find_vendors ANV vendors || return 0
    "${CXX:-c++}" -std=c++17 -O1 -fPIC -shared -isystem "$vendors_root/usr/include/libdrm" \
        "$root/tests/portability/intel_stub.cpp" -o "$stub" -ldl >"$work/intel.log" 2>&1 ||
        { row ANV FAILED "its stub does not build: $work/intel.log" && return; }
    vendor_row ANV intel --stub "$stub"
}

# Its driver is packaged for arm64 alone. The program is built against the host's headers and the cross compiler's C library.
mali_build() { # FOLDER
    copy_headers "$1/headers" &&
        configure_cross "$root" "$1/build" "$1/headers" Linux aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ \
            -DVKROPE_BUILD_TOOL=OFF -DVKROPE_BUILD_TESTS=OFF &&
        cmake --build "$1/build" --parallel "$jobs" --target vkrope-compilers
}

row_mali() {
    local folder=$work/mali title="PanVK (qemu)"
    if ! has aarch64-linux-gnu-g++ || ! has qemu-aarch64; then not_here "$title" "g++-aarch64-linux-gnu qemu-user" && return; fi
    find_vendors "$title" vendors-arm64 || return 0
    mkdir -p "$folder"
    mali_build "$folder" >"$folder/build.log" 2>&1 || { row "$title" FAILED "does not build: $folder/build.log" && return; }
    vendor_rows "$title of Mesa $(mesa_of "$vendors_root")" mali "$vendors_root" "$folder/build/vkrope-compilers"
}
