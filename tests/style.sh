#!/usr/bin/env bash
# The house's style, with the tools of clang 14 that host/package/install_packages.sh fetches (VKROPE_BUILD, else build/):
#   style.sh format               every C and C++ file is laid out as .clang-format says
#   style.sh tidy BUILD FILE...   clang-tidy finds nothing of what .clang-tidy asks for in these files of the repository; its
#                                 analyzer gives up early on long paths
#   style.sh tidy BUILD --all     or in all that BUILD compiles, and its analyzer does not: minutes
# What was found clean is not looked at again before it, a header, .clang-tidy or a compiler's option changes.
# Exit status 77: the tool is not here.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

skip() { echo "style: skipped: $*" && exit 77; }

tool_of_14() { # clang-format or clang-tidy
    local candidate
    for candidate in "${VKROPE_BUILD:-$root/build}/style/${1/-/_}/data/bin/$1" "$1-14" "$1"; do
        if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
            echo "$candidate"
            return
        fi
    done
}

sources() { find host shaders tests bench -type f -regextype posix-extended -regex ".*\.($1)" | LC_ALL=C sort; }

check_format() {
    local tool
    tool=$(tool_of_14 clang-format)
    [ -n "$tool" ] || skip "no clang-format 14"
    sources 'c|cpp|h|hpp' | xargs "$tool" --dry-run --Werror
}

compiled() { # of the repository, each once
    sed -n "s|^ *\"file\": \"$root/\(.*\)\".*|\1|p" "$clean/compile_commands.json" | grep -E '^(host|tests|bench)/' | LC_ALL=C sort -u
}

tidy_file() {
    local key found
    key=$clean/$( (echo "$common $1" && cat "$1") | sha256sum | cut -d ' ' -f 1)
    [ ! -e "$key" ] || return 0
    found=$key.$$
    local -a standard=()
    case $1 in *.cpp) standard=(--extra-arg-before=-std=c++17) ;; esac # which GCC takes without a word, and clang 14 does not
    if ! "$tidy" -p "$clean" --quiet ${standard[@]+"${standard[@]}"} $extra "$1" >"$found" 2>&1; then
        grep -vE '^[0-9]+ warnings? (generated|treated)' "$found"
        rm -f "$found"
        return 1
    fi
    mv "$found" "$key"
}

check_tidy() {
    build=$(cd "$1" && pwd)
    shift
    tidy=$(tool_of_14 clang-tidy)
    [ -n "$tidy" ] || skip "no clang-tidy 14"
    [ -f "$build/compile_commands.json" ] || skip "$build has no compile_commands.json, which Ninja and make write"
    clean=$build/tidy
    mkdir -p "$clean"
    # GCC's precompiled header is none for clang, which reads what it holds. Files that are compiled together are looked at apart.
    python3 - "$build/compile_commands.json" >"$clean/compile_commands.json" <<'END'
import json, re, sys
entries = []
for entry in json.load(open(sys.argv[1])):
    file, command = entry["file"], re.sub(r"^\S*ccache ", "", entry["command"])
    command = re.sub(r"-Winvalid-pch -include \S*/cmake_pch\.hxx", "-include gtest/gtest.h", command)
    for part in re.findall('#include "(.*)"', open(file).read()) if "/Unity/" in file else [file]:
        entries.append({"directory": entry["directory"], "command": command.replace(file, part), "file": part})
json.dump(entries, sys.stdout, indent=0)
END
    common=$( (sources 'h|hpp' | xargs cat && cat .clang-tidy tests/.clang-tidy "$build/compile_commands.json") | sha256sum | cut -d ' ' -f 1)
    extra="--extra-arg=-isystem$(gcc -print-file-name=include)" # the compiler's own headers, which the tool comes without
    [ "$1" = --all ] || extra+=' --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=20000'
    common+=$extra
    export build tidy clean common extra
    export -f tidy_file
    local -a files=("$@")
    [ "$1" != --all ] || mapfile -t files < <(compiled)
    echo "clang-tidy: ${#files[@]} files"
    printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(getconf _NPROCESSORS_ONLN)" bash -c 'tidy_file "$1"' _
}

case ${1:-} in
format) check_format ;;
tidy)
    [ $# -ge 3 ] || { echo "style: tidy takes a build folder, and files or --all" >&2 && exit 2; }
    check_tidy "${@:2}"
    ;;
*) echo "style: '${1:-}' is neither format nor tidy" >&2 && exit 2 ;;
esac
