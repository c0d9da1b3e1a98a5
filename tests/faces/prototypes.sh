#!/usr/bin/env bash
# prototypes.sh CC CXX VULKAN_INCLUDE VOLK_INCLUDE: rope.h beside volk and beside Vulkan's prototypes, in the orders that
# its beginning tells of. Exit status 77: volk is not here.
set -u
cc=$1 cxx=$2 vulkan=$3 volk=$4
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ -e "$volk/volk.h" ] || { echo "volk was not found" && exit 77; }
call='PFN_vkVoidFunction find(VkDevice device) { return vkGetDeviceProcAddr(device, "vkCmdDispatch"); }'
failed=0

# try WANTED DEFINITION HEADER...: whether these headers, one after the other, compile with a call after them.
try() {
    local wanted=$1 definition=$2 found compiler source
    shift 2
    source=$(printf '#include <%s>\n' "$@" && echo "$call")
    for compiler in "$cc -std=c99 -pedantic -xc" "$cxx -std=c++17 -xc++"; do
        found=compiles
        # shellcheck disable=SC2086
        echo "$source" | $compiler -Wall -Wextra -Werror -fsyntax-only $definition -I"$root/host/include/vkrope" -isystem "$vulkan" \
            -isystem "$volk" - 2>/dev/null || found=fails
        echo "$found: $definition $* ($compiler)"
        [ "$found" = "$wanted" ] || failed=1
    done
}

try compiles "" volk.h rope.h
try compiles -DVK_NO_PROTOTYPES rope.h volk.h
try compiles -DVK_NO_PROTOTYPES volk.h rope.h
try compiles "" rope.h vulkan/vulkan.h
try compiles "" vulkan/vulkan.h rope.h
# rope.h warns of this order. Should it compile one day, beside the two before it, the warning may go.
try fails "" rope.h volk.h
exit $failed
