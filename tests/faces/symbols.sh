#!/bin/sh
# symbols.sh LIBRARY CONSUMER [OTHER...]: the core calls no Vulkan function by name, needs no C++ runtime, allocates nowhere
# but in the context; a host that plans, records table and rotation takes at most 128 KiB of code and SPIR-V. Neither the
# core nor the other libraries define a name that a host may have: theirs lie in namespace rope or begin with rope.
set -u
failed=0
complain() { printf '%s\n' "$1"; failed=1; }

undefined=$(nm -u "$1" | awk '$1 == "U" {print $2}' | sort -u)
for symbol in $undefined; do
    case $symbol in
    vk*) complain "the core links against $symbol" ;;
    __cxa* | __gxx* | _Unwind* | _ZS* | _ZNS* | _ZNKS* | _Zn* | _Zd* | _ZT*) complain "the core needs the C++ runtime: $symbol" ;;
    esac
done
[ -n "$undefined" ] || complain "nm found no symbol in $1"

# Every symbol that the linker sees of a library, but for those of the pattern.
foreign() { nm -A --defined-only --extern-only "$1" 2>/dev/null | awk '{print $NF}' | sort -u | grep -vE "$2"; }

ours='^(rope[A-Z_]|_Z(T[ISV]|GV|GR|Z)*NK?4rope)' # GR: the records behind a list
for symbol in $(foreign "$1" "$ours"); do
    complain "the core defines $symbol; it must lie in namespace rope or begin with rope"
done
# A library in C++ holds copies of the templates that it takes from others.
others='^(DW\.ref\.|_Z(T[ISV]|GV|Z)*N?K?(S[^0-9_]|9__gnu_cxx|8nlohmann)|_Zn[wa]mPv$|_Zd[la]PvS_$)'
consumer=$2
core=$1
shift 2
for library in "$@"; do
    [ -n "$(nm --defined-only --extern-only "$library" 2>/dev/null | grep ' T ')" ] || complain "nm found no symbol in $library"
    for symbol in $(foreign "$library" "$ours|$others"); do
        complain "$library defines $symbol; it must lie in namespace rope"
    done
done

allocating=$(nm -A -u "$core" | grep -E ' U (malloc|calloc|realloc|free)$' | sed 's/^[^:]*:\([^:]*\):.*/\1/' | sort -u)
[ "$allocating" = "context.cpp.o" ] || complain "allocates elsewhere than in the context: $allocating"

bytes=$(size "$consumer" | awk 'NR == 2 {print $1 + $2}')
printf 'a host with table and rotation: %s bytes of code and data\n' "$bytes"
[ "$bytes" -le 131072 ] || complain "more than 128 KiB"
exit $failed
