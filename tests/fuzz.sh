#!/usr/bin/env bash
# Builds and runs a fuzzer, and prints which lines its inputs reached: fuzz.sh [target] [seconds|merge]
#   target   npy (the default), config, gguf or spirv
#   seconds  how long, 60 by default; 0 only measures the committed corpus
#   merge    the committed corpus becomes the fewest inputs, of those there and those found, that reach as much
# What is found goes to the build folder (VKROPE_BUILD, else build/). Takes clang with libFuzzer, and llvm-cov.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${1:-npy}
seconds=${2:-60}
core=(host/core/plan/axes.cpp host/core/plan/frequencies.cpp host/core/rules/{geometric,members,real,refuse,rules,yarn}.cpp)
beside=() # what the sources under test call, built with them and not measured
longest=512
room=models
case $target in
npy)
    room=program/files
    sources=(host/program/files/npy.cpp host/program/files/npy_file.cpp)
    beside=(host/program/files/{input_file,new_file}.cpp)
    ;;
spirv)
    room=program/check
    sources=(host/program/check/contraction.cpp host/program/check/interface.cpp host/program/files/input_file.cpp)
    longest=1024
    ;;
config)
    mapfile -t sources < <(cd "$root" && ls host/models/*.cpp | grep -v write_tables)
    beside=("${core[@]}")
    longest=1024
    ;;
gguf)
    mapfile -t sources < <(cd "$root" && ls host/models/gguf/*.cpp)
    beside=("${core[@]}" host/models/{models,words,values}.cpp)
    longest=2048
    ;;
*) echo "fuzz: there is no target '$target'; there are npy, config, gguf and spirv" >&2 && exit 2 ;;
esac
[[ $seconds =~ ^([0-9]+|merge)$ ]] || { echo "fuzz: '$seconds' is neither a number of seconds nor merge" >&2 && exit 2; }

compiler=${CXX:-clang++}
major=$("$compiler" -dumpversion | cut -d . -f 1)
llvm() { # a tool of the compiler's own version, whose profiles no other reads
    local tool=$1
    shift
    if command -v "$tool-$major" >/dev/null; then "$tool-$major" "$@"; else "$tool" "$@"; fi
}

archive=$root/tests/corpus/$target.tar.xz
work=${VKROPE_BUILD:-$root/build}/fuzz/$target
corpus=$work/corpus
rm -rf "$corpus"
mkdir -p "$work/found" "$corpus"
tar -xJf "$archive" -C "$corpus"
"$compiler" -std=c++17 -I"$root/host" "$root/host/models/write_tables.cpp" -o "$work/write-tables"
"$work/write-tables" "$root/host/models" "$work/models_tables.inc"
build() {
    local out=$1
    shift
    (cd "$root" && "$compiler" -std=c++17 -g -DVKROPE_FUZZER -Ihost/core -Ihost -I. -Ihost/include -Itests -I"$work" "$@" "${sources[@]}" \
        "${beside[@]}" "tests/$room/fuzz_$target.cpp" -o "$out")
}
build "$work/fuzzer" -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

if [ "$seconds" = merge ]; then
    rm -rf "$work/merged"
    mkdir "$work/merged"
    "$work/fuzzer" -set_cover_merge=1 -use_counters=0 "$work/merged" "$corpus" "$work/found" 2>&1 | tail -n 1
    rm -rf "$corpus"
    mv "$work/merged" "$corpus"
    (cd "$corpus" && tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -cf - -- *) | xz -9e >"$archive"
elif [ "$seconds" -gt 0 ]; then
    "$work/fuzzer" -max_total_time="$seconds" -max_len="$longest" -timeout=5 -print_final_stats=1 \
        -artifact_prefix="$work/" "$work/found" "$corpus"
fi

build "$work/measured" -O0 -fsanitize=fuzzer -fprofile-instr-generate -fcoverage-mapping
measure() {
    LLVM_PROFILE_FILE=$work/profile.raw "$work/measured" -runs=0 "$@" 2>/dev/null
    llvm llvm-profdata merge "$work/profile.raw" -o "$work/profile"
    (cd "$root" && llvm llvm-cov report "$work/measured" -instr-profile="$work/profile" "${sources[@]}")
}
echo "Reached by the committed corpus:"
measure "$corpus"
echo "Reached by it and what was found:"
measure "$corpus" "$work/found"
